"""Looks into an .h5ad file without loading its matrix: cells, genes, annotations and what kind of values X holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine.data.columns.column import MAX_COLUMNS
from engine.data.columns.genes import describe, id_warnings, identify
from engine.data.columns.nature import judge_values
from engine.data.found import Found, guess
from engine.data.kind import Binary, Kind
from engine.data.reading.hdf5 import refuse_elsewhere, refuse_endless
from engine.data.source import Frame, UnusableFile, plural, some
from engine.data.structure.rows import look
from engine.domain.datatypes import DataType

_WHOLE_VALUES = 2_000_000
"""A matrix of so many stored values is looked at as a whole, of a larger one ten stretches."""
_STRETCHES, _SAMPLE_VALUES = 10, 50_000
_MAX_CELLS = 300_000


def read_anndata(path):
    """Read an h5ad file into an AnnData object with unique observation and variable names."""
    import anndata

    adata = anndata.read_h5ad(path)
    adata.obs_names_make_unique()
    adata.var_names_make_unique()
    return adata


def write_anndata(value, stem):
    """Write cells as h5ad; return the file's name."""
    name = f"{stem}.h5ad"
    value.write_h5ad(name, compression="lzf")
    return name


def read_h5ad(path: Path) -> Found:
    """Describe an .h5ad file.

    Raises:
        UnusableFile: when it is damaged or is HDF5 of another kind.
    """
    import h5py

    try:
        with h5py.File(path, "r") as file:
            refuse_elsewhere(path.name, file, h5py)
            return _describe(path.name, file, h5py)
    except (OSError, KeyError, ValueError, RuntimeError, TypeError, IndexError, AttributeError) as error:
        message = f"{path.name} is a damaged or cut-off HDF5 file ({_first_line(error)}); copy or download it again."
        raise UnusableFile(message) from error


def _first_line(error: BaseException) -> str:
    return str(error).strip("'\"").split("\n")[0][:120] or type(error).__name__


def _describe(name: str, file: Any, h5py: Any) -> Found:
    if "obs" not in file or "var" not in file:
        what = (
            "a 10x .h5 matrix"
            if "matrix" in file or any("barcodes" in file[k] for k in file if hasattr(file[k], "keys"))
            else "HDF5"
        )
        message = (
            f"{name} is {what}, not single-cell data in AnnData form (.h5ad); read it with scanpy and save "
            f"it with write_h5ad."
        )
        raise UnusableFile(message)
    cells, genes = _names(name, "cells", file["obs"]), _names(name, "genes", file["var"])
    shape = (len(cells), len(genes))
    if "X" in file and _shape(file["X"]) != shape:
        message = (
            f"{name}: its matrix is {_shape(file['X'])} but it names {shape[0]:,} cells and {shape[1]:,} "
            f"genes; write the file again."
        )
        raise UnusableFile(message)
    if 0 in shape:
        message = (
            f"{name} has {shape[0]:,} cells and {shape[1]:,} genes, so there is nothing to analyse; check "
            f"the filter that made it."
        )
        raise UnusableFile(message)
    columns, structure = look(_annotations(file["obs"], min(shape[0], _MAX_CELLS)))
    identified = identify(genes)
    x, part = _nature(file["X"]) if "X" in file else (None, "")
    layers = {key: _nature(file["layers"][key])[0] for key in _keys(file, "layers")}
    raws = [file[key] for key in ("raw/X", "raw.X") if key in file]
    raw = _nature(raws[0])[0] if raws else None
    details = {
        "x": x, "judged_from": part, "layers": layers, "raw": raw, "obsm": _keys(file, "obsm"),
        "uns": _keys(file, "uns")[:50], "var_columns": _column_names(file["var"])[:50],
    }  # fmt: skip
    warnings = _warnings(name, cells, genes, details)
    if shape[0] > _MAX_CELLS:
        warnings.append(f"{name} is large: annotations were checked in the first {_MAX_CELLS:,} of {shape[0]:,} cells.")
    what = {
        "counts": "raw counts", "log": "log-normalised values", "negative": "scaled values", "binary": "zeros and ones",
        "normalised": "normalised values", "per_million": "values per million", "estimated": "estimated counts",
    }  # fmt: skip
    note = describe(identified)
    summary = f"{shape[0]:,} cells x {shape[1]:,} genes" + (f" ({note})" if note else "")
    summary += f"; X holds {what.get(x or '', 'no values')}"
    summary += f" (judged from {part})" if part else ""
    return Found(
        "h5ad", guess(DataType.ANNDATA, 0.99), summary, warnings, shape[0], genes[:200], identified, details, shape[1],
        columns, cells[:5000], structure, looked_at=_MAX_CELLS if shape[0] > _MAX_CELLS else None,
    )  # fmt: skip


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _shape(node: Any) -> tuple[int, ...]:
    if hasattr(node, "shape"):
        return tuple(int(n) for n in node.shape)
    return tuple(int(n) for n in node.attrs.get("shape", node.attrs.get("h5sparse_shape", ())))


def _keys(file: Any, part: str) -> list[str]:
    """Return the names within a part of the file, which before anndata 0.7 may be one compound array."""
    node = file.get(part, {})
    return sorted(node.dtype.names or []) if hasattr(node, "dtype") else sorted(node)


