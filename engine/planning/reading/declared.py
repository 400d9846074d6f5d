"""What a question says of how its data are written: what stands for `missing` (`999 = missing`), and whether values below a limit count.

That is decided for the column it is said of, before anything is planned, so that every step reads the file alike.
"""

# Most methods of pandas carry no types of what they return, which is all that these rules would find here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import math
import re

from engine.data.columns.column import profile_column
from engine.data.structure.rows import look
from engine.data.structure.scales import HINTS
from engine.domain.profile import ColumnProfile
from engine.planning.naming.explained import COLUMNS_TOLD
from engine.planning.naming.mention import LIKELY, SURE_NAME, ColumnMention
from engine.planning.reading.grammar import HOLDS
from engine.planning.reading.leaving_out import not_understood
from engine.planning.reading.reading import Reading
from engine.planning.tables.limits import Counted, of_limits, with_limits
from engine.planning.tables.sheets import EVERY_ROW, FEW, THINGS, Data, Sheet, is_group, is_id
from engine.planning.tables.values import read_anew
from engine.text.names import name_parts
from engine.text.stems import stem

_CODE = r"(?<![\w.])['\"]?(?P<code>-?\d{1,5})(?:\.0+)?['\"]?(?![\w.]*\d)"
_GONE = (
    r"(?:missing|unknown|unrecorded|refused|invalid|contaminated|indeterminate|inconclusive|uncertain|n/?a\b|no (?:answer|data|value|information|response|reading|record|result)|"
    r"not (?:been )?(?:recorded|known|available|measured|given|stated|answered|done|taken|asked|reported|applicable|assessed))"
)
_STANDS = r"(?:=+|:|(?:is|are|was|were|means?|meaning|stands? for|denotes?|codes? for|marks?|indicates?|for|as)\b)"
_SAID = (
    re.compile(rf"{_CODE}\s*(?:in\s+(?:the\s+)?\w+\s+|(?:\w+\s+){{0,2}}?){_STANDS}\s*(?:(?:an?|the|to be|that it was|used for|entered for|code for|as)\s+)*{_GONE}", re.IGNORECASE),
    re.compile(rf"{_GONE}(?:\s+\w+){{0,2}}?\s*(?:=+|:|\(|\b(?:coded|written|entered|given|marked|shown|stored|recorded|appears?)\b(?:\s+(?:as|with|by|like|a))*)\s*{_CODE}", re.IGNORECASE),
    re.compile(rf"(?<=[\w.])\s*(?:[,;/]|,?\s+and)\s*{_CODE}\s+{_GONE}(?=\s*(?:[.,;:)]|$))", re.IGNORECASE),
)  # fmt: skip
CODE_DEFINED = re.compile(
    r"(?<![\w.])[A-Za-z][\w.]*\s+(?:(?:is|was|=|means?)\s+)?[01]\s+(?:if|when|where|for|means?|is|=)\s(?P<what>[^,;.?!]*)",
    re.IGNORECASE,
)
"""`small is 1 if the pup was below 5 g` says what a code stands for, too."""
NEAR = 60
"""So many characters may lie between a code and the column it is said of."""


def missing_told(question: str) -> list[tuple[float, int, int]]:
    """Return (code, start, end) for everything of which a question says that it stands for a missing value."""
    found = [(float(m["code"]), *m.span()) for form in _SAID for m in form.finditer(question)]
    return [item for at, item in enumerate(found) if item[0] not in {other[0] for other in found[:at]}]


def with_missing(reading: Reading, data: Data) -> Data:
    """Return the data with the codes that the question declares read as missing; as they were where it declares none."""
    for code, start, end in missing_told(reading.question):
        columns = _meant(reading, data, code, start, end)
        if columns:
            data = Data([_without(sheet, columns, code) for sheet in data.sheets])
    return data


