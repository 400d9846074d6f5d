"""Calls of language models and their answers in DuckDB.

What a call cost stays when its run is deleted: a budget that forgets is none. What was answered goes with the run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from engine.domain.models import ModelCall, ModelTotals
from engine.errors import IntegrityError
from engine.ports.models.calls import Whose
from storage.database import Database

CALL, ANSWER, VERSION = "model_call", "model_answer", 1

_INSERT = """
    INSERT INTO model_calls (day, user_name, conversation, run_id, counts, prompt_tokens, completion_tokens, usd,
                             kind, version, payload)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_SUM = """
    SELECT count(*) FILTER (counts), coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0),
           coalesce(sum(usd), 0)
    FROM model_calls WHERE
"""
_WHERE: dict[Whose, str] = {"run": "run_id = ?", "conversation": "conversation = ?", "day": "day = ? AND user_name = ?"}


class DuckModelCalls:
    """The `ModelCallStore` on disk."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, call: ModelCall) -> None:
        """Keep a call."""
        counted = ModelTotals().plus(call)
        row = [call.at[:10], call.user, call.conversation, call.run_id, bool(counted.calls)]
        row += [counted.prompt_tokens, counted.completion_tokens, counted.usd, CALL, VERSION, call.model_dump_json()]
        with self._db.writing() as connection:
            connection.execute(_INSERT, row)

    def totals(self, whose: Whose, key: str, *, user: str = "") -> ModelTotals:
        """Return what calls add up to."""
        with self._db.reading() as connection:
            rows = connection.execute(_SUM + _WHERE[whose], [key, user] if whose == "day" else [key]).fetchall()
        calls, prompt, completion, usd = rows[0]
        return ModelTotals(
            calls=int(calls), prompt_tokens=int(prompt), completion_tokens=int(completion), usd=float(usd)
        )

    def calls(self, run_id: str = "", *, limit: int = 1000) -> Sequence[ModelCall]:
        """Return calls, newest first, of one run when it is named.

        Raises:
            IntegrityError: when a row does not hold what was written.
        """
        query = "SELECT payload FROM model_calls WHERE run_id = ? OR ? = '' ORDER BY number DESC LIMIT ?"
        with self._db.reading() as connection:
            rows = connection.execute(query, [run_id, run_id, limit]).fetchall()
        try:
            return [ModelCall.model_validate_json(str(row[0])) for row in rows]
        except ValidationError as error:
            raise IntegrityError("The record of a model's call is not what was written.") from error

    def answer(self, key: str) -> Mapping[str, Any] | None:
        """Return the answer that was kept under this key; None also for one of a form that is not known here."""
        query = "SELECT payload FROM model_answers WHERE key = ? AND version = ?"
        with self._db.reading() as connection:
            rows = connection.execute(query, [key, VERSION]).fetchall()
        return json.loads(str(rows[0][0])) if rows else None

    def keep_answer(self, key: str, answer: Mapping[str, Any], *, run_id: str = "") -> None:
        """Keep an answer, with the run that it was made in; the first under a key stays."""
        row = [key, run_id, ANSWER, VERSION, json.dumps(answer)]
        with self._db.writing() as connection:
            connection.execute("INSERT INTO model_answers VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", row)

    def forget_answers(self, run_id: str | None = None) -> int:
        """Remove the answers that a run made, or all; returns how many."""
        query = "DELETE FROM model_answers WHERE run_id = ? OR ? RETURNING key"
        with self._db.writing() as connection:
            return len(connection.execute(query, [run_id or "", run_id is None]).fetchall())
