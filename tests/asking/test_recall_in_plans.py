"""What a plan takes from past analyses: always with a reason, never over what the question or the data say."""

from __future__ import annotations

import pytest

from engine.asking.from_memory import apply_recall
from engine.domain.datatypes import DataType
from engine.domain.memory import Episode, EpisodeSignals, EpisodeStep, Recall, RecalledEpisode
from engine.domain.plan import Dataset, OpenQuestion, TaskDag, TaskNode
from engine.domain.profile import ColumnProfile, Profile
from engine.toolbox.registry import builtin_tools


@pytest.fixture(scope="module")
def registry():
    return builtin_tools()


def plan(settled: dict | None = None, **params) -> TaskDag:
    data = Dataset(name="counts.csv", path="counts.csv", sha256="0" * 64, type=DataType.COUNT_MATRIX)
    nodes = [
        TaskNode(
            id="n1",
            name="Differential expression",
            tool="differential_expression",
            params=params,
            settled=settled or {},
            inputs={"counts": "data:counts.csv"},
        ),
        TaskNode(id="n2", name="Volcano plot", tool="volcano_plot", inputs={"de_table": "n1.de_table"}),
    ]
    return TaskDag(question="Which genes change?", datasets=[data], nodes=nodes)


def episode(**fields) -> Episode:
    base = {
        "id": "ep1",
        "at": "2026-01-05T10:00:00Z",
        "task": "genes that respond to dexamethasone",
        "tools": ["differential_expression", "volcano_plot"],
        "success": True,
        "quality": 0.9,
        "data_types": ["count_matrix"],
        "data_sha256": ["0" * 64],
        "result_summary": "812 genes changed.",
        "run_id": "run_1",
        "user": "alice",
        "steps": [EpisodeStep(tool="differential_expression", params={"alpha": 0.01}, changed={"alpha": "edit"})],
    }
    return Episode(**{**base, **fields})


def steps(**params) -> list[EpisodeStep]:
    """Return the steps of the plan as they ran."""
    return [EpisodeStep(tool="differential_expression", params=params), EpisodeStep(tool="volcano_plot")]


def recalled(*episodes: Episode, score: float = 0.8) -> Recall:
    items = [RecalledEpisode(episode=e, score=score, signals=EpisodeSignals()) for e in episodes]
    return Recall(query="q", episodes=items, seconds=0.0)


def test_a_parameter_the_user_set_before_is_proposed_again_with_the_reason(registry):
    made = apply_recall(plan(), recalled(episode()), registry)
    node = made.node("n1")
    assert node.params["alpha"] == 0.01
    assert (
        'alpha = 0.01 from memory: you set it on 2026-01-05 in "genes that respond to dexamethasone".' in node.reasons
    )
    assert node.settled == {"alpha": "memory"}


def test_a_repaired_parameter_is_set_from_the_start_as_an_avoided_failure(registry):
    step = EpisodeStep(tool="differential_expression", params={"alpha": 0.1}, changed={"alpha": "repair"})
    node = apply_recall(plan(), recalled(episode(steps=[step])), registry).node("n1")
    assert node.params["alpha"] == 0.1
    assert any("a repair had to set it after a failure" in reason for reason in node.reasons)


@pytest.mark.parametrize("who", ["plan", "set", "edit"])
@pytest.mark.parametrize("value", [0.001, 0.05])  # the second is the tool's default
def test_what_the_question_the_data_or_the_user_settled_is_kept(registry, who, value):
    node = apply_recall(plan({"alpha": who}, alpha=value), recalled(episode()), registry).node("n1")
    assert node.params["alpha"] == value
    assert node.settled == {"alpha": who}
    assert not any("from memory" in reason for reason in node.reasons)


def test_what_others_settled_settles_nothing(registry):
    untouched = plan()
    assert apply_recall(untouched, recalled(episode(user="bob")), registry, user="alice") == untouched
    assert apply_recall(untouched, recalled(episode()), registry, user="alice").node("n1").params["alpha"] == 0.01


def alpha_set_to(value: float, at: str, **fields) -> Episode:
    step = EpisodeStep(tool="differential_expression", params={"alpha": value}, changed={"alpha": "edit"})
    return episode(id=at, at=at, run_id=f"run_{at}", steps=[step], **fields)


def test_of_one_question_asked_twice_the_newer_answer_decides(registry):
    old, new = alpha_set_to(0.01, "2026-01-05"), alpha_set_to(0.2, "2026-02-05")
    for order in ((old, new), (new, old)):
        node = apply_recall(plan(), recalled(*order), registry).node("n1")
        assert node.params["alpha"] == 0.2
        assert [r for r in node.reasons if "2026-01-05" in r and "from memory" in r] == []


def test_a_value_that_was_set_back_to_the_default_stays_there(registry):
    old, back = alpha_set_to(0.01, "2026-01-05"), alpha_set_to(0.05, "2026-02-05")
    node = apply_recall(plan(alpha=0.05), recalled(old, back), registry).node("n1")
    assert node.params["alpha"] == 0.05
    assert not any("from memory" in reason for reason in node.reasons)


def test_a_change_is_still_known_after_the_proposed_value_was_approved_as_it_stood(registry):
    taught, approved = alpha_set_to(0.01, "2026-01-05"), episode(id="ep2", at="2026-02-05", run_id="run_2")
    approved = approved.model_copy(
        update={"steps": [EpisodeStep(tool="differential_expression", params={"alpha": 0.01})]}
    )
    node = apply_recall(plan(), recalled(approved, taught), registry).node("n1")
    assert node.params["alpha"] == 0.01
    assert any("2026-01-05" in reason and "you set it" in reason for reason in node.reasons)