def _names(file: str, what: str, node: Any) -> list[str]:
    """Return the names of the cells or genes."""
    if hasattr(node, "dtype"):  # files of anndata before 0.7 store one compound array
        refuse_endless(file, what, node.shape[0])
        field = next((f for f in ("index", "_index") if f in node.dtype.names), node.dtype.names[0])
        return [_text(v) for v in node[field]]
    key = _text(node.attrs.get("_index", "_index"))
    index = node[key]
    index = index["values"] if hasattr(index, "keys") and "values" in index else index
    refuse_endless(file, what, index.shape[0])
    values = index[()]
    return [_text(v) for v in values]


def _column_names(node: Any) -> list[str]:
    if hasattr(node, "dtype"):
        return [f for f in node.dtype.names if f not in ("index", "_index")]
    order = [_text(c) for c in node.attrs.get("column-order", [])]
    index = _text(node.attrs.get("_index", "_index"))
    return order or [k for k in node if k not in (index, "__categories")]


def read_annotations(path: Path, *, whole: bool = False) -> Frame:
    """Return the annotations of the cells of an .h5ad file, one row a cell, of many cells the first unless `whole`."""
    import h5py

    with h5py.File(path, "r") as file:
        refuse_elsewhere(path.name, file, h5py)
        cells = len(_names(path.name, "cells", file["obs"]))
        return _annotations(file["obs"], cells if whole else min(cells, _MAX_CELLS))


def _annotations(node: Any, rows: int) -> Frame:
    import pandas as pd

    series: dict[str, Any] = {}
    for name in _column_names(node)[:MAX_COLUMNS]:
        values = _values(node, name, rows)
        if values is not None and len(values) == rows:
            series[name] = values
    return pd.DataFrame(series)


def _values(node: Any, name: str, rows: int) -> Any:
    import numpy as np
    import pandas as pd

    if hasattr(node, "dtype"):
        data = node[name][:rows]
        categories = node.file.get(f"uns/{name}_categories")
        if categories is not None and data.dtype.kind in "iu":  # so were categories kept before anndata 0.7
            return _decode(data, categories[()], np)
        return [_text(v) for v in data] if data.dtype.kind in "SO" else data if data.ndim == 1 else None
    column = node[name]
    if hasattr(column, "keys"):
        if "categories" in column:
            return _decode(column["codes"][:rows], column["categories"][()], np)
        if "values" in column:
            data = column["values"][:rows]
            data = [_text(v) for v in data] if data.dtype.kind in "SO" else data
            mask = column["mask"][:rows] if "mask" in column else np.zeros(rows, dtype=bool)
            return pd.Series(data).mask(pd.Series(mask))
        return None
    if "categories" in column.attrs:
        return _decode(column[:rows], column.file[column.attrs["categories"]][()], np)
    data = column[:rows]
    return [_text(v) for v in data] if data.dtype.kind in "SO" else data


def _decode(codes: Any, categories: Any, np: Any) -> Any:
    labels = [_text(c) for c in categories] if categories.dtype.kind in "SO" else list(categories)
    return np.array([*labels, None], dtype=object)[np.where(codes < 0, len(labels), codes)]


def _nature(node: Any) -> tuple[str | None, str]:
    """Say what kind of values a matrix holds, and which part of it was looked at when that was not all of it."""
    import numpy as np

    if hasattr(node, "keys"):
        if "data" not in node:
            return None, ""
        data, width = node["data"], 1
    else:
        data, width = node, max(1, int(np.prod(node.shape[1:])))
    if not 0 < width <= _WHOLE_VALUES or data.dtype.kind not in "biuf":
        return None, ""
    length = int(data.shape[0])
    values = data[()] if length * width <= _WHOLE_VALUES else _spread(data, length, max(1, _SAMPLE_VALUES // width), np)
    if values.size == 0:
        return None, ""
    part = f"{values.size:,} of {length * width:,} values" if values.size < length * width else ""
    return judge_values(values.astype(float).reshape(-1, 1), whole_columns=False).kind, part


def _spread(data: Any, length: int, take: int, np: Any) -> Any:
    """Return stretches that lie evenly over a long array."""
    starts = np.linspace(0, length - take, _STRETCHES).astype(int) if length > take else [0]
    return np.concatenate([data[int(start) : int(start) + take].ravel() for start in dict.fromkeys(starts)])


def _warnings(name: str, cells: list[str], genes: list[str], details: dict[str, Any]) -> list[str]:
    warnings: list[str] = []
    repeated = len(cells) - len(set(cells))
    if repeated:
        warnings.append(f"{name}: {plural(repeated, 'cell name')} repeated; numbers are added to tell them apart.")
    warnings += [w for w in id_warnings(name, genes) if "Ensembl" not in w]
    counts = [
        where
        for where, kind in (("X", details["x"]), ("raw", details["raw"]), *details["layers"].items())
        if kind == "counts"
    ]
    if details["x"] is None:
        warnings.append(f"{name} has no values in X; put the matrix to analyse there.")
    elif not counts:
        state = (
            "scaled (it has negative values)"
            if details["x"] == "negative"
            else "already normalised (not whole numbers)"
        )
        state += f", judged from {details['judged_from']}," if details["judged_from"] else ""
        warnings.append(
            f"{name}: X is {state} and there are no raw counts in the file; steps that need counts cannot be run."
        )
    elif "X" not in counts:
        warnings.append(f"{name}: X is already transformed; the raw counts are in {some(counts)}.")
    return warnings


ANNDATA = Kind(
    type=DataType.ANNDATA, words="single-cell data (h5ad)", aliases=("anndata", "h5ad", "loom"),
    read=read_anndata, write=write_anndata,
    binary=Binary(
        format="h5ad", container="HDF5", magic=b"\x89HDF\r\n\x1a\n", look=read_h5ad, rows=read_annotations
    ),
)  # fmt: skip
