"""What happens in a run, as a closed union of small values.

Events are stored before they are shown and replay from any `seq`; `run_finished` is always last.
Large texts go to artifacts and the event carries their hash.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from engine.domain.base import Value
from engine.domain.findings import Grounding
from engine.domain.plan import TaskDag
from engine.domain.results import Artifact, Route, RunStatus, Usage, Verdict


class _Event(Value):
    """What every event carries. `seq` is 0 until the log has given it its number (from 1, gapless)."""

    run_id: str
    seq: int = 0
    at: str = ""
    """UTC time, ISO 8601."""


class RunQueued(_Event):
    kind: Literal["run_queued"] = "run_queued"
    question: str
    position: int = 0


class RouteChosen(_Event):
    kind: Literal["route_chosen"] = "route_chosen"
    route: Route


class MemoryRecalled(_Event):
    kind: Literal["memory_recalled"] = "memory_recalled"
    episodes: list[str]
    """Ids, most relevant first; empty when nothing relevant is remembered."""
    scores: list[float] = []
    tokens: int = 0
    seconds: float = 0.0
    notes: list[str] = []
    """What recall went without, e.g. vectors."""


class ToolsRetrieved(_Event):
    kind: Literal["tools_retrieved"] = "tools_retrieved"
    tools: list[str]
    seconds: float
    stages: dict[str, int] = {}
    """How many tools search, expand and rerank gave."""
    method: str = ""
    notes: list[str] = []
    """What the search went without, e.g. vectors."""


class PlanProposed(_Event):
    kind: Literal["plan_proposed"] = "plan_proposed"
    plan: TaskDag


class PlanEdited(_Event):
    kind: Literal["plan_edited"] = "plan_edited"
    plan: TaskDag
    changes: list[str] = []
    by: Literal["person", "model"] = "person"


class PlanRevised(_Event):
    """A model read the question anew because of what came of its plan, and that made another plan."""

    kind: Literal["plan_revised"] = "plan_revised"
    why: list[str]
    """What failed, or was held to be wrong, one sentence each."""
    number: int
    """Which revision of this question's plan it is, from 1."""
    run: str
    """The run that has the revised plan: this one, which goes on with it, or a new one that waits for approval."""


class ReportRevised(_Event):
    """The plain words of a report were written anew."""

    kind: Literal["report_revised"] = "report_revised"
    why: list[str]
    """What was held against them, one sentence each."""
    number: int
    """From 1."""


class TalkShortened(_Event):
    """A model was asked to put old turns of the conversation in short, since the question before."""

    kind: Literal["talk_shortened"] = "talk_shortened"
    first: int
    last: int
    """The messages."""
    by: str
    """The model whose words stand for them now; empty where those of the rules stay."""
    problems: list[str]
    """Why they stay."""

    @property
    def says(self) -> str:
        """What came of it, in a sentence."""
        turns = f"Messages {self.first} to {self.last} of the conversation"
        why = "; ".join(self.problems)
        return f"{turns} are put in short by {self.by}." if self.by else f"{turns} stay in short by rules: {why}."


class PlanApproved(_Event):
    kind: Literal["plan_approved"] = "plan_approved"
    version: int
    by: str


class RunStarted(_Event):
    kind: Literal["run_started"] = "run_started"
    nodes: int


class NodeStarted(_Event):
    kind: Literal["node_started"] = "node_started"
    node: str
    attempt: int = 1


class NodeOutput(_Event):
    kind: Literal["node_output"] = "node_output"
    node: str
    stream: Literal["stdout", "stderr"]
    text: str


class NodeProgress(_Event):
    kind: Literal["node_progress"] = "node_progress"
    node: str
    message: str


class ArtifactSaved(_Event):
    kind: Literal["artifact_saved"] = "artifact_saved"
    node: str
    artifact: Artifact


class NodeVerdict(_Event):
    kind: Literal["node_verdict"] = "node_verdict"
    node: str
    verdict: Verdict


class NodeRetried(_Event):
    kind: Literal["node_retried"] = "node_retried"
    node: str
    attempt: int
    why: str
    changed: dict[str, Any] = {}
    lesson: str = ""
    """What a model that thought of the change takes from it for other data."""


class NodeFinished(_Event):
    kind: Literal["node_finished"] = "node_finished"
    node: str
    status: Literal["succeeded", "cached"]
    seconds: float


class NodeFailed(_Event):
    kind: Literal["node_failed"] = "node_failed"
    node: str
    error: str
    seconds: float = 0.0


class NodeSkipped(_Event):
    kind: Literal["node_skipped"] = "node_skipped"
    node: str
    because: str


