"""Refuses HDF5 files that lead elsewhere or nowhere, before anything of them is read.

The format can name other files as the place of a dataset's values, of a part of it or of a whole branch: whoever opens
such a file reads these, too, and a run would depend on what no hash covers.
"""

from __future__ import annotations

from typing import Any

from engine.data.source import UnusableFile

_MOST_LINKS = 50_000
_MOST_NAMES = 20_000_000


def refuse_elsewhere(name: str, file: Any, h5py: Any) -> None:
    """Walk through every link of an open file.

    Raises:
        UnusableFile: for external storage, external and broken links, virtual datasets, and too many links.
    """
    seen: set[Any] = set()
    todo: list[tuple[str, Any]] = [("", file)]
    links = 0
    while todo:
        where, group = todo.pop()
        for key in group:
            links += 1
            if links > _MOST_LINKS:
                raise UnusableFile(
                    f"{name} has more than {_MOST_LINKS:,} parts, which no single-cell file has; write the file again."
                )
            found = _checked(name, f"{where}{key}", group, key, h5py)
            info = h5py.h5o.get_info(found.id)
            if isinstance(found, h5py.Group) and (info.fileno, info.addr) not in seen:
                seen.add((info.fileno, info.addr))
                todo.append((f"{where}{key}/", found))


def _checked(name: str, where: str, group: Any, key: str, h5py: Any) -> Any:
    """Return what a link leads to, if that lies in this file."""
    shown = repr(where[:80])
    link = group.get(key, getlink=True)
    if not isinstance(link, (h5py.HardLink, h5py.SoftLink)):
        raise _elsewhere(name, f"{shown} is a link to another file")
    try:
        found = group[key]
    except (KeyError, RuntimeError, OSError) as error:
        if isinstance(link, h5py.SoftLink):
            message = f"{name}: its part {shown} is a link in a circle or to nothing; write the file again."
            raise UnusableFile(message) from error
        raise
    if isinstance(found, h5py.Dataset):
        if found.id.get_create_plist().get_external_count():
            raise _elsewhere(name, f"the values of {shown} lie in another file")
        if found.is_virtual:
            raise _elsewhere(name, f"{shown} is put together from another file (a virtual dataset)")
    return found


def _elsewhere(name: str, what: str) -> UnusableFile:
    return UnusableFile(f"{name} leads outside itself: {what}; write all of the data into one file and add that.")


def refuse_endless(name: str, what: str, count: int) -> None:
    """Refuse to read more names than there can be.

    Raises:
        UnusableFile: when `count` is above 20 million.
    """
    if count > _MOST_NAMES:
        raise UnusableFile(
            f"{name} claims {count:,} {what}, more than the {_MOST_NAMES:,} that are looked at; take a part of it."
        )
