"""Reading sentences: which relation between which two entities, asserted or denied."""

from __future__ import annotations

import pytest
from claims_graph import small_graph
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.domain.knowledge import EdgeType, NodeType
from engine.knowledge.claims import Statement, statements
from engine.knowledge.claims_denials import frame_denials
from engine.knowledge.claims_directions import direction
from engine.knowledge.claims_frames import hedged, split_frame, tail_denies
from engine.knowledge.claims_predicates import classify
from engine.knowledge.linking import EntityLinker
from engine.text.sentences import split_sentences

LINKER = EntityLinker(small_graph())
G, D, C, X, A, S, E, P, K = (
    NodeType.GENE,
    NodeType.DRUG,
    NodeType.DRUG_CLASS,
    NodeType.DISEASE,
    NodeType.ANATOMY,
    NodeType.SYMPTOM,
    NodeType.SIDE_EFFECT,
    NodeType.PATHWAY,
    NodeType.GO_TERM,
)


def read(text: str) -> list[Statement]:
    return [statement for _, found in statements(text, LINKER.link(text)) for statement in found]


def short(text: str) -> list[str]:
    """`subject predicate object` of every statement, with `not` before a denied predicate."""
    lines = []
    for s in read(text):
        if s.subject is None or s.object is None or s.sense is None:
            lines.append("?")
            continue
        verb = ("not " if s.negated else "") + s.sense.type.value
        lines.append(f"{s.subject.options[0].name} {verb} {s.object.options[0].name}")
    return lines


UP, DOWN = EdgeType.UPREGULATES, EdgeType.DOWNREGULATES


@pytest.mark.parametrize(
    ("words", "first", "second", "kind"),
    [
        ("@1 pushes @2 transcription upwards", D, G, UP),
        ("@2 is switched on by @1", G, D, UP),
        ("an upswing in @1 message is what @2 produces", G, D, UP),
        ("@1 elicits @2 expression", D, G, UP),
        ("@1 is a positive regulator of @2 expression", D, G, UP),
        ("cells given @1 make more @2", D, G, UP),
        ("under @1, @2 rises", D, G, UP),
        ("@1 goes down under @2", G, D, DOWN),
        ("@1 brings @2 message down a notch", D, G, DOWN),
        ("@1 makes cells express @2 more weakly", D, G, DOWN),
        ("@1 quietens @2", D, G, DOWN),
        ("@1 raises rather than lowers @2", D, G, UP),
        ("@1 binds @2 with high affinity", D, G, EdgeType.BINDS),
        ("@1 is engaged by @2", G, D, EdgeType.BINDS),
        ("@1 is a @2 inhibitor", D, G, EdgeType.INHIBITS),
        ("@1 is metabolised by @2", D, G, EdgeType.BINDS),
        ("a fall in @1 message accompanies @2", G, X, DOWN),
        ("@1 samples show reduced @2 expression", X, G, DOWN),
        ("@1 transcripts are scarcer in @2 than in controls", G, X, DOWN),
        ("controls express less @1 than @2 samples", G, X, UP),
        ("normal tissue has more @1 than @2", G, X, DOWN),
        ("@1 variants raise the risk of @2", G, X, EdgeType.ASSOCIATED_WITH),
        ("variation in @1 has been linked to @2", G, X, EdgeType.ASSOCIATED_WITH),
        ("@1 belongs to the susceptibility genes of @2", G, X, EdgeType.ASSOCIATED_WITH),
        ("relative to other tissues, @1 is low in the @2", G, A, DOWN),
        ("other tissues express more @1 than the @2", G, A, DOWN),
        ("the @1 is rich in @2 transcripts", A, G, UP),
        ("@1 transcripts can be detected in the @2", G, A, EdgeType.EXPRESSED_IN),
        ("@1 message turns up in the @2", G, A, EdgeType.EXPRESSED_IN),
        ("@1 and @2 are interaction partners", G, G, EdgeType.INTERACTS_WITH),
        ("@1 and @2 are coexpressed", G, G, EdgeType.COVARIES_WITH),
        ("the evolutionary rates of @1 and @2 covary", G, G, EdgeType.COVARIES_WITH),
        ("@1 lies downstream of @2", G, G, EdgeType.REGULATES),
        ("@1 modifies the course of @2", D, X, EdgeType.TREATS),
        ("@1 does not respond to @2", X, D, EdgeType.TREATS),
        ("@1 takes the edge off @2", D, X, EdgeType.PALLIATES),
        ("@1 eases the symptoms of @2", D, X, EdgeType.PALLIATES),
        ("@1 is contraindicated in @2", D, X, EdgeType.CONTRAINDICATED_FOR),
        ("the label of @1 lists @2 among the adverse reactions", D, E, EdgeType.CAUSES),
        ("patients treated with @1 develop @2", D, E, EdgeType.CAUSES),
        ("@1 relieves @2", D, S, EdgeType.PALLIATES),
        ("@1 is a close analogue of @2", D, D, EdgeType.RESEMBLES),
        ("@1 presents with @2", X, S, EdgeType.PRESENTS),
        ("@1 localises to the @2", X, A, EdgeType.LOCATED_IN),
        ("one of the players in the @1 pathway is @2", P, G, EdgeType.INVOLVED_IN),
        ("the @1 product displays @2", G, K, EdgeType.INVOLVED_IN),
        ("@1 belongs to the @2", D, C, EdgeType.INCLUDES),
        ("@1 is engaged by @2", G, C, EdgeType.BINDS),
        ("@1 acts on the pathway @2", D, P, EdgeType.RELATED_TO),
    ],
)
def test_the_relation_follows_from_types_and_stems(
    words: str, first: NodeType, second: NodeType, kind: EdgeType
) -> None:
    sense = classify(words, first, second)
    assert sense is not None
    assert (sense.type, sense.recognised) == (kind, True)