class AgentStarted(_Event):
    """A model is being asked for something; it may take a while."""

    kind: Literal["agent_started"] = "agent_started"
    agent: str
    """What for: `read the question`."""
    role: str


class AgentFinished(_Event):
    kind: Literal["agent_finished"] = "agent_finished"
    agent: str
    role: str
    answered: bool
    """False when there is no answer that fits."""


class ModelCalled(_Event):
    """A request to a language model is over, or its answer was taken from an earlier one."""

    kind: Literal["model_call"] = "model_call"
    role: str
    model: str
    purpose: str
    tokens: int = 0
    """Read and written together."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    counted_by: Literal["provider", "estimated"] = "provider"
    usd: float | None = None
    """None where the model's price is not known."""
    seconds: float = 0.0
    cached: bool = False
    outcome: str = "answered"
    """`answered`, `invalid` (the answer was sent back), or the code of the error."""
    notes: list[str] = []
    """What was left out of the prompt, and what was wrong with the answer."""


class TextDelta(_Event):
    """A piece of what a model writes, while it writes it."""

    kind: Literal["text_delta"] = "text_delta"
    text: str
    channel: Literal["text", "reasoning"] = "text"
    purpose: str = ""


class TextMessage(_Event):
    kind: Literal["text_message"] = "text_message"
    text: str


class HypothesisCreated(_Event):
    """A hypothesis entered a tournament; `run_id` is the tournament's id."""

    kind: Literal["hypothesis_created"] = "hypothesis_created"
    hypothesis: str
    text: str
    method: str
    parents: list[str] = []
    progress: float = 0.0
    """Of the whole tournament, from 0 to 1; it never falls."""


class ReviewsScored(_Event):
    kind: Literal["reviews_scored"] = "reviews_scored"
    scores: dict[str, float]
    """Hypothesis -> mean of its six scores, 1 to 10."""
    progress: float = 0.0


class MatchJudged(_Event):
    kind: Literal["match_judged"] = "match_judged"
    number: int
    first: str
    second: str
    score: float
    """1 when the first won, 0 when the second did, 0.5 for a tie."""
    by: str = ""
    skipped: str = ""
    """Why there is no result, where there is none."""
    progress: float = 0.0


class RatingsUpdated(_Event):
    kind: Literal["ratings_updated"] = "ratings_updated"
    leader: str
    rating: float
    """Elo units, an average hypothesis at 1200."""
    chance_best: float
    matches: int
    progress: float = 0.0


class ClaimChecked(_Event):
    kind: Literal["claim_checked"] = "claim_checked"
    claim: str
    """The finding's id or the sentence."""
    label: Grounding
    evidence: list[str] = []


class ReportReady(_Event):
    kind: Literal["report_ready"] = "report_ready"
    sha256: str
    title: str


class WarningRaised(_Event):
    kind: Literal["warning"] = "warning"
    message: str
    node: str = ""


class ErrorRaised(_Event):
    kind: Literal["error"] = "error"
    code: str
    message: str
    advice: str = ""


class RunCancelled(_Event):
    kind: Literal["run_cancelled"] = "run_cancelled"
    by: str


class RunInterrupted(_Event):
    kind: Literal["run_interrupted"] = "run_interrupted"
    message: str


class RunResumed(_Event):
    kind: Literal["run_resumed"] = "run_resumed"
    kept: list[str] = []


class RunFinished(_Event):
    kind: Literal["run_finished"] = "run_finished"
    status: RunStatus
    usage: Usage


EngineEvent = Annotated[
    RunQueued
    | RouteChosen
    | MemoryRecalled
    | ToolsRetrieved
    | PlanProposed
    | PlanEdited
    | PlanRevised
    | ReportRevised
    | TalkShortened
    | PlanApproved
    | RunStarted
    | NodeStarted
    | NodeOutput
    | NodeProgress
    | ArtifactSaved
    | NodeVerdict
    | NodeRetried
    | NodeFinished
    | NodeFailed
    | NodeSkipped
    | AgentStarted
    | AgentFinished
    | ModelCalled
    | TextDelta
    | TextMessage
    | HypothesisCreated
    | ReviewsScored
    | MatchJudged
    | RatingsUpdated
    | ClaimChecked
    | ReportReady
    | WarningRaised
    | ErrorRaised
    | RunCancelled
    | RunInterrupted
    | RunResumed
    | RunFinished,
    Field(discriminator="kind"),
]

EVENT: TypeAdapter[EngineEvent] = TypeAdapter(EngineEvent)
"""Parses and prints any event."""
