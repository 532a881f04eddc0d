"""The parts of a harness's system prompt as callables, asked again whenever the prompt is built."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from msgspec import Struct

from piolet.agent.tools import AgentTool
from piolet.harness.prompt.records import ContextFile, PromptInputs, PromptTool, Skill

Part: TypeAlias = str | Callable[[], str | Awaitable[str]]
ContextFiles: TypeAlias = Callable[[], Sequence[ContextFile] | Awaitable[Sequence[ContextFile]]]
Skills: TypeAlias = Sequence[Skill] | Callable[[], Sequence[Skill] | Awaitable[Sequence[Skill]]]


class PromptParts(Struct, frozen=True):
    """What the prompt is built from before each request.

    `base` replaces the built-in text (None or empty: the built-in one). `append`: texts behind it. `context_files` is
    asked each time and may keep what it read as long as nothing changed. `skills`: those offered to the model.
    """

    base: Part | None = None
    append: Sequence[Part] = ()
    context_files: ContextFiles | None = None
    skills: Skills = ()
    guidelines: Sequence[str] = ()
    docs_path: str | None = None
    examples_path: str | None = None

    async def inputs(self, cwd: str, tools: Sequence[AgentTool], appended: Sequence[str] = ()) -> PromptInputs:
        """Ask every part; `appended` are further texts for the second part of the prompt."""
        files: Sequence[ContextFile] = ()
        if self.context_files is not None:
            found = self.context_files()
            files = await found if inspect.isawaitable(found) else found
        skills = self.skills() if callable(self.skills) else self.skills
        return PromptInputs(
            cwd=cwd,
            tools=[PromptTool(tool.name, tool.prompt_snippet, tool.prompt_guidelines) for tool in tools],
            custom_prompt=None if self.base is None else await _text(self.base),
            append=[*[await _text(part) for part in self.append], *appended],
            context_files=files,
            skills=await skills if inspect.isawaitable(skills) else skills,
            guidelines=self.guidelines,
            docs_path=self.docs_path,
            examples_path=self.examples_path,
        )


async def _text(part: Part) -> str:
    if isinstance(part, str):
        return part
    text = part()
    return await text if inspect.isawaitable(text) else text
