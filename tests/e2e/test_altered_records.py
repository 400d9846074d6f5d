"""Whatever is altered in a finished run, `verify` says so and names it: every field and byte is tried, one at a time.

What is altered is found by walking what was stored, so that a field that comes later is tried too.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from growth_data import table_plan, write_growth

from engine.cli.main import main
from engine.domain.encoding.sealing import StoredRow
from engine.provenance.verify import Verification, verify_path
from engine.reporting.verified import verify
from engine.toolbox.registry import builtin_tools
from storage.database import Database
from storage.runs.artifacts import FileArtifacts
from storage.runs.store import DuckRunStore

PATIENCE = 240.0
TABLES = {
    "run": ("runs", "number"),
    "plan": ("plans", "plan_version"),
    "result": ("results", "number"),
    "event": ("events", "seq"),
}
REGISTRY = builtin_tools()


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> tuple[Path, str, Path]:
    """A workspace with a run that profiled data, computed and reported; the run's id; its exported folder."""
    from engine.api import open_engine

    folder = tmp_path_factory.mktemp("finished")
    with open_engine(workspace=folder / "ws", warm_workers=False, embedding_model="none") as engine:
        data = write_growth(folder / "growth.csv")
        question = "Does growth differ between treated and control?"
        run_id = engine.ask(question, [data], auto_approve=True)
        record = engine.wait(run_id, PATIENCE)
        assert (record.status, bool(record.report_sha256), bool(record.profiles_sha256)) == ("succeeded", True, True)
        assert engine.verify(run_id).differences == []
        engine.bundle(run_id, folder / "out")
    return folder / "ws", run_id, folder / "out"


class Desk(NamedTuple):
    database: Database
    store: DuckRunStore
    artifacts: FileArtifacts
    run_id: str

    def verify(self) -> Verification:
        return verify(self.run_id, self.store, self.artifacts, REGISTRY)

    def write(self, statement: str, *values: Any) -> None:
        with self.database.writing() as connection:
            connection.execute(statement, list(values))


@pytest.fixture
def desk(finished, tmp_path) -> Iterator[Desk]:
    workspace, run_id, _ = finished
    shutil.copytree(workspace, tmp_path / "ws")
    database = Database(tmp_path / "ws" / "biodesk.duckdb")
    yield Desk(database, DuckRunStore(database), FileArtifacts(tmp_path / "ws" / "artifacts"), run_id)
    database.close()


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield (path, value) of everything in a JSON value that holds nothing further."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not inside:
        yield path, value
    for name, item in inside:
        yield from leaves(item, (*path, name))


