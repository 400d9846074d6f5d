"""What the values of each column are, found from the values; general words of its name only tip the balance.

A whole number may measure, count, rank or merely name something, and every analysis depends on which. So
levels, gaps, how often each level occurs and what a level determines in other columns are looked at first.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from engine.data.columns.cells import TITRE
from engine.data.columns.column import is_numeric
from engine.data.source import Frame
from engine.domain.profile import ColumnProfile, Scale
from engine.text import letters
from engine.text.names import is_lowest, name_parts
from engine.text.negation import denied_part
from engine.text.times import DAYS

NUMBERED = 400
"""Numbers in one row without gaps that begin so high name something."""
FEW = 12
"""A column of numbers with more levels than this is not a factor."""


def _words_of_language() -> tuple[dict[str, frozenset[str]], list[list[frozenset[str]]]]:
    kinds: dict[str, frozenset[str]] = {}
    ranks: list[list[frozenset[str]]] = []
    for line in Path(__file__).with_name("hints.tsv").read_text(encoding="utf-8").splitlines():
        kind, _, text = line.partition("\t")
        if kind == "ranks":
            ranks.append([frozenset(rank.replace(" ", "_").split("|")) for rank in text.split(" < ")])
        elif text:
            kinds[kind] = frozenset(text.split())
    return kinds, ranks


HINTS, _RANKED = _words_of_language()
_UNIT, _TIME_UNIT, _NO, _YES = (HINTS[kind] for kind in ("unit", "time_unit", "no", "yes"))
_NO_SUFFIX = "u c k o oo cells copies fold j v d y da pa od pm mu tag day week hour month year"
_SUFFIX = _UNIT - frozenset(_NO_SUFFIX.split())
_MEASURED = {
    "g": HINTS["mass"] | {"w"}, "l": HINTS["volume"] | {"v"}, "m": HINTS["length"] | {"l"},
    "h": HINTS["time"], "s": HINTS["time"],
}  # fmt: skip
_ROMAN = {"i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6}
_NUMBERED = re.compile(r"^([<>≤≥=~]*)\s*([^\d<>≤≥+-]*?)[\s_.-]*(\d+(?:[.,]\d+)?)\s*([^\d\s]*)(.*)$")
_LABEL = re.compile(
    r"^(?=.*\d)(?=.*[A-Za-z]|0\d)[A-Za-z]{0,12}[\s_.#:/-]?[A-Za-z0-9]{1,10}([_.:/-][A-Za-z0-9]{1,10})*$"
)


def words(name: str) -> set[str]:
    """Return the lower-case words of a column name, with the whole of it written together."""
    return {part for part in tokens(name) if not part.isdigit()} | {re.sub(r"[^a-z]", "", letters.plain(name))}


def tokens(name: str) -> list[str]:
    """Return the words and digits of a column name in their order: `bdi.2m` is `bdi`, `2`, `m`."""
    return [piece for part in name_parts(name) for piece in re.findall(r"[a-z]+|\d+", part)]


_RATE = re.compile(r"(?:/|\b(?:per|pro|par)\s)\s*([^\W\d_]+)[)\]]?\s*$", re.IGNORECASE)


@cache
def telling(name: str) -> frozenset[str]:
    """Return the words of a name that may say what a column is.

    The words of a unit such as mg/day are no time, and a single letter says something only when it stands alone.
    """
    if name == "HR":
        return frozenset()  # a heart rate or a hazard ratio, and no hours
    unit = unit_of(name)
    found = words(re.sub(r"[(\[][^()\[\]]*[)\]]\s*$", "", name) or name) | (set() if "/" in unit else words(unit))
    found -= set(tokens(unit)) if "/" in unit else set()
    base = [part for part in tokens(re.sub(r"[(\[].*", "", name)) if not part.isdigit()]
    rate = _RATE.search(name)
    per_time = rate is not None and bool(words(rate[1]) & HINTS["time_unit"])
    if (unit and not words(unit) & HINTS["time_unit"]) or per_time or at_an_occasion(name) or is_stay(name):
        # `weight_wk3_kg` is a weight, `Milch kg/Tag` a yield, `pain_week12` a pain, `LOS_days` what is measured
        found -= HINTS["time"]
    if is_lowest(base):
        found -= {"min"}
    if len(base) > 1 and base[-1] == "n":
        found.add("count")  # `plaque_n`
    return frozenset(found if len(base) == 1 else {w for w in found if len(w) > 1 and w != "delta"})


def at_an_occasion(name: str) -> bool:
    """Say whether a name tells what was measured and then when, by a number: `pain_week12`, `SL_mm_5dpf`."""
    parts, times = tokens(name), HINTS["time"] | HINTS["time_unit"]
    first = parts[0] if parts else ""
    behind = list(itertools.pairwise(parts))[1:]
    told = any((a in times and b.isdigit()) or (a.isdigit() and b in DAYS and len(b) > 1) for a, b in behind)
    return told and first not in times | HINTS["duration"] | HINTS["event"] and not first.isdigit()


def hint(name: str, *kinds: str) -> bool:
    """Say whether a column's name holds a general word of one of these kinds."""
    return any(telling(name) & HINTS[kind] for kind in kinds)


