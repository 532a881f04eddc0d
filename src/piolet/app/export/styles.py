"""What pages have in common: themes as CSS variables, and the policy that lets nothing else run or load."""

from __future__ import annotations

import base64
from hashlib import sha256

from piolet.tui.spans import Color
from piolet.tui.theme import BACKGROUND_TOKENS, FOREGROUND_TOKENS, Theme
from piolet.tui.theme_color import Rgb, rgb

_CLASSES = "".join(
    f".{name}-{token}{{{rule}:var(--{token})}}\n"
    for name, rule, tokens in (("fg", "color", FOREGROUND_TOKENS), ("bg", "background", BACKGROUND_TOKENS))
    for token in tokens
)


def theme_style(light: Theme, dark: Theme) -> str:
    """Return the style that gives every token a CSS variable and a class.

    The system's preference chooses; ``data-theme`` of the root overrules it; paper is always light.
    """
    return (
        f":root{{{_variables(light)}--line:color-mix(in srgb,var(--borderMuted) 55%,transparent)}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{_variables(dark)}}}}}\n"
        f"@media screen{{:root[data-theme=dark]{{{_variables(dark)}}}}}\n{_CLASSES}"
    )


def policy(style: str, script: str = "") -> str:
    """Return the policy of a page that holds `style` and `script`: only these, and pictures of the page itself."""
    scripts = f"script-src {_hash(script)}; require-trusted-types-for 'script'; " if script else ""
    return f"default-src 'none'; {scripts}style-src {_hash(style)}; img-src data:; base-uri 'none'; form-action 'none'"


def _variables(theme: Theme) -> str:
    """Return the declarations of a theme. What it does not say of pages follows from the user's messages."""
    user = theme.colors["userMessageBg"]
    page, card = (0.7, 0.85) if theme.appearance == "dark" else (0.96, 1)
    derived = {} if user == "" else {"pageBg": _scaled(user, page), "cardBg": _scaled(user, card), "infoBg": user}
    colors = {**derived, **theme.colors, **theme.export}
    return "".join(f"--{name}:{rgb(color).hex};" for name, color in colors.items() if color != "")


def _scaled(color: Color, factor: float) -> Color:
    return Rgb(*(round(channel * factor) for channel in rgb(color))).hex


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"
