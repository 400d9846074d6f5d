"""Removes runs for good, with what belongs to nothing else: their rows, files, uploads and what was remembered of them.

What another run names stays, whoever made it first; so every other run verifies as before.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from engine.errors import PlanError
from engine.runs.locks import RunLocks
from engine.runs.queue import RunQueue
from engine.runs.records import RunRecords


@dataclass(slots=True)
class Deleting:
    """Knows what of a workspace belongs to which runs."""

    records: RunRecords
    queue: RunQueue
    locks: RunLocks
    forget: Callable[[str], None]
    """Forgets what was remembered of a run, called with its id."""
    uploads: Path
    """The folder of the files that were given to the app; files elsewhere are the user's and stay."""
    named_elsewhere: Callable[[], Iterable[str]] = tuple
    """Paths of files that something else than a run was given, so that they stay."""

    def space(self, run_ids: Collection[str]) -> int:
        """Return the bytes that would be free without these runs."""
        files = sum(path.stat().st_size for path in self._uploads(run_ids))
        return files + sum(map(self.records.artifacts.size, self._own(run_ids)))

    def delete(self, run_ids: Collection[str]) -> int:
        """Remove runs for good and return the bytes that are free then; nothing may be at work meanwhile.

        What was learned goes first, then the rows, and the files that nothing names any more at the end.

        Raises:
            NotFoundError: when there is no such run.
            PlanError: while a run is at work: it may be taking over results of those that are to go.
        """
        with ExitStack() as held:
            for run_id in sorted(run_ids):
                held.enter_context(self.locks.of(run_id))
                self.records.stored(run_id)
            if active := self.queue.active():
                message = f"Nothing can be deleted while a run is at work ({', '.join(active[:3])})."
                raise PlanError(message, advice="Wait for its end or stop it, then delete.")
            self.records.log.flush()
            return self._delete(run_ids)

    def _delete(self, run_ids: Collection[str]) -> int:
        own, uploads = self._own(run_ids), list(self._uploads(run_ids))
        for run_id in run_ids:
            self.forget(run_id)
        for run_id in run_ids:
            self.records.store.archive.delete_run(run_id)
        freed = sum(map(self.records.artifacts.remove, own))
        for path in uploads:
            freed += path.stat().st_size
            shutil.rmtree(path.parent, ignore_errors=True)
        return freed

    def _own(self, run_ids: Collection[str]) -> set[str]:
        """Return the files that these runs name and no other does."""
        own, others = self.records.store.archive.hashes(run_ids)
        return {sha256 for sha256 in own - others if self.records.artifacts.has(sha256)}

    def _uploads(self, run_ids: Collection[str]) -> Iterator[Path]:
        """Yield the uploads that only these runs were asked with."""
        runs = self.records.store.runs(limit=1_000_000)
        others = [name for run in runs if run.run_id not in run_ids for name in run.data]
        kept = set(_within([*others, *self.named_elsewhere()], self.uploads))
        gone = set(_within([name for run in runs if run.run_id in run_ids for name in run.data], self.uploads))
        folders = {path.parent for path in kept}
        yield from (path for path in gone if path.parent not in folders and path.is_file())


def _within(names: Iterable[str], folder: Path) -> Iterator[Path]:
    """Yield of these files those that the app keeps, each in a folder of its own within this one.

    The whole folder of such a file goes with it, so a path that only seems to lead there (`uploads/../..`, a link)
    must not count.
    """
    home = folder.resolve()
    yield from (path for path in (Path(name).resolve() for name in names) if path.parent.parent == home)
