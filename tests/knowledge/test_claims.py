"""Reading sentences: which relation between which two entities, asserted or denied, or nothing at all.

How well sentences of other writers are read is measured on the bank (`test_claims_bank.py`, `make bench`).
"""

from __future__ import annotations

import numpy as np
import pytest
from claims_graph import small_graph
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.domain.knowledge import EdgeType, NodeType
from engine.knowledge.claims.clauses import SentenceParts
from engine.knowledge.claims.features import FIRST, SECOND, relation_features, tokens_of, without_litotes
from engine.knowledge.claims.model import FILE, model
from engine.knowledge.claims.relations import possible, sense_of
from engine.knowledge.claims.statements import Read, Statement, read_text
from engine.knowledge.linking.linker import EntityLinker
from scripts.train_claims import sources_hash

LINKER = EntityLinker(small_graph())


def reads(text: str) -> list[Read]:
    return list(read_text(text, LINKER.link(text)))


def read(text: str) -> list[Statement]:
    return [statement for one in reads(text) for statement in one.statements]


def short(text: str) -> list[str]:
    """`subject predicate object` of every statement, with `not` before a denied predicate."""
    return [
        f"{s.subject[0].name} {'not ' if s.negated else ''}{s.sense.type.value} {s.object[0].name}" for s in read(text)
    ]


def test_the_models_are_made_of_the_sentences_beside_them() -> None:
    with np.load(FILE, allow_pickle=False) as stored:
        made_of = str(stored["made_of"])
    assert made_of == sources_hash(), "run `make claims`"
    assert FILE.stat().st_size <= 300_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Simvastatin binds HMGCR.", ["Simvastatin binds HMGCR"]),
        ("HMGCR is inhibited by simvastatin.", ["Simvastatin inhibits HMGCR"]),
        ("Hypertension is treated with simvastatin.", ["Simvastatin treats hypertension"]),
        ("Metformin does not treat hypertension.", ["Metformin not treats hypertension"]),
        ("EGFR is overexpressed in breast cancer.", ["breast cancer upregulates EGFR"]),
        ("CAT is not expressed in the liver.", ["CAT not expressed_in liver"]),
        ("TP53 represses EGFR.", ["TP53 inhibits EGFR"]),
        ("EGFR is regulated by TP53.", ["TP53 regulates EGFR"]),
        ("TP53 and EGFR interact.", ["TP53 interacts_with EGFR"]),
        ("TP53 is associated with breast cancer independently of age.", ["TP53 associated_with breast cancer"]),
        ("Metformin treats type 2 diabetes mellitus, but resistance is common.",
         ["Metformin treats type 2 diabetes mellitus"]),
        ("There is no evidence that simvastatin binds PTGS1.", ["Simvastatin not binds PTGS1"]),
        ("There is no doubt that simvastatin binds HMGCR.", ["Simvastatin binds HMGCR"]),
    ],
)  # fmt: skip
def test_a_plain_sentence_says_who_does_what_to_whom(text: str, expected: list[str]) -> None:
    assert short(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "We bought simvastatin and an EGFR antibody.",
        "The role of TP53 in breast cancer is unknown.",
        "Simvastatin-resistant breast cancer cells were sequenced.",
        "Does simvastatin inhibit HMGCR?",
        "We tested whether simvastatin inhibits HMGCR.",
        "If simvastatin inhibited HMGCR, we would see it.",
        "We hypothesise that TP53 regulates EGFR.",
        "Patients with hypertension or obesity were excluded.",
        "Hypothesis: TP53 lowers EGFR.",
        "Aim 2: effect of metformin on lung cancer.",
        "To do - metformin → TNF ↓",
        "TNF → IL6 ?",
        "Whether metformin acts on EGFR is not understood.",
        "Simvastatin vs pravastatin in hypertension, n = 40.",
    ],
)
def test_what_asserts_nothing_is_no_claim_and_the_reader_is_told_why(text: str) -> None:
    (one,) = reads(text)
    assert one.statements == []
    assert one.open


