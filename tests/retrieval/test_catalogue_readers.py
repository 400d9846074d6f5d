"""Every kind of catalogue: the real ones where they are at hand, and files that are not what they should be."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sys
import tarfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.domain.retrieval import CatalogueEntry
from engine.errors import DataError, UserError
from engine.retrieval.catalogues.calling import call_entry
from engine.retrieval.catalogues.read import READERS

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "tool_catalogues"
real = pytest.mark.skipif(not DATA.is_dir(), reason="the development data are not beside the project")


def read(kind: str, path: Path) -> list[CatalogueEntry]:
    return list(READERS[kind](path))


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refused(kind: str, path: Path) -> DataError:
    with pytest.raises(DataError) as caught:
        read(kind, path)
    assert caught.value.advice
    assert caught.value.message.startswith("The catalogue ")
    assert caught.value.message.count("\n") == 0
    return caught.value


# ---- the real ones ----


@real
@pytest.mark.parametrize(
    ("kind", "file", "count"),
    [
        ("biomni", "biomni_tools.json", 224),
        ("galaxy", "galaxy_tools.tsv", 4348),
        ("nf-core", "nfcore_modules_meta.tar.gz", 2041),
        ("tooluniverse", "tooluniverse_tools.jsonl.gz", 3022),
    ],
)
def test_real_catalogues_are_read_whole_with_distinct_names(kind: str, file: str, count: int) -> None:
    entries = read(kind, DATA / file)
    assert len(entries) == len({entry.name for entry in entries}) == count
    assert {entry.catalogue for entry in entries} == {kind}
    assert not any(entry.runnable for entry in entries)
    assert all(entry.description and entry.license for entry in entries)
    assert entries == read(kind, DATA / file)


@real
def test_galaxy_ids_operations_and_suites_are_those_of_the_table() -> None:
    entries = read("galaxy", DATA / "galaxy_tools.tsv")
    csv.field_size_limit(10_000_000)
    with (DATA / "galaxy_tools.tsv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    listed = [tool.strip() for row in rows for tool in row["Tool IDs"].split(",") if tool.strip()]
    assert sorted(entry.name.split("#")[0] for entry in entries) == sorted(listed)
    with_operations = {row["Suite ID"] for row in rows if row["EDAM operations"] and row["Tool IDs"]}
    assert {entry.suite for entry in entries if entry.operations} == with_operations
    (itsx,) = [entry for entry in entries if entry.name == "itsx"]
    assert itsx.operations == ["Sequence feature detection"]
    assert itsx.keywords == ["Metagenomics", "Functional, regulatory and non-coding RNA", "Microbiology"]
    assert itsx.outputs == ["fasta", "txt", "tabular"]
    assert "ITS1" in itsx.description


@real
def test_nfcore_modules_are_named_by_their_place(tmp_path: Path) -> None:
    entries = {entry.name: entry for entry in read("nf-core", DATA / "nfcore_modules_meta.tar.gz")}
    bwa = entries["bwa/mem"]
    assert bwa.suite == "bwa"
    assert bwa.params == ["sort_bam"]
    assert [text.split()[0] for text in bwa.inputs] == ["reads", "index", "fasta"]
    assert "bam *.{bam}" in bwa.outputs
    assert not any(text.startswith("versions") for entry in entries.values() for text in entry.outputs)
    # The same from a folder tree, and one file of it.
    with tarfile.open(DATA / "nfcore_modules_meta.tar.gz") as archive:
        for member in archive:
            wanted = member.name.startswith(("modules/nf-core/bwa", "subworkflows/nf-core/bam_s"))
            if wanted and (content := archive.extractfile(member)) is not None:
                (tmp_path / member.name).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / member.name).write_bytes(content.read())
    found = read("nf-core", tmp_path)
    assert found
    assert {entry.name: entry for entry in found} == {name: e for name, e in entries.items() if name.startswith("bwa")}
    assert read("nf-core", tmp_path / "modules" / "nf-core" / "bwa" / "mem" / "meta.yml") == [bwa]
    assert {e.name for e in read("nf-core", tmp_path / "modules" / "nf-core" / "bwa")} == {
        e.name for e in found if e.suite == "bwa"
    }


# ---- JSONL ----


def test_jsonl_takes_every_field_and_passes_over_others(tmp_path: Path) -> None:
    record = {
        "name": "bwa", "description": "Aligns  reads\nto a genome.", "title": "BWA", "domain": "genomics",
        "keywords": ["alignment", "alignment", 3], "operations": "Mapping, Sequence alignment", "inputs": ["fastq"],
        "outputs": None, "params": [], "suite": "bwa", "requires_tool": ["bwa_index"], "produces_for": ["sort"],
        "url": "https://example.org", "license": "GPL-3.0", "runnable": True, "stars": 12, "nested": {"a": [1]},
    }  # fmt: skip
    (entry,) = read("jsonl", write(tmp_path / "my tools.v2.jsonl", json.dumps(record) + "\n\n"))
    assert entry == CatalogueEntry(
        name="bwa", description="Aligns reads to a genome.", title="BWA", catalogue="my tools", domain="genomics",
        keywords=["alignment", "3"], operations=["Mapping", "Sequence alignment"], inputs=["fastq"], suite="bwa",
        requires_tool=["bwa_index"], produces_for=["sort"], url="https://example.org", license="GPL-3.0",
    )  # fmt: skip


def test_jsonl_names_that_come_again_get_a_number(tmp_path: Path) -> None:
    names = ["a", "a", "a#2", "b", "a"]
    lines = "\n".join(json.dumps({"name": name, "description": "d"}) for name in names)
    assert [entry.name for entry in read("jsonl", write(tmp_path / "x.jsonl", lines))] == [
        "a",
        "a#2",
        "a#2#2",
        "b",
        "a#3",
    ]


def test_jsonl_reads_gzip_a_mark_of_byte_order_and_odd_characters(tmp_path: Path) -> None:
    text = "\ufeff" + json.dumps({"name": "größe\u2028x", "description": "a\ud83e\u0000b 遺伝子"}, ensure_ascii=True)
    text += "\r\n" + '{"name": "line\u2028separator", "description": "raw"}'
    for path in (write(tmp_path / "a.jsonl", text), write(tmp_path / "b.jsonl.gz", gzip.compress(text.encode()))):
        first, second = read("jsonl", path)
        assert first.name == "größe x"
        assert first.description == "a?b 遺伝子"
        assert second.name == "line separator"
        first.model_dump_json()


def test_twenty_thousand_lines_are_ordinary(tmp_path: Path) -> None:
    lines = (
        json.dumps({"name": f"tool_{n}", "description": "Does something. " * 20, "keywords": ["a", "b"]})
        for n in range(20_000)
    )
    entries = read("jsonl", write(tmp_path / "many.jsonl", "\n".join(lines)))
    assert len(entries) == 20_000
    assert entries[-1].name == "tool_19999"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('{"name": "a", "description": "d"}\n{"name": "b", "descr', "line 2 is not JSON"),
        ('{"name": "a", "description": "d"}\n\n[1, 2]', "line 3 is a list, not a JSON object"),
        ('"text"', "line 1 is a text"),
        ("null", "line 1 is null"),
        ('{"name": "a"}', "line 1 has no 'description'"),
        ('{"description": "d"}', "line 1 has no 'name'"),
        ('{"name": "a", "description": "d"}\n{"name": "  ", "description": "d"}', "line 2 has an empty name"),
        ('{"name": 7, "description": "d"}', "line 1 has 7 as its 'name'"),
        ('{"name": "a", "description": ["d"]}', "line 1 has .* as its 'description'"),
        ("[" * 100_000, "line 1 is not JSON"),
        ("name,description\na,b\n", "line 1 is not JSON"),
    ],
)
def test_jsonl_lines_at_fault_are_named(tmp_path: Path, lines: str, message: str) -> None:
    import re

    assert re.search(message, refused("jsonl", write(tmp_path / "x.jsonl", lines)).message)


# ---- files that are not what they should be ----


@pytest.mark.parametrize("kind", sorted(READERS))
def test_missing_empty_binary_cut_off_and_wrongly_encoded_files_are_refused(kind: str, tmp_path: Path) -> None:
    assert "there is no such file" in refused(kind, tmp_path / "nothing.tsv").message
    assert "it is empty" in refused(kind, write(tmp_path / "empty.json", b"")).message
    assert "it is empty" in refused(kind, write(tmp_path / "blank.json", b" \n\n ")).message
    whole = gzip.compress(b'{"name": "a", "description": "d"}\n' * 2_000)
    assert "damaged" in refused(kind, write(tmp_path / "cut.gz", whole[:60])).message
    assert "damaged" in refused(kind, write(tmp_path / "crc.gz", whole[:-6] + b"\0" * 6)).message
    refused(kind, write(tmp_path / "binary.json", bytes(range(256)) * 20))
    refused(kind, write(tmp_path / "latin.json", '{"name": "a"}\n{"name": "größe"}\n'.encode("latin-1")))
    (tmp_path / "folder").mkdir()
    refused(kind, tmp_path / "folder")


def test_the_line_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    for kind in ("jsonl", "tooluniverse"):
        path = write(
            tmp_path / "x.jsonl", b'{"name": "a", "description": "d"}\n{"name": "gr\xf6\xdfe", "description": "d"}'
        )
        assert "line 2 is not UTF-8" in refused(kind, path).message


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(sorted(READERS)),
    st.one_of(
        st.binary(max_size=200),
        st.text(max_size=200).map(lambda t: t.encode("utf-8", "replace")),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["name", "description", "parameter", "tools", "input", "type"]), inner, max_size=4
                )
            ),
            max_leaves=12,
        ).map(lambda v: json.dumps(v).encode()),
    ),
)
def test_any_bytes_give_entries_or_one_sentence(tmp_path: Path, kind: str, content: bytes) -> None:
    for name in ("x.json", "x.yml", "x.py"):
        try:
            entries = read(kind, write(tmp_path / name, content))
        except DataError as error:
            entries = []
            said = [error.message, error.advice]
        else:
            said = ["read", "whole"]
        assert all(entry.name and entry.description for entry in entries)
        assert all(said)
        assert "\n" not in said[0]


# ---- Galaxy ----

HEADER = "Suite ID\tTool IDs\tDescription\tToolShed categories\tEDAM operations\tEDAM topics\tbio.tool description\n"


def test_galaxy_suites_become_their_tools(tmp_path: Path) -> None:
    table = HEADER + (
        "kat\tkat_sect, kat_sect, kat_filter\tK-mer tools\tAssembly, Statistics\tSequence analysis\tGenomics\t\n"
        "none\t\tA suite without tools\t\t\t\t\n"
        'quoted\t"q1"\t"says ""hi"""\t\t\t\t\n'
        "bare\tb1\t\t\t\t\t\n"
        "odd\to1\tOne\u2028line\t\t\t\t\n"
    )
    entries = read("galaxy", write(tmp_path / "g.tsv", table))
    assert [entry.name for entry in entries] == ["kat_sect", "kat_sect#2", "kat_filter", "q1", "b1", "o1"]
    assert entries[0].keywords == ["Assembly", "Statistics", "Genomics"]
    assert entries[0].operations == ["Sequence analysis"]
    assert entries[0].domain == "Genomics"
    assert entries[3].description == 'says "hi".'
    assert entries[5].description == "One line."
    assert entries[4].description == "Galaxy tool b1 of the suite bare."


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("Suite ID,Tool IDs\na,b\n", "line 1 has no column 'Suite ID'"),
        ("Suite ID\tDescription\na\tb\n", "line 1 has no column 'Tool IDs'"),
        (HEADER + "a\tb\n", "line 2 has 2 columns instead of 7"),
        (HEADER + "a\tb\tc\td\te\tf\tg\n" + "a\tb\tc\td\te\tf\tg\th\n", "line 3 has 8 columns instead of 7"),
    ],
)
def test_galaxy_tables_with_other_columns_are_refused(tmp_path: Path, table: str, message: str) -> None:
    assert message in refused("galaxy", write(tmp_path / "g.tsv", table)).message


