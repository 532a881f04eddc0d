"""What extensions ask and show on the screen (terminal specification, section 15)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from piolet.app.options import NewSession, ResourceSelection, RuntimeOptions
from piolet.app.runtime import Runtime
from piolet.llm.messages import ThinkingContent
from piolet.modes.interactive import actions
from piolet.modes.interactive.startup import resource_blocks
from piolet.tui.blocks.frame import Frame
from piolet.tui.keys import Key
from piolet.tui.widgets.key_events import KeyEvent
from tests.modes.interactive.desk import Desk, opened
from tests.support.scripted_model import call, says


def extension(folder: Path, code: str) -> None:
    """Write an extension whose command ``/go`` runs `code`."""
    path = folder / "home" / ".pi" / "agent" / "extensions" / "ours.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code)


def go(folder: Path, body: str, more: str = "") -> None:
    lines = "\n".join(f"        {line}" for line in body.strip().splitlines())
    extra = "\n".join(f"    {line}" for line in more.strip().splitlines())
    extension(
        folder,
        "from piolet.ext import *\n\n\ndef extension(pi):\n"
        f"{extra}\n"
        "    @pi.command('go')\n    async def go(args, ctx):\n"
        f"        ui = ctx.ui\n{lines}\n",
    )


async def run(desk: Desk) -> None:
    desk.type("/go")
    await desk.until(lambda: desk.draft == "/go")
    desk.key("escape", "enter")


async def test_select_confirm_input_and_editor_give_what_the_user_answers(tmp_path: Path) -> None:
    go(
        tmp_path,
        """
a = await ui.select("Pick", ["one", "two"])
b = await ui.confirm("Sure?", "it matters")
c = await ui.input("Name", "a name")
d = await ui.editor("Story", "once")
ui.notify(f"{a}|{b}|{c}|{d}")
""",
    )
    async with opened(tmp_path) as desk:
        await run(desk)
        await desk.see("Pick")
        desk.key("down", "enter")
        await desk.see("it matters")
        desk.key("enter")
        await desk.see("a name")
        desk.type("Ada")
        desk.key("enter")
        await desk.see("Story")
        desk.type(" more")
        desk.key("enter")
        await desk.see("two|True|Ada|once more")


async def test_a_dialog_with_a_timeout_counts_down_and_gives_up(tmp_path: Path) -> None:
    go(tmp_path, 'ui.notify(str(await ui.select("Pick", ["one"], timeout=0.4)) + " came")')
    async with opened(tmp_path) as desk:
        await run(desk)
        await desk.see("Pick (1s)")
        await desk.see("None came")
        await desk.not_see("Pick (1s)")


async def test_status_widgets_header_and_footer_are_drawn_where_they_belong(tmp_path: Path) -> None:
    go(
        tmp_path,
        """
ui.set_status("a", "status text")
ui.set_widget("w", ["above text"])
ui.set_widget("v", lambda tui, theme: Text("below text"), placement="below_editor")
ui.set_widget("long", [f"row {n}" for n in range(12)])
ui.set_header(lambda tui, theme: Text("own header"))
""",
    )
    async with opened(tmp_path, size=(80, 40)) as desk:
        await run(desk)
        await desk.see("status text")
        await desk.see("row 9")
        rows = desk.rows
        above, below = rows.index("above text"), rows.index("below text")
        assert above < next(n for n, row in enumerate(rows) if row.startswith("─")) < below
        await desk.see("row 9")
        await desk.not_see("row 10")
        await desk.see("... (widget truncated)")
        await desk.see("own header")
        await desk.not_see("Type to the model")


async def test_widgets_leave_the_editor_and_questions_their_rows_in_a_low_window(tmp_path: Path) -> None:
    go(
        tmp_path,
        """
