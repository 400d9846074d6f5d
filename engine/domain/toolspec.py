"""What a tool says of itself: typed inputs, parameters and outputs, checks and its method."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from engine.domain.base import Value
from engine.domain.datatypes import DataType

ParamKind = Literal["integer", "number", "boolean", "text", "choice", "column", "columns", "level", "texts"]
TaskType = Literal[
    "analysis",
    "retrieval",
    "reasoning",
    "validation",
    "synthesis",
    "visualization",
    "preprocessing",
    "annotation",
]


class InputSpec(Value):
    """A named input of a tool."""

    name: str
    type: DataType
    description: str = ""
    optional: bool = False
    words: list[str] = []
    """Patterns of what people say of the file that belongs here, where another input takes the same type."""
    each_file: bool = False
    """True when several files of its type make as many steps."""
    holds: str = ""
    """The input whose values this one contains: all that were tested hold those of interest."""


class Points(Value):
    """What the points of a figure are, so that a page can draw them anew with their names.

    Columns of a table that the same step gives: by name, `=PARAM` for the one that a parameter names, of several
    parted by `|` the first there is.
    """

    table: str
    """The output that holds a point a row; its first column names the points, or `label`."""
    x: str
    y: str
    label: str = ""
    colour: str = ""
    colours: dict[str, str] = {}
    """Value of `colour` -> how it is drawn, what lies below first; empty: by whatever values there are."""
    log: str = ""
    """The logarithmic axes: `x`, `y` or `both`, or the parameter that says so."""
    picture_first: bool = False
    """True where the figure shows more than its points, such as the limits that they are read against."""


class OutputSpec(Value):
    """A named output of a tool."""

    name: str
    type: DataType
    description: str = ""
    optional: bool = False
    """True when the tool gives it only for some data or parameters; its absence is then no failure."""
    points: Points | None = None
    """Of a figure whose points have names."""


class ParamSpec(Value):
    """A parameter: enough to draw a form, to bind it from words and to refuse a wrong value."""

    name: str
    kind: ParamKind
    description: str
    required: bool = False
    default: Any = None
    minimum: float | None = None
    maximum: float | None = None
    choices: list[str] = []
    unit: str = ""
    of: str = ""
    """For `column` and `columns`: the input whose columns these are. For `level`: the column parameter.
    For a `text` with `words`: the column parameter that a formula must run along to be taken from the question."""
    role: str = ""
    """For `column` and `columns`: the part such a column plays (see `SLOTS` in `engine.planning.binding.slots`)."""
    needed: bool = False
    """For an optional `column`: the planner binds it or asks, because the step is of no use without it in this form."""
    instead_of: list[str] = []
    """For a `column` or `columns`: the parameters in whose place this one stands (another form of the same data)."""
    most: int = 0
    """For `columns`: at most so many; 0 for no limit."""
    least: int = 0
    """For a required `columns`: at least so many."""
    distinct: int = 0
    """For a `column`: at most so many different values, more are refused; 0 for no limit."""
    called: str = ""
    """For `column` and `columns`: what such a column is conventionally called, an expression over the words of its
    name in lower case, parted by blanks. Where words name none, a column that alone is called so is taken."""
    holds: str = ""
    """For a `column`: an expression that a level of it matches (`GAPDH` among genes). Where some column has such a
    level, no other is taken for this part, and it for no other."""
    otherwise: Literal["", "first", "last"] = ""
    """For a `level` that others are compared with, or a `column` of groups that no such level goes with: which level
    they are compared with where none is named and none is called like a control, in the natural order of levels."""
    decides: str = ""
    """For a setting that decides what is found, such as a threshold: what it is called before a person who approves. It
    is told whether or not anybody set it; others only where somebody did."""
    made_by: str = ""
    """For a `column` whose default names a column that a step makes: the tool that makes it."""
    each: list[str] = []
    """For a `choice`: where the question settles none, one step for each of these."""
    says: list[str] = []
    """With `each`: what sets the values apart, `value: text`, where `{PARAM}` is of the step whose output is taken."""
    words: list[str] = []
    """For `choice` values, flags and numbers: words a person uses for it, `value: word, word` for a choice's value. For
    a `text`: patterns of what is written out in the question, of which the group `value` is taken. For `texts` of the
    role `marked`: what stands beside a level of the column `of` to single it out (`normalised to`, `reference`)."""


class Method(Value):
    """A test, model or way of computing that a tool has, and when it is this one."""

    name: str
    """As its field calls it; where the values decide when the step runs, by what they do. `{PARAM}` is its value."""
    why: str = ""
    """Why it fits, in a few words after `because`."""
    when: list[str] = []
    """What must hold of the step, all of it: `PARAM` is set, `not PARAM` is not, `PARAM=a|b` has one of these values,
    `PARAM:2` is a column of which two levels are compared (`PARAM:3` for three or more), `PARAM~binary` a column of
    this scale. What is not known of the data does not hold."""


class Repair(Value):
    """A change of parameters that a statistician would accept when the step failed in a way that `pattern` names."""

    pattern: str
    change: dict[str, Any]
    why: str
    lesson: str = ""
    """What it teaches for other data, where a model thought of it."""


class NextStep(Value):
    """What a careful colleague would do after this tool, said only when it applies."""

    text: str
    """The sentence; `{name}`, `{param:KEY}`, `{rows}` are the step's name, a parameter and the rows its findings
    show."""
    unless_tool: str = ""
    """Not said when the plan has this tool."""
    unless_param: str = ""
    """Not said when this parameter is set."""
    needs_param: str = ""
    """Said only when this parameter is set."""
    after: Literal["", "found", "nothing"] = ""
    """Said only where the step's answer is an effect, or where none was shown; empty: whatever came out."""


