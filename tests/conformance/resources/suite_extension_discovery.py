"""Finding extensions. The vectors speak of TypeScript: ``.ts`` and ``.js`` are read as ``.py`` and the reverse."""

from __future__ import annotations

import re
from typing import Any

from tests.conformance.resources.suite_resource_resolve import compare, resolve
from tests.conformance.resources.world import rooted, scratch


def in_python(value: Any) -> Any:
    match value:
        case str():
            text = re.sub(r"\.(ts|js|py)\b", lambda suffix: ".ts" if suffix[1] == "py" else ".py", value)
            return re.sub(r"\bindex\.py\b", "__init__.py", text)
        case list():
            return [in_python(item) for item in value]
        case dict():
            return {in_python(key): in_python(item) for key, item in value.items()}
        case _:
            return value


def resolve_extensions(case: dict[str, Any], shared: dict[str, Any]) -> None:
    given = {**case["in"], "tree": in_python(case["in"]["tree"])}
    with scratch(given["tree"]) as root:
        compare(resolve(given, root), rooted(in_python(case["out"]), root))


OPS = {"resolve_extensions": resolve_extensions}