def only_names(name: str) -> bool:
    """Say whether a name says nothing but that the column names subjects, places or runs: `Pat.-Nr.`, `mouse id`."""
    found = [part for part in tokens(name) if not part.isdigit()]
    named = HINTS["id"] | HINTS["subject"] | HINTS["cluster"] | HINTS["batch"] | {"number", "num", "n", "name", "study"}
    return bool(found) and set(found) <= named and hint(name, "id", "subject", "cluster", "batch")


@cache
def unit_of(name: str) -> str:
    """Return the unit that a column name states, or ""."""
    inside = re.search(r"[(\[]\s*([^()\[\]]{1,20}?)\s*[)\]]\s*$", name)
    if inside:
        parts = [
            p for p in re.split(r"[\s/*·^⋅.\d-]+|(?<=[a-z])per(?=[a-z])", letters.plain(inside[1])) if p and p != "per"
        ]
        known = bool(parts) and all(part.lstrip("°") in _UNIT for part in parts)
        return inside[1] if known else ""
    rate = re.search(r"(?:^|[_.\s])([A-Za-zµμ%]{1,5})[_.\s]per[_.\s]([A-Za-z]+)$", name.strip())
    if rate and letters.plain(rate[1]) in _UNIT and letters.plain(rate[2]) in _UNIT:
        return f"{rate[1]}/{rate[2]}"
    parts = [p for p in re.split(r"[_.\s]+", name.strip()) if p]
    for size in (4, 3, 2, 1):
        tail = [letters.plain(part) for part in parts[-size:]]
        if len(parts) > size and all(part in _SUFFIX for part in tail) and _fits(tail, parts[:-size]):
            return "/".join(parts[-size:])
    return ""


def _fits(tail: list[str], before: list[str]) -> bool:
    """Say whether a single letter is a unit of what stands before it: `mass_g`, `time.h`, but not `taxon g`."""
    wanted = _MEASURED.get(tail[0]) if len(tail) == 1 else None
    return wanted is None or any(word in wanted for part in before for word in tokens(part))


def natural_order(levels: list[str], name: str = "") -> list[str]:
    """Return the levels from lowest to highest where their text says so (`Wk0 < Wk12`, `I < II`), else nothing."""
    if len(levels) < 2:
        return []
    plain = {level: re.sub(r"[\s_-]+", "_", letters.plain(level).strip()) for level in levels}
    for ranks in _RANKED:
        place = {
            level: next((i for i, names in enumerate(ranks) if text in names), -1) for level, text in plain.items()
        }
        if min(place.values()) >= 0 and len(set(place.values())) == len(levels):
            return sorted(levels, key=place.__getitem__)
    return _roman(levels, plain) or _numbered(levels, plain, name)


