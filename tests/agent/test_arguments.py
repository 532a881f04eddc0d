"""Coercion and validation of tool arguments (tools specification, section 1)."""

from __future__ import annotations

from typing import Any

import pytest

from piolet.agent.arguments import InvalidArguments, check, prepare
from piolet.agent.tools import AgentTool, OnUpdate, ToolResult
from piolet.base.abort import AbortSignal
from piolet.llm.messages import ToolCall


async def nothing(call_id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> ToolResult:
    return ToolResult([])


def tool(properties: dict[str, Any], required: tuple[str, ...] = (), **schema: Any) -> AgentTool:
    return AgentTool(
        "read", "", {"type": "object", "properties": properties, "required": list(required), **schema}, nothing
    )


def problems(some_tool: AgentTool, **arguments: Any) -> list[str]:
    with pytest.raises(InvalidArguments) as caught:
        check(some_tool, arguments)
    return [line.removeprefix("  - ") for line in str(caught.value).split("\n\n")[0].split("\n")[1:]]


@pytest.mark.parametrize(
    ("kind", "given", "becomes"),
    [
        ("number", "2", 2),
        ("number", " 2.5 ", 2.5),
        ("number", "1e3", 1000),
        ("number", True, 1),
        ("integer", "7", 7),
        ("integer", 2.0, 2),
        ("integer", "2.0", 2),
        ("string", 5, "5"),
        ("string", 1.0, "1"),
        ("string", 1.5, "1.5"),
        ("string", False, "false"),
        ("boolean", "true", True),
        ("boolean", 0, False),
        ("array", "a", ["a"]),
        ("object", {"a": 1}, {"a": 1}),
    ],
)
def test_values_are_coerced_by_the_table(kind: str, given: Any, becomes: Any) -> None:
    result = check(tool({"v": {"type": kind}}), {"v": given})["v"]
    assert result == becomes
    assert type(result) is type(becomes)


@pytest.mark.parametrize(
    ("kind", "given", "problem"),
    [
        ("number", "x", "expected number, got string"),
        ("number", "nan", "expected number, got string"),
        ("number", [1], "expected number, got array"),
        ("integer", 1.5, "expected integer, got number"),
        ("integer", "1.5", "expected integer, got string"),
        ("string", {"a": 1}, "expected string, got object"),
        ("boolean", "yes", "expected boolean, got string"),
        ("boolean", 2, "expected boolean, got integer"),
        ("object", 7, "expected object, got integer"),
    ],
)
def test_what_the_table_does_not_name_fails(kind: str, given: Any, problem: str) -> None:
    assert problems(tool({"v": {"type": kind}}), v=given) == [f"v: {problem}"]


def test_null_and_blank_text_for_what_is_not_required_mean_absent() -> None:
    some = tool({"path": {"type": "string"}, "limit": {"type": "number"}}, ("path",))
    assert check(some, {"path": "a", "limit": None}) == {"path": "a"}
    assert check(some, {"path": "a", "limit": " "}) == {"path": "a"}
    assert check(tool({"text": {"type": "string"}}), {"text": ""}) == {"text": ""}


def test_null_stays_where_the_schema_allows_it() -> None:
    assert check(tool({"v": {"type": ["string", "null"]}}), {"v": None}) == {"v": None}


def test_null_for_what_is_required_is_a_problem() -> None:
    assert problems(tool({"path": {"type": "string"}}, ("path",)), path=None) == ["path: expected string, got null"]


def test_a_missing_argument_gives_the_exact_text() -> None:
    some = tool({"path": {"type": "string"}}, ("path",))
    with pytest.raises(InvalidArguments) as caught:
        prepare(some, ToolCall("1", "read", {}))
    assert str(caught.value) == 'Validation failed for tool "read":\n  - path: missing\n\nReceived arguments:\n{}'


def test_every_problem_has_a_line_with_dots_in_its_path() -> None:
    item = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a", "b"]}
    some = tool({"edits": {"type": "array", "items": item}})
    assert problems(some, edits=[{"a": "x"}, {"b": 3}, 7]) == [
        "edits.0.b: missing",
        "edits.1.a: missing",
        "edits.2: expected object, got integer",
    ]


def test_the_arguments_are_shown_before_coercion() -> None:
    some = tool({"a": {"type": "number"}, "b": {"type": "number"}})
    with pytest.raises(InvalidArguments) as caught:
        prepare(some, ToolCall("1", "read", {"a": "1", "b": "x", "c": [1.0, "é\ud83d"]}))
    assert str(caught.value).partition("Received arguments:\n")[2] == (
        '{\n  "a": "1",\n  "b": "x",\n  "c": [\n    1,\n    "é\\ud83d"\n  ]\n}'
    )


def test_arguments_that_were_no_object_show_what_came() -> None:
    call = ToolCall("1", "read", {}, arguments_error='Unexpected end\n\nReceived arguments:\n{"a":')
    with pytest.raises(InvalidArguments) as caught:
        prepare(tool({}), call)
    assert str(caught.value) == 'Invalid arguments for tool "read": Unexpected end\n\nReceived arguments:\n{"a":'


def test_unknown_arguments_are_ignored() -> None:
    assert check(tool({"a": {"type": "string"}}), {"a": "x", "z": 1}) == {"a": "x", "z": 1}
    assert check(tool({"a": {"type": "string"}}, additionalProperties=False), {"a": "x", "z": 1}) == {"a": "x"}


def test_the_message_is_never_changed() -> None:
    given = {"v": {"deep": ["1"]}}
    some = tool({"v": {"type": "object", "properties": {"deep": {"type": "array", "items": {"type": "number"}}}}})
    result = prepare(some, ToolCall("1", "read", given))
    result["v"]["deep"].append(2)
    assert result == {"v": {"deep": [1, 2]}}
    assert given == {"v": {"deep": ["1"]}}


def test_choices_are_named() -> None:
    some = tool({"v": {"type": "string", "enum": ["a", "b"]}})
    assert problems(some, v="c") == ['v: must be one of "a", "b"']


def test_the_first_branch_that_takes_the_value_as_it_is_wins() -> None:
    some = tool({"v": {"anyOf": [{"type": "number"}, {"type": "string"}]}})
    assert check(some, {"v": "2"}) == {"v": "2"}
    assert check(some, {"v": 2}) == {"v": 2}
    assert problems(some, v=[1]) == ["v: expected number, got array"]


def test_references_within_the_schema_are_followed() -> None:
    some = tool({"v": {"$ref": "#/$defs/n"}}, **{"$defs": {"n": {"type": "number"}}})
    assert check(some, {"v": "2"}) == {"v": 2}


def test_a_full_json_schema_is_validated_whole() -> None:
    some = tool({"v": {"type": "string", "pattern": "^a+$"}, "n": {"type": "number", "minimum": 3}})
    assert check(some, {"v": "aa", "n": "3"}) == {"v": "aa", "n": 3}
    found = problems(some, v="b", n=1)
    assert [line.partition(":")[0] for line in found] == ["v", "n"]


def test_an_invalid_schema_of_a_tool_is_a_problem_and_not_a_crash() -> None:
    assert "schema is not valid" in problems(tool({"v": {"type": "string", "pattern": 7}}), v="a")[0]
