from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from piolet.tui.spans import Style, line_text, line_width
from piolet.tui.tree_layout import FILTERS, Filter, NodeKind, TreeNode
from piolet.tui.tree_view import TreeView, label_time

PREFIXES = {"user": "user:", "assistant": "assistant:", "bash": "[bash]:"}


def node(id: str, parent: str | None, kind: NodeKind = "user", text: str = "", **more: object) -> TreeNode:
    return TreeNode(id, parent, kind, text or id, PREFIXES.get(kind, ""), **more)  # type: ignore[arg-type]


# One root, a branch point at the answer, another below branch B.
NODES = [
    node("q1", None),
    node("a1", "q1", "assistant"),
    node("A", "a1"),
    node("call", "A", "assistant", silent=True),
    node("read", "call", "tool", "[read: x]"),
    node("A2", "read", "assistant"),
    node("B", "a1", label="mine", label_ms=1_735_787_045_000),
    node("b", "B", "assistant"),
    node("B1", "b"),
    node("b1", "B1", "assistant"),
    node("B2", "b"),
    node("model", "B2", "bookkeeping", "[model: m1]"),
    node("b2", "model", "assistant"),
]


def shown(view: TreeView, limit: int = 60) -> list[str]:
    return [line_text(line).rstrip() for line in view.lines(limit, 100)]


def current(view: TreeView) -> str:
    return view.current.id if view.current else ""


def ids(view: TreeView) -> list[str]:
    return [row.node.id for row in view.rows]


def test_only_children_of_a_branch_point_are_set_in_and_the_active_branch_comes_first() -> None:
    assert shown(TreeView(NODES, "b2")) == [
        "  • user: q1",
        "  • assistant: a1",
        "  ├⊟ • [mine] user: B",
        "  │     • assistant: b",
        "  │     ├⊟ • user: B2",
        "› │     │     • assistant: b2",
        "  │     └⊟ user: B1",
        "  │           assistant: b1",
        "  └⊟ user: A",
        "        [read: x]",
        "        assistant: A2",
    ]


def test_several_roots_hang_on_an_invisible_branch_point() -> None:
    nodes = [node("r1", None), node("a1", "r1", "assistant"), node("x", "a1"), node("y", "a1"), node("r2", None)]
    assert shown(TreeView(nodes, "r2")) == [
        "› • user: r2",
        "  user: r1",
        "     assistant: a1",
        "     ├─ user: x",
        "     └─ user: y",
    ]


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        ("default", ["q1", "a1", "B", "b", "B2", "b2", "B1", "b1", "A", "read", "A2"]),
        ("no-tools", ["q1", "a1", "B", "b", "B2", "b2", "B1", "b1", "A", "A2"]),
        ("user-only", ["q1", "B", "B2", "B1", "A"]),
        ("labeled-only", ["B"]),
        ("all", ["q1", "a1", "B", "b", "B2", "model", "b2", "B1", "b1", "A", "read", "A2"]),
    ],
)
def test_filters_hide_kinds_and_rehang_their_children(filter: Filter, expected: list[str]) -> None:
    assert ids(TreeView(NODES, "b2", filter)) == expected


def test_an_answer_of_tool_calls_is_seen_only_as_the_leaf() -> None:
    assert "call" not in ids(TreeView(NODES, "b2", "all"))
    assert "call" in ids(TreeView(NODES[:4], "call"))


def test_the_filter_in_force_gives_way_to_the_default_and_filters_cycle() -> None:
    view = TreeView(NODES, "b2")
    view.set_filter("user-only")
    assert view.filter == "user-only"
    view.set_filter("user-only")
    assert view.filter == "default"
    seen = []
    for _ in FILTERS:
        view.cycle_filter(1)
        seen.append(view.filter)
    assert seen == [*FILTERS[1:], FILTERS[0]]
    view.cycle_filter(-1)
    assert view.filter == "all"


def test_a_hidden_selection_passes_to_its_nearest_ancestor() -> None:
    view = TreeView(NODES, "b2")
    view.set_filter("user-only")
    assert current(view) == "B2"
    assert TreeView(NODES, "model").current == NODES[10]


def test_search_wants_all_words_in_any_case() -> None:
    view = TreeView(NODES, "b2")
    view.search("USER mine")
    assert ids(view) == ["B"]
    view.search("nothing")
    assert ids(view) == []
    assert view.status() == "(0/0)"
    assert view.lines(40, 5) == []
    view.move(1)
    view.search("")
    assert len(ids(view)) == 11


def test_the_selection_wraps_and_pages_stop_at_the_ends() -> None:
    view = TreeView(NODES, "q1")
    view.move(-1)
    assert current(view) == "b2"
    view.move(1)
    assert current(view) == "q1"
    view.page(500)
    assert current(view) == "b2"
    view.page(-3)
    assert view.selected == 7


