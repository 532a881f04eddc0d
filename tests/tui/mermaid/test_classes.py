from __future__ import annotations

import pytest

from tests.tui.mermaid.drawn import drawn, shows


def test_classes_have_members_and_relations() -> None:
    source = """
        classDiagram
            Animal <|-- Duck
            Animal "1" *-- "many" Leg : has
            class Animal {
                <<abstract>>
                +int age
                +List~String~ names
                +mate() bool
            }
            Duck : +swim()
            Duck ..> Water : needs
            note for Leg "two or four"
    """
    assert shows(
        source,
        """
          ┌─────────────────────┐
          │     «abstract»      │
          │       Animal        │
          ├─────────────────────┤
          │ +int age            │
          │ +List<String> names │
          ├─────────────────────┤
          │ +mate() bool        │
          └─────────────────────┘
                △         ◆
                │         └─┐
        ┌───────┴─┐         │
        │  Duck   │         1
        ├─────────┤        has
        │ +swim() │       many
        └────┬────┘         │
             ┆              │
             ┆           ┌──┴──┐
           needs         │ Leg │
             ┆           └──┬──┘
             ▼              ┆
         ┌───────┐   ┌──────┴──────┐
         │ Water │   │ two or four │
         └───────┘   └─────────────┘
        """,
    )


def test_the_words_at_the_ends_stand_at_their_ends_in_every_direction() -> None:
    assert shows(
        'classDiagram\ndirection BT\nA "1" --> "n" B',
        """
        ┌───┐
        │ B │
        └───┘
          ▲
          n
          1
          │
        ┌─┴─┐
        │ A │
        └───┘
        """,
    )
    assert shows(
        'classDiagram\ndirection RL\nA "1" o--> "n" B : has',
        """
        ┌───┐               ┌───┐
        │ B │◀── n has 1 ──◇│ A │
        └───┘               └───┘
        """,
    )


@pytest.mark.parametrize("text", ["A <|--", "class A {", "}", "A <=> B"])
def test_what_is_not_understood_is_not_drawn(text: str) -> None:
    assert drawn("classDiagram\n" + text) is None