def other(value: Any) -> Any:
    """Return another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return value + "x"
    return {dict: {"x": "x"}, list: ["x"]}.get(type(value), "x")


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return a copy with the value at a path replaced."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = put(value[path[0]], path[1:], new)
    return copy


def names(row: StoredRow, newest: set[str]) -> str:
    """Return what a difference must call a row."""
    if row.table == "event":
        return f"vent {row.place} ("
    if row.table == "plan":
        return f"plan version {row.place}"
    if row.table == "run":
        return "of the run" if row.key in newest else "state "
    return f"step {row.columns['node']}"


@pytest.mark.slow
def test_every_field_of_every_stored_row(desk):
    rows = desk.store.archive.stored(desk.run_id).rows
    newest = {max((r for r in rows if r.table == "run"), key=lambda r: r.place).key}
    unnoticed, tried = [], 0
    for row in rows:
        table, place = TABLES[row.table]
        change = f"UPDATE {table} SET payload = ? WHERE run_id = ? AND {place} = ?"
        content = json.loads(row.payload)
        for path, value in leaves(content):
            tried += 1
            desk.write(change, json.dumps(put(content, path, other(value))), desk.run_id, row.place)
            told = desk.verify().differences
            wanted = [names(row, newest), *([] if row.table == "event" else [str(path[0]).replace("_", " ")])]
            if not any(all(word in sentence for word in wanted) for sentence in told):
                unnoticed.append((row.key, path, told[:2]))
        desk.write(change, row.payload, desk.run_id, row.place)
    assert desk.verify().ok
    assert unnoticed == []
    assert tried >= 72


def test_every_column_of_every_stored_row(desk):
    rows = desk.store.archive.stored(desk.run_id).rows
    unnoticed = []
    for row in rows:
        table, place = TABLES[row.table]
        for column, value in [*row.columns.items(), *([("chain", row.chain)] if row.table == "event" else [])]:
            desk.write(
                f"UPDATE {table} SET {column} = ? WHERE run_id = ? AND {place} = ?",
                other(value),
                desk.run_id,
                row.place,
            )
            owner = other(value) if column == "run_id" else desk.run_id
            told = " ".join(desk.verify().differences)
            desk.write(f"UPDATE {table} SET {column} = ? WHERE run_id = ? AND {place} = ?", value, owner, row.place)
            if column == "node":  # then the row is another one
                assert f"A result of step {value} (number {row.place}) is missing" in told
                continue
            named = str(row.place) if column == "run_id" or row.table == "event" else column.replace("_", " ")
            if named not in told:
                unnoticed.append((row.key, column, told))
    assert desk.verify().ok
    assert unnoticed == []


def test_every_row_that_is_taken_away_and_every_form_of_payload_that_is_none(desk):
    stored = desk.store.archive.stored(desk.run_id)
    unnoticed = []
    for row in stored.rows:
        table, place = TABLES[row.table]
        where = f"WHERE run_id = ? AND {place} = ?"
        for nonsense in ("null", "[]", '"x"', "{}", "1e400", '{"a": NaN}'):
            desk.write(f"UPDATE {table} SET payload = ? {where}", nonsense, desk.run_id, row.place)
            if desk.verify().ok:
                unnoticed.append((row.key, nonsense))
        desk.write(f"UPDATE {table} SET payload = ? {where}", row.payload, desk.run_id, row.place)
        desk.write(f"UPDATE {table} SET {place} = {place} + 100000 {where}", desk.run_id, row.place)
        told = " ".join(desk.verify().differences)
        desk.write(f"UPDATE {table} SET {place} = {place} - 100000 {where}", desk.run_id, row.place + 100000)
        if "missing" not in told or str(row.place) not in told:
            unnoticed.append((row.key, told))
    assert desk.verify().ok
    assert unnoticed == []


def test_every_seal(desk):
    seals = desk.store.archive.stored(desk.run_id).seals
    assert seals
    for seal in seals:
        for column, value in {"number": seal.number, "digest": seal.digest, "payload": seal.payload}.items():
            new = json.dumps({**json.loads(seal.payload), "last_seq": 1}) if column == "payload" else other(value)
            desk.write("UPDATE seals SET run_id = 'away' WHERE run_id = ? AND number > ?", desk.run_id, seal.number)
            desk.write(f"UPDATE seals SET {column} = ? WHERE run_id = ? AND number = ?", new, desk.run_id, seal.number)
            assert any("eal" in text for text in desk.verify().differences)
            now = new if column == "number" else seal.number
            desk.write(f"UPDATE seals SET {column} = ? WHERE run_id = ? AND number = ?", value, desk.run_id, now)
            desk.write("UPDATE seals SET run_id = ? WHERE run_id = 'away'", desk.run_id)
        desk.write("UPDATE seals SET run_id = 'away' WHERE run_id = ? AND number = ?", desk.run_id, seal.number)
        assert any("seal was removed" in text or "is missing" in text for text in desk.verify().differences)
        desk.write("UPDATE seals SET run_id = ? WHERE run_id = 'away'", desk.run_id)
    desk.write("UPDATE seals SET run_id = 'away' WHERE run_id = ?", desk.run_id)
    assert any("seal was removed" in text for text in desk.verify().differences)


def test_every_file_that_a_run_keeps(desk):
    places = [path for path in (desk.artifacts.folder / "sha256").rglob("*") if path.is_file()]
    assert len(places) >= 5
    for place in places:
        content = place.read_bytes()
        place.chmod(0o644)
        for at in {0, len(content) // 2, len(content) - 1}:
            place.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
            checked = desk.verify()
            assert any(place.name[:12] in text for text in checked.differences), (place, checked.differences)
        place.unlink()
        checked = desk.verify()
        assert any("is missing" in text and place.name[:12] in text for text in checked.differences)
        place.write_bytes(content)
    assert desk.verify().ok


def test_every_file_of_an_exported_folder(finished, tmp_path):
    folder = tmp_path / "out"
    shutil.copytree(finished[2], folder)
    assert verify_path(folder).differences == []
    for place in [path for path in folder.rglob("*") if path.is_file()]:
        content, name = place.read_bytes(), place.relative_to(folder).as_posix()
        step = max(1, len(content) // 60) if name == "provenance.json" else max(1, len(content) // 3)
        changed = [content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :] for at in range(0, len(content), step)]
        for new in [*changed, content + b"\n", content[:-1], b""]:
            place.write_bytes(new)
            checked = verify_path(folder)
            assert any(name in text for text in checked.differences), (name, checked.differences)
        place.write_bytes(content)
    assert verify_path(folder).differences == []


def test_an_exported_record_says_which_seal_it_was_made_of(finished):
    document = json.loads((finished[2] / "provenance.json").read_text(encoding="utf-8"))
    assert document["seal"]["last_seq"] > 0
    assert (
        len(document["seal"]["chain"]) == len(document["seal"]["digest"]) == len(document["run"]["report_sha256"]) == 64
    )


# ==== what is damaged is told in a sentence and hides nothing else ====

DAMAGE = {
    "a state without content": ("UPDATE runs SET payload = '{}' WHERE run_id = $1", True),
    "a state that is text": ("""UPDATE runs SET payload = '"x"' WHERE run_id = $1""", True),
    "a state of another kind": ("UPDATE runs SET kind = 'plan' WHERE run_id = $1", True),
    "a state of an unknown form": ("UPDATE runs SET version = 99 WHERE run_id = $1", True),
    "a state of another type": (
        """UPDATE runs SET payload = json_merge_patch(payload, '{"data": 7}') WHERE run_id = $1""",
        True,
    ),
    "no state": ("DELETE FROM runs WHERE run_id = $1", False),
    "no plan": ("DELETE FROM plans WHERE run_id = $1", False),
    "a plan of another kind": ("UPDATE plans SET kind = 'run' WHERE run_id = $1", False),
    "a result without content": ("UPDATE results SET payload = '{}' WHERE run_id = $1", False),
    "an event without content": ("UPDATE events SET payload = '{}' WHERE run_id = $1", False),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_run_is_named_in_a_sentence_and_the_others_are_listed(damage, finished, tmp_path, capsys):
    workspace, run_id, _ = finished
    place = tmp_path / "ws"
    shutil.copytree(workspace, place)
    statement, listed_apart = DAMAGE[damage]
    database = Database(place / "biodesk.duckdb")
    store = DuckRunStore(database)
    sound = store.run(run_id).model_copy(update={"run_id": "run_sound", "approved_version": 0, "report_sha256": ""})
    store.create_run(sound)
    with database.writing() as connection:
        connection.execute(statement, [run_id])
    database.close()

    def call(*words: object) -> tuple[int, str, str]:
        code = main([*map(str, words), "--workspace", str(place)])
        told = capsys.readouterr()
        assert "Traceback" not in told.err
        assert "itself failed" not in told.err
        return code, told.out, told.err

    code, out, err = call("runs", "--json")
    listed = {row["run_id"] for row in json.loads(out)}
    assert (code, "run_sound" in listed) == (0, True)
    assert (run_id in err) == listed_apart
    code, out, _ = call("verify", run_id, "--json")
    checked = json.loads(out)
    assert (code, checked["ok"]) == (1, False)
    assert checked["differences"]
    if damage == "an event without content":
        return  # neither report nor list are made of events
    for words in (["show", run_id], ["export", run_id, "--format", "md", "--out", tmp_path / "r.md"]):
        code, out, err = call(*words)
        assert code != 0
        assert out == ""
        assert run_id in err
        assert len(err.strip().splitlines()) == 1, err


def test_a_report_that_was_altered_is_not_shown(desk, capsys):
    record = desk.store.run(desk.run_id)
    place = desk.artifacts.path(record.report_sha256)
    report = json.loads(place.read_bytes())
    report["title"] = "Nothing was found"
    place.chmod(0o644)
    place.write_text(json.dumps(report), encoding="utf-8")
    desk.database.close()
    assert main(["show", desk.run_id, "--workspace", str(desk.database.path.parent)]) == 1
    told = capsys.readouterr()
    assert "Nothing was found" not in told.out
    assert f"The report of run {desk.run_id} cannot be read" in told.err


@pytest.mark.slow
def test_going_on_with_a_run_seals_it_again_and_an_older_change_stays_visible(open_engine, growth_csv, tmp_path):
    workspace = tmp_path / "again"
    with open_engine(workspace, embedding_model="none") as engine:
        plan = table_plan(growth_csv, n4="height > nothing")
        run_id = engine.run_plan(plan.model_copy(update={"nodes": plan.nodes[3:]}))
        assert engine.wait(run_id, PATIENCE).status == "failed"
        assert engine.verify(run_id).differences == []
    with open_engine(workspace, embedding_model="none") as engine:
        engine.resume(run_id)
        engine.wait(run_id, PATIENCE)
        assert engine.verify(run_id).differences == []
    database = Database(workspace / "biodesk.duckdb")
    store = DuckRunStore(database)
    assert len(store.archive.stored(run_id).seals) == 2
    first = min(row.place for row in store.archive.stored(run_id).rows if row.table == "result")
    with database.writing() as connection:
        connection.execute(
            """UPDATE results SET payload = json_merge_patch(payload, '{"error": "none"}') WHERE number = ?""", [first]
        )
    told = verify(run_id, store, FileArtifacts(workspace / "artifacts"), REGISTRY).differences
    database.close()
    assert [text for text in told if "error of an earlier result of step n4" in text]


def test_a_run_from_before_seals_says_so_and_is_covered_from_its_next_rest_on(desk):
    desk.write("INSERT INTO unsealed VALUES (?)", desk.run_id)
    desk.write("DELETE FROM seals")
    desk.write("UPDATE events SET chain = ''")
    before = desk.verify()
    assert before.differences == []
    assert any("before records were sealed" in note for note in before.notes)
    again = DuckRunStore(desk.database)
    again.update_run(again.run(desk.run_id))
    after = desk.verify()
    assert (after.differences, after.notes) == ([], [])
    desk.write("""UPDATE events SET payload = json_merge_patch(payload, '{"at": "2000"}') WHERE seq = 1""")
    assert any("vent 1" in text for text in desk.verify().differences)


def test_an_altered_result_is_not_taken_over_into_another_run(finished, tmp_path):
    from engine.api import open_engine

    workspace, run_id, _ = finished
    place = tmp_path / "ws"
    shutil.copytree(workspace, place)

    def asked_again() -> set[str]:
        with open_engine(workspace=place, warm_workers=False, embedding_model="none") as engine:
            record = engine.record(run_id)
            again = engine.ask(record.question, [Path(path) for path in record.data], auto_approve=True)
            assert engine.wait(again, PATIENCE).status == "succeeded"
            results = engine.view(again).results.values()
            assert not any("many, many" in finding.text for result in results for finding in result.findings)
            assert engine.verify(again).ok
            return {result.status for result in results}

    assert asked_again() == {"cached"}
    database = Database(place / "biodesk.duckdb")
    with database.writing() as connection:
        connection.execute("""UPDATE results SET payload = replace(payload, '"text":"', '"text":"many, many ')""")
    database.close()
    assert asked_again() == {"succeeded"}
    assert asked_again() == {"cached"}
