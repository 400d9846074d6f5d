"""What the rows of a table are, found from its values: subjects with several rows, times, pairs, totals, doses.

A subject shows in what it determines (its sex, its group) and in what tells its rows apart (a time, a
condition). Names only tip the balance, so a table with other names, or in another language, reads the same.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any

from engine.data.columns.column import profile_column
from engine.data.source import Frame
from engine.data.structure.measures import compositions, parts_of_totals, same_quantities, wide_measures
from engine.data.structure.problems import MOST_LOOKED_AT, SLIPS
from engine.data.structure.roles import roles_of
from engine.data.structure.scales import (
    FEW,
    HINTS,
    Col,
    View,
    date_like,
    hint,
    label_like,
    levels_sorted,
    log_spaced,
    numbered,
    only_names,
    tokens,
    unit_is_time,
    unit_of,
    view,
    with_scales,
)
from engine.data.structure.survival import (
    BLOCK,
    begins,
    between_dates,
    of_one_beginning,
    time_to_event,
    until_the_last,
    until_what,
)
from engine.data.structure.unit_columns import units_beside
from engine.domain.profile import ColumnProfile, Repeated, Structure
from engine.text import letters

_MOST = 40
"""At most so many columns are compared in pairs."""
_CHANCE = 1e-4
"""A clock grows from row to row in all subjects; in fewer tables than this would another number do so by chance."""
_FACTORS = ("category", "binary", "ordered", "code", "date")


def look(frame: Frame, columns: list[ColumnProfile] | None = None) -> tuple[list[ColumnProfile], Structure]:
    """Return the columns of a table with scales, roles and notes, and what its rows are.

    Args:
        frame: the rows.
        columns: profiles of (some of) its columns; made here when not given. What a person corrected stays.
    """
    if columns is None:
        unique = frame.columns[~frame.columns.duplicated()]
        columns = [profile_column(str(name), frame.loc[:, ~frame.columns.duplicated()][name]) for name in unique]
    table = view(frame, columns)
    columns = with_scales(columns, table)
    structure = _structure(_without_slips(frame, columns, table))
    columns = _noted(_alike(columns, structure), structure)
    return roles_of(columns, frame, table, structure), structure


def _without_slips(frame: Frame, columns: list[ColumnProfile], table: View) -> View:
    """Return the table without the few rows that stand there twice: one typed twice is no second visit."""
    measured = any(column.kind in ("number", "identifier", "text") for column in columns)  # codes repeat by chance
    try:
        twice = frame.duplicated() if measured and len(frame) <= MOST_LOOKED_AT else None
    except TypeError:  # lists in the cells
        return table
    if twice is None or not 0 < int(twice.sum()) <= SLIPS * len(frame):
        return table
    return view(frame[~twice], columns)


def structure_of(frame: Frame, columns: list[ColumnProfile]) -> Structure:
    """Return what the rows of a table are.

    Args:
        frame: the rows.
        columns: profiles with scales; those that a person marked to be ignored are left out.
    """
    return _structure(view(frame, [column for column in columns if column.corrected != "ignore"]))


def _structure(table: View) -> Structure:
    cols = [col for col in table.cols if col.size > 1]
    every, table = table, View(cols, table.rows)  # of a hundred each is a total, too
    if table.rows < 2 or not cols:
        return Structure()
    families = wide_measures(table)
    spread = {name for family in families if len(family.columns) > 2 for name in family.columns}
    rest = View([col for col in cols if col.name not in spread], table.rows)  # `LW_wk3` is a weight, not a time
    repeated = _repeated(rest if len(rest.cols) > 1 else table)
    times = _times(rest, repeated)
    dated = between_dates(table, times)
    at_occasions = [w for w in families if w.ordered and not (hint(w.name, "time", "duration") or unit_is_time(w.name))]
    measured = {name for family in at_occasions for name in family.columns}
    survival = {} if dated else time_to_event(table, times, repeated, measured) or until_what(table, repeated)
    survival = survival or ({} if dated or repeated else of_one_beginning(table))
    dated = dated or ({} if survival else until_the_last(table, at_occasions))
    wide = [w for w in families if not {survival.get("start"), survival.get("time")} <= set(w.columns)]
    parts = parts_of_totals(every)
    nested, crossed = _nested_and_crossed(table)
    return Structure(
        unit=_unit(table, repeated), repeated=repeated, nested=nested, crossed=crossed, wide=wide,
        same_quantity=same_quantities(table, families), part_of=parts, compositions=compositions(table, wide, parts),
        times=times, survival=survival, dated=dated, begins=begins(table, survival), doses=_doses(table, times),
        units=units_beside(table),
    )  # fmt: skip


def _alike(columns: list[ColumnProfile], structure: Structure) -> list[ColumnProfile]:
    """Give the columns of one measurement one scale: a score is no count here and a number there."""
    scales = {c.name: c.scale for c in columns}
    mixed = {
        name
        for wide in structure.wide
        if {scales[n] for n in wide.columns} == {"number", "count"}
        for name in wide.columns
    }
    return [c.model_copy(update={"scale": "number"}) if c.name in mixed and not c.corrected else c for c in columns]


def _noted(columns: list[ColumnProfile], structure: Structure) -> list[ColumnProfile]:
    """Note in a subject's column that its numbers start anew."""
    notes = {r.subject: r.why for r in structure.repeated if "start anew" in r.why}
    return [c.model_copy(update={"notes": [*c.notes, notes[c.name]]}) if c.name in notes else c for c in columns]


