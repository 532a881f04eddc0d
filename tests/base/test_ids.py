from __future__ import annotations

import time
import uuid
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from piolet.base import ids


def test_uuid7_is_lower_case_of_version_7_and_the_rfc_variant() -> None:
    for _ in range(1000):
        text = ids.uuid7()
        value = uuid.UUID(text)
        assert text == str(value) == text.lower()
        assert (text[14], value.variant) == ("7", uuid.RFC_4122)


def test_uuid7_begins_with_the_time_and_does_not_repeat() -> None:
    before = ids.now_ms()
    made = [ids.uuid7() for _ in range(10_000)]
    after = ids.now_ms()
    assert len(set(made)) == len(made)
    assert [text[:13] for text in made] == sorted(text[:13] for text in made)
    assert before <= uuid.UUID(made[0]).int >> 80 <= uuid.UUID(made[-1]).int >> 80 <= after


def test_iso_time_has_milliseconds_and_z() -> None:
    assert ids.iso_time(0) == "1970-01-01T00:00:00.000Z"
    assert ids.iso_time(1_700_000_000_005) == "2023-11-14T22:13:20.005Z"
    now = datetime.fromisoformat(ids.iso_time())
    assert abs((datetime.now(UTC) - now).total_seconds()) < 5


@given(st.integers(0, 253_402_300_799_999))
def test_iso_time_is_exact_to_the_millisecond(ms: int) -> None:
    moment = datetime.fromisoformat(ids.iso_time(ms))
    assert moment - datetime(1970, 1, 1, tzinfo=UTC) == timedelta(milliseconds=ms)


def test_now_is_the_wall_clock_in_milliseconds() -> None:
    assert abs(ids.now_ms() - time.time() * 1000) < 1000


def test_an_entry_id_is_eight_hex_digits_that_are_not_taken() -> None:
    class ThirdIsFree:
        def __init__(self) -> None:
            self.tried: list[object] = []

        def __contains__(self, candidate: object) -> bool:
            self.tried.append(candidate)
            return len(self.tried) < 3

    taken = ThirdIsFree()
    made = ids.entry_id(taken)
    assert taken.tried[2:] == [made]
    assert (len(made), set(made) <= set("0123456789abcdef")) == (8, True)


def test_an_entry_id_is_a_uuid_when_a_hundred_were_taken() -> None:
    class Everything:
        tried = 0

        def __contains__(self, candidate: object) -> bool:
            self.tried += 1
            return True

    taken = Everything()
    made = ids.entry_id(taken)
    assert taken.tried == 100
    assert str(uuid.UUID(made)) == made
