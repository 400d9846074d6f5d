"""Does once, at installation, what would otherwise make a first use or every step slow.

The embedding model is brought into the form that loads in a fraction of a second (`embedding_export`). And
what single-cell libraries would compile again in every step is compiled: umap, pynndescent and scanpy compile
functions with numba at first use, up to half a minute a step. Steps may read a shared cache of compiled functions
but never write it (it is code that later steps run), so it is filled here, by Biodesk's own code: at installation
(`make run` does it), or by `python -m engine.adapters.warm_up`.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

from platformdirs import user_cache_path

from engine.adapters.embedding_export import Export, export_in_subprocess
from engine.errors import ModelUnavailable

_PACKAGES = ("numba", "umap-learn", "pynndescent", "scanpy", "numpy")
_EXERCISE = """
import warnings
warnings.filterwarnings("ignore")
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot
import scanpy as sc
cells = sc.datasets.pbmc68k_reduced().raw.to_adata()
for kind in ("float32", "float64"):  # values as they are stored, and as steps compute with them
    counts = cells.copy()
    counts.X = counts.X.astype(kind)
    counts.X.data = counts.X.data.round()
    sc.pp.normalize_total(counts, target_sum=10_000)
    sc.pp.log1p(counts)
    sc.pp.highly_variable_genes(counts, n_top_genes=100)
    sc.tl.rank_genes_groups(counts, "bulk_labels", method="wilcoxon", tie_correct=True)
sc.pp.highly_variable_genes(cells, n_top_genes=100)
sc.pp.pca(cells, n_comps=10)
sc.pp.neighbors(cells)
sc.tl.umap(cells)
sc.tl.leiden(cells, flavor="igraph", n_iterations=2, directed=False)
sc.tl.rank_genes_groups(cells, "leiden", method="wilcoxon", tie_correct=True)
"""


def compiled_cache() -> Path:
    """Return this account's folder of compiled functions and the font list, made if it is not there."""
    return user_cache_path("biodesk", appauthor=False, ensure_exists=True)


def fill(cache: Path) -> bool:
    """Fill the cache unless it was filled for these packages; return False when that was not possible."""
    facts = [_EXERCISE, sys.prefix, sys.version, *(f"{name} {importlib.metadata.version(name)}" for name in _PACKAGES)]
    marker = cache / f"filled-{hashlib.sha256('|'.join(facts).encode()).hexdigest()[:16]}"
    if marker.exists():
        return True
    folders = {"NUMBA_CACHE_DIR": cache / "numba", "MPLCONFIGDIR": cache / "matplotlib"}
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    environment = {**os.environ, **{name: str(folder) for name, folder in folders.items()}}
    done = subprocess.run([sys.executable, "-c", _EXERCISE], env=environment, capture_output=True, check=False)
    if done.returncode == 0:
        marker.touch()
    return done.returncode == 0


def prepare_embedding(cache: Path | None = None, export: Export = export_in_subprocess) -> str:
    """Make the embedding model's fast form unless it is there; return "" or, in one sentence, why that failed."""
    from engine.adapters.embedding import DefaultEmbedder

    embedder = DefaultEmbedder(cache, export)
    try:
        embedder.warm()
    except ModelUnavailable as error:
        return error.message
    return "" if embedder.is_fast else "The embedding model could not be prepared and will take ten seconds to load."


def main() -> int:
    """Do both and say what could not be done. Never an error: without it Biodesk only takes longer."""
    unprepared = prepare_embedding()
    if unprepared:
        print(unprepared, file=sys.stderr)
    try:
        filled = fill(compiled_cache())
    except OSError:
        filled = False
    if not filled:
        print(
            "The cache of compiled functions could not be filled; single-cell steps will take longer.", file=sys.stderr
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
