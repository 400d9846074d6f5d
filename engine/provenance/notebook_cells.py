"""The fixed code of the notebook's module: finding the data files, showing outputs, comparing with what was recorded.

It runs where there is no Biodesk, so it uses only the standard library, pandas, matplotlib and IPython. The notebook
holds the module packed, so that it is enough by itself, and imports it once.
"""

from __future__ import annotations

UNPACK = """\
import base64
import hashlib
import importlib
import zlib
from pathlib import Path

for module, (sha256, packed) in PACKED.items():
    place = Path(f"{module}.py")
    if not place.is_file():
        place.write_bytes(zlib.decompress(base64.b85decode(packed)))
    if hashlib.sha256(place.read_bytes()).hexdigest() != sha256:
        print(f"WARNING: {place} is not the code that ran: it was changed. Delete it to have the original back.")
importlib.invalidate_caches()
"""

MODULE = '''\
import hashlib
import json
import os
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import pandas as pd
from IPython.display import Image, display

pd.set_option("display.html.use_mathjax", False)  # a dollar in a name begins no formula

TOLERANCE = 1e-6  # of a number, relative
SPECK = 1e-4  # share of a figure's pixels that rounding may move
DATA_CHANGED = []


def sha256_of(path):
    """Return the SHA-256 of a file's content."""
    digest = hashlib.sha256()
    with open(path, "rb") as handle:
        for block in iter(lambda: handle.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def locate(name, names, sha256):
    """Return the path of a data file, preferring one whose content is what the analysis used."""
    folders = [Path("."), Path("data")]
    if os.environ.get("BIODESK_DATA"):
        folders.append(Path(os.environ["BIODESK_DATA"]).expanduser())
    places = [folder / file for folder in folders for file in names]
    found = [place for place in dict.fromkeys(places) if place.is_file()]
    for place in found:
        if sha256_of(place) == sha256:
            print(f"{name}: {place} (same content as in the analysis)")
            return str(place)
    if found:
        DATA_CHANGED.append(name)
        print(f"{name}: WARNING: {found[0]} is DIFFERENT from the file the analysis used "
              f"(SHA-256 {sha256_of(found[0])[:12]}... instead of {sha256[:12]}...). Results will differ.")
        return str(found[0])
    looked = ", ".join(str(place) for place in dict.fromkeys(places))
    raise FileNotFoundError(
        f"The data file {name} (SHA-256 {sha256[:12]}...) was not found. Looked for: {looked}. Put it beside this "
        "notebook or into data/, or set the environment variable BIODESK_DATA to its folder."
    )


def show(folder):
    """Show what a step wrote: its findings, the head of each table and its figures."""
    with open(Path(folder, "result.json"), encoding="utf-8") as handle:
        record = json.load(handle)
    for finding in record["findings"]:
        print("-", finding["text"])
    for warning in record["warnings"]:
        print("! ", warning)
    for output, facts in record["outputs"].items():
        path = Path(folder, facts["file"])
        if path.suffix == ".png":
            display(Image(filename=str(path)))
        elif path.suffix == ".csv":
            print(f"{path} ({facts['rows']} rows)")
            display(pd.read_csv(path, nrows=10))
        else:
            print(path)


def row_key(*tables):
    """Return the fewest leading columns of names whose values tell the rows of every table apart, or none."""
    named = [name for name in tables[0] if not pd.api.types.is_float_dtype(tables[0][name])]
    for chosen in [[name] for name in named] + [named[: size + 1] for size in range(1, len(named))]:
        if not any(table.duplicated(chosen).any() or table[chosen].isna().any(axis=None) for table in tables):
            return chosen
    return []


def compare_tables(path, recorded):
    """Say how a table differs from the recorded one: rows are matched by their key, numbers within TOLERANCE."""
    ours, theirs = pd.read_csv(path, low_memory=False), pd.read_csv(recorded, low_memory=False)
    if set(ours.columns) != set(theirs.columns):
        odd = sorted(set(ours.columns) ^ set(theirs.columns))[0]
        return False, f"DIFFERENT: column {odd} is only {'here' if odd in ours else 'in the record'}"
    key = row_key(theirs, ours)
    if not key:
        if len(ours) != len(theirs):
            return False, f"DIFFERENT: {len(ours)} rows here, {len(theirs)} recorded"
        ours, theirs, key = ours.assign(row=ours.index + 1), theirs.assign(row=theirs.index + 1), ["row"]
    ours, theirs = ours.set_index(key), theirs.set_index(key)
    for one, other, where in ((theirs, ours, "in the record"), (ours, theirs, "here")):
        alone = one.index.difference(other.index)
        if len(alone):
            more = f" and {len(alone) - 1} more" if len(alone) > 1 else ""
            return False, f"DIFFERENT: {', '.join(key)} {alone[0]}{more} only {where}"
    moved = not ours.index.equals(theirs.index)
    ours = ours.loc[theirs.index]
    worst, count, first = 0.0, 0, None
    for column in theirs.columns:
        a, b = ours[column].reset_index(drop=True), theirs[column].reset_index(drop=True)
        numeric = all(pd.api.types.is_numeric_dtype(s) and not pd.api.types.is_bool_dtype(s) for s in (a, b))
        bad = a.isna() != b.isna()
        if numeric:
            gap = ((a - b).abs() / b.abs().clip(lower=1e-300)).where((a != b) & a.notna() & b.notna(), 0.0)
            worst = max(worst, float(gap.max()) if len(gap) else 0.0)
            bad |= gap > TOLERANCE
        else:
            bad |= a.notna() & b.notna() & (a.astype(str) != b.astype(str))
        count += int(bad.sum())
        if bad.any() and (first is None or bad.idxmax() < first[0]):
            at = bad.idxmax()
            first = at, f"{column} of {', '.join(key)} {theirs.index[at]} is {a[at]} here, {b[at]} recorded"
    if first:
        return False, f"DIFFERENT: {first[1]}; {count} of {theirs.size} values differ by more than {TOLERANCE:g}"
    return True, f"same numbers{' in another order of rows' if moved else ''} (largest relative difference {worst:.1e})"


def compare_figures(path, recorded):
    """Say whether two figures are the same picture but for pixels that rounding moved."""
    from matplotlib.image import imread

    ours, theirs = imread(path), imread(recorded)
    if ours.shape != theirs.shape:
        return False, f"DIFFERENT: {ours.shape[1]} x {ours.shape[0]} pixels here, " \\
                      f"{theirs.shape[1]} x {theirs.shape[0]} recorded"
    share = float((abs(ours - theirs).max(axis=-1) > 0.05).mean())
    words = f"{100 * share:.3f} % of the pixels differ"
    return share <= SPECK, f"same picture ({words})" if share <= SPECK else f"DIFFERENT: {words}"


def compare(path, facts):
    """Return (True, False or None when it cannot be told, words) for one output."""
    if not Path(path).is_file():
        return False, "MISSING: it was not produced here"
    if sha256_of(path) == facts["sha256"]:
        return True, "identical (SHA-256)"
    recorded, kind = Path("artifacts", facts["name"]), Path(path).suffix
    if recorded.is_file() and sha256_of(recorded) == facts["sha256"] and kind in (".csv", ".png"):
        return (compare_tables if kind == ".csv" else compare_figures)(path, recorded)
    if kind == ".csv":
        rows = len(pd.read_csv(path, low_memory=False))
        if facts["rows"] is not None and rows != facts["rows"]:
            return False, f"DIFFERENT: {rows} rows here, {facts['rows']} recorded"
        return None, f"not identical; {rows} rows as recorded; artifacts/{facts['name']} is not here to compare"
    return None, "not identical byte by byte, which says little of this kind of file; compare by eye"


def compare_all(recorded, computed_on):
    """Compare every output with the recorded one and say what is the same."""
    outcomes = {}
    for path, facts in recorded.items():
        outcomes[path], words = compare(path, facts)
        print(f"{path}: {words}")
    same = sum(value is True for value in outcomes.values())
    different = [path for path, value in outcomes.items() if value is False]
    print()
    print(f"{same} of {len(outcomes)} outputs are the same as recorded (numbers to a relative {TOLERANCE:g}, "
          f"figures to {100 * SPECK:g} % of the pixels).")
    if different:
        print("NOT the same:", ", ".join(different))
    here = {json.loads(file.read_text(encoding="utf-8")).get("computed_on", "")
            for file in Path("results").glob("*/result.json")}
    if computed_on:
        print(f"Recorded on {'; '.join(computed_on)}; here {'; '.join(sorted(here - {''})) or 'unknown'}.")
    if DATA_CHANGED:
        print("The data differ from those of the recorded analysis:", ", ".join(DATA_CHANGED))
'''
