"""Why gaps are looked at before anything is computed: who has no value is seldom a matter of chance.

How many values are missing, which are missing together, with what the gaps go, and whether subjects leave for good.
Nothing is filled in. What a value would have been is not in the data, so no test here can show that gaps are harmless.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import (
    finding_values,
    format_number,
    format_p,
    in_a_row,
    level_labels,
    new_axes,
    order_levels,
    palette,
    plain_table,
    require_columns,
)
from engine.toolbox.tables.rows import table_row

MOST_GROUPS = 60
"""In so many groups gaps are counted."""


@check("missing_counts_add_up")
def missing_counts_add_up(step: StepOutputs) -> Iterator[Issue]:
    """Present and missing values of every column add up to the rows, and so do the rows of all patterns."""
    columns, patterns = step.table("missing_table"), step.table("patterns")
    rows = int(patterns["rows"].sum())
    if ((columns["present"] + columns["missing"]) != rows).any():
        message = f"A column's present and missing values do not add up to the {rows} rows of the patterns."
        yield Issue(code="missing_lost", severity="error", message=message, where="missing_table")
    if ((columns["percent"] - 100 * columns["missing"] / max(rows, 1)).abs() > 1e-6).any():
        message = "A percentage is not the missing values of its column."
        yield Issue(code="percent_differs", severity="error", message=message, where="missing_table")


def missing_cells(column, codes=True):
    """Return where a column is missing: empty, a word for it (n.d., -), or a lone code such as -99; and a note.

    A code counts only where every other value is far from it, so that -9 among -12 to 30 degrees is a measurement.
    """
    import pandas as pd

    words = {"", "na", "n/a", "nan", "null", "none", "n.d.", "nd", "n.a.", "missing", "unknown", "not done",
        "not measured",
             "not available", "unk", "-", "--", ".", "?", "#n/a", "#n/v", "#div/0!", "#value!"}  # fmt: skip
    text = column.astype(str).str.strip().str.casefold()
    empty = column.isna() | (text == "")
    worded = ~empty & text.isin(words) & (not pd.api.types.is_numeric_dtype(column))
    note = []
    if worded.any():
        shown = ", ".join(repr(v) for v in dict.fromkeys(column[worded].astype(str).str.strip()))
        note.append(f"{column.name}: {int(worded.sum())} cells that read {shown}")
    numbers = pd.to_numeric(column.where(~(empty | worded)), errors="coerce")
    coded = pd.Series(False, index=column.index)
    if codes and not pd.api.types.is_bool_dtype(column) and numbers.notna().sum() > 2:
        for code in (-9.0, -88.0, -99.0, -999.0, -9999.0):
            here, rest = numbers == code, numbers[numbers.notna() & (numbers != code) & ~coded]
            if here.any() and len(rest) and rest.min() >= (0.0 if code == -9 else code / 2):
                coded |= here
                note.append(f"{column.name}: {int(here.sum())} cells that read {code:g}")
    return empty | worded | coded, note


def pattern_rows(gaps):
    """Return one row for every set of columns that is missing together, the most frequent first."""
    names = list(gaps.columns)
    counts = gaps.value_counts()
    rows = []
    for key, count in counts.items():
        lacking = [name for name, gone in zip(names, key if isinstance(key, tuple) else (key,), strict=True) if gone]
        rows.append({"missing_columns": " + ".join(lacking) or "none (complete)", "n_missing_columns": len(lacking),
                     "rows": int(count), "percent": 100 * count / len(gaps)})  # fmt: skip
    return sorted(rows, key=lambda row: (-row["rows"], row["n_missing_columns"], row["missing_columns"]))


def pair_rows(gaps):
    """Return, for each two incomplete columns, how often both are missing and how often chance would have it."""
    import itertools

    names = [name for name in gaps if gaps[name].any() and not gaps[name].all()]
    rows = []
    for a, b in itertools.combinations(names[:25], 2):
        both, of_a, of_b = int((gaps[a] & gaps[b]).sum()), int(gaps[a].sum()), int(gaps[b].sum())
        expected = of_a * of_b / len(gaps)
        spread = (of_a * of_b * (len(gaps) - of_a) * (len(gaps) - of_b)) ** 0.5
        rows.append({"pair": f"{a} + {b}", "column_1": a, "column_2": b, "both_missing": both,
            "expected_by_chance": expected,
                     "only_1": of_a - both, "only_2": of_b - both,
                     "phi": (both - expected) * len(gaps) / spread})  # fmt: skip
    return sorted(rows, key=lambda row: -abs(row["phi"]))


def gap_association(gap, other, name, by):
    """Return whether a column is missing more often for some values of another: rank test, or chi-square of levels."""
    import numpy as np
    import pandas as pd
    from scipy import stats

    known = other.notna()
    gone, there = gap[known], ~gap[known]
    if gone.sum() < 3 or there.sum() < 3:
        return None
    row = {
        "tested": f"{name} by {by}",
        "column": name,
        "goes_with": by,
        "n_missing": int(gone.sum()),
        "n_present": int(there.sum()),
    }
    if pd.api.types.is_numeric_dtype(other):
        a, b = other[known][gone], other[known][there]
        if np.ptp(other[known]) == 0:
            return None
        test = stats.mannwhitneyu(a, b)
        return row | {"test": "Mann-Whitney", "where_missing": float(a.median()), "where_present": float(b.median()),
                      "effect": float(test.statistic / (len(a) * len(b))), "effect_type": "chance of a higher value",
                      "p_value": float(test.pvalue)}  # fmt: skip
    counts = pd.crosstab(other[known], gone)
    if counts.shape != (counts.shape[0], 2) or counts.shape[0] < 2:
        return None
    share = 100 * counts[True] / counts.sum(axis=1)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.to_numpy().sum()
    if counts.shape[0] == 2 and expected.min() < 5:
        test, p = "Fisher's exact", float(stats.fisher_exact(counts).pvalue)
    elif expected.min() < 1 or (expected < 5).mean() > 0.2:
        how = stats.PermutationMethod(n_resamples=1999, rng=np.random.default_rng(0))
        test, p = (
            "chi-square, random tables",
            float(stats.chi2_contingency(counts, correction=False, method=how).pvalue),
        )
    else:
        test, p = "chi-square", float(stats.chi2_contingency(counts, correction=False).pvalue)
    return row | {"test": test, "highest_level": share.idxmax(), "highest_percent": float(share.max()),
                  "lowest_level": share.idxmin(), "lowest_percent": float(share.min()), "p_value": p}  # fmt: skip


def association_rows(table, gaps, group):
    """Return the tests of every incomplete column against the others, Benjamini-Hochberg adjusted, smallest p first."""
    import pandas as pd
    from scipy.stats import false_discovery_control

    others = {}
    for name in [group, *(name for name in table.columns if name != group)] if group else list(table.columns):
        values = table[name].mask(missing_cells(table[name])[0])
        numbers = pd.to_numeric(values, errors="coerce")
        few = values.nunique() <= 6
        if numbers.notna().sum() == values.notna().sum() and name != group and not (few and values.nunique() == 2):
            counting = str(name).casefold() in ("id", "row", "rownames", "index", "unnamed: 0", "", "no", "nr")
            if not counting and len(others) < 40:
                others[name] = numbers
        elif 2 <= values.nunique() <= 20 and len(others) < 40:
            others[name] = level_labels(values)
    rows = [row for name in gaps if gaps[name].any() and not gaps[name].all()
            for by, other in others.items() if by != name
            if (row := gap_association(gaps[name], other, name, by)) is not None]  # fmt: skip
    if rows:
        for row, p in zip(rows, false_discovery_control([row["p_value"] for row in rows]), strict=True):
            row["p_adj"] = max(float(p), row["p_value"])
    return sorted(rows, key=lambda row: (row["p_value"], row["column"], row["goes_with"]))


def little_test(numbers):
    """Return Little's (1988) test that values are missing completely at random, or None where it cannot be computed.

    Means and covariance are maximum likelihood under a normal distribution, by EM over the patterns.
    """
    import numpy as np
    from scipy.stats import chi2

    x = numbers.to_numpy(dtype=float)
    x = x[~np.isnan(x).all(axis=1)]
    n, p = x.shape
    seen = ~np.isnan(x)
    patterns, which = np.unique(seen, axis=0, return_inverse=True)
    which = which.ravel()
    if p < 2 or len(patterns) < 2 or n < 2 * p or (seen.sum(axis=0) < 3).any():
        return None
    x = (x - np.nanmean(x, axis=0)) / np.nanstd(x, axis=0)
    mean, cov = np.zeros(p), np.eye(p)
    try:
        for _ in range(2000):
            total, square = np.zeros(p), np.zeros((p, p))
            for at, there in enumerate(patterns):
                rows = x[which == at].copy()
                if not there.all():
                    slope = np.linalg.solve(cov[np.ix_(there, there)], cov[np.ix_(there, ~there)]).T
                    rows[:, ~there] = mean[~there] + (rows[:, there] - mean[there]) @ slope.T
                    left = cov[np.ix_(~there, ~there)] - slope @ cov[np.ix_(there, ~there)]
                    square[np.ix_(~there, ~there)] += len(rows) * left
                total += rows.sum(axis=0)
                square += rows.T @ rows
            new_mean = total / n
            new_cov = square / n - np.outer(new_mean, new_mean)
            moved = max(np.abs(new_mean - mean).max(), np.abs(new_cov - cov).max())
            mean, cov = new_mean, new_cov
            if moved < 1e-9:
                break
        if np.linalg.cond(cov) > 1e10:
            return None
        statistic, df = 0.0, -p
        for at, there in enumerate(patterns):
            gap = x[which == at][:, there].mean(axis=0) - mean[there]
            statistic += (which == at).sum() * gap @ np.linalg.solve(cov[np.ix_(there, there)], gap)
            df += int(there.sum())
    except np.linalg.LinAlgError:
        return None
    return {"test": "Little's MCAR test", "statistic": float(statistic), "df": df,
            "p_value": float(chi2.sf(statistic, df)), "patterns": len(patterns), "n": n}  # fmt: skip


def dropout_rows(present):
    """Return how many subjects are there at each occasion, how many left for good before it and how many came back.

    `present` holds subjects x occasions in order. A subject has left when it is there at no later occasion.
    """
    there = present.to_numpy(dtype=bool)
    later = there[:, ::-1].cumsum(axis=1)[:, ::-1]
    rows = []
    for at, name in enumerate(present.columns):
        left = (later[:, at] == 0) & (there.any(axis=1))
        rows.append({"occasion": str(name), "subjects": len(there), "present": int(there[:, at].sum()),
                     "left_for_good": int(left.sum()),
                     "missing_but_back_later": int((~there[:, at] & (later[:, at] > 0)).sum()),
                     "percent_present": 100 * there[:, at].mean()})  # fmt: skip
    return rows


def numbered_columns(gaps):
    """Return the columns of one measurement in order (pain_0, pain_2, pain_8) where a later one has gaps, else []."""
    import re

    families = {}
    for name in gaps:
        match = re.fullmatch(
            r"(.*?[A-Za-z])([ _.-]*(?:t|v|w|wk|week|day|d|m|month|visit)?[ _.-]*)(\d+(?:\.\d+)?)([a-z]*)", str(name)
        )
        if match:
            families.setdefault((match[1], match[2], match[4]), []).append((float(match[3]), name))
    time = r"(?:^|[ _.-])(?:t|v|w|wk|week|d|day|m|month|visit|session|time|year|y)[ _.-]*$"
    found = []
    for key, own in families.items():
        steps = {b - a for (a, _), (b, _) in zip(sorted(own), sorted(own)[1:], strict=False)}
        if len(own) > 2 and (re.search(time, "".join(key[:2]), re.IGNORECASE) or steps != {1.0}):  # items count 1, 2, 3
            found.append([name for _, name in sorted(own)])
    found = [own for own in found if gaps[own[1:]].any().any()]
    return found[0] if len(found) == 1 else []


def missing_figure(rows, patterns, n_rows):
    """Draw the missing share of every column beside the patterns in which columns are missing."""
    import numpy as np

    drawn = sorted((row for row in rows if row["missing"]), key=lambda row: -row["missing"])[:30]
    drawn = drawn or rows[:30]
    names = [row["column"] for row in drawn]
    shown = patterns[:12]
    figure, (bars, tiles) = new_axes(width=min(14, 6.0 + 0.45 * len(shown)), height=1.8 + 0.3 * len(names), panels=2)
    bars.barh(range(len(names)), [row["percent"] for row in drawn], color=palette(2)[1], height=0.7)
    for at, row in enumerate(drawn):
        bars.text(row["percent"], at, f" {row['missing']}", va="center", fontsize=8)
    bars.set_yticks(range(len(names)), [name if len(name) <= 24 else name[:22] + ".." for name in names])
    bars.set_ylim(len(names) - 0.5, -0.5)
    bars.set_xlim(0, max(1.0, 1.15 * max(row["percent"] for row in drawn)))
    bars.set_xlabel(f"missing (% of {n_rows} rows)")
    gone = np.array([[name in row["missing_columns"].split(" + ") for row in shown] for name in names], dtype=float)
    tiles.imshow(gone, aspect="auto", cmap="Greys", vmin=0, vmax=1.3, interpolation="nearest")
    tiles.set_xticks(np.arange(len(shown) + 1) - 0.5, minor=True)
    tiles.set_yticks(np.arange(len(names) + 1) - 0.5, minor=True)
    tiles.grid(which="minor", color="0.8", linewidth=0.6)
    tiles.tick_params(which="minor", length=0)
    tiles.set_xticks(range(len(shown)), [str(row["rows"]) for row in shown])
    tiles.set_yticks([])
    more = f" ({len(shown)} of {len(patterns)} patterns)" if len(patterns) > len(shown) else ""
    tiles.set_xlabel(f"rows with this pattern, dark = missing{more}", fontsize=9)
    return figure


def association_text(row):
    """Return the sentence on one column's gaps and what they go with."""
    p = format_p(row["p_adj"]).replace("p ", "adjusted p ", 1)
    if "effect" in row:
        side = "higher" if row["effect"] > 0.5 else "lower"
        return (f"{row['column']} is missing where {row['goes_with']} is {side}: median "
                f"{format_number(row['where_missing'])} in the {row['n_missing']} rows without {row['column']} against "
                f"{format_number(row['where_present'])} in the "
                f"{row['n_present']} with it ({row['test']}, {p}).")  # fmt: skip
    return (f"{row['column']} is missing more often in {row['goes_with']} {row['highest_level']} "
            f"({row['highest_percent']:.1f} %) than in {row['lowest_level']} ({row['lowest_percent']:.1f} %; "
            f"{row['test']}, {p}).")  # fmt: skip


