"""Keeps what a user uploads under its hash, so that the same file is stored once and never changes under a run.

A file's name comes from the user's machine: it is reduced to a name that is safe as a file and cannot lead
out of its folder.
"""

from __future__ import annotations

import hashlib
import io
import re
import unicodedata
import uuid
from pathlib import Path
from typing import BinaryIO

from streamlit.runtime.scriptrunner import get_script_run_ctx

CHUNK = 1 << 20
LONGEST_NAME = 120


def safe_name(name: str) -> str:
    """Return a file name without folders, control characters or leading dots, keeping its suffixes."""
    text = unicodedata.normalize("NFC", name).replace("\\", "/").rsplit("/", 1)[-1]
    text = re.sub(r'[\x00-\x1f\x7f<>:"|?*]', "_", text).strip().lstrip(".").rstrip(". ")
    if len(text) > LONGEST_NAME:
        suffix = "".join(Path(text).suffixes[-2:])[-20:]
        text = text[: LONGEST_NAME - len(suffix)] + suffix
    return text or "file"


def save_upload(stream: BinaryIO, name: str, folder: Path) -> Path:
    """Store a stream as FOLDER/HASH/NAME and return the path; the same content and name is stored once."""
    digest = hashlib.sha256()
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f".part-{uuid.uuid4().hex}"
    try:
        stream.seek(0)
        with part.open("wb") as handle:
            while chunk := stream.read(CHUNK):
                digest.update(chunk)
                handle.write(chunk)
        home = folder / digest.hexdigest()[:16]
        home.mkdir(exist_ok=True)
        path = home / safe_name(name)
        if not path.is_file():
            part.replace(path)
        return path
    finally:
        part.unlink(missing_ok=True)


def with_own_name(path: Path, taken: set[str]) -> Path:
    """Return the path, or a copy under another name when a different file of this name is already attached.

    A plan refers to its files by name, so two of one name could be mistaken for each other.
    """
    if path.name not in taken:
        return path
    number = 2
    stem, suffix = path.name.split(".", 1) if "." in path.name else (path.name, "")
    while (name := f"{stem} ({number})" + (f".{suffix}" if suffix else "")) in taken:
        number += 1
    renamed = path.with_name(name)
    if not renamed.is_file():
        renamed.write_bytes(path.read_bytes())
    return renamed


class Upload(io.BytesIO):
    """A file that a browser has sent, whether or not its field has been submitted."""

    def __init__(self, file_id: str, name: str, data: bytes) -> None:
        """Hold the content under its name."""
        super().__init__(data)
        self.file_id, self.name = file_id, name


def uploads_of_session() -> list[Upload]:
    """Return every file that this session's browser has sent and not taken back."""
    context = get_script_run_ctx()
    # The field of a question tells of its files only when it is submitted; the server has them before that.
    stored = getattr(context.uploaded_file_mgr, "file_storage", {}) if context is not None else {}
    files = dict(stored.get(context.session_id, {})) if context is not None else {}
    return [Upload(file_id, record.name, record.data) for file_id, record in files.items()]
