"""The page of a session: its facts, the active branch from its root to its leaf, then every other branch."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from piolet._version import __version__
from piolet.app.export.entries import EntryWriter
from piolet.app.export.markup import Markup
from piolet.harness.session.entries import Entry
from piolet.harness.session.session import Session
from piolet.harness.session.tree import TreeNode
from piolet.tui.theme import BACKGROUND_TOKENS, TOKENS, Theme

#: No script, nothing from elsewhere: only what stands in the page itself.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


class Branch(Struct, frozen=True):
    """A chain of entries: `nodes` from a root or behind a fork to a leaf."""

    number: int
    nodes: Sequence[TreeNode]


def page(session: Session, markup: Markup, themes: tuple[Theme, Theme]) -> str:
    """Return the HTML of the whole session. `themes`: the light and the dark one."""
    branches = branches_of(session)
    starts = {branch.nodes[0].id: branch.number for branch in branches}
    entries = {id(head): entry for head, entry in zip(session.heads, session.entries, strict=True)}
    writer = EntryWriter(markup, entries.values(), session.cwd)
    title = markup.text(session.name or f"Session {session.id}")
    parts = [
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="generator" content="piolet {__version__}">\n'
        f"<title>{title}</title>\n<style>\n{_styles(themes)}</style>\n</head>\n<body>\n<main>\n",
        _heading(session, markup, title),
    ]
    for branch in branches:
        name = "The active branch" if branch.number == 0 else f"Branch {branch.number}"
        parts.append(f'<section id="branch-{branch.number}">\n<h2>{name}</h2>\n')
        for node in branch.nodes:
            parts.append(_article(node, entries[id(node.head)], writer, markup))
            parts += (_fork(starts[child.id]) for child in node.children if child.id in starts)
        parts.append("</section>\n")
    parts.append("</main>\n</body>\n</html>\n")
    return "".join(parts)


def branches_of(session: Session) -> list[Branch]:
    """Return the active branch, then the others in the order of their forks. Each entry stands in one of them."""
    active = {head.id for head in session.path_heads()}
    branches: list[Branch] = []
    waiting = deque(sorted(session.tree(), key=lambda root: root.id not in active))
    while waiting:
        node: TreeNode | None = waiting.popleft()
        nodes: list[TreeNode] = []
        forks: list[TreeNode] = []
        while node is not None:
            nodes.append(node)
            following = next((child for child in node.children if child.id in active), None)
            if following is None and node.children and node.id not in active:
                following = node.children[-1]
            forks += [child for child in node.children if child is not following]
            node = following
        branches.append(Branch(len(branches), nodes))
        waiting.extendleft(reversed(forks))
    return branches


def _article(node: TreeNode, entry: Entry, writer: EntryWriter, markup: Markup) -> str:
    """Return the HTML of an entry; nothing if it is shown elsewhere."""
    html = writer.entry(entry)
    if html is None:
        return ""
    anchor = markup.text(node.id)
    label = f' <span class="label">{markup.text(node.label)}</span>' if node.label else ""
    time = f'<a href="#entry-{anchor}"><time>{markup.text(entry.timestamp)}</time></a>'
    head = f"<h3>{markup.text(html.title)}{label} {time}</h3>"
    return f'<article class="{html.kind}" id="entry-{anchor}">\n{head}\n{html.body}</article>\n'


def _fork(number: int) -> str:
    return f'<p class="fork"><a href="#branch-{number}">Branch {number} begins here</a></p>\n'


def _heading(session: Session, markup: Markup, title: str) -> str:
    totals = session.totals()
    facts = [
        ("Session", session.id),
        ("Folder", session.cwd),
        ("Begun", session.header.timestamp or ""),
        ("Messages", f"{totals.user_messages} of the user, {totals.assistant_messages} of the model"),
        ("Tool calls", str(totals.tool_calls)),
        ("Tokens", f"{totals.input + totals.cache_read + totals.cache_write} in, {totals.output} out"),
        ("Cost", f"${totals.cost:.4f}" if totals.cost else ""),
    ]
    rows = "".join(f"<dt>{name}</dt><dd>{markup.text(value)}</dd>" for name, value in facts if value)
    return f"<header>\n<h1>{title}</h1>\n<dl>{rows}</dl>\n</header>\n"


def _styles(themes: tuple[Theme, Theme]) -> str:
    light, dark = (_variables(theme) for theme in themes)
    classes = "".join(f".fg-{token}{{color:var(--{token})}}\n" for token in TOKENS if token not in BACKGROUND_TOKENS)
    classes += "".join(f".bg-{token}{{background:var(--{token})}}\n" for token in BACKGROUND_TOKENS)
    rules = Path(__file__).with_name("page.css").read_text("utf-8")
    return f":root{{{light}}}\n@media (prefers-color-scheme: dark){{:root{{{dark}}}}}\n{classes}{rules}"


def _variables(theme: Theme) -> str:
    colors = {**theme.colors, **theme.export}
    return "".join(f"--{name}:{color};" for name, color in colors.items() if isinstance(color, str) and color)
