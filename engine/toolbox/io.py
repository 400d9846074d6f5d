"""How data goes into a step and comes out of it.

The source of every function here is part of the code that runs in the sandbox and of the exported
notebook, so each imports what it needs inside, calls public libraries only, and none refers to Biodesk.
"""

from __future__ import annotations


def read_table(  # noqa: C901 - steps and notebooks get this function alone
    path, sep=",", encoding="utf-8", decimal=".", index_col=None, sheet=None, drop=(), comment=None,
    skip=0, names=None, na=(), thousands=None, row_names=None, quoted=True, leave_out=(), numbers=None, fill_down=False,
    same=None,
):  # fmt: skip
    """Read a delimited, Excel or JSON-records file, gzipped or not, into a DataFrame.

    `index_col` (a name or position) becomes the row names; `skip` lines stand above the header, and the lines
    `leave_out` (counted from 0) are no data; `names` are the columns of a file without a header; `na` are further
    marks of a missing value; `row_names` is the name given to a first column that has none; with `quoted` False a
    quote is a character like any other; `numbers` says for columns of text how their cells become numbers, with
    `decimal`, `thousands`, what to `remove` and which cells are `missing`; with `fill_down`, blanks in the first
    column mean the same as above; `same` gives for columns of text the cells that are another spelling of a level.
    """
    import pandas as pd

    with open(path, "rb") as handle:
        magic = handle.read(4)
    compression = "gzip" if magic[:2] == b"\x1f\x8b" else None
    missing = na if isinstance(na, dict) else list(na)
    header = 0 if names is None else None
    lines = [*range(skip), *leave_out] if leave_out else skip
    if magic == b"PK\x03\x04":
        frame = pd.read_excel(
            path, sheet_name=sheet or 0, skiprows=lines, header=header, names=names, na_values=missing
        )
    elif str(path).lower().removesuffix(".gz").endswith((".json", ".jsonl", ".ndjson")):
        rows = not str(path).lower().removesuffix(".gz").endswith(".json")
        frame = pd.read_json(path, lines=rows, compression=compression, dtype=False, convert_dates=False)
    else:
        # Row names stay text as written: 001 read as the number 1 would no longer match a sample called 001.
        key = "Unnamed: 0" if row_names is not None and index_col == row_names else index_col
        frame = pd.read_csv(
            path, sep=sep, encoding=encoding, decimal=decimal, comment=comment, skiprows=lines, header=header,
            names=names, na_values=missing, thousands=thousands, compression=compression, low_memory=False,
            dtype=None if key is None else {key: str}, quoting=0 if quoted else 3,
        )  # fmt: skip
    frame.columns = [str(column).strip() for column in frame.columns]
    if not isinstance(frame.index, pd.RangeIndex):  # a header one name short, as R's write.table leaves it
        frame.index = frame.index.astype(str).str.strip()
        frame = frame if row_names is None else frame.rename_axis(row_names).reset_index()
    else:
        frame = frame if row_names is None else frame.rename(columns={frame.columns[0]: row_names})
        blank = frame.isna().all(axis=1)
        if blank.any():  # rows of separators only, as spreadsheets leave them
            frame = frame[~blank].reset_index(drop=True)
        if fill_down:
            frame[frame.columns[0]] = frame[frame.columns[0]].ffill()
        if blank.any() or fill_down:  # blanks turn integers into floats
            for column in frame.select_dtypes("float").columns:
                if frame[column].notna().all() and (frame[column] % 1 == 0).all():
                    frame[column] = frame[column].astype("int64")
    for column in [] if numbers is None else numbers:
        if column not in frame.columns or frame[column].dtype != object:
            continue
        how = numbers[column]
        figures = {}
        for cell in frame[column].dropna().unique():
            text = str(cell)
            for space in "\u00a0\u202f\u2009\u2007":
                text = text.replace(space, " ")
            text = text.strip().strip("\"'").strip()
            if not isinstance(cell, str) or not text or text in how.get("missing", ()):
                figures[cell] = None if isinstance(cell, str) else cell
                continue
            figure = text
            for part in (*how.get("remove", ()), *how.get("remove", ())):  # twice: `5 mg*` ends in both
                figure = figure.removeprefix(part).removesuffix(part).strip()
            for sign in (how.get("thousands") or " ", " ", "'", "\u2019"):
                figure = figure.replace(sign, "")
            for sign in how.get("decimal", "."):
                figure = figure.replace(sign, ".")
            figure = figure.replace("\u2212", "-")
            try:
                float(figure)
            except ValueError:
                raise ValueError(
                    f"Column {column!r} holds {text!r}, which is not among the cells known to be missing: expected a "
                    "number; correct the cell or leave it empty."
                ) from None
            figures[cell] = figure
        frame[column] = pd.to_numeric(frame[column].map(figures))
    for column in [] if same is None else same:
        if column in frame.columns:
            levels = same[column]
            frame[column] = [levels.get(cell, cell) if isinstance(cell, str) else cell for cell in frame[column]]
    if index_col is not None:
        name = frame.columns[index_col] if isinstance(index_col, int) else index_col
        frame = frame.set_index(name)
        frame.index = frame.index.astype(str).str.strip()
    return frame.drop(columns=[column for column in drop if column in frame.columns])


