"""What a reader came for: one sentence a request, the rows and the figure that show it, and what to mind about it.

Nothing is computed or rephrased: a sentence is a finding as its step wrote it, and a table is rows of a stored one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from engine.data.structure.problems import REPEATED
from engine.domain.findings import Finding
from engine.domain.plan import TaskNode, listed
from engine.domain.report import Answer, Report, RunView, ShownTable
from engine.domain.results import Artifact, NodeResult
from engine.domain.toolspec import ToolSpec
from engine.errors import EngineError
from engine.planning.reading.requests import requests_of
from engine.planning.telling.kept import at_times, kept_rows, led_by
from engine.ports.artifacts import ArtifactStore
from engine.reporting.methods import spec_of
from engine.reporting.numbers import holds_numbers
from engine.reporting.status import done_nodes, left_aside, planned, unfinished, warnings_of_files
from engine.text.codes import meanings
from engine.text.tokens import tokens
from engine.toolbox.large_tables import Scan, scan
from engine.toolbox.registry import ToolRegistry

MOST_ANSWERS, MOST_LEVELS = 4, 8
MOST_TABLES, MOST_ROWS, MOST_COLUMNS, MOST_CAVEATS = 2, 12, 8, 3
MOST_NAMED = 3
"""A list of more columns is described as a whole."""
NOT_TABLES = frozenset({"figure", "svg", "anndata", "text", "model", "graph"})
Done = tuple[TaskNode, NodeResult]


def is_table(artifact: Artifact) -> bool:
    """Say whether an artifact is a CSV table that can be shown row by row."""
    return artifact.type not in NOT_TABLES and artifact.name.lower().endswith(".csv")


def answering(view: RunView, registry: ToolRegistry) -> list[Done]:
    """Return the steps that answer the question's requests and have a finding, in the order of the requests."""
    if view.plan is None:
        return []
    top = max((node.priority for node in view.plan.nodes), default=0)
    done = [pair for pair in done_nodes(view) if pair[1].findings and pair[0].priority == top]
    found: list[Done] = []
    for goal in view.plan.analysis:
        found += [
            pair
            for pair in done
            if pair not in found and (spec := spec_of(registry, pair[0].tool)) and goal.id in spec.answers
        ]
    # What is asked of each level is answered for all of them: a level that is left out would pass for none.
    alike = len({pair[0].tool for pair in found}) == 1
    return found[: MOST_LEVELS if alike else MOST_ANSWERS]


def all_answered(view: RunView, registry: ToolRegistry) -> bool:
    """Say whether every step of the plan that answers a request has a result."""
    top = max((node.priority for node in view.plan.nodes), default=0) if view.plan else 0
    goals = {goal.id for goal in view.plan.analysis} if view.plan else set()
    due = [
        (node, result)
        for node, result in planned(view)
        if node.priority == top and (spec := spec_of(registry, node.tool)) and goals.intersection(spec.answers)
    ]
    return bool(due) and all(result is not None and result.findings for _, result in due)


def answers_of(view: RunView, pairs: Sequence[Done], registry: ToolRegistry) -> list[Answer]:
    """Return what steps answer, each by the finding that says it, with the figure that shows it.

    Of a single step two findings answer two requests that are of one analysis: the pooled effect, and what speaks for
    studies that were not published.
    """
    if len(pairs) != 1:
        return [_answer(view, pair, _asked(view, pair, registry), registry) for pair in pairs]
    question, (pair,) = view.record.question, pairs
    led = [_led_to(part, pair, registry) for part in _parts(question)]
    if len(led) < 2 or not any(led):
        return [_answer(view, pair, _asked(view, pair, registry), registry)]
    found = {f.id: f for one in led if (f := one or pair[1].findings[0])}
    first, *others = (_answer(view, pair, finding, registry) for finding in found.values())
    return [first, *(other.model_copy(update={"figure": ""}) for other in others)]


def _parts(question: str) -> list[str]:
    """Return the stretches of a question that ask for something, and what a sentence begins with before the first."""
    words = tokens(question)
    asked = requests_of(question, words) if words else []
    parts = [question[words[r.first].start : words[r.last].end] for r in asked]
    before = question[: words[asked[0].first].start] if asked else ""
    return [before, *parts] if re.search(r"[\w)],?\s+and\s+\Z", before) else parts