def test_folding_hides_what_follows_a_start_and_jumps_from_anywhere_else() -> None:
    view = TreeView(NODES, "b2")
    view.fold_or_up()
    assert current(view) == "B2"
    view.fold_or_up()
    assert "b2" not in ids(view)
    assert "› │     ├⊞ • user: B2" in shown(view)
    view.fold_or_up()
    assert current(view) == "B"
    view.fold_or_up()
    view.fold_or_up()
    assert current(view) == "q1"
    view.fold_or_up()
    assert shown(view) == ["› ⊞ • user: q1"]
    view.unfold_or_down()
    assert len(view.rows) == 6  # B is still folded
    view.unfold_or_down()
    assert current(view) == "B"


def test_going_down_ends_at_the_end_of_a_branch() -> None:
    view = TreeView(NODES, "A")
    view.unfold_or_down()
    assert current(view) == "A2"


def test_a_filter_or_a_search_unfolds_all() -> None:
    view = TreeView(NODES, "B2")
    view.fold_or_up()
    assert len(view.rows) == 10
    view.search("")
    assert len(view.rows) == 11


def test_labels_change_and_show_their_time() -> None:
    view = TreeView(NODES, "b2")
    view.show_times = True
    now = datetime(2025, 1, 2, 12, tzinfo=UTC)
    assert "[mine] 03:04 user: B" in line_text(view.lines(60, 100, now)[2])
    view.relabel("B", "", 0)
    view.relabel("A", "new", 0)
    assert "• user: B" in shown(view)[2]
    assert "[new] user: A" in shown(view)[8]
    view.set_filter("labeled-only")
    assert view.status() == "(1/1) [labeled-only] [+label time]"


@pytest.mark.parametrize(
    ("now", "text"), [((2025, 1, 2), "03:04"), ((2025, 3, 2), "1/2 03:04"), ((2026, 1, 2), "25/1/2 03:04")]
)
def test_the_time_of_a_label_is_as_short_as_can_be(now: tuple[int, int, int], text: str) -> None:
    assert label_time(1_735_787_045_000, datetime(*now, 12, tzinfo=UTC)) == text


def test_the_selected_row_stands_out_over_the_whole_width() -> None:
    view = TreeView(NODES, "b2")
    line = view.lines(40, 100)[5]
    assert line_width(line) == 40
    assert all(span.style.bg == "selectedBg" and span.style.bold for span in line)
    assert view.lines(40, 100)[0][-1].style == Style()


def test_the_selection_is_centred_and_the_list_as_tall_as_asked() -> None:
    nodes = [node(str(n), str(n - 1) if n else None) for n in range(100)]
    view = TreeView(nodes, "50")
    lines = view.lines(40, 9)
    assert len(lines) == 9
    assert line_text(lines[4]).startswith("› • user: 50")
    view.page(-100)
    assert line_text(view.lines(40, 9)[0]).startswith("› • user: 0")


def test_a_deep_row_is_panned_so_that_its_text_is_seen() -> None:
    nodes = [node("0", None)]
    for n in range(1, 40):
        nodes += [
            node(f"x{n}", nodes[-1].id if n == 1 else f"y{n - 1}"),
            node(f"y{n}", nodes[-1].id if n == 1 else f"y{n - 1}"),
        ]
    view = TreeView(nodes, nodes[-1].id)
    lines = [line_text(line) for line in view.lines(40, 9)]
    selected = next(line for line in lines if line.startswith("› "))
    assert "user: y39" in selected
    assert all(line_width(line) <= 40 for line in view.lines(40, 9))


def test_texts_are_one_safe_line_of_at_most_200_characters() -> None:
    view = TreeView([node("x", None, text="a\nb\x1b]0;t\x07" + "c" * 500)], "x")
    text = line_text(view.lines(400, 1)[0]).strip()
    assert text == "› • user: a b" + "c" * 197


def test_a_chain_of_a_hundred_thousand_entries_is_laid_out_and_walked_quickly() -> None:
    nodes = [node(str(n), str(n - 1) if n else None) for n in range(100_000)]
    start = time.process_time()
    view = TreeView(nodes, "99999")
    assert time.process_time() - start < 5
    start = time.process_time()
    for _ in range(100):
        view.move(-1)
        view.lines(100, 30)
    assert time.process_time() - start < 2


parents = st.lists(st.integers(-1, 30), min_size=1, max_size=30)


@given(parents, st.integers(0, 29), st.sampled_from(FILTERS), st.integers(1, 50))
def test_every_visible_entry_has_one_row_below_its_visible_ancestor(
    links: list[int], leaf: int, filter: Filter, limit: int
) -> None:
    kinds: list[NodeKind] = ["user", "assistant", "tool", "bookkeeping"]
    nodes = [
        node(str(n), str(link) if 0 <= link < n else None, kinds[n % 4], label="x" if n % 3 == 0 else "")
        for n, link in enumerate(links)
    ]
    view = TreeView(nodes, str(leaf % len(nodes)), filter)
    assert len(ids(view)) == len(set(ids(view)))
    assert all(line_width(line) <= limit for line in view.lines(limit, 100))
    for number, row in enumerate(view.rows):
        assert row.parent is None or row.parent < number
    if filter == "all":
        assert len(view.rows) == len(nodes)