ui.set_widget("w", [f"row {n}" for n in range(10)])
ui.set_widget("v", [f"below {n}" for n in range(10)], placement="below_editor")
print(await ui.select("Which?", ["one", "two"]))
""",
    )
    async with opened(tmp_path, size=(40, 10)) as desk:
        await run(desk)
        await desk.see("Which?")
        await desk.see("→ one")
        await desk.see("more lines)")
        desk.key("escape")
        await desk.not_see("Which?")
        desk.type("draft")
        await desk.see("draft")
        await desk.pilot.resize_terminal(40, 40)
        await desk.see("row 9")
        await desk.see("below 9")
        await desk.pilot.resize_terminal(40, 10)
        await desk.not_see("row 9")
        await desk.see("draft")


async def test_a_footer_of_an_extension_takes_the_place_of_ours_until_it_is_taken_back(tmp_path: Path) -> None:
    go(
        tmp_path,
        'ui.set_footer(None if args else (lambda tui, theme: Text("mine " + tui.footer.model)))',
    )
    async with opened(tmp_path) as desk:
        await run(desk)
        await desk.see("mine scripted-1")
        await desk.not_see("(auto)")
        await desk.submit("/go back")
        await desk.not_see("mine scripted-1")


async def test_a_custom_component_has_the_keys_until_it_is_done(tmp_path: Path) -> None:
    go(
        tmp_path,
        """
class Counter:
    def __init__(self, tui, theme, keys, done):
        self.count, self.done = 0, done
    def render(self, width):
        return [f"count {self.count}"]
    def handle_input(self, key):
        if key.name == "q":
            self.done(self.count)
        self.count += key.name == "up"
        return True
ui.notify(f"done {await ui.custom(Counter)}")
""",
    )
    async with opened(tmp_path) as desk:
        await run(desk)
        await desk.see("count 0")
        desk.key("up")
        desk.face.app.post_message(KeyEvent(Key("up", kind="release")))  # which it does not want to know
        desk.key("up")
        await desk.see("count 2")
        desk.key("q")
        await desk.see("done 2")
        await desk.not_see("count 2")


BAD = """
class Bad:
    def __init__(self, *args):
        self.rows = ["still well"]
    def render(self, width):
        return self.rows
    def handle_input(self, key):
        raise RuntimeError(f"no {key.name}")
    def dispose(self):
        raise RuntimeError("no end")
"""


def said(desk: Desk) -> str:
    """Return what is on the screen without breaks of lines."""
    return " ".join(row.strip() for row in desk.rows)


@pytest.mark.parametrize(
    ("show", "keys", "told"),
    [
        ("ui.set_header(lambda tui, theme: Text(5))", "", "TypeError"),
        ("ui.set_widget('w', lambda tui, theme: 1 / 0)", "", "division by zero"),
        ("ui.on_terminal_input(lambda key: 1 / 0)", "x", "division by zero"),
        ("ui.set_editor_component(Bad)", "x", "RuntimeError: no x"),
        ("await ui.custom(Bad)", "x", "RuntimeError: no x"),
        ("await ui.custom(Bad, overlay=True)", "x", "RuntimeError: no x"),
        ("await ui.custom(lambda *args: 1 / 0)", "", "division by zero"),
        ("await ui.custom(Bad, overlay=True, overlay_options={'width': 'wide'})", "", "'wide' is no size"),
        ("await ui.custom(Bad, overlay=True, overlay_options=lambda: 1 / 0)", "", "division by zero"),
        ("await ui.custom(Bad, overlay=True, overlay_options={'visible': lambda w, h: 1 / 0})", "", "division by zero"),
        ("await ui.custom(Bad, overlay=True, on_handle=lambda handle: 1 / 0)", "", "division by zero"),
        ("ui.add_autocomplete_provider(lambda sources: 1 / 0)", "", "division by zero"),
    ],
)
async def test_whatever_raises_is_taken_away_and_its_extension_named(
    tmp_path: Path, show: str, keys: str, told: str
) -> None:
    go(tmp_path, f"{BAD}\n{show}")
    async with opened(tmp_path, size=(160, 40)) as desk:
        await run(desk)
        if keys:
            await desk.until(
                lambda: "still well" in desk.text or bool(desk.face.surface.listeners or desk.face.app.panel)
            )
            desk.key(keys)
        await desk.until(lambda: told in said(desk), lambda: desk.text)
        assert "ours.py" in said(desk)[: said(desk).index(told)]
        await desk.not_see("still well")
        assert said(desk).count(told) == 1
        desk.type("still here")
        await desk.until(lambda: desk.draft.endswith("still here"))


async def test_a_component_that_raises_is_removed_and_its_extension_named(tmp_path: Path) -> None:
    go(
        tmp_path,
        """
class Bad:
    def __init__(self, name):
        self.name = name
    def render(self, width):
        raise RuntimeError(f"no {self.name}")
