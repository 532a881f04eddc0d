"""What handlers answer, and make of their events, is taken only if something can be made of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from piolet.app.extensions.api import ExtensionAPI
from piolet.app.extensions.contexts import ExtensionContext
from piolet.app.hook_points import InputResult
from piolet.harness.drafts import CustomDraft, CustomMessageDraft
from piolet.harness.hook_points import (
    BeforeAgentStart,
    BeforeProviderHeaders,
    BeforeProviderRequest,
    Boundary,
    ContextResult,
    MessageResult,
    StartResult,
    ToolCallResult,
    ToolResultPatch,
)
from piolet.llm.messages import UserMessage
from tests.app.extensions.stage import stage
from tests.support.replies import openai
from tests.support.scripted_model import call, says
from tests.support.server import ScriptedServer


async def test_wrong_answers_are_faults_of_the_handler(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        pi.on("input", lambda event, ctx: "transform")  # type: ignore[arg-type,return-value]
        pi.on("tool_result", lambda event, ctx: {"contents": []})
        pi.on("before_agent_start", lambda event, ctx: {"message": 3})
        pi.on("before_provider_request", lambda event, ctx: [1])  # type: ignore[arg-type,return-value]

    async with stage(tmp_path, says(call("bash", command="true")), says("Done."), factories=[extension]) as made:
        await made.prompt("go")
        assert [(event, text) for _, event, text in made.faults] == [
            ("input", "a handler of input returns InputResult or a mapping, not str"),
            ("before_agent_start", "int is no message"),
            ("tool_result", "ToolResultPatch has no contents"),
        ]
        assert len(made.stored()) == 4


@pytest.mark.parametrize(
    ("event", "answer", "fault"),
    [
        ("input", InputResult(action="transform", text=5), "InputResult.text must be str, not int"),  # type: ignore[arg-type]
        ("input", InputResult(action="stop"), "action must be one of 'continue', 'transform', 'handled'"),  # type: ignore[arg-type]
        (
            "before_agent_start",
            StartResult(CustomMessageDraft("k", "x", details=object())),
            "message.details must be JSON: ",
        ),
        ("before_agent_start", StartResult(CustomMessageDraft("k", [5])), "message.content[0] must be TextContent or"),  # type: ignore[list-item]
        ("before_agent_start", StartResult(system_prompt=5), "StartResult.system_prompt must be str"),  # type: ignore[arg-type]
        ("context", ContextResult([5]), "ContextResult.messages[0] must be BaseMessage"),  # type: ignore[list-item]
        ("message_end", MessageResult(UserMessage([5], 1)), "message.content[0] must be"),  # type: ignore[list-item]
        ("tool_call", ToolCallResult(block="yes"), "ToolCallResult.block must be bool"),  # type: ignore[arg-type]
        ("tool_result", ToolResultPatch(details={1, object()}), "ToolResultPatch.details must be JSON"),
        ("tool_result", ToolResultPatch(content="text"), "ToolResultPatch.content must be a list"),  # type: ignore[arg-type]
        ("turn_end", Boundary([CustomDraft("k", object())]), "Boundary.entries[0].data must be JSON"),
        ("agent_before_settle", Boundary(5), "Boundary.entries must be a list, not int"),  # type: ignore[arg-type]
    ],
)
async def test_answers_that_could_not_be_used_never_get_further(
    tmp_path: Path, event: Any, answer: Any, fault: str
) -> None:
    def extension(pi: ExtensionAPI) -> None:
        pi.on(event, lambda event, ctx: answer)

    async with stage(tmp_path, says(call("bash", command="true")), says("Done."), factories=[extension]) as made:
        await made.prompt("go")
        assert {name for _, name, _ in made.faults} == {event}
        assert [text for _, _, text in made.faults if fault not in text] == []
        assert made.stored()[-1] == "assistant: Done."


async def test_changes_that_could_not_be_used_are_not_taken_over(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        config = {"api": "openai-completions", "baseUrl": f"{server.url}/v1", "apiKey": "k", "models": [{"id": "m"}]}
        pi.register_provider("stub", config)

        @pi.on("before_agent_start")
        def prompt(event: BeforeAgentStart, ctx: ExtensionContext) -> None:
            event.system_prompt_options.append.append(5)  # type: ignore[attr-defined]

        @pi.on("before_provider_request")
        async def payload(event: BeforeProviderRequest, ctx: ExtensionContext) -> None:
            event.payload["odd"] = object()

        @pi.on("before_provider_headers")
        def headers(event: BeforeProviderHeaders, ctx: ExtensionContext) -> None:
            event.headers["x-odd"] = 5  # type: ignore[assignment]

    with ScriptedServer([openai("Done.")]) as server:
        async with stage(tmp_path, factories=[extension], model="stub/m") as made:
            await made.prompt("go")
            assert made.stored() == ["user: go", "assistant: Done."]
            assert [text for _, _, text in made.faults] == [
                "BeforeAgentStart.system_prompt_options.append[0] must be str, not int",
                "BeforeProviderRequest.payload must be JSON: object has no JSON form",
                "BeforeProviderHeaders.headers['x-odd'] must be str, not int",
            ]
