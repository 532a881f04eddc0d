from __future__ import annotations

from textual import events

from piolet.tui.blocks.footer import FooterView, footer_lines
from piolet.tui.panels.list_panel import ListPanel
from piolet.tui.select_list import Item
from piolet.tui.spans import Line, row
from piolet.tui.widgets.lines_view import LinesView
from piolet.tui.widgets.panel_view import PanelView
from tests.tui.widgets.stage import Stage, strips


async def test_a_panel_takes_keys_and_is_as_tall_as_it_wants() -> None:
    chosen: list[object] = []
    panel = ListPanel("Pick", [Item(n, f"item {n}") for n in range(30)], chosen.append, lambda: None, search=True)
    view = PanelView(panel, strips())
    app = Stage(lambda: [view])
    async with app.run_test(size=(30, 40)) as pilot:
        view.focus()
        await pilot.pause()
        assert app.text()[:4] == ["─" * 30, "  Pick", "  Search:", "→ item 0"]
        assert view.size.height == 3 + 10 + 1
        await pilot.press("2", "9")
        assert view.size.height == 4
        await pilot.press("enter")
        assert chosen == [29]
        view.post_message(events.Paste("x"))
        await pilot.pause()
        assert "No matches" in app.text()[3]
        await pilot.resize_terminal(12, 5)
        await pilot.pause()
        assert len(app.text()) == 5


async def test_lines_are_as_tall_as_they_are_many() -> None:
    lines: list[Line] = [row("one")]
    view = LinesView(lambda width: lines, strips())
    app = Stage(lambda: [view, LinesView(lambda width: footer_lines(FooterView("/tmp/x"), width), strips())])
    async with app.run_test(size=(30, 6)) as pilot:
        assert app.text()[:2] == ["one", "/tmp/x"]
        lines.append(row("two"))
        view.redraw()
        await pilot.pause()
        assert app.text()[:3] == ["one", "two", "/tmp/x"]
        lines[:] = []
        view.redraw()
        await pilot.pause()
        assert app.text()[0] == "/tmp/x"
        lines[:] = [row("new")]
        view.redraw()
        view.set_strips(strips())
        await pilot.pause()
        assert app.text()[0] == "new"
