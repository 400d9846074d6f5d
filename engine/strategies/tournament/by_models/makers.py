"""Models that make hypotheses: in a debate, from texts, and from look-ups in the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pydantic import Field

from engine.domain.base import Value
from engine.domain.discovery.hypotheses import Aims, Method
from engine.errors import ModelUnavailable
from engine.knowledge.claims.relations import told_possible
from engine.strategies.tournament.bridges.at_hand import DataAtHand
from engine.strategies.tournament.bridges.placing import Placing
from engine.strategies.tournament.by_models import shown
from engine.strategies.tournament.by_models.drafts import MOST_DRAFTS, DraftKeeper, ModelHypotheses
from engine.strategies.tournament.by_models.graph_tools import TOOLS, GraphTools
from engine.strategies.tournament.by_models.questions import ENDS, TournamentAsks
from engine.strategies.tournament.roles import Drafted, Guidance, ItemFailed, Made, Maker

_SIDE_BY_SIDE = 100
"""Most askings that are told apart by their seeds."""


class DebateTurn(Value):
    """What one of a debate says."""

    text: str = Field(min_length=1, max_length=8_000)


class GraphLookup(Value):
    """The next look-up, an empty tool for none."""

    tool: str = ""
    first: str = ""
    second: str = ""


@dataclass(slots=True)
class ModelMaker:
    """Has a model make hypotheses in one mode; what it does not make, `behind` does."""

    asks: TournamentAsks
    placing: Placing
    at_hand: Callable[[Aims], DataAtHand]
    behind: Maker
    method: Method = "debate"
    turns: int = 5
    """Of a debate, the one that concludes it included; or look-ups and the conclusion."""

    def make(self, aims: Aims, guidance: Guidance, count: int, seed: int) -> Made:
        """Return up to `count` hypotheses, and a failure for each that could not be made."""
        if self.method == "literature" and not shown.literature(aims, guidance):
            return [ItemFailed("There are no texts to read hypotheses from.")]
        made: list[Drafted | ItemFailed] = []
        try:
            for one in self._made(aims, guidance, count, seed):
                made.append(one)  # noqa: PERF402 - what was made before a failure is kept
        except ENDS:
            raise
        except ModelUnavailable as gone:
            kept = [*guidance.avoid, *(one.hypothesis.text for one in made if isinstance(one, Drafted))]
            rest = guidance.model_copy(update={"avoid": kept})
            made += self._by_rules(aims, rest, count - len(made), seed) or [ItemFailed(gone.message)]
        return made

    def _by_rules(self, aims: Aims, guidance: Guidance, count: int, seed: int) -> Made:
        """Return what rules make: each seed its own part of what they have, as several may be asked side by side."""
        passed_over = seed % _SIDE_BY_SIDE
        found = self.behind.make(aims, guidance, count + passed_over, 0)
        drafts = [one for one in found if isinstance(one, Drafted)][passed_over:]
        return drafts or [one for one in found if isinstance(one, ItemFailed)]

    def _made(self, aims: Aims, guidance: Guidance, count: int, seed: int) -> Iterator[Drafted | ItemFailed]:
        """Yield what a model makes: one hypothesis a debate, or all that texts or look-ups give at once."""
        exists = list(guidance.avoid)
        rounds = range(count) if self.method == "debate" else range(1)
        at_once = 1 if self.method == "debate" else min(count, MOST_DRAFTS)
        for number in rounds:
            now, before = guidance.model_copy(update={"avoid": exists}), self.asks.calls
            try:
                drafts = self._drafts(aims, now, at_once, seed + number)
            except ItemFailed as failed:
                details = {"calls": self.asks.calls - before}
                yield ItemFailed(failed.message, details=details)
                continue
            exists += [one.hypothesis.text for one in drafts if isinstance(one, Drafted)]
            yield from drafts

    def _drafts(self, aims: Aims, guidance: Guidance, count: int, number: int) -> list[Drafted | ItemFailed]:
        label = f"number {number + 1}"
        material, calls = self._material(aims, guidance, label)
        said = self.asks.ask(
            "reasoning",
            "conclude_hypothesis",
            ModelHypotheses,
            "write a hypothesis",
            goal=shown.cut(aims.goal),
            wishes=shown.wishes(aims),
            exists=shown.existing(guidance),
            material=material,
            literature=shown.literature(aims, guidance),
            files=shown.files(self.at_hand(aims)),
            count=str(count),
            number=label,
            relations=told_possible(),
        )
        keeper, exists = DraftKeeper(self.placing, self.at_hand(aims)), [*guidance.avoid]
        made: list[Drafted | ItemFailed] = []
        texts = [*aims.literature, guidance.literature]
        for draft in said.value.hypotheses[:count]:
            spent = 0 if made else calls + 1
            try:
                one = keeper.kept(draft, said.model, self.method, texts=texts, before=exists, transcript=material)
            except ItemFailed as failed:
                made.append(ItemFailed(failed.message, details={"calls": spent}))
                continue
            exists.append(one.text)
            made.append(Drafted(hypothesis=one, calls=spent))
        return made

    def _material(self, aims: Aims, guidance: Guidance, label: str) -> tuple[str, int]:
        """Return what hypotheses are written from, and how many questions it took."""
        if self.method == "debate":
            return self._debate(aims, guidance, label)
        return self._look_ups(aims, guidance, label) if self.method == "tools" else ("", 0)

    def _debate(self, aims: Aims, guidance: Guidance, label: str) -> tuple[str, int]:
        said: list[str] = []
        for turn in range(1, self.turns):
            answer = self.asks.ask(
                "reasoning",
                "debate_hypothesis",
                DebateTurn,
                "debate a hypothesis",
                goal=shown.cut(aims.goal),
                wishes=shown.wishes(aims),
                plan=guidance.plan,
                literature=shown.literature(aims, guidance),
                lessons=shown.lessons(guidance.meta_review),
                exists=shown.existing(guidance),
                said="\n\n".join(said),
                turn=f"{turn} of {self.turns - 1}",
                number=label,
            )
            said.append(f"Turn {turn}: {answer.value.text.strip()}")
        return "\n\n".join(said), self.turns - 1

    def _look_ups(self, aims: Aims, guidance: Guidance, label: str) -> tuple[str, int]:
        tools, steps, asked = GraphTools(self.placing), list[str](), set[tuple[str, str, str]]()
        for left in range(self.turns - 1, 0, -1):
            step = self.asks.ask(
                "reasoning",
                "choose_graph_lookup",
                GraphLookup,
                "choose a look-up for hypotheses",
                goal=shown.cut(aims.goal),
                wishes=shown.wishes(aims),
                plan=guidance.plan,
                lessons=shown.lessons(guidance.meta_review),
                exists=shown.existing(guidance),
                tools="\n".join(f"{name}: {what}" for name, what in TOOLS.items()),
                steps="\n\n".join(steps),
                left=str(left),
                number=label,
            ).value
            call = (step.tool, step.first, step.second)
            if not step.tool or call in asked:
                return "\n\n".join(steps), self.turns - left
            asked.add(call)
            steps.append(f"{step.tool} {step.first} {step.second}:\n{tools.look_up(*call)}")
        return "\n\n".join(steps), self.turns - 1
