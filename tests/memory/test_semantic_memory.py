"""Semantic memory: what counts as the same statement, what supports it, what excludes it, and what reaches the graph."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import partial

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.adapters.fakes import CountingIds, FrozenClock
from engine.domain.knowledge import EdgeType, GraphImport, NodeType
from engine.domain.memory import Fact
from engine.errors import ModelUnavailable, NotFoundError, UserError
from engine.memory.facts.contradictions import entity_key, exclude_each_other, relation_of, statement_of
from engine.memory.facts.graph_door import GraphDoor, to_graph_rows
from engine.memory.facts.memory import SemanticMemory
from engine.memory.facts.quantities import agree, canonical, parse_quantity
from engine.memory.facts.statements import Statements
from engine.memory.facts.support import combined_support
from storage.memory.facts_twin import FactsTwin


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def memory(clock: FrozenClock) -> SemanticMemory:
    return SemanticMemory(FactsTwin(), clock, CountingIds())


def a_fact(number: int = 1, **changes) -> Fact:
    values = {"subject": "A", "predicate": "activates", "object": "B", "source": "ada", "confidence": 0.5, "at": "2026"}
    return Fact(id=f"fact_{number}", **(values | changes))


# ==== one form for entities and predicates ====


@pytest.mark.parametrize(
    "spellings",
    [
        ["IL-6", "il6", "IL 6", "IL\u20116", "il_6", " Il-6 "],
        ["TP53", "p53", "P53", "tp 53"],
        ["TNF-alpha", "TNF-α", "TNFα", "TNF", "tnf alpha"],
        ["T cell", "T-cells", "t cells"],
        ["beta-catenin", "β-catenin", "Beta Catenin"],
        ["HER2", "ERBB2"],
        ["PD-L1", "CD274"],
        ["lung tumour", "Lung tumor"],
    ],
)
def test_spellings_of_one_entity_are_one(spellings) -> None:
    assert len({entity_key(spelling) for spelling in spellings}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [("miR-1-2", "miR-12"), ("IL-6", "IL-6R"), ("PD-1", "PD-L1"), ("-0.4", "0.4"), ("CDK1", "CDK11"), ("5-HT", "5 mg")],
)
def test_different_entities_stay_different(one, other) -> None:
    assert entity_key(one) != entity_key(other)


@pytest.mark.parametrize(
    ("predicate", "name", "denied", "passive"),
    [
        ("activates", "activates", False, False),
        ("Activated by", "activates", False, True),
        ("is activated by", "activates", False, True),
        ("is not activated by", "activates", True, True),
        ("does not activate", "activates", True, False),
        ("doesn't activate", "activates", True, False),
        ("inhibits", "inhibits", False, False),
        ("blocks", "inhibits", False, False),
        ("up-regulates", "upregulates", False, False),
        ("is upregulated in", "upregulates", False, True),
        ("downregulated in", "downregulates", False, True),
        ("does not treat", "treats", True, False),
        ("is treated with", "treats", False, True),
        ("cannot treat", "treats", True, False),
        ("is used to treat", "treats", False, False),
        ("expressed in", "expressed_in", False, False),
        ("is not expressed in", "expressed_in", True, False),
        ("not_expressed_in", "expressed_in", True, False),
        ("absent in", "expressed_in", True, False),
        ("is expressed by", "expressed_in", False, False),
        ("expresses", "expressed_in", False, True),
        ("does not express", "expressed_in", True, True),
        ("interacts with", "interacts_with", False, False),
        ("is", "is", False, False),
        ("is not", "is", True, False),
        ("isn't", "is", True, False),
        ("was", "is", False, False),
        ("has", "has", False, False),
        ("has no", "has", True, False),
        ("lacks", "has", True, False),
        ("does not lack", "has", False, False),
        ("is a", "subclass_of", False, False),
        ("is a marker of", "marker_of", False, False),
        ("is not associated with", "associated_with", True, False),
        ("has stage", "has_stage", False, False),
        ("located on chromosome", "located_on_chromosome", False, False),
        ("reduces the risk of", "protects_against", False, False),
        ("increases the risk of", "raises_risk_of", False, False),
        ("co-elutes with", "co_elutes_with", False, False),
        ("never", "is", True, False),
        ("not", "is", True, False),
        ("!?", "is", False, False),
    ],
)
def test_predicates_are_read_with_their_polarity_and_direction(predicate, name, denied, passive) -> None:
    relation = relation_of(predicate)
    assert (relation.name, relation.denied, relation.passive) == (name, denied, passive)


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
@settings(max_examples=200, deadline=None, database=None)
def test_any_words_have_one_form_and_do_not_exclude_themselves(subject, predicate, object) -> None:
    statement = statement_of(subject, predicate, object)
    assert (
        statement == statement_of(f"  {subject}  ", predicate, f" {object} ")
        or not subject.strip()
        or not object.strip()
    )
    assert not exclude_each_other(statement, statement)


@pytest.mark.parametrize("edge", list(EdgeType))
def test_every_edge_type_is_understood_under_its_own_name(edge) -> None:
    relation = relation_of(edge.value)
    if edge is EdgeType.ABSENT_IN:
        assert (relation.name, relation.denied) == ("expressed_in", True)
    else:
        assert relation.edge is edge
        assert not relation.denied
        assert not relation.passive


# ==== numbers ====


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("3.2", "3.2", True),
        ("3.2", "3.24", True),
        ("3.2", "3.25", True),
        ("3.2", "3.26", False),
        ("3.2", "3.3", False),
        ("412", "412.0", True),
        ("412", "413", False),
        ("1.2e3", "1234", True),
        ("1,234", "1234", True),
        ("-0.4", "0.4", False),
        ("5 mg", "5000 ug", True),
        ("5 mg", "6 mg", False),
        ("5 mg", "0.005 g", True),
        ("2 h", "120 min", True),
        ("1.5 kb", "1500 bp", True),
        ("95 %", "95%", True),
        ("<0.05", "0.03", True),
        ("<0.05", "0.2", False),
        ("<0.05", ">0.1", False),
        (">= 10", "12", True),
        ("0.55 to 0.92", "0.71", True),
        ("0.55 to 0.92", "0.97", False),
        ("3.2 ± 0.2", "3.4", True),
        ("3.2 ± 0.2", "3.6", False),
        ("5 mg", "5 h", None),
        ("5", "5 mg", None),
        ("12 cells", "12 cells", True),
    ],
)
def test_numbers_agree_to_the_digits_that_were_written(one, other, same) -> None:
    a, b = parse_quantity(one), parse_quantity(other)
    assert a is not None
    assert b is not None
    assert agree(a, b) is same
    assert agree(b, a) is same


@pytest.mark.parametrize("text", ["", "5KIR", "17q21", "4E-BP1", "5-HT", "5 HT", "three", "3 patients died early", "1.2.3", "-",
                                  "1e999999", "9" * 100, "MYC", "p53", "3a", "NaN", "inf"])  # fmt: skip
def test_names_that_hold_digits_are_not_numbers(text) -> None:
    assert parse_quantity(text) is None


@settings(max_examples=200, deadline=None, database=None)
@given(
    st.decimals(-1e9, 1e9, allow_nan=False, places=3),
    st.integers(0, 3),
    st.sampled_from(["", " mg", " %", " kb", " cells"]),
)
def test_a_number_agrees_with_its_own_rounding(number, places, unit) -> None:
    rounded = number.quantize(Decimal(1).scaleb(-places))
    a, b = parse_quantity(f"{number}{unit}"), parse_quantity(f"{rounded}{unit}")
    assert a is not None
    assert b is not None
    assert agree(a, b) is True
    assert parse_quantity(canonical(a)) is not None
    back = parse_quantity(canonical(a))
    assert back is not None
    assert agree(a, back) is True
    far = parse_quantity(f"{number + Decimal('1.001') * Decimal(1).scaleb(-places)}{unit}")
    assert far is not None
    assert agree(b, far) is False or abs(number - rounded) > 0


# ==== what excludes what ====


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("A", "activates", "B"), ("A", "inhibits", "B")),
        (("A", "activates", "B"), ("B", "is inhibited by", "a")),
        (("D", "upregulates", "G"), ("D", "downregulates", "G")),
        (("G", "is upregulated in", "LUAD"), ("G", "is downregulated in", "LUAD")),
        (("A", "increases", "B"), ("A", "reduces", "B")),
        (("A", "increases", "B"), ("A", "downregulates", "B")),
        (("A", "is", "essential"), ("A", "is not", "essential")),
        (("A", "is", "essential"), ("A", "is", "not essential")),
        (("A", "is", "benign"), ("A", "is", "malignant")),
        (("A", "has", "introns"), ("A", "lacks", "introns")),
        (("A", "has", "introns"), ("A", "has no", "introns")),
        (("metformin", "treats", "gout"), ("Metformin", "does not treat", "Gout")),
        (("G", "expressed in", "liver"), ("G", "is not expressed in", "liver")),
        (("G", "expressed in", "liver"), ("G", "absent in", "liver")),
        (("G", "expressed in", "T cell"), ("T cells", "do not express", "G")),
        (("A", "interacts with", "B"), ("B", "does not interact with", "A")),
        (("patient 7", "has_stage", "II"), ("patient 7", "has stage", "stage III")),
        (("TP53", "located_on_chromosome", "17"), ("TP53", "is located on chromosome", "chr13")),
        (("TP53", "located_on_chromosome", "17p13"), ("TP53", "located_on_chromosome", "17q21")),
        (("TP53", "located_on_chromosome", "1"), ("TP53", "located_on_chromosome", "17")),
        (("FKBP5", "has log2 fold change", "4.0"), ("FKBP5", "has log2 fold change", "3.6")),
        (("drug", "has_half_life", "5 h"), ("drug", "has half-life", "400 min")),
        (("A", "worsens", "B"), ("A", "improves", "B")),
        (("A", "protects against", "B"), ("A", "increases the risk of", "B")),
    ],
)  # fmt: skip
def test_statements_that_cannot_both_be_true_exclude_each_other(one, other) -> None:
    a, b = statement_of(*one), statement_of(*other)
    assert exclude_each_other(a, b)
    assert exclude_each_other(b, a)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("A", "activates", "B"), ("A", "activates", "C")),
        (("A", "activates", "B"), ("B", "inhibits", "A")),
        (("A", "activates", "B"), ("A", "does not inhibit", "B")),
        (("A", "does not activate", "B"), ("A", "does not inhibit", "B")),
        (("A", "activates", "B"), ("A", "downregulates", "B")),
        (("A", "regulates", "B"), ("A", "inhibits", "B")),
        (("A", "is", "a kinase"), ("A", "is", "phosphorylated")),
        (("G", "expressed in", "liver"), ("G", "expressed in", "lung")),
        (("TP53", "located_on_chromosome", "17"), ("TP53", "located_on_chromosome", "chr17p13.1")),
        (("TP53", "located_on_chromosome", "17p13"), ("TP53", "located_on_chromosome", "17p13.1")),
        (("patient 7", "has stage", "III"), ("patient 7", "has_stage", "IIIA")),
        (("patient 7", "has stage", "2"), ("patient 7", "has_stage", "stage II")),
        (("patient 7", "has stage", "II"), ("patient 8", "has_stage", "III")),
        (("FKBP5", "has log2 fold change", "4.0"), ("FKBP5", "has log2 fold change", "3.98")),
        (("FKBP5", "has log2 fold change", "4.0"), ("FKBP5", "has padj", "1e-30")),
        (("drug", "has_half_life", "5 h"), ("drug", "has_half_life", "300 min")),
        (("drug", "has dose", "5 mg"), ("drug", "has dose", "3 days")),
        (("lesion", "does not have", "3"), ("lesion", "has", "4")),
    ],
)  # fmt: skip
def test_statements_that_can_both_be_true_do_not(one, other) -> None:
    a, b = statement_of(*one), statement_of(*other)
    assert not exclude_each_other(a, b)
    assert not exclude_each_other(b, a)


# ==== support ====


def test_support_grows_with_independent_sources_only() -> None:
    assert combined_support([]) == 0
    assert combined_support([a_fact(confidence=0.8)]) == pytest.approx(0.8)
    assert combined_support([a_fact(1), a_fact(2, source="ben")]) == pytest.approx(0.75)
    assert combined_support([a_fact(1), a_fact(2, source=" ADA ", confidence=0.7)]) == pytest.approx(0.7)
    assert combined_support([a_fact(1), a_fact(2, source="ben", retracted=True)]) == pytest.approx(0.5)


@pytest.mark.parametrize(
    "sources",
    [
        [("PMID:25079552", ""), ("pmid 25079552", ""), ("https://pubmed.ncbi.nlm.nih.gov/25079552/", "")],
        [("doi:10.1038/nature13385", ""), ("https://doi.org/10.1038/NATURE13385", ""), ("Nature, 10.1038/nature13385.", "")],
        [("run", "run_1"), ("run_1", ""), ("run", "RUN_1"), ("differential expression", "run_1")],
        [("ada", "run_1"), ("ada", "run_2"), ("Ada", "")],
        [("ada", "run_1"), ("ben", "run_1")],
        [("PMID:25079552", "run_1"), ("PMID:25079552", ""), ("run", "run_1")],
    ],
)  # fmt: skip
def test_one_publication_run_or_person_is_one_voice(sources) -> None:
    facts = [a_fact(n, source=source, run_id=run) for n, (source, run) in enumerate(sources)]
    assert combined_support(facts) == pytest.approx(0.5)


def test_runs_and_publications_are_voices_of_their_own() -> None:
    facts = [
        a_fact(1, source="run", run_id="run_1"),
        a_fact(2, source="run", run_id="run_2"),
        a_fact(3, source="PMID:123456"),
    ]
    assert combined_support(facts) == pytest.approx(0.875)


@settings(max_examples=150, deadline=None, database=None)
@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["", "run_1", "run_2"]), st.floats(0, 1)), max_size=8)
)
def test_support_is_the_formula_over_connected_sources_whatever_their_order(voices) -> None:
    networkx = pytest.importorskip("networkx")
    facts = [a_fact(n, source=s, run_id=r, confidence=c) for n, (s, r, c) in enumerate(voices)]
    graph = networkx.Graph()
    for n, (source, run, _) in enumerate(voices):
        graph.add_edge(n, f"s:{source}")
        if run:
            graph.add_edge(n, f"r:{run}")
    groups = [[n for n in part if isinstance(n, int)] for part in networkx.connected_components(graph)]
    expected = 1 - math.prod(1 - max(voices[n][2] for n in group) for group in groups)
    assert combined_support(facts) == pytest.approx(expected)
    assert combined_support(facts[::-1]) == pytest.approx(expected)


# ==== the memory ====


def test_the_same_statement_by_the_same_source_is_the_same_fact(memory, clock) -> None:
    first = memory.state("IL-6", "activates", "STAT3", "PMID:1234567").fact
    assert (first.id, first.confidence, first.at) == ("fact_000001", 0.8, "2026-11-21T08:00:00.000Z")
    clock.advance(60)
    assert memory.state("il6", "Activates", "stat-3", "pubmed 1234567").fact == first
    assert memory.state("STAT3", "is activated by", "IL6", "PMID:1234567").fact == first
    surer = memory.state("IL-6", "activates", "STAT3", "PMID:1234567", confidence=0.9).fact
    assert (surer.id, surer.confidence, surer.at) == (first.id, 0.9, "2026-11-21T08:01:00.000Z")
    assert len(Statements(memory).about()) == 1


def test_a_statement_repeated_without_a_confidence_keeps_the_one_it_has(memory, clock) -> None:
    first = memory.state("IL-6", "activates", "STAT3", "ada", 1.0)
    assert first.before is None
    clock.advance(1)
    again = memory.state("il6", "activates", "STAT3", "ada")
    assert again.before == again.fact == first.fact
    lower = memory.state("IL-6", "activates", "STAT3", "ada", 0.3)
    assert (lower.before, lower.fact.confidence) == (first.fact, 0.3)
    memory.retract(first.fact.id)
    back = memory.state("IL-6", "activates", "STAT3", "ada")
    assert back.before is not None
    assert back.before.retracted
    assert (back.fact.confidence, back.fact.retracted) == (0.3, False)
    assert memory.state("IL-6", "activates", "STAT3", "ben").fact.confidence == 0.8


def test_a_change_of_a_fact_says_when_it_was_made(memory, clock) -> None:
    fact = memory.state("A", "binds", "B", "ada").fact
    assert fact.updated == ""
    for change in (memory.retract, memory.restore, memory.pin, partial(memory.pin, pinned=False)):
        clock.advance(60)
        assert change(fact.id).updated == clock.now()
    assert memory.fact(fact.id).at == fact.at
    clock.advance(60)
    memory.mark_in_graph([fact.id])
    assert memory.fact(fact.id).updated != clock.now()  # true of this workspace only


def test_a_statement_shows_every_sources_own_word(memory, clock) -> None:
    one = memory.state("A", "binds", "B", "ada").fact
    clock.advance(1)
    two = memory.state("a", "bind", "b", "ben", 0.5).fact
    memory.pin(one.id)
    memory.retract(two.id)
    (view,) = Statements(memory).about()
    assert [(fact.id, fact.retracted) for fact in view.facts] == [(one.id, False), (two.id, True)]
    assert view.fact.id == one.id
    memory.retract(one.id)
    assert Statements(memory).about("A") == []
    assert [len(found.facts) for found in Statements(memory).about("A", retracted=True)] == [2]


def test_what_is_listed_is_worked_out_once_until_something_changes(memory, monkeypatch) -> None:
    fact = memory.state("A", "activates", "B", "ada").fact
    other = memory.state("A", "inhibits", "B", "ben").fact
    statements = Statements(memory)
    assert len(statements.about()) == len(statements.contradictions()[0]) == 2
    statements.about().clear()
    statements.contradictions().clear()
    with monkeypatch.context() as patch:
        patch.setattr("engine.memory.facts.support.StatementIndex.view", lambda *_, **__: 1 / 0)
        assert len(statements.about()) == 2
        assert len(statements.contradictions()) == 1
    memory.retract(fact.id)
    assert [view.fact.id for view in statements.about()] == [other.id]
    assert statements.contradictions() == []
    memory.forget(other.id)
    assert statements.about() == []


def by_letters(question: str, texts: list[str], *, top: int) -> list[tuple[str, float]]:
    """Stand for an embedding model: the share of the question's words that a text has."""
    words = question.split()
    found = [(text, sum(word in text.split() for word in words) / len(words)) for text in texts]
    return sorted(found, key=lambda hit: -hit[1])[:top]


