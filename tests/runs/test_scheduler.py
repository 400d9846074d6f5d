"""Steps run when what they wait for is done: at most once, never early; a failure stops only its descendants."""

from __future__ import annotations

import threading

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.runs.cancel import CancelSource
from engine.runs.scheduler import run_graph


class Recorder:
    """Does the work of a graph and writes down what happened, in order."""

    def __init__(self, fail: frozenset[str] = frozenset()) -> None:
        self.fail = fail
        self.lock = threading.Lock()
        self.started: list[str] = []
        self.succeeded_before: dict[str, set[str]] = {}
        self.done: set[str] = set()
        self.skipped: list[tuple[str, str]] = []
        self.at_work = self.most_at_work = 0

    def work(self, node: str) -> bool:
        with self.lock:
            self.started.append(node)
            self.succeeded_before[node] = set(self.done)
            self.at_work += 1
            self.most_at_work = max(self.most_at_work, self.at_work)
        threading.Event().wait(0.0005)
        with self.lock:
            self.at_work -= 1
            if node not in self.fail:
                self.done.add(node)
        return node not in self.fail

    def skip(self, node: str, because: str) -> None:
        self.skipped.append((node, because))


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[str], dict[str, list[str]]]:
    """Nodes in any order and, for each, what it waits for; always without a circle."""
    count = draw(st.integers(0, 10))
    names = [f"n{number}" for number in range(count)]
    upstream = {
        name: draw(st.lists(st.sampled_from(names[:number]), max_size=3, unique=True)) if number else []
        for number, name in enumerate(names)
    }
    return draw(st.permutations(names)), upstream


def descendants_of(failed: frozenset[str], upstream: dict[str, list[str]]) -> set[str]:
    """Return all that needs a failed node, computed by networkx."""
    graph = nx.DiGraph()
    graph.add_nodes_from(upstream)
    graph.add_edges_from((before, node) for node, others in upstream.items() for before in others)
    return {found for node in failed for found in nx.descendants(graph, node)}


@settings(max_examples=80, deadline=None)
@given(graphs(), st.integers(1, 4), st.data())
def test_every_node_runs_once_after_what_it_waits_for_and_a_failure_skips_exactly_its_descendants(graph, workers, data):
    nodes, upstream = graph
    fail = frozenset(data.draw(st.lists(st.sampled_from(nodes), unique=True))) if nodes else frozenset()
    recorder = Recorder(fail)
    run_graph(nodes, upstream, recorder.work, workers=workers, cancel=CancelSource(), on_skip=recorder.skip)
    blocked = descendants_of(fail, upstream)
    assert len(recorder.started) == len(set(recorder.started))
    assert set(recorder.started) == set(nodes) - blocked
    assert sorted(node for node, _ in recorder.skipped) == sorted(blocked)
    for node in recorder.started:
        assert set(upstream[node]) <= recorder.succeeded_before[node]
    for node, because in recorder.skipped:
        assert because in upstream[node]
        assert because in fail | blocked
    assert recorder.most_at_work <= workers


@settings(max_examples=40, deadline=None)
@given(graphs(), st.data())
def test_what_finished_before_is_not_run_again_and_counts_as_done(graph, data):
    nodes, upstream = graph
    before = data.draw(st.lists(st.sampled_from(nodes), unique=True)) if nodes else []
    finished = frozenset(before) | {u for node in before for u in nx.ancestors(_graph(upstream), node)}
    recorder = Recorder()
    recorder.done = set(finished)
    run_graph(nodes, upstream, recorder.work, workers=2, cancel=CancelSource(), finished=finished)
    assert sorted(recorder.started) == sorted(set(nodes) - finished)


def _graph(upstream: dict[str, list[str]]) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(upstream)
    graph.add_edges_from((before, node) for node, others in upstream.items() for before in others)
    return graph


@settings(max_examples=40, deadline=None)
@given(graphs(), st.data())
def test_after_a_cancellation_no_node_starts(graph, data):
    nodes, upstream = graph
    if not nodes:
        return
    after = data.draw(st.integers(1, len(nodes)))
    cancel, started = CancelSource(), []

    def work(node: str) -> bool:
        started.append(node)
        if len(started) == after:
            cancel.cancel()
        return True

    run_graph(nodes, upstream, work, workers=1, cancel=cancel)
    assert len(started) == after


def test_ready_nodes_beyond_the_number_of_workers_do_not_start_after_a_cancellation():
    cancel, both, started = CancelSource(), threading.Barrier(2, timeout=60), []

    def work(node: str) -> bool:
        started.append(node)
        both.wait()
        cancel.cancel()
        return True

    run_graph([f"n{number}" for number in range(10)], {}, work, workers=2, cancel=cancel)
    assert len(started) == 2


def test_a_node_starts_while_a_slow_node_of_an_earlier_level_still_runs():
    third_started = threading.Event()

    def work(node: str) -> bool:
        if node == "slow":
            return third_started.wait(60)  # ends only once the node two levels below has started
        if node == "third":
            third_started.set()
        return True

    skipped: list[tuple[str, str]] = []
    run_graph(
        ["slow", "first", "second", "third"],
        {"second": ["first"], "third": ["second"]},
        work,
        workers=2,
        cancel=CancelSource(),
        on_skip=lambda node, because: skipped.append((node, because)),
    )
    assert third_started.is_set()
    assert skipped == []


def test_earlier_nodes_start_first_where_several_are_ready():
    started: list[str] = []
    run_graph(["c", "a", "b"], {}, lambda node: not started.append(node), workers=1, cancel=CancelSource())
    assert started == ["c", "a", "b"]


def test_an_error_is_raised_after_the_running_nodes_ended_and_nothing_new_starts():
    release, ended, started = threading.Event(), [], []

    def work(node: str) -> bool:
        started.append(node)
        if node == "bad":
            threading.Timer(0.1, release.set).start()
            raise OSError("disk")
        release.wait(60)
        ended.append(node)
        return True

    with pytest.raises(OSError, match="disk"):
        run_graph(["good", "bad", "later"], {}, work, workers=2, cancel=CancelSource())
    assert ended == ["good"]
    assert sorted(started) == ["bad", "good"]


def test_a_node_that_waits_for_something_unknown_never_runs():
    started: list[str] = []
    run_graph(["a", "b"], {"b": ["ghost"]}, lambda n: not started.append(n), workers=2, cancel=CancelSource())
    assert started == ["a"]
