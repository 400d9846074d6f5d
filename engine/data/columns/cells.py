"""Reads cells as people fill them in: `1.234,5`, `<0.1`, `ca. 5`, `12 mg`, `5*`, `k.A.`; and rows that are no data.

Only what is unmistakable becomes a number. What a cell says beyond its number is counted, so that the
profile can tell it; what is no number is listed, so that a step leaves out exactly those cells.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from engine.data.source import plural, some

MISSING_MARKS = frozenset({
    "n.d.", "n.d", "nd", "n.a.", "na.", "n/a", "na", "nan", "-", "--", "---", ".", "..", "?", "??", "/", "*", "x",
    "missing", "unknown", "not available", "not determined", "not done", "not measured", "not tested",
    "below detection", "bdl", "lod", "loq", "<lod", "< lod", "<loq", "< loq", "#div/0!", "#value!", "#ref!",
    "#num!", "#name?", "inf.", "nr", "n/d", "n.r.", "n.m.", "null", "lost", "failed", "error", "empty",
    "pending", "tbd", "tba", "ausstehend", "en attente", "pendiente",
    "k.a.", "k. a.", "k.a", "ka.", "keine angabe", "n.b.", "n. b.", "n.n.", "nicht bestimmt", "nicht gemessen",
    "nicht nachweisbar", "unbekannt", "fehlt", "fehlend", "verloren", "leer", "ausfall", "s.d.", "s/d", "sin dato",
    "sin datos", "no disponible", "desconocido", "perdido", "falta", "manquant", "manquante", "inconnu", "inconnue",
    "non disponible", "non mesur\u00e9", "perdu", "perdue", "\u2013", "\u2014",
})  # fmt: skip
"""Cells that say `there is no value here` in English, German, French or Spanish, in lower case."""
NOT_DONE = frozenset({
    "n.d.", "n.d", "nd", "n/d", "n.m.", "n.r.", "n.a.", "na.", "n/a", "not determined", "not done", "not measured",
    "not tested", "n.b.", "n. b.", "nicht bestimmt", "nicht gemessen", "k.a.", "k. a.", "k.a", "?", "??",
})  # fmt: skip
"""Those that say that nothing was looked for: also beside words they are no answer (pos, neg, nd)."""
DETECTION_MARKS = frozenset({"below detection", "bdl", "lod", "loq", "nicht nachweisbar"})
"""Those of them that say why: there was less than could be measured."""
_MEANS_SOMETHING = re.compile(
    r"(con?tr(ol|\u00f4le)?s?|ctl|kontrollen?|t\u00e9moin|testigo|vehicle|untreated|unbehandelt|baseline|mock|blank|blind|"
    r"placebo|plazebo|dmso|wt|wild.?type|pre|post|before|after|vor|nach|avant|apr\u00e8s|ref|reference|referenz|std|standard|"
    r"low|high|medium|never|always|current|pos(itive?|itiv)?|neg(ative?|ativ)?|yes|no|ja|nein|oui|non|si|s\u00ed|true|false|"
    r"[mf]|male|female|none|keine?|aucune?|ning\u00fan|all|other|others|total|sum)\.?$",
    re.IGNORECASE,
)
"""Words that may be a level of their own beside numbers (a dose of 0 called `control`); they are never left out."""
TOTALS = re.compile(
    r"((grand |sub)?totals?|sums?|summen?|gesamt(summe)?|insgesamt|somme|suma|mean|means|average|avg\.?|mittel(wert)?|"
    r"durchschnitt|moyenne|media|promedio|median|m\u00e9diane|mediana|sd|std\.? ?dev\.?|stdev|stabw\.?|s\.d\.|sem|"
    r"s\.e\.m\.|standard deviation|standardabweichung|\u00e9cart[- ]type|total general)\s*[:.]?$",
    re.IGNORECASE,
)
_UNIT_LABEL = {"unit", "units", "einheit", "einheiten", "unit\u00e9", "unit\u00e9s", "unidad", "unidades"}
_PREFIXED = (
    r"(?:[TGMkhdcmu\u00b5\u03bcnpf]|da)?"
    r"(?:g|l|L|m|mol|M|U|IU|Da|Hz|s|V|A|J|W|N|Pa|Bq|Sv|Gy|K|eq|Eq|bp|b|cal|Osm|kat|OD)"
)
_PLAIN = (
    r"(?:%|\u2030|ppm|ppb|ppt|\u00b0|\u00b0C|\u00b0F|deg|h|hr|hrs|std\.?|min|sec|sek|d|day|days|tage?|wk|wks|weeks?|wochen?|"
    r"mo|months?|monate?|y|yr|yrs|years?|jahre?|mmHg|mm ?Hg|cmH2O|bpm|rpm|lx|lux|ha|"
    r"in|ft|lb|lbs|oz|fold|cells?|copies|counts|CFU|cfu|PFU|pfu|IE|UI|units?|au|a\.u\.|kcal|psi|bar|mbar|pH|dB|cpm|score|points?|Punkte)"
)
_ONE = rf"(?:10\^?\d+\s?/?\s?)?(?:{_PREFIXED}|{_PLAIN})(?:\^?-?[123\u00b2\u00b3]|\u207b[\u00b9\u00b2\u00b3])?"
_UNIT = re.compile(rf"{_ONE}(?:\s?[/\u00b7*. ]\s?(?:\d+(?:\.\d+)?\s?)?{_ONE}){{0,3}}$")
_AMOUNT = r"[-+\u2212]?(?:\d{1,3}(?:[ '\u2019]\d{3})+(?:[.,]\d+)?|\d[\d.,]*|[.,]\d+)(?:[eE][-+]?\d+)?"
_CELL = re.compile(
    r"(?P<about>ca\.?|circa|approx\.?|approximately|about|around|etwa|env\.?|environ|aprox\.?|~|\u2248)?\s*"
    r"(?P<limit><=?|>=?|\u2264|\u2265)?\s*"
    rf"(?P<number>{_AMOUNT})"
    r"(?P<gap>\s*)(?P<unit>[^\W\d_][^<>()?!]{0,17}|[%\u2030\u00b0][^<>()?!]{0,8})??\s*"
    r"(?P<mark>[*\u2020\u2021#\u00a7?!]+|\(\s*[?!*]+\s*\))?$",
    re.IGNORECASE,
)
_POINT = re.compile(r"(\d+\.?\d*|\.\d+)$")
_COMMA = re.compile(r"(\d+,\d*|,\d+)$")
_GROUPS = {"," : re.compile(r"\d{1,3}(,\d{3})+(\.\d+)?$"), ".": re.compile(r"\d{1,3}(\.\d{3})+(,\d+)?$")}  # fmt: skip
_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2007": " "})


class Cell(NamedTuple):
    """A cell that holds a number, and what stands around it."""

    amount: str
    """The number as written, without spaces and apostrophes between thousands."""
    about: str
    limit: str
    unit: str
    spaced: bool
    mark: str


@dataclass(kw_only=True)
class CellReading:
    """How the cells of a text column become numbers."""

    decimal: str = "."
    """`.`, `,`, or `.,` when both are used as the decimal sign."""
    thousands: str = ""
    unit: str = ""
    """What is written in the cells, or `TITRE` of dilutions."""
    remove: list[str] = field(default_factory=list)
    """What stands before or after numbers and is taken away."""
    missing: list[str] = field(default_factory=list)
    """Cells that are read as missing, as `tidy` writes them."""
    notes: list[str] = field(default_factory=list)
    """Sentences about what was done, without the column's name."""
    doubtful: bool = False
    """True when some of that changes what a result means: limits, unknown words, two decimal signs."""
    values: dict[str, str] = field(default_factory=dict)
    """Tidied cell -> its number as programs write it."""
    plain: bool = True
    """True when pandas reads the numbers as they are, so that naming the missing cells is enough."""

    def options(self) -> dict[str, Any]:
        """Return these as `read_table` takes them in `numbers`."""
        options = {"decimal": self.decimal, "thousands": self.thousands, "remove": self.remove, "missing": self.missing}
        return {key: value for key, value in options.items() if value and (key, value) != ("decimal", ".")}


