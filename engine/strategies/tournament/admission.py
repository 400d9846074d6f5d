"""What a tournament can be asked for: said in one sentence before any work when it cannot."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.domain.base import Value
from engine.domain.discovery.hypotheses import Aims, Bounds
from engine.errors import UserError
from engine.strategies.tournament.cast import Cast
from engine.strategies.tournament.stages.making import MOST_SIGNS, allocation
from engine.text.letters import plain
from engine.text.negation import NEGATORS
from engine.text.prose import listed, one_line, quoted

MOST_SEEDS = 200
"""Hypotheses that a user may bring: each is reviewed and compared a few times."""
MOST_GOAL = 5_000
MOST_LITERATURE = 2_000_000
"""Signs of a goal, and of all literature that is given."""
_CARRIERS = frozenset("do does use using be is are must should the a an any with include including only".split())


class CallsExpected(Value):
    """About how many calls of judges and models a tournament takes at most, by what for."""

    making: int
    review: int
    ranking: int
    meta_review: int
    evolution: int
    checks: int
    """Texts that a model reads for harm, and hypotheses of a person that it reads for what they assert."""
    total: int


def admitted(aims: Aims, cast: Cast) -> Aims:
    """Return the aims with blanks taken from their ends, empty texts left out and equal hypotheses once.

    Raises:
        UserError: for a goal that says nothing, asks for harm or is too long, for constraints that contradict each
            other, for too much, and where nobody can make a hypothesis and none is given.
    """
    tidy = {
        name: list(dict.fromkeys(filter(None, (text.strip() for text in getattr(aims, name)))))
        for name in ("attributes", "constraints", "seeds", "literature")
    }
    aims = aims.model_copy(update={"goal": one_line(aims.goal), "preferences": aims.preferences.strip(), **tidy})
    _require_goal(aims.goal, cast)
    _require_agreement(aims.constraints)
    _require_seeds(aims.seeds, cast)
    if sum(map(len, aims.literature)) > MOST_LITERATURE:
        raise UserError(
            f"The literature has more than {MOST_LITERATURE:,} signs.", advice="Give the parts that matter."
        )
    if not cast.makers and not aims.seeds:
        raise UserError(
            "There is nothing that could make hypotheses: no knowledge graph, no model, and none of yours.",
            advice="Give hypotheses of your own, import a graph (`biodesk kg import`), or name a model.",
        )
    if not aims.seeds:
        cast.reads(aims)
    return aims


def expected(aims: Aims, bounds: Bounds, cast: Cast) -> CallsExpected:
    """Return about how many calls a tournament takes at most, before any is made.

    A debate counts its turns, and so do look-ups; every other hypothesis, review of one, comparison, rewriting counts
    one. Where models are asked, the goal and each hypothesis are read for harm, and a person's for what it asserts.
    """
    shares = zip(cast.makers, allocation(bounds.hypotheses, len(cast.makers)), strict=True)
    making = sum(count * (bounds.debate_turns if maker.method in ("debate", "tools") else 1) for maker, count in shares)
    first = len(aims.seeds) + (bounds.hypotheses if cast.makers else 0)
    rounds = bounds.iterations if cast.evolver is not None else 0
    later = rounds * bounds.evolve
    together = cast.reviewer.together
    review = 1 if together and first <= bounds.batch_review else first
    review += rounds if together and bounds.evolve <= bounds.batch_review else later
    ranking = round(bounds.matches_each * (first + later))
    extra = (cast.supervisor is not None) + (cast.literature is not None)
    meta = bounds.iterations if cast.meta_reviewer is not None else 0
    checks = 1 + first + later + len(aims.seeds) if cast.spent is not None else 0
    total = making + review + ranking + meta + later + extra + checks
    return CallsExpected(
        making=making, review=review, ranking=ranking, meta_review=meta, evolution=later, checks=checks,
        total=min(total, bounds.calls) if bounds.calls else total,
    )  # fmt: skip


def require_hypothesis(text: str, cast: Cast) -> str:
    """Return a user's hypothesis on one line.

    Raises:
        UserError: when it is no sentence, a whole document, or asks for harm.
    """
    text = one_line(text)
    if len(text.split()) < 2:
        raise UserError(f"{quoted(text)} is no hypothesis.", advice="Write one or two sentences that could be wrong.")
    if len(text) > MOST_SIGNS:
        raise UserError(
            f"The hypothesis that begins {text[:40]!r} has {len(text):,} signs; at most {MOST_SIGNS:,} are taken.",
            advice="Write its claim in one or two sentences; the rest can be given as literature.",
        )
    if why := cast.refuses(text):
        raise UserError(why)
    return text


def _require_goal(goal: str, cast: Cast) -> None:
    if not goal:
        raise UserError("A tournament needs a goal.", advice="Say in a sentence what you want to find out.")
    if len(goal.split()) < 2:
        raise UserError(
            f"{quoted(goal)} is a word and no goal.", advice="Say in a sentence what you want to find out about it."
        )
    if len(goal) > MOST_GOAL:
        raise UserError(
            f"The goal has {len(goal):,} signs; at most {MOST_GOAL:,} are taken.",
            advice="Say it in a few sentences and give the rest as literature.",
        )
    if why := cast.refuses(goal):
        raise UserError(why)


def _require_agreement(constraints: Sequence[str]) -> None:
    """Refuse constraints of which one is the other denied."""
    said: dict[frozenset[str], tuple[bool, str]] = {}
    for text in constraints:
        words = re.findall(r"\w+", plain(text).replace("n't", " not").replace("avoid", "not").replace("exclude", "not"))
        denied = sum(word in NEGATORS for word in words) % 2 == 1
        core = frozenset(words) - NEGATORS - _CARRIERS
        before = said.setdefault(core, (denied, text))
        if core and before[0] != denied:
            raise UserError(
                f"Two constraints contradict each other: {listed([quoted(before[1]), quoted(text)])}.",
                advice="Leave out one of them.",
            )


def _require_seeds(seeds: Sequence[str], cast: Cast) -> None:
    if len(seeds) > MOST_SEEDS:
        raise UserError(
            f"{len(seeds):,} hypotheses of your own are more than a tournament takes, which is {MOST_SEEDS}.",
            advice="Give the most promising, or make several tournaments.",
        )
    for text in seeds:
        require_hypothesis(text, cast)
