from __future__ import annotations

import pytest

from tests.tui.mermaid.drawn import drawn, shows


def test_messages_pass_between_participants() -> None:
    source = """
        sequenceDiagram
            participant U as User
            actor P as piolet
            U->>+P: prompt
            P->>P: think
            P-->>-U: answer
            P-xU: lost
            U->P: plain
            P-)U: later
            U<<->>P: both
    """
    assert shows(
        source,
        """
        ┌──────┐ ┌────────┐
        │ User │ │ piolet │
        └───┬──┘ └────┬───┘
            │ prompt  │
            ├────────▶│
            │         ├──┐ think
            │         │◀─┘
            │ answer  │
            │◀┄┄┄┄┄┄┄┄┤
            │  lost   │
            │×────────┤
            │  plain  │
            ├─────────┤
            │  later  │
            │❮────────┤
            │  both   │
            │◀───────▶│
        ┌───┴──┐ ┌────┴───┐
        │ User │ │ piolet │
        └──────┘ └────────┘
        """,
    )


def test_frames_are_drawn_around_what_they_hold() -> None:
    source = """
        sequenceDiagram
            loop every turn
                A->>B: ask
                alt known
                    B-->>A: answer
                else
                    B->>C: pass on
                end
            end
            rect rgb(1, 2, 3)
                C->>A: coloured
            end
    """
    assert shows(
        source,
        """
            ┌───┐     ┌───┐      ┌───┐
            │ A │     │ B │      │ C │
            └─┬─┘     └─┬─┘      └─┬─┘
        ┌ loop every turn ─────────┼─────┐
        │     │   ask   │          │     │
        │     ├────────▶│          │     │
        │ ┌ alt known ──┼──────────┼───┐ │
        │ │   │ answer  │          │   │ │
        │ │   │◀┄┄┄┄┄┄┄┄┤          │   │ │
        │ ├ else ───────┼──────────┼───┤ │
        │ │   │         │ pass on  │   │ │
        │ │   │         ├─────────▶│   │ │
        │ └───┼─────────┼──────────┼───┘ │
        └─────┼─────────┼──────────┼─────┘
              │      coloured      │
              │◀────────┼──────────┤
            ┌─┴─┐     ┌─┴─┐      ┌─┴─┐
            │ A │     │ B │      │ C │
            └───┘     └───┘      └───┘
        """,
    )


def test_notes_stand_over_and_beside_participants() -> None:
    source = """
        sequenceDiagram
            autonumber
            A->>B: 你好
            Note over A,B: over both of them
            note right of B: two<br/>rows
            Note left of A: left
            B->>C: bye
    """
    assert shows(
        source,
        """
               ┌───┐           ┌───┐      ┌───┐
               │ A │           │ B │      │ C │
               └─┬─┘           └─┬─┘      └─┬─┘
                 │    1. 你好    │          │
                 ├──────────────▶│          │
               ┌─┴───────────────┴─┐        │
               │ over both of them │        │
               └─┬───────────────┬─┘        │
                 │               │ ┌──────┐ │
                 │               │ │ two  │ │
                 │               │ │ rows │ │
                 │               │ └──────┘ │
        ┌──────┐ │               │          │
        │ left │ │               │          │
        └──────┘ │               │          │
                 │               │  2. bye  │
                 │               ├─────────▶│
               ┌─┴─┐           ┌─┴─┐      ┌─┴─┐
               │ A │           │ B │      │ C │
               └───┘           └───┘      └───┘
        """,
    )


def test_long_messages_wrap_until_the_drawing_fits() -> None:
    assert shows(
        "sequenceDiagram\nA->>B: a message of many words for one row",
        """
        ┌───┐             ┌───┐
        │ A │             │ B │
        └─┬─┘             └─┬─┘
          │  a message of   │
          │ many words for  │
          │     one row     │
          ├────────────────▶│
        ┌─┴─┐             ┌─┴─┐
        │ A │             │ B │
        └───┘             └───┘
        """,
        limit=30,
    )
    assert drawn("sequenceDiagram\nA->>B: a message of many words for one row", 20) is None


@pytest.mark.parametrize(
    "text", ["", "A->>", "A=>B: x", "loop x\nA->>B: y", "end", "else\nA->>B: x", "A->>B: x\nwhat is this"]
)
def test_what_is_not_understood_is_not_drawn(text: str) -> None:
    assert drawn("sequenceDiagram\n" + text) is None
