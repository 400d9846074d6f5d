"""Removes runs for good, with what belongs to nothing else: their rows, files, uploads and what was remembered of them.

What another run names stays, whoever made it first; so every other run verifies as before.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.domain.results import RunRecord
from engine.ports.artifacts import ArtifactStore
from engine.ports.runs import RunStore


@dataclass(slots=True)
class Deleting:
    """Knows what of a workspace belongs to which runs."""

    store: RunStore
    artifacts: ArtifactStore
    forget: Callable[[str], None]
    """Forgets what was remembered of a run, called with its id."""
    uploads: Path
    """The folder of the files that were given to the app; files elsewhere are the user's and stay."""

    def space(self, run_ids: Collection[str]) -> int:
        """Return the bytes that would be free without these runs."""
        files = sum(path.stat().st_size for path in self._uploads(run_ids))
        return files + sum(map(self.artifacts.size, self._own(run_ids)))

    def delete(self, run_ids: Collection[str]) -> int:
        """Remove runs and return the bytes that are free then.

        What was learned goes first, then the rows, and the files that nothing names any more at the end.
        """
        own, uploads = self._own(run_ids), list(self._uploads(run_ids))
        for run_id in run_ids:
            self.forget(run_id)
        for run_id in run_ids:
            self.store.delete_run(run_id)
        freed = sum(map(self.artifacts.remove, own))
        for path in uploads:
            freed += path.stat().st_size
            shutil.rmtree(path.parent, ignore_errors=True)
        return freed

    def _own(self, run_ids: Collection[str]) -> set[str]:
        """Return the files that these runs name and no other does."""
        own, others = self.store.hashes(run_ids)
        return {sha256 for sha256 in own - others if self.artifacts.has(sha256)}

    def _uploads(self, run_ids: Collection[str]) -> Iterator[Path]:
        """Yield the uploads that only these runs were asked with."""
        runs = self.store.runs(limit=1_000_000)
        kept = {path for run in runs if run.run_id not in run_ids for path in _within(run, self.uploads)}
        gone = {path for run in runs if run.run_id in run_ids for path in _within(run, self.uploads)}
        folders = {path.parent for path in kept}
        yield from (path for path in gone if path.parent not in folders and path.is_file())


def _within(run: RunRecord, folder: Path) -> Iterator[Path]:
    """Yield the files of a run that the app keeps, each in a folder of its own within this one.

    The whole folder of such a file goes with it, so a path that only seems to lead there (`uploads/../..`, a link)
    must not count.
    """
    home = folder.resolve()
    yield from (path for path in (Path(name).resolve() for name in run.data) if path.parent.parent == home)