def test_what_is_near_in_meaning_is_told_with_how_near_and_nothing_else(memory) -> None:
    memory.state("IL-6", "is_raised_in", "sepsis", "ada")
    gone = memory.state("TNF", "is_raised_in", "sepsis", "ada").fact
    memory.state("EGFR", "activates", "KRAS", "ada")
    memory.retract(gone.id)
    statements = Statements(memory, by_letters)
    assert [(v.fact.subject, v.likeness) for v in statements.near("raised in sepsis")] == [("IL-6", 1.0)]
    assert statements.near("nothing of the kind") == statements.near(" ") == []
    assert [view.likeness for view in statements.about()] == [None, None]


def test_without_a_model_nearness_is_refused_by_name(memory) -> None:
    with pytest.raises(ModelUnavailable, match="cannot be compared by meaning"):
        Statements(memory).near("raised in sepsis")


def test_another_source_supports_the_statement_and_overwrites_nothing(memory, clock) -> None:
    first = memory.state("IL-6", "activates", "STAT3", "PMID:1234567").fact
    clock.advance(1)
    second = memory.state("IL6", "activates", "STAT3", "ada", confidence=0.5).fact
    (view,) = Statements(memory).about()
    assert second.id != first.id
    assert view.fact == second
    assert view.sources == ["PMID:1234567", "ada"]
    assert view.support == pytest.approx(0.9)
    assert memory.fact(first.id) == first


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (("", "p", "o", "s"), "needs a subject"),
        (("s", "  ", "o", "s"), "needs a predicate"),
        (("s", "p", "\n\t", "s"), "needs an object"),
        (("s", "p", "o", ""), "needs a source"),
        (("x" * 2001, "p", "o", "s"), "has 2,001 signs"),
    ],
)
def test_a_fact_that_lacks_a_part_is_refused_in_a_sentence(memory, parts, said) -> None:
    with pytest.raises(UserError, match=said):
        memory.state(*parts)
    assert Statements(memory).about() == []