def _led_to(question: str, pair: Done, registry: ToolRegistry) -> Finding | None:
    """Return the later finding that answers what a question says, None where none is declared or several are."""
    spec = spec_of(registry, pair[1].tool)
    called = [name for name, words in (spec.leads if spec else {}).items() if re.search(words, question, re.IGNORECASE)]
    if len(called) != 1:
        return None
    rows = [f for f in pair[1].findings if called[0] in f.row.values()]
    if rows:  # of several groups each has its own, and none is the answer
        return rows[0] if len(rows) == 1 else None
    return next((f for f in pair[1].findings if any(value.name == called[0] for value in f.values)), None)


def _answer(view: RunView, pair: Done, finding: Finding, registry: ToolRegistry) -> Answer:
    node = pair[0]
    figure = _figure(view, pair, registry)
    name = figure.name if figure else ""
    kept = " and ".join(dict.fromkeys(_rows_kept(view, node, registry)))
    columns = [column for profile in view.profiles for column in profile.column_profiles]
    known = meanings(columns, view.record.question)
    lead = led_by(kept, known, finding.text) if kept else ""
    lead = at_times(lead, view.plan.understood, view.record.question) if view.plan else lead
    return Answer(
        text=behind(lead, finding.text),
        node=node.id,
        finding=finding.id,
        figure=name,
        rows=kept_rows(kept, known),
        led_by=lead,
    )


_ARTICLE = re.compile(
    r"\A(?:The|A|An|No|None|Of|In|Half|Each|There|All|Both|Adjusted|Mean|Median|Daily|Weekly|Monthly|Survival|Time)"
    "(?= )"
)


def behind(lead: str, text: str) -> str:
    """Return a sentence as it goes on behind a lead: what begins it and is no name in small letters.

    That all subjects are meant goes without saying where a lead tells which.
    """
    if not lead:
        return text
    return _ARTICLE.sub(lambda match: match[0].lower(), text.removeprefix("All subjects: "))


def _rows_kept(view: RunView, node: TaskNode, registry: ToolRegistry) -> Iterator[str]:
    """Yield which rows the steps before one have kept for it."""
    ahead, seen = list(node.upstream()), set[str]()
    while ahead and view.plan is not None:
        before = view.plan.node(ahead.pop(0))
        if before is None or before.id in seen:
            continue
        seen.add(before.id)
        ahead += before.upstream()
        spec = spec_of(registry, before.tool)
        for param in spec.params if spec else ():
            if param.role == "rows" and before.params.get(param.name):
                yield str(before.params[param.name])


def _asked(view: RunView, pair: Done, registry: ToolRegistry) -> Finding:
    """Return the finding on what the question names (all its levels, its genes, its columns), else the first.

    Steps say the answer first, unless their tool declares that a later finding answers what the question says. A
    finding on one level of several that are asked about is only a part of it. Columns choose among findings of one
    kind only, or where the first tells of no row: most rows name some column.
    """
    _, result = pair
    first = result.findings[0]
    if meant := _led_to(view.record.question, pair, registry):
        return meant
    spans = view.plan.understood if view.plan else []
    # What the step was given it is about anyway: beside the event asked about, another one is what competes with it.
    given, own = set(_own_levels(result, registry)), {span.value for span in spans if span.taken_as == "level"}
    # Nor is it about what is only held constant, or one of a list (`age, weight, CRP and death`).
    many = [value for value in result.params.values() if isinstance(value, list) and len(value) > MOST_NAMED]
    columns_given = {value.rpartition(" = ")[0] for value in given} | {*_texts([result.params.get("adjusted"), *many])}
    own = {value for value in own if value.rpartition(" = ")[0] not in columns_given} | (own & given)
    levels = {value for value in own if value.rpartition(" = ")[0] not in columns_given}
    beside = [value.rpartition(" = ")[2] for value in own - given]
    genes = {span.value for span in spans if span.taken_as == "gene"} - {""}
    columns = [name for name in _named_columns(view) if name not in result.params.values()]
    columns = [] if all(_holds(first.text, name) for name in columns) else columns

    # A level that the first tells of already needs no finding on it alone.
    alone = [value.rpartition(" = ")[2] for value in levels if not _names_level(first, value)]

    # The one on two of three groups; of two groups every finding of a table of characteristics names both.
    ends = [value.rpartition(" = ")[2] for value in levels]
    whole = r"(?<!\w){}\s*(?:to|through|-|–)\s*{}(?!\w)"  # of `stages I to IV` no pair is meant
    asked = view.record.question
    if len(ends) == 2 and any(
        re.search(whole.format(*map(re.escape, two)), asked, re.IGNORECASE) for two in (ends, ends[::-1])
    ):
        ends = []
    of_pair = [f for f in result.findings if len(ends) == 2 and all(_holds(_row(f), end) for end in ends)]

    def said(finding: Finding) -> tuple[bool, bool, bool, int, bool]:
        row = _row(finding)
        two = len(levels) > 2 and " vs " in row  # which tells of no third
        told = bool(levels) and not two and all(_names_level(finding, level) for level in levels)
        alike = not first.row or (finding.artifact, set(finding.row)) == (first.artifact, set(first.row))
        about = bool(columns) and alike and all(_holds(row, name) for name in columns)
        only = len(levels) == 1 and any(_holds(row, value) for value in alone)
        only = only or (len(beside) == 1 and _tests(finding, first, beside[0]))
        pair = of_pair == [finding]
        return told, pair, only, sum(_holds(finding.text, name) for name in genes), about

    return max(result.findings, key=said)  # the first of several that say as much