ui.set_widget("bad", lambda tui, theme: Bad("widget"))
ui.set_footer(lambda tui, theme: Bad("footer"))
ui.notify(str(await ui.custom(lambda tui, theme, keys, done: Bad("panel"))))
""",
    )
    async with opened(tmp_path, size=(120, 40)) as desk:
        await run(desk)
        await desk.see("None")
        shown = "".join(row.strip() for row in desk.rows).replace(" ", "")
        for name in ("widget", "footer", "panel"):
            assert shown.count(f"ours.py):RuntimeError:no{name}") == 1, desk.text
        await desk.see("scripted-1")  # our footer is back
        desk.type("still here")
        await desk.see("still here")


EVERYTHING = """
class Typed(CustomEditor):
    def render(self, width):
        return [*super().render(width), "own editor"]
class Rows:
    def __init__(self, *rows):
        self.rows = rows
    def render(self, width):
        return list(self.rows)
ui.set_widget("w", ["own widget"])
ui.set_widget("v", ["own widget below"], placement="below_editor")
ui.set_status("s", "own status")
ui.set_title("own title")
ui.set_header(lambda tui, theme: Text("own header"))
ui.set_footer(lambda tui, theme: Text("own footer " + " ".join(tui.statuses.values())))
ui.set_editor_component(Typed)
ui.set_working_message("own work")
ui.set_working_indicator(["own sign"], 1)
ui.set_hidden_thinking_label("own thoughts")
ui.on_terminal_input(lambda key: key.name == "z")
ui.add_autocomplete_provider(lambda sources: replace(sources, triggers={"#": issues}))
pi.spawn(ui.custom(lambda tui, theme, keys, done: Rows("own component")))
pi.spawn(ui.custom(
    lambda tui, theme, keys, done: Rows("own overlay"), overlay=True, overlay_options={"focused": False, "width": 20}
))
pi.spawn(ui.select("own question", ["yes", "no"]))
"""
AROUND_IT = """
from dataclasses import replace
async def issues(typed):
    return []
@pi.on("session_start")
def start(event, ctx):
    ctx.ui.set_widget("s", [f"started by {event.reason}"])
"""
OWN = ("widget", "widget below", "header", "footer own status", "overlay", "question", "editor", "component")


@pytest.mark.parametrize("command", ["reload", "new"])
async def test_everything_that_extensions_show_goes_and_what_they_show_at_the_next_start_stays(
    tmp_path: Path, command: str
) -> None:
    go(tmp_path, EVERYTHING, AROUND_IT)
    gate = asyncio.Event()
    async with opened(tmp_path, says(ThinkingContent("hm"), "done", gate=gate), size=(80, 50)) as desk:
        await desk.see("started by startup")
        face = desk.face
        await run(desk)
        await desk.see("own question")  # in place of the component
        for what in OWN[:6]:
            await desk.see(f"own {what}")
        assert (face._title, face.progress.activity.word) == ("own title", "own work")
        desk.key("escape")
        await desk.see("own component")
        await (desk.runtime.reload() if command == "reload" else desk.runtime.new_session())
        await desk.see(f"started by {command}")
        for what in OWN:
            await desk.not_see(f"own {what}")
        assert not face.app.overlays
        assert face.app.panel is None
        assert face._title != "own title"
        assert dict(face.app.editor_area.sources.triggers) == {}  # type: ignore[union-attr]
        await desk.submit("zz")
        await desk.see("Working")
        assert "own sign" not in desk.text
        gate.set()
        await desk.see("done")
        desk.key("ctrl+t")
        await desk.see("Thinking...")


async def test_messages_entries_and_tool_calls_are_drawn_by_their_renderers(tmp_path: Path) -> None:
    go(
        tmp_path,
        """
pi.send_message(CustomMessageDraft("note", "plain words"))
pi.append_entry("mark", {"at": 7})
""",
        """
pi.register_message_renderer("note", lambda message, options, theme: theme.fg("accent", f"<<{message.content}>>"))
pi.register_entry_renderer("mark", lambda entry, options, theme: Text(f"marked at {entry.data['at']}"))
""",
    )
    async with opened(tmp_path) as desk:
        await run(desk)
        await desk.see("<<plain words>>")
        await desk.see("marked at 7")
        await desk.not_see("[note]")


async def test_a_built_in_tool_is_drawn_as_an_extension_says(tmp_path: Path) -> None:
    go(
        tmp_path,
        "pass",
        """
