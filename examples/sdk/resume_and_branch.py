"""A session is a tree in a file: open it again, go back to an earlier question, ask another one. Nothing is lost.

python resume_and_branch.py PROVIDER/MODEL SESSIONS_FOLDER
"""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

from piolet.harness import AgentHarness, LocalEnvironment, MessageEntry, Session, TreeNode
from piolet.llm import Models, UserMessage


async def main(model_name: str, folder: str) -> None:
    models = Models.open(Path.home() / ".pi" / "agent")
    model = models.find(*model_name.split("/", 1))
    assert model is not None
    environment = LocalEnvironment(str(Path.cwd()))

    first = AgentHarness(
        models=models, model=model, environment=environment, session=Session.create(environment.cwd, folder)
    )
    await first.prompt("Name a colour.")
    await first.prompt("And an animal of that colour.")
    path = first.session.path
    assert path is not None
    await first.close()

    again = AgentHarness(models=models, model=model, environment=environment, session=Session.open(path))
    questions = [
        entry
        for entry in again.session.path_to()
        if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage)
    ]
    await again.navigate_tree(questions[1].id)  # to before the second question
    await again.prompt("And a fruit of that colour.")
    await again.close()

    with Session.open(path, read_only=True) as session:
        branches = [node for root in session.tree() for node in _all(root) if len(node.children) > 1]
        print(f"{len(session.entries)} entries, {len(branches)} branching point, in {path}")
    await models.aclose()


def _all(node: TreeNode) -> Iterator[TreeNode]:
    yield node
    for child in node.children:
        yield from _all(child)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