def no_association_text(row):
    """Return the sentence on gaps that are not shown to go with a column that was asked for."""
    p = format_p(row["p_adj"]).replace("p ", "adjusted p ", 1)
    if "effect" in row:
        return (f"{row['column']} is not shown to be missing where {row['goes_with']} is high or low: median "
                f"{format_number(row['where_missing'])} without it, {format_number(row['where_present'])} with it "
                f"({row['test']}, {p}).")  # fmt: skip
    return (f"{row['column']} is not shown to be missing more often in one {row['goes_with']} than in another: "
            f"{row['highest_percent']:.1f} % at most ({row['highest_level']}), {row['lowest_percent']:.1f} % at least "
            f"({row['lowest_level']}; {row['test']}, {p}).")  # fmt: skip


def presence(table, gaps, visits, subject, occasion):
    """Return subjects x occasions, True where there is a value, from wide columns or a long table; else None."""
    import pandas as pd

    if visits:
        return ~gaps[visits]
    if not (subject and occasion):
        return None
    measured = [name for name in gaps.columns if name not in (subject, occasion)]
    frame = pd.DataFrame({"subject": level_labels(table[subject]), "occasion": level_labels(table[occasion]),
                          "there": (~gaps[measured]).any(axis=1)})  # fmt: skip
    wide = frame.dropna().pivot_table(
        index="subject", columns="occasion", values="there", aggfunc="max", fill_value=False
    )
    return wide.reindex(columns=order_levels(wide.columns)).astype(bool) if wide.shape[1] > 1 else None