@pytest.mark.parametrize("confidence", [-0.1, 1.1, float("nan"), float("inf"), "0.5", [0.5]])
def test_a_confidence_outside_zero_to_one_is_refused(memory, confidence) -> None:
    with pytest.raises(UserError, match="cannot have the confidence"):
        memory.state("a", "b", "c", "d", confidence=confidence)


def test_asking_about_an_entity_gives_exact_matches_first_then_words_then_parts(memory) -> None:
    memory.state("IL6R", "binds", "IL-6", "ada")
    memory.state("tocilizumab", "inhibits", "IL6R", "ada")
    memory.state("IL-6", "activates", "STAT3", "ada")
    memory.state("soluble IL-6 complex", "activates", "gp130", "ada")
    memory.state("EGFR", "activates", "KRAS", "ada")
    subjects = [(view.fact.subject, view.fact.object) for view in Statements(memory).about("il6")]
    assert subjects[:2] == [("IL-6", "STAT3"), ("IL6R", "IL-6")]
    assert set(subjects[2:]) == {("tocilizumab", "IL6R"), ("soluble IL-6 complex", "gp130")}
    assert [view.fact.subject for view in Statements(memory).about("IL-6 complex")] == ["soluble IL-6 complex"]
    assert len(Statements(memory).about("")) == 5
    assert Statements(memory).about("?") == []
    assert Statements(memory).about("unknown thing") == []
    assert [view.fact.subject for view in Statements(memory).about("gfr")] == ["EGFR"]