def tidy(cell: object) -> str:
    """Return a cell's text without what surrounds it unseen: spaces of all kinds, quotes."""
    return str(cell).translate(_SPACES).strip().strip("\"'").strip()


def parse(text: str) -> Cell | None:
    """Return the number in a tidied cell, or None when it holds none."""
    found = _CELL.match(text)
    if found is None:
        return None
    # The minus sign of typesetters is none that a program knows.
    amount = re.sub(r"[ '\u2019]", "", found["number"]).replace("\u2212", "-")
    digits = re.sub(r"[eE][-+]?\d+$", "", amount.lstrip("+-"))
    if not any(form.match(digits) for form in (_POINT, _COMMA, *_GROUPS.values())):
        return None
    unit = (found["unit"] or "").strip()
    return Cell(amount, found["about"] or "", found["limit"] or "", unit, bool(found["gap"]), found["mark"] or "")


def is_unit(text: str) -> bool:
    """Say whether the text is a unit of measurement as usually written, without brackets."""
    return _UNIT.match(text) is not None


def read_numbers(
    counts: Mapping[str, int], *, decimal: str = ".", first: bool = False, typed: Collection[str] = ()
) -> CellReading | str | None:
    """Say how a column's cells become numbers.

    Args:
        counts: tidied text -> cells that hold it.
        decimal: the decimal sign that the file's other numbers have.
        first: whether this is the first column, which may name the rows.
        typed: those of the texts that stand for cells the file keeps as numbers; they say nothing of its signs.

    Returns:
        How to read it; a sentence's end that says why it stays text although it holds numbers; or None for text.
    """
    total = sum(counts.values())
    titres = _titres(counts)
    cells = {text: parse(re.sub(_OF_ONE, r"\1", text) if titres else text) for text in counts}
    held = {text: cell for text, cell in cells.items() if cell is not None}
    if sum(counts[text] for text in held) < 0.2 * total or (len(held) < 2 and len(counts) > 1) or not held:
        return None
    if any(re.match(r"0\d", cell.amount) for cell in held.values()):
        return None  # 007 is a name
    rare = sum(counts[text] for text, cell in held.items() if cell.unit) < 0.5 * sum(counts[text] for text in held)
    if rare:  # 1O3 is no number with the unit O3
        held = {text: cell for text, cell in held.items() if not cell.unit or is_unit(cell.unit)}
    unit, problem = _unit(held, counts)
    if unit is None:
        return problem or None
    if unit and (_is_factor(held, counts) or (first and max(counts.values()) == 1 and not _all_spaced(held))):
        return None
    exact = {text: cell for text, cell in held.items() if not cell.limit}
    words = [text for text in counts if text not in held]
    marks = [text for text in words if text.lower() in MISSING_MARKS]
    unknown = [text for text in words if text not in marks]
    numbers = sum(counts[text] for text in exact)
    if numbers < max(1, 0.2 * total) or not exact:
        return None
    if unknown and not _strays(unknown, counts, exact):
        share = sum(counts[text] for text in unknown) / total
        return f"{plural(sum(counts[t] for t in unknown), 'cell')} ({some(unknown)})" if share <= 0.5 else None
    signs = _signs([cell.amount for text, cell in held.items() if text not in typed], decimal)
    if signs is None:
        return "cells in which point and comma are used in ways that contradict each other"
    reading = CellReading(decimal=signs[0], thousands=signs[1], unit=unit)
    reading.remove = sorted({part for c in exact.values() for part in (c.about, c.unit, c.mark) if part}, key=len)[::-1]
    if titres:
        reading.unit = TITRE
        reading.remove += sorted({found[2] for text in held if (found := re.match(_OF_ONE, text))}, key=len)[::-1]
        reading.notes.append("dilutions such as 1:40 are read as 40")
    reading.missing = sorted([*marks, *unknown, *(text for text in held if text not in exact)])
    reading.values = {text: _value(cell.amount, reading) for text, cell in exact.items()}
    reading.plain = signs == (decimal, "") and not reading.remove and all(text == c.amount for text, c in exact.items())
    _tell(reading, held, counts, marks, unknown, signs, decimal)
    return reading


