"""The roles of a tournament with models, rules behind each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.agents.asks import Asks
from engine.agents.claim_reader import ClaimReader
from engine.domain.discovery.hypotheses import Aims, AssertedLink, Method
from engine.knowledge.service import KnowledgeBase
from engine.strategies.tournament.bridges.asserted import read_links
from engine.strategies.tournament.bridges.at_hand import ChangedGene, DataAtHand
from engine.strategies.tournament.bridges.placing import Placing
from engine.strategies.tournament.by_models.evolver import ModelEvolver
from engine.strategies.tournament.by_models.harm_question import ModelHarmReader
from engine.strategies.tournament.by_models.judge import ModelJudge
from engine.strategies.tournament.by_models.makers import ModelMaker
from engine.strategies.tournament.by_models.overview import ModelMetaReviewer, ModelSupervisor
from engine.strategies.tournament.by_models.questions import AsksOfTournament, TournamentAsks
from engine.strategies.tournament.by_models.reviewer import ModelReviewer
from engine.strategies.tournament.by_rules.reviewer import RuleReviewer
from engine.strategies.tournament.by_rules.role_set import RoleSet, no_data, no_genes, roles_by_rules
from engine.strategies.tournament.safety.harm import refuses


@dataclass(frozen=True, slots=True)
class ModelRoles:
    """The roles, what refuses harm, what reads a person's hypothesis, and the questions asked so far."""

    roles: RoleSet
    refuses: Callable[[str], str]
    asserted: Callable[[str], Sequence[AssertedLink]]
    asks: TournamentAsks


def roles_by_models(
    models: Asks,
    knowledge: KnowledgeBase,
    *,
    run_id: str = "",
    turns: int = 5,
    changed: Callable[[Aims], Sequence[ChangedGene]] = no_genes,
    at_hand: Callable[[Aims], DataAtHand] = no_data,
    with_texts: bool = False,
    read_claims: bool = True,
) -> ModelRoles:
    """Return the roles of a tournament with models.

    Args:
        models: the models, as agents ask them.
        knowledge: the graph that what models say is held against.
        run_id: the tournament that calls count for.
        turns: of a debate, see `Bounds.debate_turns`.
        changed: genes that the user's finished runs found changed.
        at_hand: what the files of a tournament can test.
        with_texts: whether there is literature to read hypotheses from.
        read_claims: whether a model reads what a person's hypothesis asserts.
    """
    rules = roles_by_rules(knowledge, changed=changed, at_hand=at_hand)
    asks, placing = TournamentAsks(models, run_id), Placing(knowledge)
    by_rules = rules.makers[0]
    modes: tuple[Method, ...] = ("debate", "tools", *(("literature",) if with_texts else ()))
    reviewer = RuleReviewer(placing, at_hand)
    roles = RoleSet(
        makers=(*(ModelMaker(asks, placing, at_hand, by_rules, mode, turns) for mode in modes), by_rules),
        reviewer=ModelReviewer(asks, reviewer),
        judge=ModelJudge(asks, rules.judge),
        evolver=ModelEvolver(asks, placing, at_hand, rules.evolver),
        meta_reviewer=ModelMetaReviewer(asks, rules.meta_reviewer),
        supervisor=ModelSupervisor(asks, at_hand, rules.supervisor),
    )
    reader = ClaimReader(AsksOfTournament(asks)) if read_claims else None
    return ModelRoles(roles, refuses(ModelHarmReader(asks)), lambda text: read_links(text, knowledge, reader), asks)
