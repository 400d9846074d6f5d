"""What a step gets beside its columns and levels: spans of survival, subjects that are nested, codes as groups, units of effects.

A parameter is found by its role, so that a tool gets these by declaring one.
"""

from __future__ import annotations

import re
from typing import Any

from engine.domain.plan import texts_of
from engine.domain.toolspec import ParamSpec
from engine.planning.binding.bases import as_groups, references_said
from engine.planning.binding.bound import Bound
from engine.planning.binding.conditions import groups_beside
from engine.planning.binding.slots import panel_units, slot_of
from engine.planning.naming.lexicon import UNITS
from engine.planning.naming.mention import LIKELY, ColumnMention
from engine.planning.reading.reading import Reading, Restriction
from engine.planning.tables.as_tools import conversion
from engine.planning.tables.sheets import is_group, is_number, listed_counts
from engine.text.codes import meanings
from engine.text.names import name_parts
from engine.text.times import time_unit


def fill(bound: Bound, reading: Reading) -> None:
    """Fill the parameters of these roles in place, as far as words and data settle them."""
    _spans(bound)
    _time_of_event(bound)
    _nested(bound, reading)
    _within_each(bound, reading)
    as_groups(bound, reading)
    _per(bound, reading)
    references_said(bound, reading)
    _effort(bound, reading)
    _no_event(bound, reading)
    _tally(bound, reading)
    _adjusted(bound, reading)
    _values_told(bound, reading)
    _random_slope(bound, reading)
    _panel(bound)
    _marked(bound, reading)
    _judged_by(bound, reading)
    if not re.search(r"\bminus\b", reading.question, re.IGNORECASE):
        _later_first(bound)


def _values_told(bound: Bound, reading: Reading) -> None:
    """Say at which values of what explains an outcome it is expected."""
    param = next((p for p in bound.spec.params if p.role == "values_told"), None)
    if param is not None and reading.at and (names := bound.of_role("predictors")):
        bound.params[param.name] = [f"{name}={value}" for name in names for value in reading.at.get(name, [])]


def rows_counted(bound: Bound) -> None:
    """Count the rows of a table of counts where nothing is named that is counted: `how many birds per species and island`.

    What has several rows is counted once: `how many patients per centre and arm` of a row a visit.
    """
    again = {item.subject for item in bound.sheet.structure.repeated} if bound.sheet is not None else set[str]()
    if bound.params.get("aggregate") == "count" and again & {*bound.of_role("anything")}:
        bound.params["aggregate"] = "distinct"
    group = next((name for name in bound.of_role("split")), "")
    for param in [p for p in bound.missing if p.role == "anything" and p.kind == "column"]:
        if group and bound.params.get("aggregate") == "count":
            bound.params[param.name] = group
            bound.missing.remove(param)


def _marked(bound: Bound, reading: Reading) -> None:
    for param in (p for p in bound.spec.params if p.role == "marked"):
        if found := marked(param, bound.params.get(param.of), reading):
            bound.params[param.name] = list(dict.fromkeys(m.level for m in found))


def marked(param: ParamSpec, column: Any, reading: Reading) -> list[ColumnMention]:
    """Return the levels that the words beside them single out: `normalised to Actb`, `with Actb as reference`."""
    words, found, last = "|".join(param.words), list[ColumnMention](), -1
    before = re.compile(rf"(?:{words})\W+(?:to\s+|is\s+|are\s+|by\s+|with\s+|the\s+|genes?\s+){{0,3}}$", re.IGNORECASE)
    to = r"(?:to|against|by|with|on|over)\b"  # `IL6 relative to Actb`: what comes before it is no reference
    after = re.compile(rf"\W+(?:(?!{to})\w+\s+){{0,3}}?(?:{words})\b(?!\s+{to})", re.IGNORECASE)
    for mention in (m for m in reading.mentions if m.level and m.column == column):
        start, end = reading.words[mention.first].start, reading.words[mention.last].end
        listed = last >= 0 and re.fullmatch(r"\s*(?:,|and|&|,\s*and|\+)\s*", reading.question[last:start])
        if listed or before.search(reading.question[:start]) or after.match(reading.question[end : end + 40]):
            found, last = [*found, mention], end
    return found


