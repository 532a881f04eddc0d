"""Source code as styled lines: Pygments' tokens named by the theme's ``syntax*`` tokens. Pygments is loaded on use."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from piolet.tui.spans import PLAIN, Line, Span, Style, row
from piolet.tui.text import expand_tabs, safe_for_terminal

if TYPE_CHECKING:
    from pygments.lexer import Lexer

MAX_CHARS = 200_000  # code beyond it is shown plain

# Token types by the longest prefix that is listed; None: the colour of plain code.
_TOKENS: dict[str, str | None] = {
    "Comment": "syntaxComment",
    "Comment.Preproc": "syntaxKeyword",
    "Keyword": "syntaxKeyword",
    "Keyword.Type": "syntaxType",
    "Keyword.Constant": "syntaxNumber",
    "Name.Attribute": "syntaxVariable",
    "Name.Builtin": "syntaxFunction",
    "Name.Builtin.Pseudo": "syntaxVariable",
    "Name.Class": "syntaxType",
    "Name.Constant": "syntaxVariable",
    "Name.Decorator": "syntaxFunction",
    "Name.Exception": "syntaxType",
    "Name.Function": "syntaxFunction",
    "Name.Tag": "syntaxKeyword",
    "Name.Variable": "syntaxVariable",
    "Literal.String": "syntaxString",
    "Literal.Number": "syntaxNumber",
    "Literal.Date": "syntaxNumber",
    "Operator": "syntaxOperator",
    "Operator.Word": "syntaxKeyword",
    "Punctuation": "syntaxPunctuation",
    "Generic.Inserted": "toolDiffAdded",
    "Generic.Deleted": "toolDiffRemoved",
    "Generic.Heading": "syntaxKeyword",
    "Generic.Subheading": "syntaxKeyword",
    "Generic.Prompt": "syntaxOperator",
}
# Names of fences and file endings that the lexers' own names do not cover, or would be slow to look up.
_ALIASES = {
    "cjs": "javascript", "h": "c", "hpp": "cpp", "htm": "html", "jsonc": "json", "jsonl": "json", "kt": "kotlin",
    "md": "markdown", "mjs": "javascript", "pl": "perl", "ps1": "powershell", "py": "python", "pyi": "python",
    "rb": "ruby", "rs": "rust", "svg": "xml", "yml": "yaml", "zsh": "bash", "toml": "toml", "tf": "terraform",
}  # fmt: skip
_FILES = {"dockerfile": "docker", "makefile": "make", "gnumakefile": "make", "cmakelists.txt": "cmake"}


def language_of(path: str) -> str:
    """Return the language of a file by its name, for `highlight`; "" if the name says nothing."""
    name = path.rpartition("/")[2].lower()
    if name in _FILES:
        return _FILES[name]
    stem, dot, ending = name.rpartition(".")
    return ending if dot and stem else ""


def highlight(code: str, language: str, base: Style = PLAIN) -> list[Line]:
    """Return the lines of `code` in the colours of `language`; in `base` alone if we do not know it."""
    code = expand_tabs(safe_for_terminal(code))
    lexer = _lexer(language.lower()) if len(code) <= MAX_CHARS else None
    if lexer is None or not code:
        return [row(line, base) for line in code.split("\n")]
    lines: list[Line] = []
    spans: list[Span] = []
    for kind, value in lexer.get_tokens(code):
        style = _style(str(kind), base)
        first, *others = value.split("\n")
        if first:
            spans.append(Span(first, style))
        for piece in others:
            lines.append(tuple(spans))
            spans = [Span(piece, style)] if piece else []
    if code.endswith("\n"):  # else the lexer has added the last line feed
        lines.append(())
    return lines


class GrowingCode:
    """Highlights code that arrives line by line at a cost that is linear in its length.

    A new line is coloured by itself at first; all of it anew each time that it has doubled, and when `finish` is
    called: only then what spans lines (a long string) is certain to be right.
    """

    def __init__(self, language: str, base: Style = PLAIN) -> None:
        self._language, self._base = language, base
        self._source: list[str] = []
        self._lines: list[Line] = []
        self._exact = 4

    @property
    def source(self) -> Sequence[str]:
        """What was added."""
        return self._source

    @property
    def lines(self) -> list[Line]:
        """The lines so far; do not change the list."""
        return self._lines

    def add(self, line: str) -> None:
        """Take in the next complete line."""
        self._source.append(line)
        if len(self._source) >= 2 * self._exact:
            self.finish()
        else:
            self._lines.append(highlight(line, self._language, self._base)[0])

    def finish(self) -> None:
        """Colour all lines together."""
        self._exact = max(self._exact, len(self._source))
        self._lines = highlight("\n".join(self._source), self._language, self._base) if self._source else []


@lru_cache(1024)
def _style(kind: str, base: Style) -> Style:
    name = kind.removeprefix("Token.")
    while name and name not in _TOKENS:
        name = name.rpartition(".")[0]
    token = _TOKENS.get(name)
    return base if token is None else Style(fg=token).over(base)


@lru_cache(64)
def _lexer(language: str) -> Lexer | None:
    if not language:
        return None
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(_ALIASES.get(language, language), stripnl=False)
    except ClassNotFound:
        return None
