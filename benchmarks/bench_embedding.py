"""What finding tools needs before it can search: the embedding model, its cache and the catalogues' store.

    python benchmarks/bench_embedding.py [--rounds 5]

Texts are the descriptions of the built-in tools; vectors in the index are random, because only their number counts.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from benchmarks.measuring import arguments, report, summary, target  # noqa: E402
from engine.adapters.embedding import DefaultEmbedder  # noqa: E402
from engine.domain.retrieval import CatalogueInfo  # noqa: E402
from engine.retrieval.catalogues.read import READERS  # noqa: E402
from engine.toolbox.registry import builtin_tools  # noqa: E402
from storage.database import Database  # noqa: E402
from storage.tools.catalogues import DuckCatalogues  # noqa: E402
from storage.vectors.store import LanceVectors  # noqa: E402

ROWS, WIDTH, BATCH = 20_000, 384, 64
QUESTIONS = 60
_START = (
    "import time; began = time.perf_counter()\n"
    "from engine.adapters.embedding import load_embedder\n"
    "embedder = load_embedder('all-MiniLM-L6-v2'); embedder.embed(['reads'])\n"
    "print(time.perf_counter() - began)\n"
)


def seconds(work: Callable[[], Any]) -> float:
    """Return how long a piece of work takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def start() -> float:
    """Return seconds from nothing imported to the first vector, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", _START], capture_output=True, text=True, check=True, cwd=ROOT)
    return float(done.stdout)


def add(folder: Path, ids: list[str], rows: np.ndarray) -> LanceVectors:
    """Add rows in batches, as the embedding cache does."""
    index = LanceVectors(folder)
    for begin in range(0, ROWS, BATCH):
        index.add("cache", ids[begin : begin + BATCH], rows[begin : begin + BATCH])
    return index


def main() -> None:
    """Measure and report."""
    rounds = arguments(__doc__.splitlines()[0], rounds=5).rounds
    embedder = DefaultEmbedder()
    embedder.warm()
    texts = [f"{spec.title}. {spec.description}" for spec in builtin_tools()]
    starts = [start() for _ in range(rounds)]
    asked = [
        1000 * seconds(lambda text=text: embedder.embed([text]))
        for text in (f"{texts[n % len(texts)][:50]} {n}" for n in range(QUESTIONS))
    ]
    speeds = [len(texts) / seconds(lambda: embedder.embed(texts)) for _ in range(rounds)]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    rows = np.random.default_rng(5).normal(size=(ROWS, WIDTH)).astype(np.float32)
    ids = [f"{number:064x}" for number in range(ROWS)]
    adds, fetches, reads, stores, loads = [], [], [], [], []
    with tempfile.TemporaryDirectory(prefix="biodesk-bench-") as folder:
        lines = "\n".join(
            json.dumps({"name": f"tool_{n}", "description": texts[n % len(texts)], "keywords": ["a", "b"]})
            for n in range(ROWS)
        )
        (Path(folder) / "tools.jsonl").write_text(lines, encoding="utf-8")
        add(Path(folder) / "first", ids, rows)  # imports LanceDB
        database = Database(Path(folder) / "b.duckdb")
        catalogues = DuckCatalogues(database)
        for number in range(rounds):
            place = Path(folder) / f"vectors{number}"
            adds.append(seconds(lambda place=place: add(place, ids, rows)))
            fetches.append(seconds(lambda place=place: LanceVectors(place).fetch("cache", ids)))
            reads.append(seconds(lambda: list(READERS["jsonl"](Path(folder) / "tools.jsonl"))))
            entries = list(READERS["jsonl"](Path(folder) / "tools.jsonl"))
            info = CatalogueInfo(name="tools", kind="jsonl", entries=ROWS, sha256=str(number), at="")
            stores.append(seconds(lambda info=info, entries=entries: catalogues.replace(info, entries)))
            loads.append(seconds(catalogues.entries))
        database.close()

    table = [
        summary("start to the first vector", starts, unit="s", digits=3),
        summary("one question", asked, unit="ms", digits=2),
        summary("descriptions embedded", speeds, unit="a second"),
        summary("20,000 vectors added in batches", adds, unit="s", digits=3),
        summary("20,000 vectors fetched", fetches, unit="s", digits=3),
        summary("20,000 lines of JSONL read", reads, unit="s", digits=3),
        summary("20,000 entries stored", stores, unit="s", digits=3),
        summary("20,000 entries loaded", loads, unit="s", digits=3),
    ]
    targets = [
        target("start to the first vector", min(starts), 0.6, unit=" s"),
        target("20,000 vectors fetched", min(fetches), 0.3, unit=" s"),
        target("20,000 lines of JSONL read", min(reads), 1.0, unit=" s"),
        target("20,000 entries loaded", min(loads), 0.5, unit=" s"),
    ]
    notes = [f"{memory:,.0f} MB after embedding {len(texts)} descriptions.", "Targets compare the best round."]
    report("embedding", table, targets, notes)


if __name__ == "__main__":
    main()
