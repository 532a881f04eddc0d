from __future__ import annotations

from piolet.tui.blocks.frame import Frame
from piolet.tui.blocks.live import DrawnBlock, GrowingMarkdown
from piolet.tui.blocks.messages import assistant_lines
from piolet.tui.spans import PictureRow, Span, Style, line_text, picture_in, row
from piolet.tui.transcript import Place, Transcript
from piolet.tui.transcript_marks import Selection, mark_found


def test_every_place_of_a_query_is_marked_in_any_case() -> None:
    style = Style("searchMatchText", "searchMatchBg")
    line = (Span("one ON"), Span("E", Style(bold=True)), Span(" two"))
    assert mark_found(line, "One") == (
        Span("one", style),
        Span(" "),
        Span("ON", style),
        Span("E", style.over(Style(bold=True))),
        Span(" two"),
    )
    assert mark_found(line, "none") == line
    assert mark_found(line, "") == line
    assert mark_found(line, "two", current=True)[-1].style.reverse


def transcript() -> Transcript:
    view = Transcript(Frame(20), 10)
    for texts in (["first line", "second"], ["中文 third   "]):
        view.add(DrawnBlock(lambda frame, texts=texts: [row(text) for text in texts]))
    return view


def test_a_selection_covers_rows_and_blocks_in_either_direction() -> None:
    view = transcript()
    forward = Selection((Place(0, 0), 6), (Place(0, 0), 6)).moved(Place(1, 1), 3)
    backward = Selection((Place(1, 1), 3), (Place(0, 0), 6))
    assert forward.text(view) == backward.text(view) == "line\nsecond\n\n中文"
    assert Selection((Place(0, 0), 2), (Place(0, 0), 4)).text(view) == "rst"
    assert Selection((Place(1, 1), 0), (Place(1, 1), 99)).text(view) == "中文 third"
    assert Selection((Place(0, 0), 1), (Place(0, 0), 1)).empty


def test_selected_cells_are_marked() -> None:
    selection = Selection((Place(0, 0), 6), (Place(0, 1), 2))
    chosen = Style(bg="selectedBg")
    assert selection.mark(row("first line"), Place(0, 0)) == (Span("first "), Span("line", chosen))
    assert selection.mark(row("second"), Place(0, 1)) == (Span("sec", chosen), Span("ond"))
    assert selection.mark(row("other"), Place(1, 1)) == row("other")


def test_growing_markdown_ends_as_the_whole_text() -> None:
    frame = Frame(30)
    block = GrowingMarkdown()
    for piece in ("\n", "# Ti", "tle\n\n- a", "\n- b\n"):
        block.append(piece)
        block.lines(frame)
    assert [line_text(line) for line in block.lines(frame)] == [" Title", "", " - a", " - b"]
    wide = [line_text(line) for line in block.lines(Frame(60, padding=0))]
    assert wide == ["Title", "", "- a", "- b"]
    block.finish()
    assert block.lines(frame) == assistant_lines(block.source, frame)
    block.finish("better")
    assert block.source == "better"


def test_a_selection_goes_over_pictures_which_are_blank_and_stay_in_place() -> None:
    view = Transcript(Frame(20), 10)
    rows = [PictureRow(7, 4, 2, number) for number in range(2)]
    lines = [row("above"), *[(Span(" "), Span("    ", Style(picture=part))) for part in rows], row("below")]
    view.add(DrawnBlock(lambda frame: lines))
    selection = Selection((Place(0, 0), 0), (Place(0, 3), 4))
    assert selection.text(view) == "above\n\n\nbelow"
    marked = selection.mark(lines[1], Place(0, 1))
    assert picture_in(marked) == (1, rows[0])
    assert mark_found(lines[1], " ", current=True)[-1].style.picture == rows[0]
