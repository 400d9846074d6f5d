"""Levels that differ only by case, accents, hyphens or blanks (`Male`, `male `; `sí`, `si`; `T-bar`, `Tbar`) are one.

So is what stands a few times in short or in the plural (`ctrl`, `Butchers`).

That holds wherever a table is read.

Left as written they are groups of their own in every test, and two raters agree on nothing. Where case tells things
apart (alleles `A` and `a`, genotypes `AA` and `Aa`, `mM` and `mm`, `TNF` of man and `Tnf` of the mouse) it stays.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from engine.data.columns.cells import is_unit
from engine.data.columns.genes import in_gene_family, is_gene_header
from engine.data.source import Column, Frame
from engine.text.letters import without_accents
from engine.text.times import time_unit

MOST = 30
"""A column with more levels than these names things rather than groups."""
_LETTERS = ({"m", "f"}, {"m", "w"}, {"y", "n"}, {"j", "n"}, {"t", "f"})
"""Pairs of letters that stand for words: the sexes, yes and no, true and false."""
_DOUBLED = re.compile(r"(?:([a-z])[/|]?\1[;,\s]?)+$")
"""Genotypes in lower case: `aa`, `a/a`, `aabb`."""


def spelled_alike(frame: Frame) -> dict[str, dict[str, str]]:
    """Return column -> {cell as written: the level it is}, for the columns of text where spellings differ.

    The commonest spelling of the table stands for all. Columns that share half of their levels are spelled alike, so
    that what one rater calls `Yes` and another `yes` is one judgement.
    """
    texts = [kind.kind == "O" for kind in frame.dtypes]
    once = frame.columns[~frame.columns.duplicated(keep=False) & texts]
    counted = {str(column): found for column in once if (found := _levels(frame[column], str(column)))}
    joined = {
        column: found for column, cells in counted.items() if (found := _species(cells) | _with_its_name(cells, column))
    }
    for columns in _families(counted):
        total: Counter[str] = Counter()
        for column in columns:
            total.update(counted[column])
        for column in columns:
            if changed := _joined(counted[column], total, slips=_of_arms(column, total)):
                whole = {cell: changed.get(level, level) for cell, level in joined.get(column, {}).items()}
                joined[column] = {**whole, **{cell: whole.get(level, level) for cell, level in changed.items()}}
    return {column: joined[column] for column in counted if column in joined}


_SHORT, _FULL = re.compile(r"([A-Z])\.\s*([a-z-]{3,})$"), re.compile(r"([A-Z])[a-z]+ ([a-z-]{3,})$")


def _species(cells: Counter[str]) -> dict[str, str]:
    """Return {`E. coli` as written: `Escherichia coli`} where a column has one species that is called so."""
    full: dict[tuple[str, str], set[str]] = {}
    for cell in cells:
        if found := _FULL.match(" ".join(cell.split())):
            full.setdefault((found[1], found[2]), set()).add(" ".join(cell.split()))
    named = {cell: full.get((m[1], m[2]), set()) for cell in cells if (m := _SHORT.match(" ".join(cell.split())))}
    return {cell: next(iter(own)) for cell, own in named.items() if len(own) == 1}


def _with_its_name(cells: Counter[str], column: str) -> dict[str, str]:
    """Return {`Arm A` as written: `A`} where a column `Arm` has both."""
    bare = {cell.strip().casefold(): cell.strip() for cell in cells}
    found: dict[str, str] = {}
    for cell in cells:
        said = re.fullmatch(rf"\s*{re.escape(column)}[\s_:.-]+(\S.*?)\s*", cell, re.IGNORECASE)
        if said and said[1].casefold() in bare:
            found[cell] = bare[said[1].casefold()]
    return found


def _families(counted: dict[str, Counter[str]]) -> list[list[str]]:
    """Return the columns in groups that share half of their levels, without comparing each with each."""
    alike: dict[frozenset[str], list[str]] = {}
    for column, cells in counted.items():
        alike.setdefault(frozenset(map(_folded, cells)), []).append(column)
    family = {forms: [forms] for forms in alike}
    holding: dict[str, list[frozenset[str]]] = {}
    for one in alike:
        for two in {other for form in one for other in holding.get(form, ())}:
            if 2 * len(one & two) >= min(len(one), len(two)) and family[one] is not family[two]:
                family[one] += family[two]
                for member in family[one]:
                    family[member] = family[one]
        for form in one:
            holding.setdefault(form, []).append(one)
    groups = {id(group): group for group in family.values()}.values()
    return [[column for forms in group for column in alike[forms]] for group in groups]


def told_joins(name: str, joined: dict[str, dict[str, str]]) -> list[str]:
    """Say which spellings were read as one level: a sentence a column, of at most four."""
    told = []
    for column, changed in joined.items():
        kept: dict[str, list[str]] = {}
        for cell, level in changed.items():
            kept.setdefault(level, []).append(cell)
        shown = "; ".join(f"{', '.join(map(repr, cells))} as {level!r}" for level, cells in list(kept.items())[:6])
        every = [*changed, *kept]
        accents = ", accents" * (not all(map(str.isascii, every)))
        hyphens = ", hyphens" * any(re.search(r"\w[-_]\w", text) for text in every)
        species = ", short names of species" * any(map(_SHORT.match, changed))
        short = ", short forms" * any(_out(cell) != _out(level) for cell, level in changed.items())
        short = "" if species else short
        by = f"case{accents}{hyphens}{species}{short} or blanks"
        told.append(f"{name}: column {column!r}: levels that differ only by {by} are one level: {shown}.")
    more = [f"{name}: {len(told) - 4} more columns are read with such levels joined."] if len(told) > 4 else []
    return told[:4] + more


def _levels(cells: Column, name: str) -> Counter[str]:
    """Return the cells of a column of few levels with their numbers; nothing where it names rows or genes."""
    if is_gene_header(name):
        return Counter()
    present = cells.dropna()
    if present.empty or not present.map(lambda cell: isinstance(cell, str)).all():
        return Counter()
    levels: Counter[str] = Counter({str(cell): int(n) for cell, n in present.value_counts().items()})
    few = len({_folded(level) for level in levels}) <= MOST
    return levels if few and len(levels) < len(present) else Counter()


_BETWEEN = re.compile(r"(?<=[^\W\d_])[ _-]+(?=[^\W\d_])|(?<=\d)[ _-]+(?=[^\W\d_])|(?<=[^\W\d_])[ _]+(?=\d)")
"""What parts letters from letters or digits: `T-bar`, `10 mg`; `1-2` are two numbers."""
_NUMBERED = re.compile(r"(?<![^\W\d_])([^\W\d_]{3,})-(?=\d)")
"""`Col-0`: behind a longer name a hyphen is no minus, but `D-1` and `Day-1` are the day before."""


def _folded(cell: str) -> str:
    return without_accents(_whole(cell)).casefold()


_WRITTEN_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})


def _out(cell: str) -> str:
    """Return a cell as it is written on a keyboard without umlauts: `Sued`."""
    return _folded(cell.lower().translate(_WRITTEN_OUT))


def _whole(cell: str) -> str:
    """Return a cell without blanks and hyphens between its letters, with the minus of a time."""
    text = _NUMBERED.sub(lambda found: found[0] if time_unit(found[1].casefold()) else found[1], " ".join(cell.split()))
    text = text.replace(".", "") if _INITIALS.fullmatch(text) else text
    return _BETWEEN.sub("", text)


_INITIALS = re.compile(r"(?:[^\W\d_]\.){2,}")
"""`i.v.` is `iv`."""


def _joined(cells: Counter[str], family: Counter[str], *, slips: bool) -> dict[str, str]:
    twins: dict[str, Counter[str]] = {}
    umlauts = {out: _folded(cell) for cell in family if (out := _out(cell)) != _folded(cell)}
    forms = {cell: umlauts.get(_folded(cell), _folded(cell)) for cell in {*cells, *family}}
    counts = Counter[str]()
    for cell, count in family.items():
        counts[forms[cell]] += count
    forms = {cell: _in_full(form, counts) for cell, form in forms.items()}
    for cell, count in family.items():
        twins.setdefault(forms[cell], Counter())[" ".join(cell.split())] += count
    words_of_letters = len(twins) > 1 and (any(set(twins) <= pair for pair in _LETTERS) or slips)
    changed = {}
    for cell in cells:
        spelled, known = " ".join(cell.split()), twins[forms[cell]]
        level = spelled
        written = {_whole(text) for text in known}
        few, most = min(known.values()), max(known.values())
        # TGFB once beside seven TGFb, n+ once beside 23 N+
        slip = few <= RARE * most if len(cell) > _LONG else few <= 2 and few <= _SLIP * most and not cell.isalpha()
        if len(known) > 1 and (words_of_letters or len(written) == 1 or slip or not _case_matters(sorted(written))):
            level = min(known, key=lambda text: (-known[text], text))
        # Blanks around a level that is spelled in no other way trouble nobody: every reader of levels cuts them.
        if level != cell and (level != cell.strip() or cell.strip() in cells):
            changed[cell] = level
    return changed


_SLIP = 0.05
_LONG = 3
"""Characters of names that are no genotypes."""


_IN_SHORT = {
    "ctrl": "control", "ctl": "control", "cntrl": "control", "contr": "control", "veh": "vehicle", "plac": "placebo",
    "y": "yes", "n": "no", "j": "ja", "m": "male", "f": "female", "pos": "positive", "neg": "negative",
}  # fmt: skip
"""What a hurried hand writes for a level that stands in full in other rows."""


_BETWEEN_NUMBER = re.compile(r"^([^\W\d_]+)-(?=\d)")
"""`ko-12` in few rows is ko12; `D-1` is the day before the first."""


def _in_full(form: str, counts: Mapping[str, int]) -> str:
    """Return a rare spelling as others have it: in full, without the s of a plural (`Butchers` beside `butcher`)."""
    plural = form[:-1] if len(form) > _LONG and form.endswith("s") else form
    full = _IN_SHORT.get(form, "")
    bare = _BETWEEN_NUMBER.sub(lambda found: found[0] if time_unit(found[1]) or len(found[1]) == 1 else found[1], form)
    full = next((other for other in (full, bare) if other in counts and other != form), plural)
    # As many `cats` as `cat`, or as many m as male, are no slips.
    return full if counts[form] <= RARE * counts.get(full, 0) else form


_ARMS = re.compile(
    r"\b(?:sex|gender|geschlecht|arm|group|grp|trt|treat\w*|cohort|centre|center|site|ward|batch)\b", re.IGNORECASE
)
RARE = 0.2
"""A letter that is so much rarer in the other case is a slip of the hand."""


def _of_arms(column: str, cells: Counter[str]) -> bool:
    """Say whether single letters name arms or places, so that the few in the other case are slips, no alleles."""
    counts: dict[str, list[int]] = {}
    for cell, count in cells.items():
        counts.setdefault(_folded(cell), []).append(count)
    return bool(_ARMS.search(re.sub(r"[_.]", " ", column))) and all(
        min(found) <= RARE * max(found) for found in counts.values() if len(found) > 1
    )


def _case_matters(spellings: list[str]) -> bool:
    """Say whether spellings that differ by case may be different things on purpose."""
    alike: dict[str, list[str]] = {}
    for text in map(without_accents, spellings):
        alike.setdefault(text.casefold(), []).append(text)
    return any(_are_two(form, texts) for form, texts in alike.items() if len(texts) > 1)


def _are_two(form: str, spellings: list[str]) -> bool:
    """Say whether one name in several cases is several things: alleles, units, genes of two species."""
    if sum(char.isalpha() for char in form) <= 1 or _DOUBLED.match(form):
        return True
    if len(form) <= 3 and any(text not in (form, form.upper(), form.capitalize()) for text in spellings):
        return True  # aB beside Ab and ab: the gametes of a cross
    units = {text.replace("l", "L") for text in spellings if is_unit(text)}
    species = any(text not in (text.upper(), text.lower()) for text in spellings)  # Tnf of the mouse beside TNF of man
    return len(units) > 1 or (species and any(in_gene_family(text) for text in spellings))
