"""The slot that holds one operation at a time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from piolet.agent.running import Busy, RunSlot, outside
from piolet.base.abort import AbortController, AbortSignal


async def nothing(signal: AbortSignal) -> str:
    return "done"


async def test_an_operation_gives_its_result_or_its_exception_and_the_slot_is_free() -> None:
    slot = RunSlot()
    assert await slot.run("x", nothing) == "done"

    async def fail(signal: AbortSignal) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await slot.run("x", fail)
    assert (slot.running, slot.signal, slot.inside) == (None, None, False)
    await slot.wait_idle()


async def test_a_taken_slot_names_what_is_under_way() -> None:
    slot = RunSlot()

    async def wait(signal: AbortSignal) -> None:
        assert slot.running == "a compaction"
        await signal.wait()

    first = asyncio.create_task(slot.run("a compaction", wait))
    await asyncio.sleep(0)
    with pytest.raises(Busy, match="Cannot start a run while a compaction is under way"):
        await slot.run("a run", nothing)
    slot.abort()
    await first


async def test_waiting_inside_is_an_error_also_in_tasks_that_the_operation_waits_for() -> None:
    slot = RunSlot()
    errors: list[str] = []

    async def wait() -> None:
        try:
            await slot.wait_idle()
        except Busy as error:
            errors.append(str(error))

    async def work(signal: AbortSignal) -> None:
        await wait()
        await asyncio.gather(wait(), asyncio.create_task(wait()))

    await slot.run("x", work)
    assert len(errors) == 3
    assert "its own end" in errors[0]


async def test_a_task_that_outlives_its_handler_may_wait_once_it_says_so() -> None:
    slot = RunSlot()
    left: list[Any] = []

    async def background() -> str:
        outside()
        await slot.wait_idle()
        return "idle"

    async def work(signal: AbortSignal) -> None:
        left.append(asyncio.create_task(background()))
        await asyncio.sleep(0.01)

    await slot.run("x", work)
    assert await left[0] == "idle"


async def test_a_task_left_by_an_operation_is_not_inside_of_the_next_one() -> None:
    slot = RunSlot()
    left: list[Any] = []
    gate = asyncio.Event()

    async def background() -> None:
        await gate.wait()
        await slot.wait_idle()

    async def work(signal: AbortSignal) -> None:
        left.append(asyncio.create_task(background()))

    async def longer(signal: AbortSignal) -> None:
        gate.set()
        await asyncio.sleep(0.01)

    await slot.run("x", work)
    await slot.run("y", longer)
    await left[0]


async def test_a_slot_that_is_released_takes_the_next_operation_while_the_old_one_ends() -> None:
    slot = RunSlot()
    order: list[str] = []

    async def first(signal: AbortSignal) -> None:
        slot.release()
        order.append(await slot.run("second", nothing))
        assert slot.running is None
        order.append("first")

    await slot.run("first", first)
    assert order == ["done", "first"]
    await slot.wait_idle()


async def test_the_end_of_a_released_operation_leaves_the_next_one_alone() -> None:
    slot = RunSlot()
    second: list[Any] = []

    async def wait(signal: AbortSignal) -> None:
        await asyncio.sleep(0.02)
        assert slot.signal is signal
        assert slot.running == "second"

    async def first(signal: AbortSignal) -> None:
        slot.release()
        second.append(asyncio.create_task(slot.run("second", wait)))
        await asyncio.sleep(0)

    await slot.run("first", first)
    assert slot.running == "second"
    await second[0]
    assert slot.running is None


async def test_a_cancelled_caller_aborts_the_operation_and_its_late_failure_is_nobodys() -> None:
    slot = RunSlot()
    reports: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, report: reports.append(report))

    async def work(signal: AbortSignal) -> None:
        await signal.wait()
        raise RuntimeError("late")

    caller = asyncio.create_task(slot.run("x", work))
    await asyncio.sleep(0)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert slot.running == "x"
    await slot.wait_idle()
    del caller
    import gc

    gc.collect()
    assert reports == []


def test_an_operation_that_is_cancelled_before_it_began_frees_the_slot() -> None:
    slot = RunSlot()

    async def end_of_the_loop() -> None:
        caller = asyncio.create_task(slot.run("x", nothing))
        await asyncio.sleep(0)
        for task in asyncio.all_tasks() - {asyncio.current_task(), caller}:
            task.cancel()

    asyncio.run(end_of_the_loop())
    assert slot.running is None
    assert asyncio.run(slot.run("y", nothing)) == "done"
    asyncio.run(slot.wait_idle())


async def test_a_parent_signal_reaches_the_operation_and_forgets_it_afterwards() -> None:
    slot, parent = RunSlot(), AbortController()

    async def wait(signal: AbortSignal) -> str | None:
        await signal.wait()
        return signal.reason

    asyncio.get_running_loop().call_later(0.01, parent.abort, "enough")
    assert await slot.run("x", wait, parent.signal) == "enough"
    other = AbortController()
    await slot.run("x", nothing, other.signal)
    assert other.signal._listeners == {}
