"""Uploads: any name is made safe, the same content is stored once, two files never share a name in a plan."""

from __future__ import annotations

import hashlib
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.parts.uploads import safe_name, save_upload, with_own_name


@pytest.mark.parametrize(
    ("given_name", "kept"),
    [
        ("counts.csv", "counts.csv"),
        ("../../etc/passwd", "passwd"),
        (r"C:\Users\me\counts.csv", "counts.csv"),
        (".hidden", "hidden"),
        ("", "file"),
        ("...", "file"),
        ("Größe µm.tsv.gz", "Größe µm.tsv.gz"),
        ("a\x00b\n.csv", "a_b_.csv"),
        ("x" * 300 + ".csv.gz", "x" * 113 + ".csv.gz"),
    ],
)
def test_names_are_made_safe(given_name, kept):
    assert safe_name(given_name) == kept


@given(st.text(max_size=300))
def test_no_name_leads_out_of_its_folder(name):
    kept = safe_name(name)
    assert kept not in ("", ".", "..")
    assert "/" not in kept
    assert "\\" not in kept
    assert len(kept) <= 120


def test_same_content_is_stored_once_under_its_hash(tmp_path):
    first = save_upload(io.BytesIO(b"a,b\n1,2\n"), "t.csv", tmp_path)
    again = save_upload(io.BytesIO(b"a,b\n1,2\n"), "t.csv", tmp_path)
    other = save_upload(io.BytesIO(b"a,b\n1,3\n"), "t.csv", tmp_path)
    assert first == again
    assert first != other
    assert first.parent.name == hashlib.sha256(b"a,b\n1,2\n").hexdigest()[:16]
    assert first.read_bytes() == b"a,b\n1,2\n"
    assert not list(tmp_path.glob(".part-*"))


def test_failed_upload_leaves_nothing_behind(tmp_path):
    class Broken(io.BytesIO):
        def read(self, *_):
            raise OSError("connection lost")

    with pytest.raises(OSError, match="connection lost"):
        save_upload(Broken(b"x"), "t.csv", tmp_path)
    assert not list(tmp_path.iterdir())


def test_second_file_of_a_name_gets_its_own_name(tmp_path):
    path = save_upload(io.BytesIO(b"x"), "t.csv.gz", tmp_path)
    assert with_own_name(path, set()) == path
    renamed = with_own_name(path, {"t.csv.gz", "t (2).csv.gz"})
    assert renamed.name == "t (3).csv.gz"
    assert renamed.read_bytes() == b"x"
