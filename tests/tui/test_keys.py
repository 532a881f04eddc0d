from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from piolet.tui.keys import Key, KeyDecoder, Paste, Report, TerminalInput, normalize, press, valid


def decode(data: bytes) -> list[TerminalInput]:
    decoder = KeyDecoder()
    return decoder.feed(data) + decoder.flush()


LEGACY = [
    (b"a", "a", "a"),
    (b"L", "shift+l", "L"),
    (b"!", "!", "!"),
    (b" ", "space", " "),
    ("é".encode(), "é", "é"),
    ("É".encode(), "shift+é", "É"),
    ("👨‍👩‍👧".encode(), "👨‍👩‍👧", "👨‍👩‍👧"),
    (b"\r", "enter", ""),
    (b"\n", "ctrl+j", ""),
    (b"\t", "tab", ""),
    (b"\x1b", "escape", ""),
    (b"\x7f", "backspace", ""),
    (b"\x08", "ctrl+backspace", ""),
    (b"\x01", "ctrl+a", ""),
    (b"\x1d", "ctrl+]", ""),
    (b"\x1f", "ctrl+-", ""),
    (b"\x00", "ctrl+space", ""),
    (b"\x1b[A", "up", ""),
    (b"\x1bOB", "down", ""),
    (b"\x1b[1;5C", "ctrl+right", ""),
    (b"\x1b[1;6A", "ctrl+shift+up", ""),
    (b"\x1b[1;3D", "alt+left", ""),
    (b"\x1b[H", "home", ""),
    (b"\x1b[4~", "end", ""),
    (b"\x1b[5~", "pageUp", ""),
    (b"\x1b[6;5~", "ctrl+pageDown", ""),
    (b"\x1b[3;3~", "alt+delete", ""),
    (b"\x1b[Z", "shift+tab", ""),
    (b"\x1bOP", "f1", ""),
    (b"\x1b[24~", "f12", ""),
    (b"\x1b[[C", "f3", ""),
    (b"\x1b[1;2R", "shift+f3", ""),
    (b"\x1b\r", "alt+enter", ""),
    (b"\x1b\x7f", "alt+backspace", ""),
    (b"\x1bb", "alt+b", ""),
    (b"\x1bB", "shift+alt+b", ""),
    (b"\x1b\x1d", "ctrl+alt+]", ""),
    (b"\x1b\x1b[A", "alt+up", ""),
    (b"\x1b[a", "shift+up", ""),
    (b"\x1bOd", "ctrl+left", ""),
    (b"\x1b[7^", "ctrl+home", ""),
    (b"\x1b[8$", "shift+end", ""),
]
EXTENDED = [
    (b"\x1b[27;2;13~", "shift+enter", ""),
    (b"\x1b[27;5;13~", "ctrl+enter", ""),
    (b"\x1b[27;6;80~", "ctrl+shift+p", ""),
    (b"\x1b[13;2u", "shift+enter", ""),
    (b"\x1b[27u", "escape", ""),
    (b"\x1b[127;5u", "ctrl+backspace", ""),
    (b"\x1b[112;6u", "ctrl+shift+p", ""),
    (b"\x1b[112;5u", "ctrl+p", ""),
    (b"\x1b[108;2u", "shift+l", "L"),
    (b"\x1b[108:76;2;76u", "shift+l", "L"),
    (b"\x1b[49:33;2u", "!", "!"),
    (b"\x1b[97;3u", "alt+a", ""),
    (b"\x1b[97;9u", "super+a", ""),
    (b"\x1b[97;69u", "ctrl+a", ""),
    (b"\x1b[1092::97;5u", "ctrl+a", ""),
    (b"\x1b[57399u", "0", "0"),
    (b"\x1b[57414u", "enter", ""),
    (b"\x1b[32;2u", "shift+space", " "),
    (b"\x1b[57376u", "f13", ""),
]


@pytest.mark.parametrize(("data", "name", "typed"), LEGACY)
def test_legacy_sequences_name_keys(data: bytes, name: str, typed: str) -> None:
    assert decode(data) == [Key(name, typed)]