def _roman(levels: list[str], plain: dict[str, str]) -> list[str]:
    found = {level: re.fullmatch(r"(?:[a-z]+_)?([iv]+)([a-d]?\d?)", text) for level, text in plain.items()}
    keys = {level: (_ROMAN.get(m[1], 0), m[2]) for level, m in found.items() if m}
    good = len(keys) == len(levels) and all(key[0] for key in keys.values()) and len(set(keys.values())) == len(levels)
    return sorted(levels, key=keys.__getitem__) if good else []


def _numbered(levels: list[str], plain: dict[str, str], name: str) -> list[str]:
    start = HINTS["occasion_first"]
    keys: dict[str, float] = {}
    stems: set[str] = set()
    tails: set[str] = set()
    for level, text in plain.items():
        found = _NUMBERED.match(text.replace("_", " "))
        if text in start:
            keys[level] = -1.0
        elif found:
            sign, stem, number, tail, rest = found.groups()
            if rest.strip() and not re.match(r"[\s-]*\d", rest) and tail not in ("-", "+", "%"):
                return []
            value = float(number.replace(",", ".")) * DAYS.get(tail.removesuffix("s") or "", 1)
            keys[level] = value + (-1e-9 if "<" in sign else 1e-9 if ">" in sign or tail == "+" else 0)
            stems.add(stem.strip())
            tails.add(tail.removesuffix("s") if len(tail) > 1 else tail)
        else:
            return []
    if (
        len(set(keys.values())) < len(levels)
        or len(stems) != 1
        or (len(tails) > 1 and not tails <= {*DAYS, "", "-", "+"})
    ):
        return []
    stem, tail = stems.pop(), next(iter(tails))
    ranged = any(re.search(r"[<>≤≥]|\d\s*[-–]\s*\d|\d\+$", level) for level in levels)
    timed = stem in _TIME_UNIT or stem in HINTS["rank"] or hint(name, "time", "rank", "dose", "age")
    numbers = sorted(keys.values())
    # t1, t2, t3 may be treatments; D0 and D8, or 2h and 4h, are occasions.
    spaced = numbers[0] <= 0 or any(b - a != 1 for a, b in itertools.pairwise(numbers))
    clear = ranged or (timed and (len(stem) > 1 or spaced or hint(name, "time", "rank", "dose", "age")))
    clear = (
        clear or (not stem and tail in (_UNIT | _TIME_UNIT)) or (len(keys) > len(plain) - 1 and min(numbers) == -1.0)
    )
    return sorted(levels, key=keys.__getitem__) if clear else []


_SEXES = frozenset("m f w male female".split())
NONE_LEVELS = 12
"""A column of at most so many other words has `None` as one of them."""


def is_level_none(column: Any) -> bool:
    """Say whether the word None is a group in a column of text: beside few words and no numbers.

    Of a yes or no, or a sex, it says that nothing is known.
    """
    words = {str(cell).strip() for cell in column.dropna().unique()} if column.dtype == object else set[str]()
    if {letters.plain(word) for word in words} <= _YES | _NO | _SEXES:
        return False
    return 0 < len(words) <= NONE_LEVELS and all(re.search(r"[^\W\d_]", word) and len(word) <= 40 for word in words)


def two_states(levels: list[str]) -> list[str]:
    """Return two levels as [no, yes] where that is what they say, else nothing."""
    plain = [letters.plain(level).strip() for level in levels]
    if len(levels) == 2:
        for i, j in ((0, 1), (1, 0)):
            denied = plain[j] in {denied_part(plain[i])} - {""} or plain[i] in (f"no{plain[j]}", f"non{plain[j]}")
            if (plain[i] in _NO and plain[j] in _YES) or denied:  # `NoB` beside B
                return [levels[i], levels[j]]
    return []


@cache
def unit_is_time(name: str) -> bool:
    """Say whether the unit that a name states is one of time."""
    own = not is_stay(name) and not at_an_occasion(name)
    return own and letters.plain(unit_of(name)) in HINTS["time"] | set("h s d min hr hrs sec yr yrs wk wks".split())


def is_stay(name: str) -> bool:
    """Say whether a name tells how long somebody was in a place or did something: `LOS days`, `center_time_s`."""
    said = {*tokens(letters.plain(name))}
    return bool(
        said & (HINTS["stay"] | HINTS["doing"])
        or (said & _WARDS and said & HINTS["time_unit"] and not said & {"to", "until", "since"})
    )


