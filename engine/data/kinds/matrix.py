"""Matrices of features x samples: raw counts, and values of which a test for counts must not know."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from engine.data.columns.column import is_numeric
from engine.data.columns.genes import GeneIds, date_warnings, describe, id_warnings, identify, is_gene_header
from engine.data.columns.nature import Nature, judge_values, missing_warnings, sample_warnings
from engine.data.columns.quantities import Block, block_of, gene_column, marked_rows, of_a_search
from engine.data.columns.taxa import are_taxa, is_lineage_header, is_taxa_header, short_name
from engine.data.found import TableFound
from engine.data.kind import Kind
from engine.data.kinds.results import result_columns
from engine.data.kinds.table import read_table
from engine.data.schema import Schema
from engine.data.source import Frame, plural, some
from engine.data.structure.scales import HINTS, telling, unit_of
from engine.domain.datatypes import DataType
from engine.domain.profile import TypeGuess

_ANNOTATION = re.compile(
    r"(length|len|gene_?length|eff(ective)?_?length|chr|chrom|chromosome|start|end|strand|entrez\w*|gene_?id|width|"
    r"exons?|gc(_content)?|percentage_gene_gc_content|biotype|gene_(start|end|name|type|symbol)|description|position|"
    r"symbol|transcript\w*|hgnc\w*|baseMean|cytoband|locus|m/?z([_ ].*)?|rt([_ ](min|sec|s|mean))?|"
    r"(average[_ ])?(retention[_ ]?time|rt|mz)([_ (].*)?|ccs|adduct\w*|charge|"
    r"(monoisotopic|neutral|molecular)[_ ]?(mass|weight))(\.\d+)?$",
    re.IGNORECASE,
)
_SAMPLE_WORDS = re.compile(
    r"(^(SRR|ERR|DRR|GSM|SAM[NE]|TCGA|GTEX|ENCFF)[-_A-Z]*\d|\.bam$|\.sam$|(^|[^a-z])(ctrl|control|ctl|treated|untreated|treat|wt|"
    r"ko|mut|mutant|sample|veh|vehicle|dmso|mock|tumou?r|normal|healthy|donor|patient|rep|case|kd|wildtype|day|hour)"
    r"([^a-z]|$))",
    re.IGNORECASE,
)


def read_matrix(path, transpose=False, log2=False, cut=("", ""), marked=(), symbols="symbol", **options):
    """Read a matrix as features x samples; `transpose` when the file has one sample a row.

    Rows with a plus in a column of `marked` (decoys, contaminants) are left out; the text of the column `symbols` goes
    to `attrs["symbols"]`, feature -> name; `cut` is taken off the beginning and the end of the samples' names; with
    `log2` the values are intensities, of which 0 is a missing one, and their logarithms are given.
    """
    import numpy as np
    import pandas as pd

    frame = read_table(path, **options)
    for column in marked:
        frame = frame[frame[column].astype(str).str.strip() != "+"].drop(columns=column)
    names = {}
    if symbols in frame and frame[symbols].dtype == object:
        given = frame.pop(symbols).dropna().astype(str).str.split(";").str[0].str.strip()
        names = dict(zip(given.index.astype(str), given, strict=True))
    if transpose:
        frame = frame.T
    frame = frame.apply(pd.to_numeric, errors="raise")
    if log2:
        frame = np.log2(frame.astype(float).where(frame > 0))
    frame.columns = [str(name).removeprefix(cut[0]).removesuffix(cut[1]) for name in frame.columns]
    frame.index.name = "feature"
    if names:
        frame.attrs["symbols"] = names
    return frame


def write_matrix(value, stem):
    """Write a matrix as CSV, with a column of its features' symbols where they are known; return the file's name."""
    names = value.attrs.get("symbols", {})
    if names:
        value = value.copy()
        value.insert(0, "symbol", [names.get(str(feature)) for feature in value.index])
    value.to_csv(f"{stem}.csv", index=True)
    return f"{stem}.csv"


def find_matrix(table: TableFound, frame: Frame) -> list[str] | None:
    """Fill in what the matrix in a table is; return the columns that are neither samples nor row names.

    None when the table is something else, and nothing is filled in.
    """
    numeric = [c for c in frame.columns if is_numeric(frame[c])]
    if len(numeric) < 2 or result_columns(frame):
        return None
    id_column = _id_column(frame, numeric)
    row_ids = _ids(frame, id_column, table.first_column(frame))
    values = [c for c in numeric if c != id_column and not _ANNOTATION.match(str(c).strip())]
    block = block_of([str(c) for c in values], [str(c) for c in frame.columns])
    values = block.columns if block else values
    if len(values) < 2:
        return None
    across = identify([str(c) for c in values])
    down = identify(row_ids, header=id_column) if id_column is not None else GeneIds(None)
    if across.kind is not None and down.kind is None and len(values) >= (3 if across.kind == "ensembl" else 15):
        table.genes = across
        return _fill_in(table, frame, id_column, row_ids, values, block, transpose=True, trust=0.9)
    if id_column is not None and _of_taxa(frame, id_column, row_ids, values):
        table.genes = GeneIds(None)
        return _fill_in(table, frame, id_column, row_ids, values, block, transpose=False, trust=0.9, taxa=True)
    trust = _trust(frame, id_column, row_ids, values, down, table.source.rows)
    if id_column is None or trust == 0:
        return None
    table.genes = down
    return _fill_in(table, frame, id_column, row_ids, values, block, transpose=False, trust=trust)


def _id_column(frame: Frame, numeric: list[str]) -> str | None:
    """Return the column with the row names: the first text column that (nearly) differs in every row."""
    first = frame.columns[0]
    names_rows = is_gene_header(str(first)) or is_taxa_header(str(first))
    if first in numeric and names_rows and frame[first].nunique() > 0.95 * len(frame):
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
    # Rows that are no known genes are a matrix only where (nearly) every column is a sample: a record has others, and
    # says what each of its columns is measured in (`milk day0 (l)`, `milk day7 (l)`).
    if all(unit_of(str(c)) for c in values):
        return 0.0
    if 2 * sum(bool(telling(str(c)) & HINTS["month"]) for c in values) > len(values):
        return 0.0  # a column a month
    samples = sample_like([str(c) for c in values], most=0.9)
    many = rows >= 500 and len(values) >= 4 and not _of_subjects(frame, id_column, values)
    if unique < 0.98 or not (samples or many) or not _alike(frame, values):
        return 0.0
    if genes.feature_like and rows >= 10:
        return 0.85
    return 0.75 if rows >= 100 and len(values) >= 3 else 0.55 if rows >= 20 and len(values) >= 3 else 0.0


def _of_taxa(frame: Frame, id_column: str, row_ids: list[str], values: list[str]) -> bool:
    """Say whether rows are taxa and the value columns samples, of which every one holds counts or shares."""
    if len(values) < 3 or len(row_ids) < 3 or len({*row_ids}) < 0.5 * len(row_ids):
        return False
    samples = sample_like(values) or _alike(frame, values)
    return samples and are_taxa(row_ids, id_column) and not bool((frame[values] < 0).any(axis=None))


def _of_subjects(frame: Frame, id_column: str, values: list[str]) -> bool:
    """Say whether rows are subjects rather than features: their name says so, or several columns put them in groups."""
    rest = [c for c in frame.columns if c != id_column and c not in values and frame[c].dtype.kind == "O"]
    grouped = [c for c in rest if 2 <= frame[c].nunique() <= FEW_GROUPS]
    return len(grouped) > 1 or len(rest) > _MOST_WORDS or bool(telling(str(id_column)) & HINTS["subject"])


_MOST_WORDS = 2
"""Features that are no known genes have a name and a description; what has more columns of words lists things."""
FEW_GROUPS = 12
"""A column of groups has so many levels at most."""


def _alike(frame: Frame, values: list[str]) -> bool:
    """Say whether the columns could be the same measurement: columns of a record differ in scale by much more."""
    import numpy as np

    array = frame[values].head(5000).to_numpy(dtype=float)
    spread = np.nanmean(np.abs(array), axis=0)
    spread = spread[spread > 0]
    return len(spread) == 0 or bool(np.quantile(spread, 0.9) <= 50 * np.quantile(spread, 0.1))


def _fill_in(
    table: TableFound, frame: Frame, id_column: str | None, row_ids: list[str], values: list[str], block: Block | None,
    *, transpose: bool, trust: float, taxa: bool = False,
) -> list[str]:  # fmt: skip
    import numpy as np

    name, rows, genes = table.name, table.source.rows, table.genes
    kept = {*values, id_column}
    dropped = [str(c) for c in frame.columns if c not in kept]
    options = _read_options(table, frame, id_column, dropped, block, transpose=transpose)
    lineage = [column for column in dropped if taxa and is_lineage_header(column)]
    if "marked" in options:
        counts, out = marked_rows(frame)
        frame, rows = frame[~out], rows - int(out.sum())
        row_ids = [text for text, left in zip(row_ids, out, strict=True) if not left]
        said = ", ".join(f"{count} as {column!r}" for column, count in counts.items())
        table.warnings.append(f"{name}: {plural(int(out.sum()), 'row')} marked as no finding left out ({said}).")
    array = frame[values].to_numpy(dtype=float)
    array = array.T if transpose else array
    columns = [str(c) for c in values]
    columns = [c.removeprefix(block.head).removesuffix(block.tail) for c in columns] if block else columns
    features, samples = (columns, row_ids or [str(i) for i in range(len(frame))]) if transpose else (row_ids, columns)
    # Of samples that were read in part only, no sum says anything.
    part = f"in the first {len(frame):,} of about {rows:,} rows" if rows > len(frame) else ""
    measured = block is not None or of_a_search([*dropped, str(id_column)])
    nature = judge_values(array, whole_columns=transpose or not part, measured=measured)
    if nature.kind == "unclear" and genes.kind == "ensembl":
        nature = replace(
            nature, kind="counts"
        )  # whole numbers of Ensembl's genes are reads; arrays and proteins differ
    if np.isnan(array).any():
        trust = min(trust, 0.75)
    table.types, what, warnings = _types(name, nature, trust, options, part)
    if taxa:
        kept = [column for column in options.get("drop", []) if column not in lineage]
        own = {k: v for k, v in options.items() if k not in ("drop", "symbols", "marked")} | (
            {"drop": kept} if kept else {}
        )
        as_taxa = TypeGuess(
            type=DataType.ABUNDANCE_TABLE, confidence=trust, read=own | ({"lineage": lineage} if lineage else {})
        )
        table.types = [as_taxa, *(guess.model_copy(update={"confidence": 0.4}) for guess in table.types)]
        whole = nature.kind in ("counts", "unclear", "estimated", "binary")
        what, warnings = "counts" if whole else "relative abundances", []
    elif nature.kind == "counts" and not (genes.kind or genes.feature_like or transpose):  # nothing says of what
        table.types.append(TypeGuess(type=DataType.ABUNDANCE_TABLE, confidence=0.3, read=options))
    warnings += sample_warnings(name, array, samples, nature, whole=transpose or not part)
    table.details["of_matrix"] = warnings  # who reads it as a table is told of no libraries
    table.warnings += [*missing_warnings(name, array, part), *warnings]
    table.warnings += id_warnings(name, features)
    if "symbols" in options:
        table.warnings += date_warnings(name, frame[options["symbols"]].dropna().astype(str).tolist())
    if transpose and id_column is None:
        table.warnings.append(f"{name} has no column that names its rows; the samples are numbered from 0.")
    n_features, n_samples = (len(features), rows) if transpose else (rows, len(samples))
    noun = "taxa" if taxa else "genes" if genes.kind else "features"
    note = describe(genes)
    about = "about " if part else ""
    many = ("", about) if transpose else (about.capitalize(), "")
    summary = f"{many[0]}{n_features:,} {noun} x {many[1]}{plural(n_samples, 'sample')}"
    summary += f" of {what}{f' ({note})' if note else ''}"
    summary += ", one sample a row" if transpose else ""
    numeric = [column for column in dropped if column in frame.columns and is_numeric(frame[column])]
    table.summary = summary + (f"; {some(dropped)} left out as annotation" if numeric else "")
    table.details |= {"value_kind": nature.kind, "versioned_ids": genes.versioned}
    if nature.kind in ("counts", "estimated", "unclear") and not transpose and not part:
        sums = np.nansum(array, axis=0)
        table.details["library_sizes"] = {s: float(v) for s, v in zip(samples[:5000], sums, strict=False)}
    table.sample_ids = [str(s) for s in samples[:5000]]
    table.feature_ids = [short_name(name) for name in features[:200]] if taxa else features[:200]
    return [column for column in dropped if column not in lineage]  # a lineage describes no sample


def _read_options(
    table: TableFound, frame: Frame, id_column: str | None, dropped: list[str], block: Block | None, *, transpose: bool
) -> dict[str, Any]:
    """Return how the matrix is read: what names its rows, which columns and rows are none of it."""
    options = dict(table.read)
    if id_column is not None:
        options["index_col"] = str(id_column)
    marked, out = ({}, None) if transpose or id_column is None else marked_rows(frame)
    if out is not None and marked and not out.all():
        options["marked"] = list(marked)
    # Of rows that are known genes by themselves, a table of names says more.
    symbols = None if transpose or table.genes.kind else gene_column(frame, id_column)
    if symbols in dropped:
        options["symbols"] = symbols
    if block:
        options["cut"] = [block.head, block.tail]
    drop = [column for column in dropped if column not in options.get("marked", ()) and column != symbols]
    if drop or options.get("drop"):
        options["drop"] = list(dict.fromkeys([*options.get("drop", []), *drop]))
    if transpose:
        options["transpose"] = True
    return options


_NATURES = {
    "counts": ("raw counts", ""),
    "binary": ("zeros and ones", "{name} holds only 0 and 1; that is presence and absence, not counts."),
    "estimated": ("estimated counts", "{name} looks like estimated counts (RSEM, Salmon): {decimals}; count-based "
                  "tests need them rounded, and the program's own import is better where there is one."),
    "intensities": ("intensities (read as log2, 0 as missing)", ""),
    "unclear": ("whole numbers", "{name} holds whole numbers of which hardly one is small: they may be read counts of "
                "abundant genes only, or intensities (proteins, metabolites, arrays), which no test for counts fits. "
                "They are taken as counts unless the question speaks of intensities."),
    "negative": ("expression values (some negative)", "{name} has {negatives}, so these are not counts; they look "
                 "log-transformed or centred."),
    "per_million": ("values per million", "The values of {name} are already normalised: every sample sums to one "
                    "million (TPM or CPM), so these are not counts."),
    "log": ("log-scale expression values", "The values of {name} look log-transformed ({decimals}, largest "
            "{largest:.3g}), so these are not counts."),
    "normalised": ("normalised expression values", "The values of {name} look already normalised ({decimals}), so "
                   "these are not counts."),
}  # fmt: skip
"""What a matrix holds, in words, and what speaks against its being counts."""


def _types(
    name: str, nature: Nature, trust: float, options: dict[str, Any], part: str
) -> tuple[list[TypeGuess], str, list[str]]:
    """Return what the matrix can serve as, its values in words, and warnings; `part` says which rows were looked at."""
    what, against = _NATURES[nature.kind]
    against = against.format(
        name=name, negatives=plural(nature.negative, "negative value"), largest=nature.maximum,
        decimals=f"{nature.non_integer:,} of its values are not whole numbers",
    )  # fmt: skip
    if part:
        against = against and f"{against.removesuffix('.')}; this was judged from the values {part}."
        what += f", judged from the values {part}"
    sureness = {
        "counts": {DataType.COUNT_MATRIX: trust},
        "estimated": {DataType.COUNT_MATRIX: min(trust, 0.6), DataType.EXPRESSION_MATRIX: 0.4},
        "unclear": {DataType.COUNT_MATRIX: min(trust, 0.6), DataType.EXPRESSION_MATRIX: 0.4},
        "binary": {DataType.EXPRESSION_MATRIX: min(trust, 0.5)},
    }.get(nature.kind, {DataType.EXPRESSION_MATRIX: trust})
    logged = {"log2": True} if nature.kind in ("intensities", "unclear") else {}
    guesses = [
        TypeGuess(
            type=kind, confidence=round(sure, 2),
            read=options | logged if kind is DataType.EXPRESSION_MATRIX else options,
        )
        for kind, sure in sureness.items()
    ]  # fmt: skip
    return guesses, what, [against] if against else []


_ROWS = {"schema": Schema(fields=(), index="feature"), "read": read_matrix, "write": write_matrix,
         "stored": {"index_col": 0}}  # fmt: skip
COUNT_MATRIX = Kind(
    type=DataType.COUNT_MATRIX, words="a matrix of raw counts (genes x samples, whole numbers)", edam="data_3917",
    aliases=("count matrix", "counts"), **_ROWS,
)  # fmt: skip
EXPRESSION_MATRIX = Kind(
    type=DataType.EXPRESSION_MATRIX, words="an expression matrix (genes x samples)", edam="data_2603",
    aliases=("expression",), **_ROWS,
)  # fmt: skip