@pi.on("session_start")
def start(event, ctx):
    pi.register_tool(
        create_bash_tool_definition(ctx.environment),
        render_call=lambda args, options, theme: f"RUN {args.get('command')}",
        render_result=lambda result, options, theme: f"GAVE {text_of(result.content)}",
        render_shell="self",
    )
""",
    )
    async with opened(tmp_path, says(call("bash", command="echo words")), says("done")) as desk:
        await desk.ask("hi", "done")
        await desk.see("\nRUN echo words")
        await desk.see("\nGAVE words")


async def test_shortcuts_key_listeners_and_the_editor_text_are_an_extensions_too(tmp_path: Path) -> None:
    go(
        tmp_path,
        'ui.on_terminal_input(lambda key: key.name == "z")',
        'pi.register_shortcut("ctrl+shift+y", lambda ctx: ctx.ui.set_editor_text(ctx.ui.get_editor_text() + "!"),'
        ' description="shout")',
    )
    async with opened(tmp_path) as desk:
        await run(desk)
        await desk.until(lambda: bool(desk.face.surface.listeners))
        desk.type("azb")
        await desk.until(lambda: desk.draft == "ab")
        desk.key("ctrl+shift+y")
        await desk.until(lambda: desk.draft == "ab!")
        desk.key("ctrl+c")
        await desk.submit("/hotkeys shout")
        await desk.see("→ ctrl+shift+y ")
        await desk.see("shout · Extensions")


async def test_an_editor_component_draws_the_editor_and_takes_its_keys(tmp_path: Path) -> None:
    go(
        tmp_path,
        """
class Shouting(CustomEditor):
    def render(self, width):
        return [*super().render(width), "SHOUT"]
    def handle_input(self, key):
        if key.name == "x":
            return True
        return super().handle_input(key)
ui.set_editor_component(Shouting)
""",
    )
    async with opened(tmp_path, says("answered")) as desk:
        await run(desk)
        await desk.see("SHOUT")
        desk.type("axb")
        await desk.until(lambda: desk.draft == "ab")
        desk.key("enter")
        await desk.see("answered")


async def test_the_working_word_the_theme_and_the_folding_can_be_set(tmp_path: Path) -> None:
    go(
        tmp_path,
        """
ui.set_working_message("Thinking hard")
ui.set_tools_expanded(True)
good, bad = ui.set_theme("light"), ui.set_theme("nowhere")
ui.notify(f"{good.success} {bad.success} {ui.get_tools_expanded()} {ui.get_theme('light').name}")
""",
    )
    async with opened(tmp_path) as desk:
        await run(desk)
        await desk.see("True False True light")
        assert desk.face.progress.activity.word == "Thinking hard"


async def test_questions_from_another_thread_are_asked_and_answered(tmp_path: Path) -> None:
    go(
        tmp_path,
        """
import asyncio, threading
loop = asyncio.get_running_loop()
def work():
    first = asyncio.run_coroutine_threadsafe(ui.select("Pick", ["one", "two"]), loop).result()
    second = asyncio.run_coroutine_threadsafe(ui.input("Name"), loop).result()
    loop.call_soon_threadsafe(ui.notify, f"{first}|{second}")
threading.Thread(target=work).start()
""",
    )
    async with opened(tmp_path) as desk:
        await run(desk)
        await desk.see("Pick")
        desk.key("down", "enter")
        await desk.see("Name")
        desk.type("me")
        desk.key("enter")
        await desk.see("two|me")


async def test_the_argument_of_a_command_is_completed_with_what_the_extension_proposes(tmp_path: Path) -> None:
    extension(
        tmp_path,
        """
from piolet.ext import AutocompleteItem

def words(prefix):
    if prefix == "z":
        raise ValueError("nothing begins so")
    return [word for word in ("another", "again") if word.startswith(prefix)]

async def items(prefix):
    return [AutocompleteItem("42", "the answer", "to all")]

def extension(pi):
    pi.register_command("go", lambda args, ctx: ctx.ui.notify(f"went {args}"), complete=words)
    pi.register_command("ask", lambda args, ctx: ctx.ui.notify(f"asked {args}"), complete=items)
