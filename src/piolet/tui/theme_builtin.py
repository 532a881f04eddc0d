"""The themes that come with the program: ``dark`` and ``light``, in the form of theme files.

Text keeps a contrast of at least 4.5 to every background that it may stand on, as the nearest of 256 colours too.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from piolet.tui.theme import Theme, parse_theme

# Which hue serves which tokens; both themes use the same names for their own colours.
_ROLES = {
    "ink": "text userMessageText customMessageText toolTitle syntaxVariable scrollbarThumb searchMatchText",
    "soft": "toolOutput mdCodeBlock syntaxOperator syntaxPunctuation",
    "gray": "muted thinkingText toolDiffContext mdQuote mdLinkUrl",
    "faint": "dim thinkingOff syntaxComment mdCodeBlockBorder",
    "line": "borderMuted mdHr mdQuoteBorder scrollbarTrack",
    "ice": "accent border mdLink syntaxFunction thinkingLow",
    "deep": "borderAccent mdListBullet thinkingMinimal",
    "moss": "success toolDiffAdded syntaxString",
    "rust": "error toolDiffRemoved thinkingXhigh thinkingMax",
    "amber": "warning mdHeading syntaxNumber bashMode",
    "heather": "customMessageLabel syntaxKeyword thinkingHigh",
    "lagoon": "mdCode syntaxType thinkingMedium",
}

_DARK: dict[str, Any] = {
    "name": "dark",
    "appearance": "dark",
    "vars": {
        "ink": "#dfe3e8",
        "soft": "#b9c1ca",
        "gray": "#a3adb8",
        "faint": "#929ca8",
        "line": "#56606c",
        "ice": "#7cc4ee",
        "deep": "#a2b6f5",
        "moss": "#8fcb86",
        "rust": "#f29a8e",
        "amber": "#e3b86a",
        "heather": "#cfa6ea",
        "lagoon": "#6fcfc0",
    },
    "backgrounds": {
        "selectedBg": "#252f5c",
        "searchMatchBg": "#5a4717",
        "userMessageBg": "#282b30",
        "customMessageBg": "#2b2932",
        "toolPendingBg": "#24272c",
        "toolSuccessBg": "#1f2a24",
        "toolErrorBg": "#33222a",
    },
    "export": {"pageBg": "#16191d", "cardBg": "#1d2126", "infoBg": "#2a2618"},
}

_LIGHT: dict[str, Any] = {
    "name": "light",
    "appearance": "light",
    "vars": {
        "ink": "#1f262e",
        "soft": "#3d4751",
        "gray": "#4e5964",
        "faint": "#5a6570",
        "line": "#b3bcc5",
        "ice": "#0a5c8f",
        "deep": "#2e3a9e",
        "moss": "#226329",
        "rust": "#a3271c",
        "amber": "#6e4400",
        "heather": "#6a2f94",
        "lagoon": "#08605a",
    },
    "backgrounds": {
        "selectedBg": "#d5e3f2",
        "searchMatchBg": "#fbe3a1",
        "userMessageBg": "#eaeff5",
        "customMessageBg": "#f1ebf7",
        "toolPendingBg": "#f0f2f4",
        "toolSuccessBg": "#e8f4e8",
        "toolErrorBg": "#fbebe9",
    },
    "export": {"pageBg": "#f6f7f9", "cardBg": "#ffffff", "infoBg": "#fff6dc"},
}


def roles() -> dict[str, str]:
    """Return the role of each token of text."""
    return {token: role for role, tokens in _ROLES.items() for token in tokens.split()}


def theme_file(name: str) -> dict[str, Any]:
    """Return the built-in theme `name` ("dark" or "light") as a theme file would hold it."""
    source = {"dark": _DARK, "light": _LIGHT}[name]
    return {
        "name": source["name"],
        "appearance": source["appearance"],
        "vars": source["vars"],
        "colors": roles() | source["backgrounds"],
        "export": source["export"],
    }


@cache
def built_in_theme(name: str) -> Theme:
    """Return the built-in theme `name`; KeyError if there is none of that name."""
    return parse_theme(theme_file(name))


BUILT_IN_THEMES = ("dark", "light")
