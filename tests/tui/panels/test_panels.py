from __future__ import annotations

from collections.abc import Sequence

import pytest

from piolet.tui.component_input import SelectList
from piolet.tui.keys import Key, press
from piolet.tui.panels.list_panel import ListPanel
from piolet.tui.panels.panel import Panel
from piolet.tui.panels.question import ComponentPanel, EditorPanel, InputPanel
from piolet.tui.panels.search_panel import SearchPanel
from piolet.tui.panels.tree_panel import TreePanel
from piolet.tui.select_list import Item
from piolet.tui.spans import line_text, line_width
from piolet.tui.tree_layout import TreeNode
from piolet.tui.tree_view import TreeView


class Said(list[object]):
    """Remembers what panels call."""

    def cancel(self) -> None:
        self.append("cancel")


def keys(panel: Panel, *names: str) -> list[bool]:
    return [panel.handle(press(name)) for name in names]


def shown(panel: Panel, width: int = 40, height: int = 20) -> list[str]:
    return [line_text(line).rstrip() for line in panel.lines(width, height)]


def models(said: Said, **options: object) -> ListPanel[int]:
    items = [Item(n, f"model-{n}", f"provider {n}", current=n == 2) for n in range(30)]
    return ListPanel("Models", items, said.append, said.cancel, **options)  # type: ignore[arg-type]


def tree(said: Said) -> TreePanel:
    nodes = [TreeNode("a", None, "user", "first", "user:"), TreeNode("b", "a", "assistant", "answer", "assistant:")]
    return TreePanel(
        TreeView(nodes, "b"),
        lambda node: said.append(node.id),
        said.cancel,
        on_label=lambda node: said.append(f"label {node.id}"),
        on_copy=lambda node: said.append(f"copy {node.id}"),
    )


def test_a_list_begins_at_what_is_in_force_and_hands_out_the_choice() -> None:
    said = Said()
    panel = models(said)
    assert shown(panel, height=6) == [
        "─" * 40,
        "  Models",
        "    model-1  provider 1",
        "→ ✓ model-2  provider 2",
        "    model-3  provider 3",
        "  (3/30)",
    ]
    assert keys(panel, "down", "enter", "escape", "x") == [True, True, True, False]
    assert said == [3, "cancel"]
    keys(panel, "pageDown", "enter", "pageUp", "enter", "ctrl+c")
    assert said[2:] == [6, 3, "cancel"]


def test_a_list_fits_the_window() -> None:
    for height in (1, 2, 3, 5, 40):
        assert len(shown(models(Said(), search=True), height=height)) <= height
    assert len(shown(models(Said()), height=40)) == 2 + 10 + 1


def test_in_a_low_window_hints_go_first_and_the_search_stays() -> None:
    panel = models(Said(), search=True, hints=["many keys " * 8], details=lambda value: "much to say " * 12)
    keys(panel, "2")
    assert shown(panel, height=7)[:3] == ["─" * 40, "  Models", "  Search: 2"]
    assert shown(panel, height=4)[:2] == ["  Models", "  Search: 2"]
    walk = tree(Said())
    keys(walk, "a")
    assert shown(walk, 24, 4) == ["  Session Tree", "  Type to search: a", "› • assistant: answer", "  (1/1)"]


def test_the_answers_to_a_long_question_are_seen_in_a_low_window() -> None:
    answers = [Item(n, f"answer {n}") for n in range(4)]
    panel = ListPanel("Sure?", answers, print, print, hints=["what will happen " * 12])
    assert shown(panel, 24, 8) == [
        "  Sure?",
        *(f" {line}" for line in ("what will happen what", "will happen what will", "happen what will happen")),
        "→ answer 0",
        "  answer 1",
        "  answer 2",
        "  answer 3",
    ]


def test_a_search_filters_as_it_is_typed() -> None:
    said = Said()
    panel = models(said, search=True)
    keys(panel, *"l-29", "enter")
    assert said == [29]
    keys(panel, "backspace", "backspace")
    assert len(panel.list.items) == 30
    panel.paste("nothing")
    assert "No matches" in shown(panel)[-1]
    keys(panel, "enter")
    assert said == [29]
    assert models(said, search=True, query="-17").list.current == Item(17, "model-17", "provider 17")


def test_other_keys_do_more_with_what_is_selected() -> None:
    said = Said()
    panel = models(said, actions={"app.models.save": lambda value: said.append(f"save {value}")}, details=str)
    assert keys(panel, "ctrl+s") == [True]
    assert said == ["save 2"]
    assert shown(panel)[-1] == "  2"


def test_the_tree_names_its_keys_and_shows_its_rows() -> None:
    rows = shown(tree(Said()), width=110)
    assert rows[1] == "  Session Tree"
    assert rows[2].startswith(" ↑/↓ move · ←/→ page · ctrl+left/ctrl+right branch · ctrl+x copy · shift+l label")
    assert rows[3] == " filters ctrl+d/ctrl+t/ctrl+u/ctrl+l/ctrl+a · cycle ctrl+o/shift+ctrl+o"
    assert rows[4].startswith("  Type to search:")
    assert rows[-3:] == ["  • user: first", "› • assistant: answer", "  (2/2)"]


