"""Which strategy answers a question: what came with it first, then example tasks, then, in doubt, a fast model.

Strategies that this version does not carry out are routed to by name all the same, so that whoever asks for one is told
what is done instead and never gets a neighbour's answer unsaid.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from engine.asking.domains import domains_of
from engine.asking.route_model import shares
from engine.domain.profile import Profile
from engine.domain.results import Route, Strategy
from engine.errors import UserError
from engine.planning.choosing.choose import Embed
from engine.toolbox.analyses import ASIDE, chosen_parts, load_analyses

SURE = 0.75
"""Below this confidence a fast model is asked, where there is one."""
CLEAR = 0.9
"""From this likelihood on the wording is told of where files or a look-up decided otherwise."""
WAYS: dict[Strategy, str] = {
    "react": "a look-up of what is stored or known",
    "dag": "a checked plan of analysis steps",
    "mcts": "a search over many possible ways or candidates",
    "panel": "a summary by several specialists with sources",
    "tournament": "a tournament of new hypotheses",
}
"""Strategy -> what it gives, as it is said to people."""
HERE: frozenset[Strategy] = frozenset({"react", "dag", "mcts"})
"""What this version carries out."""
INSTEAD = (
    "This version answers with a checked plan of steps on data (dag), a look-up (react) or a search for links that may "
    "exist (mcts)."
)
_EFFORT: dict[Strategy, float] = {"react": 0.0, "dag": 0.0, "mcts": 0.4, "panel": 0.3, "tournament": 0.4}
"""What a strategy adds to the complexity of a task."""
_FIELD, _MOST_FIELDS = 0.3, 2
_STEP_WORDS = re.compile(r"\b(then|and then|after that|next|finally|also)\b|[;,?.]\s", re.IGNORECASE)


class SecondOpinion(Protocol):
    """A fast model that is asked where the examples leave doubt."""

    def __call__(self, question: str, ways: Mapping[Strategy, str], guess: Route) -> Route | None:
        """Return the route it takes for right (`method` is `model`), None when it cannot say.

        Args:
            question: what is asked.
            ways: strategy -> what it gives.
            guess: what the examples say.
        """
        ...


@dataclass(frozen=True, slots=True)
class Router:
    """Chooses the strategy of a question."""

    embed: Embed | None = None
    """Texts to unit vectors; without, words alone decide, a little less well."""
    second: SecondOpinion | None = None
    """Asked below `SURE`; what it cannot answer stays as the examples say."""

    def route(
        self,
        question: str,
        profiles: Sequence[Profile] = (),
        *,
        forced: str = "auto",
        told: bool = False,
        sought: bool = False,
        plans: bool = True,
    ) -> Route:
        """Return the strategy for a question with its reasons.

        Args:
            question: what is asked.
            profiles: the files that came with it.
            forced: the strategy that a person has chosen, or `auto`.
            told: whether a look-up answers it already.
            sought: whether a search for links that may exist answers it already.
            plans: False where it is known that no plan can be made of it on its files.
        """
        if forced != "auto":
            return by_name(question, forced, profiles)
        if sought:
            reasons = ["It asks for links that may exist, and the graph has what it names."]
            return _made(question, "mcts", profiles, confidence=0.95, method="heuristic", reasons=reasons)
        found = shares(question, self.embed)
        each: list[tuple[Strategy, float]] = [(way, found.strategies[way]) for way in WAYS]
        likely = sorted(each, key=lambda item: -item[1])
        strategy, sure, reasons = _by_evidence(likely, len(profiles), told=told, plans=plans)
        guess = _made(question, strategy, profiles, confidence=sure, method="heuristic", reasons=reasons)
        known = {name.replace("-", "_") for name in guess.domains}
        fields = sorted(((s, name) for name, s in found.fields.items() if name and s >= _FIELD), reverse=True)
        more = [name for _, name in fields[:_MOST_FIELDS] if name not in known]
        first, share = likely[0]
        worded = first if share >= CLEAR and first != strategy else None
        guess = guess.model_copy(update={"domains": [*guess.domains, *more], "worded_as": worded})
        if sure >= SURE or self.second is None:
            return guess
        return self.second(question, WAYS, guess) or guess


def _by_evidence(
    likely: list[tuple[Strategy, float]], files: int, *, told: bool, plans: bool
) -> tuple[Strategy, float, list[str]]:
    """Return the strategy, how sure it is and why: a look-up that answers, files that came, else the examples."""
    worded, share = likely[0]
    said = f"It is worded like tasks for {WAYS[worded]} ({share:.0%} of the likelihood)."
    if told:
        return "react", 0.95, ["It asks for what is stored or known, and that is there."]
    if not files or not plans:
        other = f"The next is {WAYS[likely[1][0]]} ({likely[1][1]:.0%})."
        return worded, share, [said, *([other] if share < SURE else [])]
    came = f"{files} data file{'s' if files != 1 else ''} came with it."
    if worded in ("react", "dag") or share < CLEAR:
        return "dag", 0.95, ["The question asks for an analysis of data, which a checked plan of steps answers.", came]
    return "dag", 0.6, [came, f"But it {said[3:]}"]


def by_name(question: str, strategy: str, profiles: Sequence[Profile] = ()) -> Route:
    """Return the route of a question whose strategy a person has chosen."""
    named = next(filter(strategy.__eq__, WAYS))
    return _made(question, named, profiles, confidence=1.0, method="forced", reasons=["It was asked for by name."])


def _made(
    question: str,
    strategy: Strategy,
    profiles: Sequence[Profile],
    *,
    confidence: float,
    method: Literal["heuristic", "forced"],
    reasons: list[str],
) -> Route:
    parts = 1 + len(_STEP_WORDS.findall(question.strip())) + sum(profile.best is not None for profile in profiles)
    steps = 1 if strategy == "react" else parts
    return Route(
        strategy=strategy,
        confidence=round(confidence, 2),
        method=method,
        reasons=reasons,
        complexity=round(min(1.0, 0.15 * steps + _EFFORT[strategy]), 2),
        estimated_steps=steps,
        domains=domains_of(question, profiles),
    )


def require_question(question: str, *, analysis: str = "", strategy: str = "auto") -> None:
    """Refuse what cannot be asked.

    Raises:
        UserError: for a question without a letter or a digit, an analysis that does not exist, or a strategy that this
            version does not have.
    """
    if not any(character.isalnum() for character in question):
        raise UserError("The question is empty.", advice="Ask in a sentence what you want to know of the data.")
    require_analysis(analysis)
    if strategy not in ("auto", *HERE):
        what = next((f" ({way})" for name, way in WAYS.items() if name == strategy), "")
        message = f"The strategy {strategy!r}{what} is not available in this version."
        own = " `biodesk hypotheses run` begins a tournament of hypotheses." if strategy == "tournament" else ""
        raise UserError(message, advice=f"{INSTEAD} Use --strategy auto, dag, react or mcts.{own}")


def require_analysis(analysis: str) -> None:
    """Refuse an analysis that does not exist; none at all is no such.

    Raises:
        UserError: when there is none of this id.
    """
    unknown = [name for name in chosen_parts(analysis) if name not in (*load_analyses(), ASIDE)]
    if not unknown:
        return
    analysis = unknown[0]
    close = ", ".join(difflib.get_close_matches(analysis, load_analyses(), n=3, cutoff=0.4))
    advice = f"Did you mean {close}?" if close else "`biodesk analyses` lists them."
    raise UserError(f"There is no analysis called {analysis[:100]!r}.", advice=advice)
