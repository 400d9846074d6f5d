"""Folders that a step filled: removed without fail, and measured without trust.

A step may leave folders a thousand deep, names of any bytes, rights taken away, files that cannot be deleted. None of
it may stop the program that cleans up, and nothing outside may be touched: no link and no mount is entered.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path

LEFTOVER = "leftover"
"""The folder, below the one that holds all steps' folders, where trees lie that could not be deleted."""
MOST_DEPTH = 100
_ROUNDS = 3
"""How often a folder is read again that was not empty after all: somebody may still be writing into it."""
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def remove_tree(folder: Path, leftover: Path) -> str:
    """Delete a tree; return "" or one sentence on what could not be deleted and where it is now.

    Never raises for what the tree holds. What cannot be deleted is renamed into the folder `leftover` (on the same
    disk), so that the tree's name is free. A mount point is never entered.
    """
    if _is_mount(folder):
        return f"{folder} could not be deleted: something is mounted there."
    with contextlib.suppress(OSError):
        _remove(folder)
    if not os.path.lexists(folder):
        return ""
    aside = leftover / f"{folder.name}-{secrets.token_hex(6)}"
    try:
        leftover.mkdir(mode=0o700, parents=True, exist_ok=True)
        _move(str(folder), str(aside))
    except OSError as error:
        return f"Not all of {folder} could be deleted or set aside ({error.strerror})."
    return f"Not all of {folder.name} could be deleted: what is left lies in {aside}."


def retry_leftovers(leftover: Path) -> int:
    """Try once more to delete what was set aside; return how many trees are still there."""
    for name in names_in(leftover):
        with contextlib.suppress(OSError):
            if not _is_mount(leftover / name):
                _remove(leftover / name)
    with contextlib.suppress(OSError):
        leftover.rmdir()
    return leftovers(leftover)


def leftovers(leftover: Path) -> int:
    """Return how many trees could not be deleted."""
    return len(names_in(leftover))


def tree_size(folders: Sequence[Path]) -> int:
    """Return the bytes of all files in these trees; what cannot be read counts nothing."""
    return _Count(most_bytes=1 << 62, most_files=1 << 62, deepest=MOST_DEPTH).of(folders).size


def excess(
    folders: Sequence[Path], *, most_bytes: int, most_files: int, deepest: int = MOST_DEPTH, beside: int = 0
) -> str:
    """Say in a few words which bound these trees are over together, "" for none; stops reading as soon as one is.

    Args:
        folders: the trees; a link in the place of a folder is not followed, also when it was put there meanwhile.
        most_bytes: bound of the sum of the files' sizes, holes included: stored, they would be written.
        most_files: bound of the number of entries, folders included.
        deepest: bound of how far folders may lie in one another.
        beside: bytes to count that lie in no folder.
    """
    return _Count(most_bytes, most_files, deepest, size=beside).of(folders).problem


class _Count:
    """Walks trees by descriptors, so that what is renamed meanwhile cannot lead it elsewhere."""

    def __init__(self, most_bytes: int, most_files: int, deepest: int, size: int = 0) -> None:
        self.most_bytes, self.most_files, self.deepest = most_bytes, most_files, deepest
        self.size, self.count = size, 0
        self.problem = ""

    def of(self, folders: Sequence[Path]) -> _Count:
        for folder in folders:
            self._folder(str(folder), None, 0)
        return self

    def _folder(self, name: str, parent: int | None, depth: int) -> None:
        if depth > self.deepest:
            self.problem = f"folders lie more than {self.deepest} deep"
            return
        try:
            place = os.open(name, _FOLDER, dir_fd=parent)
        except PermissionError:
            self.problem = "a folder cannot be read"
            return
        except OSError:
            return  # gone meanwhile, or no longer a folder
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    self._entry(entry, place, depth)
                    if self.problem:
                        return
        except OSError:
            self.problem = "a folder cannot be read"
        finally:
            os.close(place)

    def _entry(self, entry: os.DirEntry[str], place: int, depth: int) -> None:
        self.count += 1
        if self.count > self.most_files:
            self.problem = f"there are more than {self.most_files:,} files"
        elif entry.is_dir(follow_symlinks=False):
            self._folder(entry.name, place, depth + 1)
        else:
            with contextlib.suppress(FileNotFoundError):
                found = entry.stat(follow_symlinks=False)
                self.size += max(found.st_size, getattr(found, "st_blocks", 0) * 512)
            if self.size > self.most_bytes:
                self.problem = f"the files have more than {self.most_bytes >> 20:,} MB together"


