"""The promises of `VectorIndex`, kept by every implementation of it."""

from __future__ import annotations

import math
import os
import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import StorageError
from engine.ports.vectors import VectorIndex
from storage.vectors.store import LanceVectors
from storage.vectors.twin import VectorsTwin


@pytest.fixture(params=["memory", "lance"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> VectorIndex:
    return VectorsTwin() if request.param == "memory" else LanceVectors(tmp_path / "vectors")


def directions(count: int, width: int = 12, seed: int = 7) -> list[list[float]]:
    draw = random.Random(seed)
    return [[draw.gauss(0, 1) for _ in range(width)] for _ in range(count)]


def unit(rows: Sequence[Sequence[float]]) -> np.ndarray:
    matrix = np.asarray(rows, dtype=np.float64)
    return (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))


def test_the_nearest_rows_are_those_of_an_exhaustive_comparison(index: VectorIndex) -> None:
    rows = directions(300)
    ids = [f"tool_{n}" for n in range(300)]
    index.add("tools", ids, unit(rows))
    for query in directions(8, seed=8):
        scores = {name: cosine(query, row) for name, row in zip(ids, rows, strict=True)}
        best = sorted(ids, key=lambda name: -scores[name])[:20]
        hits = index.search("tools", query, top=20)
        assert [hit.id for hit in hits] == best
        assert [hit.score for hit in hits] == pytest.approx([scores[name] for name in best], abs=1e-5)


def test_known_angles_have_known_cosines(index: VectorIndex) -> None:
    index.add("c", ["same", "right", "opposite", "sixty"], unit([[1, 0], [0, 1], [-1, 0], [0.5, math.sqrt(0.75)]]))
    hits = index.search("c", [2.0, 0.0], top=10)
    assert [hit.id for hit in hits] == ["same", "sixty", "right", "opposite"]
    assert [hit.score for hit in hits] == pytest.approx([1.0, 0.5, 0.0, -1.0], abs=1e-6)
    assert all(-1.0 <= hit.score <= 1.0 for hit in hits)


def test_rows_equally_near_come_in_the_order_of_their_ids(index: VectorIndex) -> None:
    index.add("c", ["d", "b", "c", "a"], unit([[1, 0], [1, 0], [0, 1], [1, 0]]))
    assert [hit.id for hit in index.search("c", [1.0, 0.0], top=4)] == ["a", "b", "d", "c"]


def test_top_larger_than_the_collection_gives_all_and_zero_gives_none(index: VectorIndex) -> None:
    index.add("c", ["a", "b"], unit([[1, 0], [0, 1]]))
    assert len(index.search("c", [1.0, 0.0], top=50)) == 2
    assert index.search("c", [1.0, 0.0], top=0) == []


def test_an_unknown_collection_is_empty_and_dropping_it_is_harmless(index: VectorIndex) -> None:
    assert index.search("none", [1.0, 0.0], top=5) == []
    assert index.ids("none") == []
    index.drop("none")


def test_collections_with_confusable_or_odd_names_stay_apart(index: VectorIndex) -> None:
    names = ["tools:v1", "tools v1", "tools_v1", "../tools", "größe", "", "T" * 300]
    for number, name in enumerate(names):
        index.add(name, [f"row {number}"], unit([[1.0, float(number)]]))
    for number, name in enumerate(names):
        assert index.ids(name) == [f"row {number}"]
    index.drop("tools:v1")
    assert index.ids("tools:v1") == []
    assert index.ids("tools v1") == ["row 1"]


def test_a_query_of_another_width_is_refused_instead_of_compared(index: VectorIndex) -> None:
    index.add("c", ["a"], unit([[1.0, 0.0]]))
    with pytest.raises(StorageError, match="vectors of 2 numbers"):
        index.search("c", [1.0, 0.0, 0.0], top=1)


def test_only_rows_of_the_owners_and_kinds_asked_for_are_found(index: VectorIndex) -> None:
    rows = unit(directions(30))
    owner, other = "ann's", 'bo"'
    index.add("c", ["first"], rows[:1], owner=owner, kind="episode")
    index.add("c", [f"a{n}" for n in range(10)], rows[1:11], owner=owner, kind="tool")
    index.add("c", [f"b{n}" for n in range(10)], rows[11:21], owner=other, kind="tool")
    index.add("c", ["plain"], rows[21:22])

    def ids(**wanted: Sequence[str]) -> set[str]:
        return {hit.id for hit in index.search("c", rows[0].tolist(), top=50, **wanted)}

    assert len(ids()) == 22
    assert ids(owners=[owner]) == {"first", *(f"a{n}" for n in range(10))}
    assert ids(owners=[owner], kinds=["tool"]) == {f"a{n}" for n in range(10)}
    assert ids(kinds=["episode", "fact"]) == {"first"}
    assert ids(owners=[""]) == {"plain"}
    assert ids(owners=["nobody"]) == set()


def test_a_large_collection_is_indexed_and_later_rows_are_found_too(tmp_path: Path) -> None:
    index = LanceVectors(tmp_path / "vectors", exact_rows=500)
    rows = unit(directions(1_200, 32))
    index.add("c", [f"t{n}" for n in range(1_000)], rows[:1_000], kind="old")
    index.add("c", [f"t{n}" for n in range(1_000, 1_200)], rows[1_000:], kind="new")
    for place in (0, 500, 999, 1_000, 1_199):
        found = index.search("c", rows[place].tolist(), top=5)
        assert found[0].id == f"t{place}"
        assert found[0].score == pytest.approx(1.0, abs=1e-5)
    assert {int(hit.id[1:]) >= 1_000 for hit in index.search("c", rows[3].tolist(), top=20, kinds=["new"])} == {True}


def test_rows_can_be_added_to_a_collection_that_knows_no_owners(tmp_path: Path) -> None:
    index = LanceVectors(tmp_path / "vectors")
    index.add("c", ["old"], unit([[1, 0]]))
    index._table("c").drop_columns(["owner", "kind"])
    later = LanceVectors(tmp_path / "vectors")
    later.add("c", ["new"], unit([[0, 1]]), kind="tool")
    assert [hit.id for hit in later.search("c", [0.0, 1.0], top=5, kinds=["tool"])] == ["new"]
    assert later.ids("c") == ["old", "new"]


def test_vectors_written_by_one_index_are_found_by_the_next(tmp_path: Path) -> None:
    rows = directions(40)
    ids = [f"t{n}" for n in range(40)]
    first = LanceVectors(tmp_path / "vectors")
    first.add("tools", ids, unit(rows))
    second = LanceVectors(tmp_path / "vectors")
    assert second.ids("tools") == ids
    assert [h.id for h in second.search("tools", rows[11], top=5)] == [
        h.id for h in first.search("tools", rows[11], top=5)
    ]


def test_lancedb_is_not_imported_and_no_folder_is_made_before_it_is_needed(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from storage.vectors.store import LanceVectors\n"
        f"index = LanceVectors(Path({str(tmp_path / 'vectors')!r}))\n"
        "assert index.ids('tools') == [] and index.search('tools', [1.0], top=3) == []\n"
        "assert 'lancedb' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])
    assert not (tmp_path / "vectors").exists()


def test_rows_added_in_parts_are_fetched_and_searched(index: VectorIndex) -> None:
    rows = unit(directions(60))
    ids = [f"t{n}" for n in range(60)]
    for start in range(0, 60, 20):
        index.add("cache", ids[start : start + 20], rows[start : start + 20])
    assert index.ids("cache") == ids
    asked = ["t41", "unknown", "t3", "t41", "t59"]
    found, got = index.fetch("cache", asked)
    assert found == ["t41", "t3", "t41", "t59"]
    assert got.dtype == np.float32
    assert np.abs(got - rows[[41, 3, 41, 59]]).max() < 1e-6
    assert index.search("cache", rows[17].tolist(), top=1)[0].id == "t17"


def test_rows_that_are_there_already_are_passed_over(index: VectorIndex) -> None:
    index.add("c", ["a", "b"], unit([[1, 0], [0, 1]]))
    index.add("c", ["b", "c", "c"], unit([[1, 0], [1, 1], [1, 0]]))
    assert index.ids("c") == ["a", "b", "c"]
    assert index.lacking("c", ["d", "b", "e", "c"]) == ["d", "e"]
    assert index.lacking("none", ["b"]) == ["b"]
    found, rows = index.fetch("c", ["c", "b"])
    assert found == ["c", "b"]
    assert np.abs(rows - unit([[1, 1], [0, 1]])).max() < 1e-6
    index.add("c", [], np.empty((0, 2), dtype=np.float32))
    index.add("c", ["a"], unit([[0, 1]]))
    assert index.ids("c") == ["a", "b", "c"]


def test_adding_after_a_search_and_a_drop_is_seen(index: VectorIndex) -> None:
    index.add("c", ["a"], unit([[1, 0]]))
    assert index.search("c", [0.0, 1.0], top=1)[0].id == "a"
    index.add("c", ["b"], unit([[0, 1]]))
    assert index.search("c", [0.0, 1.0], top=1)[0].id == "b"
    assert index.fetch("c", ["b", "a"])[0] == ["b", "a"]
    index.drop("c")
    assert index.fetch("c", ["b"])[0] == []
    index.add("c", ["b"], unit([[0, 1, 0]]))
    assert index.ids("c") == ["b"]


def test_fetching_from_an_unknown_collection_or_nothing_gives_nothing(index: VectorIndex) -> None:
    for asked in (["a"], []):
        found, rows = index.fetch("none", asked)
        assert found == []
        assert len(rows) == 0
    index.add("c", ["a"], unit([[1, 0]]))
    assert index.fetch("c", [])[0] == []
    assert index.fetch("c", ["b"])[0] == []


def test_ids_with_quotes_and_other_marks_are_fetched(index: VectorIndex) -> None:
    ids = ["o'hara", "a'' OR ''='", 'say "x"', "größe", "", "back\\slash", "new\nline", "%", "a;b"]
    index.add("odd", ids, unit(directions(len(ids))))
    found, rows = index.fetch("odd", ids[::-1])
    assert found == ids[::-1]
    assert np.abs(rows - unit(directions(len(ids)))[::-1]).max() < 1e-6


@pytest.mark.parametrize(
    ("ids", "vectors"),
    [
        (["a", "b"], [[1.0, 0.0]]),
        (["b"], [[0.0, 0.0]]),
        (["b"], [[float("nan"), 1.0]]),
        (["b"], [[float("inf"), 1.0]]),
        (["b"], [[]]),
        (["b"], [[1.0, 0.0, 0.0]]),
    ],
    ids=["fewer vectors", "no direction", "not a number", "infinite", "no numbers", "another width"],
)
def test_rows_that_cannot_be_added_are_refused_and_the_others_stay(index: VectorIndex, ids, vectors) -> None:
    index.add("c", ["old"], unit([[1, 0]]))
    with pytest.raises(StorageError):
        index.add("c", ids, np.array(vectors, dtype=np.float32))
    assert index.ids("c") == ["old"]
    index.add("c", ["new"], unit([[0, 1]]))
    assert index.fetch("c", ["new", "old"])[0] == ["new", "old"]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.sampled_from(["add", "fetch", "drop"]), st.lists(st.sampled_from("abcdefgh"), max_size=6)),
        max_size=8,
    )
)
def test_any_sequence_of_calls_leaves_both_implementations_alike(tmp_path_factory, calls) -> None:
    lance, memory = LanceVectors(tmp_path_factory.mktemp("v")), VectorsTwin()
    for number, (what, names) in enumerate(calls):
        rows = unit([[math.cos(number + place), math.sin(number + place)] for place in range(len(names))] or [[1, 0]])[
            : len(names)
        ]
        if what == "add":
            lance.add("c", names, rows)
            memory.add("c", names, rows)
        elif what == "drop":
            lance.drop("c")
            memory.drop("c")
        assert lance.ids("c") == memory.ids("c")
        assert lance.lacking("c", names) == memory.lacking("c", names)
        (mine, got), (theirs, expected) = lance.fetch("c", names), memory.fetch("c", names)
        assert mine == theirs
        if mine:
            assert np.abs(got - expected).max() < 1e-6


