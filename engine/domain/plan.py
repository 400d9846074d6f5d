"""A plan: which tools run on which data with which parameters, and what is still to be asked.

A plan is a JSON file a person can read and change. An edit makes a new version; the graph must stay
acyclic and every reference must lead somewhere. Whether types and parameters fit the tools is checked
by `engine.toolbox.typecheck`, which knows the catalogue.
"""

from __future__ import annotations

from typing import Any, Literal, cast

from pydantic import AliasChoices, ConfigDict, Field

from engine.domain.base import Value
from engine.domain.datatypes import DataType

DATA_PREFIX = "data:"
Settler = Literal["plan", "set", "edit", "memory"]
Taken = Literal[
    "column",
    "level",
    "gene",
    "number",
    "threshold",
    "direction",
    "restriction",
    "pairing",
    "adjustment",
    "method",
    "output",
    "file",
    "asked",
    "filler",
    "unused",
]
"""What words of a question were taken for. `asked` are the words that say what kind of analysis is wanted, `filler`
those that say nothing of it, `unused` those that nothing in the plan answers to."""


def listed(value: Any) -> list[Any]:
    """Return what a parameter holds as a list: the values of a list, or the one value."""
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def texts_of(value: Any) -> list[str]:
    """Return what a parameter holds as texts, without what is empty."""
    return [str(item) for item in listed(value) if item not in (None, "")]


class Span(Value):
    """Some words of the question and what they were taken for; `start` and `end` are character positions."""

    model_config = ConfigDict(serialize_by_alias=True)

    text: str
    start: int
    end: int
    taken_as: Taken = Field(serialization_alias="as", validation_alias=AliasChoices("as", "taken_as"))
    value: str = ""
    """What exactly: the column, `column = level`, the number with its unit."""
    strength: float = 1.0
    """How sure, 0 to 1."""


class Chosen(Value):
    """One analysis the plan answers, with the probability the chooser gave it."""

    id: str
    probability: float


class Alternative(Value):
    """An analysis that the question could mean instead, and what would then be done."""

    id: str
    probability: float
    says: str
    """What would be compared or computed, in a sentence."""


class Dataset(Value):
    """A file the plan uses, pinned by its hash."""

    name: str
    """How nodes refer to it: `data:NAME`. Unique in a plan."""
    path: str
    sha256: str
    bytes: int = 0
    type: DataType
    read: dict[str, Any] = {}
    summary: str = ""


class TaskNode(Value):
    """One step of a plan."""

    id: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")
    name: str
    tool: str
    description: str = ""
    task_type: str = "analysis"
    domain: str = ""
    tools_needed: list[str] = []
    depends_on: list[str] = []
    inputs: dict[str, str] = {}
    """Input name -> `data:NAME` or `NODE.OUTPUT`."""
    params: dict[str, Any] = {}
    language: Literal["python"] = "python"
    priority: int = 0
    reasons: list[str] = []
    """Why this step is here and why its parameters are what they are, one sentence each."""
    settled: dict[str, Settler] = {}
    """Parameter -> who decided its value: `plan` (the question or the data, as the planner read them), `set` (given
    with the question), `edit` (changed by hand) or `memory` (a past analysis). What is not named here stands at a
    default that nobody chose, and only such a value may be taken from memory."""

    def upstream(self) -> list[str]:
        """Return the ids of the nodes this one waits for: those it reads from and those it names."""
        read = [ref.split(".", 1)[0] for ref in self.inputs.values() if not ref.startswith(DATA_PREFIX)]
        return list(dict.fromkeys([*read, *self.depends_on]))


LEFT_ASIDE = "unused_words"
"""The id of the question whether words that no part of the plan answers to may be left aside."""


class OpenQuestion(Value):
    """Something the planner cannot know. `proposed` is what it will use unless told otherwise."""

    id: str
    text: str
    why: str
    node: str = ""
    param: str = ""
    also: list[str] = []
    """Further steps with the same parameter, which the answer sets too."""
    choices: list[str] = []
    proposed: Any = None
    blocking: bool = False
    """True when no default is honest: the plan cannot run before this is answered."""
    required: bool = True
    """True when the answer decides what is computed, so that a person should see it before the plan runs; False for a
    choice of taste that the proposal settles well enough."""


