"""How well claims are grounded without a model, and how fast texts are linked and checked.

    python benchmarks/bench_grounding.py [--rounds 3]

Quality is measured on labelled claims that were seen while the code was written (../shared/data), and on both halves of
a bank whose author had not seen the code and of which only the odd half was read by those who wrote it. All needs the
sample of Hetionet beside the project; without it nothing is measured. A claim counts as found when one of its sentence
joins the same two entities; a sentence is as expected when it gets just the claims and labels that its author expects.
"""

from __future__ import annotations

import gzip
import json
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.claims_bank import BANK, score  # noqa: E402
from benchmarks.measuring import arguments, not_measured, report, summary, target  # noqa: E402
from engine.domain.knowledge import Edge, GraphSource, Node  # noqa: E402
from engine.knowledge.graph.twin import GraphTwin  # noqa: E402
from engine.knowledge.grounding.check import check_text  # noqa: E402
from engine.knowledge.importers.hetionet import KINDS, METAEDGES  # noqa: E402
from engine.knowledge.linking.linker import EntityLinker  # noqa: E402

DATA = ROOT.parent / "shared" / "data"
TARGET_F1, TARGET_PROSE, TARGET_BUILD_S, TARGET_LINK_S_PER_MB = 0.85, 0.85, 2.0, 1.0


def hetionet() -> GraphTwin:
    """Return the sample of Hetionet."""
    nodes: list[Node] = []
    edges: list[Edge] = []
    with gzip.open(DATA / "hetionet_train" / "nodes.tsv.gz", "rt", encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            node_id, name, kind = line.rstrip("\n").split("\t")
            nodes.append(Node(id=node_id, type=KINDS[kind], name=name))
    with gzip.open(DATA / "hetionet_train" / "edges.sif.gz", "rt", encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            source, metaedge, target_id = line.rstrip("\n").split("\t")
            kind, swapped = METAEDGES[metaedge]
            ends = (target_id, source) if swapped else (source, target_id)
            edges.append(Edge(source=ends[0], type=kind, target=ends[1], relation=metaedge, origin="het"))
    return GraphTwin(nodes, edges, [GraphSource(id="het", name="Hetionet sample", kind="hetionet")])


def main() -> None:
    """Measure and report."""
    rounds = arguments(__doc__ or "", rounds=3).rounds
    if not (DATA / "claims_dev.jsonl").is_file():
        not_measured("grounding", f"the development claims are not at {DATA.name}/claims_dev.jsonl beside the project")
        return
    view = hetionet()
    records = [json.loads(line) for line in (DATA / "claims_dev.jsonl").read_text(encoding="utf-8").splitlines()]
    bank = [json.loads(line) for line in BANK.read_text(encoding="utf-8").splitlines()]
    builds: list[float] = []
    for _ in range(rounds):
        began = time.perf_counter()
        EntityLinker(view)
        builds.append(time.perf_counter() - began)
    linker = EntityLinker(view)
    scores = {
        name: score(mine, lambda text: check_text(text, view, linker))
        for name, mine in (
            ("development", [{"kind": "claims", **record} for record in records]),
            ("bank, odd half", [record for record in bank if record["half"] == "odd"]),
            ("bank, even half", [record for record in bank if record["half"] == "even"]),
        )
    }
    text = "\n\n".join(record["text"] for record in records)
    long = "\n\n".join([text] * (1_000_000 // len(text)))
    some = "\n\n".join([text] * 10)
    links, checks = [], []
    for _ in range(rounds):
        began = time.perf_counter()
        linker.link(long)
        links.append((time.perf_counter() - began) / (len(long) / 1e6))
        began = time.perf_counter()
        count = len(check_text(some, view, linker).claims)
        checks.append((time.perf_counter() - began) / count * 1000)
    for name, found in scores.items():
        print(name, "  ".join(f"{figure} {value:.3g}" for figure, value in found.items()), sep=": ")
    unseen = scores["bank, even half"]
    report(
        "grounding",
        [
            summary("build the linker, 47,031 names", builds, unit="s", digits=2),
            summary("link a megabyte of text", links, unit="s", digits=2),
            summary("check a claim, all stages", checks, unit="ms", digits=2),
        ],
        [
            target("1 - macro-F1 on the development claims", 1 - scores["development"]["macro-F1"], 1 - TARGET_F1),
            target("sentences that are not as expected, even half", 1 - unseen["prose as expected"], 1 - TARGET_PROSE),
            target("build the linker", min(builds), TARGET_BUILD_S, unit=" s"),
            target("link a megabyte of text", min(links), TARGET_LINK_S_PER_MB, unit=" s"),
        ],
        notes=["The development claims and the odd half were read while the readers of claims were made."],
        scores=scores,
    )


if __name__ == "__main__":
    main()