def test_many_small_additions_are_joined_and_fetched_by_the_next_index(tmp_path: Path) -> None:
    rows = unit(directions(300, 32))
    ids = [f"{n:064d}" for n in range(300)]
    index = LanceVectors(tmp_path / "vectors")
    for start in range(0, 300, 2):
        index.add("cache", ids[start : start + 2], rows[start : start + 2])
    parts = [path for path in (tmp_path / "vectors").rglob("*.lance") if path.is_file()]
    assert len(parts) < 100
    second = LanceVectors(tmp_path / "vectors")
    for asked in (ids, ids[:150], ids[5:1:-1]):
        found, got = second.fetch("cache", asked)
        assert found == asked
        assert np.abs(got - rows[[int(name) for name in asked]]).max() < 1e-6
    second.add("cache", ids, rows[::-1])
    assert second.ids("cache") == ids


def test_an_index_killed_while_adding_is_read_by_the_next_and_loses_only_the_last_call(tmp_path: Path) -> None:
    code = (
        "import sys, numpy as np; from pathlib import Path; from storage.vectors.store import LanceVectors\n"
        f"index = LanceVectors(Path({str(tmp_path / 'vectors')!r}))\n"
        "rows = np.eye(16, dtype=np.float32)\n"
        "for n in range(100_000):\n"
        "    index.add('cache', [f'{n}-{row}' for row in range(16)], rows)\n"
        "    print(n, flush=True)\n"
    )
    for round_ in range(2):
        folder = tmp_path / "vectors"
        with subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
        ) as child:
            assert child.stdout is not None
            for _ in range(70 + 13 * round_):
                last = int(child.stdout.readline())
            os.kill(child.pid, signal.SIGKILL)
            last = max([last, *(int(line) for line in child.stdout.read().split("\n")[:-1] if line)])
        index = LanceVectors(folder)
        ids = index.ids("cache")
        assert len(ids) == len(set(ids))
        assert {f"{n}-{row}" for n in range(last + 1) for row in range(16)} <= set(ids)
        asked = [f"{last}-{row}" for row in range(16)]
        found, rows = index.fetch("cache", asked)
        assert found == asked
        assert np.array_equal(rows, np.eye(16, dtype=np.float32))
        index.add("cache", [f"after {round_}"], np.ones((1, 16), dtype=np.float32))
        assert index.ids("cache")[-1] == f"after {round_}"
