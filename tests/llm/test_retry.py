"""Which failures are tried again, and after how long."""

from __future__ import annotations

import time
from email.utils import formatdate

import pytest

from piolet.llm.retry import backoff_ms, is_retryable, may_retry_status, request_delay_ms, retry_after_ms

TRANSIENT = """
    overloaded_error: Overloaded
    server_busy
    The servers are currently busy
    We are seeing high demand
    Selected model is at capacity. Please try a different model.
    rate_limit_error
    Rate limit reached for requests
    Too Many Requests
    HTTP 429
    500: {"message":"boom"}
    status=502
    503 status code (no body)
    (504)
    error 520
    524.
    service unavailable
    The service is temporarily unavailable
    The server had an error: server_error
    Internal error encountered
    Provider returned error
    Provider returned an error
    upstream request failed
    stream read error
    unable to forward request
    exceeded buffer limit
    Stream interrupted: connection lost
    Stream ended without finish_reason
    Stream ended before message_stop
    stream disconnected before completion
    the response was cut short
    network error
    Connection error.
    connection refused
    Connection lost: api.example.com: closed
    connection reset by peer
    fetch failed
    Temporary failure in name resolution
    getaddrinfo EAI_AGAIN api.example.com
    read ECONNRESET
    write EPIPE
    connect ETIMEDOUT 10.0.0.1:443
    upstream connect error or disconnect/reset before headers
    socket hang up
    The socket connection was closed unexpectedly
    Request timed out
    Request timeout
    terminated
    HTTP/2 stream 3 was reset
    WebSocket closed 1006
    WebSocket error
    websocket connection limit reached
    429: slow down (the server asks for a retry delay of 120 s)
    You can retry your request
    Please retry your request
    ResourceExhausted
    subscription usage unavailable
    User data is temporarily unavailable
"""
LASTING = """
    400: {"message":"messages.2.content is required"}
    401 Unauthorized: invalid x-api-key
    403 Forbidden
    404: {"message":"The model does not exist"}
    Request was aborted
    Provider finish_reason: content_filter
    429: {"code":"insufficient_quota","message":"You exceeded your current quota"}
    429 Quota exceeded for quota metric
    429: {"code":"billing_hard_limit_reached"}
    503 out of budget
    429: Insufficient available balance
    Monthly usage limit reached
    GoUsageLimitError: 429
    FreeUsageLimitError: rate limit
    429: You have hit your ChatGPT usage limit (plus plan). Try again in 3 h.
    429: Your workspace has reached its usage limit
    429 {"error":{"code":"1308","message":"usage limit"}}
    request req_42950200x failed: bad schema
    body of 50347 bytes refused
    at most 1,500 items, got 500,000
    version 4.500.2
"""


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("text", lines(TRANSIENT))
def test_transient_failures_are_tried_again(text: str) -> None:
    assert is_retryable(text)


@pytest.mark.parametrize("text", ["", *lines(LASTING)])
def test_lasting_failures_are_not(text: str) -> None:
    assert not is_retryable(text)


def test_waits_of_the_harness_double_up_to_the_cap() -> None:
    assert [backoff_ms(attempt) for attempt in range(1, 8)] == [2000, 4000, 8000, 16000, 32000, 60000, 60000]
    assert [backoff_ms(attempt, 50, 150) for attempt in (1, 2, 3)] == [50, 100, 150]
    assert backoff_ms(10_000) == 60000


def test_waits_of_a_request_double_with_jitter_downwards() -> None:
    for tries, full in enumerate((500, 1000, 2000, 4000, 8000, 8000)):
        waits = {request_delay_ms(tries, None) for _ in range(50)}
        assert all(full * 0.75 <= wait <= full for wait in waits)
        assert len(waits) > 1
    assert request_delay_ms(3, 1234) == 1234


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after-ms": "250", "retry-after": "9"}, 250),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9000),
        ({"retry-after": "1.5"}, 1500),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "Thu, 01 Jan 2015 00:00:00 GMT"}, 0),
        ({}, None),
    ],
)
def test_the_wait_that_a_server_asks_for(headers: dict[str, str], wait: int | None) -> None:
    assert retry_after_ms(headers) == wait


def test_the_wait_may_be_a_date() -> None:
    wait = retry_after_ms({"retry-after": formatdate(time.time() + 30, usegmt=True)})
    assert wait is not None
    assert 28_000 < wait <= 30_000


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 529, 599])
def test_statuses_that_may_pass(status: int) -> None:
    assert may_retry_status(status, {})
    assert not may_retry_status(status, {"x-should-retry": "false"})


@pytest.mark.parametrize("status", [200, 301, 400, 401, 403, 404, 413, 422])
def test_statuses_that_will_not(status: int) -> None:
    assert not may_retry_status(status, {})
    assert may_retry_status(status, {"x-should-retry": "true"})
    assert not may_retry_status(status, {"x-should-retry": "perhaps"})
