from __future__ import annotations

import pytest

from tests.tui.mermaid.drawn import drawn, shows


def test_a_decision_has_labelled_ways_and_a_way_back() -> None:
    source = """
        flowchart TD
            A[Start] --> B{Is it working?}
            B -->|Yes| C[Great]
            B -->|No| D[Debug]
            D --> B
            C --> E([Done])
    """
    assert shows(
        source,
        """
                ┌───────┐
                │ Start │
                └───┬───┘
                    ▼
           ╱────────────────╲
           │ Is it working? │
           ╲────┬───────────╱
                │       ▲
            ┌───┴─────┐ └─┐
           Yes       No   │
            ▼         ▼   │
        ┌───────┐   ┌─────┴─┐
        │ Great │   │ Debug │
        └───┬───┘   └───────┘
            ▼
        ╭──────╮
        │ Done │
        ╰──────╯
        """,
    )


def test_subgraphs_are_boxes_that_edges_cross() -> None:
    source = """
        graph LR
            subgraph client [Client side]
              A[Browser] & B[CLI] --> C(API)
            end
            C -.-> D[(Store)]
            C == cached ==> E((Cache))
    """
    assert shows(
        source,
        """
        ┌ Client side ──────────────┐
        │ ┌─────────┐               │
        │ │ Browser ├─┐  ╭─────╮    │    ╭───────╮
        │ └─────────┘ │  │ API ├┄┄┄┄┼┄┄┄▶│ Store │
        │             ├─▶│     ├━┓  │    ╰───────╯
        │   ┌─────┐   │  ╰─────╯ ┗━━┼━┓              ╭───────╮
        │   │ CLI ├───┘             │ ┗━━ cached ━━━▶│ Cache │
        │   └─────┘                 │                ╰───────╯
        └───────────────────────────┘
        """,
    )


def test_it_may_run_in_any_direction() -> None:
    assert shows(
        "graph BT\n A --> B",
        """
        ┌───┐
        │ B │
        └───┘
          ▲
        ┌─┴─┐
        │ A │
        └───┘
        """,
    )
    assert shows(
        "graph RL; A --> B; A --- C",
        """
        ┌───┐
        │ B │◀─┐
        └───┘  │ ┌───┐
               ├─┤ A │
        ┌───┐  │ └───┘
        │ C ├──┘
        └───┘
        """,
    )


def test_ends_and_strokes_are_drawn() -> None:
    assert shows(
        "graph LR\n A --o B --x C <--> D\n A2 -.-> B2 ==> C2 ~~~ D2\n D2 --> D2",
        """
        ┌───┐    ┌───┐    ┌───┐     ┌───┐
        │ A ├───○│ B ├───×│ C │◀───▶│ D │
        └───┘    └───┘    └───┘     └───┘

        ┌────┐   ┌────┐   ┌────┐    ┌────┐
        │ A2 ├┄┄▶│ B2 ├━━▶│ C2 │    │ D2 │
        └────┘   └────┘   └────┘    └┬───┘
                                     │  ▲
                                     └──┘
        """,
    )


def test_wide_characters_and_breaks_keep_the_frame() -> None:
    assert shows(
        'graph TD\n A[用户输入] --> B["a #quot;b#quot;<br/><b>c</b> 😀"]',
        """
        ┌──────────┐
        │ 用户输入 │
        └─────┬────┘
              ▼
          ┌───────┐
          │ a "b" │
          │ c 😀  │
          └───────┘
        """,
    )


def test_what_is_too_wide_sideways_runs_down() -> None:
    assert shows(
        "graph LR\n A[first] --> B[second]",
        """
         ┌───────┐
         │ first │
         └───┬───┘
             ▼
        ┌────────┐
        │ second │
        └────────┘
        """,
        limit=15,
    )


def test_long_texts_wrap_until_the_drawing_fits() -> None:
    source = "graph TD\n A[a text that is longer than its box]"
    assert shows(
        source,
        """
        ┌────────────────┐
        │ a text that is │
        │  longer than   │
        │    its box     │
        └────────────────┘
        """,
        limit=20,
    )
    assert drawn(source, 12) is None


@pytest.mark.parametrize(
    "text",
    [
        "A --> B",
        "A-->B",
        "A -- yes --> B",
        "A--yes-->B",
        'A["Text (with) [brackets]"] --> B',
        "A:::important --> B:::other",
        "A --> B; %% comment\n style A fill:#fff\n classDef x fill:#000\n class A x\n click A href",
        "A ---> B",
        "A-.->B",
        "a-b.c --> d_e",
        "A[/api/users] --> style[Style] --> class --> end1",
        "id1>flag] --> id2[/slanted/] --> id3[\\x\\] --> id4{{six}} --> id5(((twice)))",
    ],
)
def test_forms_of_the_language_are_understood(text: str) -> None:
    assert drawn("flowchart\n" + text)


@pytest.mark.parametrize(
    "text",
    [
        "A -->",
        "--> B",
        "A[open --> B",
        "A --> B)",
        "end",
        "subgraph x\nA --> x\nend",
        "A@{ shape: cloud }",
        "subgraph x",
    ],
)
def test_what_is_not_understood_is_not_drawn(text: str) -> None:
    assert drawn("flowchart TD\n" + text) is None