def _meant(reading: Reading, data: Data, code: float, start: int, end: int) -> list[str]:
    """Return the columns a code is said of: the nearest that is named, and of long codes all others that are named."""
    holding = {c.name for sheet in data.sheets for c in sheet.columns if _holds(sheet, c, code)}
    places = {
        m.column: min(abs(reading.words[m.first].start - end), abs(start - reading.words[m.last].end))
        for m in sorted(reading.mentions, key=lambda m: m.strength)
        if not m.level and m.column in holding and m.strength >= LIKELY
    }
    named = sorted(places, key=lambda name: places[name])
    if abs(code) < 88 and _read_already(reading, data, code, start, end, min(places.values(), default=NEAR)):
        return []
    if abs(code) < 88:
        return [name for name in named[:1] if places[name] <= NEAR]
    return named or sorted(holding)


def _read_already(reading: Reading, data: Data, code: float, start: int, end: int, near: int) -> bool:
    """Say whether a nearer column has been read so by its legend: `smoking (9 = missing)` is of no score of 9."""
    for m in reading.mentions:
        column = data.column(m.column)
        told = column is not None and any(note.startswith(f"{code:g} is ") for note in column.notes)
        if told and min(abs(reading.words[m.first].start - end), abs(start - reading.words[m.last].end)) < near:
            return True
    return False


def _holds(sheet: Sheet, column: ColumnProfile, code: float) -> bool:
    """Say whether a code is in a column, and no value in the midst of others."""
    return code in (column.minimum, column.maximum) and bool((sheet.frame()[column.name] == code).any())


def _without(sheet: Sheet, names: list[str], code: float) -> Sheet:
    names = [name for name in names if (c := sheet.column(name)) and _holds(sheet, c, code)]
    if not names:
        return sheet
    profile, mark = sheet.profile, f"{code:g}"
    types = []
    for guess in profile.types:
        na = guess.read.get("na", ())
        marks = dict(na) if isinstance(na, dict) else {c.name: list(na) for c in profile.column_profiles if na}
        marks |= {name: [*marks.get(name, ()), mark] for name in names}
        types.append(guess.model_copy(update={"read": {**guess.read, "na": marks}}))
    frame = sheet.frame()
    count = int((frame[names] == code).sum().sum())
    frame = frame.assign(**{name: frame[name].where(frame[name] != code) for name in names})
    fresh = {
        c.name: c for c in look(frame, [profile_column(c.name, frame[c.name]) for c in profile.column_profiles])[0]
    }
    columns = [_told(c, fresh[c.name], mark) if c.name in names else c for c in profile.column_profiles]
    said = f"{profile.name}: {count} cells ({mark}) of {', '.join(map(repr, names))} are read as missing, as the question says."
    warnings = [*profile.warnings, said]
    update = {"types": types, "column_profiles": columns, "warnings": warnings}
    return Sheet(profile.model_copy(update=update), sheet.made)


def _told(column: ColumnProfile, fresh: ColumnProfile, mark: str) -> ColumnProfile:
    note = f"{mark} is read as missing, as the question says."
    if column.corrected:
        fresh = fresh.model_copy(update={"scale": column.scale, "roles": column.roles, "corrected": column.corrected})
    return fresh.model_copy(update={"unit": column.unit, "notes": [*column.notes, note]})


def mark_told(reading: Reading) -> None:
    """Take the words that declare a code for used: they ask nothing, least of all for what is missing."""
    for form in _SAID:
        reading.masked = form.sub("", reading.masked)
    for code, start, end in missing_told(reading.question):
        reading.asides.append((start, end))
        reading.mark_text(start, end, "number", f"{code:g} is missing")


