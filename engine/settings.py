"""Every setting, with its default, where it may be set and what it does.

Order, weakest first: the defaults here, the workspace's `settings.toml`, `BIODESK_*` in the environment,
the command line. `biodesk doctor` prints each value and where it came from.
"""

from __future__ import annotations

import contextlib
import os
import tomllib
from pathlib import Path
from typing import Any, Literal

from platformdirs import user_data_path
from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from engine.domain.models import ModelFacts, ModelServer
from engine.errors import UserError

MODEL_SETTINGS = ("model", "model_reasoning", "model_coder", "model_fast", "model_judge")
"""The settings that name models."""


class Settings(BaseSettings):
    """The settings tree. Unknown keys in `settings.toml` are refused, so a typing error is noticed."""

    model_config = SettingsConfigDict(env_prefix="BIODESK_", extra="forbid", frozen=True)

    workspace: Path = Field(default_factory=lambda: user_data_path("biodesk", appauthor=False))
    """Folder that holds everything Biodesk keeps."""
    user: str = Field(default_factory=lambda: local_account())
    """Who runs are attributed to."""
    model: str = "offline"
    """Model of every role that names none: `offline` (the built-in rules), PROVIDER/MODEL, or several in the order
    in which they are asked, with commas between. `--model` replaces the models of all roles."""
    model_reasoning: str = ""
    """Models for plans, criticism and reports; empty takes `model`."""
    model_coder: str = ""
    """Models for code; empty takes `model`."""
    model_fast: str = ""
    """Models for small decisions; empty takes `model`."""
    model_judge: str = ""
    """Models that compare and grade; empty takes `model`."""
    model_servers: dict[str, ModelServer] = {}
    """Servers by the name before the slash: `base_url`, `key_env`, `through`, `options`."""
    model_facts: dict[str, ModelFacts] = {}
    """What is known of a model, where LiteLLM's table does not say it: window and price."""
    model_seconds: float = Field(default=600.0, gt=0)
    """Longest time for one question to a model with all its fallbacks and repairs, in seconds."""
    model_idle_seconds: float = Field(default=120.0, gt=0)
    """Longest silence of a model's server, in seconds."""
    model_output_tokens: int = Field(default=8192, ge=16)
    """Most tokens of one answer."""
    model_plans: bool = True
    """Have a model read questions that the rules refuse or doubt."""
    model_levels: bool = True
    """Let values of groups (`treated`, `stage II`) leave the machine with the names of columns; rows are never sent."""
    model_code: bool = True
    """Have a model write code for what no tool does; it is shown before it runs, also with `--yes`."""
    model_code_held: bool = True
    """Have code that a model writes anew, after what was read has failed, wait to be read; false runs it at once."""
    model_repairs: bool = True
    """Have a model look at steps that fail and that no declared repair helps."""
    model_claims: bool = True
    """Have a model read what a text claims when it is checked against the graph; what the graph says is looked up."""
    model_tools: bool = True
    """Have a model order the tools that a search for tools found; planning is not affected."""
    model_search: int = Field(default=12, ge=0, le=200)
    """Most calls of models in one tree search asked for by name, to propose ways and judge them; 0 asks none."""
    model_memory: bool = True
    """Have a model put old turns of a long conversation in short, where `model_report` lets findings leave too."""
    model_revisions: int = Field(default=2, ge=0, le=10)
    """How often a plan is revised by a model after steps failed or its result was held to be wrong, and the plain words
    of a report after something was held against them; 0 is never."""
    model_report: bool = True
    """Have models put answers in plain words and doubt finished runs."""
    model_cache: bool = True
    """Take the answer of an earlier call when model, messages, tools, schema and settings are the same."""
    budget_call_tokens: int = Field(default=1_000_000, ge=0)
    """Most tokens for one call; here and below 0 is no limit."""
    budget_call_usd: float = Field(default=10.0, ge=0)
    """Most dollars for one call, where the price of its model is known; so it is for all budgets in dollars."""
    budget_run_tokens: int = Field(default=10_000_000, ge=0)
    """Most tokens for one run."""
    budget_run_usd: float = Field(default=50.0, ge=0)
    """Most dollars for one run."""
    budget_conversation_tokens: int = Field(default=50_000_000, ge=0)
    """Most tokens for one conversation."""
    budget_conversation_usd: float = Field(default=100.0, ge=0)
    """Most dollars for one conversation."""
    budget_day_tokens: int = Field(default=100_000_000, ge=0)
    """Most tokens of one user within a day (UTC)."""
    budget_day_usd: float = Field(default=200.0, ge=0)
    """Most dollars of one user within a day (UTC)."""
    parallel_steps: int = Field(default_factory=lambda: os.cpu_count() or 1, ge=1, le=64)
    """Steps that run at the same time, over all runs."""
    parallel_runs: int = Field(default=2, ge=1, le=32)
    """Runs worked on at the same time; others wait in the queue."""
    queue_size: int = Field(default=20, ge=1, le=1000)
    """Runs that may wait; one more is refused with a sentence."""
    step_seconds: float = Field(default=1800.0, gt=0)
    """Longest time for one step, in seconds."""
    step_memory_mb: int = Field(default=8192, ge=256)
    """Most memory for one step, in MB."""
    step_file_mb: int = Field(default=4096, ge=1)
    """Largest file a step may write, in MB."""
    step_disk_mb: int = Field(default=16384, ge=1)
    """Most that all files of a step may take together, in MB."""
    sandbox: Literal["auto", "bubblewrap", "plain"] = "auto"
    """What isolates steps: the strongest there is, only bubblewrap, or a plain process."""
    warm_workers: bool = True
    """Keep a process with the scientific libraries loaded, so that a small step costs milliseconds."""
    reuse_results: bool = True
    """Take a step's result from an earlier run when code, parameters, data and versions are the same."""
    embedding_model: str = "all-MiniLM-L6-v2"
    """Turns texts into vectors: this name, another of sentence-transformers, a folder, or `none`."""
    search_candidates: int = Field(default=200, ge=15, le=2000)
    """Tools the first stage of a search lets through."""
    search_results: int = Field(default=15, ge=1, le=200)
    """Tools a search gives at the end."""
    recall_top: int = Field(default=5, ge=1, le=50)
    """Past analyses the planner is told of, at most."""
    recall_min_relevance: float = Field(default=0.25, ge=0, le=1)
    """How well a past analysis must fit to be told of, 0 to 1."""
    recall_tokens: int = Field(default=2000, ge=100)
    """Budget for what the planner is told of past analyses, in tokens."""
    working_memory_tokens: int = Field(default=-1, ge=-1)
    """Budget of a conversation in tokens; -1 is 76,800: 60 % of what a usual model reads."""
    remember: bool = True
    """Keep an episode of every finished run."""
    learn: bool = True
    """Let finished runs add their entities, tool edges and facts to the knowledge graph; each can be taken back."""
    starter_knowledge: bool = True
    """Load the starter graph into a new workspace."""

    @property
    def offline(self) -> bool:
        """True when no role has a model."""
        return {getattr(self, name) or self.model for name in MODEL_SETTINGS[1:]} == {"offline"}

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Leave out .env files: a file in the current folder must not change where data goes."""
        return init_settings, env_settings


def local_account() -> str:
    """Return the name of the account that this process runs as."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "local"