# ---- Subjects with several rows -------------------------------------------------------------------------------------


def _repeated(table: View) -> list[Repeated]:
    found: list[tuple[Repeated, Col]] = []
    fixed = [col for col in table.cols if col.hint("sex", "kind") and col.profile.scale in _FACTORS]
    doses = [col for col in table.cols if col.profile.scale == "ordered" and col.numbers is not None]
    candidates = [
        col for col in table.cols if _may_name_subjects(col, table.rows) and not _only_counts(col, fixed, doses)
    ]
    candidates = candidates[:_MOST]
    for col in candidates:
        restarted = _restarted(col, table)
        if restarted is not None:
            key, outer = restarted
            if key.size > 0.85 * table.rows:
                continue
            judged = _judge(key, table, _within(key, table, col.name, outer))
            if judged is not None:
                why = (
                    f"the numbers of {col.name} start anew in each {outer}: a subject is one {col.name} of one {outer}"
                )
                between = list(dict.fromkeys([outer, *judged.between]))
                found.append(
                    (
                        judged.model_copy(
                            update={"subject": col.name, "why": why, "between": between, "restarts_in": outer}
                        ),
                        col,
                    )
                )
            continue
        judged = _judge(col, table, _within(col, table, col.name))
        if judged is not None:
            found.append((judged, col))
    # Of two that are as good as certain (broods in sites), the smaller unit comes first.
    found.sort(key=lambda pair: (-min(pair[0].confidence, 0.9), -pair[0].subjects))
    kept: list[tuple[Repeated, Col]] = []
    for judged, col in found:
        if not any(_rival(judged, col, better, other) for better, other in kept):
            kept.append((judged, col))
    return [judged for judged, _ in kept][:6]


def _may_name_subjects(col: Col, rows: int) -> bool:
    column = col.profile
    told = column.corrected in ("id", "pair", "code", "identifier")
    if column.scale not in ("code", "category", "identifier", "text") and not told:
        return False
    if unit_of(column.name) or (column.scale == "text" and not label_like(col)):
        return False
    if not told and col.hint("group") and not col.hint("id", "subject", "cluster", "batch"):
        return False  # a diagnosis is of many patients
    if not told and (col.hint("time", "dose", "age") and not col.hint("id", "subject", "cluster")):
        return False
    if not told and column.kind == "integer" and col.hint("covariate") and not col.hint("id", "subject", "cluster"):
        return False  # years of school, a parity
    if date_like(column.minimum, column.maximum, whole=column.kind == "integer"):
        return False
    present = int(col.sizes.sum())
    return 2 <= col.size <= 0.85 * present and int((col.sizes >= 2).sum()) >= 2 and column.missing <= 0.2 * rows


