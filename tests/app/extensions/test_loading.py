"""Extensions are found and loaded in their order; what fails is reported and left out."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from piolet.app.extensions.api import ExtensionAPI
from piolet.app.extensions.errors import LoadFailed
from piolet.app.extensions.extension import Extension
from piolet.app.extensions.loader import PREFIX, Loader, module_name
from piolet.app.extensions.sources import ExtensionSource, SourceInfo
from piolet.app.options import ResourceSelection
from piolet.app.packages.distributions import EXTENSIONS, entry_points
from tests.app.extensions.stage import stage, write

NAMED = """
    def extension(pi):
        pi.register_command("{name}", lambda args, ctx: None)
"""


def names(made: object) -> list[str]:
    return [Path(str(extension)).name for extension in made.runtime.extensions.extensions][:-1]  # type: ignore[attr-defined]


async def test_the_order_is_command_line_project_user_packages_distributions_then_the_embedders(tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    for path in (
        work / "given.py",
        work / ".pi" / "listed.py",
        work / ".pi" / "extensions" / "in_project.py",
        home / ".pi" / "agent" / "named.py",
        home / ".pi" / "agent" / "extensions" / "b.py",
        home / ".pi" / "agent" / "extensions" / "a.py",
        tmp_path / "package" / "extensions" / "packaged.py",
    ):
        write(path, NAMED.format(name=path.stem))
    (work / ".pi" / "settings.json").write_text(json.dumps({"extensions": ["listed.py"]}))
    (home / ".pi" / "agent" / "settings.json").write_text(
        json.dumps({"extensions": ["named.py"], "packages": [str(tmp_path / "package")]})
    )
    (tmp_path / "site").mkdir()
    write(tmp_path / "site" / "dist_ext.py", NAMED.format(name="dist"))
    info = write(tmp_path / "site" / "dist_ext-1.0.dist-info" / "entry_points.txt", "")
    info.write_text(
        "[console_scripts]\nx = y:z\n\n[pi.extensions]\n# a comment = not:this\ndist = dist_ext:extension\n"
    )
    sys.path.append(str(tmp_path / "site"))
    try:
        async with stage(tmp_path, paths=[work / "given.py"], trust=True) as made:
            assert names(made) == [
                "given.py",
                "listed.py",
                "in_project.py",
                "named.py",
                "a.py",
                "b.py",
                "packaged.py",
                "dist:dist",
            ]
            assert made.failures == []
        settings = json.loads((home / ".pi" / "agent" / "settings.json").read_text())
        settings["extensions"] += ["-dist:dist", "-extensions/a.py"]
        (home / ".pi" / "agent" / "settings.json").write_text(json.dumps(settings))
        async with stage(tmp_path, paths=[work / "given.py"], trust=False) as made:
            assert names(made) == ["given.py", "named.py", "b.py", "packaged.py"]
        only = ResourceSelection([str(work / "given.py")], discover=False)
        async with stage(tmp_path, trust=True, extensions=only) as made:
            assert names(made) == ["given.py"]
    finally:
        sys.path.remove(str(tmp_path / "site"))


def test_entry_points_of_one_name_are_taken_from_the_first_folder(tmp_path: Path) -> None:
    for number in (1, 2):
        write(tmp_path / str(number) / "a-1.dist-info" / "entry_points.txt", f"[pi.extensions]\nx = m{number}:f\n")
    folders = [str(tmp_path / "1"), str(tmp_path / "2"), str(tmp_path / "missing")]
    assert [(point.name, point.value) for point in entry_points(folders, EXTENSIONS)] == [("x", "m1:f")]


async def test_one_real_file_is_loaded_once(tmp_path: Path) -> None:
    path = write(tmp_path / "home" / ".pi" / "agent" / "extensions" / "a.py", NAMED.format(name="a"))
    link = tmp_path / "link.py"
    link.symlink_to(path)
    async with stage(tmp_path, paths=[link, path]) as made:
        assert names(made) == ["link.py"]


async def test_a_raise_a_missing_function_an_import_error_and_bad_syntax_are_reported_and_left_out(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "home" / ".pi" / "agent" / "extensions"
    write(folder / "a_import.py", "import no_such_module_anywhere\n")
    write(
        folder / "b_raise.py",
        "def extension(pi):\n    pi.on('session_start', print)\n    raise ValueError('not today')\n",
    )
    write(folder / "c_syntax.py", "def extension(pi:\n")
    write(folder / "d_missing.py", "x = 1\n")
    write(folder / "e_exit.py", "import sys\nsys.exit(3)\n")
    write(folder / "f_event.py", "def extension(pi):\n    pi.on('tool_cal', print)\n")
    write(folder / "g_good.py", NAMED.format(name="hello"))
    async with stage(tmp_path) as made:
        assert names(made) == ["g_good.py"]
        assert [(file, event) for file, event, _ in made.faults] == [
            (f"{file}.py", "load") for file in ("a_import", "b_raise", "c_syntax", "d_missing", "e_exit", "f_event")
        ]
        texts = [text for _, _, text in made.faults]
        assert "no_such_module_anywhere" in texts[0]
        assert texts[1] == "ValueError: not today"
        assert texts[2].startswith("SyntaxError")
        assert "line 1" in texts[2]
        assert "extension(pi)" in texts[3]
        assert "end the program" in texts[4]
        assert "Did you mean tool_call?" in texts[5]
        assert "b_raise.py" in made.failures[1].stack
        assert not made.runtime.hooks.wanted("session_start")
        loaded = {name for name in sys.modules if name.startswith(PREFIX)}
        assert module_name(os.path.realpath(folder / "a_import.py")) not in loaded


async def test_typescript_and_missing_paths_are_reported_once(tmp_path: Path) -> None:
    folder = tmp_path / "home" / ".pi" / "agent" / "extensions"
    folder.mkdir(parents=True)
    (folder / "a.ts").write_text("")
    (folder / "b").mkdir()
    (folder / "b" / "index.js").write_text("")
    async with stage(tmp_path, paths=[tmp_path / "nowhere.py", folder / "a.ts"]) as made:
        assert [file for file, _, _ in made.faults] == ["nowhere.py", "a.ts", "index.js"]
        assert all("TypeScript" in text for _, _, text in made.faults[1:])


async def test_packages_import_their_parts_relatively_and_nothing_is_put_on_the_path(tmp_path: Path) -> None:
    folder = tmp_path / "home" / ".pi" / "agent" / "extensions"
    write(
        folder / "whole" / "__init__.py",
        "from .parts import NAME\n\ndef extension(pi):\n    pi.register_command(NAME, print)\n",
    )
    write(folder / "whole" / "parts.py", "NAME = 'from-package'\n")
    write(folder / "_shared.py", "NAME = 'from-neighbour'\n")
    write(
        folder / "single.py", "from ._shared import NAME\n\ndef extension(pi):\n    pi.register_command(NAME, print)\n"
    )
    before = list(sys.path)
    async with stage(tmp_path) as made:
        assert [command.name for command in made.runtime.session.commands.list()] == ["from-neighbour", "from-package"]
        assert made.failures == []
        assert sys.path == before


async def test_an_async_extension_is_awaited_before_the_next_one(tmp_path: Path) -> None:
    folder = tmp_path / "home" / ".pi" / "agent" / "extensions"
    code = """
        import asyncio
        async def extension(pi):
            await asyncio.sleep({seconds})
            r = await pi.exec("echo", ["{name}"])
            pi.register_command(r.stdout.strip(), print)
    """
    write(folder / "a.py", code.format(seconds=0.05, name="one"))
    write(folder / "b.py", code.format(seconds=0, name="two"))
    async with stage(tmp_path) as made:
        assert [command.name for command in made.runtime.session.commands.list()] == ["one", "two"]


LOOP = """
def extension(pi):
    while True:
        try:
            sum(range(1000))
        except Exception:
            pass
