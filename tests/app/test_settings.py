from __future__ import annotations

import pytest

from piolet.app.settings import Settings, SettingsError, merge_settings, select_tools


def test_absent_keys_have_their_defaults() -> None:
    settings = Settings()
    assert settings.steering_mode == "one-at-a-time"
    assert settings.default_tools == ["read", "bash", "edit", "write"]
    assert settings.retry.max_retries == 3
    assert settings.tui_mode == "fullscreen"


def test_the_project_has_no_say_in_keys_of_the_user() -> None:
    project = {
        "piolet": {"environment": "local", "compactionModel": "p/m", "catalogUrl": "https://evil"},
        "httpProxy": "http://evil",
        "defaultProjectTrust": "always",
        "cacheWarming": "off",
        "selfUpdateCommand": ["sh"],
    }
    settings = Settings({"piolet": {"environment": "docker"}}, project)
    assert settings.environment == "docker"
    assert settings.http_proxy is None
    assert settings.catalog_url is None
    assert settings.default_project_trust == "ask"
    assert settings.cache_warming == "idle"
    assert settings.self_update_command is None
    assert settings.compaction_model == "p/m"


@pytest.mark.parametrize(
    ("values", "attribute", "expected"),
    [
        ({"hideThinkingBlock": "yes"}, "hide_thinking_block", False),
        ({"editorPaddingX": True}, "editor_padding_x", 0),
        ({"terminal": 3}, "show_images", True),
        ({"enabledModels": ["a", 1]}, "enabled_models", ["a"]),
        ({"quietStartup": "header"}, "quiet_startup", "header"),
        ({"quietStartup": "loud"}, "quiet_startup", False),
        ({"tuiMode": "boom"}, "tui_mode", "fullscreen"),
        ({"fullscreenWheelScrollLines": 500}, "fullscreen_wheel_scroll_lines", 100),
        ({"fullscreenWheelScrollLines": "auto"}, "fullscreen_wheel_scroll_lines", None),
        ({"terminal": {"imageWidthCells": 0}}, "image_width_cells", 1),
        ({"terminal": {"images": False}}, "terminal_images", False),
        ({"httpIdleTimeoutMs": " 12.7 "}, "http_idle_timeout_ms", 12),
        ({"editorPaddingX": float("inf")}, "editor_padding_x", 0),
        ({"modelThinkingLevels": {"a/b": "high", "c/d": 3}}, "model_thinking_levels", {"a/b": "high"}),
    ],
)
def test_values_of_the_wrong_kind_are_repaired(values: dict[str, object], attribute: str, expected: object) -> None:
    assert getattr(Settings(values), attribute) == expected


@pytest.mark.parametrize(
    ("values", "read"),
    [
        ({"httpIdleTimeoutMs": -1}, lambda s: s.http_idle_timeout_ms),
        ({"websocketConnectTimeoutMs": "soon"}, lambda s: s.websocket_connect_timeout_ms),
        ({"compaction": {"reserveTokens": -5}}, lambda s: s.compaction),
        ({"compaction": {"reserveTokens": float("inf")}}, lambda s: s.compaction),
        ({"sessionDir": "a\0b"}, lambda s: s.session_dir),
        ({"sessionDir": "\ud800"}, lambda s: s.session_dir),
        ({"piolet": {"environment": ["sandbox"]}}, lambda s: s.environment),
        ({"compaction": {"modelOverrides": {"a/b": {"keepRecentTokens": 1.5}}}}, lambda s: s.compaction_for("a/b")),
    ],
)
def test_values_that_must_not_be_guessed_are_refused_by_name(values: dict[str, object], read: object) -> None:
    with pytest.raises(
        SettingsError, match=r"setting (httpIdle|websocketConnect|compaction|sessionDir|piolet.environment)"
    ):
        read(Settings(values))  # type: ignore[operator]


def test_compaction_of_one_model_overrides_the_rest() -> None:
    settings = Settings(
        {"compaction": {"keepRecentTokens": 7, "modelOverrides": {"openai/gpt-4.1": {"reserveTokens": 1}}}}
    )
    assert settings.compaction_for("openai/gpt-4.1").reserve_tokens == 1
    assert settings.compaction_for("openai/gpt-4.1").keep_recent_tokens == 7
    assert settings.compaction_for("x/y").reserve_tokens == 16384


def test_paths_of_the_user_start_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert Settings({"sessionDir": "~/s"}).session_dir == "/home/me/s"


def test_the_view_follows_new_values() -> None:
    settings = Settings({"theme": "dark"})
    settings.replace({"theme": "light"}, {})
    assert settings.theme == "light"


@pytest.mark.parametrize(
    ("user", "project", "expected"),
    [
        (["read"], ["+grep"], ["read", "+grep"]),
        (["read"], ["bash"], ["bash"]),
        (["read"], ["+grep", "bash"], ["+grep", "bash"]),
        (None, ["-bash"], ["-bash"]),
    ],
)
def test_a_project_that_only_modifies_tools_is_appended(
    user: list[str] | None, project: list[str], expected: list[str]
) -> None:
    ours = {} if user is None else {"defaultTools": user}
    assert merge_settings(ours, {"defaultTools": project})["defaultTools"] == expected


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        (None, ["read", "bash", "edit", "write"]),
        ([], []),
        (["grep"], ["grep"]),
        (["-bash", "+ls", "+"], ["read", "edit", "write", "ls"]),
        (["+ls", "bash"], ["bash", "ls"]),
        (["read", "+grep", "-read"], ["grep"]),
    ],
)
def test_tools_are_chosen_by_name_and_modified(listed: list[str] | None, expected: list[str]) -> None:
    assert select_tools(listed) == expected
