"""Which model is asked for what: chains from settings, addresses, keys and where they come from, facts."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType

import pytest
from model_room import HELLO

from engine.adapters.system import SystemClock
from engine.domain.models import ModelFacts
from engine.errors import ModelAuthentication, UserError
from engine.models import keys
from engine.models.keys import key_for
from engine.models.roster import chains, targets
from engine.models.service import Models
from engine.settings import load_settings
from engine.text.redaction import Redactor
from storage.models.twin import ModelCallsTwin

TABLE = {
    "gpt-x": {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 128_000, "max_output_tokens": 16_000,
              "input_cost_per_token": 2e-06, "output_cost_per_token": 8e-06, "supports_response_schema": True},
    "groq/llama": {"litellm_provider": "groq", "mode": "chat", "max_tokens": 8192},
    "embed": {"litellm_provider": "openai", "mode": "embedding", "max_input_tokens": 8192},
}  # fmt: skip


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(keys, "secrets_path", lambda: tmp_path / "secrets.toml")

    def loaded(text: str = "", **command_line):
        (tmp_path / "settings.toml").write_text(text, encoding="utf-8")
        return load_settings(workspace=tmp_path, **command_line)[0]

    return loaded


def test_without_a_model_no_role_has_one(load):
    assert load().offline
    assert set(targets(load(), lambda: pytest.fail("no table is needed")).values()) == {()}


def test_a_role_takes_its_own_chain_and_else_the_model_of_all(load):
    settings = load('model = "ollama/qwen3:8b"\nmodel_reasoning = "anthropic/claude, openai/gpt-x"\n')
    assert chains(settings) == {
        "reasoning": ["anthropic/claude", "openai/gpt-x"], "coder": ["ollama/qwen3:8b"],
        "fast": ["ollama/qwen3:8b"], "judge": ["ollama/qwen3:8b"],
    }  # fmt: skip
    assert not settings.offline


def test_one_role_alone_may_have_a_model_and_one_alone_may_have_none(load):
    assert chains(load('model_fast = "a/b"\n'))["coder"] == []
    assert chains(load('model = "a/b"\nmodel_judge = "offline"\n'))["judge"] == []


def test_the_model_of_the_command_is_meant_for_every_role(load, monkeypatch):
    monkeypatch.setenv("BIODESK_MODEL_CODER", "env/coder")
    text = 'model_fast = "file/fast"\n'
    assert chains(load(text))["coder"] == ["env/coder"]
    assert load(text, model="offline").offline
    assert set(map(tuple, chains(load(text, model="line/m")).values())) == {("line/m",)}


@pytest.mark.parametrize("name", ["large", "/large", "openai/", "openai/gpt-x, large"])
def test_a_name_without_a_provider_is_refused_with_an_example(load, name):
    with pytest.raises(UserError) as caught:
        chains(load(model=name))
    assert "PROVIDER/MODEL" in caught.value.message
    assert "ollama/" in caught.value.advice


@pytest.mark.parametrize(
    ("name", "through", "model", "url"),
    [
        ("ollama/qwen3:8b", "openai", "qwen3:8b", "http://127.0.0.1:11434/v1"),
        ("openai/gpt-x", "openai", "gpt-x", "https://api.openai.com/v1"),
        ("lab/org/model", "openai", "org/model", "http://gpu1:8000/v1"),
        ("groq/llama", "litellm", "groq/llama", ""),
        ("azure/mine", "litellm", "azure/mine", "https://mine.example"),
    ],
)
def test_how_a_model_is_asked_follows_from_its_server(load, name, through, model, url):
    settings = load(
        f'model = "{name}"\n[model_servers.lab]\nbase_url = "http://gpu1:8000/v1"\n[model_servers.azure]\n'
        'base_url = "https://mine.example"\nthrough = "litellm"\noptions = {api_version = "2026-01-01"}\n'
    )
    [target] = targets(settings, dict)["fast"]
    assert (target.address.through, target.address.model, target.address.base_url) == (through, model, url)
    assert target.address.options == ((("api_version", "2026-01-01"),) if name.startswith("azure") else ())


@pytest.mark.parametrize(
    "server",
    [
        'base_url = "gpu1:8000"',
        'base_url = "http://me:secret@gpu1/v1"',
        'base_url = "https://x/v1?key=abc"',
        'through = "magic"',
        'url = "http://x"',
    ],
)
def test_a_server_that_cannot_be_asked_or_holds_a_key_is_refused(load, server):
    with pytest.raises(UserError) as caught:
        load(f"[model_servers.lab]\n{server}\n")
    assert "model_servers" in caught.value.message
    assert "secret" not in caught.value.message or "key_env" in caught.value.message


def test_an_own_protocol_without_an_address_is_refused(load):
    settings = load('model = "lab/m"\n[model_servers.lab]\nthrough = "openai"\n')
    with pytest.raises(UserError, match="has no address"):
        targets(settings, dict)


def test_facts_come_from_the_table_of_the_same_provider_and_what_is_set_wins(load):
    settings = load('model = "openai/gpt-x"\n[model_facts."openai/gpt-x"]\nmax_output_tokens = 500\n')
    [target] = targets(settings, lambda: TABLE)["fast"]
    assert (target.reads, target.writes, target.facts.takes_schema) == (128_000, 500, True)
    assert target.usd(1_000_000, 500_000) == pytest.approx(2.0 + 4.0)


@pytest.mark.parametrize("name", ["lab/gpt-x", "openai/unknown", "openai/embed", "ollama/gpt-x"])
def test_nothing_is_invented_for_a_model_that_the_table_does_not_have(load, name):
    settings = load(f'model = "{name}"\n[model_servers.lab]\nbase_url = "http://gpu1:8000/v1"\n')
    [target] = targets(settings, lambda: TABLE)["fast"]
    assert target.facts == ModelFacts()
    assert target.usd(10, 10) is None


# ==== keys ====


def test_a_key_comes_from_the_environment_before_the_file(load, tmp_path, monkeypatch):
    load()
    secrets = tmp_path / "secrets.toml"
    secrets.write_text('openai = "sk-from-the-file-1234"\nlab = "lab-key-from-file"\n')
    secrets.chmod(0o600)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-environment-9876")
    found = key_for("openai")
    assert found.value == "sk-from-environment-9876"
    assert str(found) == "...9876 (from the environment, OPENAI_API_KEY)"
    assert "sk-from" not in repr(found)
    assert key_for("lab").value == "lab-key-from-file"
    monkeypatch.setenv("OTHER", "named-with-key-env")
    assert key_for("lab", "OTHER").value == "named-with-key-env"
    assert str(key_for("nobody")) == "none"


def test_a_keyring_comes_between_them_and_one_that_fails_is_passed_over(load, tmp_path, monkeypatch):
    load()
    secrets = tmp_path / "secrets.toml"
    secrets.write_text('lab = "from-the-file"\n')
    secrets.chmod(0o600)
    ring, faults = ModuleType("keyring"), ModuleType("keyring.errors")
    faults.KeyringError = type("KeyringError", (Exception,), {})  # type: ignore[attr-defined]
    ring.errors = faults  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", ring)
    monkeypatch.setitem(sys.modules, "keyring.errors", faults)
    ring.get_password = lambda service, account: f"{service}-{account}-kept"  # type: ignore[attr-defined]
    assert key_for("lab").value == "biodesk-lab-kept"
    assert key_for("lab").origin == "the keyring, biodesk/lab"

    def locked(service: str, account: str) -> str:
        raise faults.KeyringError("locked")

    ring.get_password = locked  # type: ignore[attr-defined]
    assert key_for("lab").value == "from-the-file"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_file_of_keys_that_others_can_read_is_not_used(load, tmp_path, mode):
    load()
    secrets = tmp_path / "secrets.toml"
    secrets.write_text('openai = "sk-secret"\n')
    secrets.chmod(mode)
    with pytest.raises(UserError) as caught:
        key_for("openai")
    assert "chmod 600" in caught.value.advice


def test_a_broken_file_of_keys_is_told_without_its_words(load, tmp_path):
    load()
    secrets = tmp_path / "secrets.toml"
    secrets.write_text("openai = sk-secret-without-quotes\n")
    secrets.chmod(0o600)
    with pytest.raises(UserError) as caught:
        key_for("openai")
    assert "sk-secret" not in f"{caught.value.message}{caught.value.advice}{caught.value.__cause__}"


def test_a_model_whose_key_is_missing_is_not_asked_and_is_said_to_lack_it(load):
    settings = load(model="openai/gpt-x")
    models = Models(targets(settings, dict), pytest.fail, ModelCallsTwin(), SystemClock(), settings, Redactor())
    assert models.describe()["fast"][0]["key"] == "missing"
    with pytest.raises(ModelAuthentication, match="no key for openai") as caught:
        models.ask("fast", HELLO, purpose="t")
    assert "docs/models.md" in caught.value.advice
    assert list(models.calls()) == []


def test_a_key_is_not_in_what_an_address_prints(load, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-123456789")
    [target] = targets(load(model="openai/gpt-x"), dict)["fast"]
    assert target.address.key == "sk-canary-123456789"
    assert "canary" not in repr(target)
