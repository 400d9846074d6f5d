"""Why odd rows are named and never removed: whether a value is an error or the finding is not in the numbers.

Every column by the distance from its median and by quartile fences, every row by all columns together, so that a weight
that is possible but not at this height is found too. What cannot be (a negative weight, a code for a missing value) is
said as such.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import (
    finding_values,
    format_number,
    in_a_row,
    level_labels,
    new_axes,
    order_levels,
    palette,
    plain_table,
    require_columns,
)


@check("odd_values_lie_outside")
def odd_values_lie_outside(step: StepOutputs) -> Iterator[Issue]:
    """Every value listed as far from the rest lies outside the limits listed beside it."""
    if "odd_values" not in step.files:
        return
    table = step.table("odd_values")
    if not {"value", "lower_limit", "upper_limit"} <= set(table.columns):
        return
    known = table.dropna(subset=["value", "lower_limit", "upper_limit"])
    known = known[known["kind"].isin(["far out", "outside the fences"])]
    inside = (known["value"] >= known["lower_limit"]) & (known["value"] <= known["upper_limit"])
    if inside.any():
        message = f"{int(inside.sum())} values listed as odd lie within their limits."
        yield Issue(code="odd_value_inside", severity="error", message=message, where="odd_values")


def read_numbers(column):
    """Return a column as numbers, and the cells that are text among numbers; None where it is no column of numbers."""
    import pandas as pd

    if pd.api.types.is_bool_dtype(column) or pd.api.types.is_datetime64_any_dtype(column):
        return None, []
    text = column.astype(str).str.strip()
    filled = column.notna() & (text != "")
    numbers = pd.to_numeric(column.where(filled), errors="coerce").astype(float)
    numbers = numbers.where(numbers.abs() != float("inf"))
    odd = filled & numbers.isna()
    if numbers.notna().sum() < 3 or odd.sum() > 0.2 * filled.sum():
        return None, []
    return numbers, [(at, text.loc[at]) for at in column.index[odd]]


def impossible_values(numbers, name):
    """Return index -> what cannot be: codes for a missing value, and signs or sizes that the column's name excludes."""
    import re

    words = " ".join(re.findall(r"[a-z%]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", str(name)).lower()))
    known = numbers.dropna()
    found = {}
    for code in (-9.0, -88.0, -99.0, -999.0, -9999.0, 999.0, 9999.0):
        rest = known[(known != code) & ~known.index.isin(list(found))]
        floor = 0.0 if code == -9 else code / 2  # a single -9 among negative numbers is one of them
        plain = rest[rest > code] if code < 0 else rest
        lone = len(rest) > 2 and (
            plain.quantile(0.05) >= floor and len(plain) == len(rest) if code < 0 else code > 5 * rest.abs().max()
        )
        if lone:
            found |= dict.fromkeys(known.index[known == code], f"looks like a code for a missing value ({code:g})")
    changes = re.search(
        r"\b(change|diff|difference|delta|log|lfc|score|z|gain|loss|residual|effect|slope|balance)\b", words
    )
    sizes = (r"\b(weight|mass|length|height|width|depth|diameter|girth|area|volume|age|count|number|cells|"
             r"concentration|conc|dose|size|duration|pressure|rate|pulse|glucose|creatinine|percent|pct|yield|girth|"
             r"bmi|years|kg|mg|cm|mm)\b|%")  # fmt: skip
    rest = known[~known.index.isin(list(found))]
    if not changes and re.search(sizes, words):
        found |= dict.fromkeys(rest.index[rest < 0], "cannot be negative")
        if re.search(r"\b(weight|mass|length|height|width|diameter|girth|bmi)\b", words):
            found |= dict.fromkeys(rest.index[rest == 0], "cannot be zero")
        if re.search(r"\b(percent|pct)\b|%", words):
            found |= dict.fromkeys(rest.index[rest > 100], "is above 100 %")
        if re.search(r"\bage\b", words) and rest.median() < 100:
            found |= dict.fromkeys(rest.index[rest > 125], "is above any age of a person")
    if re.search(r"(?:^|[ _.-])ph(?:$|[ _.(\[-])", str(name), re.IGNORECASE):
        found |= dict.fromkeys(rest.index[(rest < 0) | (rest > 14)], "is outside the scale of pH")
    return found