class Citation(Value):
    """Where a method is described. Only published works, never an invented one."""

    title: str
    authors: str = ""
    year: int | None = None
    doi: str = ""
    url: str = ""


class ToolSpec(Value):
    """A tool of the catalogue."""

    name: str
    title: str
    description: str
    domain: str
    task_type: TaskType
    inputs: list[InputSpec]
    params: list[ParamSpec]
    outputs: list[OutputSpec]
    answers: list[str] = []
    """The analyses (ids of the analyses files) that this tool carries out."""
    declares: dict[str, dict[str, Any]] = {}
    """Analysis -> what the tool declares of it where its block in the analyses file does not."""
    when: list[str] = []
    """Names of conditions on the data that must hold for this tool rather than another that answers the same (see
    `engine.planning.binding.conditions`)."""
    requires_tool: list[str] = []
    """Tools that good practice runs before this one on the same data."""
    produces_for: list[str] = []
    """Tools that commonly take this one's output."""
    checks: list[str] = []
    """Names of postconditions (see `engine.toolbox.checks`)."""
    keywords: list[str] = []
    """Words a biologist would use for this, beyond those of the description."""
    methods: list[Method] = []
    """What it computes, told before it runs: the first whose conditions hold, so that the last has none."""
    complete: list[str] = []
    """The parameters whose columns must hold a value in a row for it to be used; empty where rows are not left out
    for it, or not whole ones. `not PARAM`: where it is set the rows are not known; `times PARAM`: each row stands for
    as many as this column says; `after PARAM`: only rows whose time is later than this."""
    matched: str = ""
    """The parameter that says which rows belong together where only those with a row in every group are used."""
    citations: list[Citation] = []
    packages: list[str] = []
    """Distribution names whose versions decide the result."""
    seconds: float = 5.0
    """A rough duration on ordinary data, for progress and time limits."""
    example: str = ""
    """A question this tool answers."""
    leads: dict[str, str] = {}
    """Name of a finding's number, or what its row is called -> words of a question that such a finding answers: it then
    stands in place of the first."""
    shows: dict[str, list[str]] = {}
    """Output -> the columns that decide, in order (empty for a figure): what shows this tool's answer. Without it the
    table of the leading finding and the step's own figure do."""
    repairs: list[Repair] = []
    next_steps: list[NextStep] = []
    source: str
    """The source of the function: what runs, what is hashed and what the notebook shows."""
    helper_sources: list[str] = []
    function: str
    """The function's name in `source`."""
    runnable: bool = True

    def input(self, name: str) -> InputSpec | None:
        """Return the input called `name`, or None."""
        return next((port for port in self.inputs if port.name == name), None)

    def output(self, name: str) -> OutputSpec | None:
        """Return the output called `name`, or None."""
        return next((port for port in self.outputs if port.name == name), None)

    def param(self, name: str) -> ParamSpec | None:
        """Return the parameter called `name`, or None."""
        return next((param for param in self.params if param.name == name), None)

    def other_side(self, name: str) -> ParamSpec | None:
        """Return the level that another is set against: one is of interest, the other the reference of one column."""
        one = self.param(name)
        role = {"interest": "reference", "reference": "interest"}.get(one.role if one and one.kind == "level" else "")
        fits = (p for p in self.params if one and p.kind == "level" and p.of == one.of and p.role == role)
        return next(fits, None)


WrittenState = Literal["draft", "worked", "proposed", "approved", "retired"]
"""A `draft` runs in the plan it was written for; one that `worked` well may be taken again; one that did so in two runs
is `proposed` to a person; `approved` it is planned like any tool; `retired` it only explains the runs that had it."""


class WrittenTool(Value):
    """A tool as a model wrote it: code with its contract. Its name holds the hash of both, so that it never changes."""

    name: str = Field(pattern=r"^written_[0-9a-f]{10}$")
    title: str
    description: str
    source: str
    """One function with the helpers it calls; positional arguments are inputs, keyword-only ones parameters."""
    function: str
    inputs: list[InputSpec]
    outputs: list[OutputSpec]
    params: list[ParamSpec] = []
    checks: list[str] = []
    """Postconditions (see `engine.toolbox.checks`)."""
    packages: list[str] = []
    criteria: list[str] = []
    """What a good result must meet, written before the code."""
    question: str = ""
    """The question it was written for."""
    model: str = ""
    """Provider and model that wrote it; empty for a person."""
    replaces: str = ""
    """The name of the version before it, which failed or was improved."""


class WrittenRecord(Value):
    """A written tool with where it stands."""

    tool: WrittenTool
    state: WrittenState = "draft"
    at: str = ""
    """When it came to this state, UTC."""
    by: str = ""
    """Who or which run brought it there."""
