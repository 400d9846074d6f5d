"""What a negation reaches: frames that deny and frames that do not, insertions, remarks, and the clauses of a sentence."""

from __future__ import annotations

import pytest
from claims_graph import small_graph
from engine.knowledge.claims_asides import without_asides
from engine.knowledge.claims_denials import correction, frame_denials, remark_denies
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.knowledge.claims import Statement, statements
from engine.knowledge.grounding.check import check_text
from engine.knowledge.linking.linker import EntityLinker

VIEW = small_graph()
LINKER = EntityLinker(VIEW)


def read(text: str) -> list[Statement]:
    return [s for _, found in statements(text, LINKER.link(text)) for s in found if s.sense is not None]


def short(text: str) -> list[str]:
    """`subject predicate object` of every statement about a pair, with `not` before a denied predicate."""
    lines: list[str] = []
    for s in read(text):
        assert s.subject is not None
        assert s.object is not None
        assert s.sense is not None
        verb = ("not " if s.negated else "") + s.sense.type.value
        lines.append(f"{s.subject.options[0].name} {verb} {s.object.options[0].name}")
    return lines


CLAIMS = (
    ("simvastatin binds HMGCR", "Simvastatin binds HMGCR"),
    ("EGFR is overexpressed in breast cancer", "breast cancer upregulates EGFR"),
    ("EGFR interacts with GRB2", "EGFR interacts_with GRB2"),
    ("CAT is not expressed in the liver", "CAT not expressed_in liver"),
    ("metformin fails to bind PTGS1", "Metformin not binds PTGS1"),
)
"""A claim and what is read when it stands alone."""


def denied(line: str) -> str:
    subject, *rest = line.split(" not ") if " not " in line else [line]
    if rest:
        return f"{subject} {rest[0]}"
    for verb in ("binds", "upregulates", "interacts_with", "expressed_in"):
        line = line.replace(f" {verb} ", f" not {verb} ")
    return line


def in_frame(frame: str, claim: str) -> str:
    return frame.replace("{s}", claim).replace("{S}", claim[0].upper() + claim[1:])