_LIMIT = r"(?:(?:detection|quantification|reporting|assay|lower)\s+)?(?:limit|LOD|LOQ|LLOD|LLOQ)s?(?:\s+of\s+(?:detection|quantification))?"
_BELOW = (
    rf"(?:(?:below|under|less than|beyond|at|<)\s*(?:the\s+)?(?:{_LIMIT}|detection)|non.?detects?|undetect\w+|BDL|BLQ)"
)
_NUMBER = r"\d+(?:[.,]\d+)?"
_KEPT = re.compile(
    rf"(?:\b(?:do\s+not|don.?t|never|without|not)\s+(?:\w+\s+){{0,2}}?(?:throw\w*|drop\w*|leav\w*|exclud\w*|remov\w*|discard\w*|ignor\w*|los\w*)\s+(?:\w+\s+){{0,4}}?{_BELOW}"
    rf"|\b(?:keep\w*|includ\w*|count\w*|us(?:e|ing)|with)\s+(?:\w+\s+){{0,4}}?{_BELOW})(?:\s+limit)?",
    re.IGNORECASE,
)
_AS = re.compile(
    rf"(?:{_BELOW}(?:\s+\w+){{0,3}}?\s*(?:=|as|to|at|by|with)\s+(?:the\s+)?)?(?P<half>half\s+(?:of\s+)?(?:the\s+)?{_LIMIT}|{_LIMIT}\s*/\s*2)"
    rf"|{_BELOW}(?:\s+\w+){{0,3}}?\s*(?:=|as|to|at|by|with)\s+(?:the\s+)?(?P<limit>{_LIMIT})"
    rf"|['\"]?<\s*(?P<below>{_NUMBER})['\"]?(?:\s+\w+){{0,3}}?\s*(?:=|as|to|by|with)\s+(?P<value>{_NUMBER})",
    re.IGNORECASE,
)


def with_limits_said(reading: Reading, data: Data) -> Data:
    """Return the data with values below a limit counted as the question says, as half the limit where it says no more.

    It is said of the columns that the question names, else of all that have such cells.
    """
    said = next(_AS.finditer(reading.question), None)
    able = of_limits(data) if said or _KEPT.search(reading.question) else []
    if not able:
        return data
    how = _counted_as(said) if said else "half"
    if how is None:
        return data
    named = [name for name in able if name in reading.columns()]
    counted: dict[str, Counted] = dict.fromkeys(named or able, how)
    return with_limits(data, counted)


def _counted_as(said: re.Match[str]) -> Counted | None:
    """Return how a value below a limit counts: of `<0.10 as 0.05` half of it; None for another number."""
    if not said["below"]:
        return "limit" if said["limit"] else "half"
    below, value = (float(said[name].replace(",", ".")) for name in ("below", "value"))
    return "limit" if value == below else "half" if math.isclose(value, below / 2) else None


_EMPTY = r"(?:(?:empt(?:y|ies)|blanks?|missing|no entr(?:y|ies)|vide|leer)(?:\s+(?:cells?|fields?|values?|entries|ones|boxes))?|NAs?)"
_ZEROS = re.compile(
    rf"[,;(]?\s*(?:and\s+)?\b{_EMPTY}\s*(?:=+|:|\b(?:are|is|was|were|means?|meaning|counts? as|stands? for|as)\b)\s*(?:an?\s+|really\s+|the\s+|just\s+)?"
    r"(?:zeros?|0|none(?:\s+(?:found|seen|caught|counted|there))?|(?:not|never)\s+(?:found|seen|caught|present|there|detected|observed)|absent|absence|nothing(?:\s+\w+)?)\b\)?",
    re.IGNORECASE,
)
_ALREADY = re.compile(
    r"[,;(]?\s*(?:and\s+)?['\"]?(?P<mark>[A-Za-z][\w./-]{0,7})['\"]?\s*(?:=+|:|\b(?:are|is|means?|stands? for)\b)\s*"
    r"(?:missing|lost|unreadable|(?:could )?not (?:be )?(?:done|known|taken|read|\w{3,}(?:ed|able))|no data)(?:\s+(?:values?|data))?\b"
    r"(?:\s*[,;]\s*(?:so\s+|please\s+)?(?:(?:leave|left)\s+(?:(?:it|them|these|those)\s+)?out|exclude|ignore)(?:\s+(?:it|them|these|those))?(?=\s*[.,;)?!]|\s*$))?\)?",
    re.IGNORECASE,
)


def with_zeros_said(reading: Reading, data: Data) -> Data:
    """Return the data with empty cells of counts read as 0, where the question says that they are: `empty = none found`.

    It is said of the columns that the question names, else of all counts that have empty cells.
    """
    if not _ZEROS.search(reading.question):
        return data
    return Data([_zeroed(sheet, {*reading.columns()}) for sheet in data.sheets])


