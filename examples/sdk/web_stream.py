"""An agent behind a web page: server-sent events while it answers (needs starlette and uvicorn).

    python web_stream.py PROVIDER/MODEL 8000        then open http://127.0.0.1:8000/

When the reader goes away, the run is aborted and the session stays whole.
"""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, StreamingResponse
from starlette.routing import Route

from piolet.app.wire import to_wire
from piolet.base.json import dumps
from piolet.harness import AgentHarness, MemoryEnvironment, Session
from piolet.llm import Models

PAGE = """<!doctype html><meta charset="utf-8"><title>piolet</title>
<form id="form"><input id="question" autofocus placeholder="Ask"><button>Send</button></form><pre id="answer"></pre>
<script>
document.getElementById("form").onsubmit = (submit) => {
  submit.preventDefault();
  const answer = document.getElementById("answer");
  answer.textContent = "";
  const events = new EventSource("/ask?q=" + encodeURIComponent(document.getElementById("question").value));
  events.onmessage = ({data}) => {
    const event = JSON.parse(data);
    const update = event.assistantMessageEvent;
    if (update && update.type === "text_delta") answer.textContent += update.delta;
    if (event.type === "agent_settled") events.close();
  };
};
</script>"""


def application(model_name: str) -> Starlette:
    models = Models.open(Path.home() / ".pi" / "agent")
    model = models.find(*model_name.split("/", 1))
    assert model is not None

    async def events(question: str) -> AsyncIterator[str]:
        harness = AgentHarness(
            models=models, model=model, environment=MemoryEnvironment(), session=Session.in_memory("/")
        )
        try:
            async for event in harness.stream(question):
                record = to_wire(event)
                if record is not None:
                    yield f"data: {dumps(record)}\n\n"
        finally:
            await harness.close()

    async def page(request: Request) -> HTMLResponse:
        return HTMLResponse(PAGE)

    async def ask(request: Request) -> StreamingResponse:
        return StreamingResponse(events(request.query_params["q"]), media_type="text/event-stream")

    return Starlette(routes=[Route("/", page), Route("/ask", ask)])


if __name__ == "__main__":
    import uvicorn

    uvicorn.run(application(sys.argv[1]), host="127.0.0.1", port=int(sys.argv[2]), log_level="warning")
