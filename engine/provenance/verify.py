"""Answers one question: is what lies here still what was recorded?

Every file is hashed again; the record is checked against its seals, against itself (does each step's
input have the hash of the output it came from?) and against the tables its findings point to. Each
difference is one sentence that names the thing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from engine.domain.base import Value
from engine.domain.encoding.hashing import sha256_value
from engine.domain.encoding.sealing import StoredRun, alterations, written_before_seals
from engine.domain.findings import Finding
from engine.domain.report import RunView
from engine.errors import EngineError, NotFoundError
from engine.ports.artifacts import ArtifactStore
from engine.provenance.consistency import inconsistencies
from engine.provenance.files import ARTIFACTS, DATA, FORMAT, PROVENANCE
from engine.provenance.recorder import VERSION, provenance, written
from engine.toolbox.large_tables import close_enough, scan
from engine.toolbox.registry import ToolRegistry


class Verification(Value):
    """What a verification found."""

    ok: bool
    subject: str
    """The run or path that was verified."""
    files: int = 0
    """How many files were hashed again."""
    findings: int = 0
    """How many findings were compared with the table row they point to."""
    changed: int = 0
    missing: int = 0
    extra: int = 0
    differences: list[str] = []
    """One sentence each; empty when everything is as recorded."""
    notes: list[str] = []
    """What could not be checked, or is worth knowing without being wrong."""


class _Tally:
    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.files = self.findings = self.changed = self.missing = self.extra = 0
        self.differences: list[str] = []
        self.notes: list[str] = []

    def compare(self, label: str, found: str, expected: str) -> None:
        """Count a file: `found` is its hash now, "" when it is missing."""
        self.files += 1
        if not found:
            self.missing += 1
            self.differences.append(f"{label} is missing (SHA-256 {expected[:12]}... was recorded).")
        elif found != expected:
            self.changed += 1
            self.differences.append(
                f"{label} has changed: its SHA-256 is {found[:12]}..., {expected[:12]}... was recorded."
            )

    def result(self) -> Verification:
        return Verification(
            ok=not self.differences,
            subject=self.subject,
            files=self.files,
            findings=self.findings,
            changed=self.changed,
            missing=self.missing,
            extra=self.extra,
            differences=self.differences,
            notes=self.notes,
        )


def verify_run(view: RunView, artifacts: ArtifactStore, registry: ToolRegistry) -> Verification:
    """Hash everything a stored run refers to again and check that plan, results and findings fit together."""
    tally = _Tally(view.record.run_id)
    for result in view.results.values():
        for artifact in result.artifacts:
            tally.compare(f"{artifact.name} (step {result.node})", artifacts.verify(artifact.sha256), artifact.sha256)
        logs = {"code": result.code_sha256, "stdout": result.stdout_sha256, "stderr": result.stderr_sha256}
        for kind, sha256 in logs.items():
            if sha256:
                tally.compare(f"The {kind} of step {result.node}", artifacts.verify(sha256), sha256)
    _verify_data(view, artifacts, tally)
    tables = {a.name: a.sha256 for r in view.results.values() for a in r.artifacts if a.name.endswith(".csv")}
    for name, findings in _by_table(f for result in view.results.values() for f in result.findings).items():
        if artifacts.has(tables.get(name, "")):
            _verify_findings(findings, artifacts.path(tables[name]), name, tally)
    tally.differences += inconsistencies(provenance(view, registry))
    tally.differences += _report_differences(view)
    return tally.result()


def verify_stored(stored: StoredRun) -> Verification:
    """Say in what way the rows of a run are not those that were written, whether or not they can be read."""
    tally = _Tally(stored.run_id)
    tally.differences += alterations(stored)
    if written_before_seals(stored):
        tally.notes.append(
            "This run was written before records were sealed: a change in its stored rows cannot be seen."
        )
    return tally.result()


def combined(first: Verification, *others: Verification) -> Verification:
    """Return what several verifications of one subject found together."""
    every = [first, *others]
    counts = {
        name: sum(getattr(v, name) for v in every) for name in ("files", "findings", "changed", "missing", "extra")
    }
    return Verification(
        ok=all(v.ok for v in every),
        subject=first.subject,
        differences=list(dict.fromkeys(text for v in every for text in v.differences)),
        notes=list(dict.fromkeys(text for v in every for text in v.notes)),
        **counts,
    )


def verify_artifact(label: str, sha256: str, artifacts: ArtifactStore) -> Verification:
    """Hash one artifact again; `label` is what a person calls it."""
    tally = _Tally(label)
    tally.compare(label, artifacts.verify(sha256), sha256)
    return tally.result()


def _verify_data(view: RunView, artifacts: ArtifactStore, tally: _Tally) -> None:
    for dataset in view.plan.datasets if view.plan else []:
        kept, path = artifacts.has(dataset.sha256), Path(dataset.path).expanduser()
        if (
            kept or path.is_file()
        ):  # every run keeps a copy; where both are gone, the file is what is told to be missing
            tally.compare(f"The kept copy of data {dataset.name}", artifacts.verify(dataset.sha256), dataset.sha256)
        if path.is_file():
            tally.compare(f"Data file {dataset.path}", hash_file(path), dataset.sha256)
        elif kept:
            tally.notes.append(f"Data file {dataset.path} is no longer there; the kept copy was checked instead.")
        else:
            tally.compare(f"Data file {dataset.path}", "", dataset.sha256)


def _report_differences(view: RunView) -> Iterator[str]:
    found = {finding.id: finding for result in view.results.values() for finding in result.findings}
    for finding in view.report.findings if view.report else []:
        original = found.get(finding.id)
        if original is None:
            yield f"The report states finding {finding.id}, which no step of this run has."
        elif (original.text, original.values) != (finding.text, finding.values):
            yield f"The report words finding {finding.id} differently from the step that found it."


def verify_path(path: Path) -> Verification:
    """Verify an exported folder, or a `provenance.json` together with the files beside it.

    Raises:
        NotFoundError: when there is nothing that can be verified.
    """
    record = path / PROVENANCE if path.is_dir() else path
    if not record.is_file():
        message = f"There is no {PROVENANCE} in {str(path)!r}." if path.is_dir() else f"There is no file {str(path)!r}."
        raise NotFoundError(message, advice="Give a folder written by `ask --out` or a provenance.json.")
    tally = _Tally(str(path))
    document = _read_record(record)
    if document is None:
        tally.differences.append(
            f"{record.name} is not a provenance record that can be read: it is damaged or another file."
        )
        return tally.result()
    try:
        digest = sha256_value({key: value for key, value in document.items() if key != "digest"})
    except ValueError:  # NaN, or half a character, that Biodesk never writes
        digest = ""
    if document.get("digest") != f"sha256:{digest}":
        tally.changed += 1
        tally.differences.append(
            f"{record.name} was changed after it was written: its digest does not fit its content."
        )
    elif record.read_bytes() != written(document).encode():
        tally.changed += 1
        tally.differences.append(f"{record.name} was changed after it was written, though not in what it says.")
    if document.get("version") != VERSION:
        tally.differences.append(
            f"{record.name} has format version {document.get('version')!r}; this Biodesk checks version {VERSION}."
        )
        return tally.result()
    try:
        tally.differences += inconsistencies(document)
        _verify_folder(record.parent, document, tally)
    except (AttributeError, KeyError, TypeError, ValueError) as err:
        tally.differences.append(f"{record.name} does not have the structure of a provenance record ({err!r}).")
    return tally.result()


def _read_record(record: Path) -> dict[str, Any] | None:
    try:
        document = json.loads(record.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) and document.get("format") == FORMAT else None


def _verify_folder(folder: Path, document: dict[str, Any], tally: _Tally) -> None:
    files: dict[str, Any] = document.get("files") or {}
    if not files:
        tally.notes.append("The record lists no files beside it; only the record itself was checked.")
    for name, facts in files.items():
        place = folder / name
        if ".." in Path(name).parts or Path(name).is_absolute():
            tally.differences.append(f"The record lists {name!r}, which lies outside its folder.")
            continue
        tally.compare(name, hash_file(place) if place.is_file() else "", facts["sha256"])
    _find_extra(folder, set(files), tally)
    listed = {facts["sha256"]: folder / name for name, facts in files.items() if name.startswith(f"{ARTIFACTS}/")}
    outputs = {a["name"]: a["sha256"] for step in document["steps"] for a in step.get("outputs", [])}
    for name, findings in _by_table(Finding.model_validate(raw) for raw in document["findings"]).items():
        place = listed.get(outputs.get(name, ""))
        if place is not None and place.is_file() and place.suffix == ".csv":
            _verify_findings(findings, place, name, tally)
    if files:
        for name, sha256 in outputs.items():
            if sha256 not in listed:
                tally.differences.append(f"Output {name} of the record is not among the folder's files.")


def _find_extra(folder: Path, listed: set[str], tally: _Tally) -> None:
    if not listed:
        return
    present = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    for name in sorted(present - listed - {PROVENANCE}):
        if name.split("/", 1)[0] in (ARTIFACTS, DATA):
            tally.extra += 1
            tally.differences.append(f"{name} is not in the record: it was added later.")
        elif name.split("/", 1)[0] not in ("results", ".ipynb_checkpoints", "__pycache__"):
            tally.extra += 1
            tally.notes.append(f"{name} is not part of the export.")


def _by_table(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Return artifact name -> the findings that point to a row of it."""
    tables: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.row:
            tables.setdefault(finding.artifact, []).append(finding)
    return tables


def _verify_findings(findings: list[Finding], table: Path, label: str, tally: _Tally) -> None:
    """Compare each finding's numbers with the one row it points to."""
    tally.findings += len(findings)
    try:
        found = scan(table, {str(number): finding.row for number, finding in enumerate(findings)})
    except (OSError, ValueError, EngineError) as err:
        ids = ", ".join(finding.id for finding in findings[:5]) + (", ..." if len(findings) > 5 else "")
        tally.differences.append(f"{label} cannot be read, so findings cannot be checked: {ids} ({err}).")
        return
    for number, finding in enumerate(findings):
        hit = found.hits[str(number)]
        if hit.count != 1:
            text = f"Finding {finding.id} points to {finding.row} in {label}, which selects {hit.words} instead of one."
            tally.differences.append(text)
            continue
        row = dict(zip(found.header, hit.cells, strict=False))
        for value in finding.values:
            stated = value.value
            if value.name not in row or isinstance(stated, bool) or not isinstance(stated, int | float):
                continue
            if not close_enough(row[value.name], stated):
                tally.differences.append(
                    f"Finding {finding.id} says {value.name} = {stated}, but its row in {label} says {row[value.name]}."
                )


def hash_file(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
