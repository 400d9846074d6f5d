"""Recognises features x samples matrices and tells raw counts from everything that only looks like them.

Tests for counts applied to normalised values give small, wrong p-values without any error, so the
decision rests on the values themselves and whatever speaks against counts is said with its number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from engine.data.columns.column import is_numeric
from engine.data.columns.genes import GENE_HEADER, GeneIds, describe, identify, summary_rows, turned_to_dates
from engine.data.source import Frame, plural, some
from engine.domain.datatypes import DataType
from engine.domain.profile import TypeGuess

if TYPE_CHECKING:
    import numpy as np

_ANNOTATION = re.compile(
    r"(length|len|gene_?length|eff(ective)?_?length|chr|chrom|chromosome|start|end|strand|entrez\w*|gene_?id|width|"
    r"exons?|gc(_content)?|percentage_gene_gc_content|biotype|gene_(start|end|name|type|symbol)|description|position|"
    r"symbol|transcript\w*|hgnc\w*|baseMean|cytoband|locus)(\.\d+)?$",
    re.IGNORECASE,
)
_SAMPLE_WORDS = re.compile(
    r"(^(SRR|ERR|DRR|GSM|SAM[NE]|TCGA|GTEX|ENCFF)[-_A-Z]*\d|\.bam$|\.sam$|(^|[^a-z])(ctrl|control|ctl|treated|untreated|treat|wt|"
    r"ko|mut|mutant|sample|veh|vehicle|dmso|mock|tumou?r|normal|healthy|donor|patient|rep|case|kd|wildtype|day|hour)"
    r"([^a-z]|$))",
    re.IGNORECASE,
)


@dataclass(kw_only=True)
class Matrix:
    """A matrix found in a table."""

    guesses: list[TypeGuess]
    sample_ids: list[str]
    feature_ids: list[str]
    genes: GeneIds
    summary: str
    annotation: list[str]
    """Columns that are neither samples nor row names."""
    samples: int
    features: int
    warnings: list[str] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)


def find_matrix(
    name: str, frame: Frame, rows: int, read: dict[str, Any], first_column: list[str] | None
) -> Matrix | None:
    """Return the matrix in a table, or None when the table is something else."""
    numeric = [c for c in frame.columns if is_numeric(frame[c])]
    if len(numeric) < 2:
        return None
    id_column = _id_column(frame, numeric)
    row_ids = _ids(frame, id_column, first_column)
    values = [c for c in numeric if c != id_column and not _ANNOTATION.match(str(c).strip())]
    if len(values) < 2:
        return None
    across = identify([str(c) for c in values])
    down = identify(row_ids, header=id_column) if id_column is not None else GeneIds(None)
    if across.kind is not None and down.kind is None and len(values) >= (3 if across.kind == "ensembl" else 15):
        return _build(name, frame, rows, read, id_column, row_ids, values, across, transpose=True, trust=0.9)
    trust = _trust(frame, id_column, row_ids, values, down, rows)
    if id_column is None or trust == 0:
        return None
    return _build(name, frame, rows, read, id_column, row_ids, values, down, transpose=False, trust=trust)


def _id_column(frame: Frame, numeric: list[str]) -> str | None:
    """Return the column with the row names: the first text column that (nearly) differs in every row."""
    first = frame.columns[0]
    if first in numeric and GENE_HEADER.match(str(first).strip()) and frame[first].nunique() > 0.95 * len(frame):
        return first
    texts = [c for c in frame.columns[:6] if c not in numeric and frame[c].dtype.kind == "O"]
    # Ensembl ids beside symbols: the ids, which are unique, name the rows.
    for least in (1.0, 0.9, 0.5):
        for column in texts:
            if frame[column].nunique() >= least * len(frame):
                return column
    return None


def _ids(frame: Frame, id_column: str | None, first_column: list[str] | None) -> list[str]:
    if id_column is None:
        return []
    if id_column == frame.columns[0] and first_column is not None and len(first_column) == len(frame):
        return first_column
    return frame[id_column].astype(str).str.strip().tolist()


def sample_like(names: list[str], *, most: float = 0.6) -> bool:
    """Say whether column names look like samples: accessions, words of an experiment, or one pattern with numbers.

    Args:
        names: names of columns.
        most: the share of them that must be of one pattern.
    """
    if not names:
        return False
    worded = sum(_SAMPLE_WORDS.search(name) is not None for name in names)
    patterns: dict[str, int] = {}
    for name in names:
        pattern = re.sub(r"\d+", "#", name)
        if "#" in pattern:
            patterns[pattern] = patterns.get(pattern, 0) + 1
    replicated = sum(count for count in patterns.values() if count >= 2)
    return worded >= 0.5 * len(names) or replicated >= most * len(names)


def _trust(
    frame: Frame, id_column: str | None, row_ids: list[str], values: list[str], genes: GeneIds, rows: int
) -> float:
    """Return how sure it is that the rows are features and the value columns samples; 0 for `it is not`."""
    if id_column is None:
        return 0.0
    unique = len(set(row_ids)) / max(1, len(row_ids))
    samples = sample_like([str(c) for c in values])
    if genes.kind is not None or (genes.feature_like and genes.fraction > 0):
        if rows < 3 or unique < 0.5:
            return 0.0
        base = {"ensembl": 0.97, "symbol": 0.95, "entrez": 0.9}.get(genes.kind or "", 0.9)
        if samples or (len(values) >= 4 and _alike(frame, values)):
            return base if rows >= 20 else min(base, 0.8)
        return 0.6 if _alike(frame, values) else 0.0
    # Rows that are no known genes are a matrix only where (nearly) every column is a sample: a record has others.
    samples = sample_like([str(c) for c in values], most=0.9)
    if unique < 0.98 or not (samples or (rows >= 500 and len(values) >= 4)) or not _alike(frame, values):
        return 0.0
    if genes.feature_like and rows >= 10:
        return 0.85
    return 0.75 if rows >= 100 and len(values) >= 3 else 0.55 if rows >= 20 and len(values) >= 3 else 0.0


def _alike(frame: Frame, values: list[str]) -> bool:
    """Say whether the columns could be the same measurement: columns of a record differ in scale by much more."""
    import numpy as np

    array = frame[values].head(5000).to_numpy(dtype=float)
    spread = np.nanmean(np.abs(array), axis=0)
    spread = spread[spread > 0]
    return len(spread) == 0 or bool(np.quantile(spread, 0.9) <= 50 * np.quantile(spread, 0.1))


def _build(
    name: str, frame: Frame, rows: int, read: dict[str, Any], id_column: str | None, row_ids: list[str],
    values: list[str], genes: GeneIds, *, transpose: bool, trust: float,
) -> Matrix:  # fmt: skip
    import numpy as np

    array = frame[values].to_numpy(dtype=float)
    array = array.T if transpose else array
    kept = {*values, id_column}
    dropped = [str(c) for c in frame.columns if c not in kept]
    options = dict(read)
    if id_column is not None:
        options["index_col"] = str(id_column)
    if dropped or options.get("drop"):
        options["drop"] = list(dict.fromkeys([*options.get("drop", []), *dropped]))
    if transpose:
        options["transpose"] = True
    columns = [str(c) for c in values]
    features, samples = (columns, row_ids or [str(i) for i in range(len(frame))]) if transpose else (row_ids, columns)
    # Of samples that were read in part only, no sum says anything.
    part = f"in the first {len(frame):,} of about {rows:,} rows" if rows > len(frame) else ""
    nature = judge_values(array, whole_columns=transpose or not part)
    if np.isnan(array).any():
        trust = min(trust, 0.75)
    guesses, what, warnings = _types(name, nature, trust, options, part)
    whole = transpose or not part
    warnings = [*_missing(name, array, part), *warnings, *_sample_warnings(name, array, samples, nature, whole=whole)]
    warnings += id_warnings(name, features)
    if transpose and id_column is None:
        warnings.append(f"{name} has no column that names its rows; the samples are numbered from 0.")
    n_features, n_samples = (len(features), rows) if transpose else (rows, len(samples))
    noun = "genes" if genes.kind else "features"
    note = describe(genes)
    about = "about " if part else ""
    many = ("", about) if transpose else (about.capitalize(), "")
    summary = f"{many[0]}{n_features:,} {noun} x {many[1]}{plural(n_samples, 'sample')}"
    summary += f" of {what}{f' ({note})' if note else ''}"
    summary += ", one sample a row" if transpose else ""
    numeric = [column for column in dropped if column in frame.columns and is_numeric(frame[column])]
    summary += f"; {some(dropped)} left out as annotation" if numeric else ""
    details: dict[str, Any] = {"value_kind": nature.kind, "versioned_ids": genes.versioned}
    if nature.kind in ("counts", "estimated") and not transpose and not part:
        sums = np.nansum(array, axis=0)
        details["library_sizes"] = {s: float(v) for s, v in zip(samples[:5000], sums, strict=False)}
    return Matrix(
        guesses=guesses, sample_ids=[str(s) for s in samples[:5000]], feature_ids=features[:200], genes=genes,
        summary=summary, annotation=dropped, samples=n_samples, features=n_features, warnings=warnings, details=details,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Nature:
    """What kind of numbers a matrix holds."""

    kind: str
    """counts, binary, estimated, per_million, log, normalised, negative."""
    negative: int = 0
    non_integer: int = 0
    maximum: float = 0.0
    minimum: float = 0.0


def judge_values(array: np.ndarray, *, whole_columns: bool = True) -> Nature:
    """Say what kind of numbers these are; columns are samples, complete unless `whole_columns` is False."""
    import numpy as np

    present = array[np.isfinite(array)]
    if present.size == 0:
        return Nature(kind="normalised")
    negative = int((present < 0).sum())
    fractional = int((present % 1 != 0).sum())
    facts = {"negative": negative, "non_integer": fractional, "maximum": float(present.max()),
             "minimum": float(present.min())}  # fmt: skip
    if negative:
        return Nature(kind="negative", **facts)
    sums = np.nansum(array, axis=0)
    per_million = whole_columns and len(sums) > 1 and bool((np.abs(sums - 1e6) < 1e4).all())
    if per_million:
        return Nature(kind="per_million", **facts)
    if fractional == 0:
        return Nature(kind="binary" if facts["maximum"] <= 1 else "counts", **facts)
    above = present[present > 0]
    whole = float((above % 1 == 0).mean()) if above.size else 0.0
    if facts["maximum"] <= 50:
        return Nature(kind="log", **facts)
    # RSEM and Salmon share reads between transcripts: most small counts stay whole.
    if facts["maximum"] > 1000 and whole >= 0.15:
        return Nature(kind="estimated", **facts)
    return Nature(kind="normalised", **facts)


def _types(
    name: str, nature: Nature, trust: float, options: dict[str, Any], part: str
) -> tuple[list[TypeGuess], str, list[str]]:
    """Return what the matrix can serve as, its values in words, and warnings; `part` says which rows were looked at."""
    guesses, what, warnings = _judged(name, nature, trust, options)
    if part:
        warnings = [f"{warning.removesuffix('.')}; this was judged from the values {part}." for warning in warnings]
        what += f", judged from the values {part}"
    return guesses, what, warnings


def _judged(name: str, nature: Nature, trust: float, options: dict[str, Any]) -> tuple[list[TypeGuess], str, list[str]]:
    counts = TypeGuess(type=DataType.COUNT_MATRIX, confidence=round(trust, 2), read=options)
    values = TypeGuess(type=DataType.EXPRESSION_MATRIX, confidence=round(trust, 2), read=options)
    decimals = f"{nature.non_integer:,} of its values are not whole numbers"
    match nature.kind:
        case "counts":
            return [counts], "raw counts", []
        case "binary":
            message = f"{name} holds only 0 and 1; that is presence and absence, not counts."
            return [values.model_copy(update={"confidence": min(trust, 0.5)})], "zeros and ones", [message]
        case "estimated":
            message = (
                f"{name} looks like estimated counts (RSEM, Salmon): {decimals}; count-based tests need them "
                f"rounded, and the "
                "program's own import is better where there is one."
            )
            lower = counts.model_copy(update={"confidence": round(min(trust, 0.6), 2)})
            return [lower, values.model_copy(update={"confidence": 0.4})], "estimated counts", [message]
        case "negative":
            message = (
                f"{name} has {plural(nature.negative, 'negative value')}, so these are not counts; they "
                f"look log-transformed or centred."
            )
            return [values], "expression values (some negative)", [message]
        case "per_million":
            message = (
                f"The values of {name} are already normalised: every sample sums to one million (TPM or "
                f"CPM), so these are not counts."
            )
            return [values], "values per million", [message]
        case "log":
            message = (
                f"The values of {name} look log-transformed ({decimals}, largest {nature.maximum:.3g}), so "
                f"these are not counts."
            )
            return [values], "log-scale expression values", [message]
        case _:
            message = f"The values of {name} look already normalised ({decimals}), so these are not counts."
            return [values], "normalised expression values", [message]


def _missing(name: str, array: np.ndarray, part: str) -> list[str]:
    import numpy as np

    missing = int(np.isnan(array).sum())
    if not missing:
        return []
    rows = int(np.isnan(array).any(axis=1).sum())
    where = f"{plural(rows, 'row')} {part}".strip()
    return [f"{name} has {plural(missing, 'missing value')} in {where}; most methods need these filled or left out."]


def _sample_warnings(name: str, array: np.ndarray, samples: list[str], nature: Nature, *, whole: bool) -> list[str]:
    """Return what is wrong with samples; their sums and copies can be judged only where they are `whole`."""
    import numpy as np

    warnings = []
    sums = np.nansum(array, axis=0)
    repeated = sorted({s for s in samples if samples.count(s) > 1}) if len(samples) <= 2000 else []
    if repeated:
        warnings.append(
            f"{name}: {plural(len(repeated), 'sample name')} used more than once ({some(repeated)}); make them unique."
        )
    if not whole:
        return warnings
    empty = [str(s) for s, total in zip(samples, np.nansum(np.abs(array), axis=0), strict=False) if total == 0]
    if empty:
        warnings.append(
            f"{name}: {plural(len(empty), 'sample')} with a total of zero ({some(empty)}); leave out or check."
        )
    filled = sums[sums > 0]
    if nature.kind in ("counts", "estimated") and len(filled) > 1 and filled.max() > 10 * filled.min():
        warnings.append(
            f"{name}: library sizes differ {filled.max() / filled.min():,.0f}-fold (from {filled.min():,.0f} to "
            f"{filled.max():,.0f} reads); check the smallest samples before comparing."
        )
    if 1 < array.shape[1] <= 200:
        seen: dict[bytes, str] = {}
        for index, sample in enumerate(samples[: array.shape[1]]):
            key = np.ascontiguousarray(array[:, index]).tobytes()
            if key in seen and str(sample) not in empty:
                warnings.append(
                    f"{name}: samples {seen[key]!r} and {str(sample)!r} have identical values; one may be a copy."
                )
                break
            seen.setdefault(key, str(sample))
    return warnings


def id_warnings(name: str, ids: list[str]) -> list[str]:
    """Return what is wrong with the feature names, one sentence per problem."""
    warnings = []
    dates = turned_to_dates(ids)
    if dates:
        warnings.append(
            f"{name}: {plural(len(dates), 'gene name')} turned into dates or numbers by a spreadsheet "
            f"({some(dates)}); restore "
            "them from the original file (2-Sep was SEPTIN2, 1-Mar was MARCHF1 or MTARC1)."
        )
    unnamed = sum(text in ("", "nan") for text in ids)
    if unnamed:
        warnings.append(f"{name}: {plural(unnamed, 'row')} without a name.")
    appended = summary_rows(ids)
    if appended:
        warnings.append(
            f"{name}: {plural(len(appended), 'row')} at the end are totals, not genes ({some(appended)}); remove them."
        )
    extra = len(ids) - len(set(ids))
    if extra:
        seen: set[str] = set()
        twice = list(dict.fromkeys(text for text in ids if text in seen or seen.add(text)))
        warnings.append(
            f"{name}: {plural(len(twice), 'row name')} used more than once ({some(twice)}), "
            f"{plural(extra, 'extra row')} in all."
        )
    return warnings
