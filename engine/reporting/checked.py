"""What of a run was checked against what: postconditions, hand-overs between steps, numbers read again, statements.

Each line can come out against the run. A sentence made from a finding is no evidence for that finding, and there is no
score over all: a mean of what was checked and what could not be says nothing of either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.domain.findings import Finding, Grounding
from engine.domain.plan import DATA_PREFIX
from engine.domain.report import Report, RunView
from engine.domain.results import Artifact
from engine.errors import EngineError
from engine.ports.artifacts import ArtifactStore
from engine.reporting.status import done_nodes, planned
from engine.toolbox.large_tables import close_enough, scan

LABELS: dict[Grounding, str] = {
    "grounded": "Stated",
    "inferred": "Supported indirectly",
    "ungrounded": "Not found",
    "contradicted": "The OPPOSITE is stated",
}
"""What the knowledge graph says of what a finding states."""
TAGS: dict[Grounding, str] = {
    "grounded": "",
    "inferred": "as the step computed it; in no table row that could be read again",
    "ungrounded": "not checked",
    "contradicted": "DIFFERS FROM ITS TABLE",
}
"""What stands behind a finding in a report."""
NOT_CHECKED = (
    "None of this says whether the analysis is the one that the question asks for: that is to be read in the plan."
)


@dataclass(frozen=True, slots=True)
class Reread:
    """What came of comparing a finding's numbers with its row in the stored table."""

    agree: int = 0
    differ: tuple[str, ...] = ()


def of_steps(view: RunView) -> list[str]:
    """Return what was checked of the steps: their postconditions, and that each got what the one before it gave."""
    done = [(node, result.verdict) for node, result in done_nodes(view) if result.verdict is not None]
    count = sum(len(verdict.checks) for _, verdict in done)
    lines = []
    if done:
        held = f"{count} of {count} held" if count else "none is declared"
        lines.append(f"Postconditions of the {_counted(len(done), 'step')} that finished: {held}.")
    for node, result in planned(view):
        if result is not None and result.verdict is not None and not result.verdict.passed:
            broken = [issue.message for issue in result.verdict.issues if issue.severity == "error"]
            lines.append(f"Postconditions of {node.name!r} did not hold: {' '.join(broken)}")
    return [*lines, *_handed_over(view)]


def _handed_over(view: RunView) -> Iterator[str]:
    """Compare what each step was given with what its plan says it gets, by hash."""
    data = {dataset.name: dataset.sha256 for dataset in (view.plan.datasets if view.plan else [])}
    given = {(id_, a.output): a.sha256 for id_, result in view.results.items() for a in result.artifacts}
    same, other = 0, []
    for node, result in done_nodes(view):
        for name, sha256 in result.inputs.items():
            ref = node.inputs.get(name, "")
            source = data.get(ref.removeprefix(DATA_PREFIX))
            if not ref.startswith(DATA_PREFIX):
                upstream, _, output = ref.partition(".")
                source = given.get((upstream, output))
            if source == sha256:
                same += 1
            else:
                other.append(f"{node.name!r} read {name} from other data than {ref or 'the plan names'}")
    if same or other:
        text = "Inputs that are byte for byte the file, or the earlier step's table, that the plan names (SHA-256)"
        yield f"{text}: {same} of {same + len(other)}{'; ' if other else ''}{'; '.join(other)}."


def reread(findings: Sequence[Finding], tables: Sequence[Artifact], artifacts: ArtifactStore) -> dict[str, Reread]:
    """Return finding id -> what came of reading its numbers again from the stored table; others are left out."""
    found: dict[str, Reread] = {}
    for table in tables:
        pointing = [f for f in findings if f.artifact == table.name and f.row]
        if pointing:
            found.update(_reread(pointing, table, artifacts))
    return found


def _reread(findings: Sequence[Finding], table: Artifact, artifacts: ArtifactStore) -> dict[str, Reread]:
    try:
        found = scan(artifacts.path(table.sha256), {finding.id: finding.row for finding in findings})
    except (OSError, EngineError, ValueError):
        return {}
    rows = {name: dict(zip(found.header, hit.cells, strict=False)) for name, hit in found.hits.items() if hit.count}
    return {f.id: _compared(f, rows.get(f.id)) for f in findings}


def _compared(finding: Finding, row: dict[str, str] | None) -> Reread:
    if row is None:
        return Reread(differ=("the table has no such row",))
    agree, differ = 0, []
    for value in finding.values:
        if value.name not in row or isinstance(value.value, bool) or not isinstance(value.value, int | float):
            continue
        if close_enough(row[value.name], value.value):
            agree += 1
        else:
            differ.append(f"{value.name} is {value.value:g} here and {row[value.name] or 'empty'} in the table")
    return Reread(agree, tuple(differ))


def of_findings(findings: Sequence[Finding], compared: dict[str, Reread]) -> list[str]:
    """Return what came of reading the findings' numbers again from the stored tables."""
    if not findings:
        return []
    agree = sum(item.agree for item in compared.values())
    differ = [f"{f.text} ({text})" for f in findings for text in compared.get(f.id, Reread()).differ]
    read = sum(1 for item in compared.values() if item.agree or item.differ)
    text = (
        f"Numbers read again from the stored tables that agree: {agree} of {agree + len(differ)}, from {read} of "
        f"{_counted(len(findings), 'finding')}"
    )
    rest = "" if read == len(findings) else "; the others name no number of a table row, so nothing was compared"
    return [f"{text}{rest}.", *(f"DIFFERS FROM ITS TABLE: {text}" for text in differ)]


def checked_lines(report: Report) -> list[str]:
    """Return all that was checked, then one line for each finding that the knowledge graph was asked about."""
    if report.claims is None:
        return report.checked
    claims = report.claims.claims
    if not claims:
        text = "Knowledge graph: no finding states a relation between genes, diseases or drugs that could be looked up."
        return [*report.checked, text]
    lines = [f"Knowledge graph: {_counted(len(claims), 'finding')} looked up."]
    for claim in claims:
        first = claim.evidence[0] if claim.evidence else None
        evidence = f" Evidence: {first.edge}, {first.source}." if first else ""
        lines.append(f"{LABELS[claim.label]}: {claim.text} ({claim.why}{evidence})")
    return [*report.checked, *lines]


def searched_lines(report: Report) -> list[str]:
    """Return what was searched for an answer: how far, and the choices along the way to the best end."""
    lines: list[str] = []
    for tree in report.searches:
        lines.append(f"{tree.title}: {tree.told}")
        for row in tree.rows():
            leads = "; leads to the best" if row.leads and row.place else ""
            lines.append(f"{row.place or '0'} {row.choice}: {row.state.told}{leads}")
    return lines


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