_BY = re.compile(r"\b(?:with|against|vs\.?|versus|compared (?:to|with))\s+(?:(?:the|our|its|a)\s+)?$", re.IGNORECASE)


def _judged_by(bound: Bound, reading: Reading) -> None:
    """Subtract what the other is judged by, where it alone is named: `does the meter agree with the lab` asks of meter minus lab."""
    pair = {p.role: p.name for p in bound.spec.params if p.role in ("rating_a", "rating_b")}
    first, second = (str(bound.params.get(pair.get(role, ""), "")) for role in ("rating_a", "rating_b"))
    named = sorted((m for m in reading.mentions if not m.level), key=lambda m: -m.strength)
    places = {name: next((m.first for m in named if m.column == name), -1) for name in (first, second)}
    judge = {
        name: at >= 0 and bool(_BY.search(reading.question[: reading.words[at].start])) for name, at in places.items()
    }
    if not first or not second or places[first] < 0:
        return
    earlier = 0 <= places[second] < places[first]  # as they are named: `POC and lab`
    if judge[first] or (earlier and not judge[second]):
        bound.params |= {pair["rating_a"]: second, pair["rating_b"]: first}


def _later_first(bound: Bound) -> None:
    """Put the later of two occasions first where the second is subtracted: a gain is after minus before."""
    pair = [p.name for p in bound.spec.params if p.role in ("measure_a", "measure_b")]
    names = [str(bound.params.get(name, "")) for name in pair]
    for measure in bound.sheet.structure.wide if bound.sheet else ():
        if len(pair) == 2 and measure.ordered and {*names} <= {*measure.columns}:
            later, earlier = sorted(names, key=measure.columns.index, reverse=True)
            bound.params |= {pair[0]: later, pair[1]: earlier}


def _time_of_event(bound: Bound) -> None:
    """Take time and event that are called alike where another end than the usual one is asked of: `Months to PCM` and `PCM`."""
    columns = [p for p in bound.spec.params if p.kind == "column" and p.role in ("time", "event")]
    sheet, names = bound.sheet, {p.role: p.name for p in columns}
    event, time = (str(bound.params.get(names.get(role, ""), "")) for role in ("event", "time"))
    usual = sheet.structure.survival if sheet else {}
    if sheet is None or not usual or (event == usual.get("event")) == (time == usual.get("time")):
        return
    role, known = ("time", event) if time == usual.get("time") else ("event", time)
    fits, own = slot_of(role).fits, {*name_parts(known)} - {*name_parts(usual[role])}
    able = [c for c in sheet.columns if c.name != known and own & {*name_parts(c.name)} and fits(c, sheet) > 0]
    able = [c for c in able if role == "time" or c.scale == "binary"]
    if len(able) == 1:
        bound.params[names[role]] = able[0].name
        bound.reasons.append(f"{able[0].name!r} goes with {known!r}.")


_GROWS = re.compile(
    r"\bgrow\w*\b[^.?!]{0,40}\b(?:speed|rate|faster|slower|quicker|pace)\b|\b(?:speed|rate|pace|faster|slower)\b[^.?!]{0,20}\bgrow\w*",
    re.IGNORECASE,
)


def asked_first(bound: Bound, reading: Reading) -> None:
    """Let what is only held constant stand behind the two effects of which one is to depend on the other."""
    if bound.params.get("interaction") is not True:
        return
    for param in bound.spec.params:
        names = texts_of(bound.params.get(param.name))
        if param.role == "predictors" and param.kind == "columns" and names:
            held = [name for name in names if reading.parts.get(name) == {"adjust"}]
            bound.params[param.name] = [*(name for name in names if name not in held), *held]


