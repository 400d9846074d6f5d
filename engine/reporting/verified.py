"""Verifies a stored run: its rows against their seals, its files against their hashes, its parts with each other."""

from __future__ import annotations

from engine.domain.results import RunRecord
from engine.errors import IntegrityError, NotFoundError, SchemaTooNew
from engine.ports.artifacts import ArtifactStore
from engine.ports.runs import RunStore
from engine.provenance.verify import Verification, combined, verify_artifact, verify_run, verify_stored
from engine.runs.gather import gather, without_artifacts
from engine.toolbox.registry import ToolRegistry


def verify(run_id: str, store: RunStore, artifacts: ArtifactStore, registry: ToolRegistry) -> Verification:
    """Check everything stored of a run; what is damaged is named and stops no other check.

    Raises:
        NotFoundError: when nothing is stored of such a run.
    """
    stored = store.archive.stored(run_id)
    if not stored.rows and not stored.seals:
        raise NotFoundError(f"There is no run {run_id!r}.", advice="`biodesk runs` lists them.")
    found = verify_stored(stored)
    try:
        record = store.run(run_id)
        if record is None:
            return combined(found, _unreadable(run_id, "No state of the run is stored any more."))
        found = combined(found, *_files(record, artifacts))
        whole = found.ok
        view = gather(record if whole else without_artifacts(record), store, artifacts)
        return combined(found, verify_run(view, artifacts, registry))
    except (IntegrityError, SchemaTooNew) as error:
        return combined(found, _unreadable(run_id, error.message))


def _files(record: RunRecord, artifacts: ArtifactStore) -> list[Verification]:
    named = {"The report": record.report_sha256, "The profiles of the data": record.profiles_sha256}
    return [verify_artifact(label, sha256, artifacts) for label, sha256 in named.items() if sha256]


def _unreadable(run_id: str, why: str) -> Verification:
    return Verification(ok=False, subject=run_id, differences=[why])
