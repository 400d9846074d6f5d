"""Which analyses a question asks for: the wording's probabilities, weighed by what the data can serve.

Words decide the family, the data decide within it: an analysis whose conditions the data do not meet hands its weight to those of
its family that fit. There is no default; an analysis that no tool carries out yet keeps its weight and is refused by name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from engine.data.catalogue import TABULAR
from engine.domain.datatypes import DataType
from engine.domain.profile import ColumnProfile
from engine.domain.toolspec import ToolSpec
from engine.planning.binding.bind import bind
from engine.planning.binding.bound import Bound
from engine.planning.binding.conditions import EXPLAINED, held_left, holds
from engine.planning.binding.files import leaves_files, methods_named, on_the_way, reachable, suits
from engine.planning.choosing.choose import Embed, Wording, probabilities
from engine.planning.choosing.forms import worded
from engine.planning.naming.mention import SURE
from engine.planning.reading.grammar import HOLDS
from engine.planning.reading.masking import NO_ROLES, durations, masked
from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import Data, is_id
from engine.toolbox.analyses import Analysis

HANDED = 0.9
"""The share of an unfit analysis' weight that those get which are meant `instead`."""
MEANT = 2.2
"""How much the fit of the columns decides between those."""
ABSENT = 0.6
"""The fit given to analyses that cannot be bound because no tool carries them out."""
LEAST = 0.003
NAMED = 0.5
"""A plain form counts as a name what is named at least so surely."""
KEEPS = 3
"""How often `A versus B` counts against a step that only keeps rows: `A vs B only` compares."""


@dataclass(frozen=True, slots=True)
class SignWeights:
    """What each sign adds to the logarithm of an analysis' weight.

    Fitted as a conditional logit (McFadden 1974) on 354 questions of six authors, with a ridge towards what was set before;
    ADR 16 says how well it does on questions left out. `suits`, `infeasible` and `unfed` are of the fit before: few of these
    questions were of genes and cells, which the new ones would answer by what their files cannot serve.
    """

    wording: float = 0.93
    """Times the logarithm of the wording's probability, its own and what it was handed."""
    family: float = 0.31
    """Times the logarithm of the family's."""
    fit: float = 1.92
    """Times the fit of the columns, -1.5 to 1.5."""
    used: float = 0.72
    """Times the share of what is named that has a part in it."""
    suits: float = 1.34
    """Times the logarithm of how well files and columns suit it (`suits`)."""
    infeasible: float = -2.15
    """No file holds the kind of data."""
    no_tool: float = -0.51
    """It could be fed, but no tool carries it out."""
    unfed: float = -0.77
    """For each column surely named, where nothing takes columns."""
    without_data: float = 0.32
    """It needs no data."""
    unmet: float = -1.46
    """For each condition that does not hold."""
    lacking: float = -0.85
    """For each input that neither is there nor can be made."""
    left: float = -1.37
    """For each `A versus B` that it does not compare, and for what it does not hold constant."""
    asks: float = 0.47
    """A required column is named by no word: the fit has counted that already, too strictly."""


WEIGHTS = SignWeights()
_HOLDS = re.compile(rf"\b{HOLDS} (?:(?:it|this|that|also) )?for\b", re.IGNORECASE)
"""Methods that can do so are said to adjust."""
UNHEARD = 1e-5


@dataclass(slots=True)
class Candidate:
    """An analysis, how likely it is meant, and the step that would answer it."""

    analysis: Analysis
    wording: float
    """Probability by the words alone."""
    probability: float = 0.0
    bound: Bound | None = None
    feasible: bool = True
    """False when no file holds the kind of data it needs."""
    unmet: tuple[str, ...] = ()
    left: int = 0
    """How many `A versus B` it does not compare, and what is to be held constant that it has no part for."""
    instead_of: str = ""
    """The analysis whose conditions the data do not meet and that says that this one is meant then."""
    signs: dict[str, float] = field(default_factory=dict)
    """What speaks for and against it, by the names of `Weights`."""