def test_a_question_the_plan_asks_for_several_steps_is_left_to_the_user_in_all_of_them(registry):
    asked = plan().model_copy(
        update={"open_questions": [OpenQuestion(id="q1", text="?", why="", node="n2", also=["n1"], param="alpha")]}
    )
    assert "alpha" not in apply_recall(asked, recalled(episode()), registry).node("n1").params


def test_what_the_plan_asks_is_left_to_the_user(registry):
    asked = plan().model_copy(
        update={"open_questions": [OpenQuestion(id="q1", text="?", why="", node="n1", param="alpha")]}
    )
    assert "alpha" not in apply_recall(asked, recalled(episode()), registry).node("n1").params


def test_columns_of_other_data_never_carry_over(registry):
    step = EpisodeStep(tool="differential_expression", params={"condition": "arm"}, changed={"condition": "edit"})
    assert "condition" not in apply_recall(plan(), recalled(episode(steps=[step])), registry).node("n1").params


def test_a_value_the_tool_does_not_accept_any_more_is_not_taken(registry):
    step = EpisodeStep(tool="differential_expression", params={"alpha": 7.0}, changed={"alpha": "edit"})
    assert "alpha" not in apply_recall(plan(), recalled(episode(steps=[step])), registry).node("n1").params


def test_a_barely_relevant_episode_changes_no_parameter(registry):
    made = apply_recall(plan(), recalled(episode(), score=0.3), registry)
    assert "alpha" not in made.node("n1").params


def test_a_pipeline_that_ran_on_these_data_is_a_short_note_without_its_numbers(registry):
    ran = [episode(id=f"ep{at}", steps=steps(), lessons="Try 3 clusters.", task=f"genes, {at}") for at in (1, 2)]
    made = apply_recall(plan(), recalled(*ran), registry)
    assert made.nodes == plan().nodes
    assert made.notes == ['You ran these steps with these settings on these data on 2026-01-05 in "genes, 1".']


@pytest.mark.parametrize(
    ("condition", "alpha", "told"), [("treatment", 0.05, True), ("sex", 0.05, False), ("treatment", 0.01, False)]
)
def test_a_pipeline_with_other_columns_or_another_cut_off_is_not_told(registry, condition, alpha, told):
    ran = episode(steps=steps(condition=condition, alpha=alpha))  # 0.05 is the tool's default
    made = apply_recall(plan(condition="treatment"), recalled(ran), registry)
    assert bool(made.notes) is told


def test_what_was_set_for_other_columns_is_not_taken(registry):
    set_then = EpisodeStep(
        tool="differential_expression", params={"condition": "sex", "alpha": 0.01}, changed={"alpha": "edit"}
    )
    made = apply_recall(plan(condition="treatment"), recalled(episode(steps=[set_then])), registry)
    assert made == plan(condition="treatment")


def test_other_kinds_of_data_teach_nothing(registry):
    untouched = plan()
    assert apply_recall(untouched, recalled(episode(data_types=["survival_table"])), registry) == untouched


def test_what_failed_before_is_not_mentioned(registry):
    step = EpisodeStep(tool="differential_expression", status="failed", error="The design matrix is singular.")
    untouched = plan()
    assert apply_recall(untouched, recalled(episode(success=False, steps=[step])), registry) == untouched


OTHER = {"data_sha256": ["1" * 64], "data_columns": ["c" * 64]}


def test_what_was_done_on_other_data_is_neither_taken_nor_mentioned(registry):
    untouched = plan()
    assert apply_recall(untouched, recalled(episode(steps=steps(), **OTHER)), registry) == untouched
    assert apply_recall(untouched, recalled(episode(**OTHER)), registry) == untouched


def test_another_file_of_the_same_columns_counts_as_the_same_data(registry):
    def table(*names: str) -> Profile:
        columns = [ColumnProfile(name=name, kind="number") for name in names]
        return Profile(
            path="x.csv", name="x.csv", format="csv", bytes=1, sha256="2" * 64, types=[], columns=len(names),
            summary="", column_profiles=columns,
        )  # fmt: skip

    other = episode(steps=steps(), data_sha256=["1" * 64], data_columns=[table("dose", "weight").columns_sha256])
    known = apply_recall(plan(), recalled(other), registry, [table("weight", "dose")])
    assert any("2026-01-05" in note for note in known.notes)
    untouched = plan()
    assert apply_recall(untouched, recalled(other), registry, [table("weight", "length")]) == untouched
    # Files without columns have nothing in common.
    assert table().columns_sha256 == ""
    nothing = episode(steps=steps(), data_sha256=[], data_columns=[""])
    assert apply_recall(untouched, recalled(nothing), registry, [table()]) == untouched


def test_two_matrices_of_other_samples_are_other_data():
    def matrix(*samples: str) -> str:
        return Profile(
            path="x.csv", name="x.csv", format="csv", bytes=1, sha256="2" * 64, types=[], columns=len(samples) + 1,
            summary="", column_profiles=[ColumnProfile(name="gene", kind="identifier")], sample_ids=list(samples),
        ).columns_sha256  # fmt: skip

    assert matrix("a", "b") == matrix("b", "a") != matrix("a", "c")


def test_nothing_remembered_leaves_the_plan_as_it_is(registry):
    untouched = plan()
    assert apply_recall(untouched, recalled(), registry) == untouched


def test_of_two_episodes_the_more_relevant_decides(registry):
    other = episode(
        id="ep2", steps=[EpisodeStep(tool="differential_expression", params={"alpha": 0.2}, changed={"alpha": "edit"})]
    )
    made = apply_recall(plan(), recalled(episode(), other), registry)
    assert made.node("n1").params["alpha"] == 0.01
