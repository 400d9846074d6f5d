"""Reviews hypotheses by rules over evidence: each score says what it rests on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.domain.discovery.hypotheses import Aims, Hypothesis, HypothesisReview, Reflection
from engine.domain.knowledge import NodeType
from engine.errors import UserError
from engine.knowledge.graph.view import GraphView
from engine.strategies.tournament.bridges.at_hand import DataAtHand
from engine.strategies.tournament.bridges.goal import GoalRead, read_goal
from engine.strategies.tournament.bridges.patterns import DISEASE, DRUG, GENE, TARGET, TREATS
from engine.strategies.tournament.bridges.placing import GraphPlace, Placing
from engine.strategies.tournament.bridges.written import BUILT_IN
from engine.strategies.tournament.roles import Guidance, Ideas, Reviewed
from engine.text.prose import listed
from engine.text.sentences import split_sentences

Scored = tuple[int, str]
"""1 to 10, and why."""
_PER_PATH = 0.8
"""What one piece of evidence of full strength leaves no doubt of: several are needed."""
_DOUBT = 0.75
"""What every piece of evidence against it leaves."""
_SUPPORTED = 0.5
_SHORT, _GOOD, _LONG, _TOO_LONG = 6, 45, 90, 400
"""Words of a hypothesis."""
_ME_TOO, _SHOWN = 4, 3
"""Novelty of one more drug of a kind that is in use, and drugs of it that are named."""
_FEW_TREATMENTS, _MANY_TREATMENTS = 5, 20


@dataclass(slots=True)
class RuleReviewer:
    """Reviews without a model."""

    placing: Placing
    at_hand: Callable[[Aims], DataAtHand]
    together: bool = False

    def review(self, aims: Aims, guidance: Guidance, hypotheses: Ideas) -> Reviewed:
        """Return a review of each, in the same order."""
        try:
            asked = read_goal(aims, self.placing.knowledge)
        except UserError:  # a goal that the graph does not know: relevance is then not judged
            asked = None
        return [self._review(one, aims, asked) for one in hypotheses]

    def _review(self, one: Hypothesis, aims: Aims, asked: GoalRead | None) -> HypothesisReview:
        place, view = self.placing.place(one), self.placing.finder().view
        scored: dict[str, Scored] = {
            "scientific_soundness": _soundness(place),
            "novelty": _novelty(place, view),
            "relevance": _relevance(place, asked, view),
            "testability": self._testability(one, aims, place, view),
            "clarity": _clarity(one.text),
            "potential_impact": _impact(place, view),
        }
        reflection, reason = _reflection(place)
        if reflection == "disproved":
            scored["scientific_soundness"] = (1, reason)
        worst = min(scored, key=lambda name: scored[name][0])
        untrue, pro, con = len(place.untrue), len(place.speaking("for")), len(place.speaking("against"))
        return HypothesisReview(
            hypothesis=one.id,
            scores={name: score for name, (score, _) in scored.items()},
            feedback={name: why for name, (_, why) in scored.items()},
            summary=f"Evidence for it: {pro}, against it: {con}; {reason}",
            advice=ADVICE[worst],
            concerns=f"{untrue} of its paths {'is' if untrue == 1 else 'are'} not in the graph and counted for nothing."
            if untrue
            else "",
            reflection=reflection,
            reflection_reason=reason,
            by=BUILT_IN,
        )

    def _testability(self, one: Hypothesis, aims: Aims, place: GraphPlace, view: GraphView) -> Scored:
        can_fail = [prediction for prediction in one.predictions if prediction.contradicted_by.strip()]
        asked = [prediction for prediction in one.predictions if prediction.question]
        names = [view.nodes.node(n).name for n in place.entities if view.nodes.node_type(n) is GENE]
        measurable = names and self.at_hand(aims).test_of(names)
        score = 2 + 3 * bool(can_fail) + bool(one.experiment.split()[7:]) + bool(names)
        score += 3 if asked else 2 if measurable else 0
        parts = [
            "names what would contradict it" if can_fail else "does not say what would contradict it",
            "its experiment is described" if one.experiment else "no experiment is described",
            f"data at hand can test it ({', '.join(asked[0].files) or asked[0].question})"
            if asked
            else "data at hand measure a gene of it" if measurable else "no data at hand can test it",
        ]  # fmt: skip
        return score, "; ".join(parts) + "."


def _reflection(place: GraphPlace) -> tuple[Reflection, str]:
    if place.opposed:
        return "disproved", place.opposed
    support = support_of(place)
    if place.known:
        return "already_explained", f"the graph states already that {place.known}."
    if place.speaking("against") and support < _SUPPORTED:
        return "other_explanations_likelier", place.speaking("against")[0].says
    if support >= _SUPPORTED and not place.stated:
        pieces = len(place.speaking("for"))
        return (
            "missing_piece",
            f"{'one piece' if pieces == 1 else f'{pieces} pieces'} of evidence, and nothing states it.",
        )
    return "neutral", "the evidence neither carries it nor speaks against it."


ADVICE = {
    "scientific_soundness": "Ground it: name paths or findings that carry each step.",
    "novelty": "Say what it adds to what is known: another mechanism, another patient group, another direction.",
    "relevance": "Tie it to what the goal names.",
    "testability": "Say which observation would contradict it, and how it would be made.",
    "clarity": "Put it in one or two sentences of subject, effect and mechanism.",
    "potential_impact": "Say what would be done otherwise if it held.",
}


def support_of(place: GraphPlace) -> float:
    """Return how well evidence supports a hypothesis, 0 to 1: doubts of independent pieces multiply."""
    doubt = 1.0
    for item in place.speaking("for"):
        doubt *= 1 - _PER_PATH * item.strength
    return (1 - doubt) * _DOUBT ** len(place.speaking("against"))


def _soundness(place: GraphPlace) -> Scored:
    pro, con = place.speaking("for"), place.speaking("against")
    support = support_of(place)
    if not pro and place.idea is not None:
        score = 1 + round(4 * place.idea.strength)
        return score, "it names no evidence; the graph has paths that would support it."
    against = f", {len(con)} against it" if con else ""
    return 1 + round(
        9 * support
    ), f"support {support:.2f} of 1 from {len(pro)} piece{'s' * (len(pro) != 1)} of evidence{against}."


def _novelty(place: GraphPlace, view: GraphView) -> Scored:
    if place.known:
        return 2, f"the graph states already that {place.known}."
    if place.unread:
        return 5, f"{place.unread}, so whether the graph states it is not known."
    if place.stated:
        return 5, f"the graph states that {place.stated}; whether what it says beyond that is new is not known."
    if place.kind is None:
        return 6, "the graph does not state it, and paths of no known kind could lead to it."
    if place.idea is None:
        return 9, "the graph neither states it nor has a path of a known kind to it."
    if alike := _like_known(place, view):
        return _ME_TOO, f"not stated; its paths all go by drugs that treat it already ({listed(alike[:_SHOWN])})."
    many = len({way.pattern.name for way in place.idea.ways})
    return max(4, round(10 - 5 * place.idea.strength)), (
        f"not stated; {many} kind{'s' * (many != 1)} of path lead{'s' * (many == 1)} near it "
        f"(strength {place.idea.strength:.2f} of 1)."
    )


def _like_known(place: GraphPlace, view: GraphView) -> list[str]:
    """Return the drugs that all paths of a treatment go by, of which it would be one more; [] where a path has none."""
    if place.idea is None or place.kind is None or place.kind.relation not in TREATS:
        return []
    by_drugs = [[n for n in way.nodes[1:-1] if view.nodes.node_type(n) is DRUG] for way in place.idea.ways]
    return list(dict.fromkeys(view.nodes.name(drug) for drugs in by_drugs for drug in drugs)) if all(by_drugs) else []


def _relevance(place: GraphPlace, asked: GoalRead | None, view: GraphView) -> Scored:
    ids = {view.nodes.id(number) for number in place.entities}
    if asked is None:
        return 5, "the graph does not know what the goal names, so relevance is not judged."
    if ids & asked.left_out:
        return 1, "it names what the constraints exclude."
    named = [node for node in asked.named if node.id in ids]
    told = ", ".join(node.name for node in named)
    if len(named) == len(asked.named):
        kinds = {view.nodes.node_type(number) for number in place.entities[:2]}
        sought = not asked.sought or bool(kinds & set(asked.sought))
        return (9 if sought else 7), f"it speaks of {told}{'' if sought else ', not of what is sought'}."
    if named:
        return 7, f"it speaks of {told}, not of all that the goal names."
    near = {view.nodes.number(node.id) for node in asked.named}
    touching = [n for n in place.entities if near & set(view.adjacent(n).numbers.tolist())]
    return (4, "it speaks of neighbours of what the goal names.") if touching else (2, "it names nothing of the goal.")


def _clarity(text: str) -> Scored:
    words, sentences = len(text.split()), len(list(split_sentences(text)))
    if words > _TOO_LONG:
        return 1, f"{words:,} words are a paper, not a hypothesis."
    if words < _SHORT:
        return 3, f"{words} words say too little to be wrong."
    score = 9 if words <= _GOOD else 7 if words <= _LONG else 4
    score -= 2 * (sentences > 2)
    return score, f"{words} words in {sentences} sentence{'s' * (sentences != 1)}."


def _impact(place: GraphPlace, view: GraphView) -> Scored:
    kinds = {view.nodes.node_type(n): n for n in reversed(place.entities)}
    if DISEASE in kinds:
        known = len(view.adjacent(kinds[DISEASE], TREATS, "in"))
        name = view.nodes.node(kinds[DISEASE]).name
        base = 8 if known <= _FEW_TREATMENTS else 6 if known <= _MANY_TREATMENTS else 5
        use = bool(kinds.keys() & {DRUG}) or _druggable(kinds.get(GENE), view)
        how = "a drug acts on what it names" if use else "no drug of the graph acts on what it names"
        return base + use, f"the graph knows {known} treatments of {name}, and {how}."
    if GENE in kinds and _druggable(kinds[GENE], view):
        return 6, "a drug of the graph acts on a gene that it names; no disease is named."
    return 4, "it names no disease, and nothing that a drug of the graph acts on."


def _druggable(gene: int | None, view: GraphView) -> bool:
    if gene is None:
        return False
    near = view.adjacent(gene, TARGET, "in").numbers.tolist()
    return any(view.nodes.node_type(number) is NodeType.DRUG for number in near)
