"""What people said columns are, remembered for each file by its hash and applied whenever that file is looked at."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.data.columns.legend import explained
from engine.domain.profile import Profile
from engine.errors import UserError
from engine.ports.corrections import CorrectionStore
from engine.ports.profiler import Profiler


@dataclass(frozen=True, slots=True)
class Corrections:
    """Profiles of files as corrected by people."""

    store: CorrectionStore
    profiler: Profiler

    def profile(self, paths: Sequence[Path], columns: Mapping[str, str] | None = None) -> list[Profile]:
        """Look at files and apply what is remembered of their columns.

        Args:
            paths: the files.
            columns: column -> what it is (see `engine.data.corrections.apply`), remembered from now on for every
                one of these files that has the column; empty to take a correction back.

        Raises:
            DataError: when a path leads to nothing that can be read.
            UserError: for a column that none of the files has.
            PlanError: for a word that says nothing of a column.
        """
        profiles = self.profiler.look(paths)
        if columns:
            self._remember(profiles, columns)
        return explained([self._corrected(profile) for profile in profiles])

    def _corrected(self, profile: Profile) -> Profile:
        said = self.store.of(profile.sha256)
        others = [self._applied(other, said) for other in profile.others]
        return self._applied(profile, said).model_copy(update={"others": others})

    def _remember(self, profiles: list[Profile], columns: Mapping[str, str]) -> None:
        given = {name: text.strip() for name, text in columns.items()}
        sheets = [sheet for profile in profiles for sheet in (profile, *profile.others)]
        known = [column.name for sheet in sheets for column in sheet.column_profiles]
        for name in given:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=3, cutoff=0.5) or list(dict.fromkeys(known))[:8]
                advice = f"Did you mean {', '.join(near)}?" if near else "The files have no columns to correct."
                raise UserError(f"No file has a column {name!r}.", advice=advice)
        for sheet in sheets:  # before any is stored: a word that is refused must leave nothing behind
            self._applied(sheet, {name: text for name, text in given.items() if text})
        for profile in profiles:
            own = {
                name: text for name, text in given.items() if any(s.column(name) for s in (profile, *profile.others))
            }
            self.store.save(profile.sha256, own)

    def _applied(self, profile: Profile, said: Mapping[str, str]) -> Profile:
        own = {name: text for name, text in said.items() if profile.column(name)}
        return self.profiler.correct(profile, own) if own else profile
