"""The system prompt: one flat text (`system_prompt`), and the same parts as named sections (`prompt_sections`).

Pure. The order of the parts is the one of the resources specification, section 3; the wording is this project's own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from piolet.harness.prompt.records import ContextFile, PromptInputs
from piolet.harness.prompt.skills import skill_listing, xml_escape

PREAMBLE = """\
You are piolet, a coding agent working in the user's terminal. You read files, run commands, change code and check the \
result with the tools you have. Do the work instead of describing it, and carry it to the end before you hand back.

Look before you act: read the code that you are about to change and whatever calls it, and follow the conventions of \
the project. Change what the task needs and no more. The user may have unfinished work in the same files: never undo \
or overwrite what you did not write yourself. When you are done, verify it (build, tests, a run) and say plainly what \
you could not verify. Ask only when the answer cannot be found and a wrong guess would be costly."""

CLOSING_GUIDELINES = (
    "Be brief and plain; leave out what the user did not ask for",
    "Name files by their path when you speak of them",
)

_SECTION_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_SEARCH_TOOLS = {"grep", "find", "ls"}


class PromptError(ValueError):
    """A part of the prompt that cannot be used; the text names it."""


def system_prompt(inputs: PromptInputs) -> str:
    """Return the one text that is sent as system prompt. Skills are listed only while ``read`` is active."""
    text = inputs.custom_prompt or "\n\n".join(
        [PREAMBLE, _tools_part(inputs), _rules_part(inputs), *_docs_part(inputs)]
    )
    appended = _appended(inputs)
    if appended:
        text += f"\n\n{appended}"
    if inputs.context_files:
        text += f"\n\n<project_context>\n\n{_context_part(inputs.context_files)}\n\n</project_context>\n"
    if _active(inputs, "read"):
        listing = skill_listing(inputs.skills)
        text += f"\n\n{listing}" if listing else ""
    return f"{text}\nCurrent working directory: {_cwd(inputs)}\n"


def prompt_sections(inputs: PromptInputs) -> dict[str, str]:
    """Return the parts as sections, name to full text, in order; each but the preamble is wrapped in its name.

    Raises `PromptError` for a custom section whose name is not allowed. A custom section replaces a known one of its
    name; an empty one is dropped.
    """
    bodies = {"preamble": inputs.custom_prompt or PREAMBLE}
    if not inputs.custom_prompt:
        bodies["tools"] = _tools_part(inputs)
        bodies["rules"] = _rules_part(inputs)
        bodies["docs"] = "\n\n".join(_docs_part(inputs))
    bodies["addendum"] = _keep_inside(_appended(inputs), "addendum")
    bodies["project_context"] = _context_part(inputs.context_files)
    bodies["skills"] = skill_listing(inputs.skills) if _active(inputs, "read", "bash") else ""
    bodies["cwd"] = _cwd(inputs)
    for name, text in inputs.sections.items():
        if not _SECTION_NAME.fullmatch(name) or name == "preamble":
            raise PromptError(
                f"{name!r} cannot name a section of the system prompt: use [a-z][a-z0-9_-]*, not preamble"
            )
        bodies[name] = text
    return {
        name: body if name == "preamble" else f"<{name}>\n{body}\n</{name}>"
        for name, body in bodies.items()
        if body or name == "preamble"
    }


def _tools_part(inputs: PromptInputs) -> str:
    lines = [f"- {tool.name}: {tool.snippet}" for tool in inputs.tools if tool.snippet and not tool.hidden]
    return "\n".join(["Available tools:", *(lines or ["(none)"])])


def _rules_part(inputs: PromptInputs) -> str:
    rules = [rule for tool in inputs.tools for rule in tool.guidelines]
    if _active(inputs, "bash") and not _active(inputs, *_SEARCH_TOOLS):
        rules.insert(0, "Explore files with bash: rg, find and ls")
    rules += [*inputs.guidelines, *CLOSING_GUIDELINES]
    distinct = dict.fromkeys(rule.strip() for rule in rules)
    return "\n".join(["Guidelines:", *(f"- {rule}" for rule in distinct if rule)])


def _docs_part(inputs: PromptInputs) -> list[str]:
    if not inputs.docs_path:
        return []
    text = (
        "Only when the user asks about piolet itself (using it, its settings, extensions, skills, prompt templates, "
        f"themes, keys, or building on it): its documentation is in {inputs.docs_path}"
    )
    if inputs.examples_path:
        text += f", with examples in {inputs.examples_path}"
    return [f"{text}. Read the page in question, and the pages it refers to, before you answer."]


def _appended(inputs: PromptInputs) -> str:
    return "\n\n".join(text for text in inputs.append if text)


def _context_part(files: Sequence[ContextFile]) -> str:
    if not files:
        return ""
    elements = [
        f'<project_instructions path="{xml_escape(file.path)}">\n'
        f"{_keep_inside(file.content, 'project_instructions', 'project_context')}\n</project_instructions>"
        for file in files
    ]
    return "\n\n".join(["Instructions of this project and of the user, from these files:", *elements])


def _active(inputs: PromptInputs, *names: str) -> bool:
    return any(tool.name in names for tool in inputs.tools)


def _cwd(inputs: PromptInputs) -> str:
    windows = re.match(r"[A-Za-z]:\\|\\\\", inputs.cwd)
    return inputs.cwd.replace("\\", "/") if windows else inputs.cwd


def _keep_inside(text: str, *elements: str) -> str:
    """Return `text` with the closing tags of the `elements` around it defused, so that it cannot end them."""
    return re.sub(rf"<(?=/\s*(?:{'|'.join(elements)})\s*>)", "&lt;", text, flags=re.IGNORECASE)
