"""How well claims are grounded without a model, and how fast texts are linked and checked.

    python benchmarks/bench_grounding.py [--rounds 3]

Quality needs the labelled development claims and the sample of Hetionet beside the project (../shared/data); without
them nothing is measured. A claim counts as found when one of its sentence joins the same two entities.
"""

from __future__ import annotations

import gzip
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.measuring import arguments, not_measured, report, summary, target  # noqa: E402
from engine.domain.knowledge import Claim, Edge, GraphSource, Node  # noqa: E402
from engine.knowledge.graph.twin import GraphTwin  # noqa: E402
from engine.knowledge.grounding import check_text  # noqa: E402
from engine.knowledge.importers.hetionet import KINDS, METAEDGES  # noqa: E402
from engine.knowledge.linking import EntityLinker  # noqa: E402

DATA = ROOT.parent / "shared" / "data"
LABELS = ("grounded", "inferred", "ungrounded", "contradicted")
TARGET_F1, TARGET_BUILD_S, TARGET_LINK_S_PER_MB = 0.85, 2.0, 1.0


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


def label_of(expected: dict[str, Any], claims: list[Claim]) -> str:
    """Return the label given to an expected claim, or `missed`."""
    ends = {expected["subject"], expected["object"]}
    return next((claim.label for claim in claims if {claim.subject, claim.object} == ends), "missed")


def f1(pairs: Counter[tuple[str, str]], label: str) -> float:
    """Return the F1 of a label from counts of (expected, given)."""
    right = pairs[label, label]
    wanted = sum(n for (expected, _), n in pairs.items() if expected == label)
    given = sum(n for (_, got), n in pairs.items() if got == label)
    return 2 * right / (wanted + given) if wanted + given else 0.0


def main() -> None:
    """Measure and report."""
    rounds = arguments(__doc__ or "", rounds=3).rounds
    if not (DATA / "claims_dev.jsonl").is_file():
        not_measured("grounding", f"the development claims are not at {DATA.name}/claims_dev.jsonl beside the project")
        return
    view = hetionet()
    records = [json.loads(line) for line in (DATA / "claims_dev.jsonl").read_text(encoding="utf-8").splitlines()]
    builds: list[float] = []
    for _ in range(rounds):
        began = time.perf_counter()
        EntityLinker(view)
        builds.append(time.perf_counter() - began)
    linker = EntityLinker(view)
    pairs: Counter[tuple[str, str]] = Counter()
    extra = 0
    for record in records:
        claims = check_text(record["text"], view, linker).claims
        extra += len(claims) - len(record["claims"])
        for expected in record["claims"]:
            pairs[expected["label"], label_of(expected, claims)] += 1
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
    scores = {label: f1(pairs, label) for label in LABELS}
    macro = sum(scores.values()) / len(LABELS)
    for label, score in scores.items():
        print(f"F1 {label:<14}{score:.3f}")
    print(f"macro-F1         {macro:.3f}   ({sum(pairs.values())} claims, {extra:+d} more than labelled)")
    report(
        "grounding",
        [
            summary("build the linker, 47,031 names", builds, unit="s", digits=2),
            summary("link a megabyte of text", links, unit="s", digits=2),
            summary("check a claim, all stages", checks, unit="ms", digits=2),
        ],
        [
            target("1 - macro-F1 on the development claims", 1 - macro, 1 - TARGET_F1),
            target("build the linker", min(builds), TARGET_BUILD_S, unit=" s"),
            target("link a megabyte of text", min(links), TARGET_LINK_S_PER_MB, unit=" s"),
        ],
        notes=["The development claims were seen while the patterns were written: hidden ones will score lower."],
        f1=scores,
        macro_f1=macro,
        confusion={f"{expected} as {got}": n for (expected, got), n in sorted(pairs.items())},
    )


if __name__ == "__main__":
    main()
