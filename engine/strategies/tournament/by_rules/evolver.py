"""Rewrites hypotheses by recombining paths of the graph; what no path allows is refused with its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from engine.domain.discovery.hypotheses import Aims, EvidenceItem, Evolution, Hypothesis, Prediction
from engine.domain.knowledge import EdgeType, NodeType
from engine.errors import UserError
from engine.strategies.tournament.bridges.asserted import weighed
from engine.strategies.tournament.bridges.at_hand import DataAtHand
from engine.strategies.tournament.bridges.goal import read_goal
from engine.strategies.tournament.bridges.ideas import IdeaFinder, LinkIdea, PatternWay
from engine.strategies.tournament.bridges.patterns import ALIKE, DISEASE, GENE, MARKS, MEMBER, LinkKind
from engine.strategies.tournament.bridges.placing import GraphPlace, Placing
from engine.strategies.tournament.bridges.wording import evidence_of, filled, opened
from engine.strategies.tournament.bridges.written import BUILT_IN, IdeaWriter
from engine.strategies.tournament.roles import Drafted, Guidance, Ideas, ItemFailed
from engine.text.prose import listed

_LEAST_WORDS = 12
"""A hypothesis of so few words and one path cannot be made simpler."""
_CHOICE = 5
_BY = (NodeType.GENE, NodeType.PATHWAY, NodeType.GO_TERM)
"""What something acts through, beside what it only resembles."""
"""The seed chooses among so many of the best."""


@dataclass(frozen=True, slots=True)
class _Rewriting:
    """What a rewriting works on."""

    aims: Aims
    parents: Sequence[Hypothesis]
    places: Sequence[GraphPlace]
    finder: IdeaFinder
    writer: IdeaWriter
    seed: int
    left_out: frozenset[str]
    named: frozenset[str]
    """Ids of what the goal names."""

    def name(self, number: int) -> str:
        return self.finder.view.nodes.node(number).name

    def pair(self) -> tuple[int, int]:
        """Return subject and object of the first parent.

        Raises:
            ItemFailed: when it names no two things that a claim is known for.
        """
        place = self.places[0]
        if place.kind is None:
            raise ItemFailed("It asserts no link that paths of the graph could carry, or what it asserts was not read.")
        return place.entities[0], place.entities[1]

    def choose(self, ideas: Iterable[LinkIdea]) -> LinkIdea | None:
        """Return one of the best ideas that constraints allow, by the seed."""
        nodes = self.finder.view.nodes
        allowed = [one for one in ideas if not {nodes.id(one.subject), nodes.id(one.object)} & self.left_out][:_CHOICE]
        return allowed[self.seed % len(allowed)] if allowed else None


@dataclass(frozen=True, slots=True)
class RuleEvolver:
    """Rewrites without a model."""

    placing: Placing
    at_hand: Callable[[Aims], DataAtHand]

    def evolve(self, aims: Aims, guidance: Guidance, parents: Ideas, how: Evolution, seed: int) -> Drafted:
        """Return a new hypothesis; its parents stay.

        Raises:
            ItemFailed: when no path allows it, or it would say what a parent or an earlier one says.
        """
        if not parents:
            raise ItemFailed("There is nothing to rewrite.")
        finder = self.placing.finder()
        try:
            asked = read_goal(aims, self.placing.knowledge)
            left_out, named = asked.left_out | asked.unfit, frozenset(node.id for node in asked.named)
        except UserError:  # a goal that the graph does not know: nothing is left out
            left_out, named = frozenset[str](), frozenset[str]()
        places = [self.placing.place(one) for one in parents]
        writer = IdeaWriter(finder.view, self.at_hand(aims))
        made = _WAYS[how](_Rewriting(aims, parents, places, finder, writer, seed, left_out, named))
        said = {text.casefold() for text in (*guidance.avoid, *(one.text for one in parents))}
        if made.text.casefold() in said:
            raise ItemFailed(f"To {how.replace('_', ' ')} it gives what is there already.")
        update = {"id": "", "method": "evolved", "evolution": how, "parents": [p.id for p in parents], "by": BUILT_IN}
        if not made.asserts:  # what was read of a parent that did not say it
            update["asserts"] = [link.link for link in places[0].links]
        if asserts := update.get("asserts", made.asserts):
            update["support"] = weighed(made.support, asserts, self.placing.knowledge)
        return Drafted(hypothesis=made.model_copy(update=update))


def _ground(task: _Rewriting) -> Hypothesis:
    """Add what the graph has for it and it does not name yet; leave out what is not in the graph."""
    parent, place = task.parents[0], task.places[0]
    pair = task.pair()
    had = {_key(item) for item in parent.support}
    ways = list(place.idea.ways) if place.idea is not None else []
    ways += [idea.lead for idea in task.finder.by_any_path(*pair, _CHOICE)]
    new = [item for item in (task.writer.evidence(way) for way in ways) if _key(item) not in had]
    if not new:
        raise ItemFailed("The graph has no further path that would carry it.")
    added = [item.says.removesuffix(".") for item in new]
    text = f"{parent.text.strip().removesuffix('.')}; this is also expected because {added[0]}."
    return parent.model_copy(
        update={
            "text": text,
            "support": [*place.true, *new],
            "explanation": f"{parent.explanation} Added: {'; '.join(added)}.".strip(),
            "predictions": parent.predictions or task.writer.predictions(_kind(place), ways[0].nodes),
        }
    )


def _simplify(task: _Rewriting) -> Hypothesis:
    """Keep the claim and its strongest evidence."""
    parent, place = task.parents[0], task.places[0]
    subject, object_ = task.pair()
    if len(parent.text.split()) <= _LEAST_WORDS and len(parent.support) <= 1:
        raise ItemFailed("It is as simple as it can be.")
    best = max(place.speaking("for"), key=lambda item: item.strength, default=None)
    claim = filled(_kind(place).claim, task.finder.view, (subject, object_))
    inner = [task.finder.view.nodes.number(node) for node in (best.nodes[1:-1] if best else ())]
    by_genes = inner and all(task.finder.view.nodes.node_type(number) is GENE for number in inner)
    how = f" through {listed(list(map(task.name, inner)))}." if by_genes else f": {best.says}" if best else "."
    return parent.model_copy(
        update={
            "text": opened(f"{claim}{how}"),
            "support": [best] if best else [],
            "explanation": best.says if best else "",
            "predictions": parent.predictions[:1] or task.writer.predictions(_kind(place), (subject, object_)),
        }
    )


def _combine(task: _Rewriting) -> Hypothesis:
    """Join two hypotheses on one thing whose ways there differ."""
    if len(task.parents) < 2:
        raise ItemFailed("Two hypotheses are needed to combine.")
    (one, other), (a, b) = task.parents[:2], task.places[:2]
    if a.kind is None or b.kind is None or a.entities[1] != b.entities[1] or a.entities[0] == b.entities[0]:
        raise ItemFailed("The two do not say something of one thing by two others, so there is nothing to combine.")
    first, second, what = a.entities[0], b.entities[0], a.entities[1]
    shared = set(a.entities[2:]) & set(b.entities[2:])
    if shared:
        raise ItemFailed(f"Both work through {listed(sorted(map(task.name, shared)))}: together they would do no more.")
    kind_of = task.finder.view.nodes.node_type
    ways = [[n for n in place.entities[2:] if kind_of(n) in _BY] for place in (a, b)]
    if not all(ways):
        raise ItemFailed("The graph does not say by which gene or process each of the two acts.")
    vias = [task.name(way[0]) for way in ways]
    s, t, o = task.name(first), task.name(second), task.name(what)
    kinds = ((a.kind, first, ways[0]), (b.kind, second, ways[1]))
    return Hypothesis(
        id="",
        text=f"{opened(s)} and {t} together have more effect in {o} than the sum of both, because they reach it by "
        f"different ways, one by {vias[0]} and the other by {vias[1]}.",
        explanation=f"{one.explanation} {other.explanation}".strip(),
        experiment=f"Give or change {s} and {t} in a model of {o} alone and together, each at three levels (factorial, "
        "randomised, blinded), and test the interaction.",
        method="evolved",
        support=list({_key(item): item for item in (*a.true, *b.true)}.values()),
        predictions=[
            Prediction(
                says=f"The effect of {s} and {t} together in a model of {o} exceeds the sum of their effects alone.",
                contradicted_by="The effect of both together is the sum of the two, or less.",
                direction="more",
            )
        ],
        entities=[task.finder.view.nodes.id(n) for n in (first, what, second, *a.entities[2:3], *b.entities[2:3])],
        asserts=[task.writer.asserted(kind, subject, what, way[:1]) for kind, subject, way in kinds],
    )


def _analogise(task: _Rewriting) -> Hypothesis:
    """Say of something similar what the parent says."""
    subject, object_ = task.pair()
    view = task.finder.view
    similar = _similar(task.finder, subject)
    ideas = [one for one in task.finder.for_anchor(object_, view.nodes.node_type(subject)) if one.subject in similar]
    other = _similar(task.finder, object_)
    ideas += [one for one in task.finder.for_anchor(subject, view.nodes.node_type(object_)) if one.object in other]
    chosen = task.choose(sorted(ideas, key=lambda one: -one.strength))
    if chosen is None:
        raise ItemFailed(f"The graph has nothing like {task.name(subject)} or {task.name(object_)} of which to say it.")
    return task.writer.link(chosen)


def _similar(finder: IdeaFinder, number: int) -> set[int]:
    """Return what resembles a node, or is a member of a class with it."""
    found = set(finder.view.adjacent(number, ALIKE).numbers.tolist())
    for group in finder.view.adjacent(number, MEMBER, "in").numbers.tolist():
        found |= set(finder.view.adjacent(group, MEMBER, "out").numbers.tolist())
    return found - {number}


def _out_of_the_box(task: _Rewriting) -> Hypothesis:
    """Go to the same end by a kind of path that no parent uses, from somewhere else."""
    subject, object_ = task.pair()
    view = task.finder.view
    used = {tuple(sorted(item.edges)) for parent in task.parents for item in parent.support if item.kind == "path"}
    taken = {number for place in task.places for number in place.entities}
    ideas: list[LinkIdea] = []
    if {view.nodes.id(subject), view.nodes.id(object_)} <= task.named:
        other = [w for w in task.finder.between_two(subject, object_) if _edges(task, w.lead) not in used]
        if (chosen := task.choose(other)) is not None:
            return task.writer.mechanism(chosen)
    anchor, moved = (subject, object_) if view.nodes.id(subject) in task.named else (object_, subject)
    for idea in task.finder.for_anchor(anchor, view.nodes.node_type(moved)):
        ways = [way for way in idea.ways if _edges(task, way) not in used]
        end = idea.subject if idea.object == anchor else idea.object
        if ways and end not in taken:
            ideas.append(replace(idea, ways=(ways[0], *(way for way in idea.ways if way is not ways[0]))))
    chosen = task.choose(ideas)
    if chosen is None:
        raise ItemFailed(f"No other kind of path leads to {task.name(anchor)}.")
    return task.writer.link(chosen)


def _edges(task: _Rewriting, way: PatternWay) -> tuple[str, ...]:
    """Return what kind of path a way is, whichever end it is walked from."""
    return tuple(sorted(task.writer.evidence(way).edges))


def _make_testable(task: _Rewriting) -> Hypothesis:
    """Add a test on data at hand, or else where in the body it must be seen."""
    parent, place = task.parents[0], task.places[0]
    subject, object_ = task.pair()
    view = task.finder.view
    inner = [n for n in place.entities if view.nodes.node_type(n) is GENE]
    way = (subject, *(n for n in inner if n not in (subject, object_)), object_)
    full = task.writer.predictions(_kind(place), way)
    own = [one for one in full if one.question]
    if own and not any(one.question for one in parent.predictions):
        text = f"{parent.text.strip().removesuffix('.')}, which your data can show: {own[0].question}"
        return parent.model_copy(update={"text": text, "predictions": [*(parent.predictions or full[:1]), *own]})
    where = _where(task, inner, object_)
    if where is None:
        return _graded(task, parent, full, subject, object_)
    gene, tissue, item = where
    says = f"{task.name(gene)} changes in {task.name(tissue)} and less or not at all elsewhere."
    sharper = Prediction(
        says=says, contradicted_by=f"{task.name(gene)} changes in {task.name(tissue)} no more than elsewhere."
    )
    text = f"{parent.text.strip().removesuffix('.')}; it must be seen in {task.name(tissue)}."
    predictions = [*(parent.predictions or full[:1]), sharper]
    return parent.model_copy(update={"text": text, "predictions": predictions, "support": [*place.true, item]})


def _graded(task: _Rewriting, parent: Hypothesis, full: list[Prediction], subject: int, object_: int) -> Hypothesis:
    """Add that the effect follows the dose, or turns round with the gene, where nothing says where to look."""
    s, o, kind = task.name(subject), task.name(object_), task.finder.view.nodes.node_type(subject)
    if kind is NodeType.DRUG:
        claim = f"its effect grows with the dose of {s}"
        sharper = Prediction(
            says=f"Over three doses of {s} its effect in a model of {o} grows from each to the next.",
            contradicted_by=f"The highest of three doses of {s} does no more than the lowest.",
            direction="more",
        )
    elif kind is GENE:
        claim = f"lowering and raising {s} move it in opposite directions"
        sharper = Prediction(
            says=f"Lowering {s} and raising it change a model of {o} in opposite directions.",
            contradicted_by=f"Lowering {s} and raising it change a model of {o} alike, or one does nothing.",
        )
    else:
        raise ItemFailed("No data at hand measure it, and the graph does not say in which tissue it could be seen.")
    text = f"{parent.text.strip().removesuffix('.')}; {claim}."
    return parent.model_copy(update={"text": text, "predictions": [*(parent.predictions or full[:1]), sharper]})


def _where(task: _Rewriting, genes: Sequence[int], object_: int) -> tuple[int, int, EvidenceItem] | None:
    """Return a gene, the tissue or cell that it is known from and in which the disease sits, and the statement."""
    view = task.finder.view
    sits = set(view.adjacent(object_, {EdgeType.LOCATED_IN}, "out").numbers.tolist())
    places = (NodeType.ANATOMY, NodeType.CELL_TYPE)
    for gene in genes:
        near = view.adjacent(gene, MARKS | {EdgeType.EXPRESSED_IN}, "out")
        able = [n for n in near.numbers.tolist() if view.nodes.node_type(n) in places]
        if view.nodes.node_type(object_) is DISEASE and sits:
            able = [n for n in able if n in sits or view.nodes.node_type(n) is NodeType.CELL_TYPE]
        if able:
            tissue = min(able, key=view.nodes.degree)
            edges = [
                e for e in view.edges.full(view.rows_between(gene, tissue)) if e.type in MARKS | {EdgeType.EXPRESSED_IN}
            ]
            return gene, tissue, evidence_of(view, (gene, tissue), edges[:1])
    return None


def _kind(place: GraphPlace) -> LinkKind:
    assert place.kind is not None
    return place.kind


def _key(item: EvidenceItem) -> tuple[str, ...]:
    return (item.kind, *item.nodes, *item.edges, "" if item.nodes else item.says)


_WAYS: dict[Evolution, Callable[[_Rewriting], Hypothesis]] = {
    "ground": _ground,
    "simplify": _simplify,
    "combine": _combine,
    "analogise": _analogise,
    "out_of_the_box": _out_of_the_box,
    "make_testable": _make_testable,
}
