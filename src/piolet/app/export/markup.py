"""HTML out of foreign text: escaped, without control sequences and secrets; markdown, styled lines, images."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING

from piolet.app.secrets import Secrets
from piolet.llm.messages import ImageContent
from piolet.tui.spans import Line, Span
from piolet.tui.text import safe_for_terminal
from piolet.tui.theme import BACKGROUND_TOKENS, TOKENS

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_SAFE_LINK = re.compile(r"(?:https?://|mailto:|#)", re.IGNORECASE)


class Markup:
    """Makes the pieces of a page. Everything foreign goes through `text`."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets

    def clean(self, text: str) -> str:
        """Return `text` as it may be shown, not yet escaped."""
        return self._secrets.mask(safe_for_terminal(text))

    def text(self, text: str) -> str:
        """Return `text` for the content of an element or a quoted attribute."""
        return escape(self.clean(text), quote=True)

    def preformatted(self, text: str, kind: str = "") -> str:
        return f'<pre class="{kind}">{self.text(text)}</pre>' if text else ""

    def markdown(self, text: str) -> str:
        """Return markdown as HTML. Raw HTML in it is text, pictures are links, other links than to the web are text."""
        return f'<div class="markdown">{self._parser.render(self.clean(text))}</div>' if text.strip() else ""

    def lines(self, lines: Iterable[Line]) -> str:
        """Return styled lines as preformatted text."""
        shown = "\n".join("".join(map(self._span, line)) for line in lines)
        return f"<pre>{shown}</pre>" if shown else ""

    def image(self, image: ImageContent) -> str:
        """Return a picture that stands in the page itself; a line where it is none."""
        try:
            data = base64.b64decode(image.data, validate=True)
        except ValueError:
            data = b""
        if not data or image.mime_type not in IMAGE_TYPES:
            return f'<p class="note">[image {self.text(image.mime_type)} that cannot be shown]</p>'
        return f'<img alt="" src="data:{image.mime_type};base64,{base64.b64encode(data).decode()}">'

    def _span(self, span: Span) -> str:
        text, style = self.text(span.text), span.style
        names = []
        if style.fg in TOKENS:
            names.append(f"fg-{style.fg}")
        if style.bg in BACKGROUND_TOKENS:
            names.append(f"bg-{style.bg}")
        names += [name for name in ("bold", "dim", "italic", "underline", "strike") if getattr(style, name)]
        return f'<span class="{" ".join(names)}">{text}</span>' if names else text

    @cached_property
    def _parser(self) -> MarkdownIt:
        from markdown_it import MarkdownIt

        parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")
        parser.validateLink = lambda url: _SAFE_LINK.match(url) is not None  # type: ignore[method-assign]
        return parser
