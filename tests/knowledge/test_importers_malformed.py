"""Broken files of every format: one sentence that names the file and, where there is one, the line; never a traceback."""

from __future__ import annotations

import contextlib
import gzip
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import DataError, EngineError
from engine.knowledge.importers.read import FORMATS, detect, open_import, preview
from engine.knowledge.importers.reading.text import MAX_LINE_BYTES, line_blocks

GAF = "UniProtKB\tP00533\tEGFR\tenables\tGO:0004714\tPMID:1\tIDA\t\tF\tname\tsyn\tprotein\ttaxon:9606\t2020\tUniProt\t\t\n"
KG = "relation,display_relation,x_index,x_id,x_type,x_name,x_source,y_index,y_id,y_type,y_name,y_source\n"
KG_ROW = "protein_protein,ppi,0,1,gene/protein,A1BG,NCBI,1,2,gene/protein,A2M,NCBI\n"
GRAPHML = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    '<key id="d0" for="node" attr.name="type"/>\n<graph>\n<node id="a"><data key="d0">gene</data></node>\n</graph>\n</graphml>\n'
)
GOOD: dict[str, str] = {
    "hetionet": "id\tname\tkind\nGene::1\tA1BG\tGene\nGene::2\tA2M\tGene\n",
    "primekg": KG + KG_ROW,
    "obo": "format-version: 1.2\nontology: go\n\n[Term]\nid: GO:0006915\nname: apoptosis\nis_a: GO:0008150\n",
    "gaf": "!gaf-version: 2.2\n" + GAF,
    "associations": "EGFR\tGO:0006915;GO:0008150\n",
    "gmt": "S1\tna\tEGFR\tERBB2\nS2\tna\tTP53\n",
    "gene_table": "symbol\tentrez_id\tname\nEGFR\t1956\tepidermal growth factor receptor\n",
    "ligand_receptor": "ligand\treceptor\nEGF\tEGFR\n",
    "tables": "id\ttype\tname\na\tgene\tEGFR\n",
    "graphml": GRAPHML,
    "node_link": '{"nodes": [{"id": "a", "type": "gene"}], "links": []}\n',
    **{name: info.sample for name, info in FORMATS.items() if info.sample},
}


def read(format: str, *paths: Path) -> int:
    _, batches, _ = open_import(format, paths)
    return sum(len(batch) for batch in batches)


def failure(format: str, path: Path) -> DataError:
    with pytest.raises(DataError) as caught:
        read(format, path)
    error = caught.value
    assert path.name in error.message
    assert "\n" not in error.message
    assert error.message.endswith(".")
    assert len(error.message) < 700
    assert error.advice
    return error


