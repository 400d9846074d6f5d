"""Answers that need no plan: what the desk knows (graph, memory, facts), and what became of a row of the last tables.

Each sentence says where it is from. What is not there is said to be not there; nothing is made up.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from engine.domain.findings import Finding, FindingValue
from engine.domain.knowledge import Edge, Mention, Node, NodeType
from engine.domain.plan import TaskDag
from engine.domain.report import Report, ReportFigure
from engine.domain.results import Artifact, NodeResult
from engine.errors import EngineError
from engine.knowledge.service import KnowledgeBase
from engine.memory.service import Memory
from engine.planning.offers import WHAT
from engine.ports import ArtifactStore
from engine.reporting.compose import is_table, title_of
from engine.text.sentences import first_sentence
from engine.toolbox.registry import ToolRegistry

_KNOWN = re.compile(
    r"\b(?:what(?:'s| is| do (?:we|you))? (?:is )?(?:already )?kno\w+|tell me (?:something )?(?:about|of)|literature|"
    r"papers?|publications?|pubmed|published|who (?:has )?(?:found|shown|described)|prior knowledge|knowledge graph|"
    r"have we (?:seen|found|done|analy[sz]ed)|did we (?:find|see|do)|remember\w*|earlier analys[ie]s)\b",
    re.IGNORECASE,
)
"""What asks for knowledge and not for a computation."""
_LITERATURE = re.compile(
    r"\b(?:literature|papers?|publications?|pubmed|published|articles?|reviews?|citations?)\b", re.I
)
_OWN = re.compile(
    r"\b(?:my|our|this|these|the|attached|uploaded) (?:\w+ )?(?:data|dataset|file|files|table|samples|sheet)\b", re.I
)
NAMES_SHOWN, LINES, PAST = 8, 12, 3
LEAST_LINK = 0.5
"""How surely words must name an entity."""


def asks_what_is_known(question: str) -> bool:
    """Say whether the words ask for knowledge or past analyses; with data they name, they may still ask to compute."""
    return _KNOWN.search(question) is not None


_ABLE = re.compile(
    r"\bwhat(?: all| else)? (?:can|could) (?:you|i|it|this|the desk|biodesk)(?: all)? "
    r"(?:do|ask|offer|analy[sz]e|compute|answer)\b|"
    r"\b(?:what|which) (?:(?:kinds?|types?|sorts?) of )?(?:analys[ei]s|questions|tests|methods|things) "
    r"(?:can|could|do) (?:you|i|it|this|the desk|biodesk)\b|\bwhat are you (?:able|good|capable)\b",
    re.IGNORECASE,
)
"""What asks for what the desk can do."""


def told_what_can_be_done(question: str, able: Callable[[], Sequence[str]]) -> Report | None:
    """Return what the desk can do, a line for each field that `able` gives, where a question asks for just that."""
    if _ABLE.search(question) is None:
        return None
    return told_report(question, [WHAT, *(f"From files, {line}." for line in able())])


def told_from_knowledge(question: str, knowledge: KnowledgeBase, memory: Memory, why: str) -> Report | None:
    """Return what graph, facts and past analyses say of what a question names; None when they say nothing of it.

    Args:
        question: what is asked.
        knowledge: the graph.
        memory: facts and past analyses.
        why: why nothing is computed, a sentence to begin with, or "".
    """
    if not asks_what_is_known(question) and _OWN.search(question):
        return None
    named = _named(knowledge.link(question))
    lines = [*_both(named, knowledge), *(line for node in named for line in _of(node, question, knowledge))]
    lines += _facts(named, memory)
    past = _past(question, memory) if asks_what_is_known(question) or named else []
    literature = bool(_LITERATURE.search(question))
    if not lines and not past and not literature:
        return None
    opening = [why] if why else []
    if literature:
        opening.append(
            "This version searches no literature: it tells what its knowledge graph, facts and past analyses hold."
        )
    if not lines and not past:
        opening.append(_holds(knowledge))
    summary = [*opening, *lines[:LINES], *past]
    return told_report(question, summary, limitations=[_origin(knowledge)] if lines else [])


def _named(mentions: Sequence[Mention]) -> list[Node]:
    found = {m.node.id: m.node for m in mentions if m.score >= LEAST_LINK and m.node.type not in _OWN_TYPES}
    return list(found.values())[:3]


_OWN_TYPES = (NodeType.TOOL, NodeType.DATASET, NodeType.PROTOCOL, NodeType.DOMAIN)
"""Types of what the desk itself made known: no knowledge of biology."""


def _both(named: Sequence[Node], knowledge: KnowledgeBase) -> list[str]:
    """Return what is stated of the first two entities together."""
    if len(named) < 2:
        return []
    first, second = named[:2]
    edges = knowledge.edges_between(first.id, second.id)
    names, sources = {first.id: first.name, second.id: second.name}, _sources(knowledge)
    told = [f"{names[e.source]} {_verb(e.type.value)} {names[e.target]} ({sources(e)})." for e in edges]
    return list(dict.fromkeys(told)) or [f"The graph states nothing of {first.name} and {second.name} together."]


def _of(node: Node, question: str, knowledge: KnowledgeBase) -> Iterator[str]:
    """Yield what is stated of an entity, one line for each relation."""
    around = knowledge.neighbours(node.id, hops=1, limit=150)
    others = {other.id: other for other in around.nodes}
    wanted = {kind for kind in NodeType if re.search(rf"\b{kind.value.replace('_', ' ')}s?\b", question, re.I)} - {
        node.type
    }
    groups: dict[tuple[str, bool], list[Edge]] = {}
    for edge in around.edges:
        out = edge.source == node.id
        if (out or edge.target == node.id) and (other := others.get(edge.target if out else edge.source)) is not None:
            if (wanted and other.type not in wanted) or other.type in _OWN_TYPES:
                continue
            groups.setdefault((edge.type.value, out), []).append(edge)
    sources = _sources(knowledge)
    for (kind, out), edges in sorted(groups.items(), key=lambda item: -len(item[1])):
        names = list(dict.fromkeys(others[e.target if out else e.source].name for e in edges))
        listed = ", ".join(names[:NAMES_SHOWN]) + (
            f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
        )
        from_ = ", ".join(dict.fromkeys(map(sources, edges)))
        subject = f"{node.name} {_verb(kind)}" if out else f"What {_verb(kind)} {node.name}"
        yield f"{subject}: {listed} (source: {from_})."
    if not groups:
        kinds = " or ".join(kind.value.replace("_", " ") for kind in sorted(wanted))
        kind = node.type.value.replace("_", " ")
        yield f"The graph has {node.name} ({kind}) and states nothing of it{f' with a {kinds}' if kinds else ''}."


def _verb(kind: str) -> str:
    words = kind.replace("_", " ")
    verb = words.split()[0]  # `treats`, `has function`, but `is subclass of`
    return words if verb.endswith("s") and not verb.endswith("ss") else f"is {words}"


def _sources(knowledge: KnowledgeBase) -> Callable[[Edge], str]:
    names = {source.id: source.name for source in knowledge.store.sources()}
    return lambda edge: names.get(edge.origin, edge.origin) or "unnamed source"


def _facts(named: Sequence[Node], memory: Memory) -> list[str]:
    views = {view.fact.id: view for node in named for view in memory.facts(node.name)[:3]}
    return [
        f"Remembered: {v.fact.subject} {v.fact.predicate} {v.fact.object} (source: {', '.join(v.sources[:3])}; "
        f"support {v.support:.2f}{'; contradicted by another fact' if v.contradicts else ''})."
        for v in views.values()
    ]


def _past(question: str, memory: Memory) -> list[str]:
    recalled, no_result = memory.recall(question, top=PAST).episodes, "no result is kept of it."
    return [
        f"Past analysis of {item.episode.at[:10]} ({item.episode.run_id or item.episode.id}), "
        f'"{item.episode.task}": {first_sentence(item.episode.result_summary) or no_result}'
        for item in recalled
    ]


def _holds(knowledge: KnowledgeBase) -> str:
    stats = knowledge.stats()
    if not stats.nodes:
        return "The knowledge graph is empty, and no fact or past analysis fits the question."
    names = ", ".join(source.name for source in stats.sources[:3])
    graph = f"the knowledge graph ({stats.nodes:,} entities from {names})"
    return f"Nothing the question names is in {graph}, the facts or past analyses."


def _origin(knowledge: KnowledgeBase) -> str:
    stats = knowledge.stats()
    many = len(stats.sources)
    held = f"{stats.edges:,} statements from {many} {'source' if many == 1 else 'sources'}"
    return f"The graph holds {held}; what is not in it may still be true."


def told_report(
    question: str,
    summary: list[str],
    findings: Sequence[Finding] = (),
    limitations: Sequence[str] = (),
    figures: Sequence[ReportFigure] = (),
) -> Report:
    """Return the report of an answer that needed no plan."""
    return Report(
        title=title_of(question), question=question, summary=summary, findings=list(findings), methods=[],
        figures=list(figures), tables=[], limitations=list(limitations), next_steps=[], citations=[],
    )  # fmt: skip


# ==== where a row went ====

_UNSEEN = r"(?:do not|don'?t|dont|cannot|can'?t|cant) (?:see|find)"
_WHY = re.compile(
    r"\bwhy\b|\bwhere(?:'s| is| are| did| has)\b|\bhow come\b|\bwhat (?:happened|became) (?:to|with|of)\b|"
    rf"\bmissing\b|\bnot (?:in|on|among) the (?:list|table|result|plot|figure)|\b{_UNSEEN}\b",
    re.IGNORECASE,
)
_GONE = re.compile(
    r"\b(?:missing|absent|not (?:there|in|on|among|shown|listed|significant)|left out|filtered|dropped|"
    rf"gone|disappear\w*|{_UNSEEN}|where(?:'s| is| are)|why not|why (?:is|are|was|were|isn'?t|aren'?t))\b",
    re.IGNORECASE,
)
_THAT = re.compile(r"\b(?:that|this|it|the) (?:gene|protein|row|term|pathway|marker|feature|metabolite)\b|\bit\b", re.I)
_WORD = re.compile(r"[A-Za-z0-9][\w.:/-]*[\w]|[A-Z]")
_COMMON = frozenset(
    "why where is are was were not in on the that this gene genes protein row missing list table result results it i "
    "do don dont see find what about happened became to with of a an and or my our significant volcano plot how come "
    "at all there here any no fdr pca p value values filtered out left shown listed did has have been be from for can "
    "cant cannot please up down top".split()
)
ROWS_READ = 2_000_000
LONGEST = 16
"""Words; a longer question asks for more than where a row is."""


class _Found(NamedTuple):
    artifact: Artifact
    result: NodeResult
    row: dict[str, str]


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Finds rows by name in the tables and files of a run."""

    plan: TaskDag
    results: Mapping[str, NodeResult]
    artifacts: ArtifactStore
    registry: ToolRegistry
    aliases: Callable[[str], Sequence[str]] = lambda _: ()
    """Other names of what a name means."""
    said: frozenset[str] = frozenset()
    """Columns and levels of the data in lower case: `why is survival shorter in treated` asks for no row."""
    _read: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    """Table -> name in lower case -> its row."""

    def told(self, question: str) -> Report | None:
        """Return what became of what a question misses in the last tables; None when it asks for no such thing."""
        if not _WHY.search(question) or len(question.split()) > LONGEST:
            return None
        words = [w for w in dict.fromkeys(_WORD.findall(question)) if w.lower() not in _COMMON | self.said]
        names = [w for w in words if self._known(w) or _like_a_symbol(w)]
        if not names:
            if not (_THAT.search(question) and _GONE.search(question)):
                return None
            places = " or ".join([*(a.name for a, _ in self._tables()[:1]), *(d.name for d in self.plan.datasets[:1])])
            return told_report(
                question, [f"Which one is meant? Write its name as it stands in {places}, and it is looked up."]
            )
        findings = [finding for number, name in enumerate(names[:5], start=1) for finding in self._of(name, number)]
        return told_report(question, [finding.text for finding in findings], findings)

    def _of(self, name: str, number: int) -> list[Finding]:
        """Return what became of one name: a sentence for each table that has it, else where it was last seen."""
        for called in (name, *self.aliases(name)):
            rows = [
                hit for artifact, result in self._tables() if (hit := self._row(artifact, result, called)) is not None
            ]
            if rows:
                also = f"{name} ({called})" if called != name else name
                # The tables that test come first: they say why.
                rows.sort(key=lambda hit: not any(is_p(column) for column in hit.row))
                return [self._said(also, hit, f"f{number}_{at}") for at, hit in enumerate(rows[:2], start=1)]
        for called in (name, *self.aliases(name)):
            for dataset in self.plan.datasets:
                values = (
                    self._in_file(self.artifacts.path(dataset.sha256), called)
                    if self.artifacts.has(dataset.sha256)
                    else None
                )
                if values is not None:
                    return [
                        Finding(
                            id=f"f{number}", node="", **_in_the_file(name, called, dataset.name, values, self._tables())
                        )
                    ]
        files = ", ".join(dataset.name for dataset in self.plan.datasets)
        text = (
            f"{name} is in none of the {len(self._tables())} result tables and, under this name, not in {files} either."
        )
        return [Finding(id=f"f{number}", node="", text=text)]

    def _said(self, name: str, hit: _Found, id_: str) -> Finding:
        """Return the sentence on a row of a table, with its numbers."""
        numbers = {column: value for column, text in hit.row.items() if (value := number_of(text)) is not None}
        step = self.plan.node(hit.result.node)
        where = f"{hit.artifact.name}" + (f" (step {step.name!r})" if step else "")
        adjusted = next((c for c in hit.row if is_adjusted(c)), "")
        decided = adjusted or next((c for c in hit.row if is_p(c)), "")
        alpha = alpha_of(hit.result, self.registry)
        shown = ", ".join(f"{column} {value:.4g}" for column, value in list(numbers.items())[:8])
        text = f"{name} is in {where}" + (f": {shown}." if shown else ".")
        if decided and decided not in numbers:
            text += (
                f" Its {decided} is empty: the step left it out before the values were adjusted, or could not test it."
            )
        elif decided and alpha is not None:
            verdict = "below" if numbers[decided] < alpha else "not below"
            text += f" Its {decided} is {verdict} the threshold {alpha:g}" + (
                ", so it counts as significant."
                if numbers[decided] < alpha
                else ", so it is not listed as significant."
            )
        values = [FindingValue(name=column, value=value) for column, value in list(numbers.items())[:8]]
        values += [FindingValue(name="threshold", value=alpha)] if alpha is not None and decided else []
        return Finding(id=id_, node="", text=text, values=values)

    def _tables(self) -> list[tuple[Artifact, NodeResult]]:
        """Return the tables of the run, those that test something first: they say why."""
        found = [
            (artifact, result)
            for result in self.results.values()
            for artifact in result.artifacts
            if is_table(artifact) and self.artifacts.has(artifact.sha256)
        ]
        return sorted(found, key=lambda item: not any(map(is_p, item[0].columns)))

    def _known(self, word: str) -> bool:
        return any(self._row(artifact, result, word) is not None for artifact, result in self._tables())

    def _row(self, artifact: Artifact, result: NodeResult, name: str) -> _Found | None:
        if artifact.sha256 not in self._read:
            named: dict[str, dict[str, str]] = {}
            for row in rows_of(self.artifacts.path(artifact.sha256)):
                for value in list(row.values())[:NAME_COLUMNS]:
                    if value and number_of(value) is None:
                        named.setdefault(value.casefold(), row)
            self._read[artifact.sha256] = named
        row = self._read[artifact.sha256].get(name.casefold())
        return _Found(artifact, result, row) if row is not None else None

    @staticmethod
    def _in_file(path: Path, name: str) -> list[float] | None:
        """Return the numbers of the row that begins with a name, None where a file has no such row."""
        wanted = name.casefold()
        try:
            with path.open(encoding="utf-8", errors="replace", newline="") as handle:
                for number, line in enumerate(handle):
                    if number > ROWS_READ or "\0" in line:
                        return None
                    if wanted in line.casefold():
                        cells = [cell.strip().strip('"') for cell in re.split(r"[,\t;]", line)]
                        if wanted in (cell.casefold() for cell in cells[:NAME_COLUMNS]):
                            return [value for cell in cells[1:] if (value := number_of(cell)) is not None]
        except OSError:
            return None
        return None


