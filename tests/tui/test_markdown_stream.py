from __future__ import annotations

import gc
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from piolet.tui.markdown import render
from piolet.tui.markdown_inline import Look
from piolet.tui.markdown_stream import MarkdownStream
from piolet.tui.spans import line_text
from tests.support.timing import quickest

PARTS = [
    "# Title\n\n",
    "Some **bold** text that is long enough to wrap.\nSecond line\n\n",
    "- one\n- two\n  - nested\n\n  para\n- three\n\n",
    "1. a\n2. b\n\n   ```py\n   x = 1\n   ```\n3. c\n\n",
    "```python\ndef f(x):\n\n    '''doc\n    string'''\n    return x\n```\n",
    "   ~~~\n   a\n  b\n   ~~~\n\n",
    "````\n```\n````\n",
    "> quote\n> - x\n\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
    "Setext\n---\n\n",
    "---\n",
    "    indented\n\n",
    "#tag and $x^2$\n\n",
    "* x\n* y\n- z\n\n",
    "```mermaid\ngraph TD\na\n```\n",
    "```\nopen",
]


@given(st.lists(st.sampled_from(PARTS), max_size=7), st.integers(1, 30), st.integers(5, 50), st.booleans())
def test_a_stream_ends_as_the_whole_text_is_drawn(parts: list[str], size: int, limit: int, diagrams: bool) -> None:
    text, look = "".join(parts), Look(mermaid="streaming" if diagrams else "off")
    stream = MarkdownStream(limit, look)
    for at in range(0, len(text), size):
        stream.append(text[at : at + size])
        stream.lines()
    whole = render(text, limit, look)
    assert list(map(line_text, stream.lines())) == list(map(line_text, whole))
    assert stream.finish() == whole


@pytest.mark.parametrize("part", PARTS)
def test_every_prefix_is_drawn_without_losing_text(part: str) -> None:
    stream = MarkdownStream(40)
    words = set()
    for char in "Intro\n\n" + part:
        stream.append(char)
        shown = "\n".join(map(line_text, stream.lines()))
        words = set(stream.text.split()[:-2])
        assert all(word.strip("*#|>-~`:.123$^_'") in shown or "x^2" in word for word in words)


def test_a_diagram_is_drawn_when_it_is_closed_or_at_the_end() -> None:
    source = "```mermaid\ngraph TD\na\n```\n"
    code = ["```mermaid", "  graph TD", "  a", "```"]
    for mermaid, before in (("streaming", ["┌───┐", "│ a │", "└───┘"]), ("final", code), ("off", code)):
        stream = MarkdownStream(40, Look(mermaid=mermaid))
        stream.append(source[:22])
        assert list(map(line_text, stream.lines())) == code
        stream.append(source[22:])
        assert list(map(line_text, stream.lines())) == before
        stream.append("more")
        assert list(map(line_text, stream.lines())) == [*before, "", "more"]
        assert stream.finish() == render(source + "more", 40, Look(mermaid=mermaid))


@pytest.mark.parametrize(
    ("lead", "indent"), [("", ""), ("   ", "   "), ("- x\n  - ", "    "), ("> ", "> "), ("1. ", "   ")]
)
def test_an_open_diagram_is_code_wherever_it_stands(lead: str, indent: str) -> None:
    look = Look(mermaid="streaming")
    stream = MarkdownStream(40, look)
    stream.append(lead + f"\n{indent}".join(["```mermaid", "graph TD", "a"]))
    for piece in ("", " --> b", f"\n{indent}", "``"):
        stream.append(piece)
        assert any("graph TD" in line_text(line) for line in stream.lines())
    stream.append("`\n")
    assert any("┌───┐" in line_text(line) for line in stream.lines())
    assert stream.finish() == render(stream.text, 40, look)


def test_what_would_be_something_else_for_a_moment_is_held_back() -> None:
    stream = MarkdownStream(40)
    stream.append("text\n-")
    assert stream.lines() == render("text", 40)
    stream.append(" item\n")
    assert stream.lines() == render("text\n- item", 40)


def test_an_open_code_block_is_drawn_closed() -> None:
    stream = MarkdownStream(40)
    stream.append("```py\nx = 1\ny =")
    assert list(map(line_text, stream.lines())) == ["```py", "  x = 1", "  y =", "```"]


def test_resizing_draws_anew() -> None:
    stream = MarkdownStream(40)
    stream.append("one two three\n\nfour")
    stream.lines()
    stream.resize(8)
    assert stream.lines() == render("one two three\n\nfour", 8)


def test_escape_sequences_do_not_pass_even_in_pieces() -> None:
    stream = MarkdownStream(40)
    for char in "a\x1b[31mb":
        stream.append(char)
    assert "\x1b" not in "".join(map(line_text, stream.lines()))


@pytest.mark.parametrize(
    "unit",
    ["A paragraph of *text* here.\n\n", "- an item of a list\n", "1. item\n", "```\ncode = 1\n```\n", "x = call(1)\n"],
)
def test_the_cost_of_a_frame_does_not_grow_with_the_text(unit: str) -> None:
    head = "```python\n" if unit.startswith("x") else ""

    def cost(count: int) -> float:
        stream = MarkdownStream(80)
        stream.append(head)
        for _ in range(count):
            stream.append(unit)
            stream.lines()
        gc.disable()
        start = time.thread_time()
        for _ in range(100):
            stream.append(unit)
            stream.lines()
        gc.enable()
        return time.thread_time() - start

    limit = 4 * max(cost(100) for _ in range(3)) + 0.05
    assert quickest(lambda: cost(1000), limit) < limit
