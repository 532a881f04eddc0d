"""Only what was asked for changes, to the byte; what is unclear is refused (tools specification, section 4)."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from piolet.harness.environments.local import LocalEnvironment
from piolet.harness.environments.memory import MemoryEnvironment
from piolet.harness.tools.edit import prepare_edit_arguments
from piolet.harness.tools.edits import apply_edits
from piolet.harness.tools.errors import ToolError
from tests.harness.tools.calling import Tools


def edited(data: bytes, *edits: tuple[str, str]) -> bytes:
    return apply_edits("f", data, [{"oldText": old, "newText": new} for old, new in edits]).data


def refused(data: bytes, *edits: tuple[str, str]) -> str:
    with pytest.raises(ToolError) as caught:
        edited(data, *edits)
    return str(caught.value)


any_bytes = st.binary(max_size=80)
lines = st.lists(
    st.sampled_from([b"a", b"b ", b"\xe9", b"\r\n", b"\n", b"\r", "“x”".encode(), b"\t", b"\xff", b"\x00"])
)


@given(any_bytes, any_bytes, st.sampled_from(["", "X", "two\nlines", "NEEDLE NEEDLE"]))
def test_random_bytes_around_the_place_survive(before: bytes, after: bytes, new: str) -> None:
    try:
        result = edited(before + b"NEEDLE" + after, ("NEEDLE", new))
    except ToolError:  # a byte order mark of another encoding, or a second needle
        assert before.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")) or b"NEEDLE" in before + after
        return
    assert result.startswith(before)
    assert result.endswith(after)
    middle = result[len(before) : len(result) - len(after)]
    assert middle.replace(b"\r\n", b"\n").replace(b"\r", b"\n") == new.encode()


@given(lines.map(b"".join), lines.map(b"".join), st.sampled_from([b"\r\n", b"\n", b"\r"]))
def test_other_lines_keep_every_byte_also_after_a_loose_match(before: bytes, after: bytes, ending: bytes) -> None:
    first, second = "say(“hé”)  ".encode(), b"end"
    data = before + b"\n" + first + ending + second + b"\n" + after
    result = edited(data, ('say("he\u0301")\nend', 'say("no")\nEND'))
    middle = b'say("no")' + ending + b"END\n"
    assert result == before + b"\n" + middle + after


@given(st.lists(st.sampled_from(["one", "two", "three", "é"]), min_size=1, unique=True), st.text(max_size=5))
def test_all_edits_are_made_or_none(words: list[str], filler: str) -> None:
    filler = filler.encode("utf-8", "replace").decode().replace("\r", "")
    data = filler.join(f"<{word}>" for word in words).encode()
    edits = [(f"<{word}>", f"[{word}]") for word in words]
    assert edited(data, *edits) == filler.join(f"[{word}]" for word in words).encode()
    assert "Could not find edits[" in refused(data, *edits, ("<missing>", "x"))


@pytest.mark.parametrize(
    ("data", "old", "new", "result"),
    [
        (b"a\r\nb\r\nc\r\n", "b", "b\nB", b"a\r\nb\r\nB\r\nc\r\n"),
        (b"a\nb\r\nc\n", "b\n", "b\nB\n", b"a\nb\r\nB\r\nc\n"),
        (b"a\nb\r\nc\n", "a\nb\nc", "a\nN\nb\nc", b"a\nN\nb\r\nc\n"),
        (b"a\r\nb\rc\nd", "a\nb\nc\nd", "A\nB\nC\nD", b"A\r\nB\rC\nD"),
        (b"a\r\nb", "b", "b\nc", b"a\r\nb\r\nc"),
        (b"a", "a", "x\ny", b"x\ny"),
        (b"a\rb\rc\r", "b", "x\ny", b"a\rx\ry\rc\r"),
        (b"a\r\nb\r\nc\r\n", "b\r\n", "", b"a\r\nc\r\n"),
        (b"\xef\xbb\xbfa\r\n", "a", "b\nc", b"\xef\xbb\xbfb\r\nc\r\n"),
        (b"\xef\xbb\xbfa\n", "\ufeffa", "\ufeffb", b"\xef\xbb\xbfb\n"),
        (b"a\nb", "b", "c", b"a\nc"),
        (b"x\x00y\n", "y", "z", b"x\x00z\n"),
    ],
)
def test_line_endings_marks_and_ends_stay(data: bytes, old: str, new: str, result: bytes) -> None:
    assert edited(data, (old, new)) == result


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_encodings_are_edited_in_their_own(encoding: str) -> None:
    data = "\ufeffx = “1”\r\ny\U0001f600\r\n".encode(encoding)
    assert edited(data, ('x = "1"', "x = é")) == "\ufeffx = é\r\ny\U0001f600\r\n".encode(encoding)


def test_a_broken_wide_encoding_is_refused() -> None:
    assert "not valid UTF-16-LE" in refused(b"\xff\xfea\x00\x00\xd8b\x00c", ("a", "b"))


def test_a_file_in_an_old_encoding_takes_ascii_only() -> None:
    data = "x = 1 # café\n".encode("latin-1")
    assert edited(data, ("x = 1", "x = 2")) == "x = 2 # café\n".encode("latin-1")
    assert "only ASCII" in refused(data, ("x = 1", "x = é"))
    assert edited("é ".encode() + b"\xff x\n", ("x", "ü")) == "é ".encode() + b"\xff \xc3\xbc\n"


@pytest.mark.parametrize(
    ("data", "old", "new", "result"),
    [
        ('p(“hi”)\np("hi")\n', 'p("hi")', "q", "p(“hi”)\nq\n"),
        ("a“x” b“y”\n", 'a"x"', "A", "A b“y”\n"),
        (
            "def f():   \n    return 1\nx  \n",
            "def f():\n    return 1",
            "def g():\n    return 1",
            "def g():\n    return 1\nx  \n",
        ),
        ("café\n", "cafe\u0301", "tea", "tea\n"),
        ("cafe\u0301s\n", "café", "tea", "teas\n"),
        ("ﬁne\n", "fi", "X", "Xne\n"),
        ("ﬁne\n", "ine", "X", "fX\n"),
        ("oﬀ\n", "of", "X", "Xf\n"),
        ("a…b\n", "a...b", "X", "X\n"),
        ("a…b\n", "a..", "X", "X.b\n"),
        ("Ｆｕｌｌ\n", "Full", "x", "x\n"),
        ("a\u00a0b—c\n", "a b-c", "x", "x\n"),
        ("one \n\t \ntwo\n", "one\n\ntwo", "x", "x\n"),
        ("two\n", "two ", "2", "2\n"),
        ("n = “1”;  \nm\n", 'n = "1";\nm', 'n = "2";\nm', 'n = "2";\nm\n'),
    ],
)
def test_a_loose_match_changes_no_more_than_what_matched(data: str, old: str, new: str, result: str) -> None:
    assert edited(data.encode(), (old, new)) == result.encode()


@pytest.mark.parametrize(
    ("data", "old"),
    [
        ("Foo\n", "foo"),
        ("a\tb\n", "a b"),
        ("a  b\n", "a b"),
        ("  a\n", "\ta"),
        ("a′b\n", "a'b"),
        ("«a»\n", '"a"'),
        ("a\u00adb\n", "ab"),
        ("a\u200bb\n", "ab"),
        ("a\u2028b\n", "a\nb"),
        ("foobar\n", "foo "),
        ("e\u0301\n", "é" + "x"),
        ("abc\n", "   "),
    ],
)
def test_what_is_not_documented_as_loose_does_not_match(data: str, old: str) -> None:
    assert refused(data.encode(), (old, "x")).startswith("Could not find the exact text in f.")


@pytest.mark.parametrize(
    ("data", "edits", "message"),
    [
        (b"x\ny\nx\n", [("x", "z")], "Found 2 occurrences of the text in f."),
        (b"x " * 14, [("y", "z"), ("x", "z")], "Could not find edits[0] in f."),
        (b"y" + b"x " * 14, [("y", "z"), ("x", "z")], "Found 14 occurrences of edits[1] in f."),
        ("“a”\n„a‟\n".encode(), [('"a"', "b")], "Found 2 occurrences of the text in f."),
        (b"one two three", [("one two", "A"), ("two three", "B")], "edits[0] and edits[1] overlap in f."),
        (b"abc", [("b", "x"), ("b", "y")], "edits[0] and edits[1] overlap in f."),
        (b"abc", [("c", "x"), ("bc", "y"), ("a", "z")], "edits[0] and edits[1] overlap in f."),
        (b"a", [("", "x")], "oldText must not be empty in f."),
        (b"a", [("a", "x"), ("", "x")], "edits[1].oldText must not be empty in f."),
        (b"a", [], "Edit tool input is invalid."),
        (b"a\r\n", [("a\n", "a\r\n")], "No changes made to f."),
        (b"ab", [("a", "b"), ("b", "zz"), ("c", "d")], "Could not find edits[2] in f."),
    ],
)
def test_refusals_have_their_words(data: bytes, edits: list[tuple[str, str]], message: str) -> None:
    assert refused(data, *edits).startswith(message)


def test_neighbours_repeats_and_idle_edits_are_fine() -> None:
    assert edited(b"abc", ("a", "1"), ("b", "2"), ("c", "c")) == b"12c"
    assert edited(b"aaa", ("aa", "b")) == b"ba"


def test_a_line_of_megabytes_is_quick_also_loosely() -> None:
    line = "START" + "0123456789abcdef" * 200_000 + "“END”"
    started = time.thread_time()
    assert edited(f"{line}\nlast\n".encode(), ("START0", "BEGIN0")).startswith(b"BEGIN0123")
    assert edited(f"{line}\nlast\n".encode(), ('f"END"', "x")).endswith(b"cdex\nlast\n")
    assert time.thread_time() - started < 8


@pytest.mark.parametrize(
    ("given", "prepared"),
    [
        ({"path": "f", "edits": '[{"oldText": "a", "newText": "b"}]'}, [{"oldText": "a", "newText": "b"}]),
        ({"path": "f", "oldText": "a", "newText": "b"}, [{"oldText": "a", "newText": "b"}]),
        (
            {"path": "f", "edits": [{"x": 1}], "oldText": "a", "newText": "b"},
            [{"x": 1}, {"oldText": "a", "newText": "b"}],
        ),
        ({"path": "f", "edits": "not json"}, "not json"),
    ],
)
def test_other_forms_of_arguments(given: Any, prepared: Any) -> None:
    assert prepare_edit_arguments(given) == {"path": "f", "edits": prepared}


async def test_one_edit_that_is_no_list_is_taken() -> None:
    environment = MemoryEnvironment({"f": "a"})
    await Tools(environment).text("edit", path="f", edits={"oldText": "a", "newText": "b"})
    assert environment.files()["/work/f"] == b"b"


async def test_the_result_tells_what_changed() -> None:
    result = await Tools(MemoryEnvironment({"f": "a\nb\n"})).call(
        "edit", path="f", edits=[{"oldText": "b", "newText": "c"}]
    )
    assert result.content[0].text == "Successfully replaced 1 block(s) in f."  # type: ignore[union-attr]
    assert result.details == {
        "diff": " 1 a\n-2 b\n+2 c",
        "patch": "--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n",
        "firstChangedLine": 2,
    }


async def test_a_failure_leaves_the_file(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a\n")
    stamp = path.stat().st_mtime_ns
    tools = Tools(LocalEnvironment(tmp_path))
    edits = [{"oldText": "a", "newText": "b"}, {"oldText": "zz", "newText": "b"}]
    await tools.failure("edit", path="f", edits=edits)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (b"a\n", stamp)


async def test_files_that_cannot_be_edited(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "f").write_bytes(b"")
    tools = Tools(LocalEnvironment(tmp_path))
    edits = [{"oldText": "a", "newText": "b"}]
    assert await tools.failure("edit", path="no", edits=edits) == "Could not edit file: no. Error code: ENOENT."
    assert await tools.failure("edit", path="f/x", edits=edits) == "Could not edit file: f/x. Error code: ENOTDIR."
    assert (await tools.failure("edit", path="d", edits=edits)).startswith("EISDIR")


async def test_lone_surrogates_become_replacement_marks() -> None:
    environment = MemoryEnvironment({"f": b"a b\n"})
    await Tools(environment).text("edit", path="f", edits=[{"oldText": "a", "newText": "\ud83d"}])
    assert environment.files()["/work/f"] == "\ufffd b\n".encode()