def _grows(bound: Bound, reading: Reading) -> bool:
    """Say whether it is asked how fast something that is named grows."""
    measured = bound.of_role("outcome", "response", "measure")
    return _GROWS.search(reading.question) is not None and any(reading.strength(name) > 0 for name in measured)


def with_course(bound: Bound, reading: Reading) -> None:
    """Let a model of repeated rows explain by the time where the question asks how groups change: `does it slow growth`.

    Without the time there is no growth to be slower; what lies along it by the structure of the data is it. Groups that are
    followed `over time` may each have a course of their own: a mean over all times hides a rise that only one has.
    """
    sheet, flag = bound.sheet, next((p for p in bound.spec.params if p.role == "interaction"), None)
    fixed = next((p for p in bound.spec.params if p.role == "predictors" and p.kind == "columns"), None)
    if sheet is None or flag is None or fixed is None or not bound.of_role("subject"):
        return
    named, times = list(bound.params.get(fixed.name) or []), sheet.structure.times
    asked, along = bound.params.get(flag.name), [n for n in named if n in times and reading.is_a(n, "over")]
    groups = [
        n for n in named if n not in times and not reading.is_a(n, "adjust") and (c := sheet.column(n)) and is_group(c)
    ]
    if asked is True and len(named) == 1 and len(times) == 1 and times[0] not in bound.columns():
        bound.params[fixed.name] = [*named, times[0]]
        bound.reasons.append(f"How fast it changes is asked of: {times[0]!r} is the time.")
    elif asked is None and (change := _two_occasions(bound, reading, named)) is not None:
        over, levels, group = change
        bound.params |= {fixed.name: [over, group, *(n for n in named if n not in (over, group))], flag.name: True}
        column = sheet.column(over)
        if column is not None and set(column.levels) - set(levels) and over not in {row.column for row in bound.rows}:
            place = next(m for m in reading.mentions if m.column == over)
            bound.rows.append(Restriction(over, "in", levels, place.first, place.last, sure=True))
        bound.reasons.append(f"How {over!r} changes it is asked by {group!r}, so the change may differ between these.")
    elif asked is None and not along and groups and len(times) == 1 and _grows(bound, reading):
        bound.params |= {
            fixed.name: [groups[0], times[0], *(n for n in named if n not in (groups[0], times[0]))],
            flag.name: True,
        }
        said = _GROWS.search(reading.question)
        if said is not None:
            reading.mark_text(*said.span(), "method", "a slope over the time")
        bound.reasons.append(f"How fast it grows is asked by {groups[0]!r}: {times[0]!r} is the time.")
    elif asked is None and along and groups:
        first = [groups[0], along[0]]
        bound.params |= {fixed.name: [*first, *(n for n in named if n not in first)], flag.name: True}
        bound.reasons.append(f"{groups[0]!r} is followed over {along[0]!r}, so its effect may change with it.")


def _two_occasions(bound: Bound, reading: Reading, named: list[str]) -> tuple[str, tuple[str, ...], str] | None:
    """Return the two occasions that are set against each other and the groups whose changes are asked: (column, levels, groups)."""
    sheet, groups = bound.sheet, [name for name in groups_beside(bound, reading) if name in named]
    for name in named if sheet and groups else ():
        column = sheet.column(name) if sheet else None
        levels = tuple(dict.fromkeys(m.level for m in reading.mentions if m.column == name and m.level))
        if column is not None and name not in groups and len(levels) == TWO and {*levels} <= {*column.levels}:
            return name, levels, groups[0]
    return None


TWO = 2
"""So many occasions make a change."""


def _panel(bound: Bound) -> None:
    """Name the units that come again in every period, where the words name none and only one column can be they."""
    param, sheet = next((p for p in bound.spec.params if p.role == "panel_unit"), None), bound.sheet
    able = [name for name in panel_units(sheet) if name not in bound.columns()] if sheet else []
    if param is not None and not bound.params.get(param.name) and len(able) == 1:
        bound.params[param.name] = able[0]
        bound.reasons.append(f"Rows of one {able[0]!r} belong together, so the errors are clustered by it.")


