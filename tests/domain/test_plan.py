"""A plan's order, its descendants and the one text that equal values have."""

from __future__ import annotations

import json

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from engine.domain.datatypes import DataType
from engine.domain.encoding.hashing import canonical_json, sha256_text, sha256_value
from engine.domain.plan import Dataset, TaskDag, TaskNode, texts_of


def a_plan(upstream: dict[str, list[str]], *, by_input: bool = False) -> TaskDag:
    nodes = []
    for name, others in upstream.items():
        links = {"inputs": {f"i{k}": f"{o}.out" for k, o in enumerate(others)}} if by_input else {"depends_on": others}
        nodes.append(TaskNode(id=name, name=name, tool="t", **links))
    return TaskDag(question="q", nodes=nodes)


def a_graph(upstream: dict[str, list[str]]) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(upstream)
    graph.add_edges_from((before, node) for node, others in upstream.items() for before in others)
    return graph


@st.composite
def wirings(draw: st.DrawFn, *, acyclic: bool) -> dict[str, list[str]]:
    names = [f"n{number}" for number in range(draw(st.integers(1, 9)))]
    listed = draw(st.permutations(names))
    earlier = {name: (names[:number] if acyclic else names) for number, name in enumerate(names)}
    some = {
        n: draw(st.lists(st.sampled_from(earlier[n]), max_size=3, unique=True)) if earlier[n] else [] for n in names
    }
    return {name: some[name] for name in listed}


@settings(max_examples=100, deadline=None)
@given(wirings(acyclic=True), st.booleans())
def test_the_order_holds_every_step_once_after_those_it_waits_for(upstream, by_input):
    plan = a_plan(upstream, by_input=by_input)
    order = [node.id for node in plan.order()]
    assert sorted(order) == sorted(upstream)
    for node, others in upstream.items():
        assert all(order.index(other) < order.index(node) for other in others)


@settings(max_examples=100, deadline=None)
@given(wirings(acyclic=False), st.booleans())
def test_an_order_exists_exactly_where_there_is_no_circle(upstream, by_input):
    plan, graph = a_plan(upstream, by_input=by_input), a_graph(upstream)
    if nx.is_directed_acyclic_graph(graph):
        assert len(plan.order()) == len(upstream)
        return
    with pytest.raises(ValueError, match="wait for each other in a circle") as caught:
        plan.order()
    in_a_circle = set().union(*(c for c in nx.strongly_connected_components(graph) if len(c) > 1), set())
    in_a_circle |= set(nx.nodes_with_selfloops(graph))
    assert all(node in str(caught.value) for node in in_a_circle)


@settings(max_examples=100, deadline=None)
@given(wirings(acyclic=False), st.booleans())
def test_descendants_are_those_networkx_finds(upstream, by_input):
    plan, graph = a_plan(upstream, by_input=by_input), a_graph(upstream)
    for node in upstream:
        expected = nx.descendants(graph, node) | ({node} if any(node in c for c in nx.simple_cycles(graph)) else set())
        assert plan.descendants(node) == expected


def test_plan_order_breaks_ties():
    plan = a_plan({"b": [], "a": [], "c": ["a"]})
    assert [node.id for node in plan.order()] == ["b", "a", "c"]


def test_data_are_not_steps_to_wait_for():
    node = TaskNode(id="n1", name="n", tool="t", inputs={"x": "data:counts.csv", "y": "n0.de_table"}, depends_on=["n0"])
    assert node.upstream() == ["n0"]


@pytest.mark.parametrize(
    ("value", "texts"),
    [("age", ["age"]), (["age", "sex"], ["age", "sex"]), ([1, "", None, 2.5], ["1", "2.5"]), (None, []), ("", []), (0, ["0"])],
)  # fmt: skip
def test_what_a_parameter_holds_is_read_as_texts(value, texts):
    assert texts_of(value) == texts


@pytest.mark.parametrize("name", ["1n", "", "n 1", "n.1", "../n", "n-1", "data:x"])
def test_a_step_id_that_could_be_read_as_a_path_or_reference_is_refused(name):
    with pytest.raises(ValidationError):
        TaskNode(id=name, name="n", tool="t")


def test_a_plan_survives_its_json_and_refuses_fields_it_does_not_know():
    dataset = Dataset(name="d.csv", path="/d.csv", sha256="0" * 64, type=DataType.TABLE, read={"sep": "\t"})
    node = TaskNode(id="n1", name="n", tool="t", inputs={"x": "data:d.csv"}, params={"a": [1, "x", None, 0.5]})
    plan = TaskDag(question="Größe?", datasets=[dataset], nodes=[node])
    assert TaskDag.model_validate_json(plan.model_dump_json()) == plan
    with pytest.raises(ValidationError):
        TaskDag.model_validate({**plan.model_dump(), "qestion": "typed wrong"})


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_canonical_json_reads_back_as_the_same_value(value):
    assert json.loads(canonical_json(value)) == value


def _reordered(value):
    if isinstance(value, dict):
        return {key: _reordered(value[key]) for key in reversed(list(value))}
    return [_reordered(item) for item in value] if isinstance(value, list) else value


@given(values)
def test_equal_values_have_one_text_however_their_keys_are_ordered(value):
    assert canonical_json(_reordered(value)) == canonical_json(value)


@given(st.dictionaries(st.text(), st.integers(), min_size=1), st.integers())
def test_another_value_has_another_hash(value, other):
    key = next(iter(value))
    changed = {**value, key: other}
    assert (sha256_value(changed) == sha256_value(value)) == (changed == value)


def test_the_hash_of_the_empty_text_is_the_published_one():
    # FIPS 180-4 test vector.
    assert sha256_text("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": [-float("inf")]}])
def test_what_has_no_json_form_has_no_hash(value):
    with pytest.raises(ValueError):
        canonical_json(value)
