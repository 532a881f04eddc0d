"""The pure parts of a layered layout: ranks without circles, places without overlaps, tracks without collisions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)


class Link(NamedTuple):
    """`lower` is at least `length` ranks below `upper`."""

    upper: str
    lower: str
    length: int


def ranks(names: Sequence[str], links: Mapping[int, Link]) -> tuple[dict[str, int], dict[int, Link]]:
    """Return the rank of each name and the links, turned round where they would close a circle."""
    turned = dict(links)
    below: dict[str, list[int]] = {name: [] for name in names}
    for number, link in links.items():
        below[link.upper].append(number)
    seen, above = set[str](), set[str]()  # all that were reached, and those that lead to the present one
    done: list[str] = []
    for root in names:
        path = [] if root in seen else [(root, iter(below[root]))]
        while path:
            name, following = path[-1]
            seen.add(name)
            above.add(name)
            for number in following:
                target = links[number].lower
                if target in above:
                    turned[number] = Link(target, name, links[number].length)
                elif target not in seen:
                    path.append((target, iter(below[target])))
                    break
            else:
                above.discard(name)
                done.append(name)
                path.pop()
    inward: dict[str, list[Link]] = {name: [] for name in names}
    outward: dict[str, list[Link]] = {name: [] for name in names}
    for link in turned.values():
        inward[link.lower].append(link)
        outward[link.upper].append(link)
    rank: dict[str, int] = {}
    for name in reversed(done):
        rank[name] = max((rank[link.upper] + link.length for link in inward[name]), default=0)
    for name in done:
        if outward[name] and not inward[name]:  # what nothing leads to stands near what it leads to
            rank[name] = min(rank[link.lower] - link.length for link in outward[name])
    return rank, turned


def spread(wanted: Sequence[float], sizes: Sequence[int], between: int) -> list[int]:
    """Return where things of these sizes begin, in this order, `between` cells apart or more, each as near as may be to
    where it is wanted (the sum of squares is least)."""
    shift = 0
    blocks: list[tuple[float, int]] = []  # the mean place of neighbours that touch, without what stands before; count
    shifts: list[int] = []
    for want, size in zip(wanted, sizes, strict=True):
        shifts.append(shift)
        mean, count = want - shift, 1
        while blocks and blocks[-1][0] > mean:
            before, others = blocks.pop()
            mean, count = (before * others + mean * count) / (others + count), others + count
        blocks.append((mean, count))
        shift += size + between
    places = [round(mean) for mean, count in blocks for _ in range(count)]
    return [place + shift for place, shift in zip(places, shifts, strict=True)]


def tracks(nets: Mapping[K, Sequence[tuple[int, int]]]) -> dict[K, int]:
    """Return the track of each net in the gap between two ranks, from the upper one down. A net is the wires
    (start, end) that share a line; one that is straight needs no track and is left out.

    Where one net comes down at a column at which another goes on, the first keeps above the other.
    """
    bent = {net: wires for net, wires in nets.items() if any(start != end for start, end in wires)}
    starts = {net: {start for start, _ in wires} for net, wires in bent.items()}
    ends = {net: {end for _, end in wires} for net, wires in bent.items()}
    under: dict[K, set[K]] = {
        net: {other for other in bent if other != net and starts[other] & ends[net]} for net in bent
    }
    found: dict[K, int] = {}
    taken: dict[int, list[tuple[int, int]]] = {}
    waiting = list(bent)
    while waiting:
        net = next((net for net in waiting if all(other in found for other in under[net])), waiting[0])
        waiting.remove(net)
        left, right = min(starts[net] | ends[net]), max(starts[net] | ends[net])
        track = max((found[other] + 1 for other in under[net] if other in found), default=0)
        while any(start <= right + 1 and left <= end + 1 for start, end in taken.get(track, ())):
            track += 1
        taken.setdefault(track, []).append((left, right))
        found[net] = track
    return found
