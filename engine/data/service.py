"""The `Profiler` in this process, and the same as requests and answers in lines for a process of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from engine.data import corrections
from engine.data.profiler import examine_file, identify_file, profile_file
from engine.domain.profile import Profile
from engine.errors import EngineError


class LocalProfiler:
    """The `Profiler` without walls: for tests, and for files that are trusted."""

    def look(self, paths: Sequence[Path]) -> list[Profile]:
        """Profile files in the order given.

        Raises:
            DataError: for the first path that cannot be read.
        """
        return [profile_file(path) for path in paths]

    def correct(self, profile: Profile, said: Mapping[str, str]) -> Profile:
        """Apply what was said of columns.

        Raises:
            PlanError: for an unknown column, scale or role.
            DataError: when the file can no longer be read.
        """
        return corrections.apply(profile, dict(said))

    def warm(self) -> None:
        """Do nothing: what is here is warm after the first file."""

    def close(self) -> None:
        """Do nothing."""


def answer(request: bytes) -> Iterator[bytes]:
    """Answer `{"look": PATH}` or `{"correct": PROFILE, "said": {COLUMN: WORDS}}`, one line a step.

    Yields:
        `busy` while a long file is hashed, `file` with what is known of it before its content is looked at, then
        `profile` or `error`, each followed by JSON.
    """
    asked = json.loads(request)
    try:
        if "correct" in asked:
            profile = corrections.apply(Profile.model_validate(asked["correct"]), asked["said"])
        else:
            path = Path(asked["look"])
            identity: dict[str, object] = {}
            for identity in identify_file(path):
                yield b"busy" if not identity else b"file " + json.dumps(identity).encode()
            profile = examine_file(path, identity)
        yield b"profile " + profile.model_dump_json().encode()
    except EngineError as error:
        told = {"code": error.code, "message": error.message, "advice": error.advice, "details": error.details}
        yield b"error " + json.dumps(told).encode()


def warm() -> None:
    """Import what reading takes, and read a table once."""
    import h5py  # noqa: F401  # pyright: ignore[reportUnusedImport]
    import openpyxl  # noqa: F401  # pyright: ignore[reportUnusedImport]

    profile_file(Path(__file__).with_name("structure") / "hints.tsv")
