"""Calls about language models: which there are, whether they answer, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from engine.api.calls import Calls, passed_on
from engine.errors import StorageError
from engine.models.service import Models
from engine.models.settings_file import EDITABLE, Plain, save_server, save_settings
from engine.settings import load_settings


class ModelCalls(Calls):
    """The models of each role. A question is asked by the parts of the engine that need an answer, not from here."""

    has = passed_on(Models.has, "models")
    describe = passed_on(Models.describe, "models")
    test = passed_on(Models.test, "models")
    servers = passed_on(Models.servers, "models")
    test_server = passed_on(Models.test_server, "models")
    totals = passed_on(Models.totals, "models")
    calls = passed_on(Models.calls, "models")
    spent_today = passed_on(Models.spent_today, "models")
    forget_answers = passed_on(Models.forget_answers, "models")

    def origins(self) -> dict[str, str]:
        """Return setting -> where its value comes from, for those of models and budgets."""
        found = load_settings(workspace=self._parts.workspace.folder)[1]
        return {name: found[name] for name in EDITABLE}

    def save(self, values: Mapping[str, Plain | None]) -> Path:
        """Write settings of models and budgets into the workspace's file, for the next start; returns the file.

        Args:
            values: setting -> its value; None takes it out, so that its default holds.

        Raises:
            UserError: when a value does not fit, or the file cannot be changed from here.
            StorageError: when it cannot be written, or the workspace may only be read.
        """
        return save_settings(self._writable(), values)

    def save_server(self, name: str, fields: Mapping[str, str] | None) -> Path:
        """Write a server into the workspace's file, for the next start; returns the file.

        Args:
            name: the name before the slash of its models.
            fields: `base_url`, `key_env` (the name of the variable that holds the key, never the key) and `through`;
                None takes the server out.

        Raises:
            UserError: when something does not fit, or the file cannot be changed from here.
            StorageError: when it cannot be written, or the workspace may only be read.
        """
        return save_server(self._writable(), name, fields)

    def _writable(self) -> Path:
        if self._parts.workspace.read_only:
            raise StorageError("The workspace may only be read, so its settings stay as they are.")
        return self._parts.workspace.folder
