"""Some of the samples of a matrix: a question about the tumours only is answered by their columns alone.

The list of samples comes as a table, cut down or with computed columns, and is given on as a sample sheet beside the
matrix.
"""

from __future__ import annotations

from engine.toolbox.bulk_rna.common import match_samples, name_some
from engine.toolbox.genes import find_genes, symbols_of
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import finding_values, level_labels, plain_table, require_columns

_SAMPLE = param("Column that names the samples", kind="column", of="table", role="key", required=True)
_WORDS = (
    "subset of samples",
    "only some samples",
    "leave out samples",
    "drop a sample",
    "bad library",
    "samples of one group",
)


def of_samples(matrix, table, sample, noun):
    """Return the columns of a matrix whose samples a table lists, the table as their sheet, a finding and warnings."""
    table = plain_table(table)
    require_columns(table, [sample])
    named = table.assign(**{sample: level_labels(table[sample])}).dropna(subset=[sample])
    matrix = matrix.copy()
    matrix.columns = matrix.columns.astype(str)
    sheet, notes = match_samples(matrix.columns, named.set_index(sample, drop=False).rename_axis(None))
    # That others have no row is what was asked for.
    warnings = [note for note in notes if "no row in the sample sheet" not in note]
    out = [name for name in matrix.columns if name not in sheet.index]
    left = f"; left out: {name_some(out, 8)}" if out else ""
    finding = {
        "text": f"{len(sheet)} of {matrix.shape[1]} samples of the {noun} are used{left}.",
        "values": finding_values(n_used=len(sheet), n_samples=matrix.shape[1], n_left_out=len(out)),
        "output": "samples",
    }
    return matrix[list(sheet.index)], sheet.drop(columns=sample), finding, warnings


@tool(
    name="keep_samples",
    title="Some samples of a count matrix",
    description=(
        "Keeps those columns of a count matrix whose samples a table lists, and gives the table on as their sample "
        "sheet: the table may have been cut down to some rows, or have columns that were computed."
    ),
    domain="transcriptomics",
    task_type="preprocessing",
    methods=("samples of the list; no test",),
    inputs={"counts": "count_matrix: raw read counts, genes x samples", "table": "table: one row a sample"},
    outputs={"kept": "count_matrix: the samples that are listed", "samples": "sample_sheet: one row a sample"},
    params={"sample": _SAMPLE},
    checks=("tables_not_empty",),
    keywords=_WORDS,
    packages=("pandas",),
    seconds=1.0,
    example="Keep the tumours of the count matrix.",
)
def keep_samples(counts, table, *, sample: str):
    """Keep the listed samples of raw counts."""
    kept, sheet, finding, warnings = of_samples(counts, table, sample, "count matrix")
    return {"kept": kept, "samples": sheet, "findings": [finding], "warnings": warnings}


@tool(
    name="keep_samples_of_intensities",
    title="Some samples of a matrix of intensities",
    description=(
        "Keeps those columns of a matrix of intensities or log values whose samples a table lists, and gives the table "
        "on as their sample sheet: the table may have been cut down to some rows, or have columns that were computed."
    ),
    domain="proteomics",
    task_type="preprocessing",
    methods=("samples of the list; no test",),
    inputs={"expression": "expression_matrix: features x samples", "table": "table: one row a sample"},
    outputs={"kept": "expression_matrix: the samples that are listed", "samples": "sample_sheet: one row a sample"},
    params={"sample": _SAMPLE},
    checks=("tables_not_empty",),
    keywords=_WORDS,
    packages=("pandas",),
    seconds=1.0,
    example="Keep the samples of week 4 of the protein matrix.",
)
def keep_samples_of_intensities(expression, table, *, sample: str):
    """Keep the listed samples of intensities."""
    kept, sheet, finding, warnings = of_samples(expression, table, sample, "matrix")
    return {"kept": kept, "samples": sheet, "findings": [finding], "warnings": warnings}


@tool(
    name="features_beside_samples",
    title="Features of a matrix beside their samples",
    description=(
        "Puts the values of named features of a matrix (genes, proteins, analytes) as columns beside the list of its "
        "samples, so that one of them can be compared by arm and visit, related to an age or set against another."
    ),
    domain="data handling",
    task_type="preprocessing",
    methods=("values of single features; no test",),
    inputs={"expression": "expression_matrix: log values, features x samples", "table": "table: one row a sample"},
    outputs={"beside": "table: one row a sample, with a column for each feature"},
    params={
        "features": param("Features (name, id or symbol)", kind="texts", role="as_columns", required=True),
        "sample": _SAMPLE,
    },
    checks=("tables_not_empty",),
    keywords=("one gene", "one protein", "single analyte", "marker", "values of a gene by sample"),
    packages=("pandas",),
    seconds=1.0,
    example="Put IL6 and TNF beside the arms and visits of their samples.",
)
def features_beside_samples(expression, table, *, features: list[str], sample: str):
    """Put features of a matrix beside their samples."""
    table = plain_table(table)
    require_columns(table, [sample])
    named = table.assign(**{sample: level_labels(table[sample])}).dropna(subset=[sample])
    values = expression.astype(float)
    values.columns = values.columns.astype(str)
    places, lost = find_genes([str(one) for one in values.index], symbols_of(expression), features)
    if lost:
        raise ValueError(
            f"The matrix has no feature {name_some(lost)}; expected names such as {name_some(values.index, 3)}."
        )
    sheet, warnings = match_samples(values.columns, named.set_index(sample, drop=False).rename_axis(None))
    twice = sorted({name for name in places.values() if list(places.values()).count(name) > 1})
    if twice:
        warnings.append(f"Several rows of the matrix are called {name_some(twice)}; the first of each is taken.")
    rows = {}
    for place, name in places.items():
        rows.setdefault(name, place)
    if taken := sorted({*rows} & {*map(str, sheet.columns)}):
        raise ValueError(f"{taken[0]!r} is a column of the samples already; expected another name for the feature.")
    beside = sheet.assign(**{name: values.iloc[row][list(sheet.index)].to_numpy() for name, row in rows.items()})
    missing = {name: int(beside[name].isna().sum()) for name in rows}
    gaps = "".join(f"; {name} is missing in {count}" for name, count in missing.items() if count)
    finding = {
        "text": f"{name_some(rows, 8)} stand{'s' if len(rows) == 1 else ''} beside {len(beside)} samples{gaps}.",
        "values": finding_values(n_samples=len(beside), n_features=len(rows)),
        "output": "beside",
    }
    return {"beside": beside.reset_index(drop=True), "findings": [finding], "warnings": warnings}