def _spans(bound: Bound) -> None:
    """Give survival its spans: rows that begin at a time of their own, and states that began while subjects were watched."""
    sheet, params = bound.sheet, {p.role: p.name for p in bound.spec.params if p.role in ("start", "since", "cluster")}
    if sheet is None:
        return
    if "start" in params and (start := sheet.structure.survival.get("start")):
        bound.params[params["start"]] = start
        for param in bound.spec.params:
            if param.role == "covariates" and start in bound.of_role("covariates"):
                bound.params[param.name] = [name for name in bound.of_role("covariates") if name != start]
        subject = next((item.subject for item in sheet.structure.repeated), "")
        if subject and "cluster" in params:
            bound.params.setdefault(params["cluster"], subject)
    states = [name for name in bound.of_role("covariates") if name in sheet.structure.begins]
    if "since" in params and states:
        when = sheet.structure.begins[states[0]]
        bound.params[params["since"]] = when
        covariates = next(p.name for p in bound.spec.params if p.role == "covariates")
        rest = [name for name in bound.params[covariates] if name not in (states[0], when)]
        bound.params[covariates] = [states[0], *rest]
        bound.reasons.append(f"{states[0]!r} began at {when!r}: the time before counts as without.")


_NESTED = re.compile(
    r"\b(?:nested|numbered anew|renumbered|start(?:s|ing)? anew|restart\w*)\s+(?:in|within)\s+", re.IGNORECASE
)


def _nested(bound: Bound, reading: Reading) -> None:
    """Keep subjects of one number apart where the question says that they are nested: `mouse nested in treatment`."""
    param, said = next((p for p in bound.spec.params if p.role == "nested_in"), None), _NESTED.search(reading.question)
    if param is None or said is None:
        return
    after = [m for m in reading.mentions if 0 <= reading.words[m.first].start - said.end() <= NEAR and not m.level]
    if after and after[0].column not in bound.of_role("subject"):
        bound.params[param.name] = after[0].column


_EACH = re.compile(
    r"\b(?:within|in|at|for|inside)\s+(?:each|every|both|all)\s+(?:(?:levels?|of|the|single)\s+)*", re.IGNORECASE
)
_SIMPLE = re.compile(r"\bsimple (?:main )?effects? (?:of|for)\s+(?:the\s+)?", re.IGNORECASE)


def _within_each(bound: Bound, reading: Reading) -> None:
    """Compare within the levels of the factor of which the question says `each`: `treatment within each genotype`.

    Of a simple effect the other of two factors is meant: `the simple effects of treatment`.
    """
    param = next((p for p in bound.spec.params if p.role == "within_each"), None)
    factors = bound.of_role("factors")
    if param is None or len(factors) < 2:
        return
    found = [name for said in _EACH.finditer(reading.question) for name in _named_at(said.end(), factors, reading)]
    for said in _SIMPLE.finditer(reading.question) if len(factors) == 2 and not found else ():
        own = _named_at(said.end(), factors, reading)
        found += [name for name in factors if own and name not in own]
    if found:
        bound.params[param.name] = found[0]


def _named_at(place: int, columns: list[str], reading: Reading) -> list[str]:
    """Return which of the columns is named at a place of the question, or shortly after it."""
    at = {m.column for m in reading.mentions if 0 <= reading.words[m.first].start - place <= NEAR}
    return [name for name in columns if name in at]


NEAR = 12
"""So many characters may stand between `nested in` and what it is nested in."""
_PER = re.compile(
    r"\b(?:per|(?:for |with )?(?:each|every)|for one|an?(?!\s+\d))\s+(?:(?:extra|additional|further|more)\s+)?(\d+(?:[.,]\d+)?)?\s*-?\s*([A-Za-zµμ%]+)",
    re.IGNORECASE,
)


