"""The promises of `VectorIndex`, kept by every implementation of it."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.errors import StorageError
from engine.ports import VectorIndex
from storage.memory import MemoryVectors
from storage.vectors import LanceVectors


@pytest.fixture(params=["memory", "lance", "lance scanning the disk"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> VectorIndex:
    if request.param == "memory":
        return MemoryVectors()
    return LanceVectors(tmp_path / "vectors", kept_in_memory=50_000 if request.param == "lance" else 0)


def directions(count: int, width: int = 12, seed: int = 7) -> list[list[float]]:
    draw = random.Random(seed)
    return [[draw.gauss(0, 1) for _ in range(width)] for _ in range(count)]


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))


def test_the_nearest_rows_are_those_of_an_exhaustive_comparison(index: VectorIndex) -> None:
    rows = directions(300)
    ids = [f"tool_{n}" for n in range(300)]
    index.replace("tools", ids, rows)
    for query in directions(8, seed=8):
        scores = {name: cosine(query, row) for name, row in zip(ids, rows, strict=True)}
        best = sorted(ids, key=lambda name: -scores[name])[:20]
        hits = index.search("tools", query, top=20)
        assert [hit.id for hit in hits] == best
        assert [hit.score for hit in hits] == pytest.approx([scores[name] for name in best], abs=1e-5)


def test_known_angles_have_known_cosines(index: VectorIndex) -> None:
    index.replace("c", ["same", "right", "opposite", "sixty"], [[1, 0], [0, 1], [-1, 0], [0.5, math.sqrt(0.75)]])
    hits = index.search("c", [2.0, 0.0], top=10)
    assert [hit.id for hit in hits] == ["same", "sixty", "right", "opposite"]
    assert [hit.score for hit in hits] == pytest.approx([1.0, 0.5, 0.0, -1.0], abs=1e-6)
    assert all(-1.0 <= hit.score <= 1.0 for hit in hits)


def test_rows_equally_near_come_in_the_order_of_their_ids(index: VectorIndex) -> None:
    index.replace("c", ["d", "b", "c", "a"], [[1, 0], [1, 0], [0, 1], [1, 0]])
    assert [hit.id for hit in index.search("c", [1.0, 0.0], top=4)] == ["a", "b", "d", "c"]


def test_top_larger_than_the_collection_gives_all_and_zero_gives_none(index: VectorIndex) -> None:
    index.replace("c", ["a", "b"], [[1, 0], [0, 1]])
    assert len(index.search("c", [1.0, 0.0], top=50)) == 2
    assert index.search("c", [1.0, 0.0], top=0) == []


def test_an_unknown_collection_is_empty_and_dropping_it_is_harmless(index: VectorIndex) -> None:
    assert index.search("none", [1.0, 0.0], top=5) == []
    assert index.ids("none") == []
    index.drop("none")


def test_replace_leaves_exactly_the_new_rows_in_their_order(index: VectorIndex) -> None:
    index.replace("c", ["a", "b", "c"], [[1, 0], [0, 1], [1, 1]])
    index.replace("c", ["z", "b"], [[1, 0, 0], [0, 1, 0]])
    assert index.ids("c") == ["z", "b"]
    assert [hit.id for hit in index.search("c", [0.0, 1.0, 0.0], top=5)] == ["b", "z"]


def test_replacing_with_nothing_empties_the_collection(index: VectorIndex) -> None:
    index.replace("c", ["a"], [[1, 0]])
    index.replace("c", [], [])
    assert index.ids("c") == []
    assert index.search("c", [1.0, 0.0], top=5) == []


def test_collections_with_confusable_or_odd_names_stay_apart(index: VectorIndex) -> None:
    names = ["tools:v1", "tools v1", "tools_v1", "../tools", "größe", "", "T" * 300]
    for number, name in enumerate(names):
        index.replace(name, [f"row {number}"], [[1.0, float(number)]])
    for number, name in enumerate(names):
        assert index.ids(name) == [f"row {number}"]
    index.drop("tools:v1")
    assert index.ids("tools:v1") == []
    assert index.ids("tools v1") == ["row 1"]


@pytest.mark.parametrize(
    ("ids", "vectors"),
    [
        (["a", "b"], [[1.0, 0.0]]),
        (["a", "a"], [[1.0, 0.0], [0.0, 1.0]]),
        (["a", "b"], [[1.0, 0.0], [1.0]]),
        (["a"], [[0.0, 0.0]]),
        (["a"], [[float("nan"), 1.0]]),
        (["a"], [[float("inf"), 1.0]]),
        (["a"], [[]]),
    ],
    ids=["fewer vectors", "an id twice", "two widths", "no direction", "not a number", "infinite", "no numbers"],
)
def test_rows_that_cannot_be_searched_are_refused_and_the_old_ones_stay(index: VectorIndex, ids, vectors) -> None:
    index.replace("c", ["old"], [[1.0, 0.0]])
    with pytest.raises(StorageError, match="The vectors for c cannot be used"):
        index.replace("c", ids, vectors)
    assert index.ids("c") == ["old"]


def test_a_query_of_another_width_is_refused_instead_of_compared(index: VectorIndex) -> None:
    index.replace("c", ["a"], [[1.0, 0.0]])
    with pytest.raises(StorageError, match="vectors of 2 numbers"):
        index.search("c", [1.0, 0.0, 0.0], top=1)


@pytest.mark.parametrize("kept", [50_000, 0], ids=["from memory", "scanning the disk"])
def test_vectors_written_by_one_index_are_found_by_the_next(tmp_path: Path, kept: int) -> None:
    rows = directions(40)
    ids = [f"t{n}" for n in range(40)]
    first = LanceVectors(tmp_path / "vectors")
    for _ in range(3):
        first.replace("tools", ids, rows)
    second = LanceVectors(tmp_path / "vectors", kept_in_memory=kept)
    assert second.ids("tools") == ids
    assert [h.id for h in second.search("tools", rows[11], top=5)] == [
        h.id for h in first.search("tools", rows[11], top=5)
    ]


def test_replacing_again_and_again_does_not_fill_the_disk(tmp_path: Path) -> None:
    index = LanceVectors(tmp_path / "vectors")
    rows = directions(500, 64)

    def size() -> int:
        return sum(f.stat().st_size for f in (tmp_path / "vectors").rglob("*") if f.is_file())

    index.replace("tools", [str(n) for n in range(500)], rows)
    once = size()
    for _ in range(5):
        index.replace("tools", [str(n) for n in range(500)], rows)
    assert size() < 1.5 * once


def test_lancedb_is_not_imported_and_no_folder_is_made_before_it_is_needed(tmp_path: Path) -> None:
    import subprocess
    import sys

    code = (
        "import sys; from pathlib import Path; from storage.vectors import LanceVectors\n"
        f"index = LanceVectors(Path({str(tmp_path / 'vectors')!r}))\n"
        "assert index.ids('tools') == [] and index.search('tools', [1.0], top=3) == []\n"
        "assert 'lancedb' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])
    assert not (tmp_path / "vectors").exists()