TITRE = "titre"
"""The unit of what is written as dilutions: a measurement, however few of them there are."""
_OF_ONE = r"([<>\u2264\u2265]?\s*)(1\s?:\s?)(?=\d)"


def _titres(counts: Mapping[str, int]) -> bool:
    """Say whether the cells are dilutions, 1:20, 1:40, <1:20: of all that hold a number, and of several sizes."""
    numbered = [text for text in counts if any(map(str.isdigit, text))]
    return len(numbered) > 1 and all(map(is_titre, numbered))


def is_titre(text: str) -> bool:
    """Say whether a tidy cell is a dilution: 1:40, <1:20."""
    return re.match(rf"{_OF_ONE}\d[\d.,]*$", text) is not None


def _unit(held: Mapping[str, Cell], counts: Mapping[str, int]) -> tuple[str | None, str]:
    """Return the one unit of the cells (empty when they have none); None with a reason when there is no one unit."""
    total = sum(counts[text] for text in held)
    units: dict[str, int] = {}
    for text, cell in held.items():
        if cell.unit:
            units[cell.unit] = units.get(cell.unit, 0) + counts[text]
    if not units:
        return "", ""
    with_unit = sum(units.values())
    name, count = max(units.items(), key=lambda pair: pair[1])
    letter = len(name) == 1 and name.isupper()  # 3A is a well or a subject, 3 A a current
    if (not is_unit(name) and len(name) == 1) or ((letter or not is_unit(name)) and not _all_spaced(held)):
        return None, ""
    if len(units) > 1:
        return None, f"different units ({some(sorted(units))})" if all(is_unit(unit) for unit in units) else ""
    if with_unit < total and (name == "%" or with_unit < 0.5 * total):
        return None, f"{plural(count, 'cell')} with the unit {name!r} beside numbers without it"
    return name, ""