def test_every_format_is_tried() -> None:
    assert set(GOOD) == set(FORMATS)


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_good_is_read(format: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{FORMATS[format].extensions[0]}"
    path.write_text(GOOD[format])
    assert read(format, path) > 0
    assert detect([path]) == format
    packed = tmp_path / f"y{FORMATS[format].extensions[0]}.gz"
    packed.write_bytes(gzip.compress(GOOD[format].encode()))
    assert read("auto", packed) > 0


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is empty"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (b"\x00\x01\x02\x03" * 1000, "binary data"),
        (b"PK\x03\x04" + b"\x00" * 50, "ZIP archive"),
        (b"%PDF-1.7 x", "PDF"),
        ("id\tname\tkind\n".encode("utf-16"), "UTF-16"),
        (b"<!DOCTYPE html>\n<html><body>404 Not Found</body></html>\n", "web page|not need|no element"),
        (b"  <HTML><head></head></HTML>\n", "web page|no element"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:6\nsize 1\n", "Git LFS pointer|line 1"),
    ],
)
def test_what_is_no_data_file_at_all(format: str, content: bytes, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "file.dat"
    path.write_bytes(content)
    error = failure(format, path)
    if format != "graphml":  # XML has encodings and grammar of its own
        assert re.search(problem, error.message), error.message


@pytest.mark.parametrize("format", FORMATS)
def test_a_folder_and_a_missing_file(format: str, tmp_path: Path) -> None:
    assert "is a folder" in failure(format, tmp_path).message
    assert "There is no file" in failure(format, tmp_path / "absent").message
    with pytest.raises(DataError, match=r"There is no file"):
        preview("auto", [tmp_path / "absent"])


@pytest.mark.parametrize("format", FORMATS)
def test_a_gzip_file_cut_short_names_the_line(format: str, tmp_path: Path) -> None:
    import random

    body = GOOD[format]
    if format in ("graphml", "node_link"):
        body = body.replace("\n", "\n" * 2)
    noise = "".join(random.Random(3).choices("abcdefghij", k=200_000))
    long = body.replace("</graph>", f"<!-- {noise} --></graph>") if format == "graphml" else body + noise
    data = gzip.compress(long.encode())
    path = tmp_path / "cut.gz"
    path.write_bytes(data[: len(data) // 2])
    assert re.search(r"cut short \((after line [\d,]+|at its beginning)\)", failure(format, path).message)
    broken = bytearray(gzip.compress(body.encode()))
    broken[-6] ^= 0xFF  # the checksum at the end
    path.write_bytes(bytes(broken))
    assert "damaged or cut short" in failure(format, path).message


@pytest.mark.parametrize("format", sorted(set(FORMATS) - {"graphml"}))
def test_text_that_is_not_utf8_names_the_line(format: str, tmp_path: Path) -> None:
    lines = GOOD[format].encode().splitlines(keepends=True)
    path = tmp_path / "latin.txt"
    path.write_bytes(b"".join(lines) + "Müller\n".encode("latin-1"))
    assert f"line {len(lines) + 1} is not UTF-8 text (byte 0xfc)" in failure(format, path).message


@pytest.mark.parametrize(
    ("format", "text", "problem"),
    [
        ("hetionet", "a\tb\nc\td\n", r"line 1: this is no table of Hetionet"),
        ("hetionet", GOOD["hetionet"] + "Gene::3\tX\n", r"line 4: 2 fields where 3 were expected"),
        ("hetionet", GOOD["hetionet"] + "\nGene::3\tX\tGene\tmore\n", r"line 5: 4 fields"),
        ("hetionet", GOOD["hetionet"] + "Gene::3\tX\tPlanet\n", r"line 4: the kind is 'Planet'"),
        ("hetionet", GOOD["hetionet"] + "\tX\tGene\n", r"line 4: the id is missing"),
        ("hetionet", "source\tmetaedge\ttarget\na\tGiG\tb\na\tXxX\tb\n", r"line 3: the metaedge is 'XxX'"),
        ("hetionet", "source\tmetaedge\ttarget\n\na\tGiG\tb\n\na\tGiG\t\n", r"line 5: the source or the target"),
        ("hetionet", "source\tmetaedge\ttarget\na\tGiG\tb\tc\nGiG\td\n", r"line 2: 4 fields"),
        ("hetionet", "id\tname\tkind\n", r"no node and no edge"),
        ("primekg", "relation,x_id\na,b\n", r"line 1: there is no column 'display_relation'"),
        ("primekg", KG + KG_ROW + "protein_protein,ppi\n", r"line 3: 2 fields where the header has 12"),
        ("primekg", KG + KG_ROW.replace("protein_protein", "loves"), r"line 2: the relation 'loves'"),
        ("primekg", KG + KG_ROW.replace("gene/protein", "planet", 1), r"line 2: the type is 'planet'"),
        ("primekg", KG + KG_ROW.replace("protein_protein", "drug_protein"), r"line 2: 'drug_protein' joins"),
        ("primekg", KG + KG_ROW.replace(",1,gene", ",,gene", 1), r"line 2: an id is empty"),
        ("primekg", KG + KG_ROW + 'protein_protein,"ppi\n' + KG_ROW, r"line 3: a quoted text that starts here has no end"),
        ("obo", "format-version: 1.2\n\n[Term]\nname: x\n\n[Term]\nid: GO:0000001\n", r"line 3: the \[Term\] that starts here has no id"),
        ("obo", "format-version: 1.2\n\n[Term]\n", r"line 3: the \[Term\] that starts here has no id"),
        ("obo", GOOD["obo"] + "[Term\nid: GO:1\n", r"line 8: '\[Term' is no stanza"),
        ("obo", GOOD["obo"] + "what is this\n", r"line 8: 'what is this' in a stanza is no `tag: value`"),
        ("obo", GOOD["obo"] + "synonym: unquoted EXACT []\n", r"line 8: the synonym 'unquoted EXACT \[\]' is not in quotes"),
        ("obo", GOOD["obo"] + "relationship: part_of\n", r"line 8: the relationship 'part_of' names no target"),
        ("obo", "format-version: 1.2\n", r"no \[Term\]"),
        ("obo", "format-version: 1.2\n\n[Term]\nid: ZZZ:1\n", r"has 1 terms, none of a kind"),
        ("gaf", "!gaf-version: 2.2\n", r"only comments"),
        ("gaf", "!gaf-version: 2.2\nUniProtKB\tP1\tX\n", r"line 2: 3 fields where GAF has 17"),
        ("gaf", GOOD["gaf"].replace("GO:0004714", "GO:47"), r"line 2: the term is 'GO:47'"),
        ("gaf", GOOD["gaf"].replace("\tF\t", "\tQ\t"), r"line 2: the aspect is 'Q'"),
        ("gaf", GOOD["gaf"].replace("EGFR", ""), r"line 2: the object's id or symbol is missing"),
        ("associations", "EGFR GO:0006915\n", r"line 1: 'EGFR GO:0006915' is not `gene<TAB>"),
        ("associations", "EGFR\tGO:0006915\n\nTP53\tGO:1\n", r"line 3: the term is 'GO:1'"),
        ("associations", "# nothing\n", r"no association"),
        ("gmt", "S1\tna\tEGFR\nS2\tna\n", r"line 2: 2 fields; a name, a description and at least one gene"),
        ("gmt", "S1\tna\tEGFR\n\tna\tEGFR\n", r"line 2: 3 fields"),
        ("gmt", "just text\n", r"line 1: 1 field;"),
        ("gene_table", "gene_length\tstart\n1\t2\n", r"line 1: there is no column 'symbol'"),
        ("gene_table", "symbol\tentrez_id\nEGFR\t1956\nTP53\tseven\n", r"line 3: the Entrez gene id is 'seven'"),
        ("gene_table", "symbol\tentrez_id\nEGFR\t1956\tx\n", r"line 2: 3 fields where the header has 2"),
        ("gene_table", "symbol\tentrez_id\n", r"header but no rows"),
        ("gene_table", "gene\tx\nENSG00000146648\t1\n", r"the column 'gene' holds Ensembl ids"),
        ("ligand_receptor", "ligand\tother\nEGF\tEGFR\n", r"no column 'receptor_gene_symbol'"),
        ("ligand_receptor", "ligand\treceptor\nEGF\tEGFR\nEGF\t\n", r"line 3: the receptor is missing"),
        ("ligand_receptor", "ligand,receptor\nEGF,EGFR\nEGF\n", r"line 3: 1 field where the header has 2"),
        ("tables", "a\tb\n1\t2\n", r"line 1: the columns are a, b; `id, type, name` \(nodes\)"),
        ("tables", GOOD["tables"] + "b\tgene\n", r"line 3: 2 fields where the header has 3"),
        ("tables", GOOD["tables"] + "\tgene\tX\n", r"line 3: the id is missing"),
        ("tables", "source,type,target\na,treats,\n", r"line 2: the target is missing"),
        ("tables", "source,type,target,confidence\na,treats,b,high\n", r"line 2: the confidence is 'high'"),
        ("tables", "source,type,target,confidence\na,treats,b,nan\n", r"line 2: the confidence is 'nan'"),
        ("tables", "source,type,target,confidence\na,treats,b,1.5\n", r"line 2: the confidence is '1.5'"),
        ("graphml", GRAPHML.replace("</graph>", ""), r"line 7: this is not well-formed XML"),
        ("graphml", GRAPHML[:-30], r"line \d: this is not well-formed XML"),
        ("graphml", "<svg></svg>", r"line 1: <svg> is no element of GraphML"),
        ("graphml", "<graphml></graphml>", r"no <graph>"),
        ("graphml", GRAPHML.replace('<node id="a">', "<node>"), r"line 5: <node> has no attribute 'id'"),
        ("graphml", GRAPHML.replace("</graph>", '<edge source="a"/></graph>'), r"line 6: <edge> has no attribute 'target'"),
        ("graphml", GRAPHML.replace("UTF-8", "klingon"), r"line 1"),
        ("graphml", GRAPHML.replace("<graphml", '<!DOCTYPE x [<!ENTITY a "b">]><graphml'), r"line 2: a document type or entity"),
        ("node_link", '{"nodes": [\n{"id": 1},\n', r"line 3: this is not JSON|line 2: this is not JSON"),
        ("node_link", "[1, 2]", r"an object with `nodes` and `links` was expected"),
        ("node_link", '{"nodes": 3}', r"there is no list `nodes`"),
        ("node_link", '{"nodes": []}', r"there is no list `edges`"),
        ("node_link", '{"nodes": [{"id": "a"}, 7], "links": []}', r"node 2: an object with an `id`"),
        ("node_link", '{"nodes": [], "links": [{"source": "a"}]}', r"edge 1: an object with `source` and `target`"),
        ("node_link", '{"nodes": [], "links": [{"source": 1, "target": 2, "confidence": 7}]}', r"edge 1: the confidence is '7'"),
        ("node_link", "[" * 200_000, r"nested too deeply|not JSON"),
    ],
)  # fmt: skip
def test_a_broken_line_is_named(format: str, text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.txt"
    path.write_text(text)
    error = failure(format, path)
    assert re.search(problem, error.message), error.message
    packed = tmp_path / "broken.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert re.search(problem, failure(format, packed).message)


def test_entities_that_expand_into_each_other_are_refused_at_once(tmp_path: Path) -> None:
    levels = "".join(f'<!ENTITY e{at} "{f"&e{at - 1};" * 10}">' for at in range(1, 30))
    path = tmp_path / "bomb.graphml"
    path.write_text(f'<?xml version="1.0"?>\n<!DOCTYPE graphml [<!ENTITY e0 "ha">{levels}]>\n<graphml>&e29;</graphml>')
    assert "line 2: a document type or entity is declared" in failure("graphml", path).message
    path.write_text(
        '<?xml version="1.0"?>\n<!DOCTYPE g [<!ENTITY x SYSTEM "file:///etc/hostname">]>\n<graphml><graph/>&x;</graphml>'
    )
    assert "document type or entity" in failure("graphml", path).message


def test_a_packed_file_of_one_endless_line_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "bomb.tsv.gz"
    with gzip.open(path, "wb", compresslevel=1) as packed:
        for _ in range(MAX_LINE_BYTES // 2**20 + 8):
            packed.write(b"a" * 2**20)
    assert "line 1 is longer than 64 MB" in failure("gmt", path).message


def test_a_value_without_end_in_graphml_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "long.graphml"
    path.write_text(GRAPHML.replace(">gene<", f">{'x' * 2_000_000}<"))
    assert "line 5: a value is longer" in failure("graphml", path).message


def test_files_of_two_formats_are_told_apart(tmp_path: Path) -> None:
    first, second = tmp_path / "a.gmt", tmp_path / "b.obo"
    first.write_text(GOOD["gmt"])
    second.write_text(GOOD["obo"])
    with pytest.raises(DataError, match=r"a\.gmt is gmt, b\.obo is obo"):
        detect([first, second])
    third = tmp_path / "c.txt"
    third.write_text("once upon a time\nthere was a gene\n")
    with pytest.raises(DataError, match=r"c\.txt has none of the formats"):
        detect([third])
    third.write_text("\n\n")
    with pytest.raises(DataError, match=r"only blank lines"):
        detect([third])


def test_line_numbers_are_right_across_blocks(tmp_path: Path) -> None:
    path = tmp_path / "n.txt"
    lines = [f"line {at}" + "é" * (at % 7) for at in range(1, 5000)]
    path.write_text("\n".join(lines), encoding="utf-8")
    for size in (16, 1000, 1 << 20):
        found = [pair for start, block in line_blocks(path, size) for pair in enumerate(block, start)]
        assert found == list(enumerate(lines, 1))
    path.write_bytes(("\n".join(lines) + "\n").encode() + b"\xff\n")
    with pytest.raises(DataError, match=r"line 5,000 is not UTF-8"):
        list(line_blocks(path, 999))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.sampled_from("aé\t\n\r "), max_size=60), size=st.integers(1, 20))
def test_lines_do_not_depend_on_the_blocks(text: str, size: int, tmp_path: Path) -> None:
    path = tmp_path / "any.txt"
    path.write_bytes(text.encode())
    expected = re.split(r"\r\n|\r|\n", text)
    expected = expected[:-1] if expected[-1] == "" else expected
    if not text:
        return
    found = [pair for start, block in line_blocks(path, size) for pair in enumerate(block, start)]
    assert found == list(enumerate(expected, 1))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(format=st.sampled_from(sorted(FORMATS)), data=st.data())
def test_no_damage_is_ever_a_traceback(format: str, data: st.DataObject, tmp_path: Path) -> None:
    content = bytearray(GOOD[format].encode())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(content)))
        change = data.draw(st.binary(max_size=3) | st.sampled_from([b"\t", b"\n", b'"', b"\r", b"<", b"{", b"]"]))
        if data.draw(st.booleans()):
            content[at : at + len(change)] = change
        else:
            del content[at : at + data.draw(st.integers(1, 30))]
    path = tmp_path / "damaged"
    path.write_bytes(bytes(content))
    for choice in (format, "auto"):
        with contextlib.suppress(EngineError):
            read(choice, path)


@pytest.mark.parametrize("format", sorted(set(FORMATS) - {"graphml"}))
def test_a_zero_byte_names_its_line(format: str, tmp_path: Path) -> None:
    lines = GOOD[format].encode().splitlines(keepends=True)
    path = tmp_path / "zero.txt"
    path.write_bytes(b"".join(lines) + b"abc\0def\n")
    assert f"line {len(lines) + 1} has a zero byte" in failure(format, path).message


@pytest.mark.parametrize("place", ["header", "field", "line"])
@pytest.mark.parametrize("format", sorted(set(FORMATS) - {"graphml", "node_link"}))
def test_a_megabyte_in_a_line_is_refused_and_not_repeated(format: str, place: str, tmp_path: Path) -> None:
    lines = GOOD[format].splitlines()
    at = 0 if place == "header" else len(lines) - 1
    endless = "A" * 1_000_000
    if place == "field":
        known = r"\bEGFR\b|\bGene::2\b|\bA1BG\b|\bTP53\b|apoptosis|GO:0008150"
        lines[at] = re.sub(known if re.search(known, lines[at]) else r"^\w+", endless, lines[at], count=1)
    else:
        lines[at] += endless
    assert len("\n".join(lines)) > 1_000_000
    path = tmp_path / "endless.txt"
    path.write_text("\n".join(lines) + "\n")
    error = failure(format, path)
    assert re.search(rf"line {at + 1}\b", error.message), error.message


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("node_link", '{"nodes": [{"id": "%s", "type": "gene"}], "links": []}'),
        ("node_link", '{"nodes": [{"id": "a", "name": "%s", "type": "gene"}], "links": []}'),
        ("graphml", GRAPHML.replace('id="a"', 'id="%s"')),
    ],
)
def test_an_endless_name_becomes_no_entity(format: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "endless.txt"
    path.write_text(text % ("é" * 100_000))
    assert "100,000 characters, where at most" in failure(format, path).message


def test_long_gene_sets_and_names_are_read(tmp_path: Path) -> None:
    path = tmp_path / "sets.gmt"
    path.write_text("S1\tna\t" + "\t".join(f"GENE{n}" for n in range(40_000)) + "\n")
    assert read("gmt", path) == 80_001
    path = tmp_path / "nodes.tsv"
    path.write_text(f"id\ttype\tname\na\tdrug\t{'methyl' * 700}\n")
    assert read("tables", path) == 1


def test_a_gzip_file_cut_short_in_its_first_block_names_the_line(tmp_path: Path) -> None:
    import random

    rows = [f"Gene::{n}\tG{random.Random(n).getrandbits(64):x}\tGene" for n in range(20_000)]
    data = gzip.compress("\n".join(["id\tname\tkind", *rows]).encode())
    path = tmp_path / "nodes.tsv.gz"
    path.write_bytes(data[: len(data) // 2])
    line = re.search(r"after line ([\d,]+)", failure("hetionet", path).message)
    assert line is not None
    assert 9_000 < int(line[1].replace(",", "")) < 11_000


def test_an_association_file_given_as_gaf_is_pointed_to_its_format(tmp_path: Path) -> None:
    path = tmp_path / "small_association"
    path.write_text(GOOD["associations"])
    assert "`associations`" in failure("gaf", path).advice
