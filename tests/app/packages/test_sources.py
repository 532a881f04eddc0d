from __future__ import annotations

from pathlib import Path

import pytest

from piolet.app.packages.sources import (
    GitSource,
    LocalSource,
    NpmSource,
    PackageError,
    PypiSource,
    identity,
    installed_path,
    needs_network,
    parse_git,
    parse_source,
)

BASE, HOME = Path("/agent"), Path("/home/me")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("git:github.com/u/r@v1", GitSource("https://github.com/u/r", "github.com", "u/r", "v1")),
        ("git:GitHub.com/U/R.git", GitSource("https://GitHub.com/U/R.git", "github.com", "U/R")),
        ("git:git@h.example:u/r.git", GitSource("git@h.example:u/r.git", "h.example", "u/r")),
        ("git:git@h.example:u/r@v2", GitSource("git@h.example:u/r", "h.example", "u/r", "v2")),
        ("git:git://h/u/r.git@v1", GitSource("git://h/u/r.git", "h", "u/r", "v1")),
        ("git:localhost/u/r", GitSource("https://localhost/u/r", "localhost", "u/r")),
        ("ssh://git@h.example:22/u/r@main", GitSource("ssh://git@h.example:22/u/r", "h.example", "u/r", "main")),
        ("https://u:p@h.example/a/b/c", GitSource("https://u:p@h.example/a/b/c", "h.example", "a/b/c")),
        ("https://h.example/u/r@feature/x", GitSource("https://h.example/u/r", "h.example", "u/r", "feature/x")),
    ],
)
def test_a_repository_is_host_and_path_whatever_its_address(text: str, expected: GitSource) -> None:
    assert parse_git(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *["git:u", "git:u/r", "git:../x/y", "git:./rel", "git:/abs/path", "git:~/x/y", "git:", "git:h.example//r"],
        *[
            "git:h.example/u/..",
            "git:h.example/./r",
            "git:h.example/u/%2e%2e",
            "git:h.example/u\\r/x",
            "git:h.ex/u/\0r",
        ],
        *[
            "https://h.example/u",
            "https://h.example/",
            "https://",
            "git://h/u/r",
            "github:u/r",
            "./local",
            "file:///x/y",
        ],
        *["git:h.example/u/r@", "git:h.example/u/r@--upload-pack=x", "git:-h.example/u/r", "https://h.example/u/r#x"],
    ],
)
def test_what_could_leave_its_folder_is_no_repository(text: str) -> None:
    assert parse_git(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pypi:My_Pkg", PypiSource("my-pkg", "My_Pkg")),
        ("pypi:a.b==1.2", PypiSource("a-b", "a.b==1.2", pinned=True)),
        ("pypi:a>=1,<2", PypiSource("a", "a>=1,<2")),
        ("pypi:a==1.*", PypiSource("a", "a==1.*")),
        ("pypi: a [x] ~= 1.4 ", PypiSource("a", "a [x] ~= 1.4")),
        ("npm:@s/a@1.0.0", NpmSource("@s/a", "1.0.0")),
        ("npm:a@^1", NpmSource("a", "^1")),
        ("  ../pk ", LocalSource("../pk")),
        ("builtin:mcp", LocalSource("builtin:mcp")),
    ],
)
def test_sources_are_told_apart_by_their_prefix(text: str, expected: object) -> None:
    assert parse_source(text) == expected


@pytest.mark.parametrize(
    ("text", "path", "ref"),
    [
        ("git:file:///srv/team/knots", "srv/team/knots", None),
        ("git:file:///srv/knots.git@v1", "srv/knots", "v1"),
        ("git: file:///srv/knots@feature/x ", "srv/knots", "feature/x"),
    ],
)
def test_a_repository_of_this_machine_is_a_file_url(text: str, path: str, ref: str | None) -> None:
    source = parse_source(text)
    assert isinstance(source, GitSource)
    assert (source.host, source.path, source.ref) == ("file", path, ref)
    assert str(installed_path(source, BASE, HOME)) == f"/agent/git/file/{path}"
    assert not needs_network(text)


@pytest.mark.parametrize(
    "text",
    [
        *[
            "git:file:///srv/../x",
            "git:file:///srv/%2e%2e/x",
            "git:file:////srv/x",
            "git:file:///srv/x@--upload-pack=y",
        ],
        *["git:file://host/srv/x", "git:ext::sh -c x", "git:/srv/x", "git:file:///srv/x@", "git:--x/file:///srv/y"],
    ],
)
def test_a_file_url_cannot_leave_its_folder_or_be_an_option(text: str) -> None:
    assert parse_source(text) == LocalSource(text)


def test_what_is_on_this_machine_needs_no_network() -> None:
    wanted = {text: needs_network(text) for text in ("pypi:a", "npm:a", "git:h.x/u/r", "dist:a", "./a", "a.whl", "")}
    assert [text for text, needs in wanted.items() if needs] == ["pypi:a", "npm:a", "git:h.x/u/r"]


@pytest.mark.parametrize(
    "text", ["pypi:", "pypi:../x", "pypi:a/b", "pypi:-r x", "pypi:a @ https://h.x/a.whl", "npm:", "npm:@"]
)
def test_a_bad_name_is_refused(text: str) -> None:
    with pytest.raises(PackageError, match="names no"):
        parse_source(text)


@pytest.mark.parametrize("name", ["..", "@s/..", "a/b/c", "../x", "/x"])
def test_an_npm_name_cannot_leave_its_folder(name: str) -> None:
    with pytest.raises(PackageError, match="names no npm package"):
        installed_path(NpmSource(name), BASE, HOME)


def test_a_package_is_kept_below_the_settings_folder() -> None:
    places = {
        text: str(installed_path(parse_source(text), BASE, HOME)) for text in ("pypi:A_b==1", "npm:@s/a", "git:h.x/u/r")
    }
    assert places == {
        "pypi:A_b==1": "/agent/pypi/a-b",
        "npm:@s/a": "/agent/npm/node_modules/@s/a",
        "git:h.x/u/r": "/agent/git/h.x/u/r",
    }


def test_two_addresses_of_one_package_are_one() -> None:
    def same(*texts: str) -> bool:
        return len({identity(parse_source(text), BASE, HOME) for text in texts}) == 1

    assert same("git:h.x/u/r@v1", "https://h.x/u/r.git", "git:git@h.x:u/r")
    assert same("pypi:a-b", "pypi:A_B==2")
    assert same("../pk", "/pk/", "file:///pk")
    assert same("~/pk", "/home/me/pk")
    assert not same("pypi:a", "npm:a")