def _all_spaced(held: Mapping[str, Cell]) -> bool:
    return all(cell.spaced for cell in held.values() if cell.unit)


def _is_factor(held: Mapping[str, Cell], counts: Mapping[str, int]) -> bool:
    """Say whether these are the few levels of a design (`0 h`, `24 h`), which people call by their names."""
    return 2 <= len(held) <= 4 and min(counts[text] for text in held) > 1


def _strays(unknown: Sequence[str], counts: Mapping[str, int], exact: Mapping[str, Cell]) -> bool:
    """Say whether words among numbers are accidents: few, without a meaning of their own, in a measured column."""
    if len(unknown) > 12 or any(_MEANS_SOMETHING.match(text) for text in unknown):
        return False
    amounts = {cell.amount for cell in exact.values()}
    numbers, strays = sum(counts[text] for text in exact), sum(counts[text] for text in unknown)
    fractions = any("." in amount or "," in amount for amount in amounts)
    if len(amounts) < 5 or (len(amounts) < 8 and not fractions and not (strays == 1 and numbers >= ONCE_AMONG)):
        return False
    if any(char.isdigit() for text in unknown for char in text):
        # 103b among 101, 102, 104 is a name; 1O3 among measured values is a slip.
        return strays <= max(1, 0.02 * numbers) and numbers >= 8 and (fractions or len(amounts) < numbers)
    return strays <= max(1, 0.1 * (numbers + strays))


ONCE_AMONG = 40
"""What is no number once among so many is an accident, also among few different counts."""