def test_a_sentence_about_one_entity_is_passed_over() -> None:
    (one,) = reads("The meeting on TP53 was long.")
    assert (one.statements, one.open) == ([], "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Simvastatin binds HMGCR but not PTGS1.", ["Simvastatin binds HMGCR", "Simvastatin not binds PTGS1"]),
        ("Neither simvastatin nor metformin binds PTGS1.",
         ["Simvastatin not binds PTGS1", "Metformin not binds PTGS1"]),
        ("EGFR, TP53 and GRB2 take part in the cell cycle.",
         ["EGFR involved_in Cell cycle", "TP53 involved_in Cell cycle", "GRB2 involved_in Cell cycle"]),
        ("Simvastatin, which treats hypertension, binds HMGCR and lowers TNF expression.",
         ["Simvastatin treats hypertension", "Simvastatin binds HMGCR", "Simvastatin downregulates TNF"]),
        ("EGFR interacts with GRB2, and TP53 takes part in the cell cycle.",
         ["EGFR interacts_with GRB2", "TP53 involved_in Cell cycle"]),
        ("Simvastatin inhibits HMGCR while metformin does not.",
         ["Simvastatin inhibits HMGCR", "Metformin not inhibits HMGCR"]),
        ("Unlike simvastatin, metformin does not inhibit HMGCR.",
         ["Metformin not inhibits HMGCR", "Simvastatin inhibits HMGCR"]),
        ("Simvastatin is an old drug. It binds HMGCR.", ["Simvastatin binds HMGCR"]),
        ("Jaundice? Metformin does not cause it.", ["Metformin not causes Jaundice"]),
        ("In the liver, EGFR and CAT are raised.", ["liver upregulates EGFR", "liver upregulates CAT"]),
        ("Simvastatin and aspirin bind HMGCR and PTGS1, respectively.",
         ["Simvastatin binds HMGCR", "Acetylsalicylic acid binds PTGS1"]),
        ("Simvastatin and aspirin raise and lower TNF, respectively.", []),  # which verb is whose is not told
        ("Loss of TP53 activates EGFR.", ["TP53 inhibits EGFR"]),
        ("Deletion of TP53 silences EGFR.", ["TP53 activates EGFR"]),
        ("Simvastatin (DB00641) binds HMGCR (Entrez gene 3156).", ["Simvastatin binds HMGCR"]),
    ],
)  # fmt: skip
def test_lists_clauses_and_pronouns(text: str, expected: list[str]) -> None:
    assert [line.replace("Cell Cycle", "Cell cycle") for line in short(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Simvastatin binds HMGCR (yes), PTGS1 (no) and PTGS2 (no).",
         ["Simvastatin binds HMGCR", "Simvastatin not binds PTGS1", "Simvastatin not binds PTGS2"]),
        ("Expressed in liver: CAT, yes; EGFR, no.", ["CAT expressed_in liver", "EGFR not expressed_in liver"]),
        ("Does simvastatin inhibit HMGCR? Yes.", ["Simvastatin inhibits HMGCR"]),
        ("Does metformin treat hypertension? No, it does not.", ["Metformin not treats hypertension"]),
        ("Does metformin treat hypertension? No patient was asked.", []),
        ("It is not true that metformin does not treat hypertension.", ["Metformin treats hypertension"]),
        ("There is no evidence that TP53 does not interact with EGFR.", []),
        ("Simvastatin raises and metformin lowers EGFR.",
         ["Simvastatin upregulates EGFR", "Metformin downregulates EGFR"]),
        ("Simvastatin: EGFR up, TNF down.", ["Simvastatin upregulates EGFR", "Simvastatin downregulates TNF"]),
        ("Is metformin of help in hypertension? In our hands, yes.", ["Metformin treats hypertension"]),
        ("Does metformin treat hypertension? It does not.", ["Metformin not treats hypertension"]),
        ("Metformin treats not hypertension but type 2 diabetes mellitus.",
         ["Metformin not treats hypertension", "Metformin treats type 2 diabetes mellitus"]),
        ("Simvastatin inhibits HMGCR without any effect on EGFR.",
         ["Simvastatin inhibits HMGCR", "Simvastatin not inhibits EGFR"]),
        ("EGFR interacts with GRB2 without TP53.", ["EGFR interacts_with GRB2"]),
        ("Simvastatin inhibits HMGCR, and EGFR was used as a control.", ["Simvastatin inhibits HMGCR"]),
        ("Metformin treats type 2 diabetes mellitus; its role in obesity is unknown.",
         ["Metformin treats type 2 diabetes mellitus"]),
        ("Metformin treats type 2 diabetes mellitus, but whether it helps in obesity is unknown.",
         ["Metformin treats type 2 diabetes mellitus"]),
        ("Jaundice came from the metformin rather than from aspirin.",
         ["Metformin causes Jaundice", "Acetylsalicylic acid not causes Jaundice"]),
    ],
)  # fmt: skip
def test_verdicts_answers_double_denials_and_shared_subjects(text: str, expected: list[str]) -> None:
    assert short(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TNF → IL6", ["TNF activates IL6"]),
        ("IL6 <- TNF", ["TNF activates IL6"]),
        ("TNF --| IL6", ["TNF inhibits IL6"]),
        ("TNF → IL6 ↓", ["TNF inhibits IL6"]),
        ("TNF ↛ IL6", ["TNF not activates IL6"]),
        ("Metformin: TNF ↓", ["Metformin downregulates TNF"]),
        ("IL6 ↑ in breast cancer.", ["breast cancer upregulates IL6"]),
        ("EGFR ↔ GRB2", ["EGFR interacts_with GRB2"]),
        ("Simvastatin → jaundice (2 pts)", ["Simvastatin causes Jaundice"]),
        ("Simvastatin: EGFR ↑, TNF ↓.", ["Simvastatin upregulates EGFR", "Simvastatin downregulates TNF"]),
    ],
)  # fmt: skip
def test_signs_of_notes_are_words(text: str, expected: list[str]) -> None:
    assert short(text) == expected


