"""A tournament as a document: all of it in Markdown, its data as JSON, and one page of specific aims."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.domain.discovery.hypotheses import Hypothesis, HypothesisReview, Standing, TournamentView
from engine.text.prose import full_stop, one_line

AIMS = 3
"""So many aims a page has."""
BEST_TOLD = 10
"""So many hypotheses are told at length; the table has all."""


_WAYS = {True: ", as predicted", False: ", the other way than predicted", None: ""}


def markdown(view: TournamentView) -> str:
    """Return a tournament in Markdown: what can be said, the table, each of the best with its evidence and matches."""
    by_id = {one.id: one for one in view.hypotheses}
    state = view.tournament
    lines = [f"# {_cell(state.aims.goal)}", ""]
    lines += [
        f"Tournament {state.id}, {state.status}. {full_stop(state.stopped_by)} {state.calls:,} calls.".strip(),
        "",
    ]
    if state.plan:
        lines += ["## How it was gone about", "", state.plan, ""]
    lines += ["## What can be said", "", *(f"- {sentence}" for sentence in view.says), ""]
    lines += ["## Standings", "", *_table(view.standings, by_id), ""]
    for number, one in enumerate(best_of_each_idea(view, BEST_TOLD), start=1):
        lines += _told(view, one, by_id, number)
    for meta in view.meta_reviews[-1:]:
        lines += ["## What the reviews say together", "", full_stop(meta.summary), ""]
        for title in ("strengths", "weaknesses", "recurring_themes", "gaps", "recommendations"):
            lines += [
                f"**{title.replace('_', ' ').capitalize()}**",
                "",
                *(f"- {text}" for text in getattr(meta, title)),
                "",
            ]
    if view.skipped:
        lines += ["## Left out", "", *(f"- {one.stage}: {one.what}: {one.why}" for one in view.skipped), ""]
    return "\n".join(lines)


def aims_page(view: TournamentView) -> str:
    """Return one page of specific aims: the best hypotheses, one of each idea, and how sure their order is."""
    by_id = {one.id: one for one in view.hypotheses}
    lines = ["# Specific aims", "", full_stop(view.tournament.aims.goal), ""]
    for number, standing in enumerate(best_of_each_idea(view, AIMS), start=1):
        one = by_id[standing.hypothesis]
        lines += [f"## Aim {number}", "", f"**Hypothesis.** {full_stop(one.text)}", ""]
        told = (("Rationale", one.explanation), ("Approach", one.experiment))
        lines += [part for name, text in told if text for part in (f"**{name}.** {full_stop(text)}", "")]
        lines += unchecked(one) + _near(view, standing, by_id)
        for prediction in one.predictions[:2]:
            against = full_stop(prediction.contradicted_by)
            lines += [f"**Expected.** {full_stop(prediction.says)} Against it would speak: {against}", ""]
        lines += [f"**So far.** {_so_far(standing)}", ""]
    lines += ["## How sure this order is", "", *(f"- {sentence}" for sentence in view.says)]
    return "\n".join(lines) + "\n"


def data(view: TournamentView) -> str:
    """Return everything of a tournament as JSON."""
    return view.model_dump_json(indent=1) + "\n"


FORMS: dict[str, Callable[[TournamentView], str]] = {"md": markdown, "json": data, "aims": aims_page}
"""The forms of export."""


def best_of_each_idea(view: TournamentView, count: int) -> list[Standing]:
    """Return the best that compete, of each cluster one, so that no two winners are one idea."""
    taken: set[int] = set()
    found: list[Standing] = []
    for one in view.standings:
        if one.status != "competing" or (one.cluster and one.cluster in taken):
            continue
        taken.add(one.cluster)
        found.append(one)
    return found[:count]


def unchecked(one: Hypothesis) -> list[str]:
    """Return what must be known of words that rules did not make: they may name what does not exist."""
    if one.by in ("", "built-in") or one.method == "user" or not (one.explanation or one.experiment):
        return []
    return [f"*In the words of {one.by}: nothing of this was checked but what stands under evidence.*", ""]


def _table(standings: Sequence[Standing], by_id: dict[str, Hypothesis]) -> list[str]:
    head = ["| | rating | 90 % interval | best | top 3 | compared | won | tests | status | hypothesis |"]
    rows = [
        f"| {one.group} | {one.rating:.0f} | {one.low:.0f} to {one.high:.0f} | {one.chance_best:.0%} | "
        f"{one.chance_top:.0%} | {one.matches} | {one.wins:g} | {one.verdict.replace('_', ' ')} | {one.status} | "
        f"{one.hypothesis}: {_cell(by_id[one.hypothesis].text)} |"
        for one in standings
    ]
    note = "Hypotheses of one number in the first column cannot be told apart yet."
    return [*head, "|---|---|---|---|---|---|---|---|---|---|", *rows, "", note]


def _near(view: TournamentView, standing: Standing, by_id: dict[str, Hypothesis]) -> list[str]:
    """Return which others of the cluster are told in the table only, so that none is missed without a word."""
    others = [
        f"{one.hypothesis} (rating {one.rating:.0f}): {full_stop(one_line(by_id[one.hypothesis].text))}"
        for one in view.standings
        if one.status == "competing" and one.cluster and one.cluster == standing.cluster
        if one.hypothesis != standing.hypothesis
    ]
    return [f"Nearly the same idea, told in the table of standings only: {' '.join(others)}", ""] if others else []


def _told(view: TournamentView, standing: Standing, by_id: dict[str, Hypothesis], number: int) -> list[str]:
    one = by_id[standing.hypothesis]
    merged = {mark.hypothesis for mark in view.marks if mark.kind == "merge" and mark.into == one.id}
    family = [other for other in view.hypotheses if other.id == one.id or other.id in merged]
    lines = [f"## {number}. {_cell(one.text)}", "", f"{one.id}, {_origin(one)}. {_so_far(standing)}", ""]
    lines += [part for text in (one.explanation, one.experiment) if text for part in (full_stop(text), "")]
    lines += unchecked(one) + _near(view, standing, by_id)
    evidence = [item for member in family for item in member.support]
    lines += [
        f"- {item.speaks}: {full_stop(item.says)}{f' ({item.source})' if item.source else ''}" for item in evidence
    ]
    for prediction in one.predictions:
        lines.append(f"- predicts: {full_stop(prediction.says)} Against it: {full_stop(prediction.contradicted_by)}")
    for test in view.tests:
        if test.hypothesis in {member.id for member in family}:
            result = f"p = {test.p:.3g}{_WAYS[test.as_predicted]}" if test.p is not None else full_stop(test.why)
            lines.append(f"- tested: prediction {test.prediction + 1}, {result} (run {test.run or 'none'})")
    if newest := _newest(view.reviews, one.id):
        scores = ", ".join(f"{name.replace('_', ' ')} {score}" for name, score in newest.scores.items())
        lines.append(f"- review: {scores}. {full_stop(newest.summary)}".rstrip())
    for match in view.matches:
        if one.id in (match.first, match.second):
            other = match.second if match.first == one.id else match.first
            won = match.score if match.first == one.id else 1 - match.score
            word = "won" if won > 0.5 else "lost" if won < 0.5 else "tied"
            lines.append(f"- {word} against {other}: {full_stop(match.reason) or 'no reason given.'}")
    return [*lines, ""]


def _newest(reviews: Sequence[HypothesisReview], hypothesis: str) -> HypothesisReview | None:
    own = [review for review in reviews if review.hypothesis == hypothesis]
    return max(own, key=lambda review: review.round, default=None)


def _origin(one: Hypothesis) -> str:
    if one.parents:
        return f"made from {' and '.join(one.parents)} ({(one.evolution or 'rewritten').replace('_', ' ')})"
    return "given by a user" if one.method == "user" else f"made by {one.method}"


def _so_far(one: Standing) -> str:
    return (
        f"Rating {one.rating:.0f} ({one.low:.0f} to {one.high:.0f}), won {one.wins:g} of {one.matches} comparisons, "
        f"best with a chance of {one.chance_best:.0%}; tests: {one.verdict.replace('_', ' ')}."
    )


def _cell(text: str) -> str:
    return one_line(text).replace("|", "\\|")