def _signs(amounts: Sequence[str], hint: str) -> tuple[str, str] | None:
    """Return the decimal sign and the one between thousands; None when cells contradict each other."""
    digits = [re.sub(r"[eE][-+]?\d+$", "", amount.lstrip("+-")) for amount in amounts]
    dotted, with_comma = [d for d in digits if "." in d], [d for d in digits if "," in d]
    if not with_comma and not dotted:
        return hint, ""
    both = [d for d in digits if "." in d and "," in d]
    sure_comma = [d for d in with_comma if d not in both and (not _GROUPS[","].match(d) or d.startswith("0"))]
    sure_point = [d for d in dotted if d not in both and (not _GROUPS["."].match(d) or d.startswith("0"))]
    if both:
        last = {max(".,", key=d.rfind) for d in both}
        if len(last) > 1:
            return None
        decimal = last.pop()
        return None if (sure_point if decimal == "," else sure_comma) else (decimal, "," if decimal == "." else ".")
    if sure_comma and sure_point:
        # 1,5 beside 2.5: both decimal signs, unless something could also be a thousand.
        clear = len(sure_comma) == len(with_comma) and len(sure_point) == len(dotted)
        return (".,", "") if clear else None
    repeated = any(d.count(",") > 1 for d in with_comma), any(d.count(".") > 1 for d in dotted)
    if sure_comma or (with_comma and hint == "," and not repeated[0]):
        return None if repeated[0] else (",", "." if dotted else "")
    if sure_point or (not repeated[1] and (hint == "." or not dotted)):
        return None if repeated[1] else (".", "," if with_comma else "")
    return None if with_comma else (",", ".")


def _value(amount: str, reading: CellReading) -> str:
    if reading.thousands:
        amount = amount.replace(reading.thousands, "")
    return amount.replace(",", ".")


def _tell(
    reading: CellReading, held: Mapping[str, Cell], counts: Mapping[str, int], marks: list[str], unknown: list[str],
    signs: tuple[str, str], hint: str,
) -> None:  # fmt: skip
    """Write down what was done, in sentences that say how many cells it concerns."""
    notes = reading.notes
    words = [*marks, *unknown]
    if words:
        notes.append(f"{plural(sum(counts[t] for t in words), 'cell')} ({some(sorted(words))}) read as missing")
    for side, symbols, bias in (("below", "<\u2264", "upwards"), ("above", ">\u2265", "downwards")):
        beyond = {text: cell for text, cell in held.items() if cell.limit and cell.limit[0] in symbols}
        if beyond:
            limits = sorted(
                {cell.amount for cell in beyond.values()}, key=lambda amount: float(_value(amount, reading))
            )
            notes.append(
                f"{plural(sum(counts[t] for t in beyond), 'cell')} {side} a limit ({some(sorted(beyond))}; limit "
                f"{limits[0] if len(limits) == 1 else f'{limits[0]} to {limits[-1]}'}) read as missing, so results are "
                f"without them and biased {bias}"
            )
    about = [text for text, cell in held.items() if cell.about or cell.mark]
    if about:
        notes.append(
            f"{plural(sum(counts[t] for t in about), 'cell')} with a remark ({some(about)}) read as the number"
        )
    if signs[0] == ".,":
        notes.append("both point and comma are used as the decimal sign and read so; check that none is a thousand")
    elif signs[0] == "," != hint:
        notes.append("the comma is read as the decimal sign")
    if signs[1]:
        shown = next(cell.amount for cell in held.values() if signs[1] in cell.amount)
        sign = {",": "comma", ".": "point"}[signs[1]]
        notes.append(f"the {sign} is taken to stand between thousands ({shown!r}), not for the decimal sign")
    written = reading.unit if reading.unit != TITRE else ""
    bare = sum(counts[text] for text, cell in held.items() if written and not cell.unit)
    if written:
        notes.append(f"the unit {reading.unit!r} stands in the cells and is left out")
        if bare:
            notes.append(f"{plural(bare, 'cell')} without a unit taken as {reading.unit!r}, too")
    reading.doubtful = bool(unknown or signs[0] == ".," or signs[1] or bare or any(c.limit for c in held.values()))


