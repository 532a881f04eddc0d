"""Runs in an environment with pi-agent-python-sdk: a conversation, as that client makes it. argv: the command."""

import asyncio
import sys

from pi_agent import AsyncPiClient, PiClient, PiCommandError

OPTIONS = {"executable": sys.argv[1], "model": "stub/m1", "allow_unknown_version": True}


async def main() -> None:
    async with AsyncPiClient(**OPTIONS) as pi:
        assert pi.compatibility == "unknown"
        result = await pi.run("one")
        assert (result.text, result.stop_reason) == ("Hello world.", "stop"), result
        assert result.usage is not None
        text = ""
        async with pi.stream("two") as stream:
            async for event in stream:
                text += event.text_delta or ""
            assert (await stream.result()).text == text == "Hello world."

        state = await pi.get_state()
        assert state["messageCount"] == 4
        assert [model["id"] for model in await pi.get_available_models()] == ["m1", "m2-think", "m3-small"]
        assert (await pi.set_model("stub", "m2-think"))["reasoning"] is True
        assert "high" in await pi.get_available_thinking_levels()
        await pi.set_thinking_level("high")
        await pi.cycle_thinking_level()
        await pi.cycle_model()
        await pi.set_steering_mode("all")
        await pi.set_follow_up_mode("all")
        await pi.set_auto_compaction(True)
        await pi.set_auto_retry(True)
        await pi.abort_retry()
        await pi.steer("between")
        queued = await pi.clear_queue()
        assert queued["steering"] == ["between"], queued
        await pi.abort()

        assert (await pi.bash("echo hi"))["output"] == "hi\n"
        await pi.abort_bash()
        assert (await pi.get_session_stats())["userMessages"] == 2
        await pi.set_session_name("named")
        entries = await pi.get_entries()
        assert entries["leafId"]
        assert (await pi.get_tree())["tree"]
        assert await pi.get_last_assistant_text() == "Hello world."
        assert len(await pi.get_messages()) == 5
        assert isinstance(await pi.get_commands(), list)
        assert (await pi.export_html(output_path="page.html"))["path"] == "page.html"
        points = await pi.get_fork_messages()
        assert (await pi.fork(points[1]["entryId"]))["text"] == "two"
        await pi.clone()
        await pi.new_session()
        await pi.switch_session(state["sessionFile"])
        try:
            await pi.compact()
        except PiCommandError:
            pass  # there is too little to summarize
        else:
            raise AssertionError("a short session was compacted")


asyncio.run(main())
with PiClient(**OPTIONS, continue_session=True) as pi:
    assert pi.run("four").text == "Hello world."
print("driven")
