from __future__ import annotations

import time

from piolet.tui.highlight import GrowingCode, highlight, language_of
from piolet.tui.spans import Span, Style, line_text, row
from tests.support.timing import quickest

BASE = Style("mdCodeBlock")
CODE = 'def f(x):\n    """Doc\n    string."""\n    return x + 1  # done\n'


def colours(code: str, language: str) -> dict[str, str | int | None]:
    return {span.text: span.style.fg for line in highlight(code, language) for span in line}


def test_tokens_have_the_colours_of_the_theme() -> None:
    found = colours("def f(x):\n    return 'a' + 1  # done", "python")
    assert found["def"] == found["return"] == "syntaxKeyword"
    assert found["f"] == "syntaxFunction"
    assert found["1"] == "syntaxNumber"
    assert found["+"] == "syntaxOperator"
    assert found["# done"] == "syntaxComment"
    assert found["x"] is None


def test_the_text_is_kept_line_by_line() -> None:
    assert [line_text(line) for line in highlight(CODE, "py", BASE)] == CODE.split("\n")
    assert [line_text(line) for line in highlight("\n\nx\n\n", "python")] == ["", "", "x", "", ""]


def test_an_unknown_language_is_plain() -> None:
    assert highlight("a\nb", "klingon", BASE) == [row("a", BASE), row("b", BASE)]
    assert highlight("a", "", BASE) == [row("a", BASE)]
    assert highlight("", "python", BASE) == [()]


def test_code_is_safe_to_draw() -> None:
    assert highlight("\ta\x1b[31mb", "") == [row("   ab")]


def test_languages_are_known_by_fence_names_and_file_names() -> None:
    assert [language_of(p) for p in ("/a/b.py", "x.TS", "Makefile", "a/Dockerfile", ".bashrc", "README")] == [
        "py", "ts", "make", "docker", "", "",
    ]  # fmt: skip
    for language in ("py", "ts", "js", "jsx", "tsx", "sh", "c++", "rs", "go", "json", "yml", "toml", "diff"):
        assert any(span.style.fg for line in highlight("+x = '1' # 2", language) for span in line), language


def test_growing_code_ends_as_if_it_had_been_whole() -> None:
    code = GrowingCode("python", BASE)
    for line in CODE.split("\n"):
        code.add(line)
    code.finish()
    assert code.lines == highlight(CODE, "python", BASE)


def test_growing_code_shows_each_line_at_once() -> None:
    code = GrowingCode("python", BASE)
    code.add("x = 1")
    assert code.lines[0][0] == Span("x", BASE)
    assert [line_text(line) for line in code.lines] == ["x = 1"]


def test_growing_code_costs_linear_time() -> None:
    def cost(count: int) -> float:
        start = time.thread_time()
        code = GrowingCode("python", BASE)
        for n in range(count):
            code.add(f"value_{n} = compute({n}, 'text')  # comment")
        return time.thread_time() - start

    cost(50)
    limit = 10 * max(cost(200) for _ in range(3))
    assert quickest(lambda: cost(800), limit) < limit
