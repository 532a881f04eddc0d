"""/tictactoe: you are X and play on the screen; the model is O and plays with a tool. The state is kept in entries, so
that it belongs to the branch, and each board stays to be seen in the conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from piolet.ext import (
    CommandContext,
    CustomEntry,
    ExtensionAPI,
    ExtensionContext,
    Key,
    Keymap,
    RenderOptions,
    SessionStart,
    SessionTree,
    ToolResult,
    Tui,
    UiTheme,
    text,
)

LINES = ("012", "345", "678", "036", "147", "258", "048", "246")
STEPS = {"up": -3, "down": 3, "left": -1, "right": 1}
EMPTY = "." * 9


def outcome(board: str) -> str:
    """Return who has won, "nobody" for a full board, or nothing."""
    for line in LINES:
        marks = {board[int(field)] for field in line}
        if len(marks) == 1 and marks != {"."}:
            return marks.pop()
    return "" if "." in board else "nobody"


def rows(board: str, theme: UiTheme, cursor: int | None = None) -> list[str]:
    colors = {"X": "accent", "O": "warning", ".": "dim"}
    fields = [theme.fg(colors[mark], f"[{mark}]" if at == cursor else f" {mark} ") for at, mark in enumerate(board)]
    return ["".join(fields[at : at + 3]) for at in (0, 3, 6)]


class Board:
    """The user's move: the arrows go to a field, Enter takes it. `done(field)` is called with it, or with None."""

    def __init__(self, board: str, theme: UiTheme, done: Callable[[int | None], None]) -> None:
        self.board, self.theme, self.done, self.cursor = board, theme, done, 4

    def handle_input(self, key: Key) -> bool:
        if key.name in STEPS:
            self.cursor = (self.cursor + STEPS[key.name]) % 9
        elif key.name == "enter" and self.board[self.cursor] == ".":
            self.done(self.cursor)
        elif key.name == "escape":
            self.done(None)
        return True

    def render(self, width: int) -> list[str]:
        return [*rows(self.board, self.theme, self.cursor), "Your move: arrows, Enter"]


def extension(pi: ExtensionAPI) -> None:
    board = EMPTY

    def restore(event: SessionStart | SessionTree, ctx: ExtensionContext) -> None:
        nonlocal board
        entries = [entry for entry in ctx.session_manager.get_branch() if isinstance(entry, CustomEntry)]
        board = next((entry.data for entry in reversed(entries) if entry.custom_type == "tictactoe"), EMPTY)

    def draw(entry: Any, options: RenderOptions, theme: UiTheme) -> str:
        end = outcome(entry.data)
        return "\n".join([*rows(entry.data, theme), *([f"{end} wins"] if end else [])])

    def place(field: int, mark: str) -> None:
        nonlocal board
        board = board[:field] + mark + board[field + 1 :]
        pi.append_entry("tictactoe", board)

    pi.on("session_start", restore)
    pi.on("session_tree", restore)
    pi.register_entry_renderer("tictactoe", draw)

    @pi.command("tictactoe")
    async def tictactoe(args: str, ctx: CommandContext) -> None:
        """Make your move; a finished game begins anew."""
        nonlocal board
        board = EMPTY if outcome(board) else board

        def make(tui: Tui, theme: UiTheme, keybindings: Keymap, done: Callable[[int | None], None]) -> Board:
            return Board(board, theme, done)

        field = await ctx.ui.custom(make)
        if field is not None:
            place(field, "X")
            if not outcome(board):
                pi.send_user_message(f"We play tic-tac-toe, I am X. The board is {board}, '.' is free. Make your move.")

    @pi.tool(label="Tic-tac-toe", execution_mode="sequential")
    async def tictactoe_move(field: Annotated[int, "0 to 8, row by row"]) -> ToolResult:
        """Put your O on a free field of the tic-tac-toe board."""
        if not 0 <= field < 9 or board[field] != ".":
            raise ValueError(f"The field {field} is not free on {board}")
        place(field, "O")
        end = outcome(board)
        return ToolResult([text(f"{board}, {end} wins" if end else board)])
