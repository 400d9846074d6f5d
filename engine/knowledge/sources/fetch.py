"""Downloads the public resources of `SOURCES`: resumed where it stopped, checked, and noted where it came from.

A file arrives as `NAME.part`, with what is needed to resume it safely in `NAME.part.json`; only a complete and
checked file gets its name. `NAME.origin.json` beside it keeps address, terms, checksum and time.
"""

from __future__ import annotations

import gzip
import http.client
import os
import shutil
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from engine.errors import DataError, FetchError, Interrupted, NotFoundError
from engine.knowledge.importers.read import sha256_file
from engine.knowledge.importers.reading.text import damaged, first_lines, open_bytes
from engine.knowledge.sources.catalogue import SOURCES, RemoteFile, RemoteSource
from engine.knowledge.sources.web import check_address, content_range, marks_of, opener, read_json, reason, write_json
from engine.ports.cancel import CancelToken

__all__ = ["SOURCES", "FetchError", "RemoteFile", "RemoteSource", "fetch"]

CHUNK = 256 * 1024
TIMEOUT = 30.0
"""Seconds a server may be silent."""
ATTEMPTS = 5
_AGAIN = {408, 425, 429, 500, 502, 503, 504}

Progress = Callable[[str, int, int], None]
"""(file name, bytes there so far, bytes in total or 0 when unknown)."""


