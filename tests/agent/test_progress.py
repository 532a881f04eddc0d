"""Tools at work: streamed progress, also from threads and in floods, and many calls at once."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from typing import Any

from piolet.agent.reports import Reports
from piolet.agent.tools import OnUpdate, ToolResult
from piolet.base.abort import AbortSignal
from tests.agent.conversation import Conversation, check_context, check_events, tool
from tests.support.scripted_model import call, says
from tests.support.virtual_time import jumping, run_jumping

ENDS, GOES_ON = 0, 1


async def lines_of(execute: Any) -> list[str]:
    talk = Conversation(says(call("t")), says("Done."), tools=[tool("t", execute)])
    async with asyncio.timeout(30):
        await talk.agent.prompt("go")
    check_events(talk.events)
    start, end = talk.outline.index("run c1"), talk.outline.index("start result c1")
    return talk.outline[start:end]


@jumping
async def test_progress_is_told_between_the_start_and_the_end_of_its_call() -> None:
    async def execute(id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> ToolResult:
        for text in ("1", "1 2"):
            on_update(ToolResult.of_text(text))
            await asyncio.sleep(0.01)
        return ToolResult.of_text("1 2 3")

    assert await lines_of(execute) == ["run c1", "progress c1: 1", "progress c1: 1 2", "ran c1"]


async def test_the_last_progress_of_a_call_is_told_even_if_it_ends_at_once() -> None:
    async def execute(id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> ToolResult:
        on_update(ToolResult.of_text("half"))
        return ToolResult.of_text("whole")

    assert await lines_of(execute) == ["run c1", "progress c1: half", "ran c1"]


async def test_progress_may_come_from_a_thread() -> None:
    async def execute(id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> ToolResult:
        def work() -> None:
            for text in ("a", "ab"):
                on_update(ToolResult.of_text(text))
                time.sleep(0.05)

        await asyncio.to_thread(work)
        return ToolResult.of_text("abc")

    assert await lines_of(execute) == ["run c1", "progress c1: a", "progress c1: ab", "ran c1"]


async def test_a_flood_is_coalesced_and_its_last_state_is_told() -> None:
    async def execute(id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> ToolResult:
        for number in range(100_000):
            on_update(ToolResult.of_text(str(number)))
        await asyncio.sleep(0.01)
        return ToolResult.of_text("")

    assert await lines_of(execute) == ["run c1", "progress c1: 99999", "ran c1"]


async def test_a_flood_from_threads_keeps_the_loop_responsive_and_is_over_with_the_call() -> None:
    async def execute(id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> ToolResult:
        stop = threading.Event()

        def flood() -> None:
            while not stop.is_set():
                on_update(ToolResult.of_text("x"))
                time.sleep(0)

        threads = [threading.Thread(target=flood) for _ in range(3)]
        for thread in threads:
            thread.start()
        await asyncio.sleep(0.3)
        asyncio.get_running_loop().call_later(0.1, stop.set)  # after the end of the call
        return ToolResult.of_text("")

    lines = await lines_of(execute)
    assert lines[0] == "run c1"
    assert lines[-1] == "ran c1"
    assert len(lines) > 3
    await asyncio.sleep(0.2)


async def test_threads_that_report_while_their_call_ends_are_not_heard_behind_its_end() -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads change places at the worst moments
    try:
        for _ in range(30):
            reports = Reports([ENDS, GOES_ON])
            stop = threading.Event()
            threads = [threading.Thread(target=flood, args=(reports.updater(ENDS), stop)) for _ in range(2)]
            for thread in threads:
                thread.start()
            loop = asyncio.get_running_loop()
            loop.call_later(0.005, reports.finish, ENDS, ToolResult.of_text("end"))
            loop.call_later(0.015, reports.finish, GOES_ON, ToolResult.of_text("end"))
            heard = []
            while (report := await reports.next()) is not None:
                heard.append((report[0], report[2]))
            stop.set()
            for thread in threads:
                thread.join()
            end = heard.index((ENDS, True))
            assert (ENDS, False) not in heard[end:]
    finally:
        sys.setswitchinterval(interval)


def flood(update: OnUpdate, stop: threading.Event) -> None:
    result = ToolResult.of_text("x")
    while not stop.is_set():
        update(result)


@jumping
async def test_progress_after_the_end_of_a_call_is_ignored() -> None:
    kept: list[OnUpdate] = []

    async def execute(id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> ToolResult:
        if id == "c2":
            await asyncio.sleep(0.02)
            kept[0](ToolResult.of_text("too late"))
            await asyncio.sleep(0.02)
        kept.append(on_update)
        return ToolResult.of_text("")

    talk = Conversation(says(call("t", "c1"), call("t", "c2")), says("Done."), tools=[tool("t", execute)])
    await talk.agent.prompt("go")
    kept[1](ToolResult.of_text("much too late"))
    await asyncio.sleep(0)
    assert not any("too late" in line for line in talk.lines)
    check_events(talk.events)


def test_progress_from_a_thread_whose_event_loop_is_closed_is_ignored() -> None:
    kept: list[OnUpdate] = []

    async def execute(id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> ToolResult:
        kept.append(on_update)
        await asyncio.sleep(60)
        return ToolResult.of_text("")

    async def leave() -> None:
        talk = Conversation(says(call("t")), tools=[tool("t", execute)])
        run = asyncio.create_task(talk.agent.prompt("go"))
        while not kept:
            await asyncio.sleep(0)
        run.cancel()

    asyncio.run(leave())
    kept[0](ToolResult.of_text("hello?"))


@jumping
async def test_a_slow_subscriber_slows_the_run_down_and_loses_nothing() -> None:
    async def execute(id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> ToolResult:
        for number in range(50):
            on_update(ToolResult.of_text(str(number)))
            await asyncio.sleep(0.001)
        return ToolResult.of_text("")

    talk = Conversation(says(call("t")), says("Done."), tools=[tool("t", execute)])
    heard: list[str] = []

    async def slow(event: Any) -> None:
        heard.append(event.type)
        await asyncio.sleep(0.01)

    talk.agent.subscribe(slow)
    await talk.agent.prompt("go")
    assert heard == [event.type for event in talk.events]
    progress = [line for line in talk.lines if line.startswith("progress")]
    assert 0 < len(progress) < 20
    assert progress[-1] == "progress c1: 49"


def test_fifty_calls_run_at_the_same_time() -> None:
    async def execute(id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> ToolResult:
        on_update(ToolResult.of_text("working"))
        await asyncio.sleep(1 + int(arguments["text"]) % 7)
        if int(arguments["text"]) % 10 == 0:
            raise RuntimeError("every tenth fails")
        return ToolResult.of_text(arguments["text"])

    async def scenario() -> float:
        calls = [call("t", f"c{number}", text=str(number)) for number in range(50)]
        talk = Conversation(says(*calls), says("Done."), tools=[tool("t", execute)])
        begin = asyncio.get_running_loop().time()
        await talk.agent.prompt("go")
        check_events(talk.events)
        check_context(talk.agent.messages)
        assert talk.results() == [str(n) if n % 10 else "every tenth fails" for n in range(50)]
        assert sum(line.startswith("progress") for line in talk.lines) == 50
        return asyncio.get_running_loop().time() - begin

    assert run_jumping(scenario()) == 7
