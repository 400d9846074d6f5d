"""Calls about imports that go on in the background."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.api.calls import Calls, passed_on
from engine.errors import (
    EngineError,
    Interrupted,
)
from engine.ports.cancel import CancelToken
from engine.runs.imports import ImportRunner, ImportState, Tell


class ImportCalls(Calls):
    """Imports into the knowledge graph and the catalogues, one at a time.

    What became of the last one is kept until it is dismissed or the next one starts.
    """

    state = passed_on(ImportRunner.state, "beside.imports")
    stop = passed_on(ImportRunner.stop, "beside.imports")
    wait = passed_on(ImportRunner.wait, "beside.imports")
    dismiss = passed_on(ImportRunner.dismiss, "beside.imports")

    def start_graph(
        self,
        fmt: str,
        files: Sequence[Path | str],
        *,
        name: str | None = None,
        organism: str = "human",
    ) -> ImportState:
        """Begin to read files into the knowledge graph and return at once; see `GraphSources.import_files`.

        Its steps are `reading`, with the entities and relations read so far, and `opening`, when all is stored and
        the new graph is made ready to be asked. What it stated is in the graph after its end, or nothing of it.

        Raises:
            LimitExceeded: when another import is going on.
        """
        paths = [Path(path) for path in files]

        def work(tell: Tell, cancel: CancelToken) -> Any:
            done = self._parts.knowledge.sources.import_files(
                fmt,
                paths,
                name=name,
                organism=organism,
                progress=lambda nodes, edges: tell("reading", nodes, edges),
                cancel=cancel,
            )
            tell("opening", done.nodes_read, done.edges_read)
            # It is stored: a graph that cannot be opened now says so to the next question.
            with contextlib.suppress(EngineError):
                self._parts.knowledge.graph.view()
            return done

        return self._parts.beside.imports.start("graph", _titles(paths), work)

    def start_catalogue(self, kind: str, path: Path | str, *, name: str = "") -> ImportState:
        """Begin to import a catalogue of tools and return at once; see `ToolFinder.import_catalogue`.

        Its steps are `reading`, then `embedding` with the descriptions made searchable and all there are. The
        catalogue is replaced as a whole after that, so one that is stopped leaves the one before in place; the
        vectors made until then are kept, and the next attempt need not make them again.

        Raises:
            LimitExceeded: when another import is going on.
        """
        title = _titles([Path(path)])

        def work(tell: Tell, cancel: CancelToken) -> Any:
            def progress(done: int, total: int) -> None:
                if cancel.cancelled:
                    raise Interrupted(f"The import of {title} was stopped, and nothing of it was stored.")
                tell("embedding", done, total)

            return self._parts.finder.import_catalogue(kind, Path(path), name=name, progress=progress)

        return self._parts.beside.imports.start("catalogue", title, work)


def _titles(paths: Sequence[Path]) -> str:
    """Return what files are called together."""
    named = ", ".join(path.name for path in paths[:3])
    return f"{named} and {len(paths) - 3} more" if len(paths) > 3 else named or "Nothing"