def candidates(
    reading: Reading, data: Data, analyses: dict[str, Analysis], tools: Iterable[ToolSpec], embed: Embed | None, *,
    first: int = 0, last: int | None = None, whole: Reading | None = None,
) -> list[Candidate]:  # fmt: skip
    """Return the analyses that a question (or a stretch of it) may ask for, likeliest first.

    Args:
        reading: the question, or what one of its requests says.
        data: the files.
        analyses: what can be asked.
        tools: what can be done.
        embed: texts to vectors, or None.
        first: the token where the stretch begins.
        last: the token where it ends.
        whole: the whole question, from which a step takes its columns that the stretch leaves out.
    """
    by_name = {column.name: column for column in data.columns()}
    roles = {sheet.structure.survival.get("event", ""): "END" for sheet in data.sheets}
    roles |= {part: "PART" for sheet in data.sheets for part in sheet.structure.part_of}
    roles |= durations(data.sheets)
    wordings = [worded(reading.asking(), reading.masked, masked(reading, by_name, least=NAMED, roles=roles))]
    last = len(reading.words) - 1 if last is None else last
    if reading.words and (first, last) != (0, len(reading.words) - 1):
        wordings = [stretch(reading, by_name, first, last, roles)]
    elif reading.words and (asked := _asked(reading)) is not None:
        wordings.append(stretch(reading, by_name, *asked, roles))
    shares = probabilities(wordings, embed)
    words = {key: sum(share[key] for share in shares) / len(shares) for key in shares[0]}
    return weighed(_of_the_data(words, reading, data, analyses), reading, data, analyses, list(tools), whole)


SPOKEN_OF = 2
"""A question that names so many columns, each surely, is one of the data."""
LOST, KEPT_LOST = 0.25, 0.15
"""From this probability on it is said to be of no data, and what is left of that where it is one of the data."""


def _of_the_data(
    words: dict[str, float], reading: Reading, data: Data, analyses: dict[str, Analysis]
) -> dict[str, float]:
    """Return the probabilities, those of what needs no data handed to the others where the question is plainly one of the data.

    A story around a question (`for my journal club: vaccine or placebo ...`) reads like one that no data answer.
    """
    sure = {m.column for m in reading.mentions if m.strength >= SURE and (c := data.column(m.column)) and not is_id(c)}
    idle = {key for key in words if not analyses[key].data}
    if reading.lived:  # who lives longer is asked of how long each lived
        types = data.types()
        idle |= {key for key in words if not {*analyses[key].data} & types and "table" not in analyses[key].data}
    lost = sum(words[key] for key in idle)
    if (len(sure) < SPOKEN_OF and not reading.lived) or not idle or lost < LOST:
        return words
    kept = (1 - KEPT_LOST) / max(1e-9, 1 - lost)
    return {key: share * (KEPT_LOST / lost if key in idle else kept) for key, share in words.items()}


def stretch(
    reading: Reading, columns: dict[str, ColumnProfile], first: int, last: int, roles: Mapping[str, str] = NO_ROLES
) -> Wording:
    """Return the wording of some tokens of a question."""
    start, end = reading.words[first].start, reading.words[last].end
    whole = masked(reading, columns, first, last, least=NAMED, roles=roles)
    lasted = {name: kind for name, kind in roles.items() if kind == "NUM"}
    return worded(reading.question[start:end], masked(reading, columns, first, last, roles=lasted), whole)


def _asked(reading: Reading) -> tuple[int, int] | None:
    """Return the tokens from the first request on, where background stands before it."""
    first, last = reading.requests[0].first, reading.requests[-1].last
    return (first, last) if first > 3 and last - first >= 2 else None


