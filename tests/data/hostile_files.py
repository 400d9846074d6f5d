"""Makes files that are made to do harm: they claim what they do not hold, never end, or lead elsewhere."""

from __future__ import annotations

import gzip
import json
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import profile_files as make

TABLE = "sample,group,age\n" + "".join(f"s{i},{'ab'[i % 2]},{30 + i % 17}\n" for i in range(40))


def cells(path: Path, change: Callable[[h5py.File], object] = lambda file: None) -> Path:
    """Write a small .h5ad file by hand, changed before it is closed."""
    rng = np.random.default_rng(4)
    values = rng.poisson(1.2, size=(30, 12)).astype("float32")
    with h5py.File(path, "w") as file:
        file["X"] = values
        for part, names in (("obs", [f"cell{i}" for i in range(30)]), ("var", make.SYMBOLS[:12])):
            group = file.create_group(part)
            group["_index"] = np.array(names, dtype="S8")
            group.attrs["_index"] = "_index"
            group.attrs["column-order"] = np.array(["donor"] if part == "obs" else [], dtype="S8")
        file["obs/donor"] = np.array(["d1", "d2", "d3"] * 10, dtype="S2")
        change(file)
    return path


def _external_storage(file: h5py.File) -> None:
    del file["X"]
    file.create_dataset("X", shape=(30, 12), dtype="f4", external=[("/etc/passwd", 0, 30 * 12 * 4)])


def _virtual(file: h5py.File) -> None:
    layout = h5py.VirtualLayout(shape=(30, 12), dtype="f4")
    layout[:] = h5py.VirtualSource("/elsewhere/other.h5", "X", shape=(30, 12))
    file.create_group("layers").create_virtual_dataset("counts", layout)


def _external_link(file: h5py.File) -> None:
    file["obs/stolen"] = h5py.ExternalLink("/etc/other.h5", "/secret")


def _soft_circle(file: h5py.File) -> None:
    file.create_group("uns")
    file["uns/a"], file["uns/b"] = h5py.SoftLink("/uns/b"), h5py.SoftLink("/uns/a")


def hard_circle(file: h5py.File) -> None:
    file.create_group("uns")["again"] = file["/"]


def _claims(file: h5py.File) -> None:
    """A matrix that claims a trillion values and holds none."""
    del file["X"]
    file.create_dataset("X", shape=(10**7, 10**5), dtype="f4", chunks=(1000, 1000))


def _claims_names(file: h5py.File) -> None:
    del file["obs/_index"]
    file.create_dataset("obs/_index", shape=(10**10,), dtype="S64", chunks=(10**5,))


HDF5: dict[str, tuple[Callable[[h5py.File], object], str]] = {
    "external-storage": (_external_storage, "another file"),
    "virtual": (_virtual, "another file"),
    "external-link": (_external_link, "another file"),
    "soft-circle": (_soft_circle, "'uns/"),
    "claims": (_claims, "names 30 cells"),
    "claims-names": (_claims_names, "10,000,000,000"),
}


def workbook(path: Path, changes: dict[str, Callable[[bytes], bytes]], extra: dict[str, bytes] | None = None) -> Path:
    """Write a workbook whose members are changed."""
    plain = make.excel(path.with_name("plain.xlsx"), {"S": make.sheet()})
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.namelist():
            new.writestr(member, changes.get(member, lambda data: data)(old.read(member)))
        for member, data in (extra or {}).items():
            new.writestr(member, data)
    plain.unlink()
    return path


def huge_strings(path: Path) -> Path:
    """A workbook of some hundred kilobytes whose shared strings unpack to 600 MB."""
    return _zip_with(path, "xl/sharedStrings.xml", b"<si><t>" + b"A" * 1_000_000 + b"</t></si>", 600)


def huge_sheet(path: Path) -> Path:
    return _zip_with(path, "xl/worksheets/sheet1.xml", b'<row><c t="n"><v>1</v></c></row>' * 30_000, 600)


