"""Brings together what is stored of a run in different places: what pages show and reports are written from."""

from __future__ import annotations

import json

from engine.domain.profile import Profile
from engine.domain.report import Report
from engine.domain.results import RunRecord
from engine.domain.run_view import RunView
from engine.ports import ArtifactStore, RunStore


def gather(record: RunRecord, store: RunStore, artifacts: ArtifactStore) -> RunView:
    """Return everything known of a run; what does not exist yet (or any more) is left out."""
    plan = store.plan(record.run_id, record.approved_version or None)
    results = store.results(record.run_id)
    profiles = _profiles(record, artifacts)
    warnings = [*(plan.warnings if plan else []), *(w for profile in profiles for w in profile.warnings)]
    warnings += [warning for result in results.values() for warning in result.warnings]
    report = None
    if record.report_sha256 and artifacts.has(record.report_sha256):
        report = Report.model_validate_json(artifacts.path(record.report_sha256).read_bytes())
    return RunView(
        record=record,
        route=record.route,
        plan=plan,
        plan_versions=store.plan_versions(record.run_id),
        results=results,
        profiles=profiles,
        report=report,
        warnings=list(dict.fromkeys(warnings)),
        sandbox=record.sandbox,
    )


def _profiles(record: RunRecord, artifacts: ArtifactStore) -> list[Profile]:
    if not record.profiles_sha256 or not artifacts.has(record.profiles_sha256):
        return []
    stored = json.loads(artifacts.path(record.profiles_sha256).read_bytes())
    return [Profile.model_validate(item) for item in stored]