def _row(finding: Finding) -> str:
    """Return the texts of the row that a finding points to."""
    return " ".join(value for value in finding.row.values() if isinstance(value, str))


def _tests(finding: Finding, first: Finding, named: str) -> bool:
    """Say whether a finding tests just what is named where the first tells of all: the gene that is asked about."""
    own = not first.row and named in finding.row.values()
    return own and any(re.match(r"p(?:_|$)", value.name) for value in finding.values)


def _own_columns(node: TaskNode, result: NodeResult, registry: ToolRegistry) -> set[str]:
    """Return the columns that a step was given."""
    spec = spec_of(registry, node.tool)
    names = {param.name for param in spec.params if param.kind in ("column", "columns")} if spec else set()
    return set(_texts(value for name, value in result.params.items() if name in names))


def _own_levels(result: NodeResult, registry: ToolRegistry) -> Iterator[str]:
    """Yield the levels that a step was given, each as `column = level`."""
    spec = spec_of(registry, result.tool)
    for param in spec.params if spec else ():
        column = result.params.get(param.of)
        if param.kind in ("level", "levels", "texts") and isinstance(column, str):
            yield from (f"{column} = {value}" for value in _texts([result.params.get(param.name)]))


def _named_columns(view: RunView) -> list[str]:
    spans = view.plan.understood if view.plan else []
    return list(dict.fromkeys(span.value.strip() for span in spans if span.taken_as == "column" and span.value.strip()))


def _names_level(finding: Finding, value: str) -> bool:
    """Say whether a sentence names a level, given as `column = level`: numbers and a yes only with their column."""
    column, _, level = (part.strip() for part in value.rpartition(" = "))
    if not re.fullmatch(r"[-+\d.,]+|yes|no|[yn]|true|false|none|other", level, re.IGNORECASE):
        return bool(level) and _holds(finding.text, level)
    claim = finding.text.partition(": ")[0]
    return bool(column) and _holds(claim, column) and _holds(claim, level)


def _holds(text: str, name: str) -> bool:
    # The 1 of 1.41 names no level.
    return re.search(rf"(?<!\w)(?<!\d\.){re.escape(name)}(?!\w|\.\d)", text, re.IGNORECASE) is not None


def _figure(view: RunView, pair: Done, registry: ToolRegistry) -> Artifact | None:
    """Return the figure of the step, else of one that draws what it made, else of one on the same columns."""
    node, result = pair
    spec = spec_of(registry, node.tool)
    own = {artifact.output: artifact for artifact in result.artifacts if artifact.type == "figure"}
    if own:
        return next((own[name] for name in (spec.shows if spec else {}) if name in own), next(iter(own.values())))
    needed = _own_columns(node, result, registry)
    drawing = [
        (node.id not in other.upstream(), artifact)
        for other, made in done_nodes(view)
        for artifact in made.artifacts
        if artifact.type == "figure"
        and (node.id in other.upstream() or (needed and needed <= set(_texts(made.params.values()))))
    ]
    return min(drawing, key=lambda item: item[0])[1] if drawing else None


