"""Scores a reader of claims on a bank of sentences whose author had not seen the code.

    python benchmarks/claims_bank.py HETIONET_FOLDER [--half odd] [--show]

Runs on any version of the project (`PYTHONPATH=OTHER_CHECKOUT`), so that two can be compared on the same bank. The
sentences of the even half are not to be read by those who work on the reader: they are what is unseen.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

BANK = Path(__file__).with_name("claims_bank.jsonl")
LABELS = ("grounded", "inferred", "ungrounded", "contradicted")


def label_of(expected: dict[str, Any], claims: list[Any]) -> str:
    """Return the label given to an expected claim, or `missed`."""
    ends = {expected["subject"], expected["object"]}
    return next((claim.label for claim in claims if {claim.subject, claim.object} == ends), "missed")


def f1(pairs: Counter[tuple[str, str]], label: str) -> float:
    """Return the F1 of a label from counts of (expected, given)."""
    right = pairs[label, label]
    wanted = sum(n for (expected, _), n in pairs.items() if expected == label)
    given = sum(n for (_, got), n in pairs.items() if got == label)
    return 2 * right / (wanted + given) if wanted + given else 0.0


def as_expected(record: dict[str, Any], claims: list[Any]) -> bool:
    """Say whether a sentence got just the claims and labels that its author expects."""
    wanted = Counter((frozenset((c["subject"], c["object"])), c["label"]) for c in record["claims"])
    # a sentence about one entity of the graph can be labelled nothing but ungrounded; the bank has no such claims
    given = Counter((frozenset((c.subject, c.object)), c.label) for c in claims if c.subject and c.object)
    return wanted == given


def score(records: list[dict[str, Any]], check: Any, *, show: bool = False) -> dict[str, float]:
    """Return macro-F1 of the labels, and the shares of sentences with and without claims that are as expected."""
    pairs: Counter[tuple[str, str]] = Counter()
    good: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for record in records:
        claims = check(record["text"]).claims
        kind = "prose" if record["kind"] == "prose" else "claims"
        right = as_expected(record, claims)
        total[kind] += 1
        good[kind] += right
        for expected in record["claims"]:
            pairs[expected["label"], label_of(expected, claims)] += 1
        if show and not right:
            got = [f"{c.subject}|{c.predicate}|{c.object}|neg={c.negated}|{c.label}" for c in claims]
            print(record["id"], record["kind"], record["text"], *record["claims"], "GOT", *got, sep="\n    ")
    return {
        "macro-F1": sum(f1(pairs, label) for label in LABELS) / len(LABELS),
        **{f"F1 {label}": f1(pairs, label) for label in LABELS},
        "claims as expected": good["claims"] / max(1, total["claims"]),
        "prose as expected": good["prose"] / max(1, total["prose"]),
        "missed": float(sum(n for (_, got), n in pairs.items() if got == "missed")),
        "claims": float(total["claims"]),
        "prose": float(total["prose"]),
    }


def main() -> None:
    """Score a bank and print the figures as one JSON object a half."""
    from benchmarks import bench_grounding as bench

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--half", choices=("odd", "even", "both"), default="both")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    bench.DATA = options.data
    view = bench.hetionet()
    linker = bench.EntityLinker(view)
    records = [json.loads(line) for line in BANK.read_text(encoding="utf-8").splitlines()]
    for half in ("odd", "even"):
        if options.half in (half, "both"):
            mine = [r for r in records if r["half"] == half]
            found = score(mine, lambda text: bench.check_text(text, view, linker), show=options.show)
            print(half, json.dumps({name: round(value, 3) for name, value in found.items()}))


if __name__ == "__main__":
    main()