def _zeroed(sheet: Sheet, named: set[str]) -> Sheet:
    able = [c.name for c in sheet.columns if c.missing and c.kind in ("integer", "number") and (c.minimum or 0) >= 0]
    counts = [name for name in able if (c := sheet.column(name)) is not None and c.scale == "count"]
    zeros = [name for name in able if name in named] or counts or able
    if not zeros:
        return sheet
    told = f"{sheet.profile.name}: empty cells of {_some(zeros)} are read as 0, as the question says."
    fresh = read_anew(sheet.profile, zeros=zeros)
    return Sheet(fresh.model_copy(update={"warnings": [*fresh.warnings, told]}), sheet.made)


_SETS_APART = re.compile(
    r"(?:\b(?:by|per|within|each|every|of|across|between|among|same|block\w*|random\w*|nested|cluster\w*|group\w*|pair\w*|repeat\w*|only|which|for)\s+(?:the\s+|each\s+)?|[:|(]\s*)$",
    re.IGNORECASE,
)
_OF_NUMBERS = re.compile(r"\b(?:mean|average|median|correlation|relation\w*|effect|effects|influence|association|distribution|function)\s+(?:of|between)\s+(?:the\s+)?$", re.IGNORECASE)  # fmt: skip


def with_amounts_said(reading: Reading, data: Data) -> Data:
    """Return the data with whole numbers of many values as amounts, where the question speaks of them as of something measured.

    Their values alone look like numbers that name something (each as often, without gaps: years of school, a seed of 1 to
    16). What a name says to number things (a ward, a plate, an id) stays so.
    """
    sheets = [_with_amounts(sheet, reading) for sheet in data.sheets]
    return data if all(new is old for new, old in zip(sheets, data.sheets, strict=True)) else Data(sheets)


def _with_amounts(sheet: Sheet, reading: Reading) -> Sheet:
    named = {m.column for m in reading.mentions if not m.level and m.strength >= SURE_NAME and _as_amount(reading, m)}
    kept = {item.subject for item in sheet.structure.repeated}
    rows = EVERY_ROW * (sheet.profile.rows or 0)
    able = [c for c in sheet.columns if c.name in named - kept and _may_be_amount(c)]
    # What differs in every row numbers the rows, unless something is asked to go with it: `predict assets from rank`.
    meant = {c.name for c in able if c.distinct < rows or reading.parts.get(c.name) == {"cause"}}
    if not meant:
        return sheet
    columns = [c.model_copy(update={"scale": "number", "roles": []}) if c.name in meant else c for c in sheet.columns]
    return Sheet(sheet.profile.model_copy(update={"column_profiles": columns}), sheet.made)


def _as_amount(reading: Reading, mention: ColumnMention) -> bool:
    """Say whether a name does not stand where groups and subjects do: behind `by`, `per` or `within`."""
    before = reading.question[: reading.words[mention.first].start]
    return _OF_NUMBERS.search(before) is not None or _SETS_APART.search(before) is None


def _may_be_amount(column: ColumnProfile) -> bool:
    plain = column.scale == "code" and column.kind == "integer" and column.distinct > FEW and not column.corrected
    called = {part.removesuffix("s") for part in name_parts(column.name)}
    return plain and not called & (THINGS | _NUMBERING)


_NUMBERING = (
    frozenset("study trial county district community state country region zip postcode item question model".split())
    | HINTS["id"]
    | HINTS["subject"]
    | HINTS["cluster"]
    | HINTS["batch"]
    | HINTS["group"]
)


def _some(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:3]))
    return f"{shown} and {len(names) - 3} more columns" if len(names) > 3 else shown