NEUTRAL = (
    "Nobody here was born yesterday: {s}.",
    "There is nothing new in the observation that {s}.",
    "It is not my habit to repeat that {s}.",
    "I can think of no better summary than that {s}.",
    "The reviewers did not object when we wrote that {s}.",
    "We lacked the space to explain why, but {s}.",
    "It is not by chance that {s}.",
    "Were it not for the blot one might overlook that {s}.",
    "The old review omits that {s}.",
    "Our competitors were not pleased to read that {s}.",
    "None of this alters the fact that {s}.",
    "Don't tell anyone, but {s}.",
    "{S}, despite no change in weight.",
    "{S}, a finding not mentioned in the abstract.",
    "{S}, and the controls were negative.",
    "{S}, which is not to say that this matters in the clinic.",
    "{S}; none of the other compounds was tried.",
    "{S}, unless the antibody is wrong.",
    "{S}, only nobody looked before.",
    "{S} (no conflict of interest was declared).",
    "{S}, in contrast to what was never more than a rumour.",
    "{S}, whatever the sceptics say.",
    "It took nobody by surprise that {s}.",
    "I have no quarrel with the statement that {s}.",
    "We are not the first to report that {s}.",
    "This is not the place to discuss why, but {s}.",
    "No one who has read the label will be astonished that {s}.",
    "It did not take long to see that {s}.",
    "The committee did not hesitate to accept that {s}.",
    "You need not be an expert to see that {s}.",
    "There can be no question that {s}.",
    "We never tire of repeating that {s}.",
    "I forgot to tell you that {s}.",
    "They do not mention the dose, only that {s}.",
    "It has not escaped our notice that {s}.",
    "It is not without reason that people say that {s}.",
    "One should not forget that {s}.",
    "Not for nothing do textbooks say that {s}.",
    "Not long ago we learnt that {s}.",
    "She did not know that {s}.",
    "We were unaware that {s}.",
    "We had no idea that {s}.",
    "The poster failed to make clear that {s}.",
    "It is no longer news that {s}.",
    "It is little known that {s}.",
    "We did not have to wait long to learn that {s}.",
    "Nobody told us that {s}.",
    "Unfortunately the abstract does not make plain that {s}.",
    "Without going into detail, {s}.",
    "No offence meant, but {s}.",
    "Not to put too fine a point on it, {s}.",
    "In the absence of better data we note that {s}.",
    "With no controls to speak of, they showed that {s}.",
    "{S}, with no sign of toxicity.",
    "{S}, without much ado.",
    "{S}, though nobody knows why.",
    "{S}; the mechanism is not understood.",
    "{S} - the reason is unknown and not our topic.",
    "{S} (no p value given).",
    "{S} [not peer-reviewed].",
    "{S}, but do not quote me on that.",
    "{S}, and we see no reason to doubt it.",
    "{S}, which cannot be a coincidence.",
    "{S}, which is not in dispute.",
    "{S}, yet few people know it.",
    "{S}, but not strongly.",
    "{S}, but no more than that.",
    "{S}, if not in every patient.",
    "{S} even though the sample was not large.",
    "{S} although no replicate was run.",
    "{S}, albeit not at the lowest dose.",
    "{S}, never mind the details.",
    "{S}, as could hardly be otherwise.",
    "{S}, so the absence of an effect in fish is odd.",
    "{S}: not a new result.",
    "{S}, while the placebo did nothing.",
    "{S}, as expected, with reduced side effects.",
    "{S}, and nothing else was tested.",
    "{S}, or so it is said, without proof.",
    "{S}, no strings attached.",
    "{S}, with little variation between donors.",
)
DENYING = (
    "Experts reject the notion that {s}.",
    "Not a single paper supports the view that {s}.",
    "The evidence does not bear out the suggestion that {s}.",
    "There is no truth in the rumour that {s}.",
    "The hypothesis that {s} was not confirmed.",
    "It has been ruled out that {s}.",
    "We found no indication whatsoever that {s}.",
    "It is unlikely that {s}.",
    "Attempts to prove that {s} failed.",
    "One must not assume that {s}.",
    "The assertion that {s} lacks any foundation.",
    "No one has managed to demonstrate that {s}.",
    "{S}, they wrote, but later they retracted it.",
    "{S} - a claim that has been debunked.",
    "Contrary to the rumour that {s}, no effect was seen.",
    "It is simply not so that {s}.",
    "No study so far has been able to show that {s}.",
    "Nobody in our field believes that {s}.",
    "It has never been demonstrated that {s}.",
    "There is precious little evidence that {s}.",
    "Three trials failed to demonstrate that {s}.",
    "We could not reproduce the finding that {s}.",
    "The idea that {s} has been abandoned as false.",
    "The claim that {s} does not hold water, let alone is it true.",
    "The suggestion that {s} could not be confirmed.",
    "The belief that {s} is unfounded.",
    "The statement that {s} is not supported by any data.",
    "The theory that {s} has since been refuted.",
    "That {s} is pure fiction.",
    "That {s} has never been shown.",
    "{S}, or so we thought; this has been disproved.",
    "{S}, it was claimed, but the claim was retracted.",
    "{S}, which turned out to be wrong.",
    "{S}, but that is not true.",
    "It is wrong to think that {s}.",
    "It would be a mistake to conclude that {s}.",
    "We doubt that {s}.",
    "They deny that {s}.",
    "One cannot conclude that {s}.",
    "Nothing in these data supports the view that {s}.",
    "We see no reason to believe that {s}.",
    "The authors retracted their claim that {s}.",
    "It does not follow from this that {s}.",
    "Little speaks for the view that {s}, and the data contradict it.",
    "We are not convinced that {s}.",
    "It is not the case that {s}.",
    "The results are incompatible with the hypothesis that {s}.",
    "It is by no means true that {s}.",
    "In no way do our results show that {s}.",
)
INSERTED = (
    ", not for the first time,",
    ", to nobody's surprise,",
    " (n = 4; none excluded)",
    " [no blinding]",
    ", though not at every dose,",
    ", which had not been expected,",
    " - no other drug was tried - ",
    ", despite the lack of controls,",
    ", for reasons not yet clear,",
    ", and that is no news,",
)


@pytest.mark.parametrize("frame", NEUTRAL)
def test_a_negation_about_something_else_leaves_the_claim_as_it_is(frame: str) -> None:
    for claim, line in CLAIMS:
        assert short(in_frame(frame, claim)) == [line]


@pytest.mark.parametrize("frame", DENYING)
def test_a_frame_of_denial_turns_the_claim(frame: str) -> None:
    for claim, line in CLAIMS:
        assert short(in_frame(frame, claim)) == [denied(line)]