@pytest.mark.parametrize(("data", "name", "typed"), EXTENDED)
def test_both_extended_protocols_name_keys(data: bytes, name: str, typed: str) -> None:
    assert decode(data) == [Key(name, typed)]


def test_the_kitty_protocol_tells_repeats_and_releases() -> None:
    assert decode(b"\x1b[97;1:1u\x1b[97;1:2u\x1b[97;1:3u\x1b[1;1:3A") == [
        Key("a", "a"),
        Key("a", "a", "repeat"),
        Key("a", "a", "release"),
        Key("up", kind="release"),
    ]


def test_a_modifier_by_itself_is_no_key() -> None:
    assert decode(b"\x1b[57441;2u") == []


def test_a_paste_is_one_item_whatever_it_holds() -> None:
    assert decode(b"a\x1b[200~x\r\n\x1b[31m\x03y\x1b[201~b") == [
        Key("a", "a"),
        Paste("x\r\n\x1b[31m\x03y"),
        Key("b", "b"),
    ]


def test_an_unfinished_paste_waits_even_when_flushed() -> None:
    decoder = KeyDecoder()
    assert decoder.feed(b"\x1b[200~abc") + decoder.flush() == []
    assert decoder.feed(b"def\x1b[20") == []
    assert decoder.feed(b"1~") == [Paste("abcdef")]


def test_a_paste_whose_end_was_lost_can_be_ended() -> None:
    decoder = KeyDecoder()
    decoder.feed(b"\x1b[200~abc")
    assert decoder.end_paste() == [Paste("abc")]
    assert decoder.feed(b"d") + decoder.end_paste() == [Key("d", "d")]


@pytest.mark.parametrize(
    "reply",
    [
        b"\x1b]11;rgb:1e1e/1e1e/1e1e\x07",
        b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\",
        b"\x1b[?62;4c",
        b"\x1b[?1u",
        b"\x1b[24;80R",
        b"\x1b[<0;10;5M",
        b"\x1b[M !!",
        b"\x1b[I",
        b"\x1b_Gi=1;OK\x1b\\",
    ],
)
def test_what_the_terminal_says_by_itself_is_no_key(reply: bytes) -> None:
    assert decode(reply) == [Report(reply.decode())]


def test_a_character_split_over_reads_is_one_key() -> None:
    decoder = KeyDecoder()
    assert decoder.feed(b"\xe4") == []
    assert decoder.feed(b"\xb8\xad") == [Key("中", "中")]


SPLITTABLE = [data for data, *_ in LEGACY + EXTENDED if data != b"\x1b" and b"\xe2\x80\x8d" not in data]


@given(st.lists(st.sampled_from(SPLITTABLE), max_size=6), st.data())
def test_any_splitting_into_reads_gives_the_same_keys(parts: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(parts)
    decoder = KeyDecoder()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=5)))
    found: list[TerminalInput] = []
    for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        found += decoder.feed(whole[start:end])
    assert found + decoder.flush() == decode(whole)


@given(st.binary(max_size=40))
def test_no_input_breaks_the_decoder(data: bytes) -> None:
    decode(data)


def test_names_are_equal_whatever_the_order_of_modifiers() -> None:
    assert normalize("shift+ctrl+p") == normalize("ctrl+shift+p") == "ctrl+shift+p"
    assert [normalize(n) for n in ("+", "ctrl++", "a", "pageUp")] == ["+", "ctrl++", "a", "pageUp"]
    assert [normalize(n) for n in ("esc", "shift+return")] == ["escape", "shift+enter"]


def test_names_have_a_form() -> None:
    assert all(map(valid, ["a", "ctrl+-", "ctrl++", "+", "shift+ctrl+up", "super+alt+f12", "pageUp", "ctrl+]", "esc"]))
    assert not any(map(valid, ["", "CTRL+Q", "notakey+++", "ctrl+", "ctrl+ctrl+a", "hyper+a", "Up", "ctrl+nokey", "A"]))


def test_a_named_key_types_what_it_would() -> None:
    assert press("a") == Key("a", "a")
    assert press("shift+l") == Key("shift+l", "L")
    assert press("space") == Key("space", " ")
    assert press("shift+ctrl+p") == Key("ctrl+shift+p")
