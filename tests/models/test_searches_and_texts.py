"""With a model, what people search for and check goes through it, and switched off it does not."""

from __future__ import annotations

import pytest
from model_server import says, serving

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