# ---- nf-core ----

META = "name: zip\ndescription: Zips files\nkeywords: [zip]\ninput:\n  - - files:\n        type: file\noutput:\n  archive:\n    - '*.zip':\n        type: file\n        pattern: '*.zip'\n"


def tar(path: Path, members: dict[str, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as archive:  # pyright: ignore[reportCallIssue, reportArgumentType]
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_nfcore_archives_of_any_compression(tmp_path: Path, mode: str) -> None:
    place = "modules-master/modules/nf-core/zip/meta.yml"
    path = tar(
        tmp_path / "m.tar", {place: META.encode(), "README.md": b"\xff", "subworkflows/nf-core/x/meta.yml": b"{"}, mode
    )
    (entry,) = read("nf-core", path)
    assert entry == CatalogueEntry(
        name="zip", description="Zips files", catalogue="nf-core", keywords=["zip"], inputs=["files"],
        outputs=["archive *.zip"], suite="zip", license="MIT",
    )  # fmt: skip


@pytest.mark.parametrize("name", ["../modules/nf-core/zip/meta.yml", "/etc/meta.yml", "modules/../../meta.yml"])
def test_an_archive_that_leads_outside_is_refused(tmp_path: Path, name: str) -> None:
    assert "leads outside" in refused("nf-core", tar(tmp_path / "m.tar.gz", {name: META.encode()})).message


def test_nfcore_files_at_fault_are_named_with_their_line(tmp_path: Path) -> None:
    place = "modules/nf-core/zip/meta.yml"
    for content, message in (
        (b"name: zip\ndescription: [unclosed\nkeywords: {\n", "line "),
        (b"- just\n- a list\n", "does not begin a description"),
        (b"name: zip\n\tdescription: tab\n", "line 2 is not YAML"),
        (b"name: gr\xf6\xdfe\n", "line 1 is not UTF-8"),
        (b"a: !!python/object/apply:os.system ['true']\n", "is not YAML"),
    ):
        error = refused("nf-core", tar(tmp_path / "m.tar.gz", {place: content}))
        assert message in error.message
        assert place in error.message
    cut = tar(
        tmp_path / "m.tar", {f"modules/nf-core/t{n}/meta.yml": META.encode() for n in range(50)}, "w"
    ).read_bytes()
    refused("nf-core", write(tmp_path / "cut.tar", cut[: len(cut) // 2 + 700]))
    assert "no module" in refused("nf-core", tar(tmp_path / "none.tar.gz", {"README.md": b"text"})).message
    refused("nf-core", write(tmp_path / "table.tsv", "a\tb\n"))


def test_aliases_that_unfold_without_end_do_not_take_the_machine(tmp_path: Path) -> None:
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 9))
    bomb = f"name: bomb\ndescription: d\nl0: &l0 [a]\n{levels}keywords: *l8\n"
    (entry,) = read("nf-core", write(tmp_path / "meta.yml", bomb))
    assert entry.name == "bomb"


# ---- ToolUniverse ----

TOOLS = [
    {"name": "A_search", "description": "Searches A.", "type": "RESTTool", "parameter": {"type": "object", "properties": {"query": {}, "limit": {}}}},
    {"name": "B_get", "description": None, "label": ["gene", "drug"], "parameter": None},
]  # fmt: skip


def test_tooluniverse_lists_lines_and_folders_say_the_same(tmp_path: Path) -> None:
    as_list = read("tooluniverse", write(tmp_path / "a" / "x_tools.json", json.dumps(TOOLS, indent=2)))
    as_lines = read(
        "tooluniverse", write(tmp_path / "x_tools.jsonl.gz", gzip.compress("\n".join(map(json.dumps, TOOLS)).encode()))
    )
    as_folder = read("tooluniverse", tmp_path / "a")
    assert as_list == as_lines == as_folder
    assert as_list[0] == CatalogueEntry(
        name="A_search", description="Searches A.", catalogue="tooluniverse", params=["query", "limit"],
        suite="RESTTool", license="Apache-2.0",
    )  # fmt: skip
    assert (as_list[1].description, as_list[1].keywords, as_list[1].suite) == ("B_get", ["gene", "drug"], "x_tools")
    (alone,) = read("tooluniverse", write(tmp_path / "one.json", json.dumps(TOOLS[0], indent=2)))
    assert alone == as_list[0]


def test_a_folder_of_tooluniverse_may_hold_other_json_but_no_broken_one(tmp_path: Path) -> None:
    write(tmp_path / "a_tools.json", json.dumps(TOOLS))
    write(tmp_path / "categories.json", '{"version": 3, "tools": {"a": 1}}')
    write(tmp_path / "urls.json", '["https://example.org"]')
    assert [entry.name for entry in read("tooluniverse", tmp_path)] == ["A_search", "B_get"]
    write(tmp_path / "b_tools.json", "[\n{")
    assert "b_tools.json cannot be read: line 2 is not JSON" in refused("tooluniverse", tmp_path).message
    write(tmp_path / "other" / "urls.json", '["https://example.org"]')
    assert "holds no JSON file with tools" in refused("tooluniverse", tmp_path / "other").message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[\n{"name": "a"},\n{"name": \n]', "line 4 is not JSON"),
        ('[{"name": "a"}, {"description": "d"}]', "entry 2 has no 'name'"),
        ("[[1]]", "entry 1 has no 'name'"),
        ("3", "does not begin a list of tools"),
        ('{"name": "a", "description": "d"}\n{"nam', "line 2 is not JSON"),
        ('{"name": "a", "description": "d}\n{"name": "b", "description": "d"}', "line 1 is not JSON"),
    ],
)
def test_tooluniverse_files_at_fault_are_named(tmp_path: Path, text: str, message: str) -> None:
    assert message in refused("tooluniverse", write(tmp_path / "t.json", text)).message


# ---- Biomni ----

DESCRIPTIONS = '''"""Described."""
import os_that_does_not_exist
description: list = []
description = [
    {"name": "fold", "description": "Folds a protein.",
     "required_parameters": [{"name": "sequence", "type": "str", "default": None}],
     "optional_parameters": [{"name": "seed", "type": "int", "default": 1}]},
    {"name": "dock", "description": "Docks a ligand.", "required_parameters": []},
]
'''


def test_biomni_description_files_are_parsed_and_never_run(tmp_path: Path) -> None:
    source = DESCRIPTIONS.replace("description: list = []\n", "raise SystemExit('it was run')\n")
    root = tmp_path / "Biomni"
    folder = root / "biomni" / "tool" / "tool_description"
    write(folder / "biophysics.py", source)
    write(folder / "__init__.py", "raise SystemExit")
    write(folder / "helpers.py", "x = 1\n")
    for path in (folder, root, root / "biomni", folder / "biophysics.py"):
        fold, dock = read("biomni", path)
        assert fold == CatalogueEntry(
            name="fold", description="Folds a protein.", catalogue="biomni", domain="biophysics",
            params=["sequence", "seed"], suite="biophysics", license="Apache-2.0",
        )  # fmt: skip
        assert dock.params == []


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("description = [\n  {'name': open('x')},\n]\n", "line 1 begins a list that is not made of plain values"),
        ("x = 1\ndef (:\n", "line 2 is not Python"),
        ("x = 1\n", "it assigns no list to `description`"),
        ("description = [\n  {'name': 'a'},\n  {'description': 'd'},\n]\n", "line 3 has no 'name'"),
        ("description = []\n", "no tool is described"),
    ],
)
def test_biomni_files_at_fault_are_named(tmp_path: Path, source: str, message: str) -> None:
    assert message in refused("biomni", write(tmp_path / "area.py", source)).message


