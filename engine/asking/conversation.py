"""The plans made before in a conversation, which the next question may refer to."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import suppress

from engine.domain.plan import TaskDag
from engine.domain.results import RunRecord
from engine.errors import IntegrityError, SchemaTooNew
from engine.planning.followups.words import takes_back
from engine.ports.runs import RunStore


def runs_with_plans(store: RunStore, conversation: str, before: str = "") -> Iterator[tuple[RunRecord, TaskDag]]:
    """Yield the runs of a conversation that have a plan, newest first; made before a time when one is given."""
    if not conversation:
        return
    for run in store.runs(limit=1000):
        if run.conversation == conversation and (not before or run.created_at < before):
            with suppress(IntegrityError, SchemaTooNew):  # a damaged run must not stop the next question
                if (plan := store.plan(run.run_id)) is not None:
                    yield run, plan


def plans_before(store: RunStore, question: str, conversation: str, before: str = "") -> list[TaskDag]:
    """Return the newest plan of a conversation, with those before it where a question takes a step back."""
    planned = runs_with_plans(store, conversation, before)
    return [plan for _, plan in (planned if takes_back(question) else itertools.islice(planned, 1))]
