"""Runs in an environment with pi-py-sdk: a conversation, as that client makes it. argv: the command to start."""

import asyncio
import sys

from pi_py_sdk import MessageUpdateEvent, PiAgent, PiAgentSync, message_text
from pi_py_sdk.config import PiConfig

CONFIG = PiConfig(bin=sys.argv[1], model="stub/m1")


async def main() -> None:
    async with PiAgent(config=CONFIG) as agent:
        text = ""
        async for event in agent.prompt_stream("one"):
            if isinstance(event, MessageUpdateEvent) and event.assistantMessageEvent:
                update = event.assistantMessageEvent
                if update.type == "text_delta" and update.delta:
                    text += update.delta
        assert text == "Hello world.", text
        await agent.prompt_and_wait("two")
        assert await agent.get_last_assistant_text() == "Hello world."
        messages = await agent.get_messages()
        assert [message.role for message in messages] == ["user", "assistant"] * 2
        assert message_text(messages[0]) == "one"

        state = await agent.get_state()
        assert state["model"]["id"] == "m1"
        assert state["isStreaming"] is False
        assert [model["id"] for model in await agent.get_available_models()] == ["m1", "m2-think", "m3-small"]
        assert (await agent.set_model("stub", "m2-think"))["id"] == "m2-think"
        await agent.set_thinking_level("high")
        assert (await agent.get_state())["thinkingLevel"] == "high"
        await agent.cycle_thinking_level()
        await agent.cycle_model()
        await agent.set_steering_mode("all")
        await agent.set_follow_up_mode("one-at-a-time")
        await agent.set_auto_retry(True)
        await agent.set_auto_compaction(True)
        await agent.abort_retry()
        await agent.abort()

        done = await agent.bash("echo hi", exclude_from_context=True)
        assert (done["output"], done["exitCode"]) == ("hi\n", 0)
        await agent.abort_bash()
        stats = await agent.get_session_stats()
        assert stats["userMessages"] == 2
        await agent.set_session_name("named")
        assert (await agent.get_state())["sessionName"] == "named"
        assert (await agent.export_html("page.html"))["path"] == "page.html"
        points = await agent.get_fork_messages()
        assert [point["text"] for point in points] == ["one", "two"]
        assert (await agent.fork(points[1]["entryId"])) == {"text": "two", "cancelled": False}
        assert len(await agent.get_messages()) == 2
        assert (await agent.clone()) == {"cancelled": False}
        assert (await agent.new_session()) == {"cancelled": False}
        assert (await agent.switch_session(state["sessionFile"])) == {"cancelled": False}
        assert len(await agent.get_messages()) >= 4
        assert isinstance(await agent.get_commands(), list)


asyncio.run(main())
with PiAgentSync(config=CONFIG) as agent:
    for _ in agent.prompt_stream("hello"):
        pass
    assert message_text(agent.get_messages()[-1]) == "Hello world."
print("driven")