@tool(
    name="missing_values",
    title="Missing values and their pattern",
    description=(
        "Count the missing values of every column (or those named), overall and in each group; show which columns are "
        "missing together; test whether the gaps go with another column (Mann-Whitney, chi-square or Fisher, "
        "Benjamini-Hochberg) and Little's test that numbers are missing completely at random; for visits in order, who "
        "leaves for good. Words for a missing value (n.d., unknown) and lone codes (-99) are counted as missing and "
        "said. Nothing is filled in."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "counts of gaps, Mann-Whitney, chi-square or Fisher tests of what they go with, and Little's test",
    ),
    inputs={"table": "table: any table"},
    outputs={
        "missing_table": "table: present and missing values of every column",
        "patterns": "table: which columns are missing together, and in how many rows",
        "missing_plot": "figure: missing share of columns, and patterns",
        "by_group": "table: missing values of every column in each group",
        "pairs": "table: how often two columns are missing together, and by chance",
        "associations": "table: with what the gaps go",
        "mcar_test": "table: Little's test",
        "dropout": "table: who is there at each occasion, who left, who came back",
    },
    optional_outputs=("by_group", "pairs", "associations", "mcar_test", "dropout"),
    params={
        "visits": param("Columns of one measurement in order of time, to see who leaves; empty to take columns whose "
                        "names differ by a number only", kind="columns", of="table", role="strata"),
        "columns": param("Columns to look at; empty for all", kind="columns", of="table", role="anything"),
        "group": param("Count in each level of this column", kind="column", of="table", role="split",
                       distinct=MOST_GROUPS),
        "subject": param("Who has several rows (long form)", kind="column", of="table", role="cluster"),
        "occasion": param("Time or visit of a row (long form)", kind="column", of="table", role="over"),
        "missing_codes": param("Count lone codes such as -99 as missing"),
        "alpha": param("Adjusted p-value below which gaps are said to go with a column", minimum=1e-10, maximum=0.5,
                       decides="Adjusted p-value below"),
    },
    answers=["missing_values"],
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "missing_counts_add_up"),
    keywords=("missing values", "missing data", "MCAR", "Little's test", "missing at random", "missingness", "blanks",
              "gaps", "empty cells", "NA count", "incomplete", "dropout", "drop-out", "complete cases", "holes",
              "missing data pattern", "percent missing", "lost to follow-up"),
    citations=(
        Citation(
            title="A test of missing completely at random for multivariate data with missing values",
            authors="Little RJA",
            year=1988,
            doi="10.1080/01621459.1988.10478722",
        ),
        Citation(title="Inference and missing data", authors="Rubin DB", year=1976, doi="10.1093/biomet/63.3.581"),
        Citation(
            title="Controlling the false discovery rate: a practical and powerful approach to multiple testing",
            authors="Benjamini Y, Hochberg Y",
            year=1995,
            doi="10.1111/j.2517-6161.1995.tb02031.x",
        ),
    ),
    packages=("scipy", "numpy", "pandas", "matplotlib"),
    seconds=3.0,
    example="Which columns have gaps, and does the gap in albumin go with age?",
)  # fmt: skip
def missing_values(
    table,
    *,
    visits: list[str] = [],  # noqa: B006 - a plain default, never changed
    columns: list[str] = [],  # noqa: B006 - a plain default, never changed
    group: str = "",
    subject: str = "",
    occasion: str = "",
    missing_codes: bool = True,
    alpha: float = 0.05,
):
    """Count missing values, show which are missing together and with what the gaps go (Rubin 1976, Little 1988).

    Shares are in percent of the rows; p-values are adjusted over all tests of the step.

    Raises:
        ValueError: when the table has fewer than two rows, or a named column does not exist.
    """
    import pandas as pd

    table = plain_table(table)
    if len(table) < 2:
        raise ValueError(f"The table has {len(table)} rows; a pattern of missing values needs at least two.")
    require_columns(table, list(dict.fromkeys([*visits, *columns, *(n for n in (group, subject, occasion) if n)])))
    chosen = list(dict.fromkeys([*columns, *visits])) if columns else [n for n in table.columns if n != group]
    if not chosen:
        raise ValueError("There is no column to look at besides the grouping one; name at least one other column.")
    cells = {name: missing_cells(table[name], missing_codes) for name in chosen}
    gaps = pd.DataFrame({name: gone for name, (gone, _) in cells.items()})
    said = [text for _, notes in cells.values() for text in notes]
    warnings = [f"Counted as missing: {'; '.join(said[:8])}."] if said else []
    rows = [{"column": name, "present": int((~gaps[name]).sum()), "missing": int(gaps[name].sum()),
             "percent": 100 * float(gaps[name].mean())} for name in chosen]  # fmt: skip
    # Columns that are named and have no gap are what the gaps may go with.
    asked = [name for name in columns if not gaps[name].any()] if columns and gaps.any().any() else []
    asked = [group, *asked] if group else asked
    grouping = next((name for name in asked if level_labels(table[name]).nunique() <= 12), "")
    group = group or grouping
    patterns, n = pattern_rows(gaps), len(table)
    holes = int(gaps.any(axis=1).sum())
    worst = max(rows, key=lambda row: row["missing"])
    frame, pattern_table = pd.DataFrame(rows), pd.DataFrame(patterns)
    incomplete = [row for row in rows if row["missing"]]
    if incomplete:
        others = [f"{row['column']} {row['missing']}" for row in incomplete if row is not worst][:5]
        which = [f"row {at} lacks {in_a_row(gaps.columns[gone])}"
                 for at, gone in enumerate(gaps.to_numpy(), start=1) if gone.any()] if holes <= 10 else []  # fmt: skip
        at = f" ({', '.join(row.partition(' lacks')[0] for row in which)})" if which else ""
        lacking = f"{worst['missing']} of {n} values ({worst['percent']:.1f} %)"
        text = f"{worst['column']} lacks {lacking}{at}." if len(chosen) == 1 else (
            f"{len(incomplete)} of {len(chosen)} columns have gaps: {worst['column']} lacks most, {lacking}"
            f"{', then ' if others else ''}{', '.join(others)}; {holes} of {n} "
            f"rows ({100 * holes / n:.1f} %) lack a value in at least one column{' (' if which else ''}"
            f"{', '.join(which)}{')' if which else ''} and {n - holes} are complete."
        )  # fmt: skip
    else:
        text = f"No value is missing in any of the {len(chosen)} columns: all {n} rows are complete."
    findings = [{"text": text, "values": finding_values(missing=worst["missing"], percent=worst["percent"]),
                 "output": "missing_table", "row": table_row(frame, column=worst["column"])}]  # fmt: skip
    ranked = sorted(incomplete, key=lambda row: -row["missing"])[1:8]
    findings += [{"text": f"{row['column']}: {row['missing']} of {n} values are missing ({row['percent']:.1f} %).",
                  "values": finding_values(missing=row["missing"], percent=row["percent"]), "output": "missing_table",
                  "row": table_row(frame, column=row["column"])} for row in ranked]  # fmt: skip

    by_group = None
    if group:
        labels = level_labels(table[group]).fillna("(no group)")
        if labels.nunique() > MOST_GROUPS:
            raise ValueError(f"Column {group!r} has {labels.nunique()} values; at most {MOST_GROUPS} groups can be "
                             "counted. Choose another column.")  # fmt: skip
        by_group = pd.DataFrame(
            [{"group": level, "column": name, "rows": int((labels == level).sum()),
              "missing": int(gaps.loc[labels == level, name].sum()),
              "percent": 100 * float(gaps.loc[labels == level, name].mean())}
             for level in order_levels(labels) for name in chosen]
        )  # fmt: skip
    pairs = pair_rows(gaps)
    together = [row for row in pairs if row["both_missing"] >= 2 and row["both_missing"] > row["expected_by_chance"]]
    if together:
        row = max(together, key=lambda row: row["both_missing"] - row["expected_by_chance"])
        findings.append(
            {"text": f"{row['column_1']} and {row['column_2']} are missing together in {row['both_missing']} rows; by "
                     f"chance it would be {format_number(row['expected_by_chance'], 2)}.",
             "values": finding_values(both_missing=row["both_missing"], expected_by_chance=row["expected_by_chance"]),
             "output": "pairs", "row": {"pair": row["pair"]}}
        )  # fmt: skip
    elif len(pairs):
        findings.append(
            {"text": "No two columns are missing together more often than chance would have it.", "values": []}
        )
    scope = table[list(dict.fromkeys([*asked, *columns]))] if asked and columns else table
    associations = association_rows(scope, gaps, group if group in scope else "")
    found = [row for row in associations if row["p_adj"] < alpha]
    found = sorted(found, key=lambda row: row["goes_with"] not in asked)  # what was asked leads
    told = [association_text(row) for row in found if row["goes_with"] in asked][:2]
    told += [no_association_text(row) for row in associations if row["goes_with"] in asked and row["p_adj"] >= alpha][
        :2
    ]
    if told and incomplete:
        findings[0]["text"] = " ".join([f"{findings[0]['text'].partition('; ')[0]}.", *told])
    findings += [{"text": association_text(row), "output": "associations", "row": {"tested": row["tested"]},
                  "values": finding_values(p_value=row["p_value"], p_adj=row["p_adj"])}
                 for row in found[:6]]  # fmt: skip
    quiet = [row for row in associations if row["goes_with"] in asked and row["p_adj"] >= alpha]
    findings += [{"text": no_association_text(row), "values": finding_values(p_value=row["p_value"], p_adj=row[
        "p_adj"]),
                  "output": "associations", "row": {"tested": row["tested"]}} for row in quiet[:4]]  # fmt: skip
    if associations and not found and not quiet:
        findings.append({"text": f"The gaps are not shown to go with any other column (smallest adjusted "
                                 f"{format_p(min(row['p_adj'] for row in associations))} of {len(associations)} "
                                 f"tests).",
                         "values": []})  # fmt: skip
    numbers = pd.DataFrame(
        {name: pd.to_numeric(table[name].mask(gaps[name]), errors="coerce") for name in chosen
         if name not in (subject, group) and str(name).casefold() not in ("id", "row", "rownames", "index",
             "unnamed: 0")
         and pd.to_numeric(table[name].mask(gaps[name]), errors="coerce").notna().sum() == (~gaps[name]).sum()}
    )  # fmt: skip
    numbers = numbers.loc[:, numbers.nunique() > 1].astype(float)
    little = little_test(numbers) if 2 <= numbers.shape[1] <= 30 and numbers.isna().any().any() else None
    if little:
        verdict = ("the numbers are not missing completely at random" if little["p_value"] < alpha else
                   "no evidence against numbers missing completely at random, which is no proof of it")  # fmt: skip
        findings.append(
            {"text": f"Little's test over {numbers.shape[1]} numeric columns: chi-squared {little['statistic']:.1f} on "
                     f"{little['df']} degrees of freedom, {format_p(little['p_value'])}: {verdict}.",
             "values": finding_values(statistic=little["statistic"], df=little["df"], p_value=little["p_value"]),
             "output": "mcar_test", "row": {"test": little["test"]}}
        )  # fmt: skip
    visits = visits or ([] if subject and occasion else numbered_columns(gaps))
    there, dropout = presence(table, gaps, visits, subject, occasion), None
    if there is not None:
        dropout = pd.DataFrame(dropout_rows(there))
        back, last = int(dropout["missing_but_back_later"].sum()), dropout.iloc[-1]
        kind = (
            "nobody came back after a gap (monotone dropout)" if not back else f"{back} gaps lie before a later value"
        )
        findings.append(
            {"text": f"Of {last['subjects']} subjects, {last['present']} ({last['percent_present']:.1f} %) have a "
                     f"value at the "
                     f"last occasion ({last['occasion']}) and {int(there.all(axis=1).sum())} at all {len(dropout)}; "
                     f"{kind}.",
             "values": finding_values(present=last["present"], subjects=last["subjects"]), "output": "dropout",
             "row": table_row(dropout, occasion=last["occasion"])}
        )  # fmt: skip
    if incomplete:
        warnings.append(
            "Whether values are missing because of what they would have been (the sickest did not come) cannot be "
            "seen in the data; only what is known of those rows was compared."
        )
    half = [row["column"] for row in rows if row["percent"] > 50]
    if half:
        warnings.append(f"More than half of the values are missing in: {', '.join(half[:10])}.")
    return {
        "missing_table": frame, "patterns": pattern_table, "missing_plot": missing_figure(rows, patterns, n),
        "by_group": by_group, "pairs": pd.DataFrame(pairs) if pairs else None,
        "associations": pd.DataFrame(associations) if associations else None,
        "mcar_test": pd.DataFrame([little]) if little else None, "dropout": dropout, "findings": findings,
        "warnings": warnings,
    }  # fmt: skip