def read_matrix(path, transpose=False, **options):
    """Read a matrix as features x samples; `transpose` when the file has one sample a row."""
    import pandas as pd

    frame = read_table(path, **options)
    if transpose:
        frame = frame.T
    frame = frame.apply(pd.to_numeric, errors="raise")
    frame.columns = frame.columns.astype(str)
    frame.index.name = "feature"
    return frame


def read_gene_sets(path, one="", **options):
    """Read a GMT file into a dict: gene set name -> list of genes; `one` names the only set of a list."""
    import gzip

    if one:
        return {one: read_gene_list(path, **options)}
    sets = {}
    with open(path, "rb") as handle:
        opener = gzip.open if handle.read(2) == b"\x1f\x8b" else open
    with opener(path, "rt", encoding="utf-8-sig", errors="replace") as handle:
        for line in handle:
            fields = line.rstrip("\n\r").split("\t")
            if len(fields) > 2 and fields[0]:
                sets[fields[0]] = list(dict.fromkeys(gene.strip() for gene in fields[2:] if gene.strip()))
    return sets


def read_gene_list(path, header=None, sheet=None, skip=0, encoding=None):
    """Read one gene a line, or the first column of a table; `header` None looks for names such as `gene`, `symbol`."""
    import gzip

    with open(path, "rb") as handle:
        magic = handle.read(2)
    if magic == b"PK":
        import pandas as pd

        cells = pd.read_excel(path, sheet_name=sheet or 0, header=None, skiprows=skip).iloc[:, 0].dropna()
        rows = [str(cell).strip() for cell in cells]
    else:
        opener = gzip.open if magic == b"\x1f\x8b" else open
        encoding = encoding or ("utf-16" if magic in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
        with opener(path, "rt", encoding=encoding, errors="replace") as handle:
            lines = [line.strip() for line in handle if line.strip() and not line.startswith("#")]
        rows = [line.replace("\t", ",").split(",")[0].strip('"').strip() for line in lines]
    usual = {"gene", "genes", "feature", "symbol", "gene_symbol", "gene_id", "id"}
    if rows and (rows[0].lower() in usual if header is None else header):
        rows = rows[1:]
    return list(dict.fromkeys(row for row in rows if row))


def read_anndata(path):
    """Read an h5ad file into an AnnData object with unique observation and variable names."""
    import anndata

    adata = anndata.read_h5ad(path)
    adata.obs_names_make_unique()
    adata.var_names_make_unique()
    return adata


def read_data(path, kind, **options):
    """Read a file as the given kind of data."""
    if kind in ("count_matrix", "expression_matrix"):
        return read_matrix(path, **options)
    if kind == "gene_set_library":
        return read_gene_sets(path, **options)
    if kind == "gene_list":
        return read_gene_list(path, **options)
    if kind == "anndata":
        return read_anndata(path)
    if kind == "text":
        with open(path, encoding="utf-8") as handle:
            return handle.read()
    if kind in ("table", "sample_sheet", "survival_table", "de_table", "ranked_genes", "enrichment_table"):
        return read_table(path, **options)
    return str(path)


def write_data(value, stem, kind):
    """Write an output; return the file's name. Tables become CSV, figures PNG with SVG beside it, cells h5ad."""
    import json

    if kind == "figure":
        import os

        import matplotlib
        from matplotlib.collections import Collection
        from matplotlib.lines import Line2D
        from matplotlib.text import Text
        from matplotlib.ticker import LogFormatter

        name = f"{stem}.png"
        # A dollar in a name begins no formula; only the powers of ten that a log axis writes are one.
        powers = {
            label
            for axes in value.axes for axis in (axes.xaxis, axes.yaxis)
            for ticks, how in ((axis.get_major_ticks(), axis.get_major_formatter()),
                               (axis.get_minor_ticks(), axis.get_minor_formatter()))
            if isinstance(how, LogFormatter) for tick in ticks for label in (tick.label1, tick.label2)
        }  # fmt: skip
        for text in value.findobj(Text):
            text.set_parse_math(text in powers)
        value.savefig(name, dpi=150, bbox_inches="tight")
        # Beside it what an editor of drawings opens; thousands of marks are a picture in it, for its size.
        for marks in value.findobj(Collection):
            if max(len(marks.get_offsets()), len(marks.get_paths())) > 2000:
                marks.set_rasterized(True)
        for line in value.findobj(Line2D):
            if line.get_marker() not in ("", "None", None) and len(line.get_xdata(orig=False)) > 2000:
                line.set_rasterized(True)
        value.set_layout_engine("none")  # what was placed for the first stays, which takes no time
        box = value.get_tightbbox().padded(0.1)
        with matplotlib.rc_context({"svg.hashsalt": "biodesk"}):
            value.savefig(f"{stem}.svg", dpi=150, bbox_inches=box, metadata={"Date": None})
        if os.path.getsize(f"{stem}.svg") > 8_000_000:
            os.remove(f"{stem}.svg")
        import matplotlib.pyplot as plt

        plt.close(value)
    elif kind == "anndata":
        name = f"{stem}.h5ad"
        value.write_h5ad(name, compression="lzf")
    elif kind == "gene_set_library":
        name = f"{stem}.gmt"
        with open(name, "w", encoding="utf-8") as handle:
            for term, genes in value.items():
                handle.write("\t".join([term, "", *genes]) + "\n")
    elif kind == "gene_list":
        name = f"{stem}.csv"
        with open(name, "w", encoding="utf-8") as handle:
            handle.write("gene\n" + "".join(f"{gene}\n" for gene in value))
    elif kind == "text":
        name = f"{stem}.txt"
        with open(name, "w", encoding="utf-8") as handle:
            handle.write(value)
    elif hasattr(value, "to_csv"):
        name = f"{stem}.csv"
        # A meaningful row index (features, samples) is a column of the file; a bare 0..n-1 is not.
        named = value.index.name is not None or kind in ("count_matrix", "expression_matrix", "sample_sheet")
        value.to_csv(name, index=named)
    else:
        name = f"{stem}.json"
        with open(name, "w", encoding="utf-8") as handle:
            json.dump(json_ready(value), handle, indent=2, allow_nan=False)
    return name


def json_ready(value):
    """Turn NumPy scalars, NaN and nested values into what JSON can hold."""
    import math

    if isinstance(value, dict):
        return {str(key): json_ready(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [json_ready(item) for item in value]
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def linear_algebra():
    """Return the linear algebra library with the kernel chosen for this processor: the last digits depend on it."""
    try:
        import threadpoolctl
    except ImportError:
        return ""
    threads = {}
    for info in threadpoolctl.threadpool_info():
        if info["user_api"] == "blas":
            name = f"{info['internal_api']} {info.get('architecture') or ''}".strip()
            threads[name] = max(threads.get(name, 0), info["num_threads"])
    return "; ".join(f"{name}, {count} thread{'s' if count > 1 else ''}" for name, count in threads.items())


def save_result(result, kinds, folder):
    """Write a step's outputs, and its findings and warnings to `result.json`; return what was written.

    `kinds` maps each output to its kind of data. An output the step did not give is left out.
    """
    import json
    import os

    os.makedirs(folder, exist_ok=True)
    written = {}
    for output, kind in kinds.items():
        value = result.get(output)
        if value is None:
            continue
        name = os.path.basename(write_data(value, os.path.join(folder, output), kind))
        rows = len(value) if hasattr(value, "columns") or isinstance(value, (list, dict)) else None
        columns = [str(column) for column in list(getattr(value, "columns", []))[:200]]
        written[output] = {"file": name, "type": kind, "rows": rows, "columns": columns}
        if kind == "figure" and os.path.exists(os.path.join(folder, f"{output}.svg")):
            written[output]["drawing"] = f"{output}.svg"
    record = {
        "computed_on": linear_algebra(),
        "outputs": written,
        "findings": json_ready(result.get("findings", [])),
        "warnings": json_ready(result.get("warnings", [])),
    }
    with open(os.path.join(folder, "result.json"), "w", encoding="utf-8") as handle:
        json.dump(record, handle, ensure_ascii=False, allow_nan=False)
    return record