""",
    )
    async with opened(tmp_path) as desk:
        desk.type("/go ")
        await desk.see("again")
        desk.key("tab")
        await desk.until(lambda: desk.draft == "/go another")
        desk.key("ctrl+u")
        desk.type("/ask ")
        await desk.see("to all")
        desk.key("tab")
        await desk.until(lambda: desk.draft == "/ask 42")
        desk.key("ctrl+u")
        desk.type("/go z")
        await desk.see("nothing begins so")


PICKER = """
class Picker:
    wants_key_release = True
    def __init__(self, tui, theme, keys, done):
        self.text, self.done = "", done
    def render(self, width):
        return [f"picker {width}", f"typed {self.text}"]
    def handle_input(self, key):
        if key.name == "q":
            self.done(self.text)
        else:
            self.text += key.name
        return True
"""


async def test_an_overlay_floats_over_the_screen_and_has_the_keys(tmp_path: Path) -> None:
    go(
        tmp_path,
        PICKER + 'ui.notify("picked " + await ui.custom(Picker, overlay=True, overlay_options={"width": 30}))',
    )
    async with opened(tmp_path, size=(80, 24)) as desk:
        await run(desk)
        await desk.see("picker 30")
        row = next(n for n, text in enumerate(desk.rows) if "picker 30" in text)
        assert (row, desk.rows[row].index("picker 30")) == (11, 25)
        assert any(text.startswith("────") for text in desk.rows)  # the editor is there still
        desk.key("a")
        desk.face.app.post_message(KeyEvent(Key("b", kind="release")))
        await desk.see("typed ab")
        assert desk.draft == ""
        await desk.pilot.resize_terminal(60, 20)
        await desk.until(lambda: "picker 30" in desk.rows[9] and desk.rows[9].index("picker 30") == 15)
        desk.key("q")
        await desk.see("picked ab")
        await desk.not_see("picker 30")
        desk.type("c")
        await desk.until(lambda: desk.draft == "c")


async def test_an_overlay_can_be_hidden_unfocused_and_ended_by_its_handle(tmp_path: Path) -> None:
    go(
        tmp_path,
        PICKER
        + """
options = {"focused": False, "anchor": "top-right", "width": 30}
match args:
    case "hide" | "show":
        handles[0].set_hidden(args == "hide")
    case "focus":
        handles[0].focus()
    case _:
        value = await ui.custom(Picker, overlay=True, overlay_options=lambda: options, on_handle=handles.append)
        ui.notify(f"ended {value}")
""",
        "handles = []",
    )
    async with opened(tmp_path, size=(80, 24)) as desk:
        await run(desk)
        await desk.see("picker 30")
        assert desk.rows[0].index("picker 30") == 50
        await desk.submit("/go hide")
        await desk.not_see("picker 30")
        await desk.submit("/go show")
        await desk.see("picker 30")
        desk.face.set_mode("regular")
        await desk.see("cannot be changed while an overlay is open")
        assert desk.face.mode == "fullscreen"
        await desk.submit("/go focus")
        desk.key("x")
        await desk.see("typed x")
        desk.key("q")
        await desk.see("ended x")


async def test_an_overlay_that_may_not_be_seen_gives_the_keys_back(tmp_path: Path) -> None:
    go(
        tmp_path,
        PICKER
        + "await ui.custom(Picker, overlay=True, overlay_options={'visible': lambda columns, rows: columns >= 80})",
    )
    async with opened(tmp_path, size=(80, 24)) as desk:
        await run(desk)
        await desk.see("picker 80")
        await desk.pilot.resize_terminal(70, 24)
        await desk.not_see("picker")
        desk.type("mine")
        await desk.until(lambda: desk.draft == "mine")
        await desk.pilot.resize_terminal(90, 24)
        await desk.see("picker 80")
        desk.key("q")
        await desk.not_see("picker")


async def test_entries_of_extensions_stand_at_their_place_when_a_session_is_opened_again(tmp_path: Path) -> None:
    go(
        tmp_path,
        'pi.append_entry("mark", {"at": 7})',
        'pi.register_entry_renderer("mark", lambda entry, options, theme: f"marked at {entry.data[\'at\']}")',
    )
    async with opened(tmp_path, says("first answer"), says("second answer")) as desk:
        await desk.ask("one", "first answer")
        await run(desk)
        await desk.see("marked at 7")
        await desk.ask("two", "second answer")
        path = desk.runtime.session.session.path
        assert path is not None
    async with opened(tmp_path, session=Path(path)) as desk:
        await desk.see("second answer")
        places = [desk.text.index(text) for text in ("first answer", "marked at 7", "two", "second answer")]
        assert places == sorted(places)


async def test_text_is_drawn_as_extensions_change_it_and_sent_as_it_was(tmp_path: Path) -> None:
    go(
        tmp_path,
        "pass",
        'pi.register_markdown_transformer(lambda text, context: f"{context.message_type}: {text.upper()}")',
    )
    async with opened(tmp_path, says(ThinkingContent("a thought"), "an answer")) as desk:
        await desk.submit("a question")
        for text in ("user: A QUESTION", "assistant: AN ANSWER", "assistant-thinking: A THOUGHT"):
            await desk.see(text)
        assert "a question" in str(desk.model.requests[0].context.messages[-1])


async def test_words_behind_a_sign_are_completed_by_an_extension_whose_failure_takes_that_away(tmp_path: Path) -> None:
    go(
        tmp_path,
        "ui.add_autocomplete_provider(lambda sources: replace(sources, triggers={'#': issues}))",
        """
