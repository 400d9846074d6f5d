"""The tables, as numbered steps that only go forward, so that a workspace of last year still opens.

A step that was ever released is never edited: a change is a new step with the next number. Each step is
applied in a transaction of its own together with the row that records it, so a process killed in between
leaves a database at one of the numbers and never between two. A database with a number this version does
not know was written by a newer one and is refused, because guessing what it means could lose data.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from engine.errors import IntegrityError, SchemaTooNew

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, slots=True)
class Migration:
    """One step: its number, a name for people and the statements it runs."""

    number: int
    name: str
    statements: tuple[str, ...]


MIGRATIONS: tuple[Migration, ...] = (
    Migration(
        1,
        "m0001_runs_plans_results",
        (
            "CREATE SEQUENCE run_numbers",
            # Every state of a run is a row; the highest number is the run as it is now.
            """
            CREATE TABLE runs (
                number BIGINT PRIMARY KEY DEFAULT nextval('run_numbers'),
                run_id VARCHAR NOT NULL,
                user_name VARCHAR NOT NULL,
                created_at VARCHAR NOT NULL,
                kind VARCHAR NOT NULL,
                version INTEGER NOT NULL,
                payload JSON NOT NULL
            )
            """,
            """
            CREATE TABLE plans (
                run_id VARCHAR NOT NULL,
                plan_version INTEGER NOT NULL,
                kind VARCHAR NOT NULL,
                version INTEGER NOT NULL,
                payload JSON NOT NULL,
                PRIMARY KEY (run_id, plan_version)
            )
            """,
            "CREATE SEQUENCE result_numbers",
            """
            CREATE TABLE results (
                number BIGINT PRIMARY KEY DEFAULT nextval('result_numbers'),
                run_id VARCHAR NOT NULL,
                node VARCHAR NOT NULL,
                status VARCHAR NOT NULL,
                cache_key VARCHAR NOT NULL,
                kind VARCHAR NOT NULL,
                version INTEGER NOT NULL,
                payload JSON NOT NULL
            )
            """,
        ),
    ),
    Migration(
        2,
        "m0002_events",
        (
            """
            CREATE TABLE events (
                run_id VARCHAR NOT NULL,
                seq BIGINT NOT NULL,
                happened_at VARCHAR NOT NULL,
                kind VARCHAR NOT NULL,
                version INTEGER NOT NULL,
                payload JSON NOT NULL,
                PRIMARY KEY (run_id, seq)
            )
            """,
        ),
    ),
    Migration(
        3,
        "m0003_graph",
        (
            # Numbers are handed out from here and never twice, so an old view can never name a newer row.
            """
            CREATE TABLE graph_state (
                graph_version BIGINT NOT NULL,
                next_node INTEGER NOT NULL,
                next_edge BIGINT NOT NULL,
                next_source INTEGER NOT NULL
            )
            """,
            "INSERT INTO graph_state VALUES (0, 0, 0, 0)",
            # Every state of a source is a row; the last one of a number holds. A replaced source keeps its number.
            """
            CREATE TABLE graph_sources (
                graph_version BIGINT NOT NULL,
                number INTEGER NOT NULL,
                source_id VARCHAR NOT NULL,
                in_force BOOLEAN NOT NULL,
                kind VARCHAR NOT NULL,
                version INTEGER NOT NULL,
                payload JSON NOT NULL
            )
            """,
            # No key is declared on these: one writer sees to it, and an index over millions of rows costs minutes.
            # Types are codes of engine.domain.knowledge.
            """
            CREATE TABLE graph_nodes (
                node INTEGER NOT NULL,
                node_id VARCHAR NOT NULL,
                node_type UTINYINT NOT NULL,
                name VARCHAR NOT NULL,
                named_by INTEGER NOT NULL
            )
            """,
            # What each source says of a node; the first source's word is the node's type and name.
            """
            CREATE TABLE graph_mentions (
                node INTEGER NOT NULL,
                source INTEGER NOT NULL,
                node_type UTINYINT NOT NULL,
                name VARCHAR NOT NULL,
                aliases VARCHAR[] NOT NULL,
                xrefs VARCHAR[] NOT NULL
            )
            """,
            """
            CREATE TABLE graph_edges (
                edge BIGINT NOT NULL,
                head INTEGER NOT NULL,
                tail INTEGER NOT NULL,
                edge_type UTINYINT NOT NULL,
                relation INTEGER NOT NULL,
                confidence FLOAT NOT NULL,
                source INTEGER NOT NULL
            )
            """,
            "CREATE TABLE graph_relations (relation INTEGER NOT NULL, name VARCHAR NOT NULL)",
        ),
    ),
    Migration(
        4,
        "m0004_catalogues",
        (
            # No key is declared: a catalogue is replaced as a whole, and DuckDB would see a key that is deleted
            # and stored again in one transaction as stored twice.
            """
            CREATE TABLE catalogues (
                name VARCHAR NOT NULL,
                kind VARCHAR NOT NULL,
                version INTEGER NOT NULL,
                payload JSON NOT NULL
            )
            """,
            """
            CREATE TABLE catalogue_entries (
                catalogue VARCHAR NOT NULL,
                name VARCHAR NOT NULL,
                kind VARCHAR NOT NULL,
                version INTEGER NOT NULL,
                payload JSON NOT NULL
            )
            """,
        ),
    ),
    Migration(
        5,
        "m0005_episodes",
        (
            "CREATE SEQUENCE episode_numbers",
            # Every state of an episode is a row; the highest number is the episode as it is now. No primary key:
            # it would make storing a hundred thousand at once slow, and the sequence never gives a number twice.
            """
            CREATE TABLE episodes (
                number BIGINT NOT NULL DEFAULT nextval('episode_numbers'),
                episode_id VARCHAR NOT NULL,
                kind VARCHAR NOT NULL,
                version INTEGER NOT NULL,
                payload JSON NOT NULL
            )
            """,
        ),
    ),
    Migration(
        6,
        "m0006_facts_conversations",
        (
            # Every state of a fact or a message is a row; the highest number is the state as it is now. The one
            # writer gives the numbers, so no index has to guard them.
            """
            CREATE TABLE facts (
                number BIGINT NOT NULL,
                fact_id VARCHAR NOT NULL,
                kind VARCHAR NOT NULL,
                version INTEGER NOT NULL,
                payload JSON NOT NULL
            )
            """,
            """
            CREATE TABLE messages (
                number BIGINT NOT NULL,
                conversation VARCHAR NOT NULL,
                place INTEGER NOT NULL,
                happened_at VARCHAR NOT NULL,
                kind VARCHAR NOT NULL,
                version INTEGER NOT NULL,
                payload JSON NOT NULL
            )
            """,
            # Made from the messages and can be made again, so these alone are replaced.
            """
            CREATE TABLE summaries (
                conversation VARCHAR NOT NULL,
                place INTEGER NOT NULL,
                kind VARCHAR NOT NULL,
                version INTEGER NOT NULL,
                payload JSON NOT NULL
            )
            """,
        ),
    ),
    Migration(
        7,
        "m0007_column_corrections",
        (
            # The newest row of a file's column is what was said last; an empty text takes the correction back.
            """
            CREATE TABLE column_corrections (
                number BIGINT NOT NULL,
                file_sha256 VARCHAR NOT NULL,
                column_name VARCHAR NOT NULL,
                said VARCHAR NOT NULL
            )
            """,
        ),
    ),
    Migration(
        8,
        "m0008_seals",
        (
            # Events of before stay without a place in the chain: sealing them now would vouch for what nobody watched.
            "ALTER TABLE events ADD COLUMN chain VARCHAR DEFAULT ''",
            "CREATE TABLE unsealed AS SELECT DISTINCT run_id FROM runs",
            """
            CREATE TABLE seals (
                run_id VARCHAR NOT NULL,
                number INTEGER NOT NULL,
                digest VARCHAR NOT NULL,
                payload JSON NOT NULL,
                PRIMARY KEY (run_id, number)
            )
            """,
        ),
    ),
    Migration(
        9,
        "m0009_conversation_titles",
        (
            # The newest row of a conversation is what it is called; an empty text takes the name back.
            """
            CREATE TABLE conversation_titles (
                number BIGINT NOT NULL,
                conversation VARCHAR NOT NULL,
                title VARCHAR NOT NULL
            )
            """,
        ),
    ),
    Migration(
        10,
        "m0010_model_calls",
        (
            "CREATE SEQUENCE model_call_numbers",
            # What budgets add up stands in columns of its own; the payload is the whole record.
            """
            CREATE TABLE model_calls (
                number BIGINT PRIMARY KEY DEFAULT nextval('model_call_numbers'),
                day VARCHAR NOT NULL,
                user_name VARCHAR NOT NULL,
                conversation VARCHAR NOT NULL,
                run_id VARCHAR NOT NULL,
                counts BOOLEAN NOT NULL,
                prompt_tokens BIGINT NOT NULL,
                completion_tokens BIGINT NOT NULL,
                usd DOUBLE NOT NULL,
                kind VARCHAR NOT NULL,
                version INTEGER NOT NULL,
                payload JSON NOT NULL
            )
            """,
            """
            CREATE TABLE model_answers (
                key VARCHAR PRIMARY KEY,
                run_id VARCHAR NOT NULL,
                kind VARCHAR NOT NULL,
                version INTEGER NOT NULL,
                payload JSON NOT NULL
            )
            """,
        ),
    ),
    Migration(
        11,
        "m0011_written_tools",
        (
            # A row a state: the newest of a tool is where it stands.
            """
            CREATE TABLE written_tools (
                number BIGINT NOT NULL,
                name VARCHAR NOT NULL,
                kind VARCHAR NOT NULL,
                version INTEGER NOT NULL,
                payload JSON NOT NULL
            )
            """,
        ),
    ),
    Migration(
        12,
        "m0012_tournaments",
        (
            # The one row of a tournament is how far it is; what it is made of are the items, which only grow.
            """
            CREATE TABLE tournaments (
                number BIGINT NOT NULL,
                tournament VARCHAR NOT NULL,
                user_name VARCHAR NOT NULL,
                kind VARCHAR NOT NULL,
                version INTEGER NOT NULL,
                payload JSON NOT NULL
            )
            """,
            """
            CREATE TABLE tournament_items (
                tournament VARCHAR NOT NULL,
                number BIGINT NOT NULL,
                kind VARCHAR NOT NULL,
                item_key VARCHAR NOT NULL,
                version INTEGER NOT NULL,
                payload JSON NOT NULL
            )
            """,
        ),
    ),
    Migration(
        13,
        "m0013_search_trees",
        (
            # A row a state of a search, and a row an end that it looked at.
            """
            CREATE TABLE search_trees (
                number BIGINT NOT NULL,
                tree_id VARCHAR NOT NULL,
                run_id VARCHAR NOT NULL,
                kind VARCHAR NOT NULL,
                version INTEGER NOT NULL,
                payload JSON NOT NULL
            )
            """,
            "CREATE TABLE search_ends (tree_id VARCHAR NOT NULL, key VARCHAR NOT NULL, value DOUBLE NOT NULL)",
        ),
    ),
    Migration(
        14,
        "m0014_failed_comparisons",
        (
            # A comparison that the judge failed to make was kept as one without a result; it is an item left out.
            """
            UPDATE tournament_items SET
                kind = 'skipped',
                item_key = 'ranking comparison ' || item_key,
                payload = json_object(
                    'stage', 'ranking', 'what', 'comparison ' || item_key, 'why', payload ->> '$.skipped'
                )
            WHERE kind = 'match' AND payload ->> '$.skipped' <> ''
            """,
            """
            UPDATE tournament_items SET payload = json_merge_patch(payload, '{"skipped": null}') WHERE kind = 'match'
            """,
        ),
    ),
)

_RECORD = """
    CREATE TABLE IF NOT EXISTS migrations (
        number INTEGER PRIMARY KEY,
        name VARCHAR NOT NULL,
        applied_at VARCHAR NOT NULL
    )
