"""What piolet shares with the peer: the catalogue, models.json, auth.json with its lock."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest

from piolet.base.json import to_plain
from piolet.llm.catalog import BuiltinCatalog
from piolet.llm.credentials.records import ApiKeyCredential
from piolet.llm.credentials.store import AuthFile
from piolet.llm.models import Models
from piolet.llm.patterns import resolve_choice, resolve_scope
from tests.support.peer import Peer
from tests.support.run import Place

LEFT_OUT = ("type", "headers", "lab", "enabled", "free", "providers")
CUSTOM = {
    "acme": ["swift-3", "swift-3-20250101", "deep-2-latest", "deep-2", "~odd"],
    "beta": ["swift-3", "acme/swift-3", "org/mid:free"],
    "gate/eu": ["acme/swift-3", "Bracketed[1m]"],
}


def ask(peer: Peer, place: Place, *argv: str, commands: tuple[str, ...] = ("get_state",)) -> list[Any]:
    lines = "".join(json.dumps({"type": command}) + "\n" for command in commands)
    done = peer.run(place, "--mode", "rpc", "--no-session", *argv, stdin=lines)
    return [answer["data"] for answer in done.records if answer.get("type") == "response" and "data" in answer]


def write(place: Place, name: str, value: Any) -> None:
    place.agent.mkdir(parents=True, exist_ok=True)
    (place.agent / name).write_text(json.dumps(value))


def write_custom(place: Place, usable: tuple[str, ...]) -> Models:
    providers = {}
    for provider, ids in CUSTOM.items():
        models = [{"id": model_id, "reasoning": True} for model_id in ids]
        key = {"apiKey": "k"} if provider in usable else {}
        providers[provider] = {"baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions", "models": models, **key}
    write(place, "models.json", {"providers": providers})
    return Models.open(place.agent, environ={})


def test_both_know_the_same_models(peer: Peer, place: Place) -> None:
    catalog = BuiltinCatalog()
    ids = {"CLOUDFLARE_ACCOUNT_ID": "a", "CLOUDFLARE_GATEWAY_ID": "g"}
    write(place, "auth.json", {name: {"type": "api_key", "key": "k", "env": ids} for name in catalog.providers()})
    [listed] = ask(peer, place, commands=("get_available_models",))
    theirs = {f"{model['provider']}/{model['id']}": model for model in listed["models"]}
    assert len(theirs) > 1000
    ours = {model.key: to_plain(model) for name in catalog.providers() for model in catalog.models(name)}
    for key, model in theirs.items():
        known = {
            name: value for name, value in model.items() if name not in ("type", "headers", "lab", "enabled", "free")
        }
        known.pop("providers", None)
        assert ours[key] == known


@pytest.mark.parametrize(
    ("pattern", "usable"),
    [
        ("swift-3", ("beta",)),
        ("acme/swift-3", ("gate/eu",)),
        ("gate/eu/acme/swift-3:high", ()),
        ("acme/sw", ("acme",)),
        ("acme/new:low", ("acme",)),
        ("org/mid:free", ()),
        ("deep", ("acme", "beta")),
        ("bracketed", ("gate/eu",)),
    ],
)
def test_both_choose_the_same_model(peer: Peer, place: Place, pattern: str, usable: tuple[str, ...]) -> None:
    models = write_custom(place, usable)
    choice = resolve_choice(pattern, models.get_all(), models.has_configured_auth)
    [state] = ask(peer, place, "--model", pattern)
    assert choice.model is not None
    assert (choice.model.provider, choice.model.id) == (state["model"]["provider"], state["model"]["id"])
    assert state["thinkingLevel"] == (choice.thinking or "medium")


@pytest.mark.parametrize("patterns", ["acme/*,swift-3", "*/*/*", "beta/org/mid:free:low", "gate/**:high", "*[!3]"])
def test_both_cycle_through_the_same_models(peer: Peer, place: Place, patterns: str) -> None:
    models = write_custom(place, tuple(CUSTOM))
    scope = resolve_scope(patterns.split(","), models.get_available())
    cycles = ("cycle_model",) * (len(scope.models) - 1)
    states = ask(peer, place, "--models", patterns, commands=("get_state", *cycles))
    assert [f"{state['model']['provider']}/{state['model']['id']}" for state in states] == [
        scoped.model.key for scoped in scope.models
    ]


def test_both_change_auth_json_at_once_and_lose_nothing(peer: Peer, place: Place) -> None:
    path = place.agent / "auth.json"
    leaving = ("groq", "xai", "cerebras")
    write(place, "auth.json", {name: {"type": "api_key", "key": "k"} for name in leaving})
    exits: list[int] = []
    theirs = threading.Thread(target=lambda: exits.extend(peer.run(place, "auth", "logout", it).exit for it in leaving))
    theirs.start()
    written = 0
    while theirs.is_alive():
        AuthFile(path).set(f"own-{written}", ApiKeyCredential("k"))
        written += 1
        time.sleep(0.05)  # the peer asks for the lock less and less often
    assert exits == [0, 0, 0]
    assert written > 3
    assert set(json.loads(path.read_text())) == {f"own-{number}" for number in range(written)}


def test_a_key_that_piolet_stored_is_one_for_the_peer(peer: Peer, place: Place) -> None:
    assert place.run("auth", "login", "groq", "--api-key", stdin="sk-piolet\n").exit == 0
    assert peer.run(place, "auth", "print-api-key", "--provider", "groq").stdout == "sk-piolet\n"
