"""Folders that a step filled: removed without fail, and measured without trust.

A step may leave folders a thousand deep, names of any bytes, rights taken away, files that cannot be deleted. None of
it may stop the program that cleans up, and nothing outside may be touched: no link and no mount is entered.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections import deque
from collections.abc import Sequence
from pathlib import Path

LEFTOVER = "leftover"
"""The folder, below the one that holds all steps' folders, where trees go to be removed."""
_ROUNDS = 3
"""How often a folder is read again that was not empty after all: somebody may still be writing into it."""
_MOST_DEPTH = 100


def remove_tree(folder: Path, leftover: Path) -> str:
    """Delete a tree; return "" or one sentence on what could not be deleted and where it is now.

    Never raises for what the tree holds. The tree is first renamed into the folder `leftover` (on the same disk), so
    that its name is free at once; what cannot be deleted stays there. A mount point is never entered.
    """
    if not os.path.lexists(folder):
        return ""
    if os.name == "nt":
        shutil.rmtree(folder, ignore_errors=True)
        return _remaining(folder, folder)
    aside = leftover / secrets.token_hex(6)
    try:
        aside.mkdir(mode=0o700, parents=True)
        _move(str(folder), str(aside / folder.name))
    except OSError as error:
        with contextlib.suppress(OSError):
            aside.rmdir()
        return f"{folder} could not be removed or set aside ({error.strerror}); nothing in it was touched."
    with contextlib.suppress(OSError):
        _remove(aside)
    with contextlib.suppress(OSError):
        leftover.rmdir()
    return _remaining(folder, aside)


def retry_leftovers(leftover: Path) -> int:
    """Try once more to delete what was set aside; return how many trees are still there."""
    for name in _names(leftover):
        with contextlib.suppress(OSError):
            _remove(leftover / name)
    with contextlib.suppress(OSError):
        leftover.rmdir()
    return len(_names(leftover))


def leftovers(leftover: Path) -> int:
    """Return how many trees could not be deleted."""
    return len(_names(leftover))


def excess(folders: Sequence[Path], *, most_bytes: int, most_files: int, deepest: int = _MOST_DEPTH) -> str:
    """Say in a few words which bound these trees are over together, "" for none; stops reading as soon as one is.

    Args:
        folders: the trees; links are not followed.
        most_bytes: bound of the sum of the files' lengths, holes included: stored, they would be written.
        most_files: bound of the number of entries, folders included.
        deepest: bound of how far folders may lie in one another.
    """
    size = count = 0
    pending = [(str(folder), 0) for folder in folders]
    while pending:
        place, depth = pending.pop()
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    count += 1
                    if count > most_files:
                        return f"it left more than {most_files:,} files"
                    if entry.is_dir(follow_symlinks=False):
                        if depth >= deepest:
                            return f"it left folders more than {deepest} deep"
                        pending.append((entry.path, depth + 1))
                        continue
                    with contextlib.suppress(FileNotFoundError):
                        size += entry.stat(follow_symlinks=False).st_size
                    if size > most_bytes:
                        return f"it left files of more than {most_bytes >> 20:,} MB together"
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            return f"it left a folder that cannot be read ({error.strerror})"
    return ""


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - names of any bytes
    except OSError:
        return []


def _remaining(folder: Path, place: Path) -> str:
    if not os.path.lexists(place):
        return ""
    return f"Not all of {folder.name} could be deleted: what is left lies in {place}."


def _remove(top: Path) -> None:
    """Delete a folder by lifting each folder in it to its top before it is entered: paths never grow, nothing recurses.

    A mount point cannot be renamed, so it is never entered either.
    """
    root = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    lifted: deque[str] = deque()
    try:
        _clear(root, root, lifted)
        while lifted:
            with contextlib.suppress(OSError):
                _remove_lifted(lifted.pop(), root, lifted)
    finally:
        os.close(root)
    top.rmdir()


def _remove_lifted(name: str, root: int, lifted: deque[str]) -> None:
    _own(name, root)
    place = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=root)
    try:
        for _ in range(_ROUNDS):
            _clear(place, root, lifted)
            with contextlib.suppress(OSError):
                os.rmdir(name, dir_fd=root)
                return
    finally:
        os.close(place)


def _clear(place: int, root: int, lifted: deque[str]) -> None:
    """Delete the files of a folder and move its folders to the tree's top."""
    with os.scandir(place) as entries:
        # The top holds few entries; what is moved there meanwhile must not be met again.
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


def _own(name: str, folder: int | None = None) -> None:
    """Give the owner of a folder all rights in it; a link is not followed."""
    path_only = getattr(os, "O_PATH", 0)
    with contextlib.suppress(OSError):
        if not path_only:
            os.chmod(name, 0o700, dir_fd=folder, follow_symlinks=False)
            return
        place = os.open(name, path_only | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
        try:
            os.chmod(f"/proc/self/fd/{place}", 0o700)  # noqa: PTH101
        finally:
            os.close(place)