"""


def newest() -> int:
    """Return the number of the last step this version knows."""
    return MIGRATIONS[-1].number


def level(connection: duckdb.DuckDBPyConnection) -> int:
    """Return the number of the last step applied to a database, 0 for an empty one.

    Raises:
        IntegrityError: when the file holds tables but is not a Biodesk database.
        SchemaTooNew: when a newer Biodesk wrote it.
    """
    tables = {str(row[0]) for row in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    if "migrations" not in tables:
        if tables:
            raise IntegrityError(
                f"The database holds the tables {', '.join(sorted(tables)[:5])} but no record of Biodesk's own, "
                "so it was not made by Biodesk.",
                advice="Give another folder with --workspace, or move this database elsewhere.",
            )
        return 0
    rows = connection.execute("SELECT coalesce(max(number), 0) FROM migrations").fetchall()
    found = int(rows[0][0])
    if found > newest():
        raise SchemaTooNew(
            f"The workspace was written by a newer Biodesk (its tables are at step {found}, this version knows "
            f"steps up to {newest()}).",
            advice="Update Biodesk, or give another folder with --workspace.",
            details={"found": found, "known": newest()},
        )
    return found


def migrate(connection: duckdb.DuckDBPyConnection, steps: tuple[Migration, ...] = MIGRATIONS) -> list[int]:
    """Apply the steps a database lacks, in order, and return their numbers.

    Args:
        connection: a connection that may write and has no open transaction.
        steps: the steps to bring the database to; all of them unless a test asks for fewer.
    """
    reached = level(connection)
    applied: list[int] = []
    for step in steps:
        if step.number <= reached:
            continue
        _apply(connection, step)
        applied.append(step.number)
    return applied


def _apply(connection: duckdb.DuckDBPyConnection, step: Migration) -> None:
    """Run one step and record it, both or neither."""
    connection.begin()
    try:
        connection.execute(_RECORD)
        for statement in step.statements:
            connection.execute(statement)
        moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        connection.execute("INSERT INTO migrations VALUES (?, ?, ?)", [step.number, step.name, moment])
        connection.commit()
    except BaseException:
        connection.rollback()
        raise