def skewed_to_high(numbers):
    """Say whether positive values over a wide range are skewed to high values and less so on a log scale."""
    import numpy as np

    x = numbers.dropna().to_numpy()
    if len(x) < 15 or (x <= 0).any():
        return False
    if np.percentile(x, 87.5) < 2 * np.percentile(x, 12.5):
        return False
    skew = []
    for values in (x, np.log(x)):
        low, middle, high = np.percentile(values, [12.5, 50, 87.5])
        skew.append((high + low - 2 * middle) / (high - low) if high > low else 0.0)
    return bool(skew[0] > 0.3 and abs(skew[1]) < skew[0])


def robust_limits(x, rule, limit, logs=False):
    """Return median, scale, quartiles and the limits of a rule for values, and how the scale was had.

    Rules: `mad` is 0.6745 |x - median| / MAD > 3.5 (Iglewicz and Hoaglin 1993), with the mean absolute deviation where
    more than half of the values are equal; `iqr` Tukey's fences of 1.5 interquartile ranges; `sd` 3 standard
    deviations.
    With `logs` all of it is on the log scale, and only `scale` stays there.
    """
    import numpy as np

    x = np.log(x) if logs else x
    median, (q1, q3) = float(np.median(x)), np.percentile(x, [25, 75])
    mad, how = float(np.median(np.abs(x - median))), "MAD"
    scale = mad / 0.6744897501960817
    if scale == 0:
        scale, how = 1.2533141373155003 * float(np.mean(np.abs(x - median))), "mean absolute deviation"
    fence = limit if rule == "iqr" else 1.5
    row = {"median": median, "q1": float(q1), "q3": float(q3), "lower_fence": float(q1 - fence * (q3 - q1)),
           "upper_fence": float(q3 + fence * (q3 - q1))}  # fmt: skip
    if rule == "iqr":
        low, high = row["lower_fence"], row["upper_fence"]
    elif rule == "sd":
        mean, sd = float(np.mean(x)), float(np.std(x, ddof=1))
        low, high = mean - limit * sd, mean + limit * sd
    else:
        low, high = median - limit * scale, median + limit * scale
    row |= {"lower_limit": float(low), "upper_limit": float(high)}
    if logs:
        row = {key: float(np.exp(value)) for key, value in row.items()}
    return {"n": len(x), "scale": scale, "scale_from": how, "judged_on": "log scale" if logs else "own scale"} | row


def unit_hint(value, row, name):
    """Return how an odd value would fit the rest: a shifted comma, or pounds for kilograms; "" where nothing does."""
    import re

    if value <= 0 or row["q1"] <= 0 or row["judged_on"] == "log scale" or row["q3"] > 3 * row["q1"]:
        return ""
    factors = [
        (10.0, "a shifted decimal point"),
        (100.0, "a shifted decimal point"),
        (1000.0, "a unit 1000 times smaller"),
    ]
    if re.search(r"weight|mass|kg|lb", str(name), re.IGNORECASE):
        factors.append((2.20462, "pounds in place of kilograms"))
    for factor, why in factors:
        for sign, what in ((1, "divided by"), (-1, "times")):
            other = value / factor**sign
            if row["q1"] - 0.5 * (row["q3"] - row["q1"]) <= other <= row["q3"] + 0.5 * (row["q3"] - row["q1"]):
                small = sign == 1 or factor == 2.20462
                return f"{what} {factor:g} it would fit ({why if small else why.replace('smaller', 'larger')}?)"
    return ""


