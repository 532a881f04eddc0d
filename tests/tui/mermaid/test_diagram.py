"""That no text is too much: neither an error nor a long time comes of it."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from piolet.tui.mermaid import diagram
from piolet.tui.spans import line_width
from tests.tui.mermaid.drawn import drawn

STEPS = 8_000_000  # lines of code; a second or two

SOURCES = [
    "flowchart TD\nA[Start] --> B{ok?}\nB -->|yes| C([Done])\nB -- no --> A\n"
    "subgraph s [T]\nC & D -.-> E\nend\nE ==> E",
    "sequenceDiagram\nactor A as a b\nA->>B: x\nloop y\nB-->>B: z\nend\nNote over A,B: n\nnote left of A: m",
    "stateDiagram-v2\n[*] --> a : b\nstate c {\na --> d\n}\nc --> c2\nnote left of a : x",
    'classDiagram\nA <|-- B : x\nclass A {\n+m()\nint a\n}\nB : y\nnamespace n {\nclass C\n}\nC "1" o-- "2" A',
    'erDiagram\nA ||--o{ B : has\nA {\nint a PK\n}\nB }|..|| "C d" : x',
]
PIECES = [
    *(
        "-->",
        "---",
        "-.->",
        "==>",
        "<-->",
        "|x|",
        "&",
        "subgraph s",
        "end",
        "A",
        "B",
        "[",
        "]",
        "{",
        "}",
        "(",
        ")",
        '"',
    ),
    *(";", ":", "\n", " ", "%%", "#amp;", "&#27;", "<br>", "用", "\u0301", "\u200d", "~~~", ":::c", "[*]"),
]


def steps(source: str, limit: int) -> int:
    """Return how many lines of code are run to draw `source`."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        lines = diagram.__wrapped__(source, limit)
    finally:
        sys.settrace(before)
    assert all(line_width(line) <= limit for line in lines or ())
    return count


@given(st.data(), st.sampled_from(SOURCES), st.integers(1, 120))
@settings(max_examples=100, deadline=None)
def test_changed_and_random_text_is_drawn_or_not_but_never_fails(data: st.DataObject, source: str, limit: int) -> None:
    for _ in range(data.draw(st.integers(0, 6))):
        at = data.draw(st.integers(0, len(source)))
        cut = data.draw(st.integers(0, 5))
        source = source[:at] + data.draw(st.sampled_from(PIECES) | st.text(max_size=3)) + source[at + cut :]
    assert steps(source, limit) < STEPS


@given(
    st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=20, max_size=150),
    st.sampled_from(["TD", "LR"]),
)
@settings(max_examples=5, deadline=None)
def test_a_large_graph_takes_few_steps(edges: list[tuple[int, int]], direction: str) -> None:
    rows = [f"n{a} -->|word| n{b}" for a, b in edges]
    assert steps("\n".join([f"flowchart {direction}", *rows]), 120) < STEPS


@given(
    st.lists(
        st.tuples(st.integers(10, 19), st.sampled_from(["-->", "-->|word|", "---"]), st.integers(10, 19)),
        min_size=1,
        max_size=12,
    ),
    st.lists(st.sets(st.integers(10, 19), min_size=1), max_size=2),
    st.sampled_from(["TD", "BT", "LR", "RL"]),
)
@settings(max_examples=50, deadline=None)
def test_every_node_and_word_is_seen(edges: list[tuple[int, str, int]], groups: list[set[int]], direction: str) -> None:
    rows = [f"{a} {link} {b}" for a, link, b in edges]
    frames = [f"subgraph g{n}\n" + "\n".join(map(str, group)) + "\nend" for n, group in enumerate(groups)]
    text = drawn("\n".join([f"flowchart {direction}", *rows, *frames]), 1000)
    assert text
    assert text.count("word") == sum("word" in link for _, link, _ in edges)
    assert all(f" {a} " in text and f" {b} " in text for a, _, b in edges)


def test_what_is_too_large_is_not_drawn() -> None:
    assert drawn("graph TD\n" + "\n".join(f"a{n} --> b{n}" for n in range(200))) is None
    assert drawn("graph TD\n" + "A --> B\n" * 399) is None
    assert drawn("graph TD\nA[" + "x" * 30_000 + "]") is None
    assert drawn("graph TD\n" + "&".join("abcdefghijklmnopqrst") + "-->" + "&".join("ABCDEFGHIJKLMNOPQRST")) is None
    assert drawn("graph TD\n" + "\n".join(f"subgraph s{n}" for n in range(9)) + "\nA\n" + "end\n" * 9) is None


def test_what_stands_before_a_diagram_and_comments_are_skipped() -> None:
    source = "---\ntitle: x\n---\n%%{init: {'theme': 'dark'}}%%\n\n%% says\ngraph TD\n  A %% more\n"
    assert drawn(source) == drawn("graph TD\nA") != None  # noqa: E711


def test_other_kinds_and_prose_are_not_drawn() -> None:
    for source in ("", " \n ", "gantt\n title x", 'pie\n "a" : 1', "hello world", "%% only"):
        assert drawn(source) is None


def test_no_escape_comes_out_of_an_entity() -> None:
    assert "\x1b" not in (drawn('graph TD\nA["&#27;[31mred#27;"]') or "\x1b")
