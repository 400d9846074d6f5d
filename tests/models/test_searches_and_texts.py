"""With a model, what people search for and check goes through it, and switched off it does not."""

from __future__ import annotations

import pytest
from model_server import says, serving
from waiting import until

ORDER = '{"names": ["correlation"]}'
CLAIM = '{"claims": [{"quote": "TP53 keeps MDM2 going", "subject": "TP53", "relation": "activates", "object": "MDM2"}]}'
TEXT = "TP53 keeps MDM2 going."


@pytest.mark.parametrize("on", [True, False])
def test_tools_are_ordered_and_claims_are_read_as_the_settings_allow(open_engine, on):
    with serving(says(ORDER), says(CLAIM)) as server:
        servers = {"lab": {"base_url": server.url}}
        settings = {"embedding_model": "none", "model_tools": on, "model_claims": on}
        engine = open_engine(model="lab/m", model_servers=servers, **settings)
        found = engine.search_tools("relate two measurements, correlation or regression")
        assert "correlation" in [tool.name for tool in found.tools]
        assert (found.tools[0].name == "correlation" and "lab/m" in found.notes[-1]) or not on
        read = engine.knowledge.check(TEXT)
        assert read.read_by == ("lab/m" if on else "")
        assert len(read.claims) == 1 or not on
        assert len(server.asked) == (2 if on else 0)
        purposes = {call.purpose for call in engine.models.calls()}
        assert purposes == ({"order the tools found", "read the claims of a text"} if on else set())


@pytest.mark.parametrize("on", [True, False])
def test_old_turns_are_put_in_short_in_the_background_and_the_next_run_says_so(open_engine, on):
    with serving() as server:
        server.otherwise = says('{"turns": [{"speaker": "user", "text": "FKBP5 in lung"}]}')
        given = {"embedding_model": "none", "working_memory_tokens": 60, "model_report": on}
        engine = open_engine(model_fast="lab/m", model_servers={"lab": {"base_url": server.url}}, **given)
        working = engine._parts.memory.working
        for _ in range(8):
            working.add(
                "talk", "user", "Thank you ever so much for all of this. We look at FKBP5 in lung and nothing else."
            )
        if on:
            until(lambda: engine.models.calls())
            until(lambda: working._retold.get("talk"))
        purposes = {call.purpose for call in engine.models.calls()}
        run = engine.ask("What do you know of FKBP5?", conversation="talk")
        told = [event for event in engine.events(run) if event.kind == "talk_shortened"]
        assert purposes == ({"shorten old turns"} if on else set())
        assert bool(told) == on
        assert all("`not`" in event.says and not event.by for event in told), "'nothing else' was lost"
