"""Compares files with each other: most failed analyses fail because two files name the same samples differently."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from engine.data.schema import plain
from engine.data.source import plural, some
from engine.domain.datatypes import MATRICES, DataType
from engine.domain.profile import Profile
from engine.text.names import without_common_ends


def _without_r_prefix(name: str) -> str:
    return re.sub(r"^X(?=\d)", "", name)


_SPELLINGS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("upper and lower case", str.lower),
    ("the characters between the parts ('-', '.', '_' or spaces)", lambda name: re.sub(r"[-._ ]+", "-", name)),
    (
        "the X that R puts before names that start with a number",
        lambda name: re.sub(r"[-._ ]+", "-", _without_r_prefix(name)),
    ),
)
"""Differences that say nothing: names that differ in no other way are taken for the same."""


class SampleMatch(NamedTuple):
    """How the samples of a matrix are found in a sample sheet."""

    column: str | None
    """The sheet's column with the ids; None when they are the row names it is read with (or nothing matches)."""
    n_matched: int
    only_in_matrix: list[str]
    only_in_sheet: list[str]
    fraction: float
    """Matched samples of the matrix, 0 to 1."""
    called: Mapping[str, str] = {}
    """The sheet's id -> the matrix's name, where one side writes a common beginning or end more than the other."""
    difference: str = ""
    """What that is, in words."""


def match_samples(matrix: Profile, sheet: Profile) -> SampleMatch:
    """Find the column of the sheet that names the matrix's samples, exactly or but for a common beginning or end."""
    wanted = matrix.sample_ids
    columns: dict[str | None, list[str]] = {None: sheet.sample_ids, **_id_columns(sheet)}
    best = max((_match(column, wanted, ids) for column, ids in columns.items()), key=lambda match: match.n_matched)
    if best.n_matched:
        return best
    cut = [found for column, ids in columns.items() if (found := _match_cut(column, wanted, ids)) is not None]
    return max(cut, key=lambda match: match.n_matched, default=best)


def same_samples(matrix: Profile, sheet: Profile) -> tuple[str, dict[str, str]] | None:
    """Find the column of the sheet whose names are the matrix's but for case, the signs between parts or R's `X`.

    Returns:
        The column ("" for the names it has as a sample sheet), and for each of its names that is spelled otherwise the
        matrix's; None where the names match as they are, or where two names of one side would become one.
    """
    exact = match_samples(matrix, sheet)
    if exact.n_matched == len(matrix.sample_ids):
        return None
    for column, offered in {"": sheet.sample_ids, **_id_columns(sheet)}.items():
        for _, rule in _SPELLINGS:
            ours, theirs = ({rule(name): name for name in names} for names in (matrix.sample_ids, offered))
            if len(ours) < len({*matrix.sample_ids}) or len(theirs) < len({*offered}):
                continue
            both = ours.keys() & theirs.keys()
            if len(both) > exact.n_matched and len(both) >= max(2, 0.8 * min(len(ours), len(theirs))):
                return column, {theirs[key]: ours[key] for key in both if theirs[key] != ours[key]}
    return None


def _id_columns(sheet: Profile) -> dict[str, list[str]]:
    """Return the columns that could name samples: those kept whole, and those whose levels are known."""
    kept: dict[str, list[str]] = dict(sheet.details.get("ids", {}))
    for column in sheet.column_profiles:
        if column.levels and column.distinct == sheet.rows:
            kept.setdefault(column.name, list(column.levels))
    return kept


def _match(column: str | None, wanted: Sequence[str], offered: Sequence[str]) -> SampleMatch:
    has, wants = set(offered), set(wanted)
    matched = sum(sample in has for sample in wanted)
    return SampleMatch(
        column,
        matched,
        [sample for sample in wanted if sample not in has],
        [sample for sample in offered if sample not in wants],
        matched / len(wanted) if wanted else 0.0,
    )


def _match_cut(column: str | None, wanted: Sequence[str], offered: Sequence[str]) -> SampleMatch | None:
    """Match names of which those of one side have a beginning or an end in common that the other side lacks."""
    for longer, shorter, ours in ((wanted, offered, True), (offered, wanted, False)):
        cut = without_common_ends(longer, shorter)
        if cut is None:
            continue
        begin = longer[0].index(cut[0])
        ends = (longer[0][:begin], longer[0][begin + len(cut[0]) :])
        matrix, sheet = (cut, list(offered)) if ours else (list(wanted), cut)
        names = dict(zip(matrix, wanted, strict=True))
        called = {own: names[name] for own, name in zip(offered, sheet, strict=True) if name in names}
        return _match(column, wanted, [called.get(own, own) for own in offered])._replace(
            called=called, difference=" and ".join(repr(part) for part in ends if part)
        )
    return None


def cross_check(profiles: Sequence[Profile]) -> list[str]:
    """Return what does not fit between files, one sentence per problem."""
    warnings = _same_content(profiles)
    matrices = [p for p in profiles if p.best and p.best.type in MATRICES]
    sheets = [
        p for p in profiles
        if p not in matrices and p.best and (p.best.type is DataType.SAMPLE_SHEET or p.serves_as(DataType.SAMPLE_SHEET))
    ]  # fmt: skip
    for matrix in matrices:
        for sheet in sheets:
            warnings += _check_samples(matrix, sheet, only_sheet=len(sheets) == 1)
    warnings += _check_genes(profiles)
    return warnings


