from __future__ import annotations

import pytest

from piolet.llm.plain_errors import in_plain_words


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        ('400: {"message":"server says no"}', "400: server says no"),
        ('529: {"type":"overloaded_error","message":"Over\\nloaded"}', "529: Over loaded"),
        ('{"error":{"message":"inner"},"status":1}', "inner"),
        ('Compaction failed: 400: {"detail":"too much"}', "Compaction failed: 400: too much"),
        ('400: {"code":7}', '400: {"code":7}'),
        ('400: {"message":"cut off', '400: {"message":"cut off'),
        ('400: {"message":{"a":1}}', '400: {"message":{"a":1}}'),
        ("Connection error: host: connection refused (ECONNREFUSED)",) * 2,
        ("400 no {json}", "400 no {json}"),
        ("", ""),
    ],
)
def test_an_error_is_shown_without_the_json_around_its_words(error: str, shown: str) -> None:
    assert in_plain_words(error, "anthropic") == shown


@pytest.mark.parametrize("missing", ["finish_reason", "finishReason", "a stop reason"])
def test_an_answer_that_broke_off_is_told_so(missing: str) -> None:
    assert in_plain_words(f"Stream ended without {missing}").startswith("The answer broke off: ")


@pytest.mark.parametrize("status", ["401", "403"])
def test_a_refusal_leads_to_the_key(status: str) -> None:
    shown = in_plain_words(f'{status}: {{"message":"bad key."}}', "anthropic")
    assert shown.startswith(f"{status}: bad key. Is the key of anthropic right")
    assert shown.endswith("/login anthropic stores another, or set ANTHROPIC_API_KEY")
    assert in_plain_words(f"{status}: no", "lab").endswith('or change its "apiKey" in models.json')
    assert in_plain_words("401: no") == "401: no"
    assert in_plain_words("It took 401 ms", "anthropic") == "It took 401 ms"