def _only_counts(col: Col, fixed: list[Col], doses: list[Col]) -> bool:
    """Say whether numbers only count the rows of each sex or species: nobody is of two."""
    anew = col.profile.scale == "code" and not col.hint("subject", "cluster", "batch") and not col.profile.corrected
    if (
        col.hint("seen")
        and col.profile.scale == "code"
        and col.profile.minimum == 1
        and col.profile.maximum == col.size
    ):
        return not col.profile.corrected  # cells 1 to 40 under a microscope, of each replicate anew
    vessels = col.hint("vessel") and col.profile.minimum == 1 and col.profile.maximum == col.size
    if vessels and any(
        other.size > 2 and len(other.codes) == other.size * col.size and _tells_apart(col, other) for other in doses
    ):
        return True  # each dose has its plates 1, 2 and 3
    return anew and any(_changes(col, kind) for kind in fixed)


def _rival(judged: Repeated, col: Col, better: Repeated, other: Col) -> bool:
    """Say whether a candidate is only what tells the rows of a better one apart, or another name of it."""
    same = col.size == other.size and col.determines(other) and other.determines(col)
    told_apart = col.name in better.within and not judged.between
    return same or (told_apart and not only_names(col.name))


def _changes(key: Col, col: Col) -> bool:
    for rows in (slice(3000), slice(None)):
        mine, theirs = key.codes[rows], col.codes[rows]
        if bool((theirs != col.codes[key.first[mine]])[mine >= 0].any()):
            return True
    return False


def _constant(key: Col, table: View, *skip: str) -> list[Col]:
    """Return the columns that are the same in all rows of a level, not those that are only other names of it."""
    return [
        col for col in table.cols
        if col is not key and col.name not in skip and key.determines(col)
        and (col.profile.scale in ("number", "share") or not (col.size == key.size and col.determines(key)))
    ]  # fmt: skip


def _pair_codes(a: Col, b: Col) -> tuple[Any, int]:
    """Return the combinations of two columns as level numbers, and how many there are."""
    import numpy as np

    both = (a.codes >= 0) & (b.codes >= 0)
    mixed = a.codes[both] * b.size + b.codes[both]
    if a.size * b.size <= 4 * len(mixed) + 1000:
        counts = np.bincount(mixed, minlength=a.size * b.size)
        return counts, int((counts > 0).sum())
    counts = np.unique(mixed, return_counts=True)[1]
    return counts, len(counts)


def _tells_apart(key: Col, col: Col) -> bool:
    """Say whether each level occurs at most once a subject, in a good part of the subjects."""
    if col.size < 2 or (col.codes < 0).any() or col.size > 0.5 * len(col.codes):
        return False
    if col.sizes.mean() < max(2.0, 0.4 * key.size) or len(col.codes) > key.size * col.size:
        return False
    counts, _ = _pair_codes(key, col)
    return int(counts.max()) == 1


def _evenly(key: Col, col: Col) -> bool:
    """Say whether every subject has every level equally often."""
    if (col.codes < 0).any() or (key.codes < 0).any() or (key.sizes % col.size).any():
        return False
    counts, distinct = _pair_codes(key, col)
    return distinct == key.size * col.size and bool(
        (counts.reshape(key.size, col.size) == counts.reshape(key.size, col.size)[0]).all()
    )


