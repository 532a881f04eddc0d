from __future__ import annotations

from piolet.tui.ansi import AnsiWriter
from piolet.tui.blocks.frame import Frame
from piolet.tui.blocks.live import DrawnBlock
from piolet.tui.scrollback import Scrollback
from piolet.tui.spans import row
from piolet.tui.transcript import Transcript


def test_a_prompt_is_marked_once_however_often_it_is_drawn() -> None:
    transcript, scrollback = Transcript(Frame(80), 24), Scrollback()
    prompt = DrawnBlock(lambda frame: [row("why"), row("so")], is_prompt=True)
    for block in (DrawnBlock(lambda frame: [row("head")]), prompt, DrawnBlock(lambda frame: [row("answer")])):
        transcript.add(block)
    assert "\x1b" not in "".join(AnsiWriter({}).lines(scrollback.live(transcript)))
    lines = AnsiWriter({}).lines(scrollback.take(transcript, lambda block: True))
    assert lines == ["head", "", "\x1b]133;A\x1b\\why", "so\x1b]133;B\x1b\\\x1b]133;C\x1b\\", "", "answer"]
    transcript.resize(Frame(40), 24)
    assert scrollback.take(transcript, lambda block: True) == []
