"""How every screen looks, in the dark and in the light theme.

The pictures are in ``tests/data/screens``; ``cat`` shows them. After a wanted change ``PIOLET_NEW_SCREENS=1`` writes
them anew.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from rich.console import Console

from piolet.harness.messages import CustomMessage
from piolet.tui.theme_builtin import BUILT_IN_THEMES, built_in_theme
from tests.modes.interactive.desk import OTHER, Desk, opened
from tests.modes.interactive.test_commands import FakeLogin
from tests.support.scripted_model import MODEL, Reply, call, fails, hangs, says, thinking

SCREENS = Path(__file__).parents[2] / "data" / "screens"
SIZE = (76, 30)
TALL = (76, 60)
MARKDOWN = """# Plan

Some **bold**, *italic*, ~~old~~ and `code`, a [link](https://example.com).

1. first
2. second
   - [x] nested

> a quote

```python
def f(x: int) -> str:  # a comment
    return f"{x}" * 3
```

| name | n |
|------|--:|
| one  | 1 |
"""
EDIT = {"path": "a.py", "edits": [{"oldText": "return 1", "newText": "return 2"}]}


async def start(desk: Desk) -> None:
    await desk.see("AGENTS.md")


async def conversation(desk: Desk) -> None:
    await desk.ask("Say *something* nice", "one")


async def tools(desk: Desk) -> None:
    await desk.ask("go", "Done.")


async def cards(desk: Desk) -> None:
    desk.runtime.session.harness.set_active_tools(["write", "grep", "find", "ls", "bash"])
    docs = Path(desk.runtime.services.cwd, "docs")
    docs.mkdir()
    (docs / "guide.md").write_text("")
    await tools(desk)


async def unfolded(desk: Desk) -> None:
    await tools(desk)
    desk.key("ctrl+o")
    await desk.see("Tool output: expanded")


async def ends(desk: Desk) -> None:
    await desk.ask("first", "Error: 400 no")
    await desk.ask("second", "output limit")
    await desk.submit("!echo out; exit 3")
    await desk.see("(exit 3)")
    await desk.submit("!!echo hidden")
    await desk.see("hidden\n")
    desk.face.presenter.warn("A warning")


async def queue(desk: Desk) -> None:
    desk.face.progress.activity.frames = ["*"]
    await desk.submit("go")
    await desk.see("Endless")
    await desk.submit("steer it")
    await desk.submit("and later this", "alt+enter")
    await desk.see("Follow-up: and later this")
    await desk.paste("pasted\n" * 20)
    desk.type(" and 中文")
    await desk.see("and 中文")


async def menu(desk: Desk) -> None:
    desk.type("/mo")
    await desk.see("→ model")


async def tree(desk: Desk) -> None:
    await desk.ask("first", "One.")
    await desk.ask("second", "Two.")
    harness = desk.runtime.session.harness
    points = desk.runtime.session.fork_points()
    await harness.navigate_tree(points[1][0])
    await desk.ask("another way", "Three.")
    desk.runtime.session.session.append_label(points[0][0], "start")
    await desk.submit("/tree")
    await desk.see("Session Tree")
    desk.key("up")
    await desk.see("› ├⊟ • user: another way")


async def summaries(desk: Desk) -> None:
    await desk.paste("first " * 500)
    await desk.ask("", "One.")
    await desk.ask("second", "Two.")
    points = desk.runtime.session.fork_points()
    await desk.runtime.session.harness.navigate_tree(points[1][0], summarize=True)
    await desk.ask("third", "Three.")
    await desk.submit("/compact")
    await desk.see("[compaction]")
    await desk.idle()
    desk.key("ctrl+o")
    await desk.see("What was said")
    desk.face.app.transcript_view.to_end()


def panel(command: str, title: str, *keys: str) -> Callable[[Desk], Awaitable[None]]:
    async def show(desk: Desk) -> None:
        await desk.ask("first", "One.")
        await desk.submit(command)
        await desk.see(title)
        desk.key(*keys)

    return show


async def search(desk: Desk) -> None:
    await desk.ask("first", "One.")
    desk.key("ctrl+shift+f")
    await desk.see("Find:")
    desk.type("one")
    await desk.see("Find: one")


async def notices(desk: Desk) -> None:
    skill = desk.runtime.services.options.agent_dir / "skills" / "wave"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: wave\ndescription: How to wave\n---\nRaise a hand.")
    await desk.submit("/reload")
    await desk.see("[Skills]")
    await desk.ask("/skill:wave at me", "One.")
    await desk.runtime.session.harness.append(CustomMessage("note", "A *note*", display=True, timestamp=0))
    await desk.see("[note]")
    desk.face.presenter.error("An error")
    desk.face.presenter.warn("A warning")
    desk.face.presenter.status("A status")


async def question(desk: Desk) -> None:
    await desk.ask("first", "One.")
    await desk.submit("/tree")
    await desk.see("Session Tree")
    desk.key("up")
    await desk.see("› • user: first")
    desk.key("enter")
    await desk.see("Summarize branch?")


async def account(desk: Desk) -> None:
    desk.runtime.services.models.register_provider("fake", models=[MODEL], login=FakeLogin())
    await desk.submit("/login fake")
    await desk.see("Which word?")
    desk.type("ses")
    await desk.see("> ses")


async def key(desk: Desk) -> None:
    await desk.submit("/login anthropic")
    await desk.see("API key for anthropic")
    desk.type("secret")
    await desk.see("••••••")


async def themes(desk: Desk) -> None:
    await desk.submit("/settings")
    await desk.see("Auto-compact")
    desk.type("theme")
    await desk.see("→ Theme...")
    desk.key("enter")
    await desk.see(f"→ ✓ {desk.face.looks.theme.name}")


async def trust_question(desk: Desk) -> None:
    await desk.see("Trust project folder?")


ONE = (says("One."),)
SCENES: Mapping[str, tuple[Callable[[Desk], Awaitable[None]], tuple[Reply, ...]]] = {
    "start": (start, ()),
    "conversation": (conversation, (says(thinking("I think about *it*."), MARKDOWN),)),
    "tools": (
        tools,
        (
            says(call("read", id="1", path="a.py"), call("edit", id="2", **EDIT), call("ls", id="3", path="gone")),
            says("Done."),
        ),
    ),
    "cards": (
        cards,
        (
            says(
                call("write", id="1", path="b.py", content='"""A module"""\n' + "x = 1\n" * 12),
                call("grep", id="2", pattern="x", path="a.py"),
                call("find", id="3", pattern="*.md"),
                call("bash", id="4", command="echo out; exit 3"),
                call("ls", id="5", path="docs"),
                call("frobnicate", id="6", speed=3, where="here"),
            ),
            says("Done."),
        ),
    ),
    "tools-unfolded": (unfolded, (says(call("read", path="a.py")), says("Done."))),
    "ends": (ends, (fails("400 no", "Half an"), says("Cut", stop="length"))),
    "queue": (queue, (hangs("Endless"),)),
    "menu": (menu, ()),
    "tree": (tree, (says("One."), says("Two."), says("Three."))),
    "summaries": (
        summaries,
        (says("One."), says("Two."), says("What was said there."), says("Three."), says("What was said.")),
    ),
    "resume": (panel("/resume", "(1/1)"), ONE),
    "fork": (panel("/fork", "Message 1 of 1"), ONE),
    "model": (panel("/model", "Search:"), ONE),
    "scoped-models": (panel("/scoped-models", "✗ scripted-1", "enter"), ONE),
    "thinking": (panel("/thinking", "answers at once"), ONE),
    "settings": (panel("/settings", "Auto-compact", "down"), ONE),
    "hotkeys": (panel("/hotkeys", "Keys"), ONE),
    "login": (panel("/login", "Sign in with an API key"), ONE),
    "trust": (panel("/trust", "Project trust"), ONE),
    "notices": (notices, ONE),
    "question": (question, ONE),
    "account": (account, ()),
    "key": (key, ()),
    "themes": (themes, ()),
    "unknown": (panel("/hotkyes", "Did you mean"), ONE),
    "search": (search, ONE),
    "trust-question": (trust_question, ()),
}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose name is always equally long, since lines are cut by it."""
    with tempfile.TemporaryDirectory(prefix="piolet-", dir="/tmp") as name:
        yield Path(name)


@pytest.mark.parametrize("name", SCENES)
async def test_screen(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("PI_TRUE_COLOR", "1")
    monkeypatch.setenv("PI_HYPERLINKS", "0")
    work = folder / "home/work"
    work.mkdir(parents=True)
    (work / "AGENTS.md").write_text("Be brief.")
    (work / "a.py").write_text("def f():\n    x = 5\n    return 1\n")
    trust: bool | None = True
    if name == "trust-question":
        (work / ".pi/skills").mkdir(parents=True)
        trust = None
    scene, replies = SCENES[name]
    settings = {"theme": "dark", "compaction": {"keepRecentTokens": 10}, "retry": {"enabled": False}}
    async with opened(
        folder,
        *replies,
        size=TALL if name == "cards" else SIZE,
        settings=settings,
        at_home=True,
        trust=trust,
        ready=trust is not None,
        model=OTHER if name == "thinking" else MODEL,
    ) as desk:
        await scene(desk)
        for theme in BUILT_IN_THEMES:
            desk.face.show_theme(built_in_theme(theme))
            await check(desk, f"{name}-{theme}", folder)
        if trust is None:
            desk.key("escape")


def picture(desk: Desk, folder: Path) -> str:
    """Return the screen with its colours, and without what differs from run to run."""
    console = Console(color_system="truecolor", force_terminal=True)
    text = "\n".join(strip.render(console) for strip in desk.face.app.screen._compositor.render_strips())
    text = text.replace(folder.name, "piolet-........")
    text = re.sub(r"\d\.\ds", "0.0s", text)
    return re.sub(r" +(\x1b\[0m)?$", r"\1", text, flags=re.MULTILINE) + "\n"


async def check(desk: Desk, name: str, folder: Path) -> None:
    """The screen comes to look like the picture `name`."""
    path = SCREENS / f"{name}.ansi"
    if os.environ.get("PIOLET_NEW_SCREENS"):
        await desk.pilot.pause(0.5)
        path.parent.mkdir(exist_ok=True)
        path.write_text(picture(desk, folder))
    expected = path.read_text()
    with suppress(AssertionError):
        await desk.until(lambda: picture(desk, folder) == expected)
    assert picture(desk, folder) == expected
