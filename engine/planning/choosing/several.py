"""Several requests in one question: where it is cut, and what is planned for each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from engine.planning.binding.bind import bind
from engine.planning.binding.bound import Bound
from engine.planning.choosing.catalogue import Catalogue
from engine.planning.choosing.choose import probabilities
from engine.planning.choosing.coverage import named_things, unexplained
from engine.planning.choosing.forms import plain_form
from engine.planning.choosing.score import NAMED, Candidate, stretch
from engine.planning.reading.masking import masked
from engine.planning.reading.read import within
from engine.planning.reading.reading import Reading, Request
from engine.planning.reading.requests import cuts, items_alone
from engine.planning.tables.sheets import Data, is_id
from engine.text.stopwords import STOP

NOT_ALONE = "was not understood by itself; ask it alone."
"""How the sentence ends that names a part of a question which says too little."""
SEVERAL = 0.55
"""How sure each of several requests must be to be planned for itself."""
HALF, ALONE = 0.35, 0.8
"""How likely by its words the analysis of each half of a request must be for it to be taken for two: where words add a request, and where not."""


def requests_in(catalogue: Catalogue, reading: Reading, data: Data) -> list[Request]:
    """Return the requests of a question, cut further where both sides of an `and` clearly ask for different things."""
    by_name = {column.name: column for column in data.columns()}
    named = [m.first for m in reading.mentions if (c := by_name.get(m.column)) and not m.level and not is_id(c)]
    held = {m.first for m in reading.mentions if not m.level and reading.parts.get(m.column) == {"adjust"}}

    def only_told(half: Request) -> bool:  # `also adjusted for age` asks for nothing by itself
        inside = {*range(half.first, half.last + 1)}
        told = [m for m in reading.mentions if m.level and m.first in inside]
        if told and not inside & {*named} and all(m in reading.spared for m in told):
            return True  # `nobody from Graz was excluded`
        return bool(inside & held) and inside & held == inside & {*named}

    if reading.words and plain_form(masked(reading, by_name, least=NAMED)):
        return [Request(0, len(reading.words) - 1)]  # of a plain wording the `and` is a part
    found: list[Request] = []
    reading.requests = _with_what_is_listed(reading)
    single = len(reading.requests) == 1 and len(reading.words) > 1
    for request in [Request(0, len(reading.words) - 1)] if single else reading.requests:
        places = [cut for cut in cuts(reading, request, named) if not any(map(only_told, (cut.left, cut.right)))]
        halves = [stretch(reading, by_name, *half) for cut in places for half in (cut.left, cut.right)]
        shares = [max(share.items(), key=lambda item: item[1]) for share in probabilities(halves, catalogue.embed)]
        best, apart = 0.0, (request,)
        for cut, (one, first), (other, second) in zip(places, shares[::2], shares[1::2], strict=True):
            least, data_both = min(first, second), catalogue.analyses[one].data and catalogue.analyses[other].data
            if one != other and data_both and least > max(best, HALF if cut.clear else ALONE):
                best, apart = least, (cut.left, cut.right)
        found += apart
    return reading.requests if len(found) == 1 else _with_what_goes_on(found, reading)


_LISTS = frozenset("give show list tell print return report name names me us please pls with their its".split())


def _with_what_is_listed(reading: Reading) -> list[Request]:
    """Return the requests, those that only name columns to show together with the one before."""
    found = reading.requests[:1]
    for request in reading.requests[1:]:
        if _names_what_to_list(request, reading):
            found[-1] = Request(found[-1].first, request.last)
        else:
            found.append(request)
    return found


def _names_what_to_list(request: Request, reading: Reading) -> bool:
    """Say whether a request only names columns to show of the rows asked for before: `Which ...? Give me cow and farm`."""
    if not re.search(r"\b(?:which|who|whose)\b", reading.question[: reading.words[request.first].start], re.IGNORECASE):
        return False
    inside = {*range(request.first, request.last + 1)}
    named = [m for m in reading.mentions if m.first in inside]
    rest = inside - {at for m in named for at in range(m.first, m.last + 1)}
    verbs = [reading.words[at].text for at in rest if reading.words[at].text not in STOP]
    return bool(named) and not any(m.level for m in named) and bool(verbs) and {*verbs} <= _LISTS


_OF_THAT = re.compile(
    r"\W*(?:and\W+)?what\s+(?:share|percentage|percent|proportion|fraction|%)\s+(?:is|are|would be)\s+(?:that|this|those|it)\b|"
    r"\W*(?:and\W+|also\W+|if so\W+)*(?:how\s+(?:big|large|strong|sure|certain|significant|reliable|relevant)|"
    r"(?:is|are|was|were)\s+(?:it|that|this|they|the\s+(?:\w+\s+)?(?:differences?|effects?|changes?|increase|decrease|association|correlation|relation\w*))\s+"
    r"(?:\w+\s+)?(?:significant|real|robust|reliable|relevant|true|large|big|strong|meaningful|by chance|due to chance|just chance))\b",
    re.IGNORECASE,
)
"""`and how big is the effect`: more of what was asked, of no columns of its own."""
_SAME_IN = re.compile(
    r"\W*(?:and\W+|also\W+)*(?:is|are|was|were)\s+(?:that|this|the|any)\s+(?:\w+\s+)?(?:differences?|effects?|gaps?|benefits?|advantages?)\s+(?:also\s+|still\s+|about\s+)?"
    r"(?:the same|similar|equal|other|different|larger|bigger|smaller|stronger|weaker|just as \w+|as \w+)\s+(?:in|for|between|across|among|at|than)\b",
    re.IGNORECASE,
)
"""`and is that difference the same in both populations`: whether the effect before depends on these."""
_GOES_ON = re.compile(
    r"\W*(?:and\W+|also\W+|if so\W+)*(?:(?:is|are|was|were|do|does|did)\s+(?:it|this|that|they|these|those)\b|(?P<which>which\s+(?:ones?|of\s+(?:them|these|those))\b|"
    r"(?:by\s+)?how\s+(?:many|much)\s+(?:times|fold|percent|%|more|less)\b|(?:by\s+)?how\s+(?:many|much)(?:\s+\w+)?\W*$|how\s+many\s+(?:that|this|it|they)\s+(?:is|are|makes?)\b))",
    re.IGNORECASE,
)


def _with_what_goes_on(requests: list[Request], reading: Reading) -> list[Request]:
    """Return the requests, those that ask more of the one before together with it: `what share per line ..., and does it differ between lines`.

    Such a one points back, and names columns of the one before; levels alone are other rows (see `again`).
    """
    found = [requests[0]]
    for request in requests[1:]:
        own, before = ([m for m in reading.mentions if r.first <= m.first <= r.last] for r in (request, found[-1]))
        text = _text(reading, request)
        said = _GOES_ON.match(text)
        named = bool(own) and {m.column for m in own} <= {m.column for m in before}
        named = named and (any(not m.level for m in own) or bool(said and said["which"]))
        named |= not own and (_OF_THAT.match(text) is not None or bool(said and said["which"]))
        same = _SAME_IN.match(text) is not None
        if (same or (named and (said or not own))) and request.first == found[-1].last + 1 + _between(
            reading, found[-1], request
        ):
            found[-1] = Request(found[-1].first, request.last)
        else:
            found.append(request)
    return found


def _between(reading: Reading, one: Request, other: Request) -> int:
    """Return how many words of no content stand between two requests: their `and`."""
    words = reading.words[one.last + 1 : other.first]
    return len(words) if all(word.text in STOP for word in words) else -1


class AskedPart(NamedTuple):
    """Something that a question asks for beside other things."""

    best: Candidate
    places: list[Request]
    """Where it is asked for."""

    def text(self, reading: Reading) -> str:
        """Return its words."""
        return " ".join(_text(reading, place) for place in self.places)


def one_each(catalogue: Catalogue, reading: Reading, data: Data, best: Candidate) -> list[Candidate]:
    """Return what to plan for each request that is sure of another analysis; only the best where fewer than two are.

    A request that names nothing of the data, and what nothing is called by (`and is it related to herd size`), would be planned
    with the columns of another one: it is left out, and the reading notes it as lost.
    """
    parts = parts_of(catalogue, reading, data, best)
    goals = [part.best for part in parts] or [best]
    lost: list[Request] = []
    for request in reading.requests:
        if not (words := _of_other_data(request, goals, reading, data)):
            continue
        lost, told = [*lost, request], " and ".join(words[:3])
        text = AskedPart(best, [request]).text(reading)
        reading.lost.append(f"{text!r} is not planned: nothing in the data is called {told}.")
    goals = [part.best for part in parts if not all(place in lost for place in part.places)]
    return goals or [_without_counted(reading, data, best, catalogue)]


def _without_counted(reading: Reading, data: Data, best: Candidate, catalogue: Catalogue) -> Candidate:
    """Return the one thing that is planned without the cuts of a further request that counts: `and how many were below 4?`."""
    counted = [request for request in reading.requests[1:] if _COUNTS.match(_text(reading, request))]
    cut = [
        r
        for r in reading.restrictions
        if r.op not in ("in", "not in") and any(q.first <= r.first <= q.last for q in counted)
    ]
    if not cut or best.bound is None:
        return best
    reading.restrictions = [r for r in reading.restrictions if r not in cut]
    reading.lost += [f"{_text(reading, q)!r} {NOT_ALONE}" for q in counted]
    return replace(best, bound=bind(best.bound.spec, reading, data, needs=catalogue.analyses[best.analysis.id].needs))


_COUNTS = re.compile(r"\W*(?:(?:and|also)\W+)*how\s+many\b", re.IGNORECASE)


def _text(reading: Reading, request: Request) -> str:
    return reading.question[reading.words[request.first].start : reading.words[request.last].end]


_POINTS_BACK = re.compile(r"\b(?:it|this|that|they|them|these|those|(?:what|how) about)\b", re.IGNORECASE)


def _of_other_data(request: Request, goals: list[Candidate], reading: Reading, data: Data) -> list[str]:
    """Return the words, quoted, of what a request asks about that is not in the data; [] for one that names some of the data."""
    inside = {*range(request.first, request.last + 1)}
    said = _text(reading, request)
    if request == reading.requests[0] or not _POINTS_BACK.search(said):
        return []
    if any(m.first in inside for m in reading.mentions) or any(first in inside for _, first, _ in reading.genes):
        return []
    bounds = [goal.bound for goal in goals if goal.bound is not None]
    asked = [goal.analysis.id for goal in goals]
    left = [at for at in unexplained(reading, asked, bounds, data.called(), terms=True) if at in inside]
    return list(dict.fromkeys(repr(reading.words[at].text) for at in named_things(reading, left)))


def parts_of(catalogue: Catalogue, reading: Reading, data: Data, best: Candidate) -> list[AskedPart]:
    """Return the requests that are each sure of another analysis; [] where fewer than two are."""
    told: dict[str, Candidate] = {}
    places: dict[str, list[Request]] = {}
    for request in reading.requests:
        if _asks_the_same(request, reading):
            continue
        own = catalogue.candidates(within(reading, request, data), data, first=request.first,
            last=request.last, whole=reading,
        )  # fmt: skip
        if own and own[0].probability >= SEVERAL and own[0].feasible and (own[0].bound or own[0].wording >= SEVERAL):
            told[own[0].analysis.id] = own[0]
            places.setdefault(own[0].analysis.id, []).append(request)
    if len(told) < 2:
        return []
    for key, several in places.items():  # what is asked of one thing in two sentences is one request
        if len(several) > 1 and (joined := told[key].bound) is not None:
            again = bind(joined.spec, within(reading, several, data), data, needs=catalogue.analyses[key].needs)
            told[key] = replace(told[key], bound=again)
    told = {key: item for key, item in told.items() if not _turns_round(item, [best, *told.values()])}
    told = {key: item for key, item in told.items() if not _part_of(item, told.values())}
    told = {key: item for key, item in told.items() if not _only_how_many(item, reading, [best, *told.values()])}
    # What the data do not meet, where what it is meant for then is asked of another sentence, is not done beside it.
    told = {
        key: item for key, item in told.items() if not (item.unmet and {*item.analysis.instead} & told.keys() - {key})
    }
    if len(told) < 2:
        return []
    families = {item.analysis.family for item in told.values()}
    apart = len(families) > 1 or best.analysis.id in told
    return [AskedPart(item, places[key]) for key, item in told.items()] if apart else []


_DOES_IT = re.compile(
    r"\W*(?:(?:and|also|so|with \w+)\s+)*(?:does|do|did|is|are|was|were|has|have)\s+(?:it|they|this|that|these|those|(?:the|that|this) differences?)\b",
    re.IGNORECASE,
)


def _asks_the_same(request: Request, reading: Reading) -> bool:
    """Say whether a further request asks on about the columns of the one before: `share of positives by type, and does it differ between types`."""
    named = {m.column: m.first for m in reversed(reading.mentions)}
    own = [m.column for m in reading.mentions if request.first <= m.first <= request.last]
    start = reading.words[request.first].start
    said = reading.question[reading.question.rfind("?", 0, start) + 1 :].lstrip()
    on = request != reading.requests[0] and (_DOES_IT.match(reading.question[start:]) or _DOES_IT.match(said))
    return bool(on and own) and all(named[column] < request.first for column in own)


class ListItem(NamedTuple):
    """An item of a list `(a) ... (b) ...`."""

    text: str
    reading: Reading
    """The question without the other items."""
    may_be: list[Candidate]
    """Likeliest first."""

    @property
    def best(self) -> Candidate | None:
        """What it asks for, None where it does not say enough by itself."""
        first = self.may_be[0] if self.may_be else None
        sure = first is not None and first.probability >= SEVERAL and first.feasible and first.bound is not None
        return first if sure else None


def listed(catalogue: Catalogue, reading: Reading, data: Data, *, files: bool = True) -> list[ListItem]:
    """Return the items of a list `(a) ... (b) ...`, each read alone; [] where there is none or no item says enough."""
    items = items_alone(reading.question)
    start = next((at for at, (a, b) in enumerate(zip(*items[:2], strict=False)) if a != b), 0) if items else 0
    found: list[ListItem] = []
    for text in items:
        own = catalogue.read(text, data)
        own.chosen = reading.chosen
        every = [c for c in catalogue.candidates(own, data) if files or needs_no_file(c.bound)]
        found.append(ListItem(" ".join(text[start:].split()), own, every))
    return found if any(item.best for item in found) else []


def items_of_list(
    catalogue: Catalogue, reading: Reading, data: Data, *, files: bool
) -> tuple[list[Candidate], list[str]]:
    """Return what to plan for each item of a list `(a) ... (b) ...`, and the items that do not say enough by themselves."""
    items = listed(catalogue, reading, data, files=files)
    for item in items:
        if item.best is not None:
            reading.take(item.reading)
    return [item.best for item in items if item.best is not None], [item.text for item in items if item.best is None]


def needs_no_file(bound: Bound | None) -> bool:
    """Say whether a step runs on what the question says alone."""
    return bound is not None and not bound.missing and all(port.optional for port in bound.spec.inputs)


def _turns_round(item: Candidate, others: Iterable[Candidate]) -> bool:
    """Say whether a surer request explains what this takes for the cause by what this explains: a misread half of it."""
    measured, causes = _sides(item)
    # Of a drawing either axis will do.
    drawn = [o for o in others if o.bound is not None and o.bound.spec.task_type == "visualization"]
    surer = [_sides(o) for o in others if o.probability > item.probability and o not in drawn]
    return bool(measured and causes) and (causes, measured) in surer


def _part_of(item: Candidate, others: Iterable[Candidate]) -> bool:
    """Say whether another request is the same step with more said of it: the comparison, and within the same subject."""
    if item.bound is None:
        return False
    own = {*item.bound.columns()}
    same = [o.bound for o in others if o.bound is not None and o is not item and o.bound.spec is item.bound.spec]
    return any(own < {*other.columns()} and item.bound.rows == other.rows for other in same)


def _only_how_many(item: Candidate, reading: Reading, others: Iterable[Candidate]) -> bool:
    """Say whether a request is for nothing but how many of what another finds (`give me the top ten`), which that takes."""
    if reading.top is None or item.bound is None or item.bound.columns():
        return False
    takes = [o.bound.params.values() for o in others if o.bound is not None and o.bound.spec is not item.bound.spec]
    return any(reading.top.value == value for values in takes for value in values if not isinstance(value, bool))


def _sides(item: Candidate) -> tuple[frozenset[str], frozenset[str]]:
    """Return the columns that a step explains, and those it explains them by."""
    if item.bound is None:
        return frozenset(), frozenset()
    return (
        frozenset(item.bound.of_role("outcome", "measure", "response", "count", "y", "event")),
        frozenset(item.bound.of_role("group", "predictors", "covariates", "factors", "x")),
    )
