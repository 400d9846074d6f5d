"""What running and judging a step gives: values, also when the step failed."""

from __future__ import annotations

from typing import Any, Literal

from engine.domain.base import Value
from engine.domain.findings import Finding
from engine.domain.plan import WayOn

NodeStatus = Literal["pending", "running", "succeeded", "failed", "skipped", "cached", "cancelled"]
RunStatus = Literal[
    "queued",
    "planning",
    "awaiting_approval",
    "running",
    "succeeded",
    "partial",
    "failed",
    "cancelled",
    "interrupted",
]
FINAL: frozenset[str] = frozenset({"succeeded", "partial", "failed", "cancelled"})
"""States of a run that is over."""
DONE: frozenset[str] = frozenset({"succeeded", "cached"})
"""States of a step whose result can be used."""
ExecStatus = Literal["ok", "error", "timeout", "memory", "disk", "killed", "cancelled"]


class Artifact(Value):
    """A file a step made, named readably and stored by its hash."""

    name: str
    output: str
    """The tool output it holds, or `log`."""
    type: str
    sha256: str
    bytes: int
    node: str = ""
    rows: int | None = None
    columns: list[str] = []


class ExecResult(Value):
    """What came out of a sandbox. User code that fails is a status here, never an exception."""

    status: ExecStatus
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    """Both are bounded by the sandbox; `truncated` says when something was cut."""
    truncated: bool = False
    error: str = ""
    """One line: the exception's type and message, or the limit that was hit."""
    seconds: float = 0.0
    overhead_seconds: float = 0.0
    """Time spent on starting and ending the job, not in its code."""
    peak_memory_mb: float | None = None
    left: str = ""
    """What of the job's own folder could not be deleted, in a sentence."""

    @property
    def ok(self) -> bool:
        """True when the code ran to its end."""
        return self.status == "ok"


class Issue(Value):
    """Something a check found."""

    code: str
    severity: Literal["info", "warning", "error"]
    message: str
    where: str = ""


class Verdict(Value):
    """The critic's word on a step: an `error` issue means it did not pass."""

    passed: bool
    quality: float
    """0 to 1: 1 minus what each issue costs."""
    issues: list[Issue] = []
    checks: list[str] = []
    """The checks that were made, passed or not."""
    retry_guidance: str = ""


class NodeResult(Value):
    """All that is kept of one finished step: enough to show, verify, reuse and reproduce it."""

    node: str
    tool: str
    status: NodeStatus
    attempts: int = 1
    cache_key: str = ""
    from_run: str = ""
    """The run whose result this is, when it was taken from the cache."""
    seconds: float = 0.0
    overhead_seconds: float = 0.0
    started_at: str = ""
    finished_at: str = ""
    verdict: Verdict | None = None
    findings: list[Finding] = []
    warnings: list[str] = []
    artifacts: list[Artifact] = []
    error: str = ""
    code_sha256: str = ""
    params: dict[str, Any] = {}
    inputs: dict[str, str] = {}
    """Input name -> SHA-256 of the data it was given."""
    stdout_sha256: str = ""
    stderr_sha256: str = ""
    versions: dict[str, str] = {}
    computed_on: str = ""
    """The linear algebra library, its kernel and threads in the process that ran the step."""
    peak_memory_mb: float | None = None


class Usage(Value):
    """What a run used."""

    model_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0
    seconds: float = 0.0


Strategy = Literal["react", "dag", "mcts", "panel", "tournament"]


class Route(Value):
    """Which strategy answers a question, and why."""

    strategy: Strategy
    confidence: float
    method: Literal["heuristic", "model", "forced"]
    reasons: list[str] = []
    complexity: float = 0.0
    estimated_steps: int = 1
    domains: list[str] = []
    worded_as: Strategy | None = None
    """The strategy that the wording asks for, where what came with the question decided for another."""


class RunRecord(Value):
    """A run: one question, one conversation turn, its plan versions and its results."""

    run_id: str
    user: str
    question: str
    status: RunStatus
    created_at: str
    finished_at: str = ""
    name: str = ""
    parent: str = ""
    """The run this one was duplicated, edited or rerun from."""
    conversation: str = ""
    """The conversation it is a turn of; the first run's id names it."""
    auto_approve: bool = False
    data: list[str] = []
    """Paths of the files the question came with."""
    changes: dict[str, str] = {}
    """`NODE.PARAM` -> value as text: parameters set together with the question."""
    alone: bool = False
    """True for a question that takes over nothing from the one before it in its conversation."""
    analysis: str = ""
    """The analysis that the question is to be planned as; empty to let the planner choose."""
    chosen: dict[str, dict[str, Any]] = {}
    """Tool -> parameter -> value that a person chose for it before the plan ran; what is planned again keeps it."""
    error: str = ""
    error_code: str = ""
    advice: str = ""
    """What to do about the error."""
    ways_on: list[WayOn] = []
    """How the question could be asked again, where it was refused."""
    environment: dict[str, str] = {}
    sandbox: dict[str, str] = {}
    """What isolated the steps: `kind`, and `missing_1`... for each thing it did not isolate."""
    usage: Usage = Usage()
    route: Route | None = None
    revisions: int = 0
    """How often a model has revised the plan, in the run that this one comes from too."""
    approved_version: int = 0
    """The plan version that was approved to run; 0 while none was."""
    fresh_nodes: list[str] = []
    """Steps that must run even if an earlier result could be reused."""
    profiles_sha256: str = ""
    report_sha256: str = ""
    """Artifacts that hold the profiles of the data and the report, as JSON."""