@pytest.mark.parametrize("aside", INSERTED)
def test_what_is_inserted_is_not_the_claim(aside: str) -> None:
    for claim, line in CLAIMS:
        subject, rest = claim.split(" ", 1)
        assert short(f"{subject[0].upper()}{subject[1:]}{aside} {rest}.".replace("  ", " ")) == [line]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(DENYING), st.sampled_from(NEUTRAL), st.sampled_from(CLAIMS))
def test_a_denial_is_the_opposite_of_the_same_claim_in_any_neutral_frame(
    deny: str, neutral: str, claim: tuple[str, str]
) -> None:
    words = claim[0]
    (no,), (yes,) = read(in_frame(deny, words)), read(in_frame(neutral, words))
    assert yes.negated is not no.negated


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Simvastatin inhibits HMGCR, however metformin does not target PTGS1.",
         ["Simvastatin inhibits HMGCR", "Metformin not binds PTGS1"]),
        ("Simvastatin inhibits HMGCR while metformin does not.",
         ["Simvastatin inhibits HMGCR", "Metformin not inhibits HMGCR"]),
        ("Simvastatin inhibits HMGCR; metformin, in contrast, does not.",
         ["Simvastatin inhibits HMGCR", "Metformin not inhibits HMGCR"]),
        ("Pravastatin binds HMGCR and so does simvastatin.", ["Pravastatin binds HMGCR", "Simvastatin binds HMGCR"]),
        ("Metformin does not bind HMGCR, but simvastatin does.",
         ["Metformin not binds HMGCR", "Simvastatin binds HMGCR"]),
        ("TP53 was not associated with breast cancer; simvastatin, which binds HMGCR, treats hypertension.",
         ["TP53 not associated_with breast cancer", "Simvastatin binds HMGCR", "Simvastatin treats hypertension"]),
        ("Simvastatin, but not metformin, is used to treat hypertension.",
         ["Simvastatin treats hypertension", "Metformin not treats hypertension"]),
        ("EGFR and CAT were raised and lowered, respectively, in breast cancer.",
         ["breast cancer upregulates EGFR", "breast cancer downregulates CAT"]),
        ("Simvastatin and aspirin bind HMGCR and PTGS1, respectively.",
         ["Simvastatin binds HMGCR", "Acetylsalicylic acid binds PTGS1"]),
        ("Simvastatin is an old drug. It binds HMGCR. The drug is prescribed for hypertension.",
         ["Simvastatin binds HMGCR", "Simvastatin treats hypertension"]),
        ("Simvastatin is an old drug. It binds HMGCR and treats hypertension.",
         ["Simvastatin binds HMGCR", "Simvastatin treats hypertension"]),
        ("Although TP53 is not expressed in the liver, it is associated with breast cancer.",
         ["TP53 not expressed_in liver", "TP53 associated_with breast cancer"]),
        ("EGFR is not associated with hypertension, whereas it is induced by simvastatin.",
         ["EGFR not associated_with hypertension", "Simvastatin upregulates EGFR"]),
        ("Simvastatin binds HMGCR\u2026 Metformin treats type 2 diabetes mellitus.",
         ["Simvastatin binds HMGCR", "Metformin treats type 2 diabetes mellitus"]),
    ],
)  # fmt: skip
def test_clauses_lists_and_pronouns(text: str, expected: list[str]) -> None:
    assert short(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Rather than inducing TNF, simvastatin represses it.", ["Simvastatin downregulates TNF"]),
        ("It is not true that simvastatin does not affect TNF; it lowers its expression.",
         ["Simvastatin downregulates TNF"]),
        ("It would be an error to deny that simvastatin treats hypertension.", ["Simvastatin treats hypertension"]),
        ("Our data refute an interaction of EGFR with GRB2.", ["EGFR not interacts_with GRB2"]),
        ("An interaction of EGFR with GRB2 has been disproved.", ["EGFR not interacts_with GRB2"]),
        ("The liver is negative for EGFR.", ["EGFR not expressed_in liver"]),
        ("Simvastatin does not, as some claim, bind PTGS1.", ["Simvastatin not binds PTGS1"]),
        ("Simvastatin was said to bind PTGS1, but it does not.", ["Simvastatin not binds PTGS1"]),
        ("Simvastatin was tested against PTGS1, but it did not inhibit it.", ["Simvastatin not inhibits PTGS1"]),
        ("IL6 expression is independent of TP53.", ["TP53 not regulates IL6"]),
        ("EGFR is unaffected by TP53.", ["TP53 not regulates EGFR"]),
        ("Simvastatin brings about remission in hypertension.", ["Simvastatin treats hypertension"]),
        ("Jaundice limits the use of metformin.", ["Metformin causes Jaundice"]),
        ("Metformin is notorious for jaundice.", ["Metformin causes Jaundice"]),
        ("Metformin gave two patients jaundice.", ["Metformin causes Jaundice"]),
    ],
)  # fmt: skip
def test_denials_and_verbs_within_a_claim(text: str, expected: list[str]) -> None:
    assert short(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Our colleague from the liver group noted that EGFR interacts with GRB2.", ["EGFR interacts_with GRB2"]),
        ("In patients treated with metformin, simvastatin binds HMGCR.", ["Simvastatin binds HMGCR"]),
        ("As for TNF, nothing is new; but simvastatin binds HMGCR.", ["Simvastatin binds HMGCR"]),
        ("If memory serves, simvastatin binds HMGCR.", ["Simvastatin binds HMGCR"]),
        ("In lung cancer, EGFR interacts with GRB2.", ["EGFR interacts_with GRB2"]),
        ("In breast cancer, EGFR is up and CAT is down.",
         ["breast cancer upregulates EGFR", "breast cancer downregulates CAT"]),
        ("In the liver, EGFR and CAT are raised.", ["liver upregulates EGFR", "liver upregulates CAT"]),
        ("Under simvastatin, EGFR goes up and TNF goes down.",
         ["Simvastatin upregulates EGFR", "Simvastatin downregulates TNF"]),
    ],
)  # fmt: skip
def test_an_entity_of_the_frame_takes_no_part_and_one_of_the_claim_does(text: str, expected: list[str]) -> None:
    assert short(text) == expected