def _is_mount(folder: Path) -> bool:
    """Say whether something is mounted there, a folder of the same disk included, which `os.path.ismount` misses."""
    mounts: list[str] = []
    for path, links in ((folder, os.O_NOFOLLOW), (folder.parent, 0)):
        with contextlib.suppress(OSError, AttributeError):  # only Linux says which mount a file lies in
            place = os.open(path, os.O_PATH | os.O_CLOEXEC | links)
            try:
                told = Path(f"/proc/self/fdinfo/{place}").read_text()
            finally:
                os.close(place)
            mounts += [line for line in told.splitlines() if line.startswith("mnt_id:")]
    return os.path.ismount(folder) or (len(mounts) == 2 and mounts[0] != mounts[1])


def names_in(folder: Path | str) -> list[str]:
    """Return the names in a folder, none of one that is not there or closed."""
    try:
        return os.listdir(folder)  # noqa: PTH208 - names of any bytes
    except OSError:
        return []


def _remove(top: Path) -> None:
    """Delete a folder by lifting each folder in it to its top before it is entered: paths never grow, nothing recurses.

    A mount point cannot be renamed, so it is never entered either; the top itself must be none.
    """
    if os.name == "nt":
        shutil.rmtree(top, ignore_errors=True)
        return
    if not stat.S_ISDIR(os.lstat(top).st_mode):
        top.unlink()
        return
    root = _opened(str(top))
    lifted: list[str] = []
    try:
        _clear(root, root, lifted)
        while lifted:
            with contextlib.suppress(OSError):
                _remove_lifted(lifted.pop(), root, lifted)
    finally:
        os.close(root)
    top.rmdir()


def _remove_lifted(name: str, root: int, lifted: list[str]) -> None:
    for _ in range(_ROUNDS):
        place = _opened(name, root)
        try:
            _clear(place, root, lifted)
        finally:
            os.close(place)
        with contextlib.suppress(OSError):
            os.rmdir(name, dir_fd=root)
            return


def _clear(place: int, root: int, lifted: list[str]) -> None:
    """Delete the files of a folder and move its folders to the tree's top."""
    with os.scandir(place) as entries:
        # What is moved to the top while the top is read must not be met again.
        for entry in list(entries) if place == root else entries:
            with contextlib.suppress(OSError):
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.name, dir_fd=place)
                    continue
                name = secrets.token_hex(8)
                _move(entry.name, name, place, root)
                lifted.append(name)


def _move(old: str, new: str, old_folder: int | None = None, new_folder: int | None = None) -> None:
    """Rename; a folder moved to another one must be writable itself, because its `..` changes."""
    try:
        os.rename(old, new, src_dir_fd=old_folder, dst_dir_fd=new_folder)
    except PermissionError:
        _own(old, old_folder)
        os.rename(old, new, src_dir_fd=old_folder, dst_dir_fd=new_folder)


def _opened(name: str, folder: int | None = None) -> int:
    """Open a folder with all rights in it."""
    _own(name, folder)
    return os.open(name, _FOLDER, dir_fd=folder)


def _own(name: str, folder: int | None = None) -> None:
    """Give the owner of a folder all rights in it; a link is not followed."""
    path_only = getattr(os, "O_PATH", 0)
    with contextlib.suppress(OSError):
        if not path_only:
            os.chmod(name, 0o700, dir_fd=folder, follow_symlinks=False)
            return
        place = os.open(name, path_only | _FOLDER, dir_fd=folder)
        try:
            os.chmod(f"/proc/self/fd/{place}", 0o700)  # noqa: PTH101
        finally:
            os.close(place)
