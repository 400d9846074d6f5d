"""One step: what it left behind is not trusted, what it failed at may be repaired, what is known is not run again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.adapters.fakes import CountingIds, EchoSandbox, FrozenClock
from engine.domain.datatypes import DataType
from engine.domain.encoding.hashing import sha256_bytes
from engine.domain.plan import Dataset, TaskDag, TaskNode
from engine.domain.results import ExecResult, NodeResult, RunRecord
from engine.domain.toolspec import InputSpec, OutputSpec, ParamSpec, ToolSpec
from engine.errors import IntegrityError, SandboxUnavailable
from engine.ports.sandbox import Limits
from engine.runs.cancel import CancelSource
from engine.runs.event_log import EventLog
from engine.runs.records import RunRecords
from engine.steps.executor import Executor, explain_failure
from engine.steps.result_file import RESULT_BYTES
from engine.toolbox.registry import ToolRegistry, builtin_tools
from storage.runs.artifacts_twin import ArtifactsTwin
from storage.runs.twin import RunStoreTwin

TABLE = b"gene,p_value\nA,0.01\nB,0.5\n"
FINDING = {
    "text": "A has p = 0.01.",
    "output": "table",
    "row": {"gene": "A"},
    "values": [{"name": "p_value", "value": 0.01}],
}
GOOD = {"outputs": {"table": {"file": "table.csv", "type": "table"}}, "findings": [FINDING], "warnings": []}


class WritingSandbox(EchoSandbox):
    """Runs nothing, but leaves behind what it is told to; `outcome` is how it says the job ended."""

    def __init__(self, write: Callable[[Path, int], None]) -> None:
        super().__init__()
        self.write = write
        self.outcome: Callable[[int], ExecResult | Exception | None] = lambda attempt: None
        self.seen: list[dict[str, bytes]] = []

    def run(self, job, *, on_output, cancel):
        result = super().run(job, on_output=lambda *_: None, cancel=cancel)
        attempt = len(self.jobs)
        self.seen.append({path.name: path.read_bytes() for path in (job.workdir / "inputs").iterdir()})
        outcome = self.outcome(attempt)
        if isinstance(outcome, Exception):
            raise outcome
        if outcome is not None:
            return outcome
        (job.workdir / "outputs").mkdir()
        self.write(job.workdir / "outputs", attempt)
        on_output("stdout", "working\n")
        return result.model_copy(update={"stdout": "working\n"})


def leave(result: object, **files: bytes) -> Callable[[Path, int], None]:
    def write(folder: Path, attempt: int) -> None:
        for name, content in (files or {"table.csv": TABLE}).items():
            (folder / name).write_bytes(content)
        text = result if isinstance(result, bytes) else json.dumps(result).encode()
        (folder / "result.json").write_bytes(text)

    return write


def a_spec(name: str = "reader", inputs: tuple[str, ...] = ("table",), packages: tuple[str, ...] = ()) -> ToolSpec:
    return ToolSpec(
        name=name,
        title="T",
        description="",
        domain="",
        task_type="analysis",
        inputs=[InputSpec(name=port, type=DataType.TABLE, optional=port == "extra") for port in inputs],
        params=[ParamSpec(name="penalizer", kind="number", description="")],
        outputs=[
            OutputSpec(name="table", type=DataType.TABLE),
            OutputSpec(name="more", type=DataType.TABLE, optional=True),
            OutputSpec(name="plot", type=DataType.FIGURE, optional=True),
        ],
        checks=["tables_not_empty", "p_values_valid", "findings_match_tables"],
        packages=list(packages),
        source=f"def {name}({', '.join(inputs)}, *, penalizer=0.0):\n    return {{}}\n",
        function=name,
    )


class Bench:
    """An executor on stores in memory, and the words it needs."""

    def __init__(self, tmp_path: Path, write: Callable[[Path, int], None] | None = None, **changes) -> None:
        self.tmp_path = tmp_path
        self.sandbox = WritingSandbox(write or leave(GOOD))
        self.store, self.artifacts, clock = RunStoreTwin(), ArtifactsTwin(), FrozenClock()
        self.log = EventLog(self.store, clock)
        cox = a_spec("cox_regression").model_copy(update={"repairs": builtin_tools().get("cox_regression").repairs})
        self.registry = ToolRegistry([a_spec(), cox, a_spec("joiner", ("left", "right", "extra"))])
        self.executor = Executor(
            registry=self.registry,
            sandbox=self.sandbox,
            records=RunRecords(self.store, self.artifacts, self.log, clock, CountingIds(), {}),
            scratch=tmp_path / "runs",
            **changes,
        )
        self.cancel = CancelSource()

    def data(self, path: str, content: bytes, name: str = "") -> Dataset:
        sha256 = self.artifacts.put_bytes(content)
        return Dataset(name=name or Path(path).name, path=path, sha256=sha256, type=DataType.TABLE)

    def run(
        self, tool: str = "reader", run_id: str = "r1", node_id: str = "n1", fresh: bool = False, **params
    ) -> NodeResult:
        plan = TaskDag(question="q", datasets=[self.data("/in/t.csv", b"x\n1\n")])
        node = TaskNode(id=node_id, name="n", tool=tool, inputs={"table": "data:t.csv"}, params=params)
        return self.run_node(plan, node, run_id=run_id, fresh=fresh)

    def run_node(
        self, plan: TaskDag, node: TaskNode, run_id: str = "r1", results=None, *, fresh: bool = False
    ) -> NodeResult:
        if self.store.run(run_id) is None:
            self.store.create_run(RunRecord(run_id=run_id, user="u", question="q", status="running", created_at="2026"))
        return self.executor.run(run_id, plan, node, results or {}, self.cancel, fresh=fresh)

    def kinds(self, run_id: str = "r1") -> list[str]:
        self.log.flush()
        return [event.kind for event in self.store.events(run_id)]


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


# ==== the usual way ====


def test_a_step_that_did_its_work_is_stored_with_everything_needed_to_check_it(bench):
    result = bench.run(penalizer=0.5)
    assert result.status == "succeeded"
    assert [(a.name, a.output, a.sha256, a.bytes) for a in result.artifacts] == [
        ("n1_table.csv", "table", sha256_bytes(TABLE), len(TABLE))
    ]
    assert result.findings[0].artifact == "n1_table.csv"
    assert result.findings[0].id == "n1_f1"
    assert result.inputs == {"table": sha256_bytes(b"x\n1\n")}
    assert result.params == {"penalizer": 0.5}
    code = bench.artifacts.path(result.code_sha256).read_text()
    assert "result = reader(table, penalizer=0.5)" in code
    assert bench.artifacts.path(result.stdout_sha256).read_bytes() == b"working\n"
    assert bench.store.results("r1")["n1"] == result
    assert bench.kinds() == ["node_started", "node_output", "artifact_saved", "node_verdict", "node_finished"]


def test_nothing_is_left_in_the_scratch_folder(bench, tmp_path):
    bench.run()
    assert list((tmp_path / "runs").iterdir()) == []


def test_inputs_are_copies_that_a_step_may_ruin_without_harm(tmp_path):
    def ruin(folder: Path, attempt: int) -> None:
        for path in (folder.parent / "inputs").iterdir():
            path.write_bytes(b"ruined")
        leave(GOOD)(folder, attempt)

    bench = Bench(tmp_path, ruin)
    result = bench.run()
    assert bench.artifacts.verify(result.inputs["table"]) == result.inputs["table"]


def test_two_files_of_one_name_reach_the_step_as_two_files(bench):
    left = bench.data("/a/counts.csv", b"x\n1\n", "counts.csv")
    right = bench.data("/b/counts.csv", b"x\n2\n", "counts.csv (2)")
    plan = TaskDag(question="q", datasets=[left, right])
    inputs = {"left": "data:counts.csv", "right": "data:counts.csv (2)"}
    result = bench.run_node(plan, TaskNode(id="n1", name="n", tool="joiner", inputs=inputs))
    assert sorted(bench.sandbox.seen[0].values()) == [b"x\n1\n", b"x\n2\n"]
    code = bench.artifacts.path(result.code_sha256).read_text()
    paths = {
        name: next(p for p in bench.sandbox.seen[0] if f"{name} = read_table('inputs/{p}'" in code) for name in inputs
    }
    assert bench.sandbox.seen[0][paths["left"]] == b"x\n1\n"
    assert bench.sandbox.seen[0][paths["right"]] == b"x\n2\n"


@pytest.mark.parametrize(
    "path", ["/in/../../etc/passwd", "/in/a b;rm -rf ~.csv", "/in/.hidden.csv", "C:\\data\\x.csv", "/in/ü.csv"]
)
def test_an_input_keeps_a_safe_name_in_its_own_folder(bench, path):
    plan = TaskDag(question="q", datasets=[bench.data(path, b"x\n1\n", "d")])
    bench.run_node(plan, TaskNode(id="n1", name="n", tool="reader", inputs={"table": "data:d"}))
    (name,) = bench.sandbox.seen[0]
    assert not set(name) & set("/\\ ;~:")
    assert not name.startswith(".")


def test_an_input_that_was_changed_in_the_store_stops_the_step(bench):
    place = bench.artifacts.path(bench.data("/in/t.csv", b"x\n1\n").sha256)
    place.chmod(0o644)
    place.write_bytes(b"x\n9\n")
    bench.artifacts.put_bytes = lambda data: sha256_bytes(data)  # keep the damage: storing again would heal it
    with pytest.raises(IntegrityError, match="Input 'table' of step n1 is not what was stored"):
        bench.run()
    assert bench.sandbox.jobs == []


# ==== what a step left behind is not trusted ====


@pytest.mark.parametrize(
    "result",
    [
        b"",
        b"not json",
        b"[]",
        b"null",
        b'{"outputs": [1]}',
        b'{"outputs": {"table": "table.csv"}}',
        b'{"outputs": {"table": {"file": 3, "type": "table"}}}',
        b'{"outputs": {"table": {"file": "table.csv"}}}',
        b'{"outputs": {"table": {"file": "table.csv", "type": "table", "rows": "many"}}}',
        b'{"findings": [{"text": 7}]}',
        b'{"findings": [{"text": "x", "values": [{"name": "p", "value": [1]}]}]}',
        b'{"findings": "none"}',
        b'{"warnings": [1]}',
        b'{"warnings": ["\xff"]}',
        b'{"findings": [{"text": "\\ud800"}]}',
        b"[" * 100_000,
    ],
)
def test_a_result_of_the_wrong_shape_fails_the_step_in_one_sentence(tmp_path, result):
    bench = Bench(tmp_path, leave(result))
    outcome = bench.run()
    assert outcome.status == "failed"
    assert outcome.error.startswith("The step's result cannot be used: ")
    assert "\n" not in outcome.error
    assert len(outcome.error) < 250
    assert outcome.artifacts == []
    assert bench.kinds()[-1] == "node_failed"


@pytest.mark.parametrize(
    "name",
    [
        "../table.csv",
        "../../../etc/passwd",
        "/etc/passwd",
        "..",
        ".",
        "",
        "sub/table.csv",
        ".table.csv",
        "a\x00b",
        "absent.csv",
    ],
)
def test_an_output_must_be_a_file_in_the_steps_own_folder(tmp_path, name):
    def write(folder: Path, attempt: int) -> None:
        (folder.parent / "table.csv").write_bytes(TABLE)
        (folder / "sub").mkdir()
        (folder / "sub" / "table.csv").write_bytes(TABLE)
        leave({"outputs": {"table": {"file": name, "type": "table"}}}, **{".table.csv": TABLE})(folder, attempt)

    outcome = Bench(tmp_path, write).run()
    assert outcome.status == "failed"
    assert "is not the file it says" in outcome.error
    assert outcome.artifacts == []


def test_a_link_out_of_the_sandbox_is_not_followed(tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_bytes(TABLE)

    def write(folder: Path, attempt: int) -> None:
        (folder / "table.csv").symlink_to(secret)
        (folder / "result.json").write_text(json.dumps(GOOD))

    bench = Bench(tmp_path, write)
    assert bench.run().status == "failed"
    assert not bench.artifacts.has(sha256_bytes(TABLE))


def test_an_outputs_folder_that_is_a_link_is_not_followed(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    leave(GOOD)(elsewhere, 1)

    def write(folder: Path, attempt: int) -> None:
        folder.rmdir()
        folder.symlink_to(elsewhere)

    bench = Bench(tmp_path, write)
    outcome = bench.run()
    assert outcome.status == "failed"
    assert not bench.artifacts.has(sha256_bytes(TABLE))
    assert (elsewhere / "table.csv").is_file()


def test_a_result_that_is_a_link_is_not_read(tmp_path):
    (tmp_path / "elsewhere.json").write_text(json.dumps(GOOD))

    def write(folder: Path, attempt: int) -> None:
        (folder / "table.csv").write_bytes(TABLE)
        (folder / "result.json").symlink_to(tmp_path / "elsewhere.json")

    assert "there is no file outputs/result.json" in Bench(tmp_path, write).run().error


@pytest.mark.parametrize("name", ["result.json", "table.csv"])
def test_a_pipe_in_place_of_a_file_does_not_hang_the_engine(tmp_path, name):
    def write(folder: Path, attempt: int) -> None:
        leave(GOOD)(folder, attempt)
        (folder / name).unlink()
        os.mkfifo(folder / name)

    assert Bench(tmp_path, write).run().status == "failed"


def test_a_step_that_wrote_nothing_fails_with_a_sentence(tmp_path):
    outcome = Bench(tmp_path, lambda folder, attempt: folder.rmdir()).run()
    assert outcome.error == "The step's result cannot be used: there is no file outputs/result.json."


def test_a_giant_result_is_not_read(tmp_path):
    def write(folder: Path, attempt: int) -> None:
        with (folder / "result.json").open("wb") as handle:
            handle.truncate(RESULT_BYTES + 1)

    assert "at most" in Bench(tmp_path, write).run().error


def test_an_output_the_tool_does_not_have_is_refused(tmp_path):
    outcome = Bench(tmp_path, leave({"outputs": {"loot": {"file": "table.csv", "type": "table"}}})).run()
    assert "'loot' is not the file it says" in outcome.error


def test_the_type_of_an_output_is_the_tools_whatever_the_step_says(tmp_path):
    claimed = {**GOOD, "outputs": {"table": {"file": "table.csv", "type": "count_matrix"}}}
    assert Bench(tmp_path, leave(claimed)).run().artifacts[0].type == "table"


def test_one_file_cannot_be_two_outputs(tmp_path):
    facts = {"file": "table.csv", "type": "table"}
    outcome = Bench(tmp_path, leave({**GOOD, "outputs": {"table": facts, "more": facts}})).run()
    assert "as two of its outputs" in outcome.error


def test_a_number_that_is_not_the_tables_fails_the_step_and_its_findings_are_dropped(tmp_path):
    lying = {**FINDING, "values": [{"name": "p_value", "value": 0.001}]}
    outcome = Bench(tmp_path, leave({**GOOD, "findings": [lying]})).run()
    assert outcome.status == "failed"
    assert "A finding says p_value = 0.001" in outcome.error
    assert outcome.findings == []


# ==== failures, repairs, cancellation ====


def test_a_failure_that_a_rule_can_repair_is_tried_again_and_told(bench):
    failed = ExecResult(status="error", error="ConvergenceError: delta contains nan value(s)")
    bench.sandbox.outcome = lambda attempt: failed if attempt == 1 else None
    result = bench.run("cox_regression", penalizer=0.0)
    assert (result.status, result.attempts, result.params) == ("succeeded", 2, {"penalizer": 0.1})
    assert result.warnings[0].startswith("Step n1 was repaired: the fit did not converge")
    bench.log.flush()
    retried = next(event for event in bench.store.events("r1") if event.kind == "node_retried")
    assert retried.changed == {"penalizer": 0.1}
    assert "delta contains nan" in retried.why


def test_a_repair_that_does_not_help_ends_in_a_failure(bench):
    bench.sandbox.outcome = lambda attempt: ExecResult(status="error", error="did not converge")
    result = bench.run("cox_regression", penalizer=0.0)
    assert (result.status, result.attempts) == ("failed", 2)
    assert len(bench.sandbox.jobs) == 2


def test_a_failure_without_a_rule_is_not_tried_again(bench):
    bench.sandbox.outcome = lambda attempt: ExecResult(status="error", error="ValueError: Column 'x' is not there.")
    result = bench.run()
    assert (result.status, result.attempts, result.error) == ("failed", 1, "Column 'x' is not there.")


def test_a_sandbox_that_breaks_once_is_tried_once_more(bench):
    bench.sandbox.outcome = lambda attempt: SandboxUnavailable("The worker is gone.") if attempt == 1 else None
    assert bench.run().status == "succeeded"
    assert "node_progress" in bench.kinds()


def test_a_sandbox_that_breaks_twice_is_the_machines_fault_and_no_result_is_stored(bench):
    bench.sandbox.outcome = lambda attempt: SandboxUnavailable("The worker is gone.")
    with pytest.raises(SandboxUnavailable):
        bench.run()
    assert bench.store.results("r1") == {}


def test_a_cancelled_step_is_neither_a_failure_to_repair_nor_a_success(bench):
    bench.cancel.cancel()
    result = bench.run("cox_regression")
    assert result.status == "cancelled"
    assert bench.sandbox.jobs == []


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (ExecResult(status="timeout"), "longer than the limit of 7 s (setting step_seconds)"),
        (ExecResult(status="memory"), "more memory than the limit of 300 MB (setting step_memory_mb)"),
        (ExecResult(status="killed", error="signal 9"), "ended unexpectedly (signal 9)"),
        (ExecResult(status="error", error="ValueError: Too few samples."), "Too few samples."),
        (ExecResult(status="error"), "failed without saying why"),
    ],
)
def test_a_failure_is_explained_with_the_setting_that_would_change_it(outcome, words):
    assert words in explain_failure(outcome, Limits(seconds=7, memory_mb=300))


# ==== the cache ====


def test_the_same_step_on_the_same_data_is_taken_from_the_earlier_run(bench):
    first = bench.run(run_id="r1")
    second = bench.run(run_id="r2", node_id="n7")
    assert (second.status, second.from_run) == ("cached", "r1")
    assert [(a.name, a.node, a.sha256) for a in second.artifacts] == [("n7_table.csv", "n7", first.artifacts[0].sha256)]
    assert (second.findings[0].id, second.findings[0].node, second.findings[0].artifact) == (
        "n7_f1",
        "n7",
        "n7_table.csv",
    )
    assert len(bench.sandbox.jobs) == 1
    assert bench.kinds("r2") == ["artifact_saved", "node_verdict", "node_finished"]


def test_another_parameter_or_a_wish_for_a_fresh_run_is_not_answered_from_the_cache(bench):
    bench.run(run_id="r1", penalizer=0.1)
    assert bench.run(run_id="r2", penalizer=0.2).status == "succeeded"
    assert bench.run(run_id="r3", penalizer=0.1, fresh=True).status == "succeeded"
    assert len(bench.sandbox.jobs) == 3


def test_other_data_are_not_answered_from_the_cache(bench):
    bench.run()
    plan = TaskDag(question="q", datasets=[bench.data("/in/t.csv", b"x\n2\n")])
    node = TaskNode(id="n1", name="n", tool="reader", inputs={"table": "data:t.csv"})
    assert bench.run_node(plan, node, "r2").status == "succeeded"


def test_data_read_in_another_way_are_not_answered_from_the_cache(bench):
    bench.run()
    other = bench.data("/in/t.csv", b"x\n1\n").model_copy(update={"read": {"decimal": ","}})
    node = TaskNode(id="n1", name="n", tool="reader", inputs={"table": "data:t.csv"})
    assert bench.run_node(TaskDag(question="q", datasets=[other]), node, "r2").status == "succeeded"


def test_failures_are_never_reused(bench):
    bench.sandbox.outcome = lambda attempt: ExecResult(status="error", error="x") if attempt == 1 else None
    assert bench.run(run_id="r1").status == "failed"
    assert bench.run(run_id="r2").status == "succeeded"


def test_a_result_whose_file_was_changed_or_lost_is_not_reused(bench):
    place = bench.artifacts.path(bench.run(run_id="r1").artifacts[0].sha256)
    place.chmod(0o644)
    place.write_bytes(TABLE.replace(b"0.01", b"0.09"))
    again = bench.run(run_id="r2")
    assert again.status == "succeeded"
    assert bench.artifacts.path(again.artifacts[0].sha256).read_bytes() == TABLE
    place.unlink()
    assert bench.run(run_id="r3").status == "succeeded"


def test_nothing_of_a_run_that_is_marked_as_wrong_is_reused(tmp_path):
    wrong: list[str] = []
    bench = Bench(tmp_path, doubted=lambda: wrong)
    assert [bench.run(run_id=run).status for run in ("r1", "r2")] == ["succeeded", "cached"]
    wrong.append("r2")  # and with it what r2 took over
    assert [bench.run(run_id=run).status for run in ("r3", "r4")] == ["succeeded", "cached"]


def test_reuse_can_be_switched_off(tmp_path):
    bench = Bench(tmp_path, reuse=False)
    assert [bench.run(run_id=run).status for run in ("r1", "r2")] == ["succeeded", "succeeded"]


def test_a_reused_result_tells_of_a_repair_only_where_there_was_one(bench):
    asked_for = bench.run("cox_regression", "r1", penalizer=0.1)
    assert asked_for.warnings == []
    bench.sandbox.outcome = lambda attempt: ExecResult(status="error", error="did not converge")
    repaired = bench.run("cox_regression", "r2", penalizer=0.0)
    assert repaired.status == "cached"
    assert repaired.warnings[0].startswith("Step n1 was repaired: ")
    assert repaired.params == {"penalizer": 0.1}
    assert bench.run("cox_regression", "r3", penalizer=0.1).warnings == []


# ==== steps of several runs ====


def test_no_more_steps_are_in_the_sandbox_than_there_are_places(tmp_path):
    import threading

    inside, most, lock = [0], [0], threading.Lock()

    def write(folder: Path, attempt: int) -> None:
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        threading.Event().wait(0.02)
        with lock:
            inside[0] -= 1
        leave(GOOD)(folder, attempt)

    bench = Bench(tmp_path, write, slots=threading.BoundedSemaphore(2), reuse=False)
    threads = [threading.Thread(target=bench.run, kwargs={"run_id": f"r{number}"}) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most[0] == 2
    assert [bench.store.results(f"r{number}")["n1"].status for number in range(6)] == ["succeeded"] * 6


def test_a_step_that_waits_for_a_place_can_be_cancelled(tmp_path):
    import threading

    places = threading.BoundedSemaphore(1)
    bench = Bench(tmp_path, slots=places)
    with places:
        threading.Timer(0.1, bench.cancel.cancel).start()
        assert bench.run().status == "cancelled"
    assert places.acquire(timeout=1)


# ==== what is left behind is bounded ====


def test_a_figure_that_cannot_be_shown_costs_itself_only(tmp_path):
    outputs = {**GOOD["outputs"], "plot": {"file": "plot.png", "type": "figure"}}
    bench = Bench(tmp_path, leave({**GOOD, "outputs": outputs}, **{"table.csv": TABLE, "plot.png": b"\x89PNG no more"}))
    result = bench.run()
    assert result.status == "succeeded"
    assert [artifact.output for artifact in result.artifacts] == ["table"]
    assert [text for text in result.warnings if "plot.png was left out" in text]
    assert [finding.text for finding in result.findings] == [FINDING["text"]]


PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63606060000000040001"
    "f61738550000000049454e44ae426082"
)
SVG = b"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><path d='M0 0h9'/></svg>"


def drawing(tmp_path, name, content):
    outputs = {**GOOD["outputs"], "plot": {"file": "plot.png", "type": "figure", "drawing": name}}
    files = {"table.csv": TABLE, "plot.png": PNG, "plot.svg": content, "other.svg": SVG}
    bench = Bench(tmp_path, leave({**GOOD, "outputs": outputs}, **files))
    return bench, bench.run()


def test_the_svg_of_a_figure_is_kept_beside_it(tmp_path):
    bench, result = drawing(tmp_path, "plot.svg", SVG)
    kept = {artifact.output: artifact for artifact in result.artifacts}
    assert list(kept) == ["table", "plot", "plot.svg"]
    assert (kept["plot.svg"].name, kept["plot.svg"].type) == ("n1_plot.svg", "svg")
    assert bench.artifacts.path(kept["plot.svg"].sha256).read_bytes() == SVG
    assert kept["plot.svg"].bytes == len(SVG)
    assert result.warnings == []


@pytest.mark.parametrize(
    ("name", "content"),
    [("plot.svg", b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>"), ("other.svg", SVG), ("../plot.svg", SVG),
     ("/etc/passwd", SVG), ("table.csv", SVG)],
)  # fmt: skip
def test_an_svg_that_is_none_or_not_of_the_figure_costs_itself_only(name, content, tmp_path):
    _, result = drawing(tmp_path, name, content)
    assert result.status == "succeeded"
    assert [artifact.output for artifact in result.artifacts] == ["table", "plot"]
    assert [text for text in result.warnings if "The drawing of figure plot.png was left out" in text]


@pytest.mark.parametrize(("limits", "words"), [({"files": 5}, "more than 5 files"), ({"disk_mb": 1}, "1 MB together")])
def test_a_step_that_leaves_more_than_it_may_fails_in_a_sentence(limits, words, tmp_path):
    files = {f"f{n}": bytes(1 << 19) for n in range(4)}
    bench = Bench(tmp_path, leave(GOOD, **files, **{"table.csv": TABLE}), limits=Limits(**limits))
    result = bench.run()
    assert result.status == "failed"
    assert words in result.error
    assert result.artifacts == []
    assert not (tmp_path / "runs" / "r1").exists()


def test_a_step_that_was_stopped_for_what_it_wrote_says_which_setting_bounds_it(bench):
    bench.sandbox.outcome = lambda _: ExecResult(status="disk", error="there are more than 5 files")
    result = bench.run()
    assert result.status == "failed"
    assert "there are more than 5 files" in result.error
    assert "step_disk_mb" in result.error


def test_what_a_sandbox_could_not_delete_is_a_warning_of_the_run(bench):
    bench.sandbox.outcome = lambda _: ExecResult(status="error", error="it failed", left="Not all could be deleted.")
    bench.run()
    bench.log.flush()
    assert "Not all could be deleted." in [e.message for e in bench.store.events("r1") if e.kind == "warning"]
