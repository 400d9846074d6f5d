"""Imports in a thread of their own: one at a time, watched, stopped midway with everything as it was, and closed."""

from __future__ import annotations

import threading

import pytest

from engine.errors import DataError, Interrupted, LimitExceeded, NotFoundError
from engine.runs.imports import ImportRunner

PATIENCE = 30


@pytest.fixture
def runner():
    made = ImportRunner()
    yield made
    made.close()


def held(begun: threading.Event, go: threading.Event):
    """Return work that tells where it is, waits, and stops when it is told to."""

    def work(tell, cancel):
        tell("reading", 3, 4)
        begun.set()
        cancel.on_cancel(go.set)
        assert go.wait(PATIENCE)
        if cancel.cancelled:
            raise Interrupted("Stopped.")
        return "outcome"

    return work


def test_what_goes_on_is_told_and_what_came_of_it_is_kept_until_dismissed(runner):
    begun, go = threading.Event(), threading.Event()
    assert runner.state() is None
    started = runner.start("graph", "edges.tsv", held(begun, go))
    assert begun.wait(PATIENCE)
    now = runner.state()
    assert (now.id, now.title, now.status, now.step, now.counts) == (
        started.id,
        "edges.tsv",
        "running",
        "reading",
        (3, 4),
    )
    assert now.seconds >= 0
    runner.dismiss(started.id)  # nothing happens while it goes on
    assert runner.state() is not None
    go.set()
    ended = runner.wait(PATIENCE)
    assert (ended.status, ended.outcome, ended.error) == ("done", "outcome", None)
    assert runner.state().seconds == runner.state().seconds  # the time of an import that ended stands still
    runner.dismiss("another")
    assert runner.state() is not None
    runner.dismiss(started.id)
    assert runner.state() is None


def test_a_second_one_is_refused_with_a_sentence_until_the_first_has_ended(runner):
    begun, go = threading.Event(), threading.Event()
    runner.start("graph", "first.tsv", held(begun, go))
    assert begun.wait(PATIENCE)
    with pytest.raises(LimitExceeded) as refused:
        runner.start("catalogue", "second.json", lambda tell, cancel: "never")
    assert "second.json was not imported" in refused.value.message
    assert "first.tsv is still going on" in refused.value.message
    assert refused.value.advice
    assert runner.state().title == "first.tsv"
    go.set()
    assert runner.wait(PATIENCE).outcome == "outcome"
    runner.start("catalogue", "second.json", lambda tell, cancel: 2)
    assert runner.wait(PATIENCE).outcome == 2


def test_only_one_of_many_that_start_at_once_goes_on(runner):
    gate, go, begun = threading.Barrier(8), threading.Event(), threading.Event()
    said: list[str] = []

    def start(number: int) -> None:
        gate.wait()
        try:
            runner.start("graph", f"{number}.tsv", held(begun, go))
            said.append("started")
        except LimitExceeded:
            said.append("refused")

    threads = [threading.Thread(target=start, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said) == ["refused"] * 7 + ["started"]
    go.set()


def test_stopping_is_told_at_once_and_ends_as_stopped(runner):
    told, leave = threading.Event(), threading.Event()

    def slow(tell, cancel):
        cancel.on_cancel(told.set)
        assert leave.wait(PATIENCE)
        raise Interrupted("Stopped.")

    job = runner.start("graph", "edges.tsv", slow)
    assert runner.stop(job.id).status == "stopping"
    assert told.wait(PATIENCE)
    assert runner.state().status == "stopping"
    assert runner.stop(job.id).status == "stopping"  # twice is as once
    leave.set()
    ended = runner.wait(PATIENCE)
    assert (ended.status, ended.outcome, ended.error) == ("stopped", None, None)
    assert runner.stop(job.id).status == "stopped"  # too late, and no harm
    with pytest.raises(NotFoundError):
        runner.stop("another")


def test_one_that_was_done_before_it_could_stop_is_done(runner):
    told = threading.Event()

    def deaf(tell, cancel):
        assert told.wait(PATIENCE)
        return 7

    job = runner.start("graph", "edges.tsv", deaf)
    runner.stop(job.id)
    told.set()
    assert runner.wait(PATIENCE).status == "done"
    assert (runner.state().outcome, runner.state().asked_to_stop) == (7, True)


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (DataError("edges.tsv: line 3 has 2 columns.", advice="Mend it."), "edges.tsv: line 3 has 2 columns."),
        (ZeroDivisionError("by zero"), "edges.tsv could not be imported (ZeroDivisionError: by zero)."),
        (Interrupted("The disk went away."), "The disk went away."),  # nobody had asked it to stop
    ],
)
def test_what_goes_wrong_is_kept_as_a_sentence(runner, raised, message):
    def fail(tell, cancel):
        raise raised

    runner.start("graph", "edges.tsv", fail)
    ended = runner.wait(PATIENCE)
    assert (ended.status, ended.error.message) == ("failed", message)
    runner.start("graph", "edges.tsv", lambda tell, cancel: 1)  # and the next one is let in
    assert runner.wait(PATIENCE).status == "done"


