"""Tables of taxa: counts or shares of organisms in samples, with their lineages where the file has them."""

from __future__ import annotations

from engine.data.columns.column import is_numeric
from engine.data.columns.taxa import taxa_across
from engine.data.found import TableFound
from engine.data.kind import Kind
from engine.data.kinds.table import read_table
from engine.data.schema import Schema
from engine.data.source import Frame
from engine.domain.datatypes import DataType
from engine.domain.profile import TypeGuess


def read_taxa(path, transpose=False, lineage=("lineage",), cut=("", ""), **options):
    """Read a table of taxa as taxa x samples; `transpose` when the file has one sample a row.

    The columns `lineage` say where each taxon belongs: one with the whole lineage, or one for each rank. They go to
    `attrs["lineages"]`, taxon -> `p__Bacteroidota;g__Bacteroides`. `cut` is taken off the samples' names.
    """
    import pandas as pd

    frame = read_table(path, **options)
    ranks = [column for column in lineage if column in frame]
    texts = frame[ranks].astype(object)
    texts = texts.where(texts.notna(), "")
    frame = frame.drop(columns=ranks)
    if transpose:
        frame = frame.T
    frame = frame.apply(pd.to_numeric, errors="raise")
    frame.columns = [str(name).removeprefix(cut[0]).removesuffix(cut[1]).strip() for name in frame.columns]
    frame.index = frame.index.astype(str).str.strip()
    frame.index.name = "taxon" if transpose else frame.index.name or "taxon"
    if len(ranks) == 1 and not transpose:
        frame.attrs["lineages"] = dict(zip(frame.index, texts[ranks[0]].astype(str), strict=True))
    elif ranks and not transpose:
        rows = (
            ";".join(
                f"{rank.strip().lower()[0]}__{str(cell).strip().removeprefix(rank.strip().lower()[0] + '__')}"
                for rank, cell in zip(ranks, row, strict=True)
                if str(cell).strip()
            )
            for row in texts.to_numpy()
        )
        frame.attrs["lineages"] = dict(zip(frame.index, rows, strict=True))
    return frame


def write_taxa(value, stem):
    """Write a table of taxa as CSV, with a column of their lineages where they are known; return the file's name."""
    lineages = value.attrs.get("lineages", {})
    if lineages:
        value = value.copy()
        value.insert(0, "lineage", [lineages.get(str(taxon), "") for taxon in value.index])
    value.to_csv(f"{stem}.csv", index=True)
    return f"{stem}.csv"


def _in_table(table: TableFound, frame: Frame) -> list[TypeGuess]:
    """Offer a table of samples whose columns are mostly called like taxa, with what else is known of each sample."""
    numeric = [str(column) for column in frame.columns if is_numeric(frame[column])]
    taxa = taxa_across(numeric)
    if not taxa or not _counts_or_shares(frame[taxa]):
        return []
    texts = [str(c) for c in frame.columns if str(c) not in numeric and frame[c].nunique() == len(frame)]
    rest = [str(column) for column in frame.columns if str(column) not in {*taxa, *texts[:1]}]
    read = table.read | {"transpose": True, "drop": [*table.read.get("drop", []), *rest]}
    if texts:
        read["index_col"] = texts[0]
        table.sample_ids = frame[texts[0]].astype(str).str.strip().tolist()[:5000]
    found = [TypeGuess(type=DataType.ABUNDANCE_TABLE, confidence=0.5, read=read)]
    if rest:  # what stands beside the taxa describes the samples
        own = {key: value for key, value in read.items() if key != "transpose"}
        own["drop"] = [*table.read.get("drop", []), *taxa]
        found.append(TypeGuess(type=DataType.SAMPLE_SHEET, confidence=0.35, read=own))
    return found


def _counts_or_shares(values: Frame) -> bool:
    """Say whether columns may be taxa by their values: whole numbers, or parts of the same whole in all rows."""
    if bool((values < 0).any(axis=None)):
        return False
    totals = values.sum(axis=1)
    whole = bool((values.fillna(0) % 1 == 0).all(axis=None))
    return whole or float(totals.max()) <= 1.02 * float(totals.min())


ABUNDANCE_TABLE = Kind(
    type=DataType.ABUNDANCE_TABLE, words="a table of taxa (counts or shares of organisms in samples)", edam="data_3707",
    aliases=("biom", "abundance", "otu table"), schema=Schema(fields=(), index="taxon"),
    read=read_taxa, write=write_taxa, stored={"index_col": 0}, in_table=_in_table,
)  # fmt: skip