def weighed(
    words: dict[str, float], reading: Reading, data: Data, analyses: dict[str, Analysis], tools: list[ToolSpec],
    whole: Reading | None = None,
) -> list[Candidate]:  # fmt: skip
    """Return the candidates for given probabilities of the wording."""
    types = data.types()
    families: dict[str, float] = {}
    for key, share in words.items():
        families[analyses[key].family] = families.get(analyses[key].family, 0.0) + share
    within = reachable(data, tools)
    found = [
        _candidate(analyses[key], share, reading, data, tools, types, within, whole)
        for key, share in words.items()
        if key in analyses and (share >= LEAST or families[analyses[key].family] >= 0.1)
    ]
    aside = {c.analysis.id for c in found if leaves_files(c.analysis, c.bound, data)}
    meant = {heir for item in found if item.wording > 0.05 for heir in _heirs(item, analyses, within, aside)}
    known = {item.analysis.id for item in found}
    found += [
        _candidate(analyses[key], words.get(key, 0.0), reading, data, tools, types, within, whole)
        for key in meant - known
        if key in analyses
    ]
    for item in found:
        item.left = sum(count(item, reading) for count in (_contrasts_left, _held_left, _shares_left, _outcomes_left))
    fits = {item.analysis.id: max(-1.5, min(1.5, _fit(item, reading, data, tools))) for item in found}
    given = {item.analysis.id: _heirs(item, analyses, within, aside) for item in found}
    # What only holds constant goes on with what was asked before, by whatever method that was.
    free = any(reading.parts.get(name) != {"adjust"} for name in reading.named())
    named = methods_named(tools, _HOLDS.sub("adjusted for", reading.question) if free else reading.question)
    sure = sum(reading.strength(name) >= SURE for name in reading.named())
    scores: dict[str, float] = {}
    for item in found:
        key, bound = item.analysis.id, item.bound
        share = item.wording
        if bound is not None and bound.missing and any(can_be_done(c) for c in found if c.analysis.id in given[key]):
            share *= 1 - HANDED
        if item.feasible and not item.unmet:
            share += HANDED * sum(_handed(c, item, found, fits, given) for c in found if key in given[c.analysis.id])
        item.signs = {
            "wording": math.log(share + UNHEARD),
            "family": math.log(families.get(item.analysis.family, 0.0) + 1e-3),
            "fit": fits[key],
            "used": _used(item, reading),
            "suits": math.log(suits(item.analysis, bound, reading, data, named)),
            "infeasible": not item.feasible,
            "no_tool": bound is None and item.feasible and bool(item.analysis.data),
            "unfed": sure if bound is None else 0,
            "without_data": not item.analysis.data,
            "unmet": len(item.unmet),
            "lacking": _lacking(item, within),
            "left": item.left,
            "asks": bound is not None and bool(bound.missing),
        }
        scores[key] = math.exp(sum(getattr(WEIGHTS, name) * value for name, value in item.signs.items()))
    total = sum(scores.values()) or 1.0
    for item in found:
        item.probability = scores[item.analysis.id] / total
    return sorted(found, key=lambda item: -item.probability)


def _fit(item: Candidate, reading: Reading, data: Data, tools: list[ToolSpec]) -> float:
    """Return how well the columns named fit: those of the step itself, or of the one that makes its input."""
    bound = item.bound
    if bound is None:
        return ABSENT
    best = bound.score
    if not bound.columns() and (way := on_the_way(bound.spec, reading, data, tools)) is not None:
        best = max(best, way.score)
    fit = best / (1.0 + len({*reading.columns()} - reading.counted_for))
    return max(fit, ABSENT) if not reading.columns() and not bound.missing else fit


def _used(item: Candidate, reading: Reading) -> float:
    """Return the share of the columns named, each as surely as it is named, that have a part in the step."""
    whole = sum(reading.strength(name) for name in reading.named() if name not in reading.counted_for)
    taken = set(item.bound.columns()) if item.bound else set[str]()
    return sum(reading.strength(name) for name in taken) / whole if whole else 0.0


def _lacking(item: Candidate, within: set[DataType]) -> int:
    """Return how many inputs of a step neither are there nor can be made."""
    return sum(not port.optional and port.type not in within for port in item.bound.spec.inputs) if item.bound else 0


def _contrasts_left(item: Candidate, reading: Reading) -> int:
    """Return how many columns have levels set against each other that the step does not compare."""
    if item.bound is None or any(p.role == "formula" for p in item.bound.spec.params):
        return 0
    taken = item.bound.columns()
    weight = KEEPS if any(p.role == "rows" for p in item.bound.spec.params) else 1
    return weight * sum(
        c.explicit
        and c.column not in taken
        and item.bound.sheet is not None
        and item.bound.sheet.column(c.column) is not None
        for c in reading.contrasts
    )


def _held_left(item: Candidate, reading: Reading) -> int:
    """Return twice how many columns that are only to be held constant have no part in the step: unadjusted is another question."""
    return 2 * len(held_left(item.bound, reading)) if item.bound is not None else 0


