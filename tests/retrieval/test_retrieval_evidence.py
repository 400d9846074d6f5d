"""Whether anything fits at all, suites that crowd, places for what comes first, and the weights that are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.adapters.fakes import HashEmbedder
from engine.domain.retrieval import CatalogueEntry
from engine.retrieval.evidence import NOTHING, WEAK, Evidence
from engine.retrieval.expand import Expansion, Reached
from engine.retrieval.hybrid import HybridRetriever
from engine.retrieval.indexes.index import ToolIndex, entry_text, method_texts
from engine.retrieval.rerank import CROWDING_MOST, Ranked, seat

EMBEDDER = HashEmbedder()


def entry(name: str, description: str, **more: Any) -> CatalogueEntry:
    return CatalogueEntry(name=name, description=description, catalogue="test", **more)


def retriever(entries: Sequence[CatalogueEntry], *, vectors: bool = False) -> HybridRetriever:
    if not vectors:
        return HybridRetriever(ToolIndex.build(entries, None))
    index = ToolIndex.build(entries, EMBEDDER.embed([entry_text(e) for e in entries]), EMBEDDER.embed(method_texts()))
    return HybridRetriever(index, embed_query=lambda text: EMBEDDER.embed([text])[0])


USUAL = {
    "share": 0.5, "method_words": 0.3, "elsewhere_words": 0.1, "unknown": 0.2, "nearest": 0.45, "method": 0.45,
    "elsewhere": 0.35,
}  # fmt: skip


def evidence(*, words: int = 5, suite: bool = False, **more: float) -> Evidence:
    return Evidence({**USUAL, **more}, words, suite)


@pytest.mark.parametrize(
    ("measures", "nothing", "weak"),
    [
        ({"nearest": 0.7, "method": 0.7}, False, False),
        ({"nearest": 0.2, "method": 0.2, "elsewhere": 0.6, "share": 0.2, "unknown": 0.5}, True, True),
        ({"elsewhere": 0.45}, False, True),
        ({"nearest": 0.4, "method": 0.4, "share": 1.0, "method_words": 1.5}, False, False),  # a method, word for word
        ({"nearest": 0.2, "method": 0.1, "elsewhere": 0.7, "share": 1.0, "words": 1}, False, True),
        ({"nearest": 0.2, "method": 0.1, "share": 1.0, "words": 1, "suite": True}, False, False),  # a suite's name
    ],
)
def test_what_is_near_fits_and_what_is_nearer_to_something_else_does_not(
    measures: dict[str, Any], nothing: bool, weak: bool
) -> None:
    found = evidence(**measures)
    assert (found.nothing, found.weak) == (nothing, weak)


@given(
    st.fixed_dictionaries({name: st.floats(0, 1) for name in USUAL}),
    st.sampled_from(sorted(USUAL)),
    st.floats(0, 0.5),
    st.booleans(),
)
def test_more_evidence_never_makes_a_match_worse(
    measures: dict[str, float], which: str, more: float, vectors: bool
) -> None:
    if not vectors:
        measures = {name: measures[name] for name in ("share", "method_words", "elsewhere_words", "unknown")}
    if which in measures:
        against = which in ("elsewhere", "elsewhere_words", "unknown")
        after = Evidence({**measures, which: measures[which] + (-more if against else more)}, 5, suite=False)
        assert after.probability >= Evidence(measures, 5, suite=False).probability


TOOLS = [
    entry("trim_reads", "Cuts adapters from sequencing reads", suite="trim"),
    entry("kaplan", "Survival curves of groups of patients"),
    *(entry(f"shelf_{i}", f"Item {i} of archive {i % 5}, with a note") for i in range(60)),
]


def test_a_question_with_little_in_common_is_said_to_match_weakly() -> None:
    found = retriever(TOOLS).search("survival of wolves after curves in forests")
    assert found.match == "weak"
    assert found.tools
    assert WEAK in found.notes
    assert 0 < found.evidence["share_of_words"] < 0.5
    assert "nearest" not in found.evidence


def test_a_question_that_fits_is_a_good_match_and_says_nothing_of_it() -> None:
    found = retriever(TOOLS).search("survival curves of patients")
    assert (found.match, found.evidence["share_of_words"]) == ("good", 1.0)
    assert WEAK not in found.notes


def test_nothing_is_said_once() -> None:
    found = retriever(TOOLS, vectors=True).search("blorf snargle wump")
    assert (found.match, found.tools) == ("none", [])
    assert found.notes.count(NOTHING) == 1
    assert WEAK not in found.notes


def test_a_method_that_no_tool_here_is_for_makes_no_good_match() -> None:
    question = "predict the effect of variants"
    others = [entry("kaplan_meier", "Survival curves of groups."), entry("box_plot", "Draw groups as boxes.")]
    for_it = entry("vep", "Tells what it does to a protein.")
    assert retriever(others).search(question).match != "good"
    with_it = retriever([*others, for_it]).search(question)
    assert (with_it.match, with_it.tools[0].name) == ("good", "vep")


def test_a_tools_own_name_is_a_good_match_whatever_its_text_says() -> None:
    found = retriever([*TOOLS, entry("qqzz", "")], vectors=True).search("QQZZ")
    assert (found.match, found.tools[0].name) == ("good", "qqzz")
    assert NOTHING not in found.notes


def test_weights_come_with_explain_only_and_add_up() -> None:
    search = retriever(TOOLS, vectors=True).search
    assert search("survival of patients").weights == {}
    weights = search("survival of patients", explain=True).weights
    assert sum(share for part, share in weights.items() if not part.startswith("text.")) == pytest.approx(1)
    assert weights["text.lexical"] + weights["text.semantic"] == pytest.approx(1)
    words_only = retriever(TOOLS).search("survival of patients", explain=True).weights
    assert (words_only["text.lexical"], words_only["text.semantic"]) == (1, 0)


SUITE = [
    *(entry(f"alpha_{i}", "Counts colonies on plates of agar", suite="alpha") for i in range(10)),
    entry("beta", "Counts colonies on plates of agar with care", suite="beta"),
    entry("gamma", "Counts bottles", suite="gamma"),
    *(entry(f"shelf_{i}", f"Item {i} of archive") for i in range(40)),
]


def test_a_suite_of_equal_tools_leaves_places_to_others_that_fit_nearly_as_well() -> None:
    found = retriever(SUITE).search("count colonies on agar plates", top=6)
    names = [tool.name for tool in found.tools]
    assert "beta" in names[:5]
    assert "gamma" not in names  # what fits clearly worse does not profit
    assert names[:2] == ["alpha_0", "alpha_1"]
    assert "crowding" not in found.tools[0].parts
    assert all(tool.parts.get("crowding", 0) <= CROWDING_MOST for tool in found.tools)
    scores = [tool.score for tool in found.tools]
    assert scores == sorted(scores, reverse=True)


def test_a_suite_that_is_named_is_not_thinned() -> None:
    found = retriever(SUITE).search("alpha colonies on agar plates", top=6)
    assert all(tool.name.startswith("alpha") for tool in found.tools)
    assert all("crowding" not in tool.parts for tool in found.tools)


def test_own_tools_are_not_thinned() -> None:
    own = [tool.model_copy(update={"runnable": True}) for tool in SUITE[:10]]
    found = retriever([*own, *SUITE[10:]]).search("count colonies on agar plates", top=6)
    assert all("crowding" not in tool.parts for tool in found.tools)


def _ranked(count: int) -> list[Ranked]:
    return [Ranked(row, 1 - row / count, {}) for row in range(count)]


@given(top=st.integers(1, 40), claims=st.lists(st.integers(0, 59), unique=True, max_size=20))
def test_what_comes_first_takes_few_places_and_no_order_breaks(top: int, claims: list[int]) -> None:
    expansion = Expansion(added=[], support={row: Reached(row, 1, "", "") for row in claims}, claims=claims)
    best = seat(_ranked(60), expansion, top)
    assert len(best) == top
    assert len({tool.row for tool in best}) == top
    assert sum(tool.row >= top for tool in best) <= max(1, top // 7)
    assert [tool.score for tool in best] == sorted((tool.score for tool in best), reverse=True)
    if top < 4:
        assert [tool.row for tool in best] == list(range(top))


def test_a_doubtful_method_brings_its_first_steps_but_gives_them_no_place() -> None:
    entries = [
        entry("leiden_clusters", "Groups cells of single-cell data into clusters"),
        entry("scrublet", "Finds multiplets in droplets"),
        *(entry(f"data_{i}", f"Groups of data {i}, clusters or not") for i in range(60)),
    ]
    found = retriever(entries).search("single-cell clustering", top=10, explain=True)
    assert "scrublet" in [tool.name for tool in found.tools]
    doubtful = retriever(entries).search("groups of data in a bag of beads", top=10, explain=True)
    assert "scrublet" not in [tool.name for tool in doubtful.tools]
