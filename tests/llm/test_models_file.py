"""models.json: what it adds and changes, and what a broken one does."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from piolet.llm.catalog import BuiltinCatalog
from piolet.llm.model import Model
from piolet.llm.models import Models

CUSTOM = {"baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions", "apiKey": "k"}
BUILTIN = {model.id: model for model in BuiltinCatalog().models("deepseek")}


def load(tmp_path: Path, providers: Any) -> Models:
    text = providers if isinstance(providers, str) else json.dumps({"providers": providers})
    (tmp_path / "models.json").write_text(text)
    return Models.open(tmp_path, environ={})


def find(models: Models, provider: str, model_id: str) -> Model:
    found = models.find(provider, model_id)
    assert found is not None
    return found


def test_a_custom_model_needs_only_an_id(tmp_path: Path) -> None:
    model = find(load(tmp_path, {"my": {**CUSTOM, "models": [{"id": "m"}]}}), "my", "m")
    assert (model.name, model.reasoning, model.input, model.context_window, model.max_tokens, model.cost.input) == (
        *("m", False, ["text"], 128_000, 16_384, 0),
    )
    assert (model.api, model.base_url) == (CUSTOM["api"], CUSTOM["baseUrl"])


def test_a_custom_model_goes_before_its_provider(tmp_path: Path) -> None:
    compat = {"supportsStore": False, "openRouterRouting": {"only": ["x"], "order": ["a"]}}
    own = {"id": "m", "api": "anthropic-messages", "baseUrl": "http://other", "cost": {"input": 1, "cacheRead": 0.5}}
    entry = {**CUSTOM, "compat": compat, "models": [{**own, "compat": {"openRouterRouting": {"order": ["b"]}}}]}
    model = find(load(tmp_path, {"my": entry}), "my", "m")
    assert (model.api, model.base_url) == ("anthropic-messages", "http://other")
    assert model.compat == {"supportsStore": False, "openRouterRouting": {"only": ["x"], "order": ["b"]}}
    assert (model.cost.input, model.cost.output, model.cost.cache_read) == (1, 0, 0.5)


def test_an_address_alone_redirects_every_model_of_a_known_provider(tmp_path: Path) -> None:
    models = load(tmp_path, {"deepseek": {"baseUrl": "http://proxy", "compat": {"supportsStore": True}}})
    assert {model.id for model in models.provider_models("deepseek")} == set(BUILTIN)
    for model in models.provider_models("deepseek"):
        assert model.base_url == "http://proxy"
        assert model.compat == {**(BUILTIN[model.id].compat or {}), "supportsStore": True}


def test_a_model_of_the_same_id_replaces_the_built_in_one_and_takes_nothing_from_it(tmp_path: Path) -> None:
    models = load(tmp_path, {"deepseek": {"models": [{"id": "deepseek-flash"}, {"id": "new"}]}})
    replaced = find(models, "deepseek", "deepseek-flash")
    assert (replaced.name, replaced.reasoning, replaced.compat) == ("deepseek-flash", False, None)
    assert find(models, "deepseek", "new").base_url == BUILTIN["deepseek-flash"].base_url
    assert find(models, "deepseek", "deepseek-v4-pro") == BUILTIN["deepseek-v4-pro"]


def test_an_override_changes_single_fields_and_ignores_unknown_ids(tmp_path: Path) -> None:
    change = {"contextWindow": 5, "cost": {"input": 7}, "thinkingLevelMap": {"high": None}, "compat": {"x": 1}}
    models = load(tmp_path, {"deepseek": {"modelOverrides": {"deepseek-v4-pro": change, "nope": {"name": "q"}}}})
    before, after = BUILTIN["deepseek-v4-pro"], find(models, "deepseek", "deepseek-v4-pro")
    assert (after.context_window, after.max_tokens) == (5, before.max_tokens)
    assert (after.cost.input, after.cost.output) == (7, before.cost.output)
    assert after.thinking_level_map == {**(before.thinking_level_map or {}), "high": None}
    assert after.compat == {**(before.compat or {}), "x": 1}
    assert models.find("deepseek", "nope") is None


@pytest.mark.parametrize(
    ("provider", "address"),
    [("fireworks", "https://api.fireworks.ai/inference/v1"), ("openrouter", "https://openrouter.ai/api/v1")],
)
def test_a_new_model_of_a_provider_with_several_protocols_speaks_chat_completions(
    tmp_path: Path, provider: str, address: str
) -> None:
    model = find(load(tmp_path, {provider: {"models": [{"id": "new"}]}}), provider, "new")
    assert (model.api, model.base_url) == ("openai-completions", address)


def test_comments_and_trailing_commas_are_tolerated(tmp_path: Path) -> None:
    text = '// mine\n{"providers": {"my": {"baseUrl": "http://x", "api": "a", /* key: */ "models": [{"id": "m"},],}}}'
    models = load(tmp_path, text)
    assert models.error is None
    assert find(models, "my", "m").base_url == "http://x"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{\n"providers": {oops}}', "line 2, column 15"),
        ("[]", '"providers"'),
        ('{"providers": []}', '"providers"'),
        ('{"providers": {"my": {"apiKey": 5}}}', '"my"'),
        ('{"providers": {"my": null}}', '"my"'),
        ('{"providers": {"my": {"models": [{"id": "m", "contextWindow": 0}]}}}', "contextWindow"),
        ('{"providers": {"a": {"baseUrl": "x"}, "my": {"models": [{"id": "m", "input": ["audio"]}]}}}', '"my"'),
        ("\xff", "UTF-8"),
    ],
)
def test_a_broken_file_is_named_and_the_built_in_models_stay(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "models.json").write_bytes(text.encode("latin-1"))
    models = Models.open(tmp_path, environ={"DEEPSEEK_API_KEY": "k"})
    assert str(tmp_path / "models.json") in str(models.error)
    assert said in str(models.error)
    assert {model.key for model in models.get_available()} == {model.key for model in BUILTIN.values()}


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"models": [{"id": "m"}]}, '"api" is missing'),
        ({"api": "a", "models": [{"id": "m"}]}, '"baseUrl" is missing'),
        ({"baseUrl": "x", "api": "a", "models": [{"name": "m"}]}, 'needs an "id"'),
        ({}, "nothing is configured"),
        ({**CUSTOM, "models": {"m": {}}}, "Expected `array`"),
        ("text", "Expected `object`"),
    ],
)
def test_a_provider_that_cannot_work_is_left_out_alone(tmp_path: Path, entry: Any, said: str) -> None:
    models = load(tmp_path, {"bad": entry, "my": {**CUSTOM, "models": [{"id": "m"}]}})
    assert said in str(models.error)
    assert '"bad"' in str(models.error)
    assert models.find("my", "m")
    assert models.get_provider("bad") is None


def test_a_whole_number_may_be_written_as_a_float(tmp_path: Path) -> None:
    models = load(tmp_path, {"my": {**CUSTOM, "models": [{"id": "m", "contextWindow": 2e5, "maxTokens": 8192.0}]}})
    assert models.error is None
    found = find(models, "my", "m")
    assert (found.context_window, found.max_tokens) == (200_000, 8192)


def test_lone_surrogates_do_no_harm(tmp_path: Path) -> None:
    models = load(
        tmp_path, {"my": {**CUSTOM, "name": "\ud800", "compat": {"x": "\ud800"}, "models": [{"id": "m\udfff"}]}}
    )
    assert models.error is None
    assert find(models, "my", "m?").compat == {"x": "?"}


def test_the_file_is_read_again_when_it_changed(tmp_path: Path) -> None:
    models = load(tmp_path, "{oops")
    assert models.error
    (tmp_path / "models.json").write_text(json.dumps({"providers": {"my": {**CUSTOM, "models": [{"id": "m"}]}}}))
    models.reload()
    assert models.error is None
    assert models.find("my", "m")
    os.unlink(tmp_path / "models.json")
    models.reload()
    assert models.find("my", "m") is None


def test_no_error_holds_a_key(tmp_path: Path) -> None:
    secret = "sk-0123456789abcdef"
    models = load(tmp_path, {"my": {"apiKey": secret, "headers": {"X": secret}, "models": [{"id": 5}]}})
    assert secret not in str(models.error)
    good = load(tmp_path, {"my": {**CUSTOM, "apiKey": secret, "headers": {"X": secret}, "models": [{"id": "m"}]}})
    assert secret not in repr(good.configurations("my"))
    assert secret not in repr(good.get_all()[-1])