def test_closing_stops_what_goes_on_and_lets_nothing_in():
    runner = ImportRunner()
    begun, go = threading.Event(), threading.Event()
    runner.start("graph", "edges.tsv", held(begun, go))
    assert begun.wait(PATIENCE)
    runner.close()
    assert runner.state().status == "stopped"
    with pytest.raises(LimitExceeded):
        runner.start("graph", "more.tsv", lambda tell, cancel: 1)
    runner.close()


# ==== through the engine, with its stores ====


@pytest.fixture
def engine(tmp_path):
    from engine.api import open_engine

    with open_engine(workspace=tmp_path / "workspace", warm_workers=False) as opened:
        yield opened


def hold_at(monkeypatch, target, name, begun, go):
    """Make a method of an object wait at its first call."""
    real = getattr(target, name)

    def waiting(*args, **options):
        begun.set()
        assert go.wait(PATIENCE)
        return real(*args, **options)

    monkeypatch.setattr(target, name, waiting)


@pytest.fixture
def gene_sets(tmp_path):
    path = tmp_path / "sets.gmt"
    path.write_text("MY_SET\tmade up\tEGFR\tTP53\tBRCA1\nOTHER_SET\tmade up\tKRAS\tEGFR\tMYC\n")
    return path


def test_a_graph_import_runs_to_its_end(engine, gene_sets):
    state = engine.imports.start_graph("gmt", [gene_sets])
    assert (state.kind, state.title) == ("graph", "sets.gmt")
    ended = engine.imports.wait(PATIENCE)
    assert ended.status == "done", ended.error
    assert ended.outcome.edges_added == 6
    assert engine.knowledge.search("MY_SET", top=1)


def test_a_graph_import_that_is_stopped_midway_leaves_the_graph_as_it_was(engine, gene_sets, monkeypatch):
    from storage.graph import write as graph_write

    before = engine.knowledge.stats()
    begun, go = threading.Event(), threading.Event()
    hold_at(monkeypatch, graph_write, "replace", begun, go)  # all is read, and the writing has begun
    state = engine.imports.start_graph("gmt", [gene_sets])
    assert begun.wait(PATIENCE)
    with pytest.raises(LimitExceeded, match=r"sets\.gmt is still going on"):
        engine.imports.start_catalogue("jsonl", gene_sets)
    assert engine.knowledge.stats() == before  # and questions are answered meanwhile
    assert engine.imports.stop(state.id).status == "stopping"
    go.set()
    assert engine.imports.wait(PATIENCE).status == "stopped"
    assert engine.knowledge.stats() == before
    engine.imports.start_graph("gmt", [gene_sets])  # and it can be imported after all
    assert engine.imports.wait(PATIENCE).outcome.edges_added == 6


def test_a_broken_file_fails_with_its_line(engine, tmp_path):
    path = tmp_path / "broken.tsv"
    path.write_text("source\ttype\ttarget\nGene::1956\tinteracts_with\n")
    engine.imports.start_graph("tables", [path])
    ended = engine.imports.wait(PATIENCE)
    assert ended.status == "failed"
    assert "broken.tsv" in ended.error.message
    assert "2" in ended.error.message


def test_a_catalogue_import_that_is_stopped_midway_leaves_the_catalogues_as_they_were(engine, tmp_path, monkeypatch):
    path = tmp_path / "mine.jsonl"
    path.write_text('{"name": "doubletmaker", "description": "Simulates doublets of nuclei"}\n')
    engine.imports.start_catalogue("jsonl", path)
    assert engine.imports.wait(PATIENCE).outcome.added == 1
    before = engine.catalogue.catalogues()

    path.write_text('{"name": "nucleuscounter", "description": "Counts nuclei in images of tissue"}\n')
    begun, go = threading.Event(), threading.Event()
    hold_at(monkeypatch, type(engine._parts.finder.embeddings.embedder), "embed", begun, go)
    state = engine.imports.start_catalogue("jsonl", path)
    assert begun.wait(PATIENCE)
    now = engine.imports.state()
    assert (now.step, now.counts) == ("embedding", (0, 1))
    engine.imports.stop(state.id)
    go.set()
    assert engine.imports.wait(PATIENCE).status == "stopped"
    assert engine.catalogue.catalogues() == before
    assert [entry.name for entry in engine._parts.finder.store.entries()] == ["doubletmaker"]


def test_closing_the_engine_stops_an_import_and_nothing_of_it_stays(tmp_path, gene_sets, monkeypatch):
    from engine.api import open_engine
    from storage.graph import write as graph_write

    begun, go = threading.Event(), threading.Event()
    engine = open_engine(workspace=tmp_path / "closed", warm_workers=False)
    before = engine.knowledge.stats().edges
    hold_at(monkeypatch, graph_write, "replace", begun, go)
    engine.imports.start_graph("gmt", [gene_sets])
    assert begun.wait(PATIENCE)
    threading.Timer(0.2, go.set).start()
    engine.close()
    with open_engine(workspace=tmp_path / "closed", warm_workers=False) as again:
        assert again.knowledge.stats().edges == before