def test_the_tree_takes_its_keys() -> None:
    said = Said()
    panel = tree(said)
    keys(panel, "enter", "shift+l", "ctrl+x", "up", "enter")
    assert said == ["b", "label b", "copy b", "a"]
    keys(panel, "ctrl+u")
    assert panel.view.filter == "user-only"
    for key, name in (("ctrl+a", "all"), ("ctrl+t", "no-tools"), ("ctrl+l", "labeled-only"), ("ctrl+u", "user-only")):
        keys(panel, key)
        assert panel.view.filter == name
    keys(panel, "ctrl+o")
    assert panel.view.filter == "labeled-only"
    keys(panel, "shift+ctrl+o")
    assert panel.view.filter == "user-only"
    keys(panel, "ctrl+d", "shift+t")
    assert panel.view.filter == "default"
    assert panel.view.show_times
    keys(panel, "ctrl+left")
    assert shown(panel)[-2] == "› ⊞ • user: first"
    keys(panel, "alt+right", "right", "left")
    assert panel.view.selected == 0
    keys(panel, "alt+left")
    assert shown(panel)[-2] == "› ⊞ • user: first"
    keys(panel, "ctrl+right")
    assert shown(panel)[-2] == "  • assistant: answer"


def test_escape_clears_the_search_of_the_tree_and_then_leaves() -> None:
    said = Said()
    panel = tree(said)
    keys(panel, *"answer")
    assert len(panel.view.rows) == 1
    keys(panel, "escape")
    assert len(panel.view.rows) == 2
    assert said == []
    keys(panel, "escape")
    assert said == ["cancel"]
    panel.paste("nothing")
    assert "No entries" in shown(panel)[-2]


def test_one_line_is_asked_for() -> None:
    said = Said()
    panel = InputPanel("Name?", said.append, said.cancel, text="ab", hints=["Enter saves"])
    assert shown(panel) == ["─" * 40, "  Name?", " Enter saves", "  > ab"]
    panel.paste("c\nd")
    keys(panel, "enter", "escape")
    assert said == ["abc d", "cancel"]


def test_several_lines_are_asked_for() -> None:
    said = Said()
    panel = EditorPanel("Instructions", said.append, said.cancel, text="a")
    keys(panel, "shift+enter", "b", "enter", "escape")
    assert said == ["a\nb", "cancel"]
    assert shown(panel) == ["─" * 40, "  Instructions", "  a", "  b"]


def test_a_search_line_asks_steps_and_closes() -> None:
    said = Said()

    def query(text: str) -> bool:
        said.append(text)
        return text != "ab"

    def step(direction: int) -> bool:
        said.append(direction)
        return True

    panel = SearchPanel(query, step, said.cancel)
    keys(panel, "a", "b")
    assert shown(panel, width=60)[0].endswith("no match")
    keys(panel, "backspace", "enter", "shift+enter", "ctrl+g", "ctrl+shift+g", "escape")
    assert said == ["a", "ab", "a", 1, -1, 1, -1, "cancel"]
    assert shown(panel, width=80)[0].endswith("enter next · shift+enter previous")


class Broken:
    def render(self, width: int) -> list[str]:
        raise ValueError("no")

    def handle_input(self, key: Key) -> bool:
        raise ValueError("never")


class Wide:
    def render(self, width: int) -> list[str]:
        return ["x" * 500 + "\x1b[2J", "y"]


def test_a_component_is_drawn_within_its_bounds() -> None:
    said = Said()
    panel = ComponentPanel(SelectList([Item(1, "one")], on_select=said.append), said.append)
    assert keys(panel, "enter") == [True]
    assert said == [1]
    assert shown(ComponentPanel(Wide(), said.append), width=10) == ["x" * 10, "y"]


def test_a_component_that_raises_is_told_of_and_draws_nothing_more() -> None:
    said: list[Exception] = []
    panel = ComponentPanel(Broken(), said.append)
    assert shown(panel) == []
    assert shown(panel) == []
    assert keys(panel, "x") == [False]
    assert list(map(repr, said)) == ["ValueError('no')"]


PANELS = [
    lambda: models(Said(), search=True, details=lambda value: "d" * 90, hints=["h" * 90]),
    lambda: tree(Said()),
    lambda: InputPanel("T" * 90, str, Said().cancel, placeholder="p" * 90),
    lambda: EditorPanel("T" * 90, str, Said().cancel, text="e\n" * 90),
    lambda: ComponentPanel(Wide(), str),
    lambda: SearchPanel(lambda query: True, lambda step: True, Said().cancel),
]


@pytest.mark.parametrize("make", PANELS)
@pytest.mark.parametrize("size", [(1, 1), (5, 3), (20, 10), (80, 24)])
def test_every_panel_fits_every_screen(make: object, size: Sequence[int]) -> None:
    width, height = size
    lines = make().lines(width, height)  # type: ignore[operator]
    assert 0 < len(lines) <= height
    assert all(line_width(line) <= width for line in lines)