@pytest.mark.parametrize(
    ("text", "predicate", "label"),
    [
        ("IL6 is prescribed for hypertension.", "treats", "ungrounded"),
        ("TP53 treats breast cancer.", "treats", "ungrounded"),
        ("Breast cancer is treated with TP53.", "treats", "ungrounded"),
        ("Aspirin treats PTGS1.", "treats", "ungrounded"),
        ("Metformin causes type 2 diabetes mellitus.", "causes", "ungrounded"),
        ("Cells treated with simvastatin express more EGFR.", "upregulates", "grounded"),
    ],
)
def test_the_relation_that_is_named_is_the_one_that_is_judged(text: str, predicate: str, label: str) -> None:
    (claim,) = check_text(text, VIEW, LINKER).claims
    assert (claim.predicate, claim.label) == (predicate, label)


def test_what_the_graph_states_instead_is_told() -> None:
    (claim,) = check_text("Metformin causes type 2 diabetes mellitus.", VIEW, LINKER).claims
    assert "what the graph states is that Metformin treats type 2 diabetes mellitus" in claim.why


@pytest.mark.parametrize(
    ("text", "asks"),
    [("Simvastatin binds HMGCR???", ""), ("Does simvastatin bind HMGCR???", "asks"), ("Is that so? Yes.", None)],
)
def test_several_question_marks_make_no_question_of_a_statement(text: str, asks: str | None) -> None:
    assert [s.supposed for s in read(text)] == ([] if asks is None else [asks])


def test_denials_are_counted_where_they_govern() -> None:
    assert frame_denials("nobody has ever shown ") == 1
    assert frame_denials("we were glad that nobody asked, and note ") == 0
    assert frame_denials("it cannot be excluded ") % 2 == 0
    assert remark_denies(", but this was later refuted.")
    assert not remark_denies(", but this was never refuted.")
    assert not remark_denies(", but this was not known before.")
    assert correction("; it lowers its expression.") == "@1 lowers @2  expression"
    assert correction("; nothing else is known.") is None


@settings(max_examples=80, deadline=None)
@given(st.text(alphabet="ab ,;()[]-\u2014not", max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_blanking_keeps_length_and_entities(text: str, a: int, b: int) -> None:
    start, stop = sorted((min(a, len(text)), min(b, len(text))))
    got = without_asides(text, [(start, stop)], lambda shorter: len(shorter) > 5)
    assert len(got) == len(text)
    assert got[start:stop] == text[start:stop]
    assert all(new in (old, " ") for new, old in zip(got, text, strict=True))
