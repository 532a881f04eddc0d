"""Errors of providers as a person reads them: without JSON around the words, and with what to do.

Nothing is matched on these texts, and nothing stores them: what is stored stays as the provider worded it.
"""

from __future__ import annotations

import re
from typing import Any

from piolet.base.json import loads
from piolet.llm.provider_table import BUILTIN_PROVIDERS

_json = re.compile(r"\{.*\}\Z", re.DOTALL)
_refused = re.compile(r"(?:\A|: )40[13]\b")
_cut_off = re.compile(r"Stream ended without (?:finish_?reason|a stop reason)\Z", re.IGNORECASE)
_MEMBERS = ("message", "detail", "error", "error_description")


def in_plain_words(error: str, provider: str = "") -> str:
    """Return what to show of the `error_message` of an answer. `provider`: whose key may be wrong."""
    text = error.strip()
    if found := _json.search(text):
        text = text[: found.start()] + (_words(found[0]) or found[0])
    if _cut_off.match(text):
        return "The answer broke off: the server closed it before it was finished. Ask it to go on, or ask again"
    if provider and _refused.search(text):
        text = f"{text.rstrip('.')}. {_about_key(provider)}"
    return text


def _words(text: str) -> str:
    """Return what an error object says; empty if it does not say it in a member that is known."""
    try:
        value: Any = loads(text)
    except ValueError:
        return ""
    while isinstance(value, dict):
        value = next((value[name] for name in _MEMBERS if value.get(name)), None)
    return " ".join(value.split()) if isinstance(value, str) else ""


def _about_key(provider: str) -> str:
    builtin = BUILTIN_PROVIDERS.get(provider)
    other = f"set {builtin.key_env[0]}" if builtin and builtin.key_env else 'change its "apiKey" in models.json'
    return f"Is the key of {provider} right, and may it use this model? /login {provider} stores another, or {other}"
