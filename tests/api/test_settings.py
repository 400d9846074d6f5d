"""Where a setting's value comes from, strongest last: defaults, settings.toml, environment, command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import UserError
from engine.settings import Settings, load_settings


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


def write(workspace: Path, text: str) -> None:
    (workspace / "settings.toml").write_text(text, encoding="utf-8")


def test_without_anything_set_every_value_is_its_default(workspace):
    settings, origins = load_settings(workspace=workspace)
    assert settings.parallel_runs == 2
    assert settings.model == "offline"
    assert origins.pop("workspace") == "command line"
    assert set(origins.values()) == {"default"}
    assert set(origins) | {"workspace"} == set(Settings.model_fields)


def test_each_source_overrides_the_weaker_ones(workspace, monkeypatch):
    write(workspace, 'user = "file"\nqueue_size = 5\nparallel_runs = 3\nstep_seconds = 60\n')
    monkeypatch.setenv("BIODESK_USER", "environment")
    monkeypatch.setenv("BIODESK_PARALLEL_RUNS", "4")
    settings, origins = load_settings(workspace=workspace, user="line")
    assert (settings.user, origins["user"]) == ("line", "command line")
    assert (settings.parallel_runs, origins["parallel_runs"]) == (4, "environment")
    assert (settings.queue_size, origins["queue_size"]) == (5, "settings.toml")
    assert (settings.step_seconds, origins["step_seconds"]) == (60.0, "settings.toml")
    assert origins["sandbox"] == "default"


def test_options_that_were_not_given_do_not_hide_weaker_sources(workspace, monkeypatch):
    monkeypatch.setenv("BIODESK_USER", "environment")
    settings, origins = load_settings(workspace=str(workspace), user=None, model=None)
    assert (settings.user, origins["user"]) == ("environment", "environment")


def test_the_workspace_comes_from_the_environment_and_its_file_is_read(workspace, monkeypatch):
    write(workspace, "queue_size = 7\n")
    monkeypatch.setenv("BIODESK_WORKSPACE", str(workspace))
    settings, origins = load_settings()
    assert settings.workspace == workspace
    assert origins["workspace"] == "environment"
    assert settings.queue_size == 7


def test_a_relative_workspace_or_one_under_home_becomes_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load_settings(workspace="here")[0].workspace == tmp_path / "here"
    assert load_settings(workspace="~/there")[0].workspace == tmp_path / "there"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("queue_size = 0\n", "Setting 'queue_size' cannot be 0"),
        ('sandbox = "strong"\n', "Setting 'sandbox' cannot be 'strong'"),
        ('parallel_steps = "many"\n', "Setting 'parallel_steps' cannot be 'many'"),
        ("step_seconds = -1\n", "Setting 'step_seconds' cannot be -1"),
        ("paralel_steps = 2\n", "Setting 'paralel_steps' cannot be 2"),
        ("queue_size = \n", "settings.toml cannot be read"),
    ],
)
def test_a_wrong_line_in_the_file_is_refused_and_named(workspace, text, words):
    write(workspace, text)
    with pytest.raises(UserError) as caught:
        load_settings(workspace=workspace)
    assert words in caught.value.message
    assert caught.value.advice


def test_a_file_that_is_not_text_is_refused_with_a_sentence(workspace):
    (workspace / "settings.toml").write_bytes(b"\xff\xfe\x00user")
    with pytest.raises(UserError, match=r"settings\.toml cannot be read"):
        load_settings(workspace=workspace)


def test_a_wrong_value_in_the_environment_is_refused_and_named(workspace, monkeypatch):
    monkeypatch.setenv("BIODESK_QUEUE_SIZE", "lots")
    with pytest.raises(UserError, match="Setting 'queue_size' cannot be 'lots'"):
        load_settings(workspace=workspace)


def test_an_env_file_in_the_current_folder_changes_nothing(workspace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("BIODESK_USER=intruder\n")
    assert load_settings(workspace=workspace)[0].user != "intruder"


def test_settings_cannot_be_changed_after_they_were_read(workspace):
    settings, _ = load_settings(workspace=workspace)
    with pytest.raises(ValueError, match="frozen"):
        settings.queue_size = 3
