"""The fixed code of the notebook: finding the data files, showing outputs, comparing with what was recorded.

It runs where there is no Biodesk, so each text uses only the standard library, pandas and IPython.
"""

from __future__ import annotations

LOCATE = '''\
import hashlib
import os
from pathlib import Path

DATA_CHANGED = []


def sha256_of(path):
    """Return the SHA-256 of a file's content."""
    digest = hashlib.sha256()
    with open(path, "rb") as handle:
        for block in iter(lambda: handle.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def locate(name, names, original, sha256):
    """Return the path of a data file, preferring one whose content is what the analysis used."""
    folders = [Path("."), Path("data")]
    if os.environ.get("BIODESK_DATA"):
        folders.append(Path(os.environ["BIODESK_DATA"]).expanduser())
    places = [folder / file for folder in folders for file in names] + [Path(original).expanduser()]
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


DATA = {key: locate(key, *facts) for key, facts in DATA_FILES.items()}
'''

SHOW = '''\
import matplotlib

matplotlib.use("Agg")

import pandas as pd
from IPython.display import Image, display

pd.set_option("display.html.use_mathjax", False)  # a dollar in a name begins no formula


def show(folder):
    """Show what a step wrote: its findings, the head of each table and its figures."""
    import json

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
'''

COMPARE = '''\
def compare_tables(path, recorded):
    """Say how a table differs from the recorded one, cell by cell."""
    ours, theirs = pd.read_csv(path, low_memory=False), pd.read_csv(recorded, low_memory=False)
    if list(ours.columns) != list(theirs.columns) or len(ours) != len(theirs):
        return False, f"DIFFERENT: shape {ours.shape} here, {theirs.shape} recorded (or other columns)"
    worst = 0.0
    for column in ours.columns:
        a, b = ours[column], theirs[column]
        numeric = all(pd.api.types.is_numeric_dtype(s) and not pd.api.types.is_bool_dtype(s) for s in (a, b))
        if not numeric:
            if not (a.astype(str) == b.astype(str)).all():
                return False, f"DIFFERENT: the text in column {column} is not the same"
            continue
        if not (a.isna() == b.isna()).all():
            return False, f"DIFFERENT: column {column} misses other values"
        scale = b.abs().clip(lower=1e-300)
        gap = ((a - b).abs() / scale).where(a != b, 0.0).max()
        worst = max(worst, 0.0 if pd.isna(gap) else float(gap))
    same = worst <= 1e-6
    return same, f"{'same numbers' if same else 'DIFFERENT'} (largest relative difference {worst:.1e})"


def compare(path, facts):
    """Return (True, False or None when it cannot be told, words) for one output."""
    if not Path(path).is_file():
        return False, "MISSING: it was not produced here"
    if sha256_of(path) == facts["sha256"]:
        return True, "identical (SHA-256)"
    recorded = Path("artifacts", facts["name"])
    if recorded.is_file() and sha256_of(recorded) == facts["sha256"] and str(path).endswith(".csv"):
        return compare_tables(path, recorded)
    if str(path).endswith(".csv"):
        with open(path, encoding="utf-8") as handle:
            header = handle.readline().strip().split(",")
        rows = len(pd.read_csv(path, low_memory=False))
        if facts["rows"] is not None and rows != facts["rows"]:
            return False, f"DIFFERENT: {rows} rows here, {facts['rows']} recorded"
        words = f"not identical; {rows} rows, {len(header)} columns; artifacts/{facts['name']} is not here to compare"
        return None, words
    return None, "not identical byte by byte (figures and h5ad files depend on library versions); compare by eye"


outcomes = {}
for path, facts in RECORDED.items():
    outcomes[path], words = compare(path, facts)
    print(f"{path}: {words}")
same = sum(value is True for value in outcomes.values())
different = [path for path, value in outcomes.items() if value is False]
print()
print(f"{same} of {len(outcomes)} outputs are the same as recorded.")
if different:
    print("NOT the same:", ", ".join(different))
if DATA_CHANGED:
    print("The data differ from those of the recorded analysis:", ", ".join(DATA_CHANGED))
'''
