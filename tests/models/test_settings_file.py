"""Changing `settings.toml`: what is meant is what is read, the rest stays, and what is not understood is refused."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import StorageError, UserError
from engine.models.roster import host_of
from engine.models.settings_file import require_settings, save_server, save_settings, with_values
from engine.settings import load_settings

OWN = """# what the lab agreed on
model = "ollama/a"  # for all
step_seconds = 60

[model_servers.lab]   # ours
base_url = "http://gpu1:8000/v1"
model = "not a setting of the top"
"""


def test_only_what_is_named_is_changed():
    made = with_values(OWN, {"model": "lab/b", "budget_run_usd": 2.0, "model_cache": False})
    assert tomllib.loads(made) == {
        "model": "lab/b", "step_seconds": 60, "budget_run_usd": 2.0, "model_cache": False,
        "model_servers": {"lab": {"base_url": "http://gpu1:8000/v1", "model": "not a setting of the top"}},
    }  # fmt: skip
    assert "# what the lab agreed on" in made
    assert "# ours" in made
    assert tomllib.loads(with_values(made, {"model": None}))["step_seconds"] == 60
    assert "model" not in tomllib.loads(with_values(made, {"model": None}))


@pytest.mark.parametrize(
    "own",
    [
        'model = """\nollama/a\n[not a table]\n"""\n',
        '"model" = "ollama/a"\n',
        'model_fast = [\n"a"\n]\n',
        'model = "a/b"\nmodel = "a/c"\n',
        "= 1",
    ],
)
def test_what_is_written_in_a_way_that_is_not_understood_is_refused(own):
    with pytest.raises(UserError, match="cannot be"):
        with_values(own, {"model": "lab/b", "model_fast": "lab/c"})


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(
    st.dictionaries(st.sampled_from(["model", "model_fast", "budget_run_usd"]), texts | st.floats(0, 1e9) | st.none())
)
def test_what_is_written_is_what_is_read(values):
    made = tomllib.loads(with_values(OWN, values))
    assert {name: made.get(name) for name in values} == values
    assert made["model_servers"] == tomllib.loads(OWN)["model_servers"]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"model": "qwen3"}, "names no provider"),
        ({"budget_run_usd": -1.0}, "budget_run_usd cannot be"),
        ({"budget_run_tokens": "many"}, "budget_run_tokens cannot be"),
        ({"workspace": "/tmp"}, "not changed here"),
        ({"model_servers": "x"}, "not changed here"),
        ({"user": "eve"}, "not changed here"),
    ],
)
def test_what_a_start_would_refuse_is_refused_in_words(values, says):
    with pytest.raises(UserError, match=says):
        require_settings(values)


def test_a_key_in_the_place_of_a_name_is_refused_and_not_repeated(monkeypatch):
    monkeypatch.setenv("LAB_API_KEY", "sk-canary-0123456789abcd")
    with pytest.raises(UserError, match="holds a key") as caught:
        require_settings({"model": "lab/sk-canary-0123456789abcd"})
    assert "canary" not in caught.value.message


def test_what_is_saved_is_what_the_next_start_reads(tmp_path):
    path = save_settings(tmp_path, {"model": "ollama/a, lab/b", "budget_day_usd": 1.5})
    path.write_text(path.read_text() + '\n[model_servers.lab]\nbase_url = "http://127.0.0.1:9/v1"\n')
    save_settings(tmp_path, {"model": None, "model_coder": "lab/c"})
    settings, origins = load_settings(workspace=tmp_path)
    assert (settings.model, settings.model_coder, settings.budget_day_usd) == ("offline", "lab/c", 1.5)
    assert origins["budget_day_usd"] == "settings.toml"
    assert [one.name for one in tmp_path.iterdir()] == ["settings.toml"]
    with pytest.raises(StorageError):
        save_settings(tmp_path / "absent", {"model": "ollama/a"})


SERVERS = """model = "lab/m"

[model_servers.lab]  # ours
base_url = "http://gpu1:8000/v1"
key_env = "OLD_KEY"

[model_servers.lab.options]
region = "eu"

[model_servers."other"]
through = "litellm"
"""


def test_of_a_server_only_what_is_named_is_changed(tmp_path):
    path = tmp_path / "settings.toml"
    path.write_text(SERVERS)
    save_server(tmp_path, "lab", {"base_url": "http://127.0.0.1:1/v1", "key_env": ""})
    save_server(tmp_path, "other", {"base_url": "https://x.org/v1"})
    save_server(tmp_path, "third", {"key_env": "THIRD_KEY"})
    assert tomllib.loads(path.read_text()) == {
        "model": "lab/m",
        "model_servers": {
            "lab": {"base_url": "http://127.0.0.1:1/v1", "options": {"region": "eu"}},
            "other": {"base_url": "https://x.org/v1"},
            "third": {"key_env": "THIRD_KEY"},
        },
    }
    assert "# ours" in path.read_text()
    save_server(tmp_path, "other", None)
    save_server(tmp_path, "third", None)
    with pytest.raises(UserError, match="cannot be written"):
        save_server(tmp_path, "lab", {"base_url": "ftp://x"})
    assert set(load_settings(workspace=tmp_path)[0].model_servers) == {"lab"}
    save_server(tmp_path, "lab", None)
    assert tomllib.loads(path.read_text()) == {"model": "lab/m"}


@pytest.mark.parametrize(
    ("name", "fields", "says"),
    [
        ("a b", {}, "name of a server"),
        ("lab", {"key_env": "sk-canary-0123456789"}, "a key itself is not kept"),
        ("lab", {"key_env": "AKIAIOSFODNN7CANARY0"}, "a key itself is not kept"),
        ("lab", {"base_url": "https://me:canary0123456789@x.org/v1"}, "holds no key"),
        ("lab", {"base_url": "https://x.org/canary-in-the-environment/v1"}, "holds a key"),
    ],
)
def test_no_key_gets_into_the_file_as_part_of_a_server(tmp_path, monkeypatch, name, fields, says):
    monkeypatch.setenv("SOME_TOKEN", "canary-in-the-environment")
    with pytest.raises(UserError, match=says) as raised:
        save_server(tmp_path, name, fields)
    assert "canary" not in raised.value.message.lower()
    assert not (tmp_path / "settings.toml").exists()


def test_servers_written_in_one_line_are_left_to_an_editor(tmp_path):
    (tmp_path / "settings.toml").write_text('model_servers = {lab = {base_url = "http://a/v1"}}\n')
    with pytest.raises(UserError, match="cannot be changed from here"):
        save_server(tmp_path, "lab", {"base_url": "http://b/v1"})


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("http://127.0.0.1:1234/v1", ""), ("http://[::1]:8000/v1", ""), ("http://localhost/v1", ""),
        ("https://api.x.org/v1", "api.x.org"), ("http://192.168.1.4/v1", "192.168.1.4"), ("", "bedrock"),
    ],
)  # fmt: skip
def test_only_this_machine_is_this_machine(address, host):
    assert host_of(address, "bedrock") == host
