"""Columns that belong together: one measurement at several times, the same quantity twice, parts of a whole."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from engine.data.structure.scales import HINTS, Col, View, tokens, unit_of
from engine.domain.profile import WideMeasure
from engine.text.times import DAYS

_MOST = 40
_OCCASIONS = {
    word: place for place, when in enumerate(("first", "middle", "last")) for word in HINTS[f"occasion_{when}"]
}
_MONTHS = ("jan ene", "feb fev", "mar", "apr avr abr", "may mai", "jun juin", "jul juil", "aug aou ago", "sep set",
           "oct okt", "nov", "dec dez dic")  # fmt: skip
"""How the names of months begin, from January on."""
_SIDES = {
    "left": 0,
    "right": 1,
    "links": 0,
    "rechts": 1,
    "gauche": 0,
    "droite": 1,
    "izquierda": 0,
    "derecha": 1,
    "os": 0,
    "od": 1,
}


def wide_measures(table: View) -> list[WideMeasure]:
    """Return the families of columns that hold one measurement at several times or conditions."""
    families: dict[tuple[str, ...], list[tuple[Any, str, Col, bool]]] = {}
    for col in table.cols:
        if col.numbers is None or col.profile.scale in ("identifier", "date"):
            continue
        for stem, key, label, timed in _readings(col.name):
            families.setdefault(stem, []).append((key, label, col, timed))
    _without_units(families)
    found: list[WideMeasure] = []
    used: set[str] = set()
    for stem, members in sorted(families.items(), key=lambda family: (-len(family[1]), family[0])):
        members = [m for m in members if m[2].name not in used]
        sides = any(isinstance(m[0], str) for m in members)
        members = [m for m in members if isinstance(m[0], str) == sides]
        if len({m[0] for m in members}) < len(members) or not _one_measurement(members, sides=sides):
            continue
        members.sort(key=lambda m: m[0])
        used |= {m[2].name for m in members}
        found.append(WideMeasure(
            name=_common(stem), columns=[m[2].name for m in members], labels=[m[1] for m in members], ordered=not sides,
        ))  # fmt: skip
    return [_with_its_start(found[0], table)] if len(found) == 1 else found


def _with_its_start(measure: WideMeasure, table: View) -> WideMeasure:
    """Return the only measurement of a table with the column called as its start: `baseline` of `n_3m`, `n_12m`."""
    cols = [col for col in table.cols if col.name in measure.columns]
    starts = [
        col
        for col in table.cols
        if [_OCCASIONS.get(part) for part in tokens(col.name)] == [0]
        and col.numbers is not None
        and col.profile.scale in ("number", "count")
    ]
    begun = any(_OCCASIONS.get(part) == 0 for name in measure.columns for part in tokens(name))
    timed = measure.ordered and all(any(m[3] for m in _readings(name)) for name in measure.columns)
    if len(starts) != 1 or begun or not timed or not _same_range([starts[0], *cols], overlap=True):
        return measure
    update = {"columns": [starts[0].name, *measure.columns], "labels": [starts[0].name.lower(), *measure.labels]}
    return measure.model_copy(update=update)


def _without_units(families: dict[tuple[str, ...], list[tuple[Any, str, Col, bool]]]) -> None:
    """Put the one column whose name has a unit to those that lack it: `gluc_0_mmol` beside `gluc_30`, `gluc_60`."""
    for stem, members in [*families.items()]:
        unit = tuple(tokens(unit_of(members[0][2].name)))
        bare = stem[: -len(unit)] if unit and stem[-len(unit) :] == unit else ()
        if len(members) == 1 and len(bare) > 1 and len(families.get(bare, ())) > 1:
            families[bare] += families.pop(stem)


def _common(stem: tuple[str, ...]) -> str:
    words = [part for part in stem if not part.startswith("*")]
    return " ".join(words) or "measurement"


def _readings(name: str) -> list[tuple[tuple[str, ...], Any, str, bool]]:
    """Return the ways to read a name as stem and varying part: (stem, sort key, label, whether the part is a time)."""
    parts = tokens(name)
    readings: list[tuple[tuple[str, ...], Any, str, bool]] = []
    if len(parts) == 1 and (glued := re.fullmatch(r"(pre|post)([a-z]{2,})", parts[0])):  # Prewt and Postwt
        parts = [glued[1], glued[2]]
    for i, part in enumerate(parts):
        if part in _OCCASIONS:
            readings.append(((*parts[:i], "*", *parts[i + 1 :]), (-1e-9, 5e8, 1e9)[_OCCASIONS[part]], part, True))
        elif part in _SIDES and (len(parts) > 1 or len(part) > 2):
            readings.append(((*parts[:i], "*", *parts[i + 1 :]), part, part, False))
        elif part in HINTS["month"] and len(parts) > 1:
            month = next(n for n, heads in enumerate(_MONTHS) if part.startswith(tuple(heads.split())))
            readings.append(((*parts[:i], "*month", *parts[i + 1 :]), month * DAYS["month"], part, True))
        elif part.isdigit():
            readings += _numbered(parts, i)
    return readings


def _numbered(parts: list[str], i: int) -> list[tuple[tuple[str, ...], Any, str, bool]]:
    number = float(parts[i])
    if re.fullmatch(r"(19|20)\d\d", parts[i]):
        return [((*parts[:i], "*year", *parts[i + 1 :]), number, parts[i], True)]
    before = parts[i - 1].removesuffix("s") if i else ""
    after = parts[i + 1].removesuffix("s") if i + 1 < len(parts) else ""
    if after in DAYS and (len(parts) > 2 or before):
        return [((*parts[:i], "*", *parts[i + 2 :]), number * DAYS[after], f"{parts[i]}{parts[i + 1]}", True)]
    if before in HINTS["time_unit"]:
        rest = (*parts[: i - 1], "*", *parts[i + 1 :])
        scale = DAYS.get(before, 1)
        return [(rest if len(rest) > 1 else (before, "*"), number * scale, f"{parts[i - 1]}{parts[i]}", True)]
    return [((*parts[:i], "*", *parts[i + 1 :]), number, parts[i], False)]


def _one_measurement(members: list[tuple[Any, str, Col, bool]], *, sides: bool) -> bool:
    import numpy as np

    cols = [m[2] for m in members]
    if len(cols) < 2 or any(len(c.present) < 3 for c in cols):
        return False
    timed = sum(m[3] for m in members) >= len(members) / 2 or sides
    kinds = {c.profile.scale in ("binary",) for c in cols}
    if len(kinds) > 1:
        return False
    if kinds == {True}:  # bleeding at the start, 3 and 6 months; items of yes and no have no times
        return len(cols) > 2 and not sides and all(m[3] for m in members)
    # What grows leaves its range behind: `BW wk0` to `BW wk8` are one by their names.
    units = {re.sub(r"[^a-z]", "", str(m[1]).lower()) for m in members}
    dated = len(cols) > 2 and not sides and all(m[3] for m in members) and units <= DAYS.keys()
    # What is given and used up too: of `g0`, `g15`, `g30`, `g60` the first lies below all others.
    minutes = len(cols) > 3 and not sides and _minutes(sorted(float(m[0]) for m in members))
    if not _same_range(cols, overlap=not (dated or minutes)):
        return False
    if timed:
        return True
    # Bare numbers may count items, genes or predictors: occasions start at 0 or 1 and resemble each other.
    keys = sorted(float(m[0]) for m in members)
    steps = np.diff(keys)
    stem = "".join(part for part in tokens(cols[0].name) if not part.isdigit())
    if (
        (len(stem) < 2 and not minutes)
        or len(cols) < 3
        or keys[0] > 1
        or not ((steps == steps[0]).all() or _minutes(keys) or _visits(keys))
        or all(c.size <= 11 for c in cols)
    ):
        return False
    return _typical_correlation(cols) >= 0.3


def _minutes(keys: list[float]) -> bool:
    """Say whether numbers run like minutes after a start: 0, 30, 60, 120."""
    least = min(b - a for a, b in pairwise(keys))
    return keys[0] == 0 and least >= _LEAST_MINUTES and all(key % least == 0 for key in keys)


_LEAST_MINUTES = 5


def _visits(keys: list[float]) -> bool:
    """Say whether numbers run like weeks or months after a start, ever further apart: 0, 3, 12."""
    gaps = [b - a for a, b in pairwise(keys)]
    return keys[0] == 0 and len(gaps) > 1 and gaps == sorted(gaps) and gaps[-1] > 1


def _same_range(cols: list[Col], *, overlap: bool) -> bool:
    """Say whether the middle halves of the columns have similar widths and, where asked, their ranges overlap."""
    import numpy as np

    quarters = np.array([np.quantile(c.present, [0.0, 0.25, 0.75, 1.0]) for c in cols])
    widths = np.maximum(quarters[:, 2] - quarters[:, 1], 0.25 * (quarters[:, 3] - quarters[:, 0]))
    if widths.min() <= 0 or widths.max() > 8 * widths.min():
        return False
    if not overlap:
        return True
    neighbours = pairwise(quarters)
    return all(min(a[3], b[3]) >= max(a[0], b[0]) for a, b in neighbours)


def _typical_correlation(cols: list[Col]) -> float:
    import numpy as np

    numbers = np.column_stack([c.numbers[:2000] for c in cols])
    numbers = numbers[np.isfinite(numbers).all(axis=1)]
    if len(numbers) < 5:
        return 0.0
    with np.errstate(all="ignore"):
        matrix: Any = np.corrcoef(np.argsort(np.argsort(numbers, axis=0), axis=0), rowvar=False)
    return float(np.nanmedian(matrix[np.triu_indices(len(cols), 1)]))


def same_quantities(table: View, wide: list[WideMeasure]) -> list[tuple[str, str]]:
    """Return pairs of columns that hold the same quantity, obtained in two ways."""
    occasions = [set(measure.columns) for measure in wide]
    found: list[tuple[str, str]] = []
    numbers = [
        c
        for c in table.cols
        if c.numbers is not None and c.profile.scale in ("number", "count", "share") and c.size > 5
    ]
    raters = [
        c
        for c in table.cols
        if 2 <= c.size <= 10
        and c.profile.levels
        and c.profile.scale in ("category", "ordered", "binary", "code", "count")
    ]
    for group, alike in ((numbers[:_MOST], _close), (raters[:_MOST], _agree)):
        for i, one in enumerate(group):
            for other in group[i + 1 :]:
                if not any({one.name, other.name} <= columns for columns in occasions) and alike(one, other):
                    found.append((one.name, other.name))
    bases: dict[str, list[Col]] = {}
    whole = [c for c in table.cols if c.profile.kind == "integer" and c.profile.scale == "number" and 2 <= c.size <= 10]
    for col in [*raters, *whole]:
        bases.setdefault(re.sub(r"[\W_]*(?:[12]|[ABab])$|\s*\([A-Za-z ]{4,}\)$", "", col.name), []).append(col)
    pairs = [(cols[0], cols[1]) for base, cols in bases.items() if len(base) > 2 and len(cols) == 2]
    found += [
        (one.name, other.name)
        for one, other in pairs
        if (one.name, other.name) not in found and set(one.profile.levels) & set(other.profile.levels)
    ]  # `kramer_mw1` and `kramer_mw2`, `pain (nurse)` and `pain (patient)`, which may well disagree
    found += [pair for pair in _called_alike(raters) if pair not in found]
    return found


_JUDGED = re.compile(
    r"\b(?:dx|diag\w*|grad\w*|rat(?:er|ing|ed)|read(?:er|ing)?s?|obs(?:erver)?|review\w*|path\w*|vets?|doc(?:tor)?s?|physician|nurse|"
    r"radiol\w*|neurol\w*|cytol\w*|histol\w*|judg\w*|scorer|assess\w*|scor(?:e|ed|ing))\b",
    re.IGNORECASE,
)
"""Words for what people judge, or for who does."""


def _called_alike(raters: list[Col]) -> list[tuple[str, str]]:
    """Return pairs of columns of the same classes, three or more, whose names end in other words only: dx_a, dx_b."""
    bases: dict[str, list[Col]] = {}
    for col in raters:
        base, _, last = re.sub(r"[\W_]+", " ", col.name).strip().rpartition(" ")
        judged = _JUDGED.search(base) and last.lower() not in ("mother", "father", "maternal", "paternal")
        if len(base) > 1 and last and judged and col.size > 2:
            bases.setdefault(base.lower(), []).append(col)
    alike = [cols for cols in bases.values() if len(cols) == 2]
    return [(a.name, b.name) for a, b in alike if {*a.profile.levels} == {*b.profile.levels}]


def _shared(one: Col, other: Col) -> bool:
    words = {w for w in set(tokens(one.name)) & set(tokens(other.name)) if len(w) > 1 and not w.isdigit()}
    unit = unit_of(one.name)
    return bool(words - set(tokens(unit))) or bool(unit and unit == unit_of(other.name))


def _close(one: Col, other: Col) -> bool:
    """Say whether two columns agree row by row (Lin's concordance): correlated, on one scale and at one place."""
    import numpy as np

    middles, spreads = zip(*(_place(col) for col in (one, other)), strict=True)
    if abs(middles[0] - middles[1]) > 1.5 * max(spreads) or max(spreads) > 4 * min(spreads):
        return False
    a, b = one.numbers[:1000], other.numbers[:1000]
    both = np.isfinite(a) & np.isfinite(b)
    a, b = a[both], b[both]
    if len(a) < 6 or (a == b).all():
        return False
    # Two figures that changed places in one row do not make two quantities of one.
    kept = np.argsort(np.abs(a - b))[: len(a) - len(a) // 50]
    a, b = a[kept], b[kept]
    together = np.cov(a, b, ddof=0)
    spread = together[0, 0] + together[1, 1] + (a.mean() - b.mean()) ** 2
    concordance = 2 * together[0, 1] / spread if spread > 0 else 0.0
    return bool(concordance >= (0.75 if _shared(one, other) else 0.95))


def _place(col: Col) -> tuple[float, float]:
    """Return mean and standard deviation of the first rows."""
    if "place" not in col.facts:
        values = col.present[:2000]
        col.facts["place"] = (float(values.mean()), float(values.std()))
    return col.facts["place"]


def _agree(one: Col, other: Col) -> bool:
    """Say whether two columns give the rows the same levels far more often than by chance, as two raters do."""
    import numpy as np

    if set(one.profile.levels) != set(other.profile.levels) and not (
        one.size > 2 and len(set(one.profile.levels) & set(other.profile.levels)) >= 0.7 * max(one.size, other.size)
    ):
        return False
    place = {level: i for i, level in enumerate(dict.fromkeys([*one.profile.levels, *other.profile.levels]))}
    a, b = (_level_numbers(col, place) for col in (one, other))
    both = (a >= 0) & (b >= 0)
    a, b = a[both], b[both]
    if len(a) < 8 or (a == b).all():
        return False
    chance = sum(float((a == k).mean() * (b == k).mean()) for k in range(len(place)))
    kappa = ((a == b).mean() - chance) / (1 - chance) if chance < 1 else 0.0
    return bool(
        kappa
        >= (0.3 if _shared(one, other) or (one.hint("rater") and other.hint("rater")) else 0.6 if one.size > 2 else 0.8)
    ) and bool(np.isfinite(kappa))


def _level_numbers(col: Col, place: dict[str, int]) -> Any:
    import numpy as np

    first = col.first
    texts = [_text(col, int(row), level) for level, row in enumerate(first)]
    codes = np.array([*(place.get(text, -1) for text in texts), -1])
    return codes[col.codes[:5000]]


def _text(col: Col, row: int, level: int) -> str:
    if col.numbers is None:
        return col.facts["labels"][level]
    value = col.numbers[row]
    return str(int(value)) if float(value).is_integer() else str(value)


def parts_of_totals(table: View) -> dict[str, str]:
    """Return each count that is a part of a total: never above it, and said so by a name or by adding up to it."""
    import numpy as np

    whole = [
        c for c in table.cols
        if c.numbers is not None and c.profile.kind == "integer"
        and (c.profile.scale in ("count", "number", "ordered", "binary") or (c.size <= 2 and c.hint("total")))
        and (c.profile.minimum or 0) >= 0 and not unit_of(c.name) and not c.hint("time", "age", "rank", "dose")
        and (not c.hint("id") or (_NUMBER_OF.match(c.name) and c.size < len(c.numbers)))
    ][:_MOST]  # fmt: skip
    found: dict[str, str] = {}
    for part in whole:
        if part.profile.scale == "binary" or part.hint("temperature"):
            continue
        best: tuple[float, str] | None = None
        for total in whole:
            if total is part or (total.profile.scale == "binary" and not total.hint("total")):
                continue
            if (part.numbers[:500] > total.numbers[:500]).any():
                continue
            both = np.isfinite(part.numbers) & np.isfinite(total.numbers)
            a, b = part.numbers[both], total.numbers[both]
            if len(a) < 3 or (a > b).any() or not (a < b).any() or _nothing_counted(b):
                continue
            whole_said, part_said = total.named - part.named, part.named - total.named  # n_samples and n_pos share n
            named = bool((whole_said or total.named) & HINTS["total"]) and not part_said & HINTS["total"]
            named = named or _is_n_of(total, part)
            sums = any(
                other is not part and other is not total and len(other.numbers) == len(total.numbers)
                and bool(np.array_equal(part.numbers + other.numbers, total.numbers)) for other in whole
            )  # fmt: skip
            if (named or sums) and (best is None or float(b.mean()) < best[0]):
                best = (float(b.mean()), total.name)
        if best is not None:
            found[part.name] = best[1]
    return found or _parts_by_their_share(table, whole) or _only_counts_of(whole)


def _nothing_counted(totals: Any) -> bool:
    """Say whether totals are none: below zero, or 0 in more than a fifth of the rows (a plot may hold no plant)."""
    return bool((totals < 0).any() or (totals == 0).mean() > _EMPTY)


def _parts_by_their_share(table: View, whole: list[Col]) -> dict[str, str]:
    """Return the count that a column of shares says to be out of another count: `n_dead` over `n` is `prop_dead`."""
    import numpy as np

    shares = [c.numbers for c in table.cols if c.numbers is not None and c.profile.scale == "share"][:_SHARES]
    for share in shares:
        for part in whole:
            for total in whole:
                with np.errstate(divide="ignore", invalid="ignore"):
                    told = part.numbers / total.numbers
                both = np.isfinite(told) & np.isfinite(share)
                alike = bool((np.abs(told - share)[both] < ROUNDED).all())
                if part is not total and alike and both.sum() >= _FEWEST:
                    return {part.name: total.name}
    return {}


_SHARES, _EMPTY = 4, 0.2
ROUNDED = 0.0006
"""Shares are given to three digits or more."""


def _is_n_of(total: Col, part: Col) -> bool:
    """Say whether a column is called as the n of what another counts in: n_drug of died_drug."""
    of = _NUMBER_OF.match(total.name)
    return of is not None and {*tokens(of["what"])} <= {*tokens(part.name)} and not _NUMBER_OF.match(part.name)


_NUMBER_OF = re.compile(r"(?:n|no|nr|num|number)[_.\s]+(?:of[_.\s]+)?(?P<what>.+)", re.IGNORECASE)


def _only_counts_of(whole: list[Col]) -> dict[str, str]:
    """Return the count that is never above the only other one and goes up with it, from few of it to half or more."""
    import numpy as np

    if len(whole) != 2 or min(len(col.numbers) for col in whole) < _FEWEST:
        return {}
    part, total = sorted(whole, key=lambda col: float(np.nanmean(col.numbers)))
    both = np.isfinite(part.numbers) & np.isfinite(total.numbers)
    a, b = part.numbers[both], total.numbers[both]
    if part.profile.scale != "count" or len(a) < _FEWEST or (a > b).any() or _nothing_counted(b) or a.std() == 0:
        return {}
    shares = a[b > 0] / b[b > 0]
    tied = (b.std() == 0 and b.max() >= _FEWEST) or (b.std() > 0 and np.corrcoef(a, b)[0, 1] > 0.5)
    return {part.name: total.name} if tied and shares.max() >= 0.5 and shares.min() <= 0.3 else {}


_FEWEST = 8
"""Of fewer rows that one number is never above another may be chance."""


def compositions(table: View, wide: list[WideMeasure], parts: dict[str, str]) -> list[list[str]]:
    """Return sets of columns that add up to a constant in every row, or many counts of parts of one whole."""
    import numpy as np

    repeated = {name for measure in wide for name in measure.columns}
    able = [
        c for c in table.cols
        if c.numbers is not None and (c.profile.minimum or 0) >= 0
        and c.profile.scale in ("share", "number", "count", "ordered")
    ]  # fmt: skip
    found = _constant_sums(able[:60])
    counts = [
        c for c in able if c.profile.scale == "count" and c.name not in repeated | set(parts) | set(parts.values())
        and not c.hint("time", "age", "total")
    ]  # fmt: skip
    if not found and len(counts) >= 8 and len(counts) >= 0.6 * len(able):
        zeros = float(np.mean([(c.present == 0).mean() for c in counts]))
        if zeros > 0.02:
            found.append([c.name for c in counts])
    return found


def _constant_sums(cols: list[Col]) -> list[list[str]]:
    """Return runs of neighbours, or all the shares, whose sum is 1 or 100 (or another constant) in every row."""
    import numpy as np

    found: list[list[str]] = []
    shares = [c for c in cols if c.profile.scale == "share"]
    for group in (shares, [c for c in cols if c.profile.scale == "number"], cols):
        numbers = np.column_stack([c.numbers[:300] for c in group]) if len(group) >= 3 else np.empty((0, 0))
        numbers = numbers[np.isfinite(numbers).all(axis=1)] if numbers.size else numbers
        if len(numbers) < 5:
            continue
        sums = np.concatenate([np.zeros((len(numbers), 1)), np.cumsum(numbers, axis=1)], axis=1)
        for width in range(len(group), 2, -1):
            totals = sums[:, width:] - sums[:, :-width]
            middle = totals.mean(axis=0)
            exact = np.ptp(totals, axis=0) <= 1e-6 * np.maximum(np.abs(middle), 1e-9)
            near = (np.abs(middle - 1) < 0.005) | (np.abs(middle - 100) < 0.5)
            steady = exact | (near & (np.ptp(totals, axis=0) <= 0.03 * middle))
            for i in np.flatnonzero(steady & (middle > 0)):
                names = [c.name for c in group[i : i + width]]
                if not any(set(names) & set(other) for other in found):
                    found.append(names)
    return found
