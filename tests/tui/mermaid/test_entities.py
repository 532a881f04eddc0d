from __future__ import annotations

import pytest

from tests.tui.mermaid.drawn import drawn, shows


def test_entities_have_attributes_and_numbers_of_each_other() -> None:
    source = """
        erDiagram
            CUSTOMER ||--o{ ORDER : places
            CUSTOMER }|..o| "Delivery Address" : uses
            CUSTOMER {
                string name
                int id PK "the key"
            }
            p[Person] {
                string name
            }
    """
    assert shows(
        source,
        """
          ┌─────────────────────┐   ┌─────────────┐
          │      CUSTOMER       │   │   Person    │
          ├─────────────────────┤   ├─────────────┤
          │ string name         │   │ string name │
          │ int id PK "the key" │   └─────────────┘
          └─────┬─────────┬─────┘
            ┌───┘         └┄┄┄┐
            1               1..*
         places             uses
          0..*              0..1
            │                 ┆
        ┌───┴───┐   ┌─────────┴────────┐
        │ ORDER │   │ Delivery Address │
        └───────┘   └──────────────────┘
        """,
    )


@pytest.mark.parametrize("text", ["A ||--", "A {", "A one to many B", "}"])
def test_what_is_not_understood_is_not_drawn(text: str) -> None:
    assert drawn("erDiagram\n" + text) is None
