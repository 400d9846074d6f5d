"""The roles of a tournament put together, so that who runs one need not know what stands behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.domain.discovery.hypotheses import Aims
from engine.knowledge.service import KnowledgeBase
from engine.strategies.tournament.bridges.at_hand import ChangedGene, DataAtHand
from engine.strategies.tournament.bridges.placing import Placing
from engine.strategies.tournament.by_rules.evolver import RuleEvolver
from engine.strategies.tournament.by_rules.judge import RuleJudge
from engine.strategies.tournament.by_rules.maker import GraphMaker
from engine.strategies.tournament.by_rules.overview import RuleMetaReviewer, RuleSupervisor
from engine.strategies.tournament.by_rules.reviewer import RuleReviewer
from engine.strategies.tournament.roles import Evolver, Judge, Maker, MetaReviewer, Reviewer, Supervisor


@dataclass(frozen=True, slots=True)
class RoleSet:
    """Who does what in a tournament."""

    makers: tuple[Maker, ...]
    reviewer: Reviewer
    judge: Judge
    evolver: Evolver
    meta_reviewer: MetaReviewer
    supervisor: Supervisor


def no_genes(aims: Aims) -> Sequence[ChangedGene]:
    """Return no gene: nothing is known of finished runs."""
    return ()


def no_data(aims: Aims) -> DataAtHand:
    """Return no data."""
    return DataAtHand()


def roles_by_rules(
    knowledge: KnowledgeBase,
    *,
    changed: Callable[[Aims], Sequence[ChangedGene]] = no_genes,
    at_hand: Callable[[Aims], DataAtHand] = no_data,
) -> RoleSet:
    """Return the roles without a model.

    Args:
        knowledge: the graph that hypotheses are read from.
        changed: genes that the user's finished runs found changed (see `changed_genes`).
        at_hand: what the files of a tournament can test.
    """
    placing = Placing(knowledge)
    reviewer = RuleReviewer(placing, at_hand)
    return RoleSet(
        makers=(GraphMaker(knowledge, changed, at_hand),),
        reviewer=reviewer,
        judge=RuleJudge(placing, reviewer),
        evolver=RuleEvolver(placing, at_hand),
        meta_reviewer=RuleMetaReviewer(placing),
        supervisor=RuleSupervisor(knowledge, changed, at_hand),
    )
