"""What the page about models and providers shows is true and complete."""

from __future__ import annotations

import json
import re
from pathlib import Path

from piolet.llm.models import Models
from piolet.llm.oauth.config import LoginConfig
from piolet.llm.protocols import _MODULES
from piolet.llm.protocols.openai_compat import CompletionsCompat
from piolet.llm.provider_config import ModelPatch, ProviderConfig
from piolet.llm.provider_table import BUILTIN_PROVIDERS
from tests.support.run import ROOT

PAGE = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
CODE = set(re.findall(r"`([\w.$-]+)`", PAGE))
ROWS = re.findall(r"^\| (.*?) \| (.*?) \|$", PAGE.partition("## Credentials")[0], re.MULTILINE)


def test_every_provider_stands_in_its_order_with_its_variables() -> None:
    named = [name for providers, _ in ROWS[2:] for name in re.findall(r"`([^`]+)`", providers)]
    ours = [builtin.id for builtin in BUILTIN_PROVIDERS.values() if not builtin.foreign]
    assert sorted(named) == sorted(ours)
    singles = [name for name in ours if f"| `{name}` |" in PAGE]
    assert [name for name in named if name in singles] == singles
    for builtin in BUILTIN_PROVIDERS.values():
        assert builtin.id in CODE
        if not builtin.foreign:
            assert {*builtin.key_env, *builtin.needs} <= CODE


def test_the_examples_of_configuration_work(tmp_path: Path) -> None:
    for text in re.findall(r"```json\n(.*?)\n```", PAGE, re.DOTALL):
        (tmp_path / "models.json").write_text(text)
        models = Models.open(tmp_path, environ={"LAB_KEY": "k"})
        assert models.error is None
        for provider, config in json.loads(text)["providers"].items():
            for model in config.get("models", ()):
                assert models.find(provider, model["id"]) is not None
            for model_id, change in config.get("modelOverrides", {}).items():
                changed = models.find(provider, model_id)
                assert changed is not None
                assert changed.context_window == change["contextWindow"]
            assert ("login" in config) == (models.login(provider) is not None)


def test_every_field_protocol_and_flag_is_told() -> None:
    for record in (ProviderConfig, ModelPatch, LoginConfig):
        assert set(record.__struct_encode_fields__) - CODE - {"clientId", "tokenUrl", "authorizeUrl", "scopes"} == set()
    flags = {name.replace("Openai", "OpenAI") for name in CompletionsCompat.__struct_encode_fields__}
    catalogue_only = {"requiresReasoningContentOnAssistantMessages", "supportsThinkingTokenBudget"}
    assert flags - CODE - catalogue_only == set()
    assert set(_MODULES) <= CODE