def test_a_retracted_fact_supports_nothing_and_can_be_restored(memory) -> None:
    fact = memory.state("A", "treats", "B", "ada").fact
    against = memory.state("A", "does not treat", "B", "ben").fact
    assert Statements(memory).contradictions()
    assert memory.retract(fact.id).retracted
    assert Statements(memory).contradictions() == []
    assert [view.fact.id for view in Statements(memory).about()] == [against.id]
    assert [view.support for view in Statements(memory).about(retracted=True) if view.fact.id == fact.id] == [0.0]
    assert Statements(memory).about("A")[0].contradicts == []
    assert not memory.restore(fact.id).retracted
    assert len(Statements(memory).contradictions()) == 1
    memory.retract(fact.id)
    assert not memory.state("A", "treats", "B", "ada").fact.retracted


def test_contradictions_stand_side_by_side_with_what_supports_each(memory) -> None:
    memory.state("A", "activates", "B", "ada", 0.6)
    memory.state("A", "activates", "B", "ben", 0.5)
    memory.state("A", "inhibits", "B", "PMID:1234567", 0.9)
    memory.state("P7", "has_stage", "II", "ada", 0.4)
    memory.state("P7", "has_stage", "III", "ben", 0.3)
    memory.state("P7", "has_stage", "IV", "cleo", 0.2)
    pairs = Statements(memory).contradictions()
    assert [(one.fact.object, other.fact.object) for one, other in pairs] == [
        ("B", "B"), ("II", "III"), ("II", "IV"), ("III", "IV"),
    ]  # fmt: skip
    one, other = pairs[0]
    assert (one.fact.predicate, other.fact.predicate) == ("inhibits", "activates")
    assert one.support == pytest.approx(0.9)
    assert one.against == pytest.approx(0.8)
    assert other.against == pytest.approx(0.9)
    assert [fact.predicate for fact in one.contradicts] == ["activates"]
    assert len(Statements(memory).about()) == 5


