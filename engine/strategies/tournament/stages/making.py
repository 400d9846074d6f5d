"""How hypotheses come about: from the user, from makers in several modes, and rewritten from others.

A rewritten hypothesis is another one; what it was made from goes on competing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from engine.domain.discovery.hypotheses import Evolution, Hypothesis, Item, MakingPass, Skipped, TournamentView
from engine.strategies.tournament.asking import RoundTable
from engine.strategies.tournament.cast import Cast
from engine.strategies.tournament.roles import Drafted, ItemFailed, Maker
from engine.strategies.tournament.sameness import id_of, says_other
from engine.strategies.tournament.stages.guiding import guidance
from engine.strategies.tournament.standings import newest_marks, rated

MOST_SIGNS = 4_000
"""A hypothesis is one or two sentences; a page of text is none."""
EVOLUTIONS: tuple[Evolution, ...] = (
    "ground", "combine", "make_testable", "simplify", "analogise", "out_of_the_box",
)  # fmt: skip
"""The ways of rewriting, taken in turn."""


def make(table: RoundTable) -> None:
    """Have the hypotheses of the first round made: the user's own, then each maker's share, then what is missing."""
    _seed(table, table.ledger.view())
    makers = table.cast.makers
    first = _pass(table, 0)
    shares = zip(makers, allocation(first.missing, len(makers)), strict=True)
    _ask_makers(table, first, [part for share in shares for part in _parts(*share)])
    for number, maker in enumerate(makers, start=1):  # one mode that finds less is made up for by the others
        again = _pass(table, number)
        if again.missing <= 0:
            break
        _ask_makers(table, again, _parts(maker, again.missing))


def _pass(table: RoundTable, number: int) -> MakingPass:
    """Return what is asked for in a pass: what is missing when it begins, kept so that a restart finds it."""
    view = table.ledger.view()
    kept = next((one for one in view.passes if one.number == number), None)
    if kept is not None:
        return kept
    made = sum(one.method != "user" for one in view.hypotheses)
    new = MakingPass(
        number=number,
        missing=max(0, table.ledger.state.bounds.hypotheses - made),
        known=[one.id for one in view.hypotheses],
    )
    table.ledger.keep(new)
    return new


AT_ONCE = ("graph",)
"""Makers that are asked for all theirs in one go, as the paths of a graph are walked once. The others, which take a
model's time, are asked for each by itself with a seed of its own, side by side, so that none is lost with another."""
_Part = tuple[Maker, int, int]
"""Who is asked, for how many, and the number of this asking of the pass."""


def _parts(maker: Maker, count: int) -> list[_Part]:
    counts = [count] if maker.method in AT_ONCE and count else [1] * count
    return [(maker, part, number) for number, part in enumerate(counts)]


def _ask_makers(table: RoundTable, of: MakingPass, parts: Sequence[_Part]) -> None:
    table.side_by_side(partial(_ask_maker, table, of), parts)


