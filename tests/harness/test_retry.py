"""When a failed request is tried again (the provider specification, section 3)."""

from __future__ import annotations

import pytest

from piolet.harness.retry import GiveUp, Retry, RetryPolicy, next_try
from piolet.llm.messages import NO_USAGE, AssistantMessage, StopReason

POLICY = RetryPolicy(max_retries=3, base_delay_ms=100, max_delay_ms=1000)


def answer(text: str | None = "503: overloaded", stop: StopReason = "error") -> AssistantMessage:
    return AssistantMessage([], "a", "p", "m", NO_USAGE, stop, 0, error_message=text)


def test_the_delay_doubles_up_to_its_limit() -> None:
    policy = RetryPolicy(max_retries=6, base_delay_ms=100, max_delay_ms=1000)
    assert [next_try(policy, answer(), attempts) for attempts in range(6)] == [
        Retry(1, 100),
        Retry(2, 200),
        Retry(3, 400),
        Retry(4, 800),
        Retry(5, 1000),
        Retry(6, 1000),
    ]


def test_after_the_last_try_the_error_is_given_up_on() -> None:
    assert next_try(POLICY, answer(), 3) == GiveUp("503: overloaded")


@pytest.mark.parametrize(
    "message",
    [answer("401: bad key"), answer(None), answer(stop="aborted"), answer(stop="stop"), answer(stop="length")],
    ids=["for good", "no text", "aborted", "answered", "cut off"],
)
def test_what_is_no_failure_of_the_moment_is_not_tried_again(message: AssistantMessage) -> None:
    assert next_try(POLICY, message, 0) is None


def test_a_policy_can_forbid_it() -> None:
    assert next_try(RetryPolicy(enabled=False), answer(), 0) is None
    assert next_try(RetryPolicy(max_retries=0), answer(), 0) is None


@pytest.mark.parametrize(("asked", "waited"), [(0, 100), (50, 100), (900, 900), (1000, 1000)])
def test_the_wait_that_the_server_asks_for_counts_if_it_is_longer(asked: int, waited: int) -> None:
    assert next_try(POLICY, answer(), 0, asked) == Retry(1, waited)


def test_a_wait_above_the_limit_ends_the_retries_and_is_told() -> None:
    given_up = next_try(POLICY, answer(), 0, 30_000)
    assert isinstance(given_up, GiveUp)
    assert "503: overloaded" in given_up.why
    assert "30 s" in given_up.why
