"""Lists, rankings and sets of genes."""

from __future__ import annotations

import re

from engine.data.columns.column import is_numeric
from engine.data.columns.genes import describe, id_warnings, identify
from engine.data.found import Found, TableFound, guess
from engine.data.kind import Kind, Look
from engine.data.kinds.table import read_table
from engine.data.schema import GENE_ID, GENE_SYMBOL, Field, Schema
from engine.data.source import Frame, plural
from engine.domain.datatypes import DataType
from engine.domain.profile import TypeGuess


def read_gene_sets(path, one="", **options):
    """Read a GMT file into a dict: gene set name -> list of genes; `one` names the only set of a list."""
    import gzip

    if one:
        return {one: read_gene_list(path, **options)}
    sets = {}
    with open(path, "rb") as handle:
        opener = gzip.open if handle.read(2) == b"\x1f\x8b" else open
    with opener(path, "rt", encoding="utf-8-sig", errors="replace") as handle:
        for line in handle:
            fields = line.rstrip("\n\r").split("\t")
            if len(fields) > 2 and fields[0]:
                sets[fields[0]] = list(dict.fromkeys(gene.strip() for gene in fields[2:] if gene.strip()))
    return sets


def read_gene_list(path, header=None, sheet=None, skip=0, encoding=None):
    """Read one gene a line, or the first column of a table; `header` None looks for names such as `gene`, `symbol`."""
    import gzip

    with open(path, "rb") as handle:
        magic = handle.read(2)
    if magic == b"PK":
        import pandas as pd

        cells = pd.read_excel(path, sheet_name=sheet or 0, header=None, skiprows=skip).iloc[:, 0].dropna()
        rows = [str(cell).strip() for cell in cells]
    else:
        opener = gzip.open if magic == b"\x1f\x8b" else open
        encoding = encoding or ("utf-16" if magic in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
        with opener(path, "rt", encoding=encoding, errors="replace") as handle:
            lines = [line.strip() for line in handle if line.strip() and not line.startswith("#")]
        rows = [line.replace("\t", ",").split(",")[0].strip('"').strip() for line in lines]
    usual = {"gene", "genes", "feature", "symbol", "gene_symbol", "gene_id", "id"}
    if rows and (rows[0].lower() in usual if header is None else header):
        rows = rows[1:]
    return list(dict.fromkeys(row for row in rows if row))


def write_gene_sets(value, stem):
    """Write gene sets as GMT; return the file's name."""
    name = f"{stem}.gmt"
    with open(name, "w", encoding="utf-8") as handle:
        for term, genes in value.items():
            handle.write("\t".join([term, "", *genes]) + "\n")
    return name


def write_gene_list(value, stem):
    """Write one gene a line below a header; return the file's name."""
    name = f"{stem}.csv"
    with open(name, "w", encoding="utf-8") as handle:
        handle.write("gene\n" + "".join(f"{gene}\n" for gene in value))
    return name


def _gene_list(table: TableFound, frame: Frame) -> list[TypeGuess]:
    if frame.shape[1] != 1 or is_numeric(frame.iloc[:, 0]) or table.source.format == "json":
        return []
    values = frame.iloc[:, 0].dropna().astype(str).tolist()
    genes = identify(values, header=str(frame.columns[0]))
    read = {"header": not table.source.headerless} | {
        k: table.read[k] for k in ("sheet", "encoding") if k in table.read
    }
    if "sheet" in read and table.read.get("skip"):
        read["skip"] = table.read["skip"]
    table.genes, table.feature_ids = genes, values[:200]
    table.warnings += id_warnings(table.name, values)
    return [TypeGuess(type=DataType.GENE_LIST, confidence=0.95 if genes.feature_like else 0.5, read=read)]


def _ranked(table: TableFound, frame: Frame) -> list[TypeGuess]:
    if frame.shape[1] != 2 or frame.iloc[:, 0].dtype != object or not is_numeric(frame.iloc[:, 1]):
        return []
    genes = identify(frame.iloc[:, 0].astype(str).tolist(), header=str(frame.columns[0]))
    is_rank_file = table.name.lower().endswith((".rnk", ".rnk.gz"))
    if not genes.feature_like and not is_rank_file:
        return []
    table.genes, table.feature_ids = genes, frame.iloc[:, 0].astype(str).head(200).tolist()
    scores = frame.iloc[:, 1].dropna()
    counts = bool(len(scores)) and bool((scores % 1 == 0).all()) and bool((scores >= 0).all())
    table.warnings += id_warnings(table.name, frame.iloc[:, 0].astype(str).str.strip().tolist())
    if counts and not is_rank_file:
        table.warnings.append(
            f"{table.name} has counts of one sample only; a comparison needs a file with all samples."
        )
    return [
        TypeGuess(type=DataType.RANKED_GENES, confidence=0.4 if counts and not is_rank_file else 0.92, read=table.read)
    ]


def _gmt(look: Look) -> Found | None:
    rows = [line.split("\t") for line in look.lines if line.strip()]
    if not rows or look.is_json or look.suffix not in (".gmt", ".gmx", ".txt", ".tsv", ""):
        return None
    sizes = [len([g for g in row[2:] if g.strip()]) for row in rows]
    if look.suffix != ".gmt":
        ragged = len({len(row) for row in rows}) > 1
        if len(rows) < 2 or min(sizes) < 1 or not ragged:
            return None
        if any(re.match(r"-?\d+(\.\d+)?$", row[2]) for row in rows[:50]):
            return None
    good = [row for row, size in zip(rows, sizes, strict=True) if size]
    if not good:
        message = (
            f"{look.name} ends in .gmt but no line has a set name, a description and genes separated by tabs; "
            f"export it again."
        )
        return Found("gmt", [], "Not a gene set library", [message])
    genes = list(dict.fromkeys(g.strip() for row in good for g in row[2:] if g.strip()))
    kind = identify(genes)
    warnings = []
    if len(good) < len(rows):
        warnings.append(f"{look.name}: {plural(len(rows) - len(good), 'line')} without genes, which are left out.")
    repeated = len(good) - len({row[0] for row in good})
    if repeated:
        warnings.append(
            f"{look.name}: {plural(repeated, 'gene set name')} occurs more than once; only the last of each is kept."
        )
    note = describe(kind)
    summary = f"{plural(len(good), 'gene set')} with {len(genes):,} different genes" + (f" ({note})" if note else "")
    kept = sorted(size for size in sizes if size)
    details = {"sizes": {"smallest": kept[0], "median": kept[len(kept) // 2], "largest": kept[-1]}}
    return Found(
        "gmt", guess(DataType.GENE_SET_LIBRARY, 0.98), summary, warnings, len(good), genes[:200], kind, details
    )


GENE_LIST = Kind(
    type=DataType.GENE_LIST, words="a list of genes", aliases=("gene list", "genes"), edam="data_2872",
    read=read_gene_list, write=write_gene_list, in_table=_gene_list,
    summary=lambda table: f"A list of {table.count('gene')}{table.note}",
    schema=Schema(fields=(
        Field(name="gene", meaning="name or id of a gene", kind="text", needed=True,
              pattern=f"{GENE_ID}|{GENE_SYMBOL}|id"),
    )),
)  # fmt: skip
RANKED_GENES = Kind(
    type=DataType.RANKED_GENES, words="a ranked list of genes", records=True, read=read_table,
    in_table=_ranked, summary=lambda table: f"{table.count('gene').capitalize()} with a score{table.note}",
    schema=Schema(fields=(
        Field(name="gene", meaning="name or id of a gene", kind="text", needed=True,
              pattern=f"{GENE_ID}|{GENE_SYMBOL}"),
        Field(name="score", meaning="what the genes are ranked by, highest first", kind="number", needed=True,
              pattern=r"scores?|rank(ing)?|stat(istic)?|metric|weight|t|z|zscore|value|log2?fc|log2?foldchange|nes"),
    )),
)  # fmt: skip
GENE_SET_LIBRARY = Kind(
    type=DataType.GENE_SET_LIBRARY, words="a gene set file (GMT)", aliases=("gmt", "gene sets"), edam="data_2872",
    general=1, read=read_gene_sets, write=write_gene_sets, in_text=_gmt,
)  # fmt: skip
