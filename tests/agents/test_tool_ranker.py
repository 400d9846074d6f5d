"""A model orders found tools: none is lost or made up, and without an answer the search's order stands."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from scripted import Scripted

from engine.agents.tool_ranker import ToolRanker
from engine.domain.retrieval import RetrievedTool, SearchStages, ToolSearch

NAMES = ["cluster", "markers", "pseudobulk"]


def found(*names: str, query: str = "find marker genes") -> ToolSearch:
    tools = [RetrievedTool(name=name, score=0.5, why="", description=f"Does {name}.") for name in names]
    return ToolSearch(query=query, stages=SearchStages(search=3, expand=0, rerank=3, seconds={}), tools=tools)


@given(st.lists(st.sampled_from([*NAMES, "invented"]), min_size=1, max_size=6))
def test_the_tools_stay_the_same_and_named_ones_come_first(said):
    made = ToolRanker(Scripted({"names": said}))(found(*NAMES))
    first = [name for name in dict.fromkeys(said) if name in NAMES]
    assert [tool.name for tool in made.tools] == [*first, *(name for name in NAMES if name not in first)]
    assert "scripted/one ordered them" in made.notes[-1]


def test_nobody_is_asked_about_one_tool_and_without_an_answer_the_order_stands():
    models = Scripted()
    assert ToolRanker(models)(found("cluster")) == found("cluster")
    assert ToolRanker(models)(found(*NAMES, query=" ")) == found(*NAMES, query=" ")
    assert not models.asked
    assert ToolRanker(models)(found(*NAMES)) == found(*NAMES)
    assert len(models.asked) == 1
    assert "markers (cannot be run here): Does markers." in models.asked[0]