def load_settings(**command_line: Any) -> tuple[Settings, dict[str, str]]:
    """Read the settings; keyword arguments that are None are ignored.

    Returns:
        The settings and, for each, where its value came from: `default`, the file's name, `environment`
        or `command line`.

    Raises:
        UserError: for a value of the wrong kind or a key that does not exist.
    """
    given = {key: value for key, value in command_line.items() if value is not None}
    environment = {key for key in Settings.model_fields if f"BIODESK_{key.upper()}" in os.environ}
    try:
        workspace = Path(given.get("workspace") or os.environ.get("BIODESK_WORKSPACE") or Settings().workspace)
        with contextlib.suppress(RuntimeError):  # ~NAME of nobody here is a name like any other
            workspace = workspace.expanduser()
        from_file = _read_toml(workspace / "settings.toml")
        if "workspace" in from_file:
            message = "The settings file of a workspace cannot name another workspace."
            raise UserError(message, advice="Remove `workspace` from it; use --workspace or BIODESK_WORKSPACE instead.")
        merged = {key: value for key, value in from_file.items() if key not in environment} | given
        if "model" in given:  # a model named with the command is meant for all that it does
            given = dict.fromkeys(MODEL_SETTINGS, "") | given
            merged |= given
        merged["workspace"] = workspace.absolute()
        settings = Settings(**merged)
    except ValidationError as err:
        first = err.errors()[0]
        name = ".".join(str(part) for part in first["loc"]) or "settings"
        message = f"Setting {name!r} cannot be {first.get('input')!r}: {first['msg'].lower()}."
        advice = "`biodesk doctor` lists every setting and where its value comes from."
        raise UserError(message, advice=advice) from err
    origins = {
        key: "command line"
        if key in given
        else "environment"
        if key in environment
        else "settings.toml"
        if key in from_file
        else "default"
        for key in Settings.model_fields
    }
    return settings, origins


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        if not path.is_file():
            return {}
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as err:
        reason = getattr(err, "strerror", None) or err
        message = f"The settings file {path} cannot be read: {reason}."
        raise UserError(message, advice="Correct the file or delete it to use the defaults.") from err
