"""Which texts are secrets, and that they are hidden wherever they stand."""

from __future__ import annotations

import json
from pathlib import Path

from piolet.app.secrets import MASK, Secrets


def known(tmp_path: Path, environ: dict[str, str] | None = None, *more: str) -> Secrets:
    (tmp_path / "auth.json").write_text(
        json.dumps(
            {
                "groq": {"type": "api_key", "key": "stored-key-01", "env": {"X": "stored-variable-01"}},
                "openai": {"type": "oauth", "access": "access-token-01", "refresh": "refresh-token-01", "expires": 1},
                "other": {"type": "api_key", "key": "$MY_OWN_NAME"},
                "odd": "nothing",
            }
        )
    )
    (tmp_path / "models.json").write_text(
        """{ // a comment
        "providers": {"a": {"apiKey": "literal-key-01",
                            "headers": {"X-Api-Key": "header-key-01", "Accept": "text/plain"}},
                      "b": {"apiKey": "!print-the-key"}, "c": {"apiKey": "none"}}}"""
    )
    return Secrets.of(tmp_path, environ or {}, *more)


def test_stored_configured_named_and_given_secrets_are_masked(tmp_path: Path) -> None:
    environ = {
        "ANTHROPIC_API_KEY": "variable-key-01",
        "MY_OWN_NAME": "referenced-01",
        "HOME": "/home/somebody",
        "GITHUB_TOKEN": "token-token-01",
    }
    secrets = known(tmp_path, environ, "given-key-0001")
    hidden = [
        "stored-key-01",
        "stored-variable-01",
        "access-token-01",
        "refresh-token-01",
        "literal-key-01",
        "header-key-01",
        "variable-key-01",
        "referenced-01",
        "token-token-01",
        "given-key-0001",
    ]
    for value in hidden:
        assert secrets.mask(f"<{value}>") == f"<{MASK}>", value
    for text in ("text/plain", "!print-the-key", "none", "/home/somebody", "api_key"):
        assert secrets.mask(text) == text


def test_longer_secrets_go_before_shorter_ones_and_json_spellings_count() -> None:
    secrets = Secrets(["abcdefgh", "abcdefgh-ijkl", 'quo"te-secret'])
    assert secrets.mask("abcdefgh-ijkl abcdefgh") == f"{MASK} {MASK}"
    assert secrets.mask(json.dumps('quo"te-secret')) == f'"{MASK}"'


def test_short_values_are_no_secrets_and_nothing_known_masks_nothing(tmp_path: Path) -> None:
    assert Secrets(["k", "none"]).mask("ok, none") == "ok, none"
    assert Secrets.of(tmp_path / "missing", {}).mask("text") == "text"