def _per(bound: Bound, reading: Reading) -> None:
    """Give effects for as many units of a predictor as the question says: `per 10 years` of age, `each km` of a distance in m."""
    param = next((p for p in bound.spec.params if p.role == "per"), None)
    if param is None or bound.sheet is None:
        return
    for said in _PER.finditer(reading.question):
        unit = said[2].lower().replace("µ", "u").replace("μ", "u")
        number = float((said[1] or "1").replace(",", "."))
        for name in bound.of_role("predictors", "covariates"):
            column = bound.sheet.column(name)
            if column is None or column.kind not in ("integer", "number"):
                continue
            pieces = [*name_parts(f"{name} {column.unit}"), *re.split(r"[^a-z%]+", f"{name} {column.unit}".lower())]
            years = column.role("covariate") >= LIKELY and "age" in pieces and time_unit(unit) == "year"
            of_it = unit.removesuffix("s") in ("point", "unit") and _next_named(said.end(), reading) == name
            same = years or of_it or unit in pieces or (time_unit(unit) and time_unit(unit) in map(time_unit, pieces))
            factor = 1.0 if same else _units_in(unit, pieces)
            if factor and number * factor != 1:
                bound.params[param.name] = number * factor
                reading.mark_text(*said.span(), "number", f"{param.name} = {number * factor:g}")
                return


def _next_named(end: int, reading: Reading) -> str:
    """Return the column that stands right behind a unit: `per 2 points of MDS`."""
    behind = re.compile(r"\s*(?:more\s+)?(?:of|in|on|higher)\s+(?:the\s+)?").match(reading.question, end)
    at = behind.end() if behind else -1
    return next((m.column for m in reading.mentions if not m.level and reading.words[m.first].start == at), "")


def _units_in(unit: str, pieces: list[str]) -> float:
    """Return how many of the unit that a name ends in make one of another, 0 where they are of different kinds."""
    own = next((piece for piece in reversed(pieces) if piece in UNITS), "")
    if not own or unit not in UNITS or time_unit(own):
        return 0.0
    try:
        return conversion(unit, own, 0.0, 0.0, "")[0]
    except ValueError:
        return 0.0


_EFFORT = re.compile(
    r"(?:^|[_\W])(?:area|effort|duration|hours?|hrs?|minutes?|volume|litres?|liters?|distance|length|met(?:er|re)s|swept|m2|ha|km2?|nights?|trapnights?|"
    r"person.?years?|patient.?days?|bed.?days?|py|pyears?)(?:$|[_\W])",
    re.IGNORECASE,
)
"""Names of what was searched or watched, which counts are in proportion to."""


_UNLIKE_EFFORT = re.compile(
    r"\b(?:not|n.t|n’t)\s+(?:all\s+)?(?:of\s+)?(?:the\s+)?(?:same|equal(?:ly)?|equally)\s*(?:length|long|area|size|big|time|duration|effort|volume)|"
    r"\b(?:different|unequal|varying|differ\w* in)\s+(?:in\s+)?(?:lengths?|areas?|sizes?|times?|durations?|efforts?|volumes?)\b|\bweren.?t all the same (?:length|size|area|time)\b",
    re.IGNORECASE,
)
"""Says that counts were taken of unlike lengths, areas or times: `transects were not all the same length`."""


def _effort(bound: Bound, reading: Reading) -> None:
    """Take a column of effort that counts are only adjusted for as what they are counted per: `the areas differ, account for that`."""
    exposure = next((p for p in bound.spec.params if p.role == "exposure"), None)
    predictors = next((p for p in bound.spec.params if p.role == "predictors"), None)
    if exposure is None or predictors is None or bound.params.get(exposure.name) or not bound.of_role("count"):
        return
    names = bound.of_role("predictors")
    if _UNLIKE_EFFORT.search(reading.question) and bound.sheet is not None:
        able = [c.name for c in bound.sheet.columns if is_number(c) and (c.minimum or 0) > 0 and _EFFORT.search(c.name)]
        if len(able) == 1 and able[0] not in bound.columns():
            bound.params[exposure.name] = able[0]
            bound.reasons.append(
                f"The counts are taken per {able[0]!r}, which was not the same everywhere, as the question says."
            )
            return
    effort = [name for name in names if reading.parts.get(name) == {"adjust"} and _EFFORT.search(name)]
    if len(effort) == 1 and len(names) > 1:
        bound.params[exposure.name] = effort[0]
        bound.params[predictors.name] = [name for name in names if name != effort[0]]
        bound.reasons.append(f"The counts are taken per {effort[0]!r}, in proportion to it.")


