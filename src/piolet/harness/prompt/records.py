"""What a system prompt is made of: plain records, found by whoever knows where to look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace


class ContextFile(Struct, frozen=True):
    """An ``AGENTS.md`` or the like. `content` is the file's text as it stands there, without a byte order mark."""

    path: str
    content: str


class Skill(Struct, frozen=True):
    """A skill as it is listed. `path` is its file, `base_dir` the folder that its references are relative to.

    `hidden_from_model`: only the user can call it (``disable-model-invocation``).
    """

    name: str
    description: str
    path: str
    base_dir: str
    hidden_from_model: bool = False


class PromptTool(Struct, frozen=True):
    """An active tool. Without `snippet` it has no line in the tools list. `hidden`: active, but not offered itself."""

    name: str
    snippet: str | None = None
    guidelines: Sequence[str] = ()
    hidden: bool = False


class PromptInputs(Struct, frozen=True):
    """Everything that the system prompt depends on.

    `custom_prompt` replaces the built-in text; an empty one counts as none. `guidelines` are added to those of the
    tools. `docs_path` and `examples_path` are folders that the model may read when it is asked about this program.
    `sections` (name to text) are for `prompt_sections` only.
    """

    cwd: str
    tools: Sequence[PromptTool] = ()
    custom_prompt: str | None = None
    append: Sequence[str] = ()
    context_files: Sequence[ContextFile] = ()
    skills: Sequence[Skill] = ()
    guidelines: Sequence[str] = ()
    docs_path: str | None = None
    examples_path: str | None = None
    sections: Mapping[str, str] = field(default_factory=dict)


def editable(inputs: PromptInputs) -> PromptInputs:
    """Return a copy whose lists and sections may be changed in place."""
    return replace(
        inputs,
        tools=list(inputs.tools),
        append=list(inputs.append),
        context_files=list(inputs.context_files),
        skills=list(inputs.skills),
        guidelines=list(inputs.guidelines),
        sections=dict(inputs.sections),
    )
