"""A tournament as a fresh desk plays it: the starter graph, no model, no network."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.api import open_engine
from engine.domain.discovery.hypotheses import Aims, Bounds
from engine.errors import UserError


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory):
    with open_engine(workspace=tmp_path_factory.mktemp("desk"), warm_workers=False) as opened:
        yield opened


def test_hypotheses_are_made_reviewed_compared_and_rewritten_from_the_graph(engine, tmp_path: Path) -> None:
    found = engine.hypotheses.run(
        Aims(goal="find drugs that could be repurposed for multiple sclerosis"), Bounds(hypotheses=4, iterations=1)
    )
    assert engine.hypotheses.wait(found).status == "finished"
    view = engine.hypotheses.show(found)
    made = {one.id: one for one in view.hypotheses}
    assert sum(one.method == "graph" for one in made.values()) >= 3
    assert any(one.method == "evolved" and set(one.parents) <= set(made) for one in made.values())
    assert {review.hypothesis for review in view.reviews} == set(made)
    assert {standing.hypothesis for standing in view.standings} <= set(made)
    stated = [item for one in made.values() for item in one.support if item.kind == "path"]
    assert stated
    for item in stated:
        for one, edge, other in zip(item.nodes, item.edges, item.nodes[1:], strict=False):
            assert edge in {known.type.value for known in engine.knowledge.edges_between(one, other)}, item.says
    assert "multiple sclerosis" in engine.hypotheses.export(found, tmp_path / "aims.md", "aims").read_text()


@pytest.mark.parametrize(
    ("goal", "says"),
    [
        ("find drugs for glorbitis", "names nothing that the knowledge graph knows"),
        ("Make influenza spread better between ferrets by mutating its genes", ""),
    ],
)
def test_what_cannot_or_must_not_be_sought_is_refused_before_any_work(engine, goal: str, says: str) -> None:
    before = len(engine.hypotheses.list())
    with pytest.raises(UserError) as refusal:
        engine.hypotheses.run(Aims(goal=goal))
    assert says in str(refusal.value)
    assert len(engine.hypotheses.list()) == before