def allocation(count: int, makers: int) -> list[int]:
    """Return how many hypotheses each maker is asked for: equal shares, the first makers take what is over."""
    return [count // makers + (at < count % makers) for at in range(makers)] if makers else []


def own(text: str, cast: Cast, *, by: str, at: str, round_: int = 0) -> Hypothesis:
    """Return a user's hypothesis, with what it is read to assert."""
    asserts = list(cast.asserted(text))
    return Hypothesis(id=id_of(text), text=text.strip(), method="user", asserts=asserts, by=by, at=at, round=round_)


def _seed(table: RoundTable, view: TournamentView) -> None:
    state = table.ledger.state
    if state.aims.seeds and not table.ledger.has("seeds"):
        seeds = [own(text, table.cast, by=state.user, at=table.ledger.now()) for text in state.aims.seeds]
        table.ledger.keep(*_sound(table, view, seeds, "seeds"), asked="seeds")


def _ask_maker(table: RoundTable, of: MakingPass, part: _Part) -> None:
    maker, count, number = part
    name = f"{maker.method} {of.number} {number}"
    if table.ledger.has(key := f"make {name}"):
        return
    state, view = table.ledger.state, table.ledger.view()
    seed = state.bounds.seed + 1_000 * of.number + number
    told = guidance(view, of.known)
    made = table.ask("making", f"{count} by {name}", partial(maker.make, state.aims, told, count, seed))
    if isinstance(made, Skipped):
        table.ledger.keep(made, asked=key, calls=1)
        return
    drafts = [one for one in made if isinstance(one, Drafted)]
    failed = [one for one in made if isinstance(one, ItemFailed)]
    lost = [Skipped(stage="making", what=f"{name}, {at}", why=one.message) for at, one in enumerate(failed, start=1)]
    calls = sum(one.calls for one in drafts) + sum(int(one.details.get("calls", 0)) for one in failed)
    fresh = [_fresh(table, one.hypothesis, maker.method, 0) for one in drafts[:count]]
    table.ledger.keep(*_sound(table, view, fresh, name), *lost, asked=key, calls=calls)


def evolve(table: RoundTable, round_: int) -> None:
    """Have the best rewritten, one of each idea, pinned ones first."""
    evolver = table.cast.evolver
    if evolver is None:
        return
    view = table.ledger.view()
    # What is asked must not depend on who was quicker, nor on a kill in the midst of the round.
    before = view.model_copy(update={"hypotheses": [one for one in view.hypotheses if one.round < round_]})
    table.side_by_side(lambda one: _rewrite(table, before, round_, *one), enumerate(_chosen(before, round_)))


def parents_of(view: TournamentView) -> list[Hypothesis]:
    """Return what is rewritten: the best of each cluster, pinned ones first."""
    known = rated(view)
    if known is None:
        return []
    pinned = newest_marks(view.marks, "pin")
    order = sorted(known.competing, key=lambda at: (not pinned.get(known.ids[at]), -known.ratings.mean[at], at))
    taken: set[int] = set()
    chosen: list[Hypothesis] = []
    by_id = {one.id: one for one in view.hypotheses}
    for at in order:
        name, cluster = known.ids[at], known.clusters[at]
        if cluster not in taken or pinned.get(name):
            taken.add(cluster)
            chosen.append(by_id[name])
    return chosen


def _chosen(view: TournamentView, round_: int) -> Iterator[tuple[list[Hypothesis], Evolution]]:
    """Yield parents and how they are rewritten; a combination takes the next best beside."""
    best = parents_of(view)
    count = min(view.tournament.bounds.evolve, len(best))
    for at in range(count):
        how = EVOLUTIONS[((round_ - 1) * view.tournament.bounds.evolve + at) % len(EVOLUTIONS)]
        if how == "combine" and len(best) == 1:
            how = "simplify"
        yield ([best[at], best[(at + 1) % len(best)]] if how == "combine" else [best[at]]), how


def _rewrite(
    table: RoundTable, view: TournamentView, round_: int, number: int, how: tuple[list[Hypothesis], Evolution]
) -> None:
    key = f"evolve {round_} {number}"
    if table.ledger.has(key) or table.cast.evolver is None:
        return
    parents, way = how
    seed = view.tournament.bounds.seed + 1000 * round_ + number
    what = f"{way} {' and '.join(one.id for one in parents)} (round {round_})"
    made = table.ask(
        "evolution",
        what,
        partial(table.cast.evolver.evolve, view.tournament.aims, guidance(view), parents, way, seed),
    )
    if isinstance(made, Skipped):
        table.ledger.keep(made, asked=key, calls=1)
        return
    child = _fresh(table, made.hypothesis, "evolved", round_)
    child = child.model_copy(update={"parents": [one.id for one in parents], "evolution": way})
    now = table.ledger.view()
    table.ledger.keep(*_sound(table, now, [child], what), asked=key, calls=made.calls)


def _fresh(table: RoundTable, made: Hypothesis, method: str, round_: int) -> Hypothesis:
    told = {"id": id_of(made.text), "at": table.ledger.now(), "round": round_, "method": method}
    return made.model_copy(update=told)


def _sound(table: RoundTable, view: TournamentView, made: Sequence[Hypothesis], what: str) -> list[Item]:
    """Return the hypotheses that may compete, and for each other why it may not."""
    found: list[Item] = []
    beside = list(view.hypotheses)
    for at, one in enumerate(made, start=1):
        why = _unsound(table, one, beside)
        if why:
            found.append(Skipped(stage="making", what=f"{what}, {at}: {one.text[:80]}", why=why))
        else:
            found.append(one)
            beside.append(one)
    return found


def _unsound(table: RoundTable, one: Hypothesis, beside: Sequence[Hypothesis]) -> str:
    if len(one.text.split()) < 2:
        return "It is no sentence."
    if len(one.text) > MOST_SIGNS:
        return f"It has {len(one.text):,} signs; a hypothesis has at most {MOST_SIGNS:,}."
    said = [one.text, one.explanation, one.experiment, *(prediction.says for prediction in one.predictions)]
    if why := table.finish(partial(table.cast.refuses, "\n".join(filter(None, said)))):
        return why
    known = {other.id for other in beside}
    if one.id in known:
        return f"It says word for word what {one.id} says."
    if one.evolution is None or not beside:
        return ""
    # Novelty is looked at again after each rewriting: what only rewords another is not a new idea.
    like = table.cast.likeness([one, *beside])[0, 1:]
    nearest = int(like.argmax())
    if like[nearest] >= table.ledger.state.bounds.same_idea and not says_other(one, beside[nearest]):
        return f"It says what {beside[nearest].id} says."
    return ""