def _zip_with(path: Path, name: str, piece: bytes, times: int) -> Path:
    plain = make.excel(path.with_name("plain.xlsx"), {"S": make.sheet()})
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new:
        for member in old.namelist():
            if member != name:
                new.writestr(member, old.read(member))
        with new.open(name, "w", force_zip64=True) as out:
            for _ in range(times):
                out.write(piece)
    plain.unlink()
    return path


def far_cell(path: Path) -> Path:
    """A sheet that claims all a sheet can have and has one cell in its last corner."""

    def change(data: bytes) -> bytes:
        import re

        data = re.sub(rb'<dimension ref="[^"]*"', b'<dimension ref="A1:XFD1048576"', data)
        return data.replace(b"</sheetData>", b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>')

    return workbook(path, {"xl/worksheets/sheet1.xml": change})


def laughs(path: Path) -> Path:
    """Entities in entities: a billion words from a few lines."""
    doors = b"".join(b'<!ENTITY l%d "%s">' % (i, b"&l%d;" % (i - 1) * 10) for i in range(1, 10))
    head = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY l0 "lol">' + doors + b"]>"
    sheet = (
        head + b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1">'
        b'<c r="A1" t="inlineStr"><is><t>&l9;</t></is></c></row></sheetData></worksheet>'
    )
    return workbook(path, {"xl/worksheets/sheet1.xml": lambda _: sheet})


def lying_gzip(content: bytes, size: int) -> bytes:
    """A gzip file whose last four bytes state another size."""
    return gzip.compress(content)[:-4] + struct.pack("<I", size & 0xFFFFFFFF)


def gzip_bomb(path: Path, megabytes: int, piece: bytes = b"\0" * (1 << 20)) -> Path:
    with gzip.open(path, "wb", compresslevel=6) as out:
        for _ in range(megabytes):
            out.write(piece)
    return path


def sparse(path: Path, size: int, head: bytes = b"") -> Path:
    with path.open("wb") as out:
        out.write(head)
        out.truncate(size)
    return path


TEXTS: dict[str, bytes] = {
    "nul.csv": b"\0" * 5000,
    "nul_in.csv": TABLE.encode().replace(b"s7", b"s\x007"),
    "deep.json": b"[" * 200_000 + b"]" * 200_000,
    "deep_records.json": b'[{"a": ' + b'{"a": ' * 100_000 + b"1" + b"}" * 100_000 + b"}]",
    "open.json": b'[{"a": 1, "b": 2}, {"a": ',
    "long_number.json": b'[{"a": ' + b"9" * 100_000 + b', "b": 1}, {"a": 1, "b": 2}]',
    "nan.json": b'[{"a": NaN, "b": -Infinity}, {"a": 1e999, "b": 2}]',
    "sparse.json": b'{"format": "Biological Observation Matrix 1.0.0", "shape": [1000000000, 1000000000], "data": [[0,0,1]]}',
    "claims.mtx": b"%%MatrixMarket matrix coordinate integer general\n1000000000 1000000000 1000000000000\n1 1 1\n",
    "utf16.csv": TABLE.encode("utf-16"),
    "utf16be_bare.csv": TABLE.encode("utf-16-be"),
    "utf16_odd.csv": TABLE.encode("utf-16")[:-1],
    "utf32.csv": TABLE.encode("utf-32"),
    "two_boms.csv": b"\xef\xbb\xbf\xef\xbb\xbf" + TABLE.encode(),
    "only_bom.csv": b"\xef\xbb\xbf",
    "mixed.csv": TABLE.encode() + "s98,gr\u00fcn,31\n".encode("latin-1") + "s99,gr\u00fcn,31\n".encode(),
    "quote.csv": TABLE.replace("s7", '"s7').encode(),
    "quotes.csv": b'"' * 3_000_001,
    "commas.csv": b"," * 3_000_000,
    "open_brackets.nwk": b"(" * 2_000_000 + b";",
    "wide.csv": b"id," + b",".join(b"c%d" % i for i in range(5_000)) + (b"\n" + b"1," * 5_000 + b"1") * 3 + b"\n",
    "same_names.csv": b"id" + b",x" * 20_000 + (b"\n1" + b",1" * 20_000) * 3 + b"\n",
    "number.csv": b"a,b\n" + b"9" * 1_000_000 + b",1\n2,3\n",
    "exponent.csv": b"a,b\n1e999999999,1\n-1e999999999,2\nnan,inf\n",
    "vcf.vcf": b"##fileformat=VCFv4.2\n" + b"#CHROM\t" * 100_000,
    "fasta.fa": b">" * 1_000_000,
    "sheet.csv": b"PK\x03\x04" + b"\0" * 400,
    "hdf.h5ad": b"\x89HDF\r\n\x1a\n" + b"\xff" * 4000,
    "gz.csv.gz": b"\x1f\x8b" + b"\xff" * 400,
    "gz_cut.csv.gz": gzip.compress(TABLE.encode())[:-12],
    "gz_lie.csv.gz": lying_gzip(TABLE.encode(), 4_000_000_000),
    "gz_more.csv.gz": gzip.compress(TABLE.encode()) + b"rubbish after the end",
    "gz_gz.csv.gz": gzip.compress(gzip.compress(TABLE.encode())),
    "control.csv": b"a,b\n" + bytes(range(1, 9)) * 100 + b",1\n",
    "returns.csv": b"a,b\r1,2\r3,4\r",
    "line_ends.csv": b"a,b\n" + b"\r\n\n\r" * 100_000 + b"1,2\n",
}  # fmt: skip


def special(folder: Path) -> dict[str, tuple[Path, str]]:
    """Make paths that lead to no ordinary file, and the words they are refused with."""
    os.mkfifo(folder / "pipe.csv")
    (folder / "turn.csv").symlink_to(folder / "back.csv")
    (folder / "back.csv").symlink_to(folder / "turn.csv")
    (folder / "gone.csv").symlink_to(folder / "nowhere.csv")
    (folder / "to_pipe.csv").symlink_to(folder / "pipe.csv")
    (folder / "two\nlines.csv").write_text(TABLE)
    odd = Path(os.fsdecode(os.fsencode(folder) + b"/gr\xfcn.csv"))
    odd.write_text(TABLE)
    sparse(folder / "hole.csv", 1 << 42)
    found = {
        "pipe": (folder / "pipe.csv", "no ordinary file"),
        "link to a pipe": (folder / "to_pipe.csv", "no ordinary file"),
        "device": (Path("/dev/zero"), "no ordinary file"),
        "links in a circle": (folder / "turn.csv", "cannot be read"),
        "link to nothing": (folder / "gone.csv", "no file"),
        "line end in the name": (folder / "two\nlines.csv", "control characters"),
        "no UTF-8 in the name": (odd, "no UTF-8"),
        "a name too long": (folder / ("n" * 300), "cannot be read"),
        "a path too long": (folder / Path(*["d" * 200] * 30), "cannot be read"),
        "NUL in the name": (folder / "a\0b.csv", "control characters"),
        "all hole": (folder / "hole.csv", "never written"),
        "folder": (folder, "folder"),
        "below a file": (Path(__file__) / "x.csv", "cannot be read"),
    }
    for name in ("/proc/self/mem", "/proc/kcore", "/proc/version"):
        if Path(name).exists():
            found[name] = (Path(name), "no ordinary file")
    return found


def wide_table(path: Path, columns: int, rows: int = 3) -> Path:
    with path.open("w") as out:
        out.write("id," + ",".join(f"c{i}" for i in range(columns)) + "\n")
        for row in range(rows):
            out.write(f"r{row}," + ",".join(["1.5"] * columns) + "\n")
    return path


def long_line(path: Path, megabytes: int) -> Path:
    with path.open("wb") as out:
        for _ in range(megabytes):
            out.write(b"A" * (1 << 20))
    return path


def records(count: int) -> bytes:
    return json.dumps([{"id": f"r{i}", "x": i, "y": i / 7} for i in range(count)]).encode()


def seeds(folder: Path) -> dict[str, bytes]:
    """Return one small good file of every format, to be damaged."""
    from io import BytesIO

    book = make.excel(folder / "seed.xlsx", {"S": make.sheet(), "T": make.counts(make.ensembl(20))}).read_bytes()
    counts = make.csv_text(make.counts(make.ensembl(30)))
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("t.csv", TABLE)
    return {
        "t.csv": TABLE.encode(), "c.tsv": counts.replace(",", "\t").encode(), "c.csv.gz": gzip.compress(counts.encode()),
        "u.csv": TABLE.encode("utf-16"), "s.xlsx": book, "a.h5ad": cells(folder / "seed.h5ad").read_bytes(),
        "r.json": records(30), "r.jsonl": b"\n".join(json.dumps({"id": i, "x": i}).encode() for i in range(30)),
        "v.vcf": b"##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tS1\n"
        + b"1\t5\t.\tA\tG\t9\t.\t.\tGT\t0/1\n" * 20,
        "t.nwk": b"((A:1,B:2):1,(C,D));\n" * 3, "f.fasta": b">one\nACGTACGT\n>two\nACGA\n" * 9,
        "r.fastq": b"@r1\nACGT\n+\nIIII\n" * 9, "g.gmt": b"SET_A\thttp://x\tTP53\tMYC\tIL6\nSET_B\tna\tCD4\tCD8A\n" * 4,
        "s.pdb": b"HEADER    TEST\n" + b"ATOM      1  N   MET A   1      38.198  19.582  22.151  1.00 41.71           N  \n" * 9,
        "p.bed": b"chr1\t10\t20\nchr2\t5\t9\n" * 9, "z.zip": packed.getvalue(),
        "m.mtx": b"%%MatrixMarket matrix coordinate integer general\n3 3 2\n1 1 5\n2 3 1\n",
        "o.obo": b"format-version: 1.2\n\n[Term]\nid: A:1\nname: one\n", "n.md": b"# Notes\n\nThe cells were kept cold.\n",
    }  # fmt: skip


def damaged(seed: int, originals: dict[str, bytes]) -> tuple[str, bytes]:
    """Return a name and content: a good file cut, with bytes changed, a header exchanged, parts repeated or moved."""
    rng = np.random.default_rng(seed)
    names = sorted(originals)
    name = names[seed % len(names)]
    content = bytearray(originals[name])
    for _ in range(int(rng.integers(1, 4))):
        size = len(content)
        where, length = int(rng.integers(0, max(1, size))), int(rng.integers(1, max(2, size // 3)))
        match int(rng.integers(0, 7)):
            case 0:
                del content[where:]
            case 1:
                for position in rng.integers(0, max(1, size), size=int(rng.integers(1, 30))):
                    if content:
                        content[position % len(content)] = int(rng.integers(0, 256))
            case 2:  # another format's header
                other = originals[names[int(rng.integers(0, len(names)))]]
                content[: int(rng.integers(1, 600))] = other[: int(rng.integers(1, 600))]
            case 3:  # sizes and offsets of binary formats are small numbers: the greatest in their place
                content[where : where + 8] = [b"\xff" * 8, b"\x00" * 8, b"\x7f" + b"\xff" * 7][int(rng.integers(0, 3))]
            case 4:
                content[where:where] = content[:length] * int(rng.integers(1, 20))
            case 5:
                del content[where : where + length]
            case _:
                odd = [b"\0", b'"', b"\n\n", b"\xff\xfe", b",,,,", b"\t\t", b"1e999", b"\xe2\x80\xa8", b"#", b"(", b"<"]
                content[where:where] = odd[int(rng.integers(0, len(odd)))] * int(rng.integers(1, 200))
        if not content:
            break
    stem = names[int(rng.integers(0, len(names)))] if rng.random() < 0.15 else name
    return f"{seed}_{stem}", bytes(content)
