"""The session tree in place of the editor (terminal specification, section 8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from piolet.tui.component_input import Input
from piolet.tui.keymap import Keymap
from piolet.tui.keys import Key
from piolet.tui.panels.panel import HINT, RULE, fit_height, head_lines, key_hints
from piolet.tui.spans import Line, clip, row
from piolet.tui.tree_layout import Filter, TreeNode
from piolet.tui.tree_view import TreeView

_FILTERS: dict[str, Filter] = {
    "app.tree.filter.default": "default",
    "app.tree.filter.noTools": "no-tools",
    "app.tree.filter.userOnly": "user-only",
    "app.tree.filter.labeledOnly": "labeled-only",
    "app.tree.filter.all": "all",
}


class TreePanel:
    """Walks a tree: Enter calls `on_choose`, the label key `on_label`, the copy key `on_copy`, each with the node;
    Escape clears the search, then calls `on_cancel`."""

    def __init__(
        self,
        view: TreeView,
        on_choose: Callable[[TreeNode], object],
        on_cancel: Callable[[], object],
        *,
        on_label: Callable[[TreeNode], object] = lambda node: None,
        on_copy: Callable[[TreeNode], object] = lambda node: None,
        keymap: Keymap | None = None,
    ) -> None:
        self.view = view
        self.on_choose, self.on_cancel, self.on_label, self.on_copy = on_choose, on_cancel, on_label, on_copy
        self.keymap = keymap or Keymap()
        self.input = Input(prompt="  Type to search: ", keymap=self.keymap, on_change=view.search)
        self._rows = 10

    def handle(self, key: Key) -> bool:
        node = self.view.current
        match self.keymap.action(key, ("app.tree.", "tui.select.", "app.message.copy")):
            case "tui.select.confirm":
                if node is not None:
                    self.on_choose(node)
            case "tui.select.cancel":
                if self.input.text:
                    self.input.text = ""
                    self.view.search("")
                else:
                    self.on_cancel()
            case "tui.select.up":
                self.view.move(-1)
            case "tui.select.down":
                self.view.move(1)
            case "tui.select.pageUp":
                self.view.page(-self._rows)
            case "tui.select.pageDown":
                self.view.page(self._rows)
            case "app.message.copy":
                if node is not None:
                    self.on_copy(node)
            case str(action):
                self._tree_action(action, node)
            case None if key.name in ("left", "right"):
                self.view.page(-self._rows if key.name == "left" else self._rows)
            case None:
                return self.input.handle_input(key)
        return True

    def _tree_action(self, action: str, node: TreeNode | None) -> None:
        match action.removeprefix("app.tree."):
            case "foldOrUp":
                self.view.fold_or_up()
            case "unfoldOrDown":
                self.view.unfold_or_down()
            case "toggleLabelTimestamp":
                self.view.show_times = not self.view.show_times
            case "editLabel":
                if node is not None:
                    self.on_label(node)
            case "filter.cycleForward":
                self.view.cycle_filter(1)
            case "filter.cycleBackward":
                self.view.cycle_filter(-1)
            case _:
                self.view.set_filter(_FILTERS[action])

    def paste(self, text: str) -> None:
        self.input.paste(text)

    def lines(self, width: int, height: int) -> Sequence[Line]:
        hints = key_hints(self._hints(), width, height)
        head = head_lines("Session Tree", hints, width)
        rule = [row("─" * width, RULE)] if hints else []
        self._rows = max(1, min(height // 2 or 1, height - len(head) - len(rule) - 2))
        rows = self.view.lines(width, self._rows) or [row("  No entries", HINT)]
        body = [*rule, *rows, clip(row(f"  {self.view.status()}", HINT), width)]
        return fit_height(head, body, height, self.input.line(width))

    def _hints(self) -> list[str]:
        label = self.keymap.label
        filters = "/".join(label(action) for action in _FILTERS)
        return [
            f"↑/↓ move · ←/→ page · {label('app.tree.foldOrUp')}/{label('app.tree.unfoldOrDown')} branch · "
            f"{label('app.message.copy')} copy · {label('app.tree.editLabel')} label · "
            f"{label('app.tree.toggleLabelTimestamp')} label time",
            f"filters {filters} · cycle {label('app.tree.filter.cycleForward')}/"
            f"{label('app.tree.filter.cycleBackward')}",
        ]
