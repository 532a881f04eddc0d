"""Search patterns: what is in the subset, what is refused, and that both engines and ripgrep agree."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from piolet.harness.environments.automaton import Automaton, compile_pattern
from piolet.harness.environments.base import InvalidPattern
from piolet.harness.environments.patterns import parse, to_rust

TEXT = """needle here
foo
Foo bar
a.b
x(

wide　blank
été
a1b22
foo_bar
été_ßtraße
STRASSE
naïve
日本語 text
٣4
k K ſ s S
a-b
[x]
{y}
aaaa
abab
ab ab
é combining
²½
Ⅷ
a]b
^x$
\\n
tab\\t
100%
zz foo(bar)
İı
‍
Ⓐ
x\ry\r
"""
PATTERNS = r"""
foo (?i)foo f.o ^$ ^ $ \bfoo\b \w+ \W \d \D+ \s \S+\s\S+ [a-c]+ [^a-z] [[:alpha:]]+ [[:^alpha:]] a|b (a|b)+c? (ab)+
(?:ab\x20){1,2}ab a{2} a{2,} a{2,3}$ x\( \[x\] []x] [^]x] \p{Lu} \pL+ \P{L} (a+)+$ (a*)*b a** a++ ^* $+ \b \B () (|a)
a(?i)B|c (?i:s)traSSe (?i)k (?i)\w\b (?i)ß é [é-ü] \x{e9} \u00e9 \- \. \$x x\$ \^ .{5,} ^.{3}$ (foo|bar).*(foo|bar)
\r \r$ y$ (?s). (?m)^a (?U)a+ (?P<n>a) (?i)İ (?i)i [\w.]+ [\d\-x] \w\W\w [a\]] [(] \} .*.*.*x %$ \bé é\b e\b. \bK
(?i)S 日 [&] [a&b] \~ \# a?b?c?d?e?f?g?h?i?j?k?
"""
REFUSED = r"""
\A a\z [a&&b] [a--b] [a~~b] (?x)a a{ a{x} a{,3} { * a|* [] [^] [z-a] a{3,2} (?i (?=a) (?!a) (?<=a) (?<!a) \1 \k<n>
(a a) \é [\b] (a{1000}){1000} [a[b]] \p{Greek} \p{Nope} (?-u)a (?-m)^ (?R)a [^\s\S] (?P<n (?P=n) (?P>n) (?>a) (?#c)
\x \x{ \p{ [[: [a- [\ \n [\n] \x0a \x{d800} \x{110000} \y \b{start} [\d-z] [a-\d] (?z)
"""

ripgrep = pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed")


def found_by_python(pattern: str, text: str, *, ignore_case: bool = False) -> list[int]:
    node = parse(pattern, ignore_case=ignore_case)
    numbers = [text.count("\n", 0, start) + 1 for start in compile_pattern(node).lines(text)]
    assert numbers == [text.count("\n", 0, start) + 1 for start in Automaton(node).lines(text)]
    return numbers


def found_by_ripgrep(pattern: str, path: Path, *options: str) -> list[int]:
    argv = ["rg", "--no-config", "--line-number", "--text", *options, f"--regexp={pattern}", "--", str(path)]
    result = subprocess.run(argv, capture_output=True, check=False)
    assert not result.stderr
    return [int(line.split(b":")[0]) for line in result.stdout.split(b"\n") if line]


@ripgrep
@pytest.mark.parametrize("ignore_case", [False, True])
def test_both_engines_find_what_ripgrep_finds(tmp_path: Path, ignore_case: bool) -> None:
    path = tmp_path / "lines"
    path.write_bytes(TEXT.encode())
    for pattern in PATTERNS.split():
        found = found_by_python(pattern, TEXT, ignore_case=ignore_case)
        told = to_rust(parse(pattern, ignore_case=ignore_case))
        assert found == found_by_ripgrep(told, path), pattern
        assert found == found_by_ripgrep(pattern, path, *["--ignore-case"] * ignore_case), pattern


@pytest.mark.parametrize("pattern", [*REFUSED.split(), "a\nb", "[\n]", "\\"])
def test_what_an_engine_lacks_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidPattern):
        parse(pattern)


def test_a_message_says_what_is_wrong_and_what_to_do() -> None:
    with pytest.raises(InvalidPattern, match=re.escape(r"a brace itself is written \{")):
        parse("interface {}")
    with pytest.raises(InvalidPattern, match="look-around"):
        parse("a(?=b)")


def test_a_literal_is_taken_as_it_is() -> None:
    assert found_by_python_literal("a.b|c", "a.b|c\naxb\n") == [1]
    with pytest.raises(InvalidPattern, match="line feed"):
        parse("a\nb", literal=True)


def found_by_python_literal(pattern: str, text: str) -> list[int]:
    matcher = compile_pattern(parse(pattern, literal=True))
    return [text.count("\n", 0, start) + 1 for start in matcher.lines(text)]


def test_there_is_no_line_behind_the_last_line_feed() -> None:
    assert found_by_python("^", "a\n\n") == [1, 2]
    assert found_by_python("$", "a\nb") == [1, 2]
    assert found_by_python("x*", "") == []


@pytest.mark.parametrize(
    "pattern", [r"(a+)+$", r"(a|aa)+$", r"(\w+\s*)+:", r"a.*a.*a.*b", r"(a?){40}a{40}", r"(x|a*)*c"]
)
def test_no_pattern_can_keep_an_engine_busy(pattern: str) -> None:
    line = "a" * 40_000 + "!"
    started = time.thread_time()
    list(compile_pattern(parse(pattern)).lines(line))
    assert time.thread_time() - started < 5


def test_an_automaton_of_many_states_stays_small() -> None:
    automaton = Automaton(parse(r"a.{12}b"))
    line = "".join("a" if (i * i + i // 7) % 3 else "c" for i in range(20_000))
    assert not automaton.matches(line)
    assert automaton.matches(line + "a" + "." * 12 + "b")
    assert len(automaton._states) <= 2_000


texts = st.text(alphabet="ab1 _\n.é", max_size=30)
atoms = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\w", r"\d", "^", "$", r"\b", "é", "_"])
patterns = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{1,2}", "{0}"])).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    ),
    max_leaves=6,
)


@settings(deadline=None)
@given(patterns, texts)
def test_the_automaton_finds_what_a_backtracking_engine_finds(pattern: str, text: str) -> None:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    expected = [i for i, line in enumerate(lines, 1) if re.search(pattern.replace(".", "[^\n]"), line)]
    assert found_by_python(pattern, text) == expected