from dataclasses import replace
async def issues(typed):
    if typed == "9":
        raise RuntimeError("no net")
    return [Suggestion(f"#{n} ", f"#{n}", "an issue") for n in (12, 13) if typed in str(n)]
""",
    )
    async with opened(tmp_path, size=(120, 30)) as desk:
        await run(desk)
        await desk.until(lambda: "#" in desk.face.editor.triggers)
        desk.type("fix #1")
        await desk.see("#13")
        desk.key("down", "tab")
        await desk.until(lambda: desk.draft == "fix #13 ")
        desk.type("#9")
        await desk.see("RuntimeError")
        desk.type(" #1")
        await desk.until(lambda: desk.draft == "fix #13 #9 #1")
        await desk.pilot.pause(0.1)
        assert "an issue" not in desk.text


async def test_the_head_names_the_extensions_that_were_loaded_wherever_they_are_from(tmp_path: Path) -> None:
    extension(tmp_path, "def extension(pi): pass\n")
    once, broken = tmp_path / "once.py", tmp_path / "broken.py"
    once.write_text("def extension(pi): pass\n")
    broken.write_text("1 / 0\n")
    home = tmp_path / "home"
    options = RuntimeOptions(
        cwd=tmp_path,
        agent_dir=home / ".pi" / "agent",
        home=home,
        mode="interactive",
        session=NewSession(in_memory=True),
        extensions=ResourceSelection(paths=[str(once), str(broken)]),
    )
    async with await Runtime.create(options) as runtime:
        (block,) = resource_blocks(runtime.services, [], runtime.extensions.extensions)
    shown = ["".join(text for text, _ in line).strip() for line in block.lines(Frame(80))]
    assert sorted(shown[-1].split(", ")) == ["once", "ours"]
    assert "[Extensions]" in shown


LOCKED = """
class Silent:
    def render(self, width):
        return ["no way out"]
class Refusing(Silent):
    def handle_input(self, key):
        return False