def column_oddities(numbers, name, labels, rule, limit):
    """Return the odd values of one column, and the limits of every group they were judged in."""
    import math

    odd, limits = [], []
    impossible = impossible_values(numbers, name)
    logs = rule == "mad" and skewed_to_high(numbers.drop(list(impossible)))
    for level in order_levels(labels):
        own = numbers[(labels == level) & numbers.notna()]
        codes = [at for at in own.index if at in impossible]
        for at in codes:
            odd.append({"at": at, "group": level, "column": name, "value": float(own[at]), "kind": "impossible",
                        "why": impossible[at], "size": float("inf")})  # fmt: skip
        x = own.drop(codes)
        if len(x) < 5 or x.nunique() < 3:
            continue
        row = robust_limits(x.to_numpy(), rule, limit, logs)
        if row["scale"] == 0 or row["lower_limit"] == row["upper_limit"]:
            continue
        here = 0
        for at, value in x.items():
            z = (math.log(value / row["median"]) if logs else value - row["median"]) / row["scale"]
            far = not row["lower_limit"] <= value <= row["upper_limit"]
            fenced = not row["lower_fence"] <= value <= row["upper_fence"]
            if not far and not (fenced and rule == "mad"):
                continue
            here += far
            side = "above" if value > row["median"] else "below"
            how = f"is {format_number(abs(z))} robust SD {side} the median of {format_number(row['median'])}" + (
                " on a log scale" if logs else ""
            )
            hint = unit_hint(value, row, name) if far else ""
            low, high = ("lower_limit", "upper_limit") if far else ("lower_fence", "upper_fence")
            odd.append({"at": at, "group": level, "column": name, "value": float(value),
                        "kind": "far out" if far else "outside the fences", "why": how + (f"; {hint}" if hint else ""),
                        "size": abs(z), "robust_z": float(z),
                        "lower_limit": row[low], "upper_limit": row[high]})  # fmt: skip
        limits.append({"column": name, "group": level} | row | {"n_far_out": here})
    return odd, limits


def ordinary_distance(n, p, quantile, seed):
    """Return the robust distance within which this part of ordinary rows lies: chi-squared, or simulated for few rows.

    With few rows for the columns the chi-squared cut-off flags many ordinary rows (8 % in place of 0.1 % for 58 rows of
    6 columns), so the quantile of the distances of 30 normal samples of the same size is taken (after Cerioli 2010).
    """
    import numpy as np
    from scipy.stats import chi2
    from sklearn.covariance import MinCovDet

    cut = float(np.sqrt(chi2.ppf(quantile, p)))
    if n >= 100 * p or n > 1000:
        return cut
    rng, found = np.random.default_rng(seed), []
    for _ in range(30):
        x = rng.normal(size=(n, p))
        found.append(MinCovDet(random_state=seed).fit(x).mahalanobis(x))
    return max(cut, float(np.sqrt(np.quantile(np.concatenate(found), quantile))))


def row_oddities(frame, labels, quantile, seed):
    """Return robust Mahalanobis distances of complete rows with the column that fits least, the cut-off, or why not.

    Minimum covariance determinant about the medians of the groups; a column's part in the squared distance is what it
    adds given all the others, and its fitting value is the one predicted from them.
    """
    import warnings as quiet

    import numpy as np
    from sklearn.covariance import MinCovDet

    full = frame.dropna()
    full = full.loc[:, full.nunique() > 1]
    logged = [name for name in full if skewed_to_high(full[name])]
    full = full.assign(**{name: np.log(full[name]) for name in logged})
    middle = full.groupby(labels.loc[full.index]).transform("median")
    full = full - middle
    n, p = full.shape
    if p < 2:
        return None, 0.0, ""
    if n < max(20, 5 * p):
        return None, 0.0, (f"Rows were not judged by all columns together: {n} complete rows are too few for {p} "
                           f"columns (at least {max(20, 5 * p)}).")  # fmt: skip
    spread = full.abs().median()
    spread = spread.where(spread > 0, full.std())
    if (spread == 0).any():
        return None, 0.0, (f"Rows were not judged by all columns together: {spread.index[spread == 0][0]} does not "
                           "vary within the groups.")  # fmt: skip
    x = (full / spread).to_numpy()
    with quiet.catch_warnings():
        quiet.simplefilter("ignore")
        try:
            fit = MinCovDet(random_state=seed).fit(x)
        except ValueError:  # most rows are equal, so that their covariance is 0
            return None, 0.0, "Rows were not judged by all columns together: most of them are equal in all columns."
        cut = ordinary_distance(n, p, quantile, seed)
    if np.linalg.cond(fit.covariance_) > 1e10:
        return None, 0.0, ("Rows were not judged by all columns together: some columns are computed from others or "
                           "hardly vary. Name fewer columns for that.")  # fmt: skip
    inverse = np.linalg.inv(fit.covariance_)
    pulled = (x - fit.location_) @ inverse
    distance = np.einsum("ij,ij->i", pulled, x - fit.location_)
    parts = pulled**2 / np.diag(inverse)
    expected = (x - pulled / np.diag(inverse)) * spread.to_numpy() + middle.to_numpy()
    worst = parts.argmax(axis=1)
    back = [np.exp if name in logged else float for name in full]
    rows = [{"at": at, "distance": float(np.sqrt(distance[i])),
             "column": full.columns[worst[i]], "value": float(frame.loc[at, full.columns[worst[i]]]),
             "expected_from_others": float(back[worst[i]](expected[i, worst[i]]))}
            for i, at in enumerate(full.index)]  # fmt: skip
    return rows, cut, ""


