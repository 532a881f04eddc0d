"""Writing, and the turns that changes of one file take (tools specification, sections 5 and 10)."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from piolet.base.abort import AbortController
from piolet.harness.environments.local import LocalEnvironment
from piolet.harness.environments.memory import MemoryEnvironment
from piolet.harness.tools.mutation_queue import FileMutationQueue
from tests.harness.tools.calling import Tools, text_of


async def test_a_write_says_what_it_wrote() -> None:
    result = await Tools(MemoryEnvironment()).call("write", path="a/b", content="x")
    assert (text_of(result), result.details, result.structured_content) == ("Successfully wrote to a/b", None, None)


async def test_a_number_is_written_as_its_text() -> None:
    environment = MemoryEnvironment()
    await Tools(environment).text("write", path="f", content=5)
    assert environment.files()["/work/f"] == b"5"


async def test_failures_are_worded_as_the_system_words_them(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"")
    root = os.path.realpath(tmp_path)
    tools = Tools(LocalEnvironment(root))
    folder = await tools.failure("write", path=".", content="x")
    assert folder == f"EISDIR: illegal operation on a directory, open '{root}'"
    assert (await tools.failure("write", path="f/x", content="x")).startswith("ENOTDIR: not a directory, open '")


async def test_changes_of_one_message_all_take_effect_in_call_order(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("f")
    tools = Tools(LocalEnvironment(tmp_path))
    for _ in range(20):
        results = await asyncio.gather(
            tools.call("write", path="f", content="one\ntwo\n"),
            tools.call("edit", path="f", edits=[{"oldText": "one", "newText": "1"}]),
            tools.call("edit", path="./link", edits=[{"oldText": "two", "newText": "2"}]),
            tools.call("edit", path="f", edits=[{"oldText": "1\n2", "newText": "3"}]),
        )
        assert [result.is_error for result in results] == [False] * 4
        assert (tmp_path / "f").read_bytes() == b"3\n"


async def test_a_failed_change_does_not_hold_up_the_next() -> None:
    tools = Tools(MemoryEnvironment({"f": "a"}))
    first, second = await asyncio.gather(
        tools.call("edit", path="f", edits=[{"oldText": "zz", "newText": "1"}]),
        tools.call("edit", path="f", edits=[{"oldText": "a", "newText": "1"}]),
    )
    assert (first.is_error, second.is_error) == (True, False)


async def test_different_files_change_in_parallel() -> None:
    environment = MemoryEnvironment()
    queue, held = FileMutationQueue(environment), asyncio.Event()

    async def place(path: str) -> str:
        return path

    async def hold(path: str) -> None:
        async with queue.turn(lambda: place(path)):
            await held.wait()

    holding = asyncio.create_task(hold("/a"))
    await asyncio.sleep(0)
    async with asyncio.timeout(30), queue.turn(lambda: place("/b")):
        pass
    held.set()
    await holding


async def test_one_that_gives_up_waiting_leaves_the_order_as_it_was() -> None:
    environment = MemoryEnvironment()
    queue, order = FileMutationQueue(environment), list[str]()
    release = asyncio.Event()

    async def place() -> str:
        return "/f"

    async def change(name: str) -> None:
        async with queue.turn(place):
            if name == "first":
                await release.wait()
            order.append(name)

    first, second, third = (asyncio.create_task(change(name)) for name in ("first", "second", "third"))
    await asyncio.sleep(0.01)
    second.cancel()
    await asyncio.sleep(0.01)
    assert order == []
    release.set()
    await asyncio.gather(first, third)
    assert order == ["first", "third"]
    assert not queue._last


async def test_nothing_is_changed_after_an_abort() -> None:
    environment, controller = MemoryEnvironment({"f": "a"}), AbortController()
    tools = Tools(environment)
    controller.abort()
    for name, arguments in (("write", {"content": "b"}), ("edit", {"edits": [{"oldText": "a", "newText": "b"}]})):
        task = asyncio.ensure_future(tools.call(name, controller.signal, path="f", **arguments))
        assert (await asyncio.gather(task, return_exceptions=True))[0].__class__.__name__ == "Aborted"
    assert environment.files()["/work/f"] == b"a"
