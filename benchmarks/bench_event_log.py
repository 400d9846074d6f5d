"""How fast events are stored, and how long one takes until a page can see it, beside bare DuckDB inserts.

    python benchmarks/bench_event_log.py [--rounds 5]

An event is visible when it is committed: readers never see one that a power cut would take back.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import duckdb  # noqa: E402

from benchmarks.measuring import arguments, report, summary, target  # noqa: E402
from engine.adapters.system import SystemClock  # noqa: E402
from engine.domain.events import NodeOutput  # noqa: E402
from engine.domain.results import RunRecord  # noqa: E402
from engine.runs.event_log import EventLog  # noqa: E402
from storage.runs.store import DuckRunStore  # noqa: E402

BURST, SINGLE, LOOKS = 5_000, 500, 40
LIMIT_MS = 200
TEXT = "12,345 genes tested"


def event(run_id: str) -> NodeOutput:
    """Return an event of the most frequent kind."""
    return NodeOutput(run_id=run_id, node="n1", stream="stdout", text=TEXT)


def burst(log: EventLog, run_id: str) -> float:
    """Return events a second for a burst from one thread, until all are committed."""
    began = time.perf_counter()
    for _ in range(BURST):
        log.emit(event(run_id))
    log.flush()
    return BURST / (time.perf_counter() - began)


def visible(store: DuckRunStore, log: EventLog, run_id: str, *, beside: int) -> list[float]:
    """Return milliseconds from emitting an event until a reader finds it, with `beside` others emitted just before."""
    waits: list[float] = []
    last = store.events(run_id)[-1].seq
    for _ in range(LOOKS):
        for _ in range(beside):
            log.emit(event(run_id))
        began = time.perf_counter()
        log.emit(event(run_id))
        while not (found := store.events(run_id, after=last + beside)):
            if time.perf_counter() - began > 10:
                raise SystemExit("An event was not visible after 10 s.")
            time.sleep(0.001)
        waits.append((time.perf_counter() - began) * 1000)
        last = found[-1].seq
        time.sleep(0.02)
    return waits


def bare(path: Path, *, batch: int) -> float:
    """Return rows a second for plain inserts of the same payload, each batch a commit of its own."""
    connection = duckdb.connect(str(path))
    connection.execute("CREATE TABLE events (run_id VARCHAR, seq BIGINT, kind VARCHAR, payload JSON)")
    payload = event("run").model_dump_json()
    count = SINGLE if batch == 1 else BURST
    began = time.perf_counter()
    for start in range(0, count, batch):
        rows = [["run", start + number, "node_output", payload] for number in range(batch)]
        marks = ", ".join(["(?, ?, ?, ?)"] * batch)
        connection.execute(f"INSERT INTO events VALUES {marks}", [value for row in rows for value in row])
    rate = count / (time.perf_counter() - began)
    connection.close()
    return rate


def main() -> None:
    """Measure, compare, report."""
    options = arguments(__doc__, rounds=5)
    rates: dict[str, list[float]] = {"log": [], "single": [], "batch": []}
    alone: list[float] = []
    crowded: list[float] = []
    with tempfile.TemporaryDirectory(prefix="biodesk-bench-") as place:
        clock = SystemClock()
        store = DuckRunStore(Path(place) / "biodesk.duckdb")
        log = EventLog(store, clock)
        try:
            for number in range(options.rounds):
                run_id = f"run_{number}"
                now = clock.now()
                store.create_run(RunRecord(run_id=run_id, user="bench", question="?", status="running", created_at=now))
                rates["log"].append(burst(log, run_id))
                rates["single"].append(bare(Path(place) / f"single{number}.duckdb", batch=1))
                rates["batch"].append(bare(Path(place) / f"batch{number}.duckdb", batch=100))
                alone += visible(store, log, run_id, beside=0)
                crowded += visible(store, log, run_id, beside=100)
        finally:
            log.close()
            store.close()
    rows = [
        summary(f"event log, burst of {BURST:,}", rates["log"], unit="events/s", digits=0),
        summary("bare DuckDB, one row a commit", rates["single"], unit="rows/s", digits=0),
        summary("bare DuckDB, 100 rows a commit", rates["batch"], unit="rows/s", digits=0),
        summary("emit until visible, alone", alone, unit="ms"),
        summary("emit until visible, behind 100 others", crowded, unit="ms"),
    ]
    worst = max(row["p95"] for row in rows[3:])
    gain = statistics.median(rates["log"]) / statistics.median(rates["single"])
    notes = [f"Rates: more is better. The event log stores {gain:.1f} times as many a second as single-row commits."]
    report("event_log", rows, [target("emit until visible, p95", worst, LIMIT_MS, unit=" ms")], notes)


if __name__ == "__main__":
    main()