@pytest.mark.parametrize(
    ("words", "kind", "reverse"),
    [
        ("@1 inhibits @2", EdgeType.INHIBITS, False),
        ("@2 is blocked by @1", EdgeType.INHIBITS, False),
        ("@1 is an inverse agonist of @2", EdgeType.INHIBITS, False),
        ("@1 is a partial agonist at @2", EdgeType.ACTIVATES, False),
        ("@1 prevents activation of @2", EdgeType.INHIBITS, False),
        ("@1 inhibits rather than activates @2", EdgeType.INHIBITS, False),
        ("@1 inhibits, not activates, @2", EdgeType.INHIBITS, False),
        ("@1, a kinase inhibitor, binds @2", EdgeType.BINDS, False),
        ("@1 inhibits or activates @2", EdgeType.BINDS, False),
        ("@2 inhibits @1", EdgeType.INHIBITS, True),
        ("@2 and @x activate @1", EdgeType.ACTIVATES, True),
        ("@1 is inhibited by @2", EdgeType.INHIBITS, True),
        ("inhibition of @1 by @2", EdgeType.INHIBITS, True),
    ],
)
def test_what_a_drug_does_to_a_protein_keeps_its_sign_and_who_acts(words: str, kind: EdgeType, reverse: bool) -> None:
    sense = classify(words, D, G)
    assert sense is not None
    assert (sense.type, sense.reverse) == (kind, reverse)


@pytest.mark.parametrize(
    ("text", "supposed"),
    [
        ("Does simvastatin inhibit HMGCR?", "asks"),
        ("Doesn't simvastatin inhibit HMGCR?", "asks"),
        ("We tested whether simvastatin inhibits HMGCR.", "asks"),
        ("If simvastatin inhibited HMGCR, it would show.", "supposes"),
        ("It would show if simvastatin inhibited HMGCR.", "supposes"),
        ("Had simvastatin inhibited HMGCR, it would have shown.", "supposes"),
        ("If I recall correctly, simvastatin inhibits HMGCR.", ""),
        ("It is as if simvastatin inhibits HMGCR.", ""),
    ],
)
def test_what_is_asked_or_supposed_is_marked_and_keeps_its_polarity(text: str, supposed: str) -> None:
    (one,) = read(text)
    assert (one.supposed, one.negated, one.hedged) == (supposed, False, bool(supposed))


