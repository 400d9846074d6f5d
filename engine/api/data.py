"""Calls about files and tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.api.calls import Calls
from engine.api.without_workspace import builtin_analyses, profile_paths
from engine.data.matching import cross_check
from engine.domain.profile import Profile
from engine.domain.retrieval import ToolSearch
from engine.domain.toolspec import ToolSpec
from engine.examples import example_files
from engine.toolbox.analyses import Analysis


class DataCalls(Calls):
    """What can be asked of files, and what can be done with them."""

    def profile(self, paths: Sequence[Path | str]) -> list[Profile]:
        """Look at files and say what each can serve as, its columns as people corrected them in this workspace.

        Raises:
            DataError: when a path leads to nothing that can be read.
        """
        return self._parts.orchestrator.plans.corrections.profile([Path(path) for path in paths])

    def correct_column(self, path: Path | str, column: str, value: str) -> Profile:
        """Remember what a column of a file is and return the file's profile with it.

        It holds in this workspace for every file of the same content, whatever its name and place.

        Args:
            path: the file.
            column: the column's name.
            value: a role or scale (`batch`, `number`), `unit:mg` or `ignore`, several parted by commas; empty to take
                the correction back.

        Raises:
            DataError: when the file cannot be read.
            UserError: when it has no such column.
            PlanError: when the value says nothing of a column.
        """
        return self._parts.orchestrator.plans.corrections.profile([Path(path)], {column: value})[0]

    def cross_check(self, profiles: Sequence[Profile]) -> list[str]:
        """Return what does not fit between files, e.g. sample names that do not match."""
        return cross_check(list(profiles))

    def analyses(self) -> list[Analysis]:
        """Return what can be asked: every analysis by its field, also those that no tool answers yet."""
        return builtin_analyses()

    def tools(self) -> list[ToolSpec]:
        """Return the catalogue."""
        return list(self._parts.registry)

    def tool(self, name: str) -> ToolSpec:
        """Return one tool.

        Raises:
            NotFoundError: when there is none of this name.
        """
        return self._parts.registry.get(name)

    def search_tools(
        self,
        query: str,
        *,
        top: int | None = None,
        data: Sequence[Path | str] = (),
        domains: Sequence[str] = (),
        explain: bool = False,
    ) -> ToolSearch:
        """Find tools for a task over the built-in and all imported catalogues; `top` is the setting by default.

        Raises:
            DataError: when a data file cannot be read.
        """
        kinds = {guess.type.value for profile in profile_paths(data) for guess in profile.types} if data else set()
        finder = self._parts.finder
        return finder.order(finder.search(query, top=top, data_types=kinds, domains=domains, explain=explain))

    def example_files(self, example_id: str) -> list[Path]:
        """Write an example's data (it ships inside dependencies) into the workspace and return the files."""
        return example_files(example_id, self._parts.workspace.folder / "examples")