def test_a_crowd_of_values_is_set_against_the_best_supported(memory) -> None:
    for n in range(200):
        memory.state("G", "has score", str(n), f"source {n}", 0.9 if n == 7 else 0.5)
    pairs = Statements(memory).contradictions()
    assert 190 <= len(pairs) <= 250
    assert all("7" in (one.fact.object, other.fact.object) for one, other in pairs)


def test_pinned_statements_come_first_and_forgetting_is_for_good(memory, clock) -> None:
    first = memory.state("A", "binds", "B", "ada").fact
    clock.advance(1)
    second = memory.state("A", "binds", "C", "ada").fact
    assert [view.fact.id for view in Statements(memory).about()] == [second.id, first.id]
    memory.pin(first.id)
    assert [view.fact.id for view in Statements(memory).about()] == [first.id, second.id]
    memory.pin(first.id, pinned=False)
    assert memory.forget(second.id)
    assert not memory.forget(second.id)
    assert [view.fact.id for view in Statements(memory).about()] == [first.id]
    for change in (memory.fact, memory.retract, memory.restore, memory.pin):
        with pytest.raises(NotFoundError, match=second.id):
            change(second.id)


def test_what_is_known_is_there_for_another_memory_and_after_a_refresh(clock) -> None:
    store = FactsTwin()
    memory = SemanticMemory(store, clock, CountingIds())
    memory.state("A", "binds", "B", "ada")
    assert Statements(SemanticMemory(store, clock, CountingIds())).about() == Statements(memory).about()
    store.save([a_fact(9, subject="X")])
    assert len(Statements(memory).about()) == 1
    memory.refresh()
    assert len(Statements(memory).about()) == 2


