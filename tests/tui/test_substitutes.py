from __future__ import annotations

import pytest

from piolet.tui.substitutes import SUBSTITUTES
from piolet.tui.text import width


@pytest.mark.parametrize(
    ("text", "encoding", "shown"),
    [
        ("┌─┬─┐│├┃", "ascii", "+-+-+|+|"),
        ("↑1.2k ↓5 • é ñ Å … “x” ⠋ ✓", "ascii", "^1.2k v5 * e n A . \"x\" * v"),
        ("你好 👍 ﬁ ☃", "ascii", "???? ?? f ?"),
        ("é ─ 你", "latin-1", "é - ??"),
    ],
)  # fmt: skip
def test_what_an_encoding_lacks_is_shown_as_something_like_it_in_as_many_cells(
    text: str, encoding: str, shown: str
) -> None:
    assert text.encode(encoding, SUBSTITUTES).decode(encoding) == shown
    assert width(shown) == width(text)
