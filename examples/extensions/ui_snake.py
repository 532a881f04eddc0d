"""/snake is a game: the arrows steer, q leaves. A component that has the whole input, and moves by itself."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from piolet.ext import CommandContext, ExtensionAPI, Key, Keymap, Tui, UiTheme

WIDTH, HEIGHT, SECONDS = 24, 10, 0.15
TURNS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}


class Snake:
    """`done(score)` is called when the game is over and a key is pressed, or on q."""

    def __init__(self, tui: Tui, theme: UiTheme, done: Callable[[int], None], dice: random.Random) -> None:
        self.tui, self.theme, self.done, self.dice = tui, theme, done, dice
        self.body = [(5, 5), (4, 5), (3, 5)]
        self.way = (1, 0)
        self.food = (12, 5)
        self.over = False
        self.score = 0

    def step(self) -> None:
        """Move by one field."""
        head = (self.body[0][0] + self.way[0], self.body[0][1] + self.way[1])
        inside = 0 <= head[0] < WIDTH and 0 <= head[1] < HEIGHT
        self.over = self.over or not inside or head in self.body
        if self.over:
            return
        self.body.insert(0, head)
        if head == self.food:
            self.score += 1
            free = [(x, y) for x in range(WIDTH) for y in range(HEIGHT) if (x, y) not in self.body]
            self.food = self.dice.choice(free)
        else:
            self.body.pop()

    def handle_input(self, key: Key) -> bool:
        if key.name in ("q", "escape") or self.over:
            self.done(self.score)
        elif (way := TURNS.get(key.name)) and way != (-self.way[0], -self.way[1]):
            self.way = way
        return True

    def render(self, width: int) -> list[str]:
        rows = [f"Score {self.score}" + ("  GAME OVER" if self.over else "  arrows steer, q leaves")]
        for y in range(HEIGHT):
            rows.append("".join(self._field(x, y) for x in range(min(WIDTH, width // 2))))
        return [rows[0][:width], *rows[1:]]

    def _field(self, x: int, y: int) -> str:
        if (x, y) in self.body:
            return self.theme.fg("success", "██")
        return self.theme.fg("error", "● ") if (x, y) == self.food else self.theme.fg("dim", "· ")


def extension(pi: ExtensionAPI) -> None:
    @pi.command("snake")
    async def snake(args: str, ctx: CommandContext) -> None:
        """Play a game."""

        async def run(game: Snake) -> None:
            while not game.over:
                await asyncio.sleep(SECONDS)
                game.step()
                game.tui.request_render()

        def make(tui: Tui, theme: UiTheme, keybindings: Keymap, done: Callable[[int], None]) -> Snake:
            game = Snake(tui, theme, done, random.Random())
            tasks.append(pi.spawn(run(game)))
            return game

        tasks: list[asyncio.Task[None]] = []
        score = await ctx.ui.custom(make)
        for task in tasks:
            task.cancel()
        if score is not None:
            ctx.ui.notify(f"Snake: {score} points")