def test_biomni_json_at_fault_is_named(tmp_path: Path) -> None:
    assert "line 2 is not JSON" in refused("biomni", write(tmp_path / "b.json", '{"area": [\n{"name"}]}')).message
    assert "'area' is not a list" in refused("biomni", write(tmp_path / "b.json", '{"area": 3}')).message
    assert "tool 1 of 'area' has no 'name'" in refused("biomni", write(tmp_path / "b.json", '{"area": [{}]}')).message
    assert "not installed" in refused("biomni", Path("biomni")).message


@pytest.fixture
def installed_biomni(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package laid out like Biomni, whose import fails, as heavy code may; only its tool module can be imported."""
    root = tmp_path / "site" / "biomni"
    write(root / "__init__.py", "")
    write(root / "tool" / "__init__.py", "")
    write(root / "tool" / "tool_description" / "biophysics.py", DESCRIPTIONS)
    write(root / "tool" / "tool_description" / "gone.py", "description = [{'name': 'lost', 'description': 'd'}]")
    write(
        root / "tool" / "biophysics.py",
        "def fold(sequence, seed=1):\n    if not sequence:\n        raise ValueError('no sequence')\n    return sequence[::-1], seed\n",
    )
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    yield root
    for name in [name for name in sys.modules if name.split(".")[0] == "biomni"]:
        del sys.modules[name]


def test_an_installed_biomni_is_described_without_import_and_called_lazily(installed_biomni: Path) -> None:
    entries = {entry.name: entry for entry in read("biomni", Path("biomni"))}
    assert "biomni" not in sys.modules
    assert entries["fold"].call == "biomni.tool.biophysics:fold"
    assert entries["lost"].call == ""
    assert not entries["fold"].runnable
    assert call_entry(entries["fold"], {"sequence": "MKT"}) == ("TKM", 1)
    with pytest.raises(UserError, match="no function 'dock'"):
        call_entry(entries["dock"], {})
    with pytest.raises(UserError, match="failed: ValueError: no sequence"):
        call_entry(entries["fold"], {"sequence": ""})
    with pytest.raises(UserError, match="arguments of 'fold' do not fit: missing a required argument: 'sequence'"):
        call_entry(entries["fold"], {})
    with pytest.raises(UserError, match="description only"):
        call_entry(entries["lost"], {})


def test_what_is_not_installed_or_not_allowed_is_never_called() -> None:
    entry = CatalogueEntry(name="x", description="d", catalogue="mine", call="os:getcwd")
    with pytest.raises(UserError, match="may not be called"):
        call_entry(entry, {})
    with pytest.raises(UserError, match="package 'biomni' is not installed"):
        call_entry(entry.model_copy(update={"call": "biomni.tool.genomics:align"}), {})
    assert call_entry(entry, {}, packages={"os"}) == str(Path.cwd())


BWA = """name: bwa_mem
description: Performs fastq alignment to a fasta reference using BWA
keywords:
  - mem
  - bwa
  - alignment
  - map
tools:
  - bwa:
      description: BWA is a software package
      homepage: http://bio-bwa.sourceforge.net/
input:
  - meta:
      type: map
"""


@pytest.mark.parametrize("at", [2, 3, 7, 8, 11, 12])
@pytest.mark.parametrize(
    "harm",
    [
        lambda line: "@@@ junk",
        lambda line: "junk",
        lambda line: 'x: "abc',
        lambda line: f"\t{line}",
        lambda line: f"{line}\0",
    ],
)
def test_the_line_of_a_description_that_is_no_yaml_is_the_one_at_fault(tmp_path: Path, at: int, harm) -> None:
    lines = BWA.split("\n")
    lines[at - 1] = harm(lines[at - 1])
    assert f"line {at} " in refused("nf-core", write(tmp_path / "meta.yml", "\n".join(lines))).message


@pytest.mark.parametrize("at", [3, 8, 12])
def test_a_megabyte_after_a_key_is_no_yaml_of_that_line(tmp_path: Path, at: int) -> None:
    lines = BWA.split("\n")
    lines[at - 1] += "A" * 1_000_000
    error = refused("nf-core", write(tmp_path / "meta.yml", "\n".join(lines)))
    assert f"line {at} " in error.message
    assert len(error.message) < 500


def test_a_compressed_description_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "meta.yml.gz", gzip.compress(BWA.encode()))
    assert [entry.name for entry in read("nf-core", path)] == ["bwa_mem"]


@pytest.mark.parametrize("kind", ["galaxy", "jsonl", "biomni", "tooluniverse"])
def test_a_zero_byte_anywhere_names_its_line(tmp_path: Path, kind: str) -> None:
    text = "Suite ID\tTool IDs\n" + "s\tt\n" * 2_000 + "s\tt\0\n"
    assert "line 2002 " in refused(kind, write(tmp_path / "x.txt", text)).message.replace(",", "")


def test_a_compressed_catalogue_cut_short_says_where(tmp_path: Path) -> None:
    import random

    rows = [json.dumps({"name": f"t{n}", "description": f"{random.Random(n).getrandbits(64):x}"}) for n in range(5_000)]
    data = gzip.compress("\n".join(rows).encode())
    error = refused("jsonl", write(tmp_path / "x.jsonl.gz", data[: len(data) // 2]))
    found = re.search(r"after line ([\d,]+)", error.message)
    assert found is not None
    assert 2_000 < int(found[1].replace(",", "")) < 3_000


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("jsonl", json.dumps({"name": ["x" * 300_000], "description": "d"})),
        ("biomni", json.dumps({"x" * 300_000: 3})),
        ("biomni", json.dumps({"x" * 300_000: [3]})),
    ],
)
def test_long_values_are_not_repeated(tmp_path: Path, kind: str, text: str) -> None:
    assert len(refused(kind, write(tmp_path / "x.json", text)).message) < 500
