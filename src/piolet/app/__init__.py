"""Floor 4: the product. What embedders of it need is exported here."""

from typing import TYPE_CHECKING

from piolet.base.lazy import lazy_exports

if TYPE_CHECKING:
    from piolet.app.agent_session import AgentSession as AgentSession
    from piolet.app.commands import Command as Command
    from piolet.app.commands import ExtensionCommand as ExtensionCommand
    from piolet.app.commands import SourceInfo as SourceInfo
    from piolet.app.extensions.ui import UI as UI
    from piolet.app.extensions.ui import NullUI as NullUI
    from piolet.app.hook_points import INPUT as INPUT
    from piolet.app.hook_points import SESSION_BEFORE_FORK as SESSION_BEFORE_FORK
    from piolet.app.hook_points import SESSION_BEFORE_SWITCH as SESSION_BEFORE_SWITCH
    from piolet.app.hook_points import Cancel as Cancel
    from piolet.app.hook_points import InputResult as InputResult
    from piolet.app.model_choice import NoSuchModel as NoSuchModel
    from piolet.app.options import ContinueSession as ContinueSession
    from piolet.app.options import ExactSession as ExactSession
    from piolet.app.options import ForkSession as ForkSession
    from piolet.app.options import NewSession as NewSession
    from piolet.app.options import OpenSession as OpenSession
    from piolet.app.options import ResourceSelection as ResourceSelection
    from piolet.app.options import RuntimeOptions as RuntimeOptions
    from piolet.app.options import ToolSelection as ToolSelection
    from piolet.app.prompt import PromptRejected as PromptRejected
    from piolet.app.prompt import UserPrompt as UserPrompt
    from piolet.app.runtime import Runtime as Runtime
    from piolet.app.settings import SettingsError as SettingsError
    from piolet.app.trust import TrustError as TrustError
    from piolet.app.trust import TrustOption as TrustOption

_MODULES = {
    "agent_session": ["AgentSession"],
    "commands": ["Command", "ExtensionCommand", "SourceInfo"],
    "extensions.ui": ["UI", "NullUI"],
    "hook_points": ["INPUT", "SESSION_BEFORE_FORK", "SESSION_BEFORE_SWITCH", "Cancel", "InputResult"],
    "model_choice": ["NoSuchModel"],
    "options": [
        "ContinueSession",
        "ExactSession",
        "ForkSession",
        "NewSession",
        "OpenSession",
        "ResourceSelection",
        "RuntimeOptions",
        "ToolSelection",
    ],
    "prompt": ["PromptRejected", "UserPrompt"],
    "runtime": ["Runtime"],
    "settings": ["SettingsError"],
    "trust": ["TrustError", "TrustOption"],
}

__all__ = [
    "INPUT",
    "SESSION_BEFORE_FORK",
    "SESSION_BEFORE_SWITCH",
    "UI",
    "AgentSession",
    "Cancel",
    "Command",
    "ContinueSession",
    "ExactSession",
    "ExtensionCommand",
    "ForkSession",
    "InputResult",
    "NewSession",
    "NoSuchModel",
    "NullUI",
    "OpenSession",
    "PromptRejected",
    "ResourceSelection",
    "Runtime",
    "RuntimeOptions",
    "SettingsError",
    "SourceInfo",
    "ToolSelection",
    "TrustError",
    "TrustOption",
    "UserPrompt",
]

__getattr__ = lazy_exports(
    __name__, {name: f"{__name__}.{module}" for module, names in _MODULES.items() for name in names}
)