def test_what_is_not_without_is_with() -> None:
    assert without_litotes(tokens_of("it is not without effect")) == tokens_of("it is with effect")
    assert without_litotes(tokens_of("not so, without effect")) == tokens_of("not so, without effect")


def test_a_number_below_a_limit_is_no_arrow() -> None:
    assert tokens_of("r <-0.3") == tokens_of("r 0.3")
    assert "inhibit" not in tokens_of("a | b - c")


def test_a_denied_change_without_a_direction_denies_both() -> None:
    (one,) = read("EGFR expression stays flat under simvastatin.")
    assert (one.negated, one.sense.any_change) == (True, True)
    assert {one.sense.type, *one.sense.accepts} == {EdgeType.UPREGULATES, EdgeType.DOWNREGULATES}


@pytest.mark.parametrize(
    ("text", "mutant"),
    [
        ("Simvastatin inhibits EGFR T790M.", "EGFR T790M"),
        ("Simvastatin inhibits the L858R mutant of EGFR.", "EGFR L858R"),
        ("Simvastatin inhibits mutant EGFR.", "mutant EGFR"),
        ("Simvastatin inhibits EGFR.", ""),
        ("TP53 R175H is associated with breast cancer.", ""),
    ],
)
def test_mutant_forms_are_named(text: str, mutant: str) -> None:
    assert [s.mutant for s in read(text)] == [mutant]


GENE, DRUG, DISEASE = NodeType.GENE, NodeType.DRUG, NodeType.DISEASE


@pytest.mark.parametrize(
    ("verb", "past"),
    [
        ("inhibits", "inhibited"),
        ("activates", "activated"),
        ("regulates", "regulated"),
        ("upregulates", "upregulated"),
        ("represses", "repressed"),
    ],
)
def test_active_and_passive_name_the_same_actor(verb: str, past: str) -> None:
    active = model().relation(tokens_of(f"{FIRST} {verb} {SECOND}"), GENE, GENE)[0]
    passive = model().relation(tokens_of(f"{FIRST} is {past} by {SECOND}"), GENE, GENE)[0]
    assert active.relation is passive.relation
    assert (active.subject, passive.subject) == (FIRST, SECOND)


def test_only_relations_that_types_allow_are_read() -> None:
    for first in NodeType:
        for second in NodeType:
            readings = model().relation(tokens_of(f"{FIRST} inhibits {SECOND}"), first, second)
            allowed = {*possible(first, second), *possible(second, first)}
            assert {r.relation for r in readings} <= allowed
            assert 0 <= sum(r.p for r in readings) <= 1 + 1e-6


def test_a_process_is_taken_part_in_whatever_the_word() -> None:
    assert sense_of(EdgeType.HAS_FUNCTION, GENE, NodeType.GO_TERM).type is EdgeType.INVOLVED_IN
    assert sense_of(EdgeType.INHIBITS, DRUG, NodeType.PATHWAY).type is EdgeType.RELATED_TO
    assert sense_of(EdgeType.INHIBITS, DRUG, GENE, [EdgeType.DOWNREGULATES, EdgeType.BINDS]).accepts == (
        EdgeType.DOWNREGULATES,
    )


def test_features_do_not_depend_on_the_names_of_entities() -> None:
    one, two = "Simvastatin, which treats hypertension, binds HMGCR.", "Metformin, which treats obesity, binds EGFR."
    made = [[c.tokens for c in SentenceParts(t, LINKER.link(t), 0).clauses()] for t in (one, two)]
    assert made[0] == made[1]
    assert tokens_of("over-expression, 12.5") == tokens_of("Overexpression, 7")


def test_both_ways_of_reading_a_clause_share_their_words() -> None:
    tokens = tokens_of(f"{FIRST} inhibits {SECOND}")
    there, back = (set(relation_features(tokens, mask, "gene>gene")) for mask in (FIRST, SECOND))
    assert there != back
    assert {"minhibit", "winhibit"} <= there & back


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(
    ["EGFR", "TP53", "simvastatin", "breast cancer", "and", "but", "not", ",", "which", "binds", "it", "while", "(", '"',
     "no", "than", ".", "raises", "in", ";", "liver", "neither", "nor", "@1", "{0}", "\\1", "?", "respectively"]),
    max_size=40))  # fmt: skip
def test_any_heap_of_words_is_read_without_fault(words: list[str]) -> None:
    for statement in read(" ".join(words)):
        assert statement.subject
        assert statement.object
        assert len(statement.mentions) == 2
