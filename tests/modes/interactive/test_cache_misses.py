from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from piolet.llm.messages import NO_USAGE, AssistantMessage, TextContent
from piolet.modes.interactive.cache_misses import CacheMisses
from tests.modes.interactive.desk import opened
from tests.support.scripted_model import Reply

ANSWER = AssistantMessage([TextContent("Yes.")], "api", "one", "m1", NO_USAGE, "stop", timestamp=0)


def answer(read: int, write: int, *, new: int = 10, model: str = "m1", minute: int = 0) -> AssistantMessage:
    usage = replace(NO_USAGE, input=new, cache_read=read, cache_write=write)
    return replace(ANSWER, usage=usage, model=model, timestamp=minute * 60_000)


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ([answer(0, 20_000), answer(20_000, 500)], None),
        ([answer(0, 20_000), answer(0, 21_000)], "Cache miss: 20k cached tokens were sent again"),
        ([answer(20_000, 3_000), answer(20_000, 0)], "Cache miss: 3.0k cached tokens were sent again"),
        ([answer(20_000, 500), answer(20_000, 0)], None),
        (
            [answer(0, 20_000), answer(0, 0, minute=7)],
            "Cache miss: 20k cached tokens were sent again, 7 minutes after the last request",
        ),
        ([answer(0, 20_000), answer(0, 0, model="m2")], None),
        (
            [answer(0, 20_000), answer(0, 0, new=0), answer(0, 0)],
            "Cache miss: 20k cached tokens were sent again",
        ),
    ],
    ids=["hit", "miss", "part", "little", "late", "other model", "failure between"],
)
def test_a_miss_is_what_was_held_and_did_not_come_back(answers: list[AssistantMessage], told: str | None) -> None:
    misses = CacheMisses()
    assert [misses.judge(one) for one in answers][-1] == told


def test_another_context_has_nothing_to_miss() -> None:
    misses = CacheMisses()
    misses.judge(answer(0, 20_000))
    misses.forget()
    assert misses.judge(answer(0, 0)) is None


@pytest.mark.parametrize("wanted", [True, False])
async def test_a_miss_is_told_to_those_who_want_it(tmp_path: Path, wanted: bool) -> None:
    replies = [Reply([TextContent(word)], usage=answer(0, 20_000).usage) for word in ("First.", "Second.")]
    async with opened(tmp_path, *replies, settings={"showCacheMissNotices": wanted}) as desk:
        await desk.submit("one")
        await desk.see("First.")
        await desk.submit("two")
        await desk.see("Second.")
        if wanted:
            await desk.see("Cache miss: 20k cached tokens were sent again")
        else:
            assert "Cache miss" not in desk.text