def row_names(table, group):
    """Return the name of every row: a column of different texts (an id) where there is one, else its number."""
    import pandas as pd

    for name in table.columns:
        column = table[name]
        named = str(name).casefold() in ("id", "sample", "patient", "subject", "animal", "name")
        text = not pd.api.types.is_numeric_dtype(column) or named
        if name != group and text and column.notna().all() and column.is_unique and len(column) > 1:
            return level_labels(column), str(name)
    return pd.Series([str(n + 1) for n in range(len(table))], index=table.index), ""


def odd_figure(frame, labels, odd, limits, names):
    """Draw every value of every column as robust z, with the odd ones named."""
    import numpy as np

    shown = list(dict.fromkeys(row["column"] for row in sorted(limits, key=lambda row: -row["n_far_out"])))[:20]
    figure, axis = new_axes(width=6.8, height=1.8 + 0.42 * len(shown))
    rng, colours = np.random.default_rng(0), palette(6)
    reach = 12.0
    known = {(row["column"], row["group"]): row for row in limits}
    far = {(row["at"], row["column"]): row for row in odd if row["kind"] == "far out"}
    for at, name in enumerate(shown):
        for level in order_levels(labels):
            row = known.get((name, level))
            own = frame.loc[labels == level, name].dropna()
            if row is None or own.empty:
                continue
            if row["judged_on"] == "log scale":
                own, row = np.log(own), row | {"median": np.log(row["median"])}
            z = ((own - row["median"]) / row["scale"]).clip(-reach, reach)
            lift = at + rng.uniform(-0.22, 0.22, len(z))
            red = np.array([(index, name) in far for index in own.index])
            axis.scatter(z[~red], lift[~red], s=10, color=colours[0], alpha=0.5, linewidth=0)
            axis.scatter(z[red], lift[red], s=26, color=colours[5], marker="D", zorder=3)
            for index, height in zip(own.index[red][:6], lift[red][:6], strict=True):
                side = -1 if z[index] > 0.7 * reach else 1
                axis.annotate(names[index], (z[index], height), xytext=(5 * side, 4), textcoords="offset points",
                              fontsize=7, ha="left" if side > 0 else "right")  # fmt: skip
    axis.axvline(0, color="0.6", linewidth=0.8)
    axis.set_yticks(range(len(shown)), [name if len(str(name)) <= 24 else str(name)[:22] + ".." for name in shown])
    axis.set_ylim(len(shown) - 0.5, -0.5)
    axis.set_xlim(-reach - 1, reach + 1)
    axis.set_xlabel(f"distance from the median in robust SD (beyond ±{reach:g} drawn at the edge)")
    return figure


