"""What a model is shown of a tournament: goal, hypotheses, reviews and lessons as plain text, each within bounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.domain.discovery.hypotheses import Aims, Hypothesis, HypothesisReview, MetaReview
from engine.strategies.tournament.bridges.at_hand import DataAtHand
from engine.strategies.tournament.roles import Guidance
from engine.text.prose import one_line

MOST_EVIDENCE, MOST_EXISTING = 8, 40
LONGEST, LONGEST_TEXTS, LONGEST_LOOK_UPS, LONGEST_FILES = 1_200, 24_000, 8_000, 8_000
"""Characters of one text, of all literature together, of all look-ups and of all files, that are shown."""


def wishes(aims: Aims) -> str:
    """Return preferences, attributes and constraints, one a line."""
    given = [("Preferred", aims.preferences), *(("Should", text) for text in aims.attributes)]
    given += [("Must", text) for text in aims.constraints]
    return "\n".join(f"{name}: {cut(text)}" for name, text in given if text.strip())


def literature(aims: Aims, guidance: Guidance) -> str:
    """Return the texts that there are, as much of each as fits."""
    texts = [text for text in (*aims.literature, guidance.literature) if text.strip()]
    share = LONGEST_TEXTS // max(1, len(texts))
    return "\n\n".join(text.strip()[:share] for text in texts)


def files(at_hand: DataAtHand) -> str:
    """Return what the data at hand hold, as much as fits."""
    return at_hand.described.strip()[:LONGEST_FILES]


def lessons(found: MetaReview | None) -> str:
    """Return what a meta-review teaches."""
    if found is None:
        return ""
    parts = [("Good", found.strengths), ("Weak", found.weaknesses), ("Not looked at", found.gaps)]
    parts += [("Do", found.recommendations)]
    return "\n".join(f"{name}: {cut(' '.join(lines))}" for name, lines in parts)


def existing(guidance: Guidance) -> str:
    """Return the newest of what exists, one a line."""
    return "\n".join(f"- {cut(text)}" for text in guidance.avoid[-MOST_EXISTING:])


def hypothesis(one: Hypothesis, reviews: Iterable[HypothesisReview] = ()) -> str:
    """Return a hypothesis with mechanism, evidence, predictions and what reviews say of it."""
    lines = [cut(one.text), f"Mechanism: {cut(one.explanation)}", f"Experiment: {cut(one.experiment)}"]
    lines += [f"Evidence {item.speaks} ({cut(item.source)}): {cut(item.says)}" for item in one.support[:MOST_EVIDENCE]]
    lines += [
        f"Predicts: {cut(made.says)} Contradicted by: {cut(made.contradicted_by)}" for made in one.predictions[:5]
    ]
    for review in reviews:
        if review.hypothesis == one.id:
            scores = ", ".join(f"{name} {score}" for name, score in review.scores.items())
            lines.append(f"Review: {scores}. {cut(review.summary)} {cut(review.advice)}")
    return "\n".join(line for line in lines if not line.endswith(": "))


def numbered(hypotheses: Sequence[Hypothesis], reviews: Iterable[HypothesisReview] = ()) -> str:
    """Return hypotheses with numbers from 1, by which a model names them."""
    known = list(reviews)
    return "\n\n".join(f"Number {n}: {hypothesis(one, known)}" for n, one in enumerate(hypotheses, start=1))


def look_ups(hypotheses: Sequence[Hypothesis]) -> str:
    """Return what was looked up in the graph for hypotheses, by their numbers, as much of each as fits."""
    found = [(n, one.transcript) for n, one in enumerate(hypotheses, start=1) if one.method == "tools"]
    share = LONGEST_LOOK_UPS // max(1, len(found))
    return "\n\n".join(f"For number {n}:\n{text.strip()[:share]}" for n, text in found if text.strip())


def cut(text: str) -> str:
    """Return a text on one line, its beginning where it is long."""
    line = one_line(text)
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}..."
