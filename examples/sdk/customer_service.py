"""A customer-service agent: tools over a database, none over files, and a risk check of its own.

    python customer_service.py PROVIDER/MODEL "Where is order 7? I want my money back."

A refund above the limit is refused by a hook, whatever the model thinks of it; a failing check refuses too.
"""

import asyncio
import sqlite3
import sys
from pathlib import Path
from typing import Annotated

from piolet.agent import tool_from_function
from piolet.harness import (
    TOOL_CALL,
    AgentHarness,
    Hooks,
    MemoryEnvironment,
    PromptParts,
    Session,
    ToolCallEvent,
    ToolCallResult,
)
from piolet.llm import Models

REFUND_LIMIT = 100
PROMPT = "You are the customer service of a bookshop. Be friendly and brief. Look orders up before you speak of them."


class Shop:
    """The database, and what the agent may do with it."""

    def __init__(self) -> None:
        self.database = sqlite3.connect(":memory:", check_same_thread=False)
        self.database.execute(
            "create table orders (id integer primary key, state text, price integer, refunded integer)"
        )
        self.database.executemany(
            "insert into orders values (?, ?, ?, 0)", [(7, "shipped on Monday", 30), (8, "lost by the carrier", 400)]
        )

    def find_order(self, number: Annotated[int, "order number"]) -> dict[str, object]:
        """Look up an order."""
        row = self.database.execute("select state, price, refunded from orders where id = ?", (number,)).fetchone()
        if row is None:
            raise ValueError(f"there is no order {number}")
        return {"order": number, "state": row[0], "price": row[1], "refunded": row[2]}

    def refund(self, number: Annotated[int, "order number"], amount: Annotated[int, "in francs"]) -> str:
        """Pay back part of an order."""
        self.database.execute("update orders set refunded = refunded + ? where id = ?", (amount, number))
        return f"{amount} francs paid back for order {number}"


def risk_check(event: ToolCallEvent) -> ToolCallResult | None:
    if event.tool_name == "refund" and event.input["amount"] > REFUND_LIMIT:
        return ToolCallResult(block=True, reason=f"refunds above {REFUND_LIMIT} francs need a person")
    return None


async def main(model_name: str, question: str) -> None:
    models = Models.open(Path.home() / ".pi" / "agent")
    model = models.find(*model_name.split("/", 1))
    assert model is not None
    shop, hooks = Shop(), Hooks()
    hooks.on(TOOL_CALL, risk_check)
    harness = AgentHarness(
        models=models,
        model=model,
        environment=MemoryEnvironment(),
        session=Session.in_memory("/"),
        tools=[tool_from_function(shop.find_order), tool_from_function(shop.refund)],
        prompt=PromptParts(base=PROMPT),
        hooks=hooks,
    )
    print((await harness.prompt(question)).text)
    for number, refunded in shop.database.execute("select id, refunded from orders where refunded > 0"):
        print(f"(refunded {refunded} francs of order {number})")
    await harness.close()
    await models.aclose()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