def _texts(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        yield from (item for item in listed(value) if isinstance(item, str) and item)


# ==== the table ====


def with_tables(report: Report, view: RunView, registry: ToolRegistry, artifacts: ArtifactStore) -> Report:
    """Return the report with the rows that show each answer; a table that cannot be read is left out."""
    shown: list[Answer] = []
    seen: set[str] = set()
    for answer in report.answers:
        result = view.results[answer.node]
        spec = spec_of(registry, result.tool)
        tables = _tables(answer, result, spec, artifacts, _named_columns(view))
        new = [table for table in tables if table.name not in seen]
        seen |= {table.name for table in new}
        shown.append(answer.model_copy(update=dict(zip(("table", "beside"), new, strict=False))))
    return report.model_copy(update={"answers": shown})


def _tables(
    answer: Answer, result: NodeResult, spec: ToolSpec | None, artifacts: ArtifactStore, asked: Sequence[str]
) -> list[ShownTable]:
    """Return what shows an answer: the table of the finding where none such is declared, then those that are."""
    finding = next(f for f in result.findings if f.id == answer.finding)
    tables = [artifact for artifact in result.artifacts if is_table(artifact)]
    declared = spec.shows if spec else {}
    own = [artifact for artifact in tables if artifact.name == finding.artifact]
    chosen = [a for name in declared for a in tables if a.output == name]
    chosen = chosen if any(a in chosen for a in own) else [*own, *chosen] or tables[:1]
    shown = [_shown(artifact, finding, result, declared, artifacts, asked) for artifact in chosen[:MOST_TABLES]]
    return [table for table in shown if table is not None]


def _shown(
    chosen: Artifact,
    finding: Finding,
    result: NodeResult,
    declared: Mapping[str, Sequence[str]],
    artifacts: ArtifactStore,
    asked: Sequence[str],
) -> ShownTable | None:
    """Return the rows and columns of one table; None for one that cannot be read."""
    pointing = {f.id: f.row for f in result.findings if f.artifact == chosen.name and f.row}
    try:
        found = scan(artifacts.path(chosen.sha256), pointing, first=max(MOST_ROWS, finding.first))
    except (OSError, EngineError, ValueError):
        return None
    named = finding.first if chosen.name == finding.artifact else 0
    others = [] if finding.told_only else found.first
    rows = dict(enumerate(found.first[:named], start=1)) or _rows(
        found, [f.id for f in result.findings], finding.id, others
    )
    if not rows:
        return None
    columns = _columns(found.header, rows, declared.get(chosen.output, ()), _deciding(finding, asked))
    places = [found.header.index(name) for name in columns]
    hit = found.hits.get(finding.id)
    return ShownTable(
        name=chosen.name,
        columns=columns,
        rows={n: [cells[at] if at < len(cells) else "" for at in places] for n, cells in rows.items()},
        marked=[hit.number] if hit and hit.count == 1 and len(rows) > 1 else [],
        total=found.total,
    )


def _rows(found: Scan, order: Sequence[str], leading: str, others: Sequence[list[str]]) -> dict[int, list[str]]:
    """Return the rows to show: all of a short table, else those that findings point to and the first of `others`."""
    hits = [found.hits[name] for name in (leading, *order) if name in found.hits and found.hits[name].count]
    rows = {hit.number: hit.cells for hit in hits[:MOST_ROWS]}
    for number, cells in enumerate(others, start=1):
        if len(rows) >= MOST_ROWS:
            break
        rows.setdefault(number, cells)
    return dict(sorted(rows.items())) if others else rows


def _deciding(finding: Finding, asked: Sequence[str]) -> list[str]:
    """Return names of columns, what decides first: what selects the row, what is asked about, numbers and intervals."""
    names = [*finding.row, *asked]
    for value in finding.values:
        names.append(value.name)
        if value.low is not None:
            limits = ("lower_95", "upper_95", "low", "high", "lower", "upper")
            names += [*(f"{value.name}_{limit}" for limit in limits), *limits]
    return names


def _columns(
    header: Sequence[str], rows: dict[int, list[str]], declared: Sequence[str], deciding: Sequence[str]
) -> list[str]:
    """Return the columns to show, in the table's order: what is declared, else what names a row and what decides."""
    columns = {name: [c[at] if at < len(c) else "" for c in rows.values()] for at, name in enumerate(header)}
    filled = [name for name, cells in columns.items() if any(text.strip() for text in cells)]
    if declared:
        return [name for name in declared if name in filled]
    kept: list[str] = []
    telling = [name for name in filled if len({*columns[name]}) > 1 and not holds_numbers(columns[name])]
    first = [*filled[:1], *(name for name in deciding if name in filled), *_judged(filled), *telling]
    for name in dict.fromkeys([*first, *filled]):
        # An adjusted p-value of a single test says again what the one beside it says.
        if len(kept) < MOST_COLUMNS and not (_is_number(columns[name]) and columns[name] in [columns[k] for k in kept]):
            kept.append(name)
    return [
        name for name in filled if name in kept and (_other_limit(name) in kept or _other_limit(name) not in filled)
    ]


def _judged(names: Sequence[str]) -> Iterator[str]:
    """Yield what a row is judged by: p-values, and limits with what they are the limits of, which stands before them.

    Limits that name what they are of (`odds_ratio_lower_95`) come before others: they are on the scale that is told.
    """
    yield from (name for name in names if re.fullmatch(r"(.*_)?p_?(adj|value|val)(_.*)?|(.*_)?[pq]", name))
    lower = [name for name in names if _LIMIT.search(name) and _other_limit(name) in names[names.index(name) :]]
    for name in sorted(lower, key=lambda name: _LIMIT.match(name) is not None):
        before = [other for other in names[: names.index(name)] if not re.fullmatch(r"(.*_)?(se|df|n)", other)]
        yield from (*before[-1:], name, _other_limit(name))


_ENDS = {"lower": "upper", "upper": "lower", "low": "high", "high": "low"}
_LIMIT = re.compile(r"(?:^|(?<=_))(?:lower|upper|low|high)(?=(?:_95)?$)")
"""The word for a limit in the name of a column: `odds_ratio_lower_95` of a tool, `percent_high` of written code."""


def _other_limit(name: str) -> str:
    """Return the name of the other end of an interval; a name that is no limit as it is."""
    return _LIMIT.sub(lambda match: _ENDS[match[0]], name)


def _is_number(cells: Sequence[str]) -> bool:
    return any("." in text for text in cells) and holds_numbers(cells)


# ==== what to mind ====


def caveats(view: RunView, answers: Sequence[Answer]) -> list[str]:
    """Return at most three: all that failed or was left out first, then what speaks against these answers."""
    missing = unfinished(view) if answers else []
    missing += [f"Not answered: {text}" for text in (view.plan.not_answered if view.plan else [])]
    if len(missing) > MOST_CAVEATS:
        more = len(missing) - MOST_CAVEATS + 1
        return [*missing[: MOST_CAVEATS - 1], f"{more} more things were not done or not answered; see the details."]
    general = [w for w in (view.plan.warnings if view.plan else []) if not _of_file(w, view)]
    # How a file as a whole is read comes after what is known of the columns that the answer rests on.
    whole = [w for w in general if any(w.startswith(f"{profile.name} ") for profile in view.profiles)]
    general = [w for w in general if w not in whole]
    twice = [text for text in _told_of_files(view) if REPEATED in text]  # counted twice in whatever is computed
    found = [*missing, *general, *twice, *_of_steps(view, answers), *_of_data(view, answers), *whole]
    found = [text for text in dict.fromkeys(" ".join(text.split()) for text in found) if text]
    aside = left_aside(view)  # often only how something is called: what is known to limit the answer goes before
    return [*found[: max(MOST_CAVEATS - len(aside), len(missing))], *aside][:MOST_CAVEATS]


def _of_file(warning: str, view: RunView) -> bool:
    return any(warning.startswith(f"{profile.name}: ") for profile in view.profiles)


def _told_of_files(view: RunView) -> list[str]:
    told = [warning for warning in (view.plan.warnings if view.plan else []) if _of_file(warning, view)]
    return told + warnings_of_files(view)


def _of_steps(view: RunView, answers: Sequence[Answer]) -> Iterator[str]:
    """Yield the warnings of the answering steps, then of the steps whose results they were given."""
    waiting, seen = [answer.node for answer in answers], set()
    while waiting:
        id_ = waiting.pop(0)
        node, result = view.plan.node(id_) if view.plan else None, view.results.get(id_)
        if id_ in seen or node is None or result is None:
            continue
        seen.add(id_)
        yield from result.warnings
        yield from (i.message for i in (result.verdict.issues if result.verdict else []) if i.severity != "info")
        waiting += node.upstream()


def _of_data(view: RunView, answers: Sequence[Answer]) -> Iterator[str]:
    """Yield the warnings on files that name a column which an answering step, or one before it, reads."""
    known = {column.name for profile in view.profiles for column in profile.column_profiles}
    waiting, read, seen = [answer.node for answer in answers], set[str](), set[str]()
    while waiting:
        id_ = waiting.pop()
        node, result = view.plan.node(id_) if view.plan else None, view.results.get(id_)
        if node is None or result is None or id_ in seen:
            continue
        seen.add(id_)
        texts = [*_texts(result.params.values())]
        # What a column is computed of limits what is found of it.
        read.update(texts, *(re.findall(r"`([^`]+)`", text) for text in texts))
        waiting += node.upstream()
    yield from (
        text for text in _told_of_files(view) if any(_holds(text.partition(": ")[2], name) for name in known & read)
    )
