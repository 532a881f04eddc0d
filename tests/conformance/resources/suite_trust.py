"""When trust is needed, who decides, what is saved."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from piolet.app.trust import PROJECT_TRUST, ProjectTrust, TrustOption, TrustStore, needs_trust
from piolet.harness.hooks import Hooks
from tests.conformance.resources.world import expect, rooted, scratch


def needs(case: dict[str, Any], shared: dict[str, Any]) -> None:
    given = case["in"]
    with scratch(given["tree"]) as root:
        (root / given["cwd"]).mkdir(parents=True, exist_ok=True)
        expect(case, lambda: needs_trust(root / given["cwd"], root / given["home"]))


def decide(case: dict[str, Any], shared: dict[str, Any]) -> None:
    given = case["in"]
    with scratch(given["tree"]) as root:
        (root / given["cwd"]).mkdir(parents=True, exist_ok=True)
        agent = root / "agent-folder"
        agent.mkdir()
        if "saved" in given:
            (agent / "trust.json").write_text(json.dumps(rooted(given["saved"], root)), encoding="utf-8")
        asked: list[str] = []
        failures: list[object] = []
        hooks = Hooks(failures.append)
        for answer in given.get("ext", []):
            hooks.on(PROJECT_TRUST, handler_for(answer))

        async def ask(folder: str, options: Sequence[TrustOption]) -> TrustOption | None:
            asked.append(folder)
            if given["answer"] == "PARENT":
                return options[1]
            return next((option for option in options if option.label == given["answer"]), None)

        trust = ProjectTrust(agent, root / "home-folder", flag=given.get("flag"))
        trusted = asyncio.run(
            trust.decide(
                root / given["cwd"],
                default=given.get("default", "ask"),
                hooks=hooks,
                ask=ask if given.get("ui") else None,
            )
        )
        found = {
            "trusted": trusted,
            "asked": bool(asked),
            "saved": json.loads(trust.store.path.read_text("utf-8")) if trust.store.path.exists() else None,
            "extensionErrors": len(failures),
        }
        expect(case, lambda: found, root)


def handler_for(answer: Any) -> Any:
    def handler(event: object) -> Any:
        if answer == "throw":
            raise RuntimeError("thrown")
        return answer

    return handler


def store(case: dict[str, Any], shared: dict[str, Any]) -> None:
    given = case["in"]
    with scratch(given["tree"]) as root:
        trust = TrustStore(root / "agent-folder")
        for name, decision in given["sets"]:
            (root / name).mkdir(parents=True, exist_ok=True)
            trust.save({str(root / name): decision})
        expect(case, lambda: {"file": trust.path.read_text("utf-8")}, root)


def file(case: dict[str, Any], shared: dict[str, Any]) -> None:
    with scratch({"agent/trust.json": case["in"]["text"]}) as root:
        expect(case, lambda: {"get": TrustStore(root / "agent").nearest(Path("/a"))})


OPS = {"needs_trust": needs, "decide_trust": decide, "trust_store": store, "trust_file": file}