@pytest.mark.parametrize(
    ("text", "mutant"),
    [
        ("Simvastatin inhibits EGFR T790M.", "EGFR T790M"),
        ("Simvastatin inhibits EGFR(p.Leu858Arg).", "EGFR p.Leu858Arg"),
        ("Simvastatin inhibits the L858R mutant of EGFR.", "EGFR L858R"),
        ("Simvastatin inhibits L858R-mutant EGFR.", "EGFR L858R"),
        ("Simvastatin inhibits EGFR carrying the T790M mutation.", "EGFR T790M"),
        ("Simvastatin inhibits mutant EGFR.", "mutant EGFR"),
        ("Simvastatin inhibits EGFR.", ""),
        ("TP53 R175H is associated with breast cancer.", ""),
    ],
)
def test_mutant_forms_are_named(text: str, mutant: str) -> None:
    assert [s.mutant for s in read(text)] == [mutant]


def test_without_a_cue_the_plainest_relation_is_assumed_and_said_so() -> None:
    sense = classify("@1 zzz @2", D, X)
    assert sense is not None
    assert (sense.type, sense.recognised) == (EdgeType.TREATS, False)
    assert classify("@1 zzz @2", E, A) is None


@pytest.mark.parametrize(
    ("words", "reverse"),
    [
        ("@1 regulates @2", False),
        ("@1 is regulated by @2", True),
        ("@1 is under the control of @2", True),
        ("@1 lies downstream of @2", True),
        ("@1 responds to @2", True),
        ("@1 changes when @2 is silenced", True),
        ("the regulation of @1 by @2 is documented", True),
        ("knockdown of @1 changes @2 expression", False),
        ("among the targets of @1 is @2", False),
        ("@1 is among the regulators of @2", False),
    ],
)
def test_who_regulates_whom(words: str, reverse: bool) -> None:
    sense = classify(words, G, G)
    assert sense is not None
    assert (sense.type, sense.reverse, sense.directed) == (EdgeType.REGULATES, reverse, True)


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("It cannot be denied that simvastatin binds HMGCR.", False),
        ("There is no doubt that simvastatin binds HMGCR.", False),
        ("It is no surprise that simvastatin binds HMGCR.", False),
        ("Nobody disputes that simvastatin binds HMGCR.", False),
        ("It would be wrong to deny that simvastatin binds HMGCR.", False),
        ("We cannot rule out that simvastatin binds HMGCR.", False),
        ("Simvastatin never fails to bind HMGCR.", False),
        ("I have not read the paper, but simvastatin binds HMGCR.", False),
        ("Although we had no time to check, simvastatin binds HMGCR.", False),
        ("Simvastatin may bind HMGCR, which is not how the topic came up.", False),
        ("We can rule out that simvastatin binds HMGCR.", True),
        ("There is no evidence that simvastatin binds HMGCR.", True),
        ("Simvastatin fails to bind HMGCR.", True),
        ("Simvastatin is unlikely to bind HMGCR.", True),
        ("By no means does simvastatin bind HMGCR.", True),
        ("The claim that simvastatin binds HMGCR is false.", True),
        ("That simvastatin binds HMGCR is a myth.", True),
        ("Simvastatin binds HMGCR, which is simply not true.", True),
        ("We were unable to confirm that simvastatin binds HMGCR.", True),
        ("HMGCR isn’t bound by simvastatin.", True),
    ],
)
def test_negation(text: str, denied: bool) -> None:
    assert [s.negated for s in read(text)] == [denied]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Simvastatin turns EGFR expression up, and it also shows clinical benefit in hypertension.",
            ["Simvastatin upregulates EGFR", "Simvastatin treats hypertension"],
        ),
        (
            "Simvastatin modifies the course of hypertension and does not bind PTGS1.",
            ["Simvastatin treats hypertension", "Simvastatin not binds PTGS1"],
        ),
        (
            "While breast cancer dampens CAT expression, it is accompanied by overexpression of EGFR as well.",
            ["breast cancer downregulates CAT", "breast cancer upregulates EGFR"],
        ),
        (
            "EGFR interacts with GRB2 and, according to the same table, has been implicated in lung cancer.",
            ["EGFR interacts_with GRB2", "EGFR associated_with lung cancer"],
        ),
        (
            "Simvastatin, which treats hypertension, binds HMGCR and lowers TNF expression.",
            ["Simvastatin treats hypertension", "Simvastatin binds HMGCR", "Simvastatin downregulates TNF"],
        ),
        ("Simvastatin binds HMGCR but not PTGS1.", ["Simvastatin binds HMGCR", "Simvastatin not binds PTGS1"]),
        (
            "Neither simvastatin nor metformin binds PTGS1.",
            ["Simvastatin not binds PTGS1", "Metformin not binds PTGS1"],
        ),
        (
            "Aspirin binds both PTGS1 and PTGS2.",
            ["Acetylsalicylic acid binds PTGS1", "Acetylsalicylic acid binds PTGS2"],
        ),
        (
            "Besides binding HMGCR, simvastatin treats hypertension.",
            ["Simvastatin binds HMGCR", "Simvastatin treats hypertension"],
        ),
        (
            "EGFR is over-expressed in breast cancer, whereas CAT is under-expressed in it.",
            ["breast cancer upregulates EGFR", "breast cancer downregulates CAT"],
        ),
        (
            "Simvastatin binds HMGCR. It also treats hypertension.",
            ["Simvastatin binds HMGCR", "Simvastatin treats hypertension"],
        ),
        (
            "EGFR is engaged by simvastatin, which also treats hypertension.",
            ["Simvastatin binds EGFR", "Simvastatin treats hypertension"],
        ),
        (
            "EGFR goes up under simvastatin, and the same drug treats hypertension.",
            ["Simvastatin upregulates EGFR", "Simvastatin treats hypertension"],
        ),
        (
            "EGFR goes up under simvastatin, is low in the brain and interacts with GRB2.",
            ["Simvastatin upregulates EGFR", "brain downregulates EGFR", "EGFR interacts_with GRB2"],
        ),
        (
            "EGFR interacts with GRB2, and TP53 takes part in the cell cycle.",
            ["EGFR interacts_with GRB2", "TP53 involved_in Cell cycle"],
        ),
        (
            "On the one hand simvastatin binds HMGCR, on the other hand it does not treat hypertension.",
            ["Simvastatin binds HMGCR", "Simvastatin not treats hypertension"],
        ),
        ("A fall in CAT message accompanies breast cancer.", ["breast cancer downregulates CAT"]),
        ("Simvastatin (DB00641) binds HMGCR (Entrez gene 3156).", ["Simvastatin binds HMGCR"]),
        (
            "EGFR, TP53 and GRB2 take part in the cell cycle.",
            ["EGFR involved_in Cell cycle", "TP53 involved_in Cell cycle", "GRB2 involved_in Cell cycle"],
        ),
        ("Simvastatin treats hypertension without binding PTGS1.", ["Simvastatin treats hypertension"]),
        ("Simvastatin leaves EGFR expression unchanged.", ["Simvastatin not upregulates EGFR"]),
        (
            "Unlike simvastatin, metformin does not inhibit HMGCR.",
            ["Metformin not inhibits HMGCR", "Simvastatin inhibits HMGCR"],
        ),
        (
            "Metformin, unlike simvastatin, does not inhibit HMGCR.",
            ["Metformin not inhibits HMGCR", "Simvastatin inhibits HMGCR"],
        ),
        ("HMGCR inhibits simvastatin.", ["HMGCR inhibits Simvastatin"]),
        ("IL6 represses p53.", ["IL6 inhibits TP53"]),
        ("Loss of inhibition of HMGCR by simvastatin was reported.", ["Simvastatin not inhibits HMGCR"]),
        ("Absence of HMGCR inhibition by simvastatin was reported.", ["Simvastatin not inhibits HMGCR"]),
        ("Loss of TP53 activates EGFR.", ["TP53 not activates EGFR"]),
        ("Loss of CAT expression is seen in breast cancer.", ["breast cancer downregulates CAT"]),
    ],
)
def test_claims_of_a_sentence(text: str, expected: list[str]) -> None:
    got = [line.replace("Cell Cycle", "Cell cycle") for line in short(text)]
    assert got == expected