def _runs_along(key: Col, col: Col) -> bool:
    """Say whether a number differs in (nearly) all rows of each subject and grows from row to row: a clock."""
    import numpy as np

    if col.numbers is None or (col.codes < 0).any() or col.profile.scale in ("binary", "code"):
        return False
    if col.hint("time", "age") or unit_is_time(col.name):
        return _pair_codes(key, col)[1] >= 0.98 * int(key.sizes.sum())
    for part in (1000, len(key.codes)):
        if ("order", part) not in key.facts:
            order = np.argsort(key.codes[:part], kind="stable")
            key.facts["order", part] = order, np.diff(key.codes[order]) == 0
        order, same = key.facts["order", part]
        steps = np.diff(col.numbers[order])[same]
        if (steps <= 0).any():
            return False
    # A measurement of 8 people on 2 occasions is larger on the second of all in one table of 256.
    orders = sum(many * math.lgamma(size + 1) for size, many in Counter(key.sizes.tolist()).items())
    return orders > -math.log(_CHANCE)


def _within(key: Col, table: View, *skip: str) -> list[tuple[float, Col]]:
    """Return the columns that tell the rows of a subject apart, with how well they do."""
    found: list[tuple[float, Col]] = []
    for col in table.cols:
        if col.name in skip or col is key or not _changes(key, col):
            continue
        scale = col.profile.scale
        clock = col.hint("time") or unit_is_time(col.name) or scale == "date"
        if scale in _FACTORS and _tells_apart(key, col) and (key.size >= 4 or _evenly(key, col) or clock):
            found.append((1.0 + (0.3 if clock else 0.2 if scale == "ordered" else 0), col))
        elif _runs_along(key, col):
            found.append((1.0 + 0.3 * clock, col))
        elif scale in _FACTORS and (_evenly(key, col) or (scale == "ordered" and _mostly_crossed(key, col))):
            found.append((0.5 + (0.3 if clock else 0), col))
        elif not col.hint("event") and (
            (clock and scale in ("ordered", "date", "number", "count")) or (col.hint("dose") and scale == "ordered")
        ):
            found.append((0.4, col))
    return sorted(found, key=lambda pair: (-pair[0], pair[1].name))


def _mostly_crossed(key: Col, col: Col) -> bool:
    _, distinct = _pair_codes(key, col)
    return col.numbers is not None and distinct >= 0.8 * key.size * col.size and _balanced_levels(col)


def _balanced_levels(col: Col) -> bool:
    return log_spaced(col) or col.sizes.max() <= 3 * col.sizes.min()


def _judge(key: Col, table: View, within: list[tuple[float, Col]]) -> Repeated | None:
    """Return the finding that a column names subjects, when the values speak for it."""
    constants = _constant(key, table, key.name)
    best = within[0] if within else None
    unique = best is not None and best[0] >= 1.0
    present = int(key.sizes.sum())
    complete = best is not None and present == table.rows == key.size * best[1].size and _tells_apart(key, best[1])
    plain = key.numbers is None and not label_like(key) and key.profile.scale != "identifier"
    strong = (only_names(key.name) and key.hint("subject", "id")) or key.profile.corrected in (
        "id",
        "pair",
        "code",
        "identifier",
    )
    cluster = key.hint("cluster", "batch") and (unique or bool(constants))
    if key.size < 4 and not strong and not cluster:
        return None
    equal = key.size >= 5 and key.sizes.min() == key.sizes.max() >= 2
    if not strong and not unique and not constants and not (equal and key.size >= 13 - 8 * (key.numbers is None)):
        return None  # a grouping: nothing but its many rows suggests a subject
    many = any(col.numbers is not None and col.size > FEW for col in constants)
    score = 0.5 * strong + 0.2 * cluster + (0.2 if not plain else 0.0) + 0.35 * unique + 0.15 * complete
    score += 0.25 * bool(constants) + 0.1 * (many or len(constants) > 1) + 0.1 * equal + 0.2 * (key.size >= 10)
    score += 0.1 if best is not None and not unique else 0.0
    if not strong:
        score -= 0.3 * (plain and not constants) + 0.3 * (present > 30 * key.size and not unique)
    if score < 0.5 or not (within or constants or strong or equal):
        return None
    block = best is not None and not strong and not constants and best[1].profile.scale not in ("ordered", "date")
    confidence = min(1.0, score) if not block else min(BLOCK, score)
    names = [col.name for _, col in within]
    return Repeated(
        subject=key.name, subjects=key.size, within=names, between=[col.name for col in constants], complete=complete,
        confidence=round(confidence, 2),
        why=_why(key, names, [col.name for col in constants], present, complete=complete, block=block),
    )  # fmt: skip


