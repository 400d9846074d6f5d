"""How a tournament and its hypotheses are called on the screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from pages.parts.words import ShownState, counted, state

if TYPE_CHECKING:
    from engine.domain.discovery.hypotheses import Hypothesis, Standing, Tournament, TournamentView

STATUSES = {
    "finished": ShownState("Done", ":material/check_circle:", "green"),
    "paused": ShownState("Paused", ":material/pause_circle:", "orange"),
    "refused": ShownState("Refused", ":material/block:", "gray"),
}
"""States that runs do not have; the others are called as those of runs are."""
STAGES = {
    "planning": "Planning",
    "making": "Making hypotheses",
    "review": "Reviewing",
    "likeness": "Looking for what says the same",
    "ranking": "Comparing two by two",
    "tests": "Testing predictions",
    "meta-review": "Summing up the reviews",
    "evolution": "Rewriting the best",
}
VERDICTS = {
    "supported": ShownState("Supported by tests", ":material/check_circle:", "green"),
    "refuted": ShownState("Refuted by tests", ":material/cancel:", "red"),
    "untested": ShownState("Untested", ":material/science:", "gray"),
    "untestable_here": ShownState("Untestable here", ":material/science_off:", "gray"),
}
REFLECTIONS = {
    "already_explained": "what is known explains it already",
    "other_explanations_likelier": "other explanations are likelier",
    "missing_piece": "it would be a missing piece",
    "neutral": "the evidence does not decide",
    "disproved": "the evidence speaks against it",
}
_METHODS = {
    "debate": "from a debate",
    "literature": "from literature",
    "tools": "made with tools",
    "graph": "from the knowledge graph",
    "user": "given by a person",
    "evolved": "rewritten",
}


def status_of(tournament: Tournament) -> ShownState:
    """Return how a tournament's status is shown."""
    return STATUSES.get(tournament.status) or state(tournament.status)


def stage_of(tournament: Tournament) -> str:
    """Return the stage in words, with its round of rewriting."""
    name = STAGES.get(tournament.stage, tournament.stage.capitalize()) or "Waiting in line"
    return f"{name} (round {tournament.round})" if tournament.round else name


def origin_of(one: Hypothesis) -> str:
    """Return where a hypothesis comes from, in words."""
    if one.parents:
        return f"{(one.evolution or 'rewritten').replace('_', ' ')}, from {' and '.join(one.parents)}"
    return _METHODS[one.method] + (f" ({one.by})" if one.method == "user" and one.by else "")


def places_of(standings: Sequence[Standing]) -> dict[str, str]:
    """Return hypothesis -> its place, or the places it shares with those it cannot be told apart from: `1 to 4`."""
    places: dict[str, str] = {}
    before = 0
    competing = [one for one in standings if one.status == "competing"]
    for _, group in groupby(competing, key=lambda one: one.group):
        names = [one.hypothesis for one in group]
        said = str(before + 1) if len(names) == 1 else f"{before + 1} to {before + len(names)}"
        places |= dict.fromkeys(names, said)
        before += len(names)
    return places


def rating_of(one: Standing) -> str:
    """Return a standing in one line."""
    return (
        f"Rating {one.rating:.0f} ({one.low:.0f} to {one.high:.0f}, 90 %) · best {one.chance_best:.0%} · "
        f"top 3 {one.chance_top:.0%} · {one.wins:.3g} of {counted(one.matches, 'comparison')} won"
    )


def marked(view: TournamentView, kind: str, by: str | None = None) -> Mapping[str, int]:
    """Return hypothesis -> value of its newest mark of a kind, of one person where `by` names one."""
    marks = sorted((mark for mark in view.marks if mark.kind == kind), key=lambda mark: mark.at)
    return {mark.hypothesis: mark.value for mark in marks if by is None or mark.by == by}
