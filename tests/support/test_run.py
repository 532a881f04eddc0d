from __future__ import annotations

import json
import sys

from tests.support.run import Place

PYTHON = (sys.executable, "-c")


def test_a_run_sees_its_own_home_directory_and_nothing_of_ours(place: Place, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of the developer")
    code = "import os; print(dict(os.environ), os.getcwd())"
    finished = place.run(code, command=PYTHON, env={"EXTRA": "1"})
    assert "of the developer" not in finished.stdout
    assert f"'HOME': '{place.home}'" in finished.stdout
    assert "'PI_OFFLINE': '1'" in finished.stdout
    assert "'EXTRA': '1'" in finished.stdout
    assert finished.stdout.endswith(f"{place.cwd}\n")


def test_a_run_gets_stdin_and_gives_back_output_records_and_exit_code(place: Place) -> None:
    code = "import sys; print('{\"a\": 1}'); print(repr(sys.stdin.read()), file=sys.stderr); sys.exit(7)"
    finished = place.run(code, command=PYTHON, stdin="in\n")
    assert finished.records == [{"a": 1}]
    assert (finished.stderr, finished.exit) == ("'in\\n'\n", 7)


def test_the_standard_models_file_names_the_server(place: Place) -> None:
    place.write_models("http://127.0.0.1:1", api="anthropic-messages")
    stub = json.loads((place.home / ".pi/agent/models.json").read_text())["providers"]["stub"]
    assert (stub["api"], stub["apiKey"], stub["baseUrl"]) == ("anthropic-messages", "k", "http://127.0.0.1:1/v1")
    assert [model["id"] for model in stub["models"]] == ["m1", "m2-think", "m3-small"]