def _why(key: Col, within: list[str], between: list[str], rows: int, *, complete: bool, block: bool) -> str:
    text = f"{key.name} has {key.size:,} values in {rows:,} rows"
    if within:
        text += f"; {within[0]} {'takes every value once' if complete else 'changes'} within each of them"
    if between:
        text += f"; {', '.join(between[:3])} {'is' if len(between) == 1 else 'are'} the same in all of its rows"
    return text + ("; it may be a block rather than a subject" if block else "")


def _restarted(key: Col, table: View) -> tuple[Col, str] | None:
    """Return the combination that names subjects when their numbers start anew in each group or centre."""
    import numpy as np
    import pandas as pd

    column = key.profile
    if (column.scale != "code" and not key.hint("id", "subject")) or key.hint("sex") or key.size <= 2:
        return None
    own = _constant(key, table, key.name)
    if own:
        return None
    sexes = [col for col in table.cols if col.hint("sex") and col.size <= 3]
    for outer in table.cols:
        scale = outer.profile.scale
        if (
            outer is key
            or scale not in ("category", "binary", "code")
            or outer.size > min(30, key.size)
            or outer.hint("time", "sex")
        ):
            continue
        if outer.hint("event") or key.size * outer.size > 4 * table.rows or not _changes(key, outer):
            continue
        if (outer.codes < 0).any() or (key.codes < 0).any():
            continue
        codes, combos = pd.factorize(key.codes * outer.size + outer.codes)
        name = column.model_copy(update={"name": key.name, "missing": 0, "distinct": len(combos)})
        both = Col(name, codes.astype(np.int64), len(combos), key.numbers, key.facts)
        if len(combos) > 0.85 * table.rows:
            # One row each: the numbers of two sexes are two animals, not one that was measured twice.
            if any(_changes(key, sex) for sex in sexes):
                return both, outer.name
            continue
        fixed = [
            col
            for col in _constant(both, table, key.name, outer.name)
            if not outer.determines(col) and not _evenly(key, col)
        ]
        if fixed:
            return both, outer.name
    return None


def _unit(table: View, repeated: list[Repeated]) -> str:
    if repeated:
        top = repeated[0]
        what = _thing(top.subject)
        return f"one measurement of {_a(what)}"
    naming = [c for c in table.cols if c.size == table.rows and c.hint("subject", "cluster")]
    return f"one {_thing(naming[0].name)}" if naming else "row"


def _thing(name: str) -> str:
    """Return the word in a name that says what it names, or `subject`."""
    plain: list[str] = [w for w in tokens(name) if len(w) > 2 and w.isalpha()]
    own = [w for w in plain if w not in HINTS["id"] | HINTS["count"]]
    whole: dict[str, str] = {"pat": "patient", "subj": "subject", "ind": "individual"}
    return whole.get(own[0], own[0]) if own else "subject"


def _a(noun: str) -> str:
    return f"an {noun}" if noun[:1] in "aeiou" else f"a {noun}"


# ---- Factors, times, doses ------------------------------------------------------------------------------------------


def _nested_and_crossed(table: View) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    scales = (*_FACTORS, "identifier")
    factors = [c for c in table.cols if c.profile.scale in scales and 2 <= c.size <= table.rows / 2][:16]
    nested: list[tuple[str, str]] = []
    crossed: list[tuple[str, str]] = []
    for i, one in enumerate(factors):
        for other in factors[i + 1 :]:
            inner, outer = (one, other) if one.size >= other.size else (other, one)
            if inner.size > outer.size and inner.determines(outer):
                nested.append((inner.name, outer.name))
            elif one.size * other.size <= table.rows and _all_together(one, other):
                crossed.append((one.name, other.name))
    return nested, crossed


