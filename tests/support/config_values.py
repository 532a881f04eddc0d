"""What a text of the configuration stands for, without the reason where it stands for nothing."""

from __future__ import annotations

from collections.abc import Mapping

from piolet.llm.credentials.config_value import NoValue, find_config_value


def resolved(text: str, env: Mapping[str, str]) -> str | None:
    """Return what `text` stands for; None if it stands for nothing."""
    try:
        return find_config_value(text, env, set())
    except NoValue:
        return None