_WARDS = frozenset("hospital hosp icu itu ward krankenhaus klinik intensiv hopital reanimation uci".split())


def date_like(low: float | None, high: float | None, *, whole: bool) -> bool:
    """Say whether whole numbers are calendar years."""
    return whole and low is not None and high is not None and low >= 1850 and high <= 2100


@dataclass
class Col:
    """A column with its values as level numbers (-1 missing) and, where it has them, as numbers."""

    profile: ColumnProfile
    codes: Any
    size: int
    """Number of levels."""
    numbers: Any = None
    facts: dict[Any, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The column's name."""
        return self.profile.name

    @cached_property
    def sizes(self) -> Any:
        """Rows of each level."""
        import numpy as np

        return np.bincount(self.codes[self.codes >= 0], minlength=self.size)

    @cached_property
    def named(self) -> frozenset[str]:
        """The telling words of the name."""
        return telling(self.profile.name)

    @cached_property
    def present(self) -> Any:
        """The numbers that are not missing."""
        import numpy as np

        return self.numbers[np.isfinite(self.numbers)] if self.numbers is not None else np.empty(0)

    def hint(self, *kinds: str) -> bool:
        """Say whether the name holds a general word of one of these kinds."""
        return any(self.named & HINTS[kind] for kind in kinds)

    @cached_property
    def homogeneity(self) -> float:
        """The chance that two rows agree."""
        total = self.sizes.sum()
        return float(((self.sizes / total) ** 2).sum()) if total else 1.0

    @cached_property
    def first(self) -> Any:
        """A row of each level."""
        import numpy as np

        rows = np.flatnonzero(self.codes >= 0)[::-1]
        at = np.zeros(self.size, dtype=np.int64)
        at[self.codes[rows]] = rows
        return at

    def determines(self, other: Col) -> bool:
        """Say whether all rows of a level agree in `other` in a way that is no chance."""
        import numpy as np

        if self.size >= len(self.codes) or other.size < 2 or other.size > self.size:
            return False
        if other.profile.missing == 0 and self.profile.missing == 0:
            head = self.codes[:3000]
            if not np.array_equal(other.codes[:3000], other.codes[self.first[head]]):
                return False
            if not np.array_equal(other.codes, other.codes[self.first[self.codes]]):
                return False
            excess = len(self.codes) - self.size
        else:
            both = (self.codes >= 0) & (other.codes >= 0)
            mine, theirs = self.codes[both], other.codes[both]
            at = np.full(self.size, -1)
            at[mine[::-1]] = theirs[::-1]
            if not np.array_equal(theirs, at[mine]):
                return False
            excess = len(mine) - int((at >= 0).sum())
        return excess * np.log(max(other.homogeneity, 1e-9)) < np.log(1e-3)


class View(NamedTuple):
    """A table as columns of level numbers."""

    cols: list[Col]
    rows: int

    def __getitem__(self, name: str) -> Col:  # type: ignore[override]
        return next(col for col in self.cols if col.name == name)


def view(frame: Frame, columns: list[ColumnProfile]) -> View:
    """Return the columns that have a profile, as level numbers."""
    found: list[Col] = []
    place = {str(name): i for i, name in reversed(list(enumerate(frame.columns)))}
    for column in columns:
        if column.name not in place:
            continue
        series = frame.iloc[:, place[column.name]]
        found.append(_col(column, series))
    return View(found, len(frame))


def _col(column: ColumnProfile, series: Any) -> Col:
    import numpy as np
    import pandas as pd

    if is_numeric(series):
        numbers = series.to_numpy(dtype=float, na_value=np.nan)
        if len(numbers) > 20_000 and column.distinct > 0.5 * len(numbers):
            # Every row has its own value: telling equal ones apart would cost more than it could say.
            codes = np.where(np.isnan(numbers), -1, np.arange(len(numbers)))
            return Col(column, codes, len(numbers), numbers)
        codes, levels = pd.factorize(numbers)
        return Col(column, codes.astype(np.int64), len(levels), numbers)
    try:
        codes, levels = pd.factorize(series)
    except TypeError:  # lists or dicts in the cells
        codes, levels = pd.factorize(series.astype(str).where(series.notna()))
    texts = [level.strip() if isinstance(level, str) else str(level) for level in levels]
    again, labels = pd.factorize(np.array([*texts, ""], dtype=object)[:-1])
    codes = np.append(again, -1)[codes]
    return Col(column, codes.astype(np.int64), len(labels), None, {"labels": [str(label) for label in labels[:200]]})


def with_scales(columns: list[ColumnProfile], table: View) -> list[ColumnProfile]:
    """Return the columns with scale, unit and order; a scale that a person gave stays."""
    scaled = {col.name: scale_of(col, table) for col in table.cols}
    _ratings(table, scaled)
    _traits(table, scaled)
    result: list[ColumnProfile] = []
    for column in columns:
        if column.name not in scaled or column.corrected:
            result.append(column)
            continue
        scale, order = scaled[column.name]
        unit = unit_of(column.name)
        result.append(column.model_copy(update={"scale": scale, "unit": unit or column.unit, "order": order}))
    for column, col in zip([c for c in result if c.name in scaled], table.cols, strict=True):
        col.profile = column
    return result


def _ratings(table: View, scaled: dict[str, tuple[Scale, list[str]]]) -> None:
    """Columns of the same few whole numbers, used unequally, are answers on one scale rather than codes."""
    ranges: dict[tuple[float, float], list[Col]] = {}
    for col in table.cols:
        column = col.profile
        if scaled[col.name][0] in ("code", "count", "ordered") and column.kind == "integer" and 3 <= col.size <= 11:
            unequal = col.sizes.max() > 1.2 * col.sizes.min()
            if (
                unequal
                and column.maximum is not None
                and column.maximum <= 10
                and not col.hint("count", "id", "cluster", "batch")
            ):
                ranges.setdefault((column.minimum or 0.0, column.maximum), []).append(col)
    for alike in ranges.values():
        if len(alike) >= 3:
            for col in alike:
                scaled[col.name] = ("ordered", sorted_levels(col.profile))


def _traits(table: View, scaled: dict[str, tuple[Scale, list[str]]]) -> None:
    """A number that is each subject's own (its weight) has few values only because there are few subjects."""
    for col in table.cols:
        if col.numbers is None or scaled[col.name][0] != "ordered" or col.size <= 5:
            continue
        for other in table.cols:
            naming = scaled[other.name][0] in ("code", "identifier", "category")
            if naming and other is not col and col.size >= 0.5 * other.size and other.determines(col):
                scaled[col.name] = ("number", [])
                break


def sorted_levels(column: ColumnProfile) -> list[str]:
    """Return the levels of a column of numbers in ascending order, or in their natural order."""
    try:
        return sorted(column.levels, key=float)
    except ValueError:
        return natural_order(list(column.levels), column.name)


def scale_of(col: Col, table: View) -> tuple[Scale, list[str]]:
    """Return a column's scale and the order of its levels."""
    column = col.profile
    levels = list(column.levels)
    present = int(col.sizes.sum()) if col.size else 0
    if column.kind == "date":
        return "date", []
    if present == 0:
        return "text", []
    if column.kind == "boolean" and col.size <= 2:
        return "binary", two_states(levels)
    if col.numbers is None:
        return _text_scale(col, levels, present)
    if column.unit == TITRE:
        return "number", []
    if col.size == 2 and present > 2:
        low, high = (column.minimum or 0.0, column.maximum or 0.0)
        if (
            col.hint("sex", "event", "group")
            or (low, high) in ((0, 1), (1, 2), (-1, 1))
            or (high - low == 1 and column.kind == "integer")
        ):
            return "binary", sorted_levels(column)
        return ("ordered", sorted_levels(column)) if col.sizes.min() >= 2 else ("number", [])
    if column.kind == "integer" and _all_told(col):
        names = [column.codes[level] for level in sorted_levels(column)]
        return ("ordered", sorted_levels(column)) if natural_order(names, column.name) == names else ("code", [])
    scale = _whole(col, table) if column.kind == "integer" else _fraction(col)
    return scale, sorted_levels(column) if scale == "ordered" else []


def _all_told(col: Col) -> bool:
    """Say whether a legend has words for all numbers of a column, which is no grade: 0 never, 1 former, 2 current."""
    levels = {*col.profile.levels}
    told = bool(levels) and levels <= {*col.profile.codes}
    return told and col.size > 2 and not col.hint("rank", "dose", "time", "count")


def numbered(levels: list[str]) -> bool:
    """Say whether a letter and a number count somebody: mice `m1` to `m18`, where months would leave some out."""
    found = [re.fullmatch(r"([A-Za-z])[_.-]?(\d+)", level.strip()) for level in levels]
    numbers = sorted(int(match[2]) for match in found if match)
    alike = len({match[1] for match in found if match}) == 1 and len(numbers) == len(levels)
    return alike and len(numbers) > MANY_VISITS and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


MANY_VISITS = 8
"""More points in time than this that are numbered without a gap are rather subjects."""


def _text_scale(col: Col, levels: list[str], present: int) -> tuple[Scale, list[str]]:
    column = col.profile
    if col.size == 2 and present > 2:
        return "binary", two_states(levels) or natural_order(levels, column.name)
    if column.kind in ("category", "identifier", "text") and 2 < col.size <= 20 and col.size <= present / 2:
        order = [] if numbered(levels) else natural_order(levels, column.name)
        return ("ordered", order) if order else ("category", [])
    if column.kind == "boolean":
        return "binary", []
    return ("identifier" if column.kind == "identifier" else "text" if column.kind == "text" else "category"), []


def _fraction(col: Col) -> Scale:
    column, values = col.profile, col.present
    if col.hint("dose") and 2 < col.size <= min(30, len(values) / 3):
        return "ordered"
    if col.size <= 15 and len(values) >= 2 * col.size and col.size > 2:
        repeated = (col.sizes >= 2).mean() >= 0.8
        if repeated and (
            col.size <= 4
            or col.hint("dose", "time")
            or log_spaced(col)
            or _balanced(col, 4.0)
            or not constant_step(col)
        ):
            return "ordered"
    low, high = float(column.minimum or 0), float(column.maximum or 0)
    if low >= 0 and high <= 1 and not unit_of(column.name):
        return "share"
    unit = unit_of(column.name)
    percent = (
        unit in ("%", "percent", "pct")
        or (col.hint("share") and col.named & (HINTS["share"] - {"rate"}))
        or "%" in column.name
    )
    return "share" if percent and low >= 0 and high <= 100 else "number"


def _balanced(col: Col, ratio: float) -> bool:
    """Say whether the levels occur about equally often, apart from the most frequent, which may be a control."""
    import numpy as np

    sizes = np.sort(col.sizes)[:-1] if col.size > 3 else np.sort(col.sizes)
    return bool(sizes.max() <= ratio * sizes.min()) and bool(sizes.min() >= 2)


def levels_sorted(col: Col) -> Any:
    """Return the distinct numbers in ascending order."""
    import numpy as np

    if "levels" not in col.facts:
        values = np.sort(col.numbers[col.first])
        col.facts["levels"] = values[np.isfinite(values)]
    return col.facts["levels"]


def constant_step(col: Col) -> bool:
    """Say whether the distinct numbers are equally far apart."""
    import numpy as np

    steps = np.diff(levels_sorted(col))
    return bool(len(steps) and np.allclose(steps, steps[0], rtol=1e-6))


def log_spaced(col: Col) -> bool:
    """Say whether the positive distinct numbers grow by about the same factor, as a series of dilutions does."""
    import numpy as np

    values = levels_sorted(col)
    values = values[values > 0]
    if not 3 <= len(values) <= 15 or values[-1] < 8 * values[0] or (levels_sorted(col) < 0).any():
        return False
    ratios = np.diff(np.log(values))
    return bool(ratios.std() <= 0.5 * ratios.mean() and ratios.min() > 0.3)


def _whole(col: Col, table: View) -> Scale:
    """Say what whole numbers with at least three values (or a single one) are."""
    column, count = col.profile, len(col.present)
    low, high = float(column.minimum or 0), float(column.maximum or 0)
    named = _whole_by_name(col, count)
    if named:
        return named
    dense = high - low == col.size - 1
    if col.size == count:
        return "code" if count >= 5 and (constant_step(col) or _numbers_rows(col)) else _size_or_count(col)
    if col.size <= FEW and count >= 2 * col.size:
        return _few(col, low, dense=dense)
    equal = bool(col.sizes.min() == col.sizes.max() >= 2)
    if equal and col.size >= 5 and not date_like(low, high, whole=True):
        return "code"
    return "code" if codes_by_content(col, table, dense=dense) else _size_or_count(col)


def _numbers_rows(col: Col) -> bool:
    """Say whether numbers run through the rows with a few left out: `haul` 1 to 148 without 119."""
    import numpy as np

    steps = np.diff(col.present)
    return bool((steps > 0).all() and (steps == 1).mean() > 0.9)


def _whole_by_name(col: Col, count: int) -> Scale | None:
    column = col.profile
    few = col.size <= FEW and count >= 2 * col.size
    repeated = col.size < count
    years = date_like(column.minimum, column.maximum, whole=True)
    clock = years or bool(col.named & {"time", "year", "years"})
    if not repeated and not clock and float(column.minimum or 0) >= NUMBERED and constant_step(col):
        return "code"  # the ear tags 7000 to 7095 are no days
    if unit_of(column.name) or years or col.hint("time", "age"):
        return "ordered" if few and col.size > 2 and repeated and not col.hint("count") else "number"
    # "No." and "number" say nothing by themselves: the number of a sample names it, the number of nodes counts.
    if only_names(column.name) or (few and col.hint("group") and not col.hint("rank")):
        return "code"
    if col.hint("dose", "rank"):
        return "ordered" if few and col.size > 2 else None
    if col.hint("count") and float(column.minimum or 0) >= 0:
        return "count"
    return None


def _few(col: Col, low: float, *, dense: bool) -> Scale:
    if not dense:
        designed = (col.sizes >= 2).all() and (
            constant_step(col) or log_spaced(col) or _balanced(col, 4.0) or col.size <= 6
        )
        return "ordered" if designed else _size_or_count(col)
    ratio = col.sizes.max() / col.sizes.min()
    if low == 1:
        # Codes are handed out about equally often; answers and scores are not.
        return "code" if ratio <= 3 or col.size == 3 else "ordered"
    if low == 0:
        return "ordered" if ratio <= 1.5 else "count"
    return "code" if low >= 100 else "ordered" if col.size <= 8 else "number"


def _size_or_count(col: Col) -> Scale:
    values = col.present
    low = float(values.min())
    skewed = float(values.mean()) > median(values)
    counting = (low == 0 and col.size > 2) or (0 < low <= 2 and skewed and values.max() > 3 * max(1.0, median(values)))
    return "count" if counting and not unit_of(col.name) else "number"


def median(values: Any) -> float:
    """Return the middle value."""
    import numpy as np

    return float(np.median(values))


def codes_by_content(col: Col, table: View, *, dense: bool) -> bool:
    """Say whether whole numbers determine what other columns hold: no measurement does, a subject's number does."""
    if col.size < 5 or table.rows < 1.3 * col.size or col.numbers is None or (col.profile.minimum or 0) < 0:
        return False
    determined = 0
    for other in table.cols:
        if other is col or not col.determines(other) or other.determines(col):
            continue
        determined += 1 if other.numbers is None or other.size <= FEW else 2
        if determined >= (1 if dense else 2):
            return True
    return False


def label_like(col: Col) -> bool:
    """Say whether texts name individuals (`P07`, `tree 3`) rather than kinds of things."""
    shown = col.facts.get("labels", [])
    return bool(shown) and sum(bool(_LABEL.match(level)) for level in shown) >= 0.8 * len(shown)