NAMES = st.sampled_from(["A", "a", "B", "C-1", "c1", "5 mg", "6 mg"])
ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["add", "retract", "restore", "forget"]), NAMES,
        st.sampled_from(["activates", "inhibits", "does not activate", "has_stage", "is", "is not", "interacts with"]),
        NAMES, st.sampled_from(["ada", "ben"]), st.integers(0, 20),
    ), max_size=25,
)  # fmt: skip


@settings(max_examples=80, deadline=None, database=None)
@given(ACTIONS)
def test_the_index_is_always_what_the_store_says(actions) -> None:
    store = FactsTwin()
    memory = SemanticMemory(store, FrozenClock(), CountingIds())
    for action, subject, predicate, object, source, which in actions:
        known = [fact.id for fact in memory.facts()]
        if action == "add":
            memory.state(subject, predicate, object, source)
        elif known:
            getattr(memory, action)(known[which % len(known)])
    anew = SemanticMemory(store, FrozenClock(), CountingIds())
    assert {f.id: f for f in memory.facts()} == {f.id: f for f in store.facts()}
    assert sorted(Statements(memory).about(), key=lambda v: v.fact.id) == sorted(
        Statements(anew).about(), key=lambda v: v.fact.id
    )
    believed = [f for f in store.facts() if not f.retracted]
    said = {statement_of(f.subject, f.predicate, f.object) for f in believed}
    expected = {frozenset((a, b)) for a in said for b in said if exclude_each_other(a, b)}
    found = {
        frozenset(statement_of(v.fact.subject, v.fact.predicate, v.fact.object) for v in pair)
        for pair in Statements(memory).contradictions()
    }
    assert found == expected