"""


@pytest.mark.parametrize("component", ["Silent", "Refusing"])
@pytest.mark.parametrize("overlay", [False, True])
async def test_a_component_that_does_not_use_keys_leaves_them_to_the_app(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, component: str, overlay: bool
) -> None:
    monkeypatch.setattr(actions, "TWICE_SECONDS", 60)
    go(tmp_path, f"{LOCKED}\nui.notify(f'gave {{await ui.custom(lambda *args: {component}(), overlay={overlay})}}')")
    async with opened(tmp_path, size=(60, 12)) as desk:
        await run(desk)
        await desk.see("no way out")
        desk.key("ctrl+home")
        await desk.see("Type to the model")
        desk.face.app.post_message(KeyEvent(Key("escape", kind="release")))
        desk.key("x")
        await desk.taken()
        assert desk.face.app.panel is not None
        desk.key("ctrl+end", "escape")
        await desk.see("gave None")
        await desk.not_see("no way out")
        assert desk.draft == ""
        await run(desk)
        await desk.see("no way out")
        desk.key("ctrl+c", "ctrl+c")
        await desk.until(lambda: not desk.face.app.is_running)


async def test_what_opens_again_and_again_can_be_left(tmp_path: Path) -> None:
    go(tmp_path, f"{LOCKED}\nwhile True:\n    await ui.custom(lambda *args: Refusing(), overlay=True)")
    async with opened(tmp_path) as desk:
        await run(desk)
        await desk.see("no way out")
        desk.key("escape")
        await desk.taken()
        await desk.see("no way out")
        desk.key("ctrl+d")
        await desk.until(lambda: not desk.face.app.is_running)


@pytest.mark.parametrize("component", ["Silent", "Refusing"])
async def test_an_editor_of_an_extension_that_does_not_use_keys_leaves_them_to_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, component: str
) -> None:
    monkeypatch.setattr(actions, "TWICE_SECONDS", 60)
    go(tmp_path, f"{LOCKED}\nui.set_editor_component(lambda *args: {component}())")
    async with opened(tmp_path, says("answered")) as desk:
        await run(desk)
        await desk.see("no way out")
        desk.type("hi")
        await desk.until(lambda: desk.draft == "hi")
        desk.key("enter")
        await desk.see("answered")
        await desk.idle()
        desk.key("ctrl+c", "ctrl+c")
        await desk.until(lambda: not desk.face.app.is_running)


async def test_an_editor_that_does_not_say_whether_it_used_a_key_gets_it_once(tmp_path: Path) -> None:
    go(
        tmp_path,
        """
class Typed(CustomEditor):
    def render(self, width):
        return [*super().render(width), "own editor"]
    def handle_input(self, key):
        super().handle_input(key)
ui.set_editor_component(Typed)
""",
    )
    async with opened(tmp_path) as desk:
        await run(desk)
        await desk.see("own editor")
        desk.type("once")
        await desk.taken()
        await desk.until(lambda: desk.draft == "once")


@pytest.mark.parametrize(
    "question", ["ui.custom(lambda *args: Silent(), overlay=True)", "ui.select('no way out', ['a'])"]
)
@pytest.mark.parametrize("command", ["reload", "new"])
async def test_a_command_that_waits_for_the_user_ends_with_its_session_without_a_word(
    tmp_path: Path, question: str, command: str
) -> None:
    go(tmp_path, f"{LOCKED}\nawait {question}\nui.notify('went on')", AROUND_IT)
    async with opened(tmp_path) as desk:
        await run(desk)
        await desk.see("no way out")
        await (desk.runtime.reload() if command == "reload" else desk.runtime.new_session())
        await desk.see(f"started by {command}")
        await desk.not_see("no way out")
        desk.type("later")
        await desk.see("later")
        assert "rror" not in desk.text
        assert "went on" not in desk.text


async def test_a_footer_has_ten_rows_at_most_and_leaves_the_editor_its_rows(tmp_path: Path) -> None:
    go(
        tmp_path,
        """
ui.set_footer(lambda tui, theme: Text("\\n".join(f"foot {n}" for n in range(200))))
ui.set_widget("w", [f"row {n}" for n in range(10)])
""",
    )
    async with opened(tmp_path, size=(80, 40)) as desk:
        await run(desk)
        await desk.see("foot 9")
        await desk.see("... (widget truncated)")
        assert "foot 10" not in desk.text
        for rows in (24, 10):
            await desk.pilot.resize_terminal(80, rows)
            await desk.see("more lines)")
            desk.type("d")
            await desk.until(lambda: sum(row.startswith("────") for row in desk.rows) == 2, lambda: desk.text)
            await desk.until(lambda: any(row.startswith("d") for row in desk.rows), lambda: desk.text)


@pytest.mark.parametrize("drawn", ["'letters'", "None", "5"])
async def test_a_component_that_draws_no_list_is_taken_away_and_told(tmp_path: Path, drawn: str) -> None:
    go(
        tmp_path,
        f"""
class Wrong:
    def render(self, width):
        return {drawn}
ui.set_footer(lambda tui, theme: Wrong())
""",
    )
    async with opened(tmp_path, size=(160, 40)) as desk:
        await run(desk)
        await desk.until(lambda: "not a list of strings" in said(desk), lambda: desk.text)
        assert "ours.py): TypeError: Wrong.render() returned" in said(desk)
        await desk.see("scripted-1")
