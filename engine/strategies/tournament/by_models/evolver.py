"""A model rewrites hypotheses in one of six ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.domain.discovery.hypotheses import Aims, EvidenceItem, Evolution, Hypothesis
from engine.knowledge.claims.relations import told_possible
from engine.strategies.tournament.bridges.asserted import weighed
from engine.strategies.tournament.bridges.at_hand import DataAtHand
from engine.strategies.tournament.bridges.placing import Placing
from engine.strategies.tournament.by_models import shown
from engine.strategies.tournament.by_models.drafts import DraftKeeper, ModelHypothesis, counted_once
from engine.strategies.tournament.by_models.questions import TournamentAsks, or_by_rules
from engine.strategies.tournament.roles import Drafted, Evolver, Guidance, Ideas, ItemFailed

HOW: dict[Evolution, str] = {
    "ground": "ground it: give each step of the mechanism a support, and drop or change the step that has none",
    "simplify": "simplify it: keep the one claim that matters most, with the fewest steps that carry it",
    "combine": "combine both parents into one claim that neither makes and that would be wrong if either part were",
    "analogise": "carry its mechanism over to something similar (a gene of the family, a drug of the class, a related "
    "disease), and say why it should hold there",
    "out_of_the_box": "leave its mechanism: reach the same goal from an assumption that nobody here has made",
    "make_testable": "make it testable: sharpen it until one feasible measurement, best on data that exist, could "
    "contradict it",
}


@dataclass(frozen=True, slots=True)
class ModelEvolver:
    """Has hypotheses rewritten by the model of the role `reasoning`."""

    asks: TournamentAsks
    placing: Placing
    at_hand: Callable[[Aims], DataAtHand]
    behind: Evolver

    @or_by_rules
    def evolve(self, aims: Aims, guidance: Guidance, parents: Ideas, how: Evolution, seed: int) -> Drafted:
        """Return a new hypothesis; its parents stay.

        Raises:
            ItemFailed: when it cannot be made, or would say what a parent or another says.
        """
        if not parents or (how == "combine" and len(parents) < 2):
            raise ItemFailed("There is nothing to rewrite." if not parents else "Two hypotheses are needed to combine.")
        said = self.asks.ask(
            "reasoning",
            "rewrite_hypothesis",
            ModelHypothesis,
            f"rewrite a hypothesis ({how.replace('_', ' ')})",
            goal=shown.cut(aims.goal),
            wishes=shown.wishes(aims),
            literature=shown.literature(aims, guidance),
            lessons=shown.lessons(guidance.meta_review),
            exists=shown.existing(guidance),
            parents=shown.numbered(parents, guidance.reviews),
            looked_up=shown.look_ups(parents),
            how=HOW[how],
            files=shown.files(self.at_hand(aims)),
            relations=told_possible(),
        )
        keeper = DraftKeeper(self.placing, self.at_hand(aims))
        before = [*guidance.avoid, *(one.text for one in parents)]
        texts = [*aims.literature, guidance.literature]
        made = keeper.kept(said.value, said.model, "evolved", texts=texts, before=before)
        update = {
            "evolution": how,
            "parents": [one.id for one in parents],
            "support": weighed(_with_own(made, parents), made.asserts, self.placing.knowledge),
        }
        return Drafted(hypothesis=made.model_copy(update=update), calls=1)


def _with_own(made: Hypothesis, parents: Sequence[Hypothesis]) -> list[EvidenceItem]:
    """Return the evidence of a hypothesis, and what of its parents' is about the same things."""
    about = set(made.entities)
    inherited = [
        item
        for parent in parents
        for item in parent.support
        if (item.nodes and {item.nodes[0], item.nodes[-1]} <= about) or item.kind in ("article", "user")
    ]
    once = {(item.kind, item.says, item.source): item for item in (*made.support, *inherited)}
    return counted_once(list(once.values()))
