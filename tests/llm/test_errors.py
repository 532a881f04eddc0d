"""Texts of errors: the words of the server on one line, and no secrets."""

from __future__ import annotations

import pytest

from piolet.llm.errors import hide_secrets, http_error_text


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (400, b'{"error": {"message": "m", "type": "t"}}', '400: {"message":"m","type":"t"}'),
        (400, b'{"error":"said so"}', "400: said so"),
        (400, b'{"message":"m"}', '400: {"message":"m"}'),
        (400, b'{"error":null,"detail":"d"}', '400: {"error":null,"detail":"d"}'),
        (400, b'[{"error":{"message":"m"}}]', '400: {"message":"m"}'),
        (400, b"plain\n  text ", "400: plain text"),
        (413, b"", "413 status code (no body)"),
        (500, b"\xff\xfe", "500: \ufffd\ufffd"),
        (502, b"<html></html>", "502: an empty HTML page came instead of an answer"),
        (404, b"<!doctype html><p>not <b>here</b>", "404: an HTML page came instead of an answer: not here"),
    ],
)
def test_the_words_of_the_server(status: int, body: bytes, expected: str) -> None:
    assert http_error_text(status, body) == expected


def test_a_very_long_text_is_cut() -> None:
    assert len(http_error_text(500, b"x" * 100_000)) < 4100


def test_secrets_are_masked_the_longest_first_and_short_ones_are_none() -> None:
    assert hide_secrets("key abcdefgh-1 and abcdefgh", ["abcdefgh", "abcdefgh-1", "k", ""]) == "key *** and ***"


@pytest.mark.parametrize("end", ["", "…"])
def test_a_secret_that_the_end_cuts_off_is_masked(end: str) -> None:
    assert hide_secrets(f"bad key abcdefgh-0123{end}", ["abcdefgh-0123456789"]) == "bad key ***"
    assert hide_secrets(f"bad key abcdefg{end}", ["abcdefgh-0123456789"]) == f"bad key abcdefg{end}"
    assert hide_secrets("abcdefgh", ["abcdefgh"]) == "***"
