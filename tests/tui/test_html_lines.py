from __future__ import annotations

from piolet.tui.html_lines import lines_html
from piolet.tui.spans import Span, Style, row


def test_styles_become_css_and_tokens_variables() -> None:
    line = (Span("a "), Span("b", Style("accent", "toolSuccessBg", bold=True, underline=True, strike=True)))
    assert lines_html([line, row("c", Style("#010203", italic=True))]) == (
        'a <span style="color:var(--accent);background:var(--toolSuccessBg);font-weight:bold;'
        'text-decoration:underline line-through">b</span>\n'
        '<span style="color:#010203;font-style:italic">c</span>'
    )


def test_reverse_video_swaps_the_colours() -> None:
    assert lines_html([row("x", Style("toolDiffAdded", reverse=True))]) == (
        '<span style="color:var(--pageBg);background:var(--toolDiffAdded)">x</span>'
    )


def test_text_and_links_cannot_become_markup() -> None:
    assert lines_html([row("<b>&\"'", Style())]) == "&lt;b&gt;&amp;&quot;&#x27;"
    assert lines_html([row("x", Style(link='https://a/"><b>'))]) == (
        '<a href="https://a/&quot;&gt;&lt;b&gt;" rel="noopener noreferrer">x</a>'
    )
    assert lines_html([row("x", Style(link="javascript:alert(1)"))]) == "x"


def test_the_terminals_default_colour_is_that_of_the_page() -> None:
    assert lines_html([row("x", Style("", "", bold=True))]) == '<span style="font-weight:bold">x</span>'


def test_palette_indices_are_their_usual_colours() -> None:
    assert lines_html([row("x", Style(196))]) == '<span style="color:#ff0000">x</span>'
