"""A customer-service agent: tools over a database, none over files, and a risk check of its own.

    python customer_service.py PROVIDER/MODEL "Where is order 7? I want my money back."

A refund below 1 franc, or one that brings the sum above the limit or the price, is refused by a hook, whatever the
model thinks of it; a failing check refuses too.
"""

import asyncio
import sqlite3
import sys
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

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

    def find_order(self, number: Annotated[int, "order number"]) -> dict[str, Any]:
        """Look up an order."""
        row = self.database.execute("select state, price, refunded from orders where id = ?", (number,)).fetchone()
        if row is None:
            raise ValueError(f"there is no order {number}")
        return {"order": number, "state": row[0], "price": row[1], "refunded": row[2]}

    def refund(self, number: Annotated[int, "order number"], amount: Annotated[int, "in francs", Meta(ge=1)]) -> str:
        """Pay back part of an order."""
        self.database.execute("update orders set refunded = refunded + ? where id = ?", (amount, number))
        return f"{amount} francs paid back for order {number}"

    def risk_check(self, event: ToolCallEvent) -> ToolCallResult | None:
        """The rules of the house, for every call of a tool."""
        if event.tool_name != "refund":
            return None
        order, amount = self.find_order(event.input["number"]), event.input["amount"]
        limit = min(REFUND_LIMIT, order["price"])
        if amount < 1 or amount + order["refunded"] > limit:
            return ToolCallResult(block=True, reason=f"refunds above {limit} francs in all need a person")
        return None


async def main(model_name: str, question: str) -> None:
    models = Models.open(Path.home() / ".pi" / "agent")
    model = models.find(*model_name.split("/", 1))
    assert model is not None
    shop, hooks = Shop(), Hooks()
    hooks.on(TOOL_CALL, shop.risk_check)
    harness = AgentHarness(
        models=models,
        model=model,
        environment=MemoryEnvironment(),
        session=Session.in_memory("/"),
        # One refund after the other, even if the model asks for several at once.
        tools=[tool_from_function(shop.find_order), tool_from_function(shop.refund, execution_mode="sequential")],
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