# ==== the door to the graph ====

NODES = {
    "IL6": ("Gene::3569", NodeType.GENE),
    "STAT3": ("Gene::6774", NodeType.GENE),
    "liver": ("UBERON:0002107", NodeType.ANATOMY),
    "metformin": ("DB00331", NodeType.DRUG),
    "diabetes": ("DOID:9352", NodeType.DISEASE),
}


def link(text: str) -> tuple[str, NodeType] | None:
    return {name.casefold(): node for name, node in NODES.items()}.get(text.casefold().replace("-", ""))


def test_facts_become_typed_edges_and_the_rest_is_listed() -> None:
    facts = [
        a_fact(1, subject="IL-6", predicate="activates", object="STAT3", confidence=0.7),
        a_fact(2, subject="STAT3", predicate="is activated by", object="IL-6"),
        a_fact(3, subject="metformin", predicate="treats", object="diabetes"),
        a_fact(4, subject="IL-6", predicate="is not expressed in", object="liver"),
        a_fact(5, subject="IL-6", predicate="is measured together with", object="liver"),
        a_fact(6, subject="metformin", predicate="does not treat", object="diabetes"),
        a_fact(7, subject="IL-6", predicate="activates", object="something"),
        a_fact(8, subject="IL-6", predicate="activates", object="STAT3", retracted=True),
        a_fact(9, subject="IL-6", predicate="interacts with", object="il6"),
    ]
    nodes, edges, skipped = to_graph_rows(facts, link)
    assert list(zip(edges.sources, edges.types, edges.targets, edges.relations, edges.confidences, strict=True)) == [
        ("Gene::3569", EdgeType.ACTIVATES, "Gene::6774", "activates", 0.7),
        ("Gene::3569", EdgeType.ACTIVATES, "Gene::6774", "is activated by", 0.5),
        ("DB00331", EdgeType.TREATS, "DOID:9352", "treats", 0.5),
        ("Gene::3569", EdgeType.ABSENT_IN, "UBERON:0002107", "is not expressed in", 0.5),
        ("Gene::3569", EdgeType.RELATED_TO, "UBERON:0002107", "is measured together with", 0.5),
    ]
    assert sorted(nodes.ids) == sorted({*edges.sources, *edges.targets})
    assert len(nodes.types) == len(nodes.names) == len(nodes.aliases) == len(nodes.ids)
    assert len(skipped) == 4
    assert "denied" in skipped[0]
    assert "the graph knows no 'something'" in skipped[1]
    assert "retracted" in skipped[2]
    assert "same entity" in skipped[3]


