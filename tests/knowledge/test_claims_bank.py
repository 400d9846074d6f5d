"""Claims of a writer who had not seen the code, on the sample of Hetionet beside the project."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import bench_grounding as bench
from benchmarks.claims_bank import BANK, score

RECORDS = [json.loads(line) for line in BANK.read_text(encoding="utf-8").splitlines()]


def test_the_bank_has_two_halves_with_claims_and_without() -> None:
    for half in ("odd", "even"):
        mine = [record for record in RECORDS if record["half"] == half]
        assert len(mine) > 100
        assert sum(not record["claims"] for record in mine) > 20


@pytest.mark.skipif(not bench.DATA.is_dir(), reason="the sample of Hetionet is not beside the project")
def test_claims_of_another_writer_get_their_labels_and_other_sentences_none() -> None:
    view = bench.hetionet()
    linker = bench.EntityLinker(view)

    def figures(records: list[dict]) -> dict[str, float]:
        return score(records, lambda text: bench.check_text(text, view, linker))

    for half, f1, prose in (("odd", 0.88, 0.85), ("even", 0.80, 0.68)):
        found = figures([record for record in RECORDS if record["half"] == half])
        assert found["macro-F1"] >= f1, (half, found)
        assert found["prose as expected"] >= prose, (half, found)
    dev = Path(bench.DATA / "claims_dev.jsonl").read_text(encoding="utf-8").splitlines()
    found = figures([{"kind": "claims", **json.loads(line)} for line in dev])
    assert found["macro-F1"] >= 0.95, found