def _same_content(profiles: Sequence[Profile]) -> list[str]:
    seen: dict[str, str] = {}
    warnings = []
    for profile in profiles:
        if profile.sha256 in seen and profile.bytes:
            warnings.append(
                f"{seen[profile.sha256]} and {profile.name} have exactly the same content; one of them is enough."
            )
        seen.setdefault(profile.sha256, profile.name)
    return warnings


def _check_samples(matrix: Profile, sheet: Profile, *, only_sheet: bool) -> list[str]:
    match = match_samples(matrix, sheet)
    if match.difference:
        own, theirs = next(iter(match.called.items()))
        return [
            f"The samples of {matrix.name} and {sheet.name} differ only in a shared {match.difference}; they are "
            f"matched without it: {theirs!r} is {own!r}."
        ]
    if match.n_matched == len(matrix.sample_ids) and not match.only_in_sheet:
        return []
    if match.fraction < _MOSTLY:
        near = _near_match(matrix, sheet)
        if near is not None:
            return [near]
    if match.n_matched == 0:
        surely = only_sheet and sheet.best is not None and sheet.best.type is DataType.SAMPLE_SHEET
        if not surely or len(matrix.sample_ids) < 2:
            return []
        return [
            f"None of the {len(matrix.sample_ids)} samples of {matrix.name} ({some(matrix.sample_ids)}) is named in "
            f"{sheet.name} ({some(sheet.sample_ids)}); make the names equal."
        ]
    warnings: list[str] = []
    if (same := same_samples(matrix, sheet)) and match.fraction >= _MOSTLY:  # few names differ, the others are the same
        told = [f"{own!r} for {theirs!r}" for own, theirs in same[1].items()]
        warnings.append(f"Samples of {sheet.name} are taken for those of {matrix.name}: {', '.join(told[:3])}.")
        called = sheet.model_copy(update={"sample_ids": [same[1].get(name, name) for name in sheet.sample_ids]})
        match = match_samples(matrix, called)
    if match.only_in_matrix:
        hint = _hint(match.only_in_matrix, match.only_in_sheet)
        warnings.append(
            f"{plural(len(match.only_in_matrix), 'sample')} of {matrix.name} not in {sheet.name}: "
            f"{some(match.only_in_matrix)}{hint}; they are left out unless the sheet is completed."
        )
    if match.only_in_sheet:
        warnings.append(
            f"{plural(len(match.only_in_sheet), 'sample')} of {sheet.name} not in {matrix.name}: "
            f"{some(match.only_in_sheet)}; they have no data."
        )
    return warnings


def _hint(left: list[str], right: list[str]) -> str:
    simple = {plain(r): r for r in right}
    pair = next(((name, simple[plain(name)]) for name in left if plain(name) in simple), None)
    return f" ({pair[0]!r} may be {pair[1]!r})" if pair else ""


_MOSTLY = 0.5
"""From this share of names on that are alike, only the few others are looked at one by one."""


def _near_match(matrix: Profile, sheet: Profile) -> str | None:
    """Say which small, systematic difference keeps the names apart."""
    columns: dict[str, list[str]] = {"row names": sheet.sample_ids} | _id_columns(sheet)
    rules: list[tuple[str, Callable[[str], str]]] = [
        *_SPELLINGS,
        ("case, punctuation or spaces", lambda name: plain(_without_r_prefix(name))),
        ("leading zeros", lambda name: re.sub(r"(?<!\d)0+(?=\d)", "", name)),
    ]
    for where, offered in columns.items():
        if not offered:
            continue
        for difference, rule in rules:
            hits = {rule(name) for name in matrix.sample_ids} & {rule(name) for name in offered}
            if len(hits) >= max(2, 0.8 * min(len(matrix.sample_ids), len(offered))):
                return _near_sentence(matrix, sheet, where, difference, _example(matrix.sample_ids, offered, rule))
    return None


def _example(left: Sequence[str], right: Sequence[str], rule: Callable[[str], str]) -> tuple[str, str]:
    table = {rule(name): name for name in right}
    name = next((name for name in left if rule(name) in table and table[rule(name)] != name), left[0])
    return name, table.get(rule(name), right[0])


def _near_sentence(matrix: Profile, sheet: Profile, where: str, difference: str, example: tuple[str, str]) -> str:
    place = "" if where == "row names" else f" (column {where!r})"
    then = "they are taken for the same" if same_samples(matrix, sheet) else "make the names equal"
    return (
        f"The samples of {matrix.name} and {sheet.name}{place} differ only in {difference}: {example[0]!r} and "
        f"{example[1]!r}; {then}."
    )


def _check_genes(profiles: Sequence[Profile]) -> list[str]:
    """Say when genes are named in two systems, or belong to two organisms."""
    libraries = [p for p in profiles if p.serves_as(DataType.GENE_SET_LIBRARY) and p.feature_kind]
    others = [p for p in profiles if p not in libraries and p.feature_kind and p.best]
    names = {"ensembl": "Ensembl ids", "symbol": "symbols", "entrez": "Entrez ids"}
    warnings = []
    for library in libraries:
        for other in others:
            if other.feature_kind != library.feature_kind:
                warnings.append(
                    f"{other.name} names genes by {names[str(other.feature_kind)]}, {library.name} by "
                    f"{names[str(library.feature_kind)]}; genes are matched through a gene table, and those without "
                    "a symbol are left out of gene sets."
                )
            elif other.organism and library.organism and other.organism != library.organism:
                warnings.append(
                    f"{other.name} has {other.organism} genes, {library.name} {library.organism} genes; use the gene "
                    "sets of one organism or map orthologues."
                )
    return warnings