class WayOn(Value):
    """How a question that was refused can be asked again: as what, and with which columns."""

    says: str
    """What it would be, or what the columns are wanted for."""
    analysis: str
    tool: str = ""
    param: str = ""
    columns: list[str] = []
    """The columns that the parameter could name, the best first; empty where nothing has to be named."""
    several: bool = False
    """True when more than one column may be named."""
    said: dict[str, list[str]] = {}
    """What columns would have to be said to be (`time`, `event`) -> the columns that could be it, the best first."""
    meant: dict[str, str] = {}
    """The same -> in words."""


class TaskDag(Value):
    """A version of a plan."""

    format: Literal["biodesk-plan"] = "biodesk-plan"
    version: int = 1
    base: int = 0
    """The stored version that a change not stored yet started from, where `version` does not say it; 0 otherwise."""
    question: str
    datasets: list[Dataset] = []
    nodes: list[TaskNode] = []
    open_questions: list[OpenQuestion] = []
    warnings: list[str] = []
    """What the user must know of the data or design before believing a result."""
    notes: list[str] = []
    """How the planner understood the question."""
    understood: list[Span] = []
    """The question's words, each with what it was taken for, in order; words between spans are filler."""
    analysis: list[Chosen] = []
    """The analyses (see `biodesk analyses`) that the plan answers, one for each request of the question."""
    alternatives: list[Alternative] = []
    """What else the question could mean, at most three, likeliest first."""
    follows: str = ""
    """What was taken over from the plan before it in the conversation and what is new; empty for a question that stands
    by itself."""
    not_answered: list[str] = []
    """Requests of the question that this plan leaves out, each with the reason."""
    told: dict[str, Any] = {}
    """What somebody other than the rules read from the question (see `engine.planning.told`): what is chosen otherwise
    changes that, and no second reading takes its place. Empty for a plan of the rules."""

    def node(self, node_id: str) -> TaskNode | None:
        """Return the node with this id, or None."""
        return next((node for node in self.nodes if node.id == node_id), None)

    def dataset(self, name: str) -> Dataset | None:
        """Return the dataset with this name, or None."""
        return next((dataset for dataset in self.datasets if dataset.name == name), None)

    def answers(self, question: OpenQuestion) -> bool:
        """Say whether a question has its answer: a value that somebody chose, be it the proposed one."""
        node = self.node(question.node)
        value = node.params.get(question.param) if node else None
        if node is None or value in (None, "", []):
            return False
        return value != question.proposed or node.settled.get(question.param) in ("set", "edit")

    def unanswered(self) -> list[OpenQuestion]:
        """Return the questions that must have an answer before the plan can run and have none."""
        return [question for question in self.open_questions if question.blocking and not self.answers(question)]

    def descendants(self, node_id: str) -> set[str]:
        """Return the ids of every node that needs `node_id`, directly or not."""
        found: set[str] = set()
        frontier = {node_id}
        while frontier:
            frontier = {n.id for n in self.nodes if frontier.intersection(n.upstream())} - found
            found |= frontier
        return found

    def order(self) -> list[TaskNode]:
        """Return the nodes so that each stands after those it waits for; plan order breaks ties.

        Raises:
            ValueError: when the nodes wait for each other in a circle.
        """
        done: set[str] = set()
        ordered: list[TaskNode] = []
        waiting = list(self.nodes)
        known = {node.id for node in self.nodes}
        while waiting:
            ready = [n for n in waiting if all(u in done or u not in known for u in n.upstream())]
            if not ready:
                circle = ", ".join(node.id for node in waiting)
                message = f"Steps {circle} wait for each other in a circle; remove one of the links between them."
                raise ValueError(message)
            ordered.extend(ready)
            done.update(node.id for node in ready)
            waiting = [node for node in waiting if node.id not in done]
        return ordered
