"""Finding tools: what is found, what is not, why, and that every part can be missing."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.adapters.fakes import HashEmbedder
from engine.domain.knowledge import Edge, EdgeType, Node, NodeType
from engine.domain.memory import Episode, EpisodeStep
from engine.domain.retrieval import CatalogueEntry, ToolSearch
from engine.errors import ModelUnavailable
from engine.knowledge.graph.twin import GraphTwin
from engine.retrieval.hybrid import HybridRetriever
from engine.retrieval.indexes.index import ToolIndex, entry_text, method_texts, spec_entry
from engine.retrieval.usage import UsageHistory
from engine.toolbox.registry import builtin_tools

EMBEDDER = HashEmbedder()


def entry(name: str, description: str, **more: Any) -> CatalogueEntry:
    return CatalogueEntry(name=name, description=description, catalogue=more.pop("catalogue", "test"), **more)


ENTRIES = [
    entry("bwa/mem", "Performs fastq alignment to a fasta reference", keywords=["bam", "fastq"], suite="bwa",
          inputs=["fastq reads"], outputs=["bam"]),
    entry("bwa/index", "Creates an index for a fasta reference", suite="bwa", inputs=["fasta"]),
    entry("samtools_sort", "Sorts files by coordinate", suite="samtools", inputs=["bam"], outputs=["bam"]),
    entry("scrublet", "Finds multiplets in droplets", inputs=["h5ad"], outputs=["h5ad"]),
    entry("harmony", "Adjusts embeddings of donors", inputs=["h5ad"], outputs=["h5ad"]),
    entry("leiden_clusters", "Groups cells of single-cell data into clusters on a graph of neighbours",
          inputs=["anndata"], domain="single-cell"),
    entry("deseq2", "Finds genes with different expression between conditions", domain="bulk", inputs=["count_matrix"]),
    entry("volcano", "Draws fold changes against significance", requires_tool=["deseq2"]),
    entry("weather_station", "Temperature and rain at a place"),
    entry("kaplan", "Survival curves of groups of patients", inputs=["survival_table"]),
]  # fmt: skip


def retriever(entries: Sequence[CatalogueEntry] = ENTRIES, *, vectors: bool = True, **parts: Any) -> HybridRetriever:
    matrix = EMBEDDER.embed([entry_text(e) for e in entries]) if vectors and entries else None
    methods = EMBEDDER.embed(method_texts()) if vectors and entries else None
    index = ToolIndex.build(entries, matrix, methods)
    embed = (lambda text: EMBEDDER.embed([text])[0]) if vectors else None
    return HybridRetriever(index, **{"embed_query": embed, **parts})


def many(count: int) -> list[CatalogueEntry]:
    """Return the tools above among `count` that have nothing to do with them."""
    return [*ENTRIES, *(entry(f"other_{i}", f"Reports item {i} of archive {i % 7}") for i in range(count))]


def names(found: ToolSearch) -> list[str]:
    return [tool.name for tool in found.tools]


@pytest.mark.parametrize("vectors", [True, False])
def test_a_terse_tool_is_found_by_what_its_program_is_known_for(vectors: bool) -> None:
    found = retriever(many(200), vectors=vectors).search("map short reads to the genome", top=5)
    assert "bwa/mem" in names(found)[:3]
    tool = next(tool for tool in found.tools if tool.name == "bwa/mem")
    assert "short read mapping" in tool.why
    assert tool.parts["method"] > 0


def test_stages_are_counted_and_timed_and_scores_fall() -> None:
    found = retriever(many(200)).search("cluster single-cell data", top=10, explain=True)
    assert found.method == "hybrid"
    assert found.stages.rerank == len(found.tools) <= 10
    assert set(found.stages.seconds) == {"embed", "search", "expand", "rerank", "total"}
    assert all(value >= 0 for value in found.stages.seconds.values())
    assert found.stages.seconds["total"] >= found.stages.seconds["search"]
    scores = [tool.score for tool in found.tools]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == 1.0
    assert len(found.considered) == found.stages.search + found.stages.expand
    assert len({tool.name for tool in found.considered}) == len(found.considered)
    assert all(tool.why.endswith(".") for tool in found.considered)
    assert all(tool.because_of for tool in found.considered if tool.entered == "expand")


def test_what_must_come_first_enters_though_nobody_named_it() -> None:
    found = retriever(many(200)).search("cluster single-cell data")
    assert names(found)[0] == "leiden_clusters"
    assert {"scrublet", "harmony"} <= set(names(found))
    doublets = next(tool for tool in found.tools if tool.name == "scrublet")
    assert doublets.because_of == "doublet removal usually comes before single-cell clustering"
    assert doublets.why == "Doublet removal usually comes before single-cell clustering."


def test_a_built_in_tool_is_preferred_for_what_comes_first() -> None:
    entries = [spec_entry(spec) for spec in builtin_tools()]
    index = ToolIndex.build(entries, None)
    tool_for = {
        name: index.tool_for(name) for name in ("single-cell quality control", "highly variable gene selection")
    }
    assert [entries[row].name for row in tool_for.values() if row is not None] == ["sc_qc", "sc_highly_variable"]
    assert index.tool_for("doublet removal") is None
    assert index.tool_for("no such operation") is None
    found = HybridRetriever(index).search("cluster my cells")
    assert names(found)[0] == "sc_cluster"
    assert "sc_qc" in names(found)


def test_a_required_tool_comes_with_the_one_that_needs_it() -> None:
    entries = [*many(60), entry("prepare_zeta", "Prepares a table")]
    entries.append(entry("zeta_plot", "Draws zeta spirals", requires_tool=["prepare_zeta", "not there"]))
    found = retriever(entries).search("draw zeta spirals", top=4)
    needed = next(tool for tool in found.tools if tool.name == "prepare_zeta")
    assert needed.because_of == "requires_tool of zeta_plot"
    assert needed.why == "Usually runs before `zeta_plot`."


@pytest.mark.parametrize("query", ["", "   ", "!!!", "the of and", "asdf qwer zxcv", "blorf snargle"])
@pytest.mark.parametrize("vectors", [True, False])
def test_a_question_without_sense_finds_nothing_and_says_so(query: str, vectors: bool) -> None:
    found = retriever(vectors=vectors).search(query)
    assert found.tools == []
    assert found.notes
    assert found.stages.rerank == 0


def test_without_vectors_it_works_and_says_so() -> None:
    found = retriever(vectors=False).search("survival of patients")
    assert names(found)[0] == "kaplan"
    assert found.method == "lexical"
    assert any("Vectors are not available" in note for note in found.notes)


def test_a_model_that_cannot_embed_is_a_note_and_not_an_error() -> None:
    def broken(_text: str) -> np.ndarray:
        raise ModelUnavailable("The file model.onnx is missing.")

    found = retriever(embed_query=broken).search("survival of patients")
    assert names(found)[0] == "kaplan"
    assert found.method == "lexical"
    assert any("model.onnx is missing" in note for note in found.notes)


def test_typing_errors_are_read_as_what_was_meant() -> None:
    found = retriever().search("diferent expresion of genes")
    assert names(found)[0] == "deseq2"
    assert "`expresion` was read as `expression`." in found.notes


def test_a_tools_own_name_finds_it_first() -> None:
    searcher = retriever(many(100))
    assert names(searcher.search("BWA_MEM"))[0] == "bwa/mem"
    assert names(searcher.search("samtools sort"))[0] == "samtools_sort"
    assert names(searcher.search("other_17"))[0] == "other_17"


def test_a_tool_that_takes_the_users_data_rises() -> None:
    twins = [entry(f"plot_{kind}", "Shows quality of samples", inputs=[kind]) for kind in ("image", "anndata", "tree")]
    found = retriever(twins).search("show quality of samples", data_types=["anndata"])
    assert names(found)[0] == "plot_anndata"
    assert found.tools[0].parts["type_fit"] == 1.0
    assert "takes the anndata you gave" in found.tools[0].why


def test_imported_words_for_data_are_understood() -> None:
    found = retriever(many(50)).search("alignment to a reference", data_types=["sequences"])
    assert next(tool for tool in found.tools if tool.name == "bwa/mem").parts["type_fit"] == 1.0


def test_past_success_decides_between_equals() -> None:
    twins = [entry(f"measure_{letter}", "Measures colony size") for letter in "abc"]
    usage = UsageHistory(runs={"measure_c": 4, "measure_a": 4}, successes={"measure_c": 4})
    found = retriever(twins, usage=usage).search("measure colony size")
    assert names(found) == ["measure_c", "measure_a", "measure_b"]
    assert found.tools[0].why.endswith("worked in 4 of 4 earlier runs.")


def test_usage_counts_steps_that_failed_against_their_tool() -> None:
    steps = [EpisodeStep(tool="a"), EpisodeStep(tool="b", status="failed"), EpisodeStep(tool="c")]
    usage = UsageHistory.from_episodes([Episode(id="1", at="", task="", steps=steps)])
    assert usage.success("a") == pytest.approx(1 / 3)
    assert usage.success("b") == 0.0
    assert usage.success("never") == 0.0
    assert usage.together["a"] == {"c": 1}


def test_tools_used_together_and_linked_in_the_graph_enter() -> None:
    entries = [*many(200), entry("partner", "Something else entirely"), entry("graph_friend", "Nothing of that kind")]
    entries.append(entry("over_entity", "Unrelated as well"))
    usage = UsageHistory.from_episodes([Episode(id="1", at="", task="", tools=["kaplan", "partner"])])
    nodes = [
        Node(id="tool:kaplan", type=NodeType.TOOL, name="kaplan"),
        Node(id="tool:graph_friend", type=NodeType.TOOL, name="graph_friend"),
        Node(id="tool:over_entity", type=NodeType.TOOL, name="over_entity"),
        Node(id="DOID:1", type=NodeType.DISEASE, name="breast cancer"),
    ]
    edges = [
        Edge(source="tool:kaplan", type=EdgeType.PRODUCES_FOR, target="tool:graph_friend"),
        Edge(source="tool:kaplan", type=EdgeType.USES_DATA, target="DOID:1"),
        Edge(source="tool:over_entity", type=EdgeType.USES_DATA, target="DOID:1"),
    ]
    graph = GraphTwin(nodes, edges)
    found = retriever(entries, usage=usage, graph=graph).search("survival curves of patients", explain=True)
    why = {tool.name: tool.because_of for tool in found.considered if tool.entered == "expand"}
    assert why["partner"] == "used_with kaplan in finished runs"
    assert why["graph_friend"] == "knowledge graph link with kaplan"
    assert why["over_entity"] == "knowledge graph link with kaplan over breast cancer"


def test_expansion_stays_selective() -> None:
    hub = [entry(f"member_{i}", f"Counts {i}", suite="one", domain="field") for i in range(400)]
    hub += [entry(f"chain_{i}", "Counts beads", requires_tool=[f"chain_{j}" for j in range(i)]) for i in range(60)]
    searcher = retriever(hub)
    found = searcher.search("count beads", explain=True, candidates=15)
    assert found.stages.search <= 15 or found.stages.search <= len(hub) // 4
    assert found.stages.expand <= 0.05 * len(hub)


def test_a_small_catalogue_is_not_passed_on_whole() -> None:
    searcher = HybridRetriever(ToolIndex.build([spec_entry(spec) for spec in builtin_tools()], None))
    found = searcher.search("genes", explain=True)
    assert found.stages.search <= max(15, len(searcher.index) // 4)


def test_vectors_must_fit_the_texts() -> None:
    with pytest.raises(ValueError, match="3 vectors for 10 tools"):
        ToolIndex.build(ENTRIES, np.zeros((3, 4), np.float32))
    with pytest.raises(ValueError, match=r"2 vectors for .* methods"):
        ToolIndex.build(ENTRIES, np.zeros((10, 4), np.float32), np.zeros((2, 4), np.float32))


def test_words_of_methods_are_indexed_once_whatever_the_tools() -> None:
    one, other = ToolIndex.build(ENTRIES, None).methods, ToolIndex.build(ENTRIES[:3], None).methods
    assert one.words is other.words
    assert one.elsewhere is other.elsewhere


def test_an_empty_catalogue_says_what_to_do() -> None:
    found = retriever([]).search("anything")
    assert found.tools == []
    assert any("biodesk tools import" in note for note in found.notes)


def test_what_is_embedded_has_a_name_a_description_and_labels_and_is_bounded() -> None:
    text = entry_text(entry("a", "b " * 5000, keywords=["k"], title="t"))
    assert text.startswith("a. t. b b")
    assert len(text) == 1500
    assert entry_text(entry("a", "b", keywords=["k"], operations=["o"])) == "a. b. k, o"


def test_a_very_long_question_is_cut_with_a_note() -> None:
    found = retriever().search("survival of patients " * 1000)
    assert names(found)[0] == "kaplan"
    assert any("Only the first" in note for note in found.notes)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(max_size=80), top=st.integers(1, 20))
def test_no_question_breaks_it(query: str, top: int) -> None:
    found = SHARED.search(query, top=top, explain=True)
    assert len(found.tools) <= top
    assert all(0 <= tool.score <= 1 for tool in found.considered)
    assert found.tools or found.notes


def test_threads_get_the_answers_of_one() -> None:
    questions = ["map reads", "survival of patients", "cluster cells", "different expression"] * 5
    alone = [names(SHARED.search(question)) for question in questions]
    answers: dict[int, list[str]] = {}

    def ask(place: int) -> None:
        answers[place] = names(SHARED.search(questions[place]))

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(len(questions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answers[place] for place in range(len(questions))] == alone


SHARED = retriever(many(80))


@pytest.mark.parametrize("vectors", [True, False])
def test_a_need_in_everyday_words_finds_the_tool_of_the_method_it_means(vectors: bool) -> None:
    others = [entry(f"shelf_{number}", f"Item {number} of the archive") for number in range(40)]
    entries = [*others, entry("circos", "Chord and ideogram layouts from tabular annotation"), *ENTRIES]
    matrix = EMBEDDER.embed([entry_text(e) for e in entries]) if vectors else None
    index = ToolIndex.build(entries, matrix, EMBEDDER.embed(method_texts()) if vectors else None)
    searcher = HybridRetriever(index, embed_query=lambda text: EMBEDDER.embed([text])[0])
    found = searcher.search("picture of my genome with rings")
    assert found.tools[0].name == "circos"
    assert found.match == ("good" if vectors else "weak")
    assert found.tools[0].why == "Known for `circular genome plot`."