_NO_EVENT = re.compile(
    r"\b(?:alive|living|censored|event.?free|no event|still|end of (?:study|follow.?up)|lebt|lebend|zensiert|vivant|viv[oa])\b",
    re.IGNORECASE,
)


def _no_event(bound: Bound, reading: Reading) -> None:
    """Say which code means that nothing has happened so far, where question or legend tell it of just one: `2 = alive`."""
    param = next((p for p in bound.spec.params if p.role == "no_event" and not bound.params.get(p.name)), None)
    if param is None or bound.sheet is None:
        return
    told = meanings(bound.sheet.columns, reading.question)
    for name in bound.of_role("event"):
        free = [level for level, said in told.get(name, {}).items() if _NO_EVENT.search(said)]
        bound.params |= {param.name: free[0]} if len(free) == 1 else {}


def _tally(bound: Bound, reading: Reading) -> None:
    """Let a step count each row of a list of combinations as often as its own column says."""
    param = next((p for p in bound.spec.params if p.role == "tally" and not bound.params.get(p.name)), None)
    if param is None or bound.sheet is None or bound.sheet.made:
        return
    name = listed_counts(bound.sheet)
    if name and name not in bound.columns() and name not in reading.named():
        bound.params[param.name] = name
        bound.reasons.append(f"Each row counts as often as {name!r} says.")


def _adjusted(bound: Bound, reading: Reading) -> None:
    """Tell a model which of its predictors the question only adjusts for, so that its first sentence leaves them out."""
    param = next((p for p in bound.spec.params if p.role == "adjusted"), None)
    held = [name for name in bound.of_role("predictors", "covariates", "factors") if reading.is_a(name, "adjust")]
    if param is not None and held:
        bound.params[param.name] = list(dict.fromkeys(held))


_SLOPES = re.compile(
    r"\brandom(?:ly varying)?\s+(?:(?:intercepts?|effects?)\s*(?:and|&|\+|,|plus)\s*(?:random\s+)?)?(?:\w+\s+)?slopes?\b"
    r"(?:\s+(?:for|of|in|over|on|by|with)\b(?:\s+(?:the|each))?)?|\bslopes?\b[^.;?!]{0,20}\b(?:is|are|as)\s+random\b",
    re.IGNORECASE,
)


def _random_slope(bound: Bound, reading: Reading) -> None:
    """Let the slope of a predictor differ between subjects where the question asks for it: of the one named, else of the time."""
    param, sheet = next((p for p in bound.spec.params if p.role == "random_slope"), None), bound.sheet
    said = _SLOPES.search(reading.question)
    if param is None or sheet is None or said is None:
        return
    able = [
        c.name for name in bound.of_role("predictors") if (c := sheet.column(name)) and c.kind in ("integer", "number")
    ]
    named = [m.column for m in reading.mentions if not m.level and m.column in able
             and said.start() <= reading.words[m.first].start <= said.end() + NEAR]  # fmt: skip
    subjects = bound.of_role("subject")
    within = [
        name for item in sheet.structure.repeated if item.subject in subjects for name in item.within if name in able
    ]
    if chosen := [*named, *within, *(able if len(able) == 1 else [])]:
        bound.params[param.name] = chosen[0]
        bound.reasons.append(f"The slope of {chosen[0]!r} may differ between subjects, as the question asks.")
        reading.mark_text(*said.span(), "method", f"{param.name} = {chosen[0]}")
