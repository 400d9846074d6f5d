"""Which strategy answers a task, asked without a workspace: files count as far as a plan can be made of them."""

from __future__ import annotations

import pytest
from growth_data import write_growth

from engine.api import UserError, route_of


def test_files_decide_where_a_plan_can_be_made_and_else_the_wording(tmp_path):
    data, settings = write_growth(tmp_path / "growth.csv"), {"embedding_model": "none"}
    planned = route_of("Is growth higher in treated than in control?", [data], **settings)
    assert (planned.strategy, planned.confidence) == ("dag", 0.95)
    other = route_of("Brief me on what is published on prions, with sources for and against", [data], **settings)
    assert other.strategy == "panel"
    with pytest.raises(UserError, match="empty"):
        route_of("?!", **settings)
