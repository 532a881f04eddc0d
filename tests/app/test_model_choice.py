"""Which model a session starts with, and what is said when there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from piolet.app.model_choice import NoSuchModel, choose_start
from piolet.app.options import RuntimeOptions
from piolet.app.settings import Settings
from piolet.harness.session.context import build_context
from piolet.llm.models import Models


@pytest.mark.parametrize("asked", ["ollama/qwen3", "lm-studio/qwen3", "llama.cpp/qwen3", "vllm/qwen3"])
def test_a_local_server_that_does_not_answer_is_told_with_its_address(tmp_path: Path, asked: str) -> None:
    models = Models.open(tmp_path, environ={})
    with pytest.raises(NoSuchModel, match=rf'"{asked}" not found.* answers at http://127.0.0.1:\d+: start it'):
        choose_start(RuntimeOptions(cwd=tmp_path, model=asked), Settings(), models, build_context([]))
    with pytest.raises(NoSuchModel, match="--list-models"):
        choose_start(RuntimeOptions(cwd=tmp_path, model=asked, offline=True), Settings(), models, build_context([]))
