from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
import time

import pytest

from piolet.base.abort import AbortController, Aborted, abortable, sleep


def test_a_signal_tells_whether_and_why_it_was_aborted() -> None:
    controller = AbortController()
    signal = controller.signal
    signal.throw_if_aborted()
    assert (signal.aborted, signal.reason) == (False, None)
    controller.abort("enough")
    controller.abort("again")
    assert (signal.aborted, signal.reason) == (True, "enough")
    with pytest.raises(Aborted, match="enough"):
        signal.throw_if_aborted()


def test_a_listener_is_called_once_also_when_it_comes_late_and_not_when_it_has_gone() -> None:
    controller, calls = AbortController(), []
    controller.signal.on_abort(lambda: calls.append("early"))
    remove = controller.signal.on_abort(lambda: calls.append("gone"))
    remove()
    remove()
    controller.abort()
    controller.abort()
    controller.signal.on_abort(lambda: calls.append("late"))
    assert calls == ["early", "late"]


def test_a_child_follows_its_parent_until_it_is_closed() -> None:
    parent = AbortController()
    child, closed = AbortController(parent.signal), AbortController(parent.signal)
    closed.close()
    child.abort("only the child")
    assert not parent.signal.aborted
    other = AbortController(parent.signal)
    parent.abort("all")
    assert (child.signal.reason, other.signal.reason) == ("only the child", "all")
    assert not closed.signal.aborted
    assert AbortController(parent.signal).signal.reason == "all"


async def test_an_abort_from_another_thread_runs_listeners_in_the_thread_of_their_loop() -> None:
    controller, told = AbortController(), asyncio.Event()
    threads: list[threading.Thread] = []
    controller.signal.on_abort(lambda: (threads.append(threading.current_thread()), told.set()))
    await asyncio.to_thread(controller.abort)
    async with asyncio.timeout(30):
        await told.wait()
        await controller.signal.wait()
    assert threads == [threading.current_thread()]


async def test_a_listener_withdrawn_between_the_abort_and_its_call_is_not_called() -> None:
    controller, calls = AbortController(), []
    remove = controller.signal.on_abort(lambda: calls.append("called"))
    thread = threading.Thread(target=controller.abort)
    thread.start()
    thread.join()  # the loop could not run meanwhile: the call waits in it
    remove()
    await asyncio.sleep(0.01)
    assert calls == []


def test_an_abort_after_the_end_of_a_loop_is_no_error() -> None:
    controller = AbortController()

    async def listen() -> None:
        controller.signal.on_abort(lambda: None)

    asyncio.run(listen())
    controller.abort()
    assert controller.signal.aborted


def test_no_listener_is_lost_or_called_twice_when_threads_add_them_during_the_abort() -> None:
    for _ in range(200):
        controller, start = AbortController(), threading.Barrier(3)
        counts = [0] * 100

        def add(numbers: range, controller=controller, start=start, counts=counts) -> None:
            start.wait()
            for number in numbers:

                def count(number: int = number) -> None:
                    counts[number] += 1

                controller.signal.on_abort(count)

        def abort(controller=controller, start=start) -> None:
            start.wait()
            controller.abort()

        threads = [threading.Thread(target=add, args=(part,)) for part in (range(50), range(50, 100))]
        threads.append(threading.Thread(target=abort))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert counts == [1] * 100


async def test_abortable_gives_back_what_the_work_gives() -> None:
    async def work() -> int:
        await asyncio.sleep(0)
        return 7

    async def fail() -> None:
        raise TimeoutError("of its own")

    controller = AbortController()
    assert await abortable(work(), None) == 7
    assert await abortable(work(), controller.signal) == 7
    with pytest.raises(TimeoutError, match="of its own"):
        await abortable(fail(), controller.signal)


async def test_abortable_cancels_the_work_and_lets_it_clean_up() -> None:
    controller, steps = AbortController(), []

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            steps.append("cancelled")
            raise
        finally:
            await asyncio.sleep(0)
            steps.append("clean")

    asyncio.get_running_loop().call_later(0.01, controller.abort, "stop")
    started = time.monotonic()
    with pytest.raises(Aborted, match="stop"):
        await abortable(work(), controller.signal)
    assert steps == ["cancelled", "clean"]
    assert time.monotonic() - started < 30


async def test_abortable_does_not_begin_when_it_is_too_late() -> None:
    controller = AbortController()
    controller.abort("before")
    began = False

    async def work() -> None:
        nonlocal began
        began = True

    task = asyncio.create_task(asyncio.sleep(60))
    for awaitable in (work(), task):
        with pytest.raises(Aborted, match="before"):
            await abortable(awaitable, controller.signal)
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert (began, task.cancelled()) == (False, True)


async def test_a_cancellation_from_outside_stays_a_cancellation() -> None:
    controller = AbortController()
    task = asyncio.create_task(sleep(60, controller.signal))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_sleep_ends_in_time_or_by_the_abort() -> None:
    controller = AbortController()
    await sleep(0.001)
    await sleep(0.001, controller.signal)
    asyncio.get_running_loop().call_later(0.01, controller.abort)
    with pytest.raises(Aborted):
        await sleep(60, controller.signal)


async def test_finished_work_leaves_no_task_and_no_listener() -> None:
    controller = AbortController()
    before = asyncio.all_tasks()
    for _ in range(100):
        await sleep(0, controller.signal)
    waiting = [asyncio.create_task(controller.signal.wait()) for _ in range(10)]
    await asyncio.sleep(0)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert asyncio.all_tasks() == before
    assert controller.signal._listeners == {}


async def test_aborts_racing_with_the_end_of_the_work_leave_the_loop_quiet() -> None:
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
    outcomes = set()
    for number in range(300):
        controller = AbortController()
        timer = threading.Timer(number % 10 / 5000, controller.abort)
        timer.start()
        try:
            await sleep(0.001, controller.signal)
            outcomes.add("finished")
        except Aborted:
            outcomes.add("aborted")
        timer.join()
        await asyncio.sleep(0)
    gc.collect()
    assert outcomes == {"finished", "aborted"}
    assert complaints == []
