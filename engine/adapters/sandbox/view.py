"""What a job gets to see: the paths, the environment and the folder that is its own.

Both are lists of what is allowed: a key in the engine's environment or a file in the user's home is not removed from
the job's view, it was never put there.
"""

from __future__ import annotations

import functools
import os
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.ports.sandbox import Job
from engine.trees import LEFTOVER, remove_tree

SYSTEM_PATHS = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
    "/etc/alternatives", "/etc/fonts", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime",
    "/etc/mime.types", "/etc/nsswitch.conf", "/etc/R", "/etc/timezone",
    "/System", "/Library/Fonts", "/Library/Frameworks", "/opt/homebrew",
)  # fmt: skip
THREAD_VARIABLES = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS", "LOKY_MAX_CPU_COUNT", "POLARS_MAX_THREADS", "RAYON_NUM_THREADS",
)  # fmt: skip


PYTHON_PARTS = ("bin", "lib", "lib64", "pyvenv.cfg", "etc/fonts", "share/fonts", "share/zoneinfo")
"""What Python runs from. Its folder may be a project's or a home's, with more in it that is nobody's business."""


def python_prefixes() -> list[str]:
    """Return the folders the interpreter and its packages lie in."""
    places = [sys.prefix, sys.base_prefix, sys.exec_prefix, str(Path(sys.executable).resolve().parent.parent)]
    return list(dict.fromkeys(places))


def python_paths() -> list[str]:
    """Return the parts of those folders that are needed, and package folders that lie elsewhere."""
    parts = [os.path.join(prefix, part) for prefix in python_prefixes() for part in PYTHON_PARTS]  # noqa: PTH118
    return [*parts, *package_paths()]


def package_paths() -> list[str]:
    """Return package folders outside the interpreter's own, e.g. those installed for one user only."""
    prefixes = (sys.prefix + os.sep, sys.base_prefix + os.sep)
    return [p for p in sys.path if p.endswith(("site-packages", "dist-packages")) and not p.startswith(prefixes)]


def base_environment(threads: int) -> dict[str, str]:
    """Return the variables every process of the sandbox gets. None is taken over from the engine but the language."""
    environment = {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"]),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "USER": "biodesk",
        "LOGNAME": "biodesk",
        "MPLBACKEND": "Agg",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        # pyarrow's default allocator starts a thread at import, and the nursery must have one thread only.
        "JE_ARROW_MALLOC_CONF": "background_thread:false",
        "KMP_INIT_AT_FORK": "FALSE",
        "KMP_WARNINGS": "0",
    }
    if package_paths():
        environment["PYTHONPATH"] = os.pathsep.join(package_paths())
    return environment | dict.fromkeys(THREAD_VARIABLES, str(threads))


@functools.cache
def _true_path(path: str) -> str:
    # Asked for each job, of folders that do not move while Python runs from them.
    return os.path.realpath(path)


@dataclass(frozen=True, slots=True)
class Places:
    """Where a sandbox keeps its things, under the scratch folder."""

    scratch: Path
    shown: tuple[str, ...] = ()
    """Further paths every job may read."""
    cache_root: Path | None = None
    """Where the workers' caches lie; None for the sandbox's own folder."""
    hidden: tuple[str, ...] = ()
    """Folders no job may read, wherever they lie, but for what it is expressly shown."""

    @property
    def base(self) -> Path:
        """The sandbox's own folder."""
        return self.scratch / ".sandbox"

    @property
    def leftover(self) -> Path:
        """Where trees go that cannot be deleted."""
        return self.scratch / LEFTOVER

    @property
    def staging(self) -> Path:
        """An empty folder on which a job's file tree is put together."""
        return self.base / "root"

    @property
    def caches(self) -> Path:
        """The folder of the workers' caches."""
        return self.cache_root or self.base

    def make(self) -> None:
        """Make the folders; only this user may enter them."""
        own = (self.base, self.staging, self.base / "jobs", self.base / "probe")
        for folder in (*own, self.caches / "matplotlib", self.caches / "numba"):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def read_paths(self) -> list[str]:
        """Return what every job may read: the system's programs and libraries, Python and its packages."""
        paths = dict.fromkeys((*SYSTEM_PATHS, *python_paths(), *self.shown))
        return [path for path in paths if Path(path).exists()]

    def probe_view(self) -> dict[str, Any]:
        """Return the smallest view, to see whether one can be made.

        What is to be read below a hidden folder, as a Python installed in the workspace, is shown once that is empty.
        """
        read, hide = self.read_paths(), [*self.hidden, str(self.scratch)]
        show = [path for path in read if any((path + "/").startswith(top + "/") for top in hide)]
        for path in read:  # the same folder under the name of a link to it
            true = _true_path(path)
            if true != path and not Path(path).is_symlink():
                hide += [path + top.removeprefix(true) for top in hide if top.startswith(true + "/")]
        return {"read": [path for path in read if path not in show], "hide": list(dict.fromkeys(hide)), "show": show,
                "write": [], "tmp": str(self.base / "probe")}  # fmt: skip

    def worker_environment(self, threads: int) -> dict[str, str]:
        """Return a worker's environment. Its caches are never writable for a job: they are code others will run."""
        return base_environment(1) | {
            "HOME": str(self.staging),
            "MPLCONFIGDIR": str(self.caches / "matplotlib"),
            "NUMBA_CACHE_DIR": str(self.caches / "numba"),
            "NUMBA_NUM_THREADS": str(threads),
            # Large pages: a fork copies a 512th of the entries, which makes starting and ending a job a third faster.
            "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
        }


@dataclass(slots=True)
class JobFolder:
    """A job's private folder: its home, its temporary files, its caches and the script's text."""

    places: Places
    job: Job
    path: Path = field(init=False)

    def make(self, token: str) -> None:
        """Make it."""
        self.path = self.places.base / "jobs" / token
        for name in ("home", "tmp", "cache/numba"):
            (self.path / name).mkdir(parents=True, mode=0o700)
        shutil.copytree(self.places.caches / "matplotlib", self.path / "matplotlib")
        self.script.write_text(self.job.code, encoding="utf-8")

    @property
    def script(self) -> Path:
        """The job's code as a file, for tracebacks and for libraries that start Python again."""
        return self.path / "step.py"

    def remove(self) -> str:
        """Delete it, whatever the job left in it; return "" or what could not be deleted."""
        return remove_tree(self.path, self.places.leftover)

    def environment(self) -> dict[str, str]:
        """Return the job's whole environment."""
        return base_environment(self.job.threads) | {
            "HOME": str(self.path / "home"),
            "TMPDIR": str(self.path / "tmp"),
            "XDG_CACHE_HOME": str(self.path / "cache"),
            "MPLCONFIGDIR": str(self.path / "matplotlib"),
            "NUMBA_CACHE_DIR": str(self.path / "cache" / "numba"),
        }

    def view(self) -> dict[str, Any]:
        """Return what the job sees, in the terms of `confine`."""
        shown = [str(path.absolute()) for path in self.job.readable]
        seen = self.places.probe_view()
        return {
            "read": seen["read"],
            "hide": seen["hide"],
            "show": [*seen["show"], *shown, str(self.places.caches / "numba")],
            "write": [str(self.path), str(self.job.workdir)],
            "tmp": str(self.path / "tmp"),
            "env": self.environment(),
        }
