"""The promises of `ArtifactStore`, kept by every implementation of it."""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.errors import DataError, NotFoundError
from engine.ports.artifacts import ArtifactStore
from storage.runs.artifacts import FileArtifacts
from storage.runs.artifacts_twin import ArtifactsTwin

# FIPS 180-2, appendix B.1: the SHA-256 of the three bytes "abc".
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ArtifactStore:
    return ArtifactsTwin() if request.param == "memory" else FileArtifacts(tmp_path / "artifacts")


def overwrite(path: Path, data: bytes) -> None:
    path.chmod(0o644)
    path.write_bytes(data)


def test_content_is_named_by_its_published_sha256(store: ArtifactStore) -> None:
    assert store.put_bytes(b"abc") == ABC
    assert store.path(ABC).read_bytes() == b"abc"
    assert store.has(ABC)
    assert store.verify(ABC) == ABC


@pytest.mark.parametrize("size", [0, 1, 1 << 20, (1 << 20) + 1, 3_000_000])
def test_bytes_and_files_of_any_size_come_back_equal(store: ArtifactStore, tmp_path: Path, size: int) -> None:
    data = os.urandom(size)
    source = tmp_path / "source.bin"
    source.write_bytes(data)
    sha256 = store.put_file(source)
    assert sha256 == hashlib.sha256(data).hexdigest()
    assert store.path(sha256).read_bytes() == data
    assert store.put_bytes(data) == sha256


def test_the_stored_copy_does_not_change_with_the_file_it_was_made_from(store: ArtifactStore, tmp_path: Path) -> None:
    source = tmp_path / "counts.csv"
    source.write_bytes(b"gene,a\nTP53,1\n")
    sha256 = store.put_file(source)
    source.write_bytes(b"changed")
    assert store.path(sha256).read_bytes() == b"gene,a\nTP53,1\n"
    source.unlink()
    assert store.verify(sha256) == sha256


def test_storing_the_same_bytes_twice_is_one_file(store: ArtifactStore) -> None:
    first = store.put_bytes(b"twice")
    before = store.path(first).stat()
    assert store.put_bytes(b"twice") == first
    after = store.path(first).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_stored_file_is_read_only(store: ArtifactStore) -> None:
    assert store.path(store.put_bytes(b"fixed")).stat().st_mode & 0o777 == 0o444


def test_content_that_was_never_stored_is_missing_everywhere(store: ArtifactStore) -> None:
    unknown = "0" * 64
    assert not store.has(unknown)
    assert store.verify(unknown) == ""
    with pytest.raises(NotFoundError, match=unknown):
        store.path(unknown)


@pytest.mark.parametrize("name", ["", "../../etc/passwd", ABC.upper(), ABC[:-1], ABC + "0", f"{ABC}\n", "a/" * 32])
def test_a_name_that_is_no_hash_is_missing_and_never_a_path(store: ArtifactStore, name: str) -> None:
    store.put_bytes(b"abc")
    assert not store.has(name)
    assert store.verify(name) == ""
    with pytest.raises(NotFoundError):
        store.path(name)


def test_a_changed_file_is_found_by_verify(store: ArtifactStore) -> None:
    sha256 = store.put_bytes(b"original")
    overwrite(store.path(sha256), b"originaX")
    assert store.verify(sha256) == hashlib.sha256(b"originaX").hexdigest()


def test_storing_the_content_again_heals_a_changed_file(store: ArtifactStore, tmp_path: Path) -> None:
    sha256 = store.put_bytes(b"original")
    overwrite(store.path(sha256), b"originaX")
    assert store.put_bytes(b"original") == sha256
    assert store.verify(sha256) == sha256
    overwrite(store.path(sha256), b"")
    source = tmp_path / "source"
    source.write_bytes(b"original")
    assert store.put_file(source) == sha256
    assert store.path(sha256).read_bytes() == b"original"


def test_a_deleted_file_is_missing_and_can_be_stored_again(store: ArtifactStore) -> None:
    sha256 = store.put_bytes(b"gone")
    store.path(sha256).unlink()
    assert not store.has(sha256)
    assert store.verify(sha256) == ""
    assert store.put_bytes(b"gone") == sha256
    assert store.verify(sha256) == sha256


def test_a_source_that_is_missing_or_a_folder_gets_a_sentence(store: ArtifactStore, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="There is no file"):
        store.put_file(tmp_path / "nowhere.csv")
    with pytest.raises(DataError, match="cannot be read"):
        store.put_file(tmp_path)


def test_many_threads_storing_the_same_and_different_content_agree(store: ArtifactStore) -> None:
    contents = [os.urandom(40_000) for _ in range(6)]

    def put(number: int) -> str:
        return store.put_bytes(contents[number % len(contents)])

    with ThreadPoolExecutor(8) as pool:
        names = list(pool.map(put, range(96)))
    assert names == [hashlib.sha256(contents[number % len(contents)]).hexdigest() for number in range(96)]
    assert all(store.verify(name) == name for name in set(names))


def test_what_is_removed_is_gone_and_can_be_stored_again(store: ArtifactStore) -> None:
    store.put_bytes(b"abc")
    store.put_bytes(b"kept")
    assert store.size(ABC) == 3
    assert store.remove(ABC) == 3
    assert not store.has(ABC)
    assert store.verify(ABC) == ""
    assert store.size(ABC) == store.remove(ABC) == 0
    assert store.has(store.put_bytes(b"kept"))
    assert store.put_bytes(b"abc") == ABC
    assert store.path(ABC).read_bytes() == b"abc"
