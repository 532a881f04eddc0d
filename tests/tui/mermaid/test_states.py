from __future__ import annotations

import pytest

from tests.tui.mermaid.drawn import drawn, shows


def test_states_have_a_start_an_end_and_notes() -> None:
    source = """
        stateDiagram-v2
            [*] --> Idle
            Idle --> Running : start
            Running --> Idle : stop
            Running --> Running : tick
            Running --> [*]
            note right of Idle : waits
    """
    assert shows(
        source,
        """
                     ●
                     ▼
                 ╭──────╮
                 │ Idle │
                 ╰─┬─┬──╯
                   ┆ │ ▲
            ┌┄┄┄┄┄┄┘ └┐│
            ┆         │└──────┐
        ┌───┴───┐     │       │
        │ waits │   start   stop
        └───────┘     │       │
                      └─┐   ┌─┘
                        ▼   │
                     ╭──────┴──╮
                     │ Running ├─┐ tick
                     │         │◀┘
                     ╰────┬────╯
                          ▼
                          ◉
        """,
    )


def test_states_hold_states_and_fork() -> None:
    source = """
        stateDiagram
            direction LR
            state "A long name" as A
            state split <<fork>>
            A --> split
            state Inner {
                [*] --> x
                x --> [*]
            }
            split --> Inner
            split --> B
            B: done
            state ask <<choice>>
            B --> ask
    """
    assert shows(
        source,
        """
                                   ┌ Inner ────────┐
                                   │     ╭───╮     │
                                ┌─▶│ ●──▶│ x ├──▶◉ │
        ╭─────────────╮         │  │     ╰───╯     │
        │ A long name ├──▶━━━━━─┤  └───────────────┘
        ╰─────────────╯         │
                                │      ╭──────╮
                                └─────▶│ done ├───────▶◇
                                       ╰──────╯
        """,
    )


def test_a_note_may_have_several_lines() -> None:
    assert drawn("stateDiagram\na\nnote left of a\none\ntwo\nend note") == drawn(
        "stateDiagram\na\nnote left of a: one<br>two"
    )


@pytest.mark.parametrize("text", ["a --> ", "state x {\na", "}", "state x {\na\n--\nb\n}"])
def test_what_is_not_understood_is_not_drawn(text: str) -> None:
    assert drawn("stateDiagram-v2\n" + text) is None
