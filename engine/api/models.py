"""Calls about language models: which there are, whether they answer, and what they cost."""

from __future__ import annotations

from engine.api.calls import Calls, passed_on
from engine.models.service import Models


class ModelCalls(Calls):
    """The models of each role. A question is asked by the parts of the engine that need an answer, not from here."""

    has = passed_on(Models.has, "models")
    describe = passed_on(Models.describe, "models")
    test = passed_on(Models.test, "models")
    totals = passed_on(Models.totals, "models")
    calls = passed_on(Models.calls, "models")
    spent_today = passed_on(Models.spent_today, "models")
    forget_answers = passed_on(Models.forget_answers, "models")