def _shares_left(item: Candidate, reading: Reading) -> int:
    """Return twice how many columns of whose level a share is compared have no part in the step: its mean is another question."""
    return 2 * len(reading.shares - set(item.bound.columns())) if item.bound is not None else 0


def _outcomes_left(item: Candidate, reading: Reading) -> int:
    """Return twice how many columns that are told as what is explained explain something else, which nobody named."""
    if item.bound is None:
        return 0
    explained = item.bound.of_role(*EXPLAINED)
    if not explained or any(reading.strength(name) > 0 for name in explained):
        return 0
    explains = item.bound.of_role("predictors", "covariates", "factors", "group")
    # `The odds ratio of A against B` is that of something else.
    apart = {c.column for c in reading.contrasts if c.explicit}
    return 2 * sum(reading.parts.get(name) == {"outcome"} and name not in apart for name in explains)


def _heirs(unfit: Candidate, analyses: dict[str, Analysis], within: set[DataType], aside: set[str]) -> set[str]:
    """Return the analyses that are meant where the data do not serve one: those it names, and those that stand for it."""
    own = set(unfit.analysis.instead) if unfit.unmet else set[str]()
    unable = (
        not unfit.feasible or unfit.bound is None or unfit.analysis.id in aside
        or bool(unfit.unmet or unfit.bound.missing or _lacking(unfit, within))
    )  # fmt: skip
    return own | {key for key, other in analyses.items() if unable and unfit.analysis.id in other.stands_for}


def can_be_done(item: Candidate) -> bool:
    """Say whether an analysis can be carried out as it stands."""
    return item.feasible and not item.unmet and item.bound is not None and not item.bound.missing


def _handed(
    unfit: Candidate, item: Candidate, found: list[Candidate], fits: dict[str, float], given: dict[str, set[str]]
) -> float:
    """Return what of an unfit analysis' weight goes to another: by their fit and wording among those meant instead."""
    meant = given[unfit.analysis.id]
    heirs = [c for c in found if c.analysis.id in meant and can_be_done(c)]
    if item not in heirs:
        return 0.0
    shares = {c.analysis.id: math.exp(MEANT * fits[c.analysis.id]) * (c.wording + 0.05) for c in heirs}
    return unfit.wording * shares[item.analysis.id] / sum(shares.values())


def unmet_by(bound: Bound, reading: Reading, analysis: Analysis) -> tuple[str, ...]:
    """Return the conditions of an analysis and of one of its tools that question and data do not meet."""
    return tuple(name for name in (*analysis.when, *bound.spec.when) if not holds(name, bound, reading))


def _candidate(
    analysis: Analysis, share: float, reading: Reading, data: Data, tools: list[ToolSpec], types: set[DataType],
    within: set[DataType], whole: Reading | None = None,
) -> Candidate:  # fmt: skip
    served = [kind in types or (kind == "table" and bool(types & TABULAR)) for kind in analysis.data]
    able = [tool for tool in tools if analysis.id in tool.answers and tool.runnable]
    alone = any(all(port.optional for port in tool.inputs) for tool in able)
    item = Candidate(analysis, share, feasible=alone or not analysis.data or any(served))
    feasible = item.feasible
    if not able or not feasible:
        return item
    options: list[tuple[tuple[bool, bool, int, bool, bool, float], Bound, tuple[str, ...]]] = []
    for tool in able:
        bound = bind(tool, reading, data, needs=analysis.needs)
        if bound.missing and whole is not None:
            bound = bind(tool, whole, data, needs=analysis.needs)
        unmet = unmet_by(bound, reading, analysis)
        named = sum(word.lower() in reading.question.lower() for word in (tool.title, *tool.keywords))
        fed = all(port.optional or port.type in within for port in tool.inputs)
        other = tool.name not in reading.chosen  # a person who chose a column for a step wants that step
        # It was made for that.
        said = any(name.startswith("said:") and holds(name, bound, reading) for name in tool.when)
        place = (other, not fed, len(unmet), not said, bool(bound.missing), -bound.score - 0.3 * min(3, named))
        options.append((place, bound, unmet))
    _, item.bound, item.unmet = min(options, key=lambda option: option[0])
    return item