@tool(
    name="find_outliers",
    title="Outliers and values that cannot be right",
    description=(
        "Name the rows that look wrong, overall or within each group. Per column: the robust z-score from median and "
        "MAD "
        "(above 3.5) and Tukey's fences of 1.5 interquartile ranges, or standard deviations when asked for. Per row: "
        "robust Mahalanobis distance over all columns, with the column that fits the others least and the value that "
        "would fit. Impossible values (negative weights, codes such as -99, text among numbers) and slips of the "
        "comma or the unit are said. Nothing is removed."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "rule=iqr => Tukey's fences of 1.5 interquartile ranges; no test",
        "rule=sd => distance from the mean in standard deviations; no test",
        "robust z-scores from median and MAD; no test",
    ),
    inputs={"table": "table: numeric columns, a row a subject or sample"},
    outputs={
        "limits": "table: median, scale, quartiles and limits of every column",
        "odd_values": "table: single values that look wrong, and why",
        "odd_rows": "table: rows that stand apart in all columns together",
        "outlier_plot": "figure: every value as robust z",
    },
    optional_outputs=("odd_values", "odd_rows"),
    params={
        "columns": param("Columns to check; empty for all numeric ones", kind="columns", of="table", role="measures"),
        "group": param("Judge values within each level of this column", kind="column", of="table", role="split"),
        "rule": param(
            "Which rule makes a value far out",
            choices=["mad", "iqr", "sd"],
            words=["iqr: iqr|tukey|interquartile|fences", "sd: sds?\\b|standard deviations?", "mad: mad\\b|robust z"],
        ),
        "limit": param(
            "How far out: robust SD for mad (3.5), interquartile ranges for iqr (1.5), standard deviations for sd (3)",
            minimum=0.5,
            maximum=100,
            words=["sds?", "standard deviations?", "iqrs?", "interquartile ranges?", "beyond", "z"],
        ),
        "quantile": param("Part of ordinary rows that lies within the cut-off of the Mahalanobis distance", minimum=0.5,
                          maximum=0.999999, words=["quantile"]),
        "together": param("Judge rows by all columns together as well"),
        "seed": param("Seed of the robust covariance", minimum=0),
    },
    answers=["outliers"],
    shows={"odd_values": ["name", "row", "column", "value", "text", "why"], "odd_rows": [], "limits": []},
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "odd_values_lie_outside"),
    keywords=("outlier", "outliers", "Mahalanobis distance", "robust z-score", "extreme values", "suspicious rows",
              "typing errors", "implausible values", "impossible values", "Grubbs test", "Tukey fences",
              "multivariate outliers", "data cleaning", "weird values", "plausibility check", "1.5 IQR"),
    citations=(
        Citation(title="How to detect and handle outliers", authors="Iglewicz B, Hoaglin DC", year=1993),
        Citation(title="Exploratory data analysis", authors="Tukey JW", year=1977),
        Citation(
            title="Unmasking multivariate outliers and leverage points",
            authors="Rousseeuw PJ, van Zomeren BC",
            year=1990,
            doi="10.1080/01621459.1990.10474920",
        ),
        Citation(
            title="A fast algorithm for the minimum covariance determinant estimator",
            authors="Rousseeuw PJ, Van Driessen K",
            year=1999,
            doi="10.1080/00401706.1999.10485670",
        ),
        Citation(
            title="Multivariate outlier detection with high-breakdown estimators",
            authors="Cerioli A",
            year=2010,
            doi="10.1198/jasa.2009.tm09147",
        ),
    ),
    packages=("scikit-learn", "scipy", "numpy", "pandas", "matplotlib"),
    seconds=4.0,
    example="Which rows of body weight and height look like typing errors?",
    next_steps=(
        NextStep(text="Look the named rows up in the notebook; leave out only what is shown to be an error, and run "
                      "the analysis with and without the rest."),
    ),
)  # fmt: skip
def find_outliers(
    table,
    *,
    columns: list[str] = [],  # noqa: B006 - a plain default, never changed
    group: str = "",
    rule: str = "mad",
    limit: float | None = None,
    quantile: float = 0.999,
    together: bool = True,
    seed: int = 0,
):
    """Name values and rows that look wrong; nothing is removed.

    Limits are in the unit of each column; distances have no unit. Impossible values do not enter the limits (Iglewicz
    and Hoaglin 1993; Tukey 1977; Rousseeuw and van Zomeren 1990).

    Raises:
        ValueError: when no column has five numbers of at least three different sizes.
    """
    import pandas as pd

    table = plain_table(table)
    require_columns(table, [*columns, *([group] if group else [])])
    if rule not in ("mad", "iqr", "sd"):
        raise ValueError(f"There is no rule {rule!r}; expected mad, iqr or sd.")
    if limit is None:
        limit = {"mad": 3.5, "iqr": 1.5, "sd": 3.0}[rule]
    names, id_column = row_names(table, group)
    labels = level_labels(table[group]).fillna("(no group)") if group else pd.Series("all", index=table.index)
    frame, odd, limits, warnings = {}, [], [], []
    for name in columns or [n for n in table.columns if n not in (group, id_column)]:
        numbers, texts = read_numbers(table[name])
        if numbers is None:
            if columns:
                raise ValueError(f"Column {name!r} does not hold numbers; outliers are looked for in measurements. "
                                 "Choose a numeric column.")  # fmt: skip
            continue
        counting = str(name).casefold() in (
            "id",
            "row",
            "rownames",
            "index",
            "unnamed: 0",
            "nr",
            "no",
            "year",
            "month",
            "day",
        )
        if not columns and (counting or numbers.nunique() < 3):
            continue
        for at, text in texts:
            odd.append({"at": at, "group": labels[at], "column": name, "text": text, "kind": "no number", "size": float(
                "inf"),
                        "why": f"reads {text!r} among numbers"})  # fmt: skip
        found, own = column_oddities(numbers, name, labels, rule, limit)
        frame[name] = numbers.drop([row["at"] for row in found if row["kind"] == "impossible"]).reindex(table.index)
        odd, limits = odd + found, limits + own
    if not limits:
        raise ValueError(
            "No column has at least five numbers of three different sizes" + (" within a group" if group else "")
            + ", so that odd ones could be told; choose other columns or no grouping."
        )  # fmt: skip
    frame = pd.DataFrame(frame)
    joint = frame[[name for name in frame if columns or frame[name].nunique() > 6]]
    usable = together and len(joint.columns) <= 40
    rows, cut, problem = row_oddities(joint, labels, quantile, seed) if usable else (None, 0.0, "")
    warnings += [problem] if problem else []
    apart = sorted((row for row in rows or [] if row["distance"] > cut), key=lambda row: -row["distance"])

    order = {"no number": 0, "impossible": 0, "far out": 1, "outside the fences": 2}
    odd = sorted(odd, key=lambda row: (order[row["kind"]], -row["size"], row["at"]))
    position = {at: n + 1 for n, at in enumerate(table.index)}
    who = {
        at: (f"{id_column} {names[at]} (row {position[at]})" if id_column else f"row {position[at]}")
        for at in table.index
    }
    sure = [row for row in odd if row["kind"] in ("impossible", "no number")]
    far = [row for row in odd if row["kind"] == "far out"]
    mild = [row for row in odd if row["kind"] == "outside the fences"]
    by = {"mad": f"more than {limit:g} robust SD from the median", "iqr": f"outside fences of {limit:g} interquartile "
                                                                          f"ranges",
          "sd": f"more than {limit:g} SD from the mean"}[rule]  # fmt: skip
    named = list(dict.fromkeys(row["at"] for row in [*sure, *far, *apart]))
    within = f" within {group}" if group else ""
    kinds = [f"{len(sure)} values that cannot be" if sure else "", f"{len(far)} values {by}" if far else "",
             f"{len(apart)} rows that stand apart over all {len(joint.columns)} columns together"
             if rows and apart else ""]  # fmt: skip
    head = (
        f"{len(named)} of {len(table)} rows look wrong{within}: {in_a_row(filter(None, kinds))}."
        if named else
        f"None of {len(table)} rows looks wrong{within}: no impossible value and none {by}"
        + (f", and no row stands apart over all {len(joint.columns)} columns together" if rows else "") + "."
    )  # fmt: skip
    if sure:
        cells = ", ".join(f"{row['column']} {row['text'] if row['kind'] == 'no number' else format(row['value'], 'g')} "
                          f"({who[row['at']]})" for row in sure[:6])  # fmt: skip
        more = f" and {len(sure) - 6} more" if len(sure) > 6 else ""
        head = f"{'Values' if len(sure) > 1 else 'A value'} that cannot be: {cells}{more}. {head}"
    elif far:
        leading = sorted(far, key=lambda row: -row["size"])
        if len(leading) > 10:  # the furthest of each column: of many values in one the others would not be named
            leading = list({row["column"]: row for row in reversed(leading)}.values())
            leading = sorted(leading, key=lambda row: -row["size"])[:4]
        by_row = {}
        for row in leading:
            by_row.setdefault(who[row["at"]], []).append(f"{row['column']} {row['value']:g}")
        told = "; ".join(f"{', '.join(cells)} ({where})" for where, cells in by_row.items())
        head = f"{head[:-1]}; {'furthest out: ' if len(leading) < len(far) else ''}{told}."
    findings = [{"text": head, "values": finding_values(n_rows=len(table), n_impossible=len(sure), n_far_out=len(far),
                                                        n_rows_apart=len(apart))}]  # fmt: skip
    multi = {row["at"]: row for row in apart}
    cell = {row["at"]: f"row {position[row['at']]}, {row['column']}" for row in reversed([*sure, *far])}
    for at in named[:12]:
        reasons = [f"{row['column']} "
                   f"{'' if row['kind'] == 'no number' else format(row['value'], 'g') + ' '}{row['why']}"
                   for row in [*sure, *far] if row["at"] == at]  # fmt: skip
        if at in multi:
            row = multi[at]
            reasons.append(f"together with its other values {row['column']} {row['value']:g} does not fit, "
                           f"{format_number(row['expected_from_others'], 4)} would (robust distance "
                           f"{format_number(row['distance'])}, ordinary up to {format_number(cut)})")  # fmt: skip
        text = f"{who[at][0].upper()}{who[at][1:]}: {'; '.join(reasons)}."
        values = finding_values(distance=multi[at]["distance"]) if at in multi else []
        findings.append({"text": text, "values": values, "output": "odd_rows" if at in multi else "odd_values",
                         "row": {"row": position[at]} if at in multi else {"cell": cell[at]}})  # fmt: skip
    if len(named) > 12:
        warnings.append(f"{len(named) - 12} more rows look wrong; the tables name all.")
    if mild:
        warnings.append(f"{len(mild)} further values lie only outside the fences of 1.5 interquartile ranges, as "
                        f"about 1 in "
                        "140 ordinary values does; the table lists them.")  # fmt: skip
    logs = list(dict.fromkeys(row["column"] for row in limits if row["judged_on"] == "log scale"))
    if logs:
        warnings.append(f"Judged on a log scale, being skewed to high values: {', '.join(logs)}.")
    for name in dict.fromkeys(row["column"] for row in far):
        own, many = frame[name].dropna(), sum(row["column"] == name for row in far)
        if many > max(2, 0.05 * len(own)):
            warnings.append(f"{name} has {many} values far out of {len(own)}: so many speak for long tails or for "
                            f"groups in "
                            "the data rather than for errors.")  # fmt: skip
    if rows and len(apart) > max(2, 0.05 * len(rows)):
        warnings.append(f"{len(apart)} of {len(rows)} rows stand apart together: so many speak for groups in the "
                        f"data; name "
                        "the group to judge rows within it.")  # fmt: skip
    copies = int(table.duplicated().sum()) if len(table.columns) > 2 else 0
    if copies:
        first = [str(position[at]) for at in table.index[table.duplicated()]][:6]
        warnings.append(f"{copies} rows are exact copies of another row (row {', '.join(first)}).")
    equal = [row["column"] for row in limits if row["scale_from"] != "MAD"]
    if equal:
        warnings.append(f"More than half of the values are equal in {', '.join(dict.fromkeys(equal))}; the mean "
                        f"absolute "
                        "deviation was taken in place of the MAD.")  # fmt: skip
    gaps = int(joint.isna().any(axis=1).sum())
    if rows and gaps:
        warnings.append(f"{gaps} rows with a gap in a column were not judged by all columns together.")
    skipped = set(order_levels(labels)) - {row["group"] for row in limits}
    if skipped:
        warnings.append(f"Too few values to judge in: {', '.join(sorted(skipped)[:8])}.")
    keep = ["cell", "row", "name", "group", "column", "value", "text", "kind", "why", "robust_z", "lower_limit",
            "upper_limit"]  # fmt: skip
    odd_table = pd.DataFrame([row | {"row": position[row["at"]], "name": names[row["at"]], "cell":
                              f"row {position[row['at']]}, {row['column']}"} for row in odd])  # fmt: skip
    apart_table = pd.DataFrame([{"row": position[row["at"]], "name": names[row["at"]], "cutoff": cut}
                                | {key: row[key] for key in row if key != "at"} for row in apart])  # fmt: skip
    return {
        "limits": pd.DataFrame(limits),
        "odd_values": odd_table[[name for name in keep if name in odd_table]] if odd else None,
        "odd_rows": apart_table if apart else None,
        "outlier_plot": odd_figure(frame, labels, odd, limits, names),
        "findings": findings,
        "warnings": warnings,
    }
