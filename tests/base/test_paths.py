from __future__ import annotations

import pytest

from piolet.base.paths import resolve_path


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("~", "/home/me"),
        ("~/x/../y", "/home/me/y"),
        ("~you/x", "/base/~you/x"),
        ("a/~/b", "/base/a/~/b"),
        ("", "/base"),
        ("//a//b/", "/a/b"),
        ("../../..", "/"),
        ("file:///x/y%20z", "/x/y z"),
        ("file://localhost/x", "/x"),
        ("@a", "/base/@a"),
    ],
)
def test_paths_are_relative_to_the_base_or_to_home(path: str, expected: str) -> None:
    assert resolve_path(path, "/base", home="/home/me") == expected


def test_blanks_and_an_at_sign_are_dropped_on_request() -> None:
    assert resolve_path(" @~/x ", "/base", home="/h", trim=True, strip_at=True) == "/h/x"


def test_a_url_of_another_machine_is_refused() -> None:
    with pytest.raises(ValueError, match="another machine"):
        resolve_path("file://other/x", "/base")