def mark_declared(reading: Reading, data: Data) -> None:
    """Take the words that say how data are read for used: they ask nothing and leave no group out."""
    forms = [
        (REPEATS_OUT, "repeated rows are left out"),
        *((form, "values below a limit count") for form in (_AS, _KEPT) if of_limits(data)),
        (_ZEROS, "empty cells are 0"),
    ]
    notes = " ".join(note for column in data.columns() for note in column.notes)
    for match in _ALREADY.finditer(reading.question):
        if f"'{match['mark']}'" in notes:  # it is read as missing already
            reading.asides.append(match.span())
            reading.mark_text(*match.span(), "method", "read as missing")
            reading.masked = reading.masked.replace(match[0], "")
    for match in COLUMNS_TOLD.finditer(reading.question):
        if not any(match.start() <= reading.words[m.first].start < match.end() for m in reading.mentions):
            reading.asides.append(match.span())
            reading.masked = COLUMNS_TOLD.sub("", reading.masked)
    out = not_understood(reading)
    if out and _called_missing(out, notes):
        start = reading.question.index(out)
        reading.asides.append((start, start + len(out)))
        reading.mark_text(start, start + len(out), "method", "read as missing")
        reading.masked = reading.masked.replace(out, "")
    for form, means in forms:
        for match in form.finditer(reading.question):
            reading.asides.append(match.span())
            reading.mark_text(*match.span(), "method", means)
        reading.masked = form.sub("", reading.masked)


def _called_missing(out: str, notes: str) -> bool:
    """Say whether what is left out are the cells that a legend calls missing: `the dont knows` where 9 is `do not know`."""
    meanings = " ".join(re.findall(r"taken for a missing value: by its legend \S+ is '([^']*)'", notes))
    said, known = ({stem(word) for word in re.findall(r"[^\W\d_]{4,}", text.lower())} for text in (out, meanings))
    return bool(said & known)


_MANY_TESTS = re.compile(
    rf"[,;(]?\s*(?:and\s+)?\b{HOLDS}\s+(?:(?:the\s+)?p[- ]?values?\s+)?for\s+(?:the\s+)?"
    r"(?:multiplicity|(?:multiple|many|several|repeated)\s+(?:testing|tests?|comparisons?|hypothes[ei]s))\b\)?",
    re.IGNORECASE,
)


def without_pooled(reading: Reading, data: Data) -> None:
    """Forget the column whose groups are taken together: `all arms together` sets none of them apart.

    That p-values are adjusted for many tests adjusts for no column, and makes no other analysis of the question.
    """
    for match in _MANY_TESTS.finditer(reading.question):
        reading.asides.append(match.span())
        reading.mark_text(*match.span(), "method", "p-values are adjusted for the number of tests")
        reading.masked = _MANY_TESTS.sub("", reading.masked, count=1)
    for match in _POOLED.finditer(reading.question):
        inside = [m for m in reading.mentions if match.start() <= reading.words[m.first].start < match.end()]
        columns = [column for m in inside if (column := data.column(m.column)) is not None]
        if inside and not any(m.level for m in inside) and all(is_group(c) and not is_id(c) for c in columns):
            reading.mentions[:] = [m for m in reading.mentions if m not in inside]
            reading.asides.append(match.span())
            reading.mark_text(*match.span(), "method", "groups are taken together")
            reading.masked = _POOLED.sub("", reading.masked, count=1)


_POOLED = re.compile(
    r"[,;(]?\s*\b(?:all|both)\s+(?:the\s+|of the\s+)?(?:\w+\s+)?\w+\s+(?:together|pooled|combined|lumped(?:\s+together)?)\b\)?"
    r"|[,;(]?\s*\bpooled\s+(?:over|across)\s+(?:all\s+|both\s+)?(?:the\s+)?\w+\)?",
    re.IGNORECASE,
)
REPEATS_OUT = re.compile(
    r"[,;(]?\s*(?:and\s+|but\s+|please\s+)?\b(?:without|no|drop\w*|remov\w*|ignor\w*|exclud\w*|leav\w+\s+out|delet\w*|not\s+counting|omit\w*)\s+"
    r"(?:(?:the|any|all|exact|my|those)\s+)*(?:duplicat\w+|doubled?|repeated|double)(?:\s+(?:rows?|entries|records|lines|ones))?"
    r"(?:\s+(?:out|first|once))?(?=\s*(?:[.,;:)?!]|$|and\b|but\b|then\b))",
    re.IGNORECASE,
)
"""What leaves out rows that repeat an earlier one."""
REPEATS = re.compile(
    r"(?<!\bin )\bduplicat(?:es?|ed\s+(?:rows|entries|records|lines))\b|\b(?:repeated|doubled?)\s+(?:rows|entries|records|lines)\b",
    re.IGNORECASE,
)
"""What speaks of such rows otherwise: they are counted, or kept."""