def units_row(first: Sequence[Any], below: Sequence[Sequence[Any]]) -> dict[int, str]:
    """Return position -> unit when the first row below the header holds units (`(g)`, `mg/l`), else nothing.

    One that is not known as such is taken for one where more than as many others are, and numbers follow.
    """
    units: dict[int, str] = {}
    unknown = 0
    for position, cell in enumerate(first):
        text = tidy("" if cell is None or cell != cell else cell)
        bare = re.sub(r"^[(\[]\s*(.*?)\s*[)\]]$", r"\1", text)
        if not text or text in ("-", "--", "()", "[]", "\u2013") or (position == 0 and text.lower() in _UNIT_LABEL):
            continue
        if not (is_unit(bare) or (bare != text and len(bare) < 16 and not re.search(r"\d{2}", bare))):
            if parse(text) is not None or len(bare) >= 16:
                return {}
            unknown += 1
        units[position] = bare
    if 2 * unknown >= len(units):
        return {}
    for position in units:
        values = [tidy(row[position]) for row in below if position < len(row) and row[position] is not None]
        values = [v for v in values if v and v.lower() not in MISSING_MARKS]
        # `<0.05` is a number below a limit.
        if not values or sum(parse(value.lstrip("<>≤≥ ")) is not None for value in values) < 0.8 * len(values):
            return {}
    return units


def totals_below(rows: Sequence[Sequence[Any]]) -> list[str]:
    """Return the labels of the rows at the end that sum up the others (`Total`, `Summe`, `mean`), the last first."""
    labels: list[str] = []
    firsts = [
        next(((i, tidy(c)) for i, c in enumerate(row) if c == c and c is not None and tidy(c)), None) for row in rows
    ]
    for index in range(len(rows) - 1, 2, -1):
        first = firsts[index]
        if first is None or not TOTALS.match(first[1]):
            break
        numbers = [parse(tidy(c)) for i, c in enumerate(rows[index]) if i != first[0] and c is not None and tidy(c)]
        # A label that other rows have, too, is a level of the table.
        if not any(numbers) or any(f is not None and f[1].lower() == first[1].lower() for f in firsts[:index]):
            break
        labels.append(first[1])
    return labels if len(rows) - len(labels) >= 3 else []


def totals_warning(name: str, labels: list[str]) -> str:
    """Return the sentence that tells of rows left out as totals."""
    return f"{name}: {plural(len(labels), 'row')} at the end ({some(labels[::-1])}) sum up the others and are left out."


def fill_blocks(
    name: str, frame: Any, first_column: list[str], read: dict[str, Any], warnings: list[str], *, merged: bool = False
) -> list[str]:
    """Fill the first column down where its blanks surely mean `as above`; return that column as text.

    Args:
        name: the file, for the warning.
        frame: the table, changed in place.
        first_column: its first column as text, exactly as written.
        read: the options for `read_table`, completed in place.
        warnings: completed in place.
        merged: whether the blanks are known to be merged cells.
    """
    import pandas as pd

    if not isinstance(frame.index, pd.RangeIndex) or frame.shape[1] < 2 or len(first_column) != len(frame):
        return first_column
    there = ~frame.isna().all(axis=1)
    column = frame.loc[there, frame.columns[0]]
    if not (column.isna().any() and (merged or _in_blocks(column, frame.loc[there].iloc[:, 1:]))):
        return first_column
    texts = pd.Series(first_column).where(frame.iloc[:, 0].notna()).ffill().where(there).fillna("")
    filled = column.ffill()
    frame.isetitem(0, filled.reindex(frame.index) if not there.all() else filled.infer_objects())
    if column.dtype.kind == "f" and there.all() and (frame.iloc[:, 0] % 1 == 0).all():
        frame.isetitem(0, frame.iloc[:, 0].astype("int64"))
    label = str(frame.columns[0]).strip()
    read["fill_down"] = True
    warnings.append(
        f"{name}: {plural(int(column.isna().sum()), 'empty cell')} of the first column {label!r} are taken to mean "
        "the same as above; fill them in if that is wrong."
    )
    return texts.tolist()


def _in_blocks(column: Any, others: Any) -> bool:
    """Say whether the blanks leave blocks of equal length, each with a name of its own, and all else is filled."""
    filled = [index for index, there in enumerate(column.notna()) if there]
    rows = len(column)
    if len(filled) < 2 or filled[0] != 0 or len(filled) == rows:
        return False
    lengths = {after - before for before, after in zip(filled, [*filled[1:], rows], strict=True)}
    distinct = column.nunique() == len(filled)
    return len(lengths) == 1 and distinct and bool((others.notna().mean(axis=1) >= 0.8).all())
