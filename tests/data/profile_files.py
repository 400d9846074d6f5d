"""Makes the files people really bring: counts from several programs, spreadsheets, and their accidents."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

SYMBOLS = [
    "ACTB", "GAPDH", "TP53", "MYC", "EGFR", "KRAS", "VIM", "PTEN", "CD4", "CD8A", "IL6", "CXCL8", "STAT1",
    "IRF7", "JAK2", "FOS", "JUN", "EGR1", "DUSP1", "KLF15", "PER1", "FKBP5", "TSC22D3", "CRISPLD2", "VCAM1",
    "ICAM1", "COL1A1", "SLC2A1", "ZNF274", "TMEM176B", "RPL13A", "RPS6", "MT-ND1", "HLA-A", "NDUFB8", "ATP5F1B",
    "COX4I1", "EIF4E", "PSMB5", "POLR2A",
]  # fmt: skip
SAMPLES = ["ctrl_1", "ctrl_2", "ctrl_3", "treat_1", "treat_2", "treat_3"]


def ensembl(count: int, species: str = "") -> list[str]:
    return [f"ENS{species}G{10_000 + 7 * i:011d}" for i in range(count)]


def counts(
    genes: list[str] | None = None, samples: list[str] | None = None, *, seed: int = 1, name: str = "gene_id"
) -> pd.DataFrame:
    """Return over-dispersed counts, genes x samples, with the genes as a column."""
    genes, samples = genes or ensembl(200), samples or SAMPLES
    rng = np.random.default_rng(seed)
    mean = rng.lognormal(4, 1.5, size=(len(genes), 1)) * rng.uniform(0.7, 1.4, size=(1, len(samples)))
    frame = pd.DataFrame(rng.negative_binomial(5, 5 / (5 + mean)), columns=samples)
    frame.insert(0, name, genes)
    return frame


def numbers(frame: pd.DataFrame, change: Callable[[pd.DataFrame], pd.DataFrame]) -> pd.DataFrame:
    """Apply `change` to the sample columns."""
    frame = frame.copy()
    frame[frame.columns[1:]] = change(frame[frame.columns[1:]].astype(float))
    return frame


def sheet(samples: list[str] | None = None, column: str = "sample") -> pd.DataFrame:
    samples = samples or SAMPLES
    half = len(samples) // 2
    return pd.DataFrame(
        {
            column: samples,
            "condition": ["control"] * half + ["treated"] * (len(samples) - half),
            "donor": [f"D{i % half + 1}" for i in range(len(samples))],
            "age": [30 + i for i in range(len(samples))],
        }
    )


def write(path: Path, content: str | bytes, encoding: str = "utf-8") -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


def csv_text(frame: pd.DataFrame, **options: object) -> str:
    return frame.to_csv(index=False, **options)  # type: ignore[call-overload]


def results(genes: list[str], columns: tuple[str, str, str] = ("log2FoldChange", "pvalue", "padj")) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {"gene": genes, columns[0]: rng.normal(size=len(genes)), columns[1]: rng.uniform(size=len(genes))}
    )
    frame[columns[2]] = frame[columns[1]].clip(upper=0.5) * 2
    return frame


def featurecounts(path: Path) -> Path:
    frame = counts(samples=["ctrl_1.bam", "ctrl_2.bam", "treat_1.bam"], name="Geneid")
    extra = {"Chr": "1;1", "Start": "100;900", "End": "300;990", "Strand": "+;+", "Length": 291}
    for position, (column, value) in enumerate(extra.items()):
        frame.insert(position + 1, column, value)
    return write(path, "# Program:featureCounts v2.0.3; Command:...\n" + csv_text(frame, sep="\t"))


def r_table(path: Path) -> Path:
    """What R's write.table leaves: a header one name short, quotes, spaces."""
    frame = counts().set_index("gene_id")
    lines = [" ".join(f'"{c}"' for c in frame.columns)]
    lines += [" ".join([f'"{gene}"', *map(str, row)]) for gene, row in zip(frame.index, frame.to_numpy(), strict=True)]
    return write(path, "\n".join(lines) + "\n")


def samples_in_rows(path: Path) -> Path:
    frame = counts(SYMBOLS, name="gene").set_index("gene").T
    frame.insert(0, "condition", ["control"] * 3 + ["treated"] * 3)
    frame.index.name = "sample"
    return write(path, frame.to_csv())


def survival(path: Path, **columns: object) -> Path:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {"patient_id": [f"P{i:03d}" for i in range(60)], "arm": ["A", "B"] * 30, "age": rng.integers(40, 80, 60)}
    )
    frame["os_days"] = rng.integers(10, 2000, 60)
    frame["os_status"] = rng.integers(0, 2, 60)
    return write(path, csv_text(frame.assign(**columns)))


def excel(path: Path, sheets: dict[str, pd.DataFrame], *, title: str = "", corner: str = "") -> Path:
    with pd.ExcelWriter(path, engine="openpyxl") as writer:
        for name, frame in sheets.items():
            frame.to_excel(writer, sheet_name=name, index=False, startrow=2 if title else 0)
            if title:
                writer.sheets[name].cell(1, 1, title)
    return path


def gzipped(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()))
    return path