def _all_together(one: Col, other: Col) -> bool:
    """Say whether every combination occurs; the first rows often show it."""
    import numpy as np

    for part in (5000, len(one.codes)):
        mixed = (one.codes[:part] + 1) * (other.size + 1) + other.codes[:part] + 1
        counts = np.bincount(mixed, minlength=(one.size + 1) * (other.size + 1))
        if bool((counts.reshape(one.size + 1, -1)[1:, 1:] > 0).all()):
            return True
    return False


def _times(table: View, repeated: list[Repeated]) -> list[str]:
    runs = {name for r in repeated if r.confidence > 0.6 for name in r.within}
    clocks = {
        col.name for col in table.cols
        if col.name in runs and (col.hint("time") or col.hint("age") or unit_is_time(col.name) or shared(col, table))
    }  # fmt: skip
    # Beside a clock that the subjects share, what takes nearly a value of its own in every row is measured, no time.
    runs = clocks or runs
    found: list[str] = []
    for col in table.cols:
        column = col.profile
        named = col.hint("time") or unit_is_time(col.name)
        plain = column.scale in ("number", "count", "ordered", "date") or (
            column.scale in ("code", "binary") and column.name in runs
        )
        if (
            column.scale == "date"
            or (named and plain and not col.hint("event", "age"))
            or (
                column.name in runs
                and column.scale in ("ordered", "number")
                and col.numbers is not None
                and not col.hint("dose")
                and not log_spaced(col)
            )
            or (column.name in runs and col.hint("age"))
            or (
                col.numbers is None
                and column.scale in ("ordered", "binary")
                and column.order
                and _occasions(column.order)
            )
        ):
            found.append(col.name)
    return found


def shared(col: Any, table: View) -> bool:
    """Say whether the values of a column come again in many rows, as occasions do in several subjects."""
    return col.size <= 0.5 * table.rows


def _occasions(levels: list[str]) -> bool:
    timed = r"(wk|week|w|d|day|month|mo|m|h|hr|hour|visit|v|t|tag|woche|monat|jour|mois|semaine|dia|mes|semana|year|y)"
    pattern = re.compile(rf"(baseline|before|after|avant|apres|antes|despues|{timed}[\s_.-]*\d+|\d+[\s_.-]*{timed}s?)$")
    return all(pattern.match(letters.plain(level).strip()) for level in levels) and not numbered(levels)


_OF_DOSES = frozenset("mgkg ugkg mgday mgl ugl ngl ugml ngml pm nm um mm mgml ppm ppb".split())


def _doses(table: View, times: list[str]) -> list[str]:
    import numpy as np

    found: list[str] = []
    for col in table.cols:
        column = col.profile
        if col.numbers is None or column.scale in ("date", "identifier", "code") or float(column.minimum or 0) < 0:
            continue
        few = col.size <= max(FEW, 0.35 * table.rows) and col.size <= 30 and col.sizes.mean() >= 2
        stated = unit_of(col.name)
        unit = "" if stated == "mm" else re.sub(r"[^a-z]", "", letters.plain(stated))  # no mM
        named = col.hint("dose") or (few and unit in _OF_DOSES and col.size <= FEW)
        if named and few:
            found.append(col.name)
        elif (
            col.name not in times
            and column.scale == "ordered"
            and not col.hint("time", "age", "rank")
            and not unit_is_time(col.name)
        ):
            values = levels_sorted(col)
            whole = bool(np.all(values % 1 == 0)) and bool((np.diff(values) == 1).all())
            zero = len(values) > 3 and values[0] == 0 and log_spaced(col)
            if not whole and (zero or (log_spaced(col) and col.sizes.min() >= 2)):
                found.append(col.name)
    return found
