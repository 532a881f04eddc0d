from __future__ import annotations

from tests.support import replies
from tests.support.peer import Peer
from tests.support.run import Place
from tests.support.server import ScriptedServer


def test_the_peer_asks_the_scripted_server(peer: Peer, place: Place) -> None:
    with ScriptedServer([replies.openai("Hello from here.")]) as server:
        place.write_models(server.url)
        finished = peer.run(place, "-p", "--no-session", "--model", "stub/m1", "hi")
    assert (finished.stdout, finished.exit) == ("Hello from here.\n", 0)
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer k"
    assert request.body["model"] == "m1"