NAME_COLUMNS = 4
"""Names of rows stand in one of the first columns."""


def _in_the_file(name: str, called: str, file: str, values: list[float], tables: Sequence[Any]) -> dict[str, Any]:
    also = f"{name} ({called})" if called != name else name
    out = f"{tables[0][0].name} and the other {len(tables) - 1}" if len(tables) > 1 else "the result tables"
    text = f"{also} is in {file}, but not in {out}: a step left it out before them."
    numbers = []
    if values:
        numbers = [FindingValue(name="sum", value=math.fsum(values)), FindingValue(name="largest", value=max(values))]
        text += f" Its {len(values)} values there add up to {math.fsum(values):g}, the largest is {max(values):g}."
        numbers.append(FindingValue(name="values", value=len(values)))
    return {"text": text, "values": numbers}


def rows_of(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a stored table; none where it cannot be read."""
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as handle:
            for number, row in enumerate(csv.DictReader(handle)):
                if number > ROWS_READ:
                    return
                yield {str(key): str(value or "") for key, value in row.items() if key is not None}
    except (OSError, csv.Error):
        return


def number_of(text: str) -> float | None:
    """Return the finite number a cell holds, or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def is_p(column: str) -> bool:
    """Say whether a column holds p-values."""
    return re.search(r"^p$|(?:^|_)(?:p_?val\w*|p_?adj\w*|padj|fdr|q_?val\w*)", column.lower()) is not None


def is_adjusted(column: str) -> bool:
    """Say whether a column holds p-values adjusted for how many there are."""
    return re.search(r"(?:^|_)(?:p_?adj\w*|padj|fdr|q_?val\w*)", column.lower()) is not None


def alpha_of(result: NodeResult, registry: ToolRegistry) -> float | None:
    """Return the significance threshold that a step used, None where it has none."""
    spec = registry.get(result.tool) if result.tool in registry else None
    value = {**({p.name: p.default for p in spec.params} if spec else {}), **result.params}.get("alpha")
    return float(value) if isinstance(value, int | float) else None


def _like_a_symbol(word: str) -> bool:
    return bool(
        re.fullmatch(
            r"[A-Z][A-Z0-9-]{2,}|[A-Z]+[0-9][A-Za-z0-9-]*|ENS[A-Z]*G\d+(?:\.\d+)?|[A-Z][a-z]+\d+[a-z]*\d*", word
        )
    )


def other_names(knowledge: KnowledgeBase) -> Callable[[str], Sequence[str]]:
    """Return what finds the other names of a gene: its aliases and identifiers in the graph."""

    def names(text: str) -> Sequence[str]:
        try:
            node = knowledge.node(text)
        except EngineError:
            return ()
        local = [xref.partition(":")[2] for xref in node.xrefs]
        return [name for name in dict.fromkeys([node.name, *node.aliases, *local]) if name and name != text]

    return names