class RecordingGraph:
    """Keeps what each source stated last."""

    def __init__(self) -> None:
        self.stated: dict[str, list[tuple[str, EdgeType, str]]] = {}
        self.hashes: dict[str, dict[str, str]] = {}

    def add(self, source, batches, **_) -> GraphImport:
        nodes, edges = batches
        unchanged = self.hashes.get(source.id) == source.files
        self.hashes[source.id] = source.files
        self.stated[source.id] = list(zip(edges.sources, edges.types, edges.targets, strict=True))
        assert source.kind == "facts"
        return GraphImport(
            source=source,
            nodes_read=len(nodes),
            edges_read=len(edges),
            nodes_added=0,
            edges_added=0,
            unchanged=unchanged,
        )

    def remove_source(self, source_id: str) -> None:
        if source_id not in self.stated:
            raise NotFoundError(source_id)
        del self.stated[source_id]
        del self.hashes[source_id]


def test_facts_go_through_the_door_by_their_sources_and_can_be_taken_back(memory, clock) -> None:
    graph = RecordingGraph()
    first = memory.state("IL-6", "activates", "STAT3", "PMID:1234567").fact
    second = memory.state("metformin", "treats", "diabetes", "PMID:1234567").fact
    third = memory.state("metformin", "treats", "diabetes", "ada lovelace").fact
    unknown = memory.state("metformin", "treats", "boredom", "ada lovelace").fact
    door = GraphDoor(memory, graph, link, clock)  # pyright: ignore[reportArgumentType]
    done = door.send([first.id])
    assert done.sent == [first.id]
    assert graph.stated == {"facts:pmid:1234567": [("Gene::3569", EdgeType.ACTIVATES, "Gene::6774")]}
    assert memory.fact(first.id).in_graph
    done = door.send([second.id, third.id, unknown.id])
    assert done.sent == [third.id, first.id, second.id] or sorted(done.sent) == sorted([first.id, second.id, third.id])
    assert len(done.skipped) == 1
    assert not memory.fact(unknown.id).in_graph
    assert len(graph.stated["facts:pmid:1234567"]) == 2
    assert len(graph.stated["facts:name:ada_lovelace"]) == 1
    assert all(item.unchanged for item in door.send([first.id, third.id]).imports)
    memory.retract(third.id)
    memory.retract(second.id)
    door.send([])
    assert graph.stated == {"facts:pmid:1234567": [("Gene::3569", EdgeType.ACTIVATES, "Gene::6774")]}
    assert not memory.fact(third.id).in_graph
    with pytest.raises(NotFoundError):
        door.send(["fact_unknown"])


@settings(max_examples=60, deadline=None, database=None)
@given(st.text(max_size=20), st.text(max_size=40), st.text(max_size=20))
def test_no_words_break_the_way_from_fact_to_edge(subject, predicate, object) -> None:
    assume(subject.strip() and predicate.strip() and object.strip())
    fact = a_fact(subject=subject, predicate=predicate, object=object)
    _, edges, skipped = to_graph_rows([fact], lambda text: (f"N::{text}", NodeType.GENE))
    assert len(edges) + len(skipped) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("Lep knockout", "has", "low body weight"), ("lep-knockout", "has", "high body weight")),
        (("Lep knockout", "has low", "body weight"), ("Lep knockout", "has", "high body weight")),
        (("IL6", "has", "a half-life of 20 minutes"), ("IL-6", "has", "half-life of 6 hours")),
        (("the tumour", "is", "weakly HER2 positive"), ("the tumor", "is", "weakly HER2 negative")),
    ],
)
def test_opposite_and_measured_objects_exclude_each_other(
    one: tuple[str, str, str], other: tuple[str, str, str]
) -> None:
    assert exclude_each_other(statement_of(*one), statement_of(*other))
    memory = SemanticMemory(FactsTwin(), FrozenClock(), CountingIds())
    memory.state(*one, "a")
    memory.state(*other, "b")
    assert len(Statements(memory).contradictions()) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("Lep knockout", "has", "low body weight"), ("Lep knockout", "has", "high blood glucose")),
        (("Lep knockout", "has", "low body weight"), ("Lep knockout", "lacks", "high body weight")),
        (("IL6", "has", "a half-life of 20 minutes"), ("IL6", "has", "a half-life of 1200 s")),
        (("imatinib", "treats", "early leukemia"), ("imatinib", "treats", "late leukemia")),
    ],
)
def test_what_can_both_be_true_is_no_contradiction(one: tuple[str, str, str], other: tuple[str, str, str]) -> None:
    assert not exclude_each_other(statement_of(*one), statement_of(*other))
