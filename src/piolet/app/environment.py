"""Where the tools of a session act: chosen by command line or settings, opened, and noted in the session.

What is of this machine stays here: agent folder, settings, extensions, skills, ``.pi``. None of that is ever read from
another place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from piolet.app.json_files import read_text
from piolet.app.options import RuntimeOptions
from piolet.app.settings import Settings, SettingsError
from piolet.app.settings_files import SettingsFiles
from piolet.base.regex import compiled_later
from piolet.harness.environments.base import Environment
from piolet.harness.environments.local import LocalEnvironment
from piolet.harness.prompt.parts import Skills
from piolet.harness.prompt.records import Skill
from piolet.harness.session.session import Session

#: The type of the ``custom`` entry that says where tools act from there on.
NOTE: Final = "piolet.environment"
#: In a broken settings file: it speaks of a place, or ends within the object that would.
_ABOUT_PLACE: Final = compiled_later(r"\benv|sandbox|piolet[^}]*\Z", re.IGNORECASE)


def choice(options: RuntimeOptions, settings: Settings) -> str:
    """Return the text that says where tools act: ``local`` unless something else was chosen."""
    if options.environment is not None:
        return options.environment
    return settings.environment or "local"


def first_choice(options: RuntimeOptions, files: SettingsFiles) -> str:
    """Return the `choice` at the start. Raises `SettingsError` if the user's file cannot be used and may choose.

    It counts as empty for all else; but a comma that is missing, or a wrong letter, must not lift a sandbox.
    """
    if options.environment is not None:
        return options.environment
    for doubt in files.doubts:
        if doubt.scope == "user" and doubt.may_choose_place:
            raise SettingsError(f"Nothing was started (--env chooses where tools act for one run): {doubt.message}")
    for problem in files.problems:
        if problem.scope == "user" and _may_choose(problem.path):
            raise SettingsError(
                f"{problem.message}. It may say where tools act (piolet.environment), so nothing was started: repair "
                "it, or choose with --env (on this machine: --env local)"
            )
    return choice(options, files.settings)


def _may_choose(file: Path) -> bool:
    if file.is_symlink() and not file.exists():
        return True
    try:
        return _ABOUT_PLACE.search(read_text(file) or "") is not None
    except OSError:
        return True
    except ValueError:  # no UTF-8; or no file, and so without content
        return file.is_file()


async def open_chosen(text: str, options: RuntimeOptions, cwd: Path) -> Environment:
    """Return the environment of a choice, ready for use. Raises `InvalidChoice`, `Unreachable`."""
    if text == "local":
        return LocalEnvironment(str(cwd), path_folders=[str(options.agent_dir / "bin")])
    from piolet.harness.environments.choice import open_environment

    return await open_environment(text, str(cwd), hidden=[str(options.agent_dir)])


def skills_there(environment: Environment, skills: Sequence[Skill]) -> Skills:
    """Return the skills whose files tools can read where they act: to offer others would mislead the model."""
    if isinstance(environment, LocalEnvironment) or not skills:
        return skills

    async def there() -> Sequence[Skill]:
        found = await environment.snapshot([skill.path for skill in skills], contents=False)
        return [skill for skill in skills if skill.path in found.stamps]

    return there


def note_environment(session: Session, text: str, environment: Environment, tell: Callable[[str], None]) -> None:
    """Let the session say where its tools act from here on, unless it does; `tell` what has changed in an old one."""
    before = _noted(session)
    now: dict[str, Any] = {"environment": text}
    if text != "local":
        now["cwd"] = environment.cwd
    if before == now:
        return
    if before["environment"] != text and session.leaf_id is not None:
        tell(f"The tools of this session acted in another place so far ({before['environment']}); now in {text}")
    session.append_custom(NOTE, now)


def _noted(session: Session) -> dict[str, Any]:
    note = session.last_custom(NOTE)
    data = None if note is None else note.data
    return {"environment": "local", **(data if isinstance(data, dict) else {})}