def test_hedges_are_noted_and_leave_polarity_alone() -> None:
    (one,) = read("Several of us believe that simvastatin may bind HMGCR.")
    assert (one.hedged, one.negated) == (True, False)
    assert not read("Simvastatin binds HMGCR.")[0].hedged
    assert hedged("as far as i can tell ")
    assert not hedged("no transcripts could be detected in @1")


def test_sentences_end_at_full_stops_and_nowhere_else() -> None:
    text = "See Fig. 2 for p = 0.05, e.g. here. EGFR binds GRB2 (cf. Smith et al. 2001)! Is it so? Yes\n\n- one\n- two"
    assert [s.text for s in split_sentences(text)] == [
        "See Fig. 2 for p = 0.05, e.g. here.",
        "EGFR binds GRB2 (cf. Smith et al. 2001)!",
        "Is it so?",
        "Yes",
        ["- one", "- two"][0],
        "- two",
    ]
    for sentence in split_sentences(text):
        assert text[sentence.start : sentence.end] == sentence.text


def test_a_frame_is_told_from_the_claim() -> None:
    assert split_frame("taken together, this suggests that ")[:2] == (" this suggests ", "")
    assert split_frame("before we order anything: ")[:2] == ("", "")
    assert split_frame("the label of ")[:2] == ("", "the label of ")
    assert frame_denials("there is no evidence ") == 1
    assert frame_denials("there is no doubt ") % 2 == 0
    assert tail_denies(", which is not the case.")
    assert not tail_denies(" in the liver.")


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["raises", "boosts", "elevates", "increases", "upregulates", "enhances"]),
    st.sampled_from(["lowers", "reduces", "represses", "decreases", "downregulates", "dampens"]),
    st.sampled_from(["It seems that {}.", "In short: {}.", "{}, as the slide says.", "Nobody doubts that {}.", "{}"]),
)
def test_opposite_verbs_are_opposite_in_every_frame(up: str, down: str, frame: str) -> None:
    assert direction(f"@1 {up} @2") == -direction(f"@1 {down} @2") == 1
    for verb, kind in ((up, UP), (down, DOWN)):
        (one,) = read(frame.format(f"simvastatin {verb} EGFR expression"))
        assert one.sense is not None
        assert (one.sense.type, one.negated) == (kind, False)
        (no,) = read(f"There is no evidence that simvastatin {verb} EGFR expression.")
        assert no.negated


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(
    ["EGFR", "TP53", "simvastatin", "breast cancer", "and", "but", "not", ",", "which", "binds", "it", "while", "(", '"',
     "no", "than", ".", "raises", "in", ";", "liver", "neither", "nor", "@1", "{0}", "\\1"]), max_size=40))  # fmt: skip
def test_any_heap_of_words_is_read_without_fault(words: list[str]) -> None:
    for statement in read(" ".join(words)):
        assert statement.mentions
