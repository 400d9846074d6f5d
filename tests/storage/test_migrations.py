"""The schema: what it is, how a database gets there, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

from engine.domain.discovery.hypotheses import Match, Skipped
from engine.errors import IntegrityError, SchemaTooNew, StorageError
from storage import migrations
from storage.database import Database
from storage.hypotheses.store import DuckHypotheses
from storage.migrations import MIGRATIONS, Migration, migrate

SCHEMA = {
    "catalogue_entries": [
        ("catalogue", "VARCHAR", False),
        ("name", "VARCHAR", False),
        ("kind", "VARCHAR", False),
        ("version", "INTEGER", False),
        ("payload", "JSON", False),
    ],
    "catalogues": [
        ("name", "VARCHAR", False),
        ("kind", "VARCHAR", False),
        ("version", "INTEGER", False),
        ("payload", "JSON", False),
    ],
    "column_corrections": [
        ("number", "BIGINT", False),
        ("file_sha256", "VARCHAR", False),
        ("column_name", "VARCHAR", False),
        ("said", "VARCHAR", False),
    ],
    "conversation_titles": [
        ("number", "BIGINT", False),
        ("conversation", "VARCHAR", False),
        ("title", "VARCHAR", False),
    ],
    "episodes": [
        ("number", "BIGINT", False),
        ("episode_id", "VARCHAR", False),
        ("kind", "VARCHAR", False),
        ("version", "INTEGER", False),
        ("payload", "JSON", False),
    ],
    "events": [
        ("run_id", "VARCHAR", False),
        ("seq", "BIGINT", False),
        ("happened_at", "VARCHAR", False),
        ("kind", "VARCHAR", False),
        ("version", "INTEGER", False),
        ("payload", "JSON", False),
        ("chain", "VARCHAR", True),
    ],
    "facts": [
        ("number", "BIGINT", False),
        ("fact_id", "VARCHAR", False),
        ("kind", "VARCHAR", False),
        ("version", "INTEGER", False),
        ("payload", "JSON", False),
    ],
    "graph_edges": [
        ("edge", "BIGINT", False),
        ("head", "INTEGER", False),
        ("tail", "INTEGER", False),
        ("edge_type", "UTINYINT", False),
        ("relation", "INTEGER", False),
        ("confidence", "FLOAT", False),
        ("source", "INTEGER", False),
    ],
    "graph_mentions": [
        ("node", "INTEGER", False),
        ("source", "INTEGER", False),
        ("node_type", "UTINYINT", False),
        ("name", "VARCHAR", False),
        ("aliases", "VARCHAR[]", False),
        ("xrefs", "VARCHAR[]", False),
    ],
    "graph_nodes": [
        ("node", "INTEGER", False),
        ("node_id", "VARCHAR", False),
        ("node_type", "UTINYINT", False),
        ("name", "VARCHAR", False),
        ("named_by", "INTEGER", False),
    ],
    "graph_relations": [("relation", "INTEGER", False), ("name", "VARCHAR", False)],
    "graph_sources": [
        ("graph_version", "BIGINT", False),
        ("number", "INTEGER", False),
        ("source_id", "VARCHAR", False),
        ("in_force", "BOOLEAN", False),
        ("kind", "VARCHAR", False),
        ("version", "INTEGER", False),
        ("payload", "JSON", False),
    ],
    "graph_state": [
        ("graph_version", "BIGINT", False),
        ("next_node", "INTEGER", False),
        ("next_edge", "BIGINT", False),
        ("next_source", "INTEGER", False),
    ],
    "messages": [
        ("number", "BIGINT", False),
        ("conversation", "VARCHAR", False),
        ("place", "INTEGER", False),
        ("happened_at", "VARCHAR", False),
        ("kind", "VARCHAR", False),
        ("version", "INTEGER", False),
        ("payload", "JSON", False),
    ],
    "migrations": [("number", "INTEGER", False), ("name", "VARCHAR", False), ("applied_at", "VARCHAR", False)],
    "model_answers": [
        ("key", "VARCHAR", False),
        ("run_id", "VARCHAR", False),
        ("kind", "VARCHAR", False),
        ("version", "INTEGER", False),
        ("payload", "JSON", False),
    ],
    "model_calls": [
        ("number", "BIGINT", False),
        ("day", "VARCHAR", False),
        ("user_name", "VARCHAR", False),
        ("conversation", "VARCHAR", False),
        ("run_id", "VARCHAR", False),
        ("counts", "BOOLEAN", False),
        ("prompt_tokens", "BIGINT", False),
        ("completion_tokens", "BIGINT", False),
        ("usd", "DOUBLE", False),
        ("kind", "VARCHAR", False),
        ("version", "INTEGER", False),
        ("payload", "JSON", False),
    ],
    "plans": [
        ("run_id", "VARCHAR", False),
        ("plan_version", "INTEGER", False),
        ("kind", "VARCHAR", False),
        ("version", "INTEGER", False),
        ("payload", "JSON", False),
    ],
    "results": [
        ("number", "BIGINT", False),
        ("run_id", "VARCHAR", False),
        ("node", "VARCHAR", False),
        ("status", "VARCHAR", False),
        ("cache_key", "VARCHAR", False),
        ("kind", "VARCHAR", False),
        ("version", "INTEGER", False),
        ("payload", "JSON", False),
    ],
    "runs": [
        ("number", "BIGINT", False),
        ("run_id", "VARCHAR", False),
        ("user_name", "VARCHAR", False),
        ("created_at", "VARCHAR", False),
        ("kind", "VARCHAR", False),
        ("version", "INTEGER", False),
        ("payload", "JSON", False),
    ],
    "seals": [
        ("run_id", "VARCHAR", False),
        ("number", "INTEGER", False),
        ("digest", "VARCHAR", False),
        ("payload", "JSON", False),
    ],
    "search_ends": [("tree_id", "VARCHAR", False), ("key", "VARCHAR", False), ("value", "DOUBLE", False)],
    "search_trees": [
        ("number", "BIGINT", False),
        ("tree_id", "VARCHAR", False),
        ("run_id", "VARCHAR", False),
        ("kind", "VARCHAR", False),
        ("version", "INTEGER", False),
        ("payload", "JSON", False),
    ],
    "summaries": [
        ("conversation", "VARCHAR", False),
        ("place", "INTEGER", False),
        ("kind", "VARCHAR", False),
        ("version", "INTEGER", False),
        ("payload", "JSON", False),
    ],
    "tournament_items": [
        ("tournament", "VARCHAR", False),
        ("number", "BIGINT", False),
        ("kind", "VARCHAR", False),
        ("item_key", "VARCHAR", False),
        ("version", "INTEGER", False),
        ("payload", "JSON", False),
    ],
    "tournaments": [
        ("number", "BIGINT", False),
        ("tournament", "VARCHAR", False),
        ("user_name", "VARCHAR", False),
        ("kind", "VARCHAR", False),
        ("version", "INTEGER", False),
        ("payload", "JSON", False),
    ],
    "unsealed": [("run_id", "VARCHAR", True)],
    "written_tools": [
        ("number", "BIGINT", False),
        ("name", "VARCHAR", False),
        ("kind", "VARCHAR", False),
        ("version", "INTEGER", False),
        ("payload", "JSON", False),
    ],
}

KEYS = {
    ("events", ("run_id", "seq")),
    ("migrations", ("number",)),
    ("model_answers", ("key",)),
    ("model_calls", ("number",)),
    ("plans", ("run_id", "plan_version")),
    ("results", ("number",)),
    ("runs", ("number",)),
    ("seals", ("run_id", "number")),
}


def schema(connection: duckdb.DuckDBPyConnection) -> dict[str, list[tuple[str, str, bool]]]:
    rows = connection.execute(
        "SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns() "
        "WHERE NOT internal ORDER BY table_name, column_index"
    ).fetchall()
    found: dict[str, list[tuple[str, str, bool]]] = {}
    for table, column, kind, nullable in rows:
        found.setdefault(table, []).append((column, kind, nullable))
    return found


def test_the_tables_columns_and_types_are_these(tmp_path: Path) -> None:
    Database(tmp_path / "b.duckdb").close()
    with duckdb.connect(str(tmp_path / "b.duckdb")) as connection:
        assert schema(connection) == SCHEMA
        keys = connection.execute(
            "SELECT table_name, constraint_column_names FROM duckdb_constraints() WHERE constraint_type = 'PRIMARY KEY'"
        ).fetchall()
        assert {(table, tuple(columns)) for table, columns in keys} == KEYS


def test_steps_are_numbered_from_one_without_gaps_and_named_after_their_number() -> None:
    assert [step.number for step in MIGRATIONS] == list(range(1, len(MIGRATIONS) + 1))
    for step in MIGRATIONS:
        assert re.fullmatch(rf"m{step.number:04d}_[a-z_]+", step.name)


def test_each_step_is_recorded_once_with_its_time(tmp_path: Path) -> None:
    for _ in range(2):
        Database(tmp_path / "b.duckdb").close()
    with duckdb.connect(str(tmp_path / "b.duckdb")) as connection:
        rows = connection.execute("SELECT number, name, applied_at FROM migrations ORDER BY number").fetchall()
    assert [row[:2] for row in rows] == [(step.number, step.name) for step in MIGRATIONS]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", row[2]) for row in rows)


def test_a_database_of_every_earlier_step_is_brought_up_and_keeps_its_rows(tmp_path: Path) -> None:
    for count in range(1, len(MIGRATIONS)):
        path = tmp_path / f"{count}.duckdb"
        with duckdb.connect(str(path)) as connection:
            assert migrate(connection, MIGRATIONS[:count]) == list(range(1, count + 1))
            connection.execute("INSERT INTO plans VALUES ('run_1', 1, 'plan', 1, '{}')")
        Database(path).close()
        with duckdb.connect(str(path)) as connection:
            assert schema(connection) == SCHEMA
            assert connection.execute("SELECT run_id FROM plans").fetchall() == [("run_1",)]


def test_a_step_that_fails_leaves_the_database_at_the_step_before(tmp_path: Path) -> None:
    broken = Migration(len(MIGRATIONS) + 1, "m9999_broken", ("CREATE TABLE half (a INTEGER)", "CREATE NONSENSE"))
    with duckdb.connect(str(tmp_path / "b.duckdb")) as connection:
        with pytest.raises(duckdb.ParserException):
            migrate(connection, (*MIGRATIONS, broken))
        assert schema(connection) == SCHEMA
        assert migrations.level(connection) == len(MIGRATIONS)
        assert migrate(connection) == []


def test_a_database_of_a_newer_biodesk_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "b.duckdb"
    Database(path).close()
    with duckdb.connect(str(path)) as connection:
        connection.execute("INSERT INTO migrations VALUES (99, 'm0099_future', '2030-01-01T00:00:00.000Z')")
    for read_only in (False, True):
        with pytest.raises(
            SchemaTooNew, match=f"at step 99, this version knows steps up to {len(MIGRATIONS)}"
        ) as refused:
            Database(path, read_only=read_only)
        assert "Update Biodesk" in refused.value.advice
    with duckdb.connect(str(path)) as connection:
        assert schema(connection) == SCHEMA


def test_a_database_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "theirs.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE customers AS SELECT 42 AS id")
    with pytest.raises(IntegrityError, match=r"customers.*not made by Biodesk"):
        Database(path)
    with duckdb.connect(str(path)) as connection:
        assert list(schema(connection)) == ["customers"]
        assert connection.execute("SELECT id FROM customers").fetchall() == [(42,)]


def test_an_older_database_cannot_be_read_before_it_was_brought_up(tmp_path: Path) -> None:
    path = tmp_path / "b.duckdb"
    with duckdb.connect(str(path)) as connection:
        migrate(connection, MIGRATIONS[:1])
    with pytest.raises(StorageError, match=f"tables at step 1, this version needs {len(MIGRATIONS)}"):
        Database(path, read_only=True)
    Database(path).close()
    Database(path, read_only=True).close()


def test_comparisons_that_failed_become_items_left_out(tmp_path: Path) -> None:
    path = tmp_path / "b.duckdb"
    with duckdb.connect(str(path)) as connection:
        migrate(connection, MIGRATIONS[:13])
        held = '{"number": %d, "first": "h1", "second": "h2", "score": 0.5, "skipped": "%s"}'
        for number, why in enumerate(("", "No answer.")):
            row = ["t1", number + 1, "match", str(number), 1, held % (number, why)]
            connection.execute("INSERT INTO tournament_items VALUES (?, ?, ?, ?, ?, ?)", row)
    database = Database(path)
    assert [item for _, item in DuckHypotheses(database).items("t1")] == [
        Match(number=0, first="h1", second="h2", score=0.5),
        Skipped(stage="ranking", what="comparison 1", why="No answer."),
    ]
    database.close()