class _Lost(Exception):
    """The connection failed in a way that another attempt may mend."""

    def __init__(self, reason: str, *, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


class _Restart(Exception):
    """What is there cannot be continued: begin from nothing."""


@dataclass(kw_only=True)
class _FileJob:
    """One file on its way."""

    source: RemoteSource
    file: RemoteFile
    url: str
    folder: Path
    progress: Progress | None
    cancel: CancelToken | None
    timeout: float
    opener: urllib.request.OpenerDirector = field(default_factory=opener)

    @property
    def target(self) -> Path:
        return self.folder / self.file.name

    @property
    def part(self) -> Path:
        return self.folder / f"{self.file.name}.part"

    @property
    def state(self) -> Path:
        return self.folder / f"{self.file.name}.part.json"

    @property
    def origin(self) -> Path:
        return self.folder / f"{self.file.name}.origin.json"

    def there(self) -> int:
        """Return how many bytes of the file came already."""
        return self.part.stat().st_size if self.part.is_file() else 0

    def resumable(self) -> bool:
        """Say whether what came can be gone on with: the file's checksum or a mark of its version can prove it.

        Without either, the rest of another version could be joined to it and nobody would notice.
        """
        return bool(self.file.sha256 or read_json(self.state).get("validator"))

    def kept(self) -> int:
        """Return how many bytes came that another try goes on from."""
        return self.there() if self.resumable() else 0

    def drop(self) -> None:
        """Throw away what came."""
        self.part.unlink(missing_ok=True)
        self.state.unlink(missing_ok=True)

    def stop_if_cancelled(self) -> None:
        if self.cancel is not None and self.cancel.cancelled:
            message = f"The download of {self.file.name} was stopped; {self.kept():,} bytes are kept."
            raise Interrupted(message, advice="Fetch it again to go on from there.")


def fetch(
    name: str,
    folder: Path,
    *,
    base_url: str | None = None,
    urls: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    cancel: CancelToken | None = None,
    again: bool = False,
    attempts: int = ATTEMPTS,
    timeout: float = TIMEOUT,
    pause: Callable[[float], None] = time.sleep,
) -> list[Path]:
    """Download a resource's files into a folder and return their paths, in the order of `SOURCES`.

    A file that is there and unchanged since it was fetched is not fetched again, unless asked with `again`.

    Args:
        name: A name in `SOURCES`.
        folder: Where to; made when it does not exist.
        base_url: A mirror: files are at `base_url/FILE NAME` instead of their own addresses.
        urls: Other addresses for single files, by file name.
        progress: Told of every piece that came.
        cancel: Stops between pieces; what came is kept.
        again: Fetch even what is there, for a newer release.
        attempts: How often a lost connection is tried; each wait is twice the one before, 1 s first.
        timeout: Seconds a server may be silent.
        pause: Waits the given seconds.

    Raises:
        NotFoundError: when there is no such resource.
        UserError: for an address that is not http or https.
        DataError: when what came is not the file: another checksum, an error page.
        FetchError: when the server cannot be reached or refuses, or the disk is full.
        Interrupted: when cancelled.
    """
    source = SOURCES.get(name.strip().lower())
    if source is None:
        message = f"There is no resource {name!r} to fetch; there are {', '.join(SOURCES)}."
        raise NotFoundError(message, advice="For another file: download it yourself and import it by its path.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"The folder {folder} cannot be made: {error.strerror or error}."
        raise FetchError(message, advice="Choose another folder.") from error
    paths: list[Path] = []
    for file in source.files:
        url = (urls or {}).get(file.name) or (f"{base_url.rstrip('/')}/{file.name}" if base_url else file.url)
        check_address(url)
        job = _FileJob(
            source=source, file=file, url=url, folder=folder, progress=progress, cancel=cancel, timeout=timeout
        )
        with _alone(job):
            if again or not _is_there(job):
                _download(job, attempts, pause)
        paths.append(job.target)
    return paths


_running: set[Path] = set()
_running_guard = threading.Lock()


@contextmanager
def _alone(job: _FileJob) -> Iterator[None]:
    """Keep two downloads of this process from writing one file."""
    place = job.target.absolute()
    with _running_guard:
        if place in _running:
            message = f"{job.file.name} is being fetched already."
            raise FetchError(message, advice="Wait until that download is done.")
        _running.add(place)
    try:
        yield
    finally:
        with _running_guard:
            _running.discard(place)


def _is_there(job: _FileJob) -> bool:
    """Say whether the file was fetched before and is still what came then."""
    if not job.target.is_file():
        return False
    expected = job.file.sha256 or read_json(job.origin).get("sha256")
    if not expected or sha256_file(job.target) != expected:
        return False
    if job.progress is not None:
        size = job.target.stat().st_size
        job.progress(job.file.name, size, size)
    return True


def _download(job: _FileJob, attempts: int, pause: Callable[[float], None]) -> None:
    failures = restarts = 0
    while True:
        job.stop_if_cancelled()
        before = job.there()
        try:
            _attempt(job)
            _finish(job, resumed=before > 0)
            return
        except _Restart as error:
            job.drop()
            restarts += 1
            if restarts > 2:
                message = f"{job.file.name} from {_host(job)} changed while it was fetched ({error})."
                raise FetchError(message, advice="Try again later.") from error
        except _Lost as error:
            failures = 1 if job.there() > before else failures + 1  # as long as something comes, go on
            if failures >= attempts:
                raise _unreachable(job, error) from error
            _wait(job, error.wait or float(2 ** (failures - 1)), pause)


def _unreachable(job: _FileJob, error: Exception) -> FetchError:
    there = job.kept()
    kept = f" {there:,} bytes came and are kept." if there else ""
    message = f"{job.file.name} could not be fetched from {_host(job)}: {error}.{kept}"
    advice = f"Check the network and fetch again, or download {job.url} elsewhere and import the file by its path."
    return FetchError(message, advice=advice)


def _wait(job: _FileJob, seconds: float, pause: Callable[[float], None]) -> None:
    left = min(seconds, 60.0)
    while left > 0:
        job.stop_if_cancelled()
        step = min(left, 1.0)
        pause(step)
        left -= step


def _attempt(job: _FileJob) -> None:
    """Ask for what is missing and append it to the part.

    Raises:
        _Lost: when the connection broke; _Restart: when the part cannot be continued.
    """
    start = job.there()
    state = read_json(job.state)
    if start and state.get("url") != job.url:
        raise _Restart("the address is another one")
    if start and start == state.get("total"):
        return
    if start and not job.resumable():
        start = 0  # the answer will be the whole file, written over the part
    headers = {"User-Agent": "biodesk", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
        if state.get("validator"):
            headers["If-Range"] = state["validator"]
    request = urllib.request.Request(job.url, headers=headers)  # noqa: S310 (the scheme was checked)
    try:
        with job.opener.open(request, timeout=job.timeout) as response:
            _receive(job, response, start)
    except urllib.error.HTTPError as error:
        with error:  # it holds the connection
            _refused(job, error)
    except urllib.error.URLError as error:
        raise _Lost(reason(error.reason)) from error
    except (http.client.HTTPException, ConnectionError, TimeoutError) as error:
        raise _Lost(reason(error)) from error


def _refused(job: _FileJob, error: urllib.error.HTTPError) -> None:
    """Turn the server's refusal into what follows from it."""
    if error.code == 416:
        raise _Restart("the server has no more than what came") from error
    if error.code in _AGAIN:
        wait = error.headers.get("Retry-After", "") if error.headers else ""
        raise _Lost(f"the server answers {error.code}", wait=float(wait) if wait.isdigit() else 0.0) from error
    there = "is not there any more" if error.code in (404, 410) else "was refused"
    message = f"{job.file.name} {there}: {_host(job)} answers {error.code} {error.reason}."
    advice = f"Look for it at {job.source.homepage} and import the file by its path."
    raise FetchError(message, advice=advice, details={"status": error.code, "url": job.url}) from error


def _receive(job: _FileJob, response: Any, start: int) -> None:
    headers = response.headers
    length = int(headers["Content-Length"]) if (headers.get("Content-Length") or "").isdigit() else None
    if response.status == 206:
        begins, total = content_range(headers.get("Content-Range", ""))
        state = read_json(job.state)
        known, mark = state.get("total"), state.get("validator")
        marks = marks_of(headers)
        other = bool(mark) and bool(marks) and mark not in marks
        if begins != start or other or (known is not None and total is not None and known != total):
            raise _Restart("the server's file is another one than the part's")
    else:  # the whole file: the server knows no ranges, or the file is a newer one
        start, total = 0, length
    marks = marks_of(headers)
    write_json(job.state, {"url": job.url, "validator": marks[0] if marks else "", "total": total})
    _check_space(job, (total or job.file.bytes) - start)
    there = start
    try:
        with job.part.open("ab" if start else "wb") as part:
            while piece := _piece(response):
                part.write(piece)
                there += len(piece)
                if job.progress is not None:
                    job.progress(job.file.name, there, total or 0)
                if job.cancel is not None and job.cancel.cancelled:
                    part.flush()
                    job.stop_if_cancelled()
            part.flush()
            os.fsync(part.fileno())
    except OSError as error:
        message = f"{job.file.name} cannot be written to {job.folder}: {error.strerror or error}."
        raise FetchError(message, advice="Make room on the disk and fetch again.") from error
    if total is not None and there < total:
        raise _Lost(f"the connection ended after {there:,} of {total:,} bytes")


def _piece(response: Any) -> bytes:
    try:
        return response.read(CHUNK)
    except (OSError, http.client.HTTPException) as error:  # apart from the errors of writing, which are the disk's
        raise _Lost(reason(error)) from error


def _check_space(job: _FileJob, missing: int) -> None:
    free = shutil.disk_usage(job.folder).free
    if missing > free:
        message = f"{job.file.name} needs {missing:,} more bytes in {job.folder}, where {free:,} are free."
        raise FetchError(message, advice="Make room or choose another folder.")


def _finish(job: _FileJob, *, resumed: bool) -> None:
    """Check what came and give it its name."""
    digest = sha256_file(job.part)
    size = job.part.stat().st_size
    if job.file.sha256 and digest != job.file.sha256:
        if resumed:  # perhaps two versions in one: once more from the beginning
            raise _Restart("the resumed file has another checksum")
        job.drop()
        message = (
            f"{job.file.name} from {_host(job)} is not the file that was published: its SHA-256 is {digest[:16]}..., "
            f"{job.file.sha256[:16]}... was expected ({size:,} bytes came). It was deleted."
        )
        raise DataError(message, advice="Fetch again; if it happens again, the server has another version.")
    try:
        first_lines(job.part, 1)
        _read_to_the_end(job)
    except DataError as error:
        job.drop()
        problem = error.message.replace(job.part.name, job.file.name)
        raise DataError(problem, advice=error.advice, details={"url": job.url}) from error
    note = {
        "url": job.url,
        "license": job.source.license,
        "source": job.source.title,
        "sha256": digest,
        "bytes": size,
        "checked": "pinned" if job.file.sha256 else "recorded",
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    job.part.replace(job.target)
    write_json(job.origin, note)
    job.state.unlink(missing_ok=True)


def _read_to_the_end(job: _FileJob) -> None:
    """Read a gzip file whole: a server that states no length can break off without anybody noticing.

    Raises:
        _Lost: when it is cut short and the server did not say how long it is.
        DataError: when it is damaged.
    """
    with open_bytes(job.part) as handle:
        if not isinstance(handle, gzip.GzipFile):
            return
        try:
            while handle.read(1 << 20):
                job.stop_if_cancelled()
        except EOFError as error:
            if read_json(job.state).get("total") is None:
                job.drop()  # what came is a proper beginning, but a server that hides its end is not asked for more
                raise _Lost("the file ended in its middle, and the server does not say how long it is") from error
            raise damaged(job.part, 0, error) from error
        except (OSError, zlib.error) as error:
            raise damaged(job.part, 0, error) from error


def _host(job: _FileJob) -> str:
    return urllib.parse.urlsplit(job.url).netloc
