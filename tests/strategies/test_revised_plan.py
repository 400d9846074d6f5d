"""A revised plan beside the one that ran: equal steps share a result, unequal ones never do, and answers stay."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.domain.datatypes import DataType
from engine.domain.plan import Dataset, OpenQuestion, TaskDag, TaskNode
from engine.strategies.revised_plan import beside, new_steps

FILE = Dataset(name="a.csv", path="/a.csv", sha256="1", type=DataType.TABLE)


def step(node_id: str, tool: str, *after: str, **params: object) -> TaskNode:
    inputs = {f"in{at}": f"{name}.out" for at, name in enumerate(after)} or {"in0": "data:a.csv"}
    return TaskNode(id=node_id, name=node_id, tool=tool, inputs=inputs, params=params)


def plan(*nodes: TaskNode, **fields: object) -> TaskDag:
    return TaskDag.model_validate({"question": "q", "datasets": [FILE], "nodes": list(nodes), **fields})


def test_equal_steps_keep_their_ids_and_others_get_unused_ones():
    ran = plan(step("n1", "filter", keep=1), step("n2", "fit", "n1"), step("n3", "count"))
    revised = plan(step("n1", "count"), step("n2", "filter", keep=1), step("n3", "rank", "n2"))
    made = beside(ran, revised, {"n1", "n3"})
    assert {node.id: node.tool for node in made.nodes} == {"n3": "count", "n1": "filter", "n4": "rank"}
    assert made.node("n4").inputs == {"in0": "n1.out"}
    assert [node.id for node in new_steps(ran, made)] == ["n4"]
    assert made.version == 2


def test_a_step_after_another_step_is_another_step():
    ran = plan(step("n1", "filter", keep=1), step("n2", "fit", "n1"))
    made = beside(ran, plan(step("n1", "filter", keep=2), step("n2", "fit", "n1")), {"n1"})
    assert {node.id for node in made.nodes} == {"n3", "n4"}


def test_an_answer_that_succeeded_stays_with_what_it_was_computed_from_and_its_preparation_alone_does_not():
    ran = plan(step("n1", "filter", keep=1), step("n2", "count", "n1"), step("n3", "scale"), step("n4", "fit", "n3"))
    made = beside(ran, plan(step("n1", "rank")), {"n1", "n2", "n3"})
    assert {node.id: node.tool for node in made.nodes} == {"n1": "filter", "n2": "count", "n5": "rank"}


def test_the_same_plan_has_no_new_steps_and_equal_steps_stay_apart():
    ran = plan(step("n1", "fit"), step("n2", "fit"))
    made = beside(ran, ran, set())
    assert new_steps(ran, made) == []
    assert [node.id for node in made.nodes] == ["n1", "n2"]
    thrice = beside(ran, plan(*(step(f"n{at}", "fit") for at in (1, 2, 3))), set())
    assert sorted(node.id for node in thrice.nodes) == ["n1", "n2", "n3"]


def test_what_is_warned_of_a_step_names_it_as_it_is_called_now():
    revised = plan(step("n1", "rank"), warnings=["Step n1 is code that a model wrote.", "Few rows."])
    made = beside(plan(step("n1", "fit")), revised, set())
    assert made.warnings == [f"Step {made.nodes[0].id} is code that a model wrote.", "Few rows."]
    assert made.nodes[0].id != "n1"


def test_open_questions_follow_their_steps():
    asked = OpenQuestion(id="q1", text="t", why="w", node="n1", also=["n2"], param="p")
    revised = plan(step("n1", "rank"), step("n2", "order"), open_questions=[asked])
    (question,) = beside(plan(step("n1", "fit")), revised, set()).open_questions
    assert (question.node, question.also) == ("n2", ["n3"])


def test_a_file_read_otherwise_under_one_name_gets_another_and_one_read_alike_its_own():
    ran = plan(step("n1", "fit"))
    other = FILE.model_copy(update={"type": DataType.COUNT_MATRIX})
    made = beside(ran, plan(step("n1", "rank"), datasets=[other]), {"n1"})
    assert {one.name: one.type for one in made.datasets} == {"a.csv": DataType.TABLE, "a.csv#2": DataType.COUNT_MATRIX}
    assert {node.tool: node.inputs["in0"] for node in made.nodes} == {"fit": "data:a.csv", "rank": "data:a.csv#2"}
    turned = plan(step("n1", "fit"), datasets=[other, FILE.model_copy(update={"name": "a.csv#2"})])
    second = turned.nodes[0].model_copy(update={"inputs": {"in0": "data:a.csv#2"}})
    same = beside(ran, turned.model_copy(update={"nodes": [second]}), {"n1"})
    assert new_steps(ran, same) == [], "it is the same file read the same way"


@st.composite
def plans(draw: st.DrawFn) -> TaskDag:
    nodes: list[TaskNode] = []
    for at in range(draw(st.integers(1, 5))):
        after = draw(st.lists(st.sampled_from([node.id for node in nodes]), max_size=2, unique=True)) if nodes else []
        nodes.append(step(f"n{at + 1}", draw(st.sampled_from("ab")), *after, x=draw(st.integers(0, 1))))
    return plan(*nodes)


def computed(of: TaskDag, node_id: str) -> object:
    node = of.node(node_id)
    ups = [ref if ref.startswith("data:") else computed(of, ref.partition(".")[0]) for ref in node.inputs.values()]
    return node.tool, node.params["x"], tuple(ups)


@given(plans(), plans(), st.sets(st.sampled_from([f"n{at}" for at in range(1, 6)])))
def test_an_id_means_one_computation_and_everything_asked_for_is_there(ran, revised, done):
    made = beside(ran, revised, done)
    ids = [node.id for node in made.nodes]
    assert len(ids) == len(set(ids))
    for node in made.nodes:
        assert all(made.node(up) for up in node.upstream())
        if ran.node(node.id) is not None:
            assert computed(made, node.id) == computed(ran, node.id)
    wanted = {computed(revised, node.id) for node in revised.nodes}
    assert wanted <= {computed(made, node_id) for node_id in ids}
