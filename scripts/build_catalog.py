"""Make src/piolet/llm/catalog/*.json from the model data of the npm package ``@earendil-works/pi-ai``.

    python scripts/build_catalog.py PACKAGE_FOLDER [--litellm FILE] [--genai-prices]

PACKAGE_FOLDER is the unpacked package: only its data (``data/*.json``, one file a provider) and the licence named in
its package.json are read. One line a model, so that a change of the data can be read as a diff. The options compare
prices and context windows with other published lists and print what differs; they change nothing:
``--litellm`` with the file ``model_prices_and_context_window*.json`` of the PyPI package litellm, ``--genai-prices``
with the PyPI package of that name, which must be installed.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

CATALOG = Path(__file__).resolve().parent.parent / "src" / "piolet" / "llm" / "catalog"
# Headers are left out: they name other vendors' programs, or belong to the provider (`provider_table`).
FIELDS = (
    *("id", "name", "api", "provider", "baseUrl", "reasoning", "thinkingLevelMap", "input", "inputLimits", "cost"),
    *("promptCache", "contextWindow", "maxTokens", "compat"),
)

Prices = tuple[float | None, float | None, int | None]


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the packaged model catalogue.")
    parser.add_argument("package", type=Path)
    parser.add_argument("--litellm", type=Path)
    parser.add_argument("--genai-prices", action="store_true")
    options = parser.parse_args()
    package = json.loads((options.package / "package.json").read_text(encoding="utf-8"))
    if package.get("license") != "MIT":
        sys.exit(f"the licence of {package['name']} is {package.get('license')!r}, not MIT: look before you go on")
    providers = dict(read(next(options.package.rglob("data/.manifest.json")).parent))
    for old in CATALOG.glob("*.json"):
        old.unlink()
    for provider, models in providers.items():
        lines = ",\n".join(json.dumps(model, ensure_ascii=False, separators=(",", ":")) for model in models)
        (CATALOG / f"{provider}.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    notice = CATALOG / "NOTICE"
    notice.write_text(
        re.sub(r"(?m)^Version: .*$", f"Version: {package['version']}", notice.read_text("utf-8")), "utf-8"
    )
    print(f"{sum(map(len, providers.values()))} models of {len(providers)} providers, {package['version']}")
    if options.litellm:
        compare("litellm", providers, litellm_prices(options.litellm))
    if options.genai_prices:
        compare("genai-prices", providers, genai_prices())
    return 0


def read(folder: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield each provider with its chat models."""
    for file in sorted(folder.glob("[!.]*.json")):
        groups = json.loads(file.read_text(encoding="utf-8")).values()
        chat = [model for group in groups for model in group.values() if model.get("type", "chat") == "chat"]
        if chat:
            yield file.stem, [{name: model[name] for name in FIELDS if name in model} for model in chat]


def compare(source: str, ours: dict[str, list[dict[str, Any]]], look_up: Callable[[str, str], Prices | None]) -> None:
    """Print the models whose rates or window `source` tells differently."""
    known = differing = 0
    for provider, models in ours.items():
        for model in models:
            theirs = look_up(provider, model["id"])
            if theirs is None:
                continue
            known += 1
            own = (model["cost"]["input"], model["cost"]["output"], model["contextWindow"])
            pairs = list(zip(("input", "output", "window"), own, theirs, strict=True))
            differences = [f"{name} {a:g}, there {b:g}" for name, a, b in pairs if b is not None and abs(a - b) > 1e-6]
            differing += bool(differences)
            if differences:
                print(f"{source}: {provider}/{model['id']}: {'; '.join(differences)}")
    print(f"{source}: {known} models are known there, {differing} of them differ")


def litellm_prices(file: Path) -> Callable[[str, str], Prices | None]:
    table = json.loads(file.read_text(encoding="utf-8"))
    prefixes = {
        "google": "gemini",
        "google-vertex": "vertex_ai",
        "amazon-bedrock": "bedrock",
        "together": "together_ai",
    }
    prefixes |= {"fireworks": "fireworks_ai", "moonshotai": "moonshot"}

    def look_up(provider: str, model: str) -> Prices | None:
        prefix = prefixes.get(provider, provider)
        entry = table.get(f"{prefix}/{model}") or table.get(model)
        if not entry or not str(entry.get("litellm_provider", "")).startswith(prefix):
            return None
        rates = [entry.get(f"{side}_cost_per_token") for side in ("input", "output")]
        in_million = [rate * 1e6 if rate else None for rate in rates]
        return in_million[0], in_million[1], entry.get("max_input_tokens")

    return look_up


def genai_prices() -> Callable[[str, str], Prices | None]:
    from genai_prices.data import providers  # type: ignore[import-not-found,unused-ignore]

    by_id = {provider.id: provider for provider in providers}

    def rate(value: Any) -> float | None:
        base = getattr(value, "base", value)
        return None if base is None else float(base)

    def look_up(provider: str, model: str) -> Prices | None:
        found = by_id[provider].find_model(model) if provider in by_id else None
        if found is None or isinstance(found.prices, list):
            return None
        return rate(found.prices.input_mtok), rate(found.prices.output_mtok), found.context_window

    return look_up


if __name__ == "__main__":
    sys.exit(main())
