"""What a plan will ask of models: counted as it then comes, priced only where prices are known."""

from __future__ import annotations

import pytest
from answering import Answering
from growth_data import write_growth
from model_server import serving

from engine.domain.models import ExpectedCalls, ModelEstimate

QUESTION = "Is growth different between treated and control?"
PRICED = {"lab/m": {"usd_per_million_input": 2.0, "usd_per_million_output": 8.0}}
FOUND = {"sentences": [{"text": "Yes, it is higher.", "findings": ["n1_f1"]}]}


def opened(open_engine, server, **settings):
    given = {"starter_knowledge": False, "embedding_model": "none", "model_servers": {"lab": {"base_url": server.url}}}
    return open_engine(**{**given, "model": "lab/m", **settings})


def test_the_calls_of_a_run_are_those_that_were_estimated_and_the_next_estimate_knows_their_tokens(
    open_engine, tmp_path
):
    path = write_growth(tmp_path / "growth.csv")
    with serving() as server:
        server.otherwise = Answering(words=[FOUND])
        engine = opened(open_engine, server, model_facts=PRICED)
        plan, profiles = engine.draft(QUESTION, [path])
        first = engine.model_estimate(plan, profiles)
        assert not server.asked, "an estimate asks nobody"
        calls, tokens, usd = first.totals()
        assert calls == 2
        assert tokens > 500
        assert usd == pytest.approx(
            sum((2 * p.prompt_tokens + 8 * p.completion_tokens) / 1e6 for p in first.parts if p.calls)
        )
        assert first.totals(most=True)[0] > calls
        run = engine.run_plan(plan)
        engine.wait(run)
        assert engine.record(run).usage.model_calls == calls
        second = engine.model_estimate(plan, profiles)
        assert second.totals()[:2] == (2, 220), "the server says 110 tokens for each"
        assert [part.from_calls for part in second.parts if part.calls] == [1, 1]


def test_what_is_switched_off_or_has_no_model_is_not_expected(open_engine, tmp_path):
    path = write_growth(tmp_path / "growth.csv")
    with serving() as server:
        engine = opened(open_engine, server, model_report=False, model_revisions=0)
        estimate = engine.model_estimate(*engine.draft(QUESTION, [path]))
        assert {part.purpose for part in estimate.parts} == {"mend a failed step"}
        assert estimate.totals() == (0, 0, 0.0)
        assert "unknown price (lab/m)" in estimate.says
        assert "$0.0000" in estimate.says, "what is not asked costs nothing, whatever its price"


def test_without_a_model_there_is_no_estimate(engine, growth_csv):
    assert engine.model_estimate(*engine.draft(QUESTION, [growth_csv])) is None


def test_a_sum_with_an_unknown_price_is_unknown():
    known = ExpectedCalls(
        role="judge", model="a/b", purpose="p", calls=2, most=4, prompt_tokens=10, completion_tokens=5, usd=0.5
    )
    other = known.model_copy(update={"model": "a/c", "usd": None, "calls": 1})
    assert ModelEstimate(parts=[known]).totals() == (2, 30, 1.0)
    assert ModelEstimate(parts=[known]).totals(most=True) == (4, 60, 2.0)
    both = ModelEstimate(parts=[known, other])
    assert both.totals() == (3, 45, None)
    assert both.unpriced == ["a/c"]
    assert both.says.startswith("Models: about 3 calls, 45 tokens, unknown price (a/c)")
