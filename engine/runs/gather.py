"""Brings together what is stored of a run in different places: what pages show and reports are written from."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeVar

from engine.domain.encoding.hashing import sha256_bytes
from engine.domain.profile import Profile
from engine.domain.report import Report, RunView
from engine.domain.results import RunRecord
from engine.errors import IntegrityError
from engine.ports.artifacts import ArtifactStore
from engine.ports.runs import RunStore

T = TypeVar("T")


def gather(record: RunRecord, store: RunStore, artifacts: ArtifactStore) -> RunView:
    """Return everything known of a run; what does not exist yet (or any more) is left out.

    Raises:
        IntegrityError: when a part is damaged; `without_artifacts` gives a record that leaves report and profiles out.
    """
    plan = store.plan(record.run_id, record.approved_version or None)
    if plan is None and record.approved_version:
        raise IntegrityError(
            f"Plan version {record.approved_version} of run {record.run_id} is missing from the database.",
            advice="Put back a copy of the workspace's database from a backup.",
        )
    results = store.results(record.run_id)
    profiles = _read(record, "profiles", record.profiles_sha256, artifacts, _profiles) or []
    warnings = [*(plan.warnings if plan else []), *(w for profile in profiles for w in profile.warnings)]
    warnings += [warning for result in results.values() for warning in result.warnings]
    return RunView(
        record=record,
        route=record.route,
        plan=plan,
        plan_versions=store.plan_versions(record.run_id),
        results=results,
        profiles=profiles,
        report=_read(record, "report", record.report_sha256, artifacts, Report.model_validate_json),
        warnings=list(dict.fromkeys(warnings)),
        sandbox=record.sandbox,
        seal=store.archive.seal(record.run_id),
    )


def without_artifacts(record: RunRecord) -> RunRecord:
    """Return a record that names neither report nor profiles."""
    return record.model_copy(update={"report_sha256": "", "profiles_sha256": ""})


def _read(record: RunRecord, what: str, sha256: str, artifacts: ArtifactStore, parse: Callable[[bytes], T]) -> T | None:
    """Return what an artifact of a run holds, None when there is none.

    Raises:
        IntegrityError: when its bytes are not those that were stored.
    """
    if not sha256 or not artifacts.has(sha256):
        return None
    content = artifacts.path(sha256).read_bytes()
    try:
        if sha256_bytes(content) == sha256:
            return parse(content)
    except ValueError:
        pass  # written by a version with other fields: told like any other damage
    raise IntegrityError(
        f"The {what} of run {record.run_id} cannot be read: the file {artifacts.path(sha256).name[:12]}... is not what "
        "was stored.",
        advice="Put the file back from a backup, or run the plan again; `biodesk verify` names what differs.",
    )


def _profiles(content: bytes) -> list[Profile]:
    return [Profile.model_validate(item) for item in json.loads(content)]
