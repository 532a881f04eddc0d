"""The queue of waiting messages."""

from __future__ import annotations

from piolet.agent.queues import MessageQueue
from piolet.llm.messages import UserMessage


def messages(*texts: str) -> list[UserMessage]:
    return [UserMessage(text, 1) for text in texts]


def test_one_at_a_time_gives_the_oldest_and_all_gives_the_whole_queue() -> None:
    queue = MessageQueue()
    a, b = messages("a", "b")
    queue.put(a)
    queue.put(b)
    assert queue.due() == (a,)
    queue.mode = "all"
    assert queue.due() == (a, b)
    assert len(queue) == 2


def test_an_empty_queue_gives_nothing() -> None:
    assert MessageQueue().due() == ()
    assert not MessageQueue()
    assert MessageQueue().clear() == []


def test_a_message_leaves_when_it_is_delivered_and_equal_ones_stay() -> None:
    queue = MessageQueue("all")
    a, twin = messages("same", "same")
    queue.put(a)
    queue.put(twin)
    assert queue.delivered(twin)
    assert queue.snapshot() == (a,)
    assert queue.snapshot()[0] is a
    assert not queue.delivered(twin)


def test_what_is_promised_to_a_run_is_not_handed_back_until_the_run_is_over() -> None:
    queue = MessageQueue()
    a, b = messages("a", "b")
    queue.put(a)
    queue.put(b)
    queue.due()
    assert queue.clear() == [b]
    assert queue.snapshot() == (a,)
    queue.release()
    assert queue.clear() == [a]


def test_a_promise_ends_with_the_delivery() -> None:
    queue = MessageQueue()
    a, b = messages("a", "b")
    queue.put(a)
    queue.put(b)
    queue.due()
    queue.delivered(a)
    assert queue.clear() == [b]