"""


@pytest.mark.parametrize(
    "code",
    [
        "import time\ntime.sleep(60)\n",
        LOOP,
        "import asyncio\nasync def extension(pi):\n    await asyncio.sleep(60)\n",
        "async def extension(pi):\n    import time\n    time.sleep(60)\n",
    ],
    ids=["import", "loop", "await", "blocking coroutine"],
)
async def test_a_module_that_hangs_is_given_up(tmp_path: Path, code: str) -> None:
    path = str(write(tmp_path / "slow.py", code))
    source = ExtensionSource(path, path, SourceInfo(path, "local", "temporary", "top-level"))
    extension = Extension(path, source.info, 1)
    with pytest.raises(LoadFailed, match=r"within 0\.3 s"):
        await Loader(patience=0.3).load(source, ExtensionAPI(None, extension))  # type: ignore[arg-type]


async def test_a_timeout_of_its_own_is_told_as_it_is(tmp_path: Path) -> None:
    path = str(write(tmp_path / "own.py", "def extension(pi):\n    raise TimeoutError('the server is silent')\n"))
    source = ExtensionSource(path, path, SourceInfo(path, "local", "temporary", "top-level"))
    with pytest.raises(LoadFailed, match="the server is silent"):
        await Loader().load(source, ExtensionAPI(None, Extension(path, source.info, 1)))  # type: ignore[arg-type]


async def test_what_is_printed_while_loading_goes_to_standard_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write(
        tmp_path / "home" / ".pi" / "agent" / "extensions" / "loud.py",
        "import os\nprint('noise')\nos.system('echo more')\ndef extension(pi):\n    print('even more')\n",
    )
    async with stage(tmp_path):
        pass
    out, err = capfd.readouterr()
    assert out == ""
    assert {"noise", "more", "even more"} <= set(err.split("\n"))


async def test_acting_while_loading_raises(tmp_path: Path) -> None:
    def act(pi: ExtensionAPI) -> None:
        for action in (
            lambda: pi.send_message({"customType": "x", "content": "y"}),
            lambda: pi.send_user_message("x"),
            lambda: pi.append_entry("x"),
            lambda: pi.get_active_tools(),
            lambda: pi.get_thinking_level(),
            lambda: pi.set_session_name("x"),
        ):
            with pytest.raises(RuntimeError, match="load"):
                action()
        assert pi.get_flag("unknown") is None

    async with stage(tmp_path, factories=[act]) as made:
        assert made.failures == []


async def test_extensions_of_the_project_are_not_even_looked_at_without_trust(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    write(
        tmp_path / "work" / ".pi" / "extensions" / "evil.py",
        f"open({str(mark)!r}, 'w').close()\ndef extension(pi): ...\n",
    )
    async with stage(tmp_path) as made:
        assert names(made) == []
        assert not mark.exists()


async def test_an_extension_of_the_user_answers_for_the_project_and_is_loaded_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    write(
        tmp_path / "home" / ".pi" / "agent" / "extensions" / "truster.py",
        f"""
        def log(text):
            with open({str(log)!r}, "a") as file:
                file.write(text)
        log("loaded ")
        def extension(pi):
            @pi.on("project_trust")
            def answer(event, ctx):
                log(f"asked-{{ctx.mode}}-{{ctx.has_ui}} ")
                return {{"trusted": "yes"}}
        """,
    )
    write(
        tmp_path / "work" / ".pi" / "extensions" / "own.py",
        f"""
        def extension(pi):
            pi.on("project_trust", lambda event, ctx: {{"trusted": "no"}})
            with open({str(log)!r}, "a") as file:
                file.write("project ")
        """,
    )
    async with stage(tmp_path) as made:
        assert names(made) == ["own.py", "truster.py"]
        assert made.runtime.services.trusted
        assert log.read_text() == "loaded asked-print-False project "
        assert not made.runtime.hooks.wanted("project_trust")
    assert not (tmp_path / "home" / ".pi" / "agent" / "trust.json").exists()


async def test_a_file_that_changed_is_executed_anew_at_a_reload(tmp_path: Path) -> None:
    path = write(tmp_path / "home" / ".pi" / "agent" / "extensions" / "a" / "__init__.py", "from .b import *\n")
    for name in ("one", "two"):
        write(path.parent / "b.py", NAMED.format(name=name))
        if name == "one":
            context = stage(tmp_path)
            made = await context.__aenter__()
        else:
            os.utime(path.parent / "b.py", (os.stat(path).st_mtime,) * 2)
            await made.runtime.reload()
        assert [command.name for command in made.runtime.session.commands.list()] == [name]
    await context.__aexit__(None, None, None)


async def test_conflicts_are_listed_and_both_stay_loaded(tmp_path: Path) -> None:
    folder = tmp_path / "home" / ".pi" / "agent" / "extensions"
    code = """
        def extension(pi):
            @pi.tool
            def shout(what: str) -> str:
                "Shouts."
                return "{name} " + what
            pi.register_flag("loud", type="string", default="{name}")
            pi.register_message_renderer("note", lambda *a: None)
            pi.register_command("same", lambda args, ctx: pi.append_entry("ran", "{name}"))
            pi.register_command("flag", lambda args, ctx: pi.append_entry("flag", pi.get_flag("loud")))
    """
    for name in ("a", "b"):
        write(folder / f"{name}.py", code.format(name=name))
    async with stage(tmp_path) as made:
        assert [(file, text.split(" is that of")[0]) for file, _, text in made.faults] == [
            ("b.py", "the tool 'shout'"),
            ("b.py", "the flag 'loud'"),
            ("b.py", "the message renderer 'note'"),
        ]
        assert [command.name for command in made.runtime.session.commands.list()] == [
            "same:1",
            "flag:1",
            "same:2",
            "flag:2",
        ]
        await made.prompt("/same:2")
        await made.prompt("/same:1")
        await made.prompt("/flag:2")
        assert made.custom_entries("ran") == ["b", "a"]
        assert made.custom_entries("flag") == ["a"]
