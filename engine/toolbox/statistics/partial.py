"""Why apart: two measurements may go together only because both follow a third; what is left without it is asked."""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.linear import predictor_matrix
from engine.toolbox.tables.columns import (
    complete_rows,
    finding_values,
    format_p,
    new_axes,
    numeric_values,
    palette,
    plain_table,
    require_columns,
)
from engine.toolbox.tables.rows import table_row


@check("correlations_in_their_intervals")
def correlations_in_their_intervals(step: StepOutputs) -> Iterator[Issue]:
    """Every correlation lies between -1 and 1 and in its interval."""
    for _, row in step.table("partial").iterrows():
        if not -1 <= row["lower_95"] <= row["r"] <= row["upper_95"] <= 1:
            message = f"The correlation {row['r']} lies outside its interval or outside -1 to 1."
            yield Issue(code="correlation_outside_interval", severity="error", message=message, where="partial")


def left_over(values, design, name):
    """Return what of a measurement the design does not explain (residuals of least squares)."""
    import numpy as np

    rest = values - design @ np.linalg.lstsq(design, values, rcond=None)[0]
    if np.sqrt((rest**2).mean()) < 1e-9 * max(float(np.std(values)), 1e-300):
        raise ValueError(
            f"Column {name!r} is fully determined by what is held constant; nothing of it is left to correlate."
        )
    return rest


def correlation_row(kind, r, n, held, spearman):
    """Return r with its t-test on n - 2 - held degrees of freedom and Fisher's interval."""
    import math

    from scipy import stats

    df = n - 2 - held
    r = max(-1.0, min(1.0, float(r)))
    t = r * math.sqrt(df / max(1 - r * r, 1e-300))
    # Bonett and Wright (2000): Spearman's r scatters a little more than Pearson's.
    error = math.sqrt((1 + r * r / 2 if spearman else 1) / (df - 1))
    z, half = math.atanh(max(-1 + 1e-15, min(1 - 1e-15, r))), 1.959963984540054 * error
    return {"correlation": kind, "r": r, "lower_95": min(r, math.tanh(z - half)),
            "upper_95": max(r, math.tanh(z + half)),
            "t": t, "df": df, "p_value": float(2 * stats.t.sf(abs(t), df)), "n": n, "held": held}  # fmt: skip


def residual_figure(a, b, x, y, row):
    """Draw what is left of both measurements against each other, with the line through it."""
    import numpy as np

    figure, axis = new_axes(width=5.4)
    axis.scatter(a, b, s=18, color=palette(1)[0], alpha=0.75, edgecolor="white", linewidth=0.4)
    ends = np.array([a.min(), a.max()])
    axis.plot(ends, (a * b).sum() / (a * a).sum() * ends, color=palette(2)[1])
    axis.set_xlabel(f"{x}, rest")
    axis.set_ylabel(f"{y}, rest")
    axis.set_title(f"partial r = {row['r']:.2f}, n = {row['n']}", fontsize=10)
    return figure


@tool(
    name="partial_correlation",
    title="Partial correlation",
    description=(
        "Correlate two measurements with others held constant: what the others explain is taken out of both by linear "
        "regression and the rest is correlated, by Pearson or on ranks (Spearman), with Fisher's interval and a "
        "t-test; the "
        "plain correlation of the same rows stands beside it. Held columns may be numbers or groups. Rows are "
        "independent."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "method=spearman => partial correlation of ranks (Spearman), because {held} is held constant",
        "partial correlation (Pearson), because {held} is held constant",
    ),
    complete=("x", "y", "held"),
    answers=["partial_correlation"],
    inputs={"table": "table: one row a subject"},
    outputs={"partial": "table: partial and plain correlation", "residual_plot": "figure: what is left of both"},
    params={
        "x": param("First measurement", kind="column", of="table", role="x"),
        "y": param("Second measurement", kind="column", of="table", role="y"),
        "held": param("Columns held constant", kind="columns", of="table", role="held", least=1),
        "categorical": param("Numbers among them to take as groups", kind="columns", of="table", role="as_groups"),
        "method": param("Pearson, or Spearman on ranks", choices=["pearson", "spearman"],
                        words=["spearman: spearman|ranks?\\b|rank.based"]),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "correlations_in_their_intervals"),
    keywords=("partial correlation", "partial r", "controlling for", "held constant", "partialled out",
              "taken out of both",
              "partial Spearman", "ppcor", "pcor.test", "net of", "confounder removed"),
    citations=(
        Citation(title="The distribution of the partial correlation coefficient", authors="Fisher RA", year=1924),
        Citation(title="Sample size requirements for estimating Pearson, Kendall and Spearman correlations",
                 authors="Bonett DG, Wright TA", year=2000, doi="10.1007/BF02294183"),
    ),
    packages=("scipy", "numpy", "pandas"),
    seconds=2.0,
    example="Do mercury and age still go together with length held constant?",
    next_steps=(
        NextStep(text="What is held constant should come before {param:x} and {param:y}, never be their "
                      "consequence: holding a "
                      "consequence makes correlations that are not there."),
    ),
)  # fmt: skip
def partial_correlation(
    table,
    *,
    x: str,
    y: str,
    held: list[str],
    categorical: list[str] = [],  # noqa: B006 - a plain default, never changed
    method: str = "pearson",
):
    """Correlate two measurements with others held constant."""
    import numpy as np
    import pandas as pd

    held = list(dict.fromkeys([held] if isinstance(held, str) else held))
    if not held:
        raise ValueError("No column to hold constant was named; expected at least one. Without one take correlation.")
    if x == y or x in held or y in held:
        raise ValueError(f"{x!r}, {y!r} and what is held constant ({', '.join(held)}) must be different columns.")
    table = plain_table(table)
    require_columns(table, [x, y, *held])
    table, warnings = complete_rows(table, [x, y, *held])
    a, b = numeric_values(table, x), numeric_values(table, y)
    for name, values in ((x, a), (y, b)):
        if values.nunique() < 2:
            raise ValueError(
                f"Column {name!r} has the same value in all {len(table)} rows used; it correlates with nothing."
            )
    design = predictor_matrix(table, held, categorical)[0]
    plain = (a, b)
    if method == "spearman":
        a, b = a.rank(), b.rank()
        numbers = [name for name in design if name in held]
        design[numbers], plain = design[numbers].rank(), (a, b)
    scaled = design / np.maximum(design.abs().max(), 1e-300)
    count = int(np.linalg.matrix_rank(scaled.to_numpy())) - 1
    if count < design.shape[1] - 1:
        warnings.append("Some of what is held constant says the same twice; it was counted once.")
    if len(table) < count + 5:
        raise ValueError(
            f"{len(table)} complete rows are too few to hold {count} columns constant; expected {count + 5}."
        )
    rest = [left_over(values.to_numpy(), scaled.to_numpy(), name) for values, name in ((a, x), (b, y))]
    spearman, words = method == "spearman", ", ".join(held)
    rows = [
        correlation_row("partial", np.corrcoef(*rest)[0, 1], len(table), count, spearman),
        correlation_row("plain", np.corrcoef(*plain)[0, 1], len(table), 0, spearman),
    ]
    frame = pd.DataFrame(rows)
    row, bare = rows
    name = "Spearman" if spearman else "Pearson"
    clear = row["p_value"] < 0.05
    relation = ("still rise together" if row["r"] > 0 else "go in opposite directions") if clear else (
        "are not shown to go together any more" if bare["p_value"] < 0.05
        else "are not shown to go together")  # fmt: skip
    unseen = "" if clear else (
        f"; the data are compatible with r from {row['lower_95']:.2f} to {row['upper_95']:.2f}")  # fmt: skip
    text = (
        f"With {words} held constant {x} and {y} {relation}: partial {name} r = {row['r']:.3f} (95 % CI "
        f"{row['lower_95']:.3f} to {row['upper_95']:.3f}), {format_p(row['p_value'])}, n = {row['n']}; without holding "
        f"anything r = {bare['r']:.3f}{unseen}."
    )
    if clear and bare["p_value"] < 0.05 and row["r"] * bare["r"] < 0:
        warnings.append("The correlation changes its sign when the others are held constant.")
    if not spearman:
        warnings.append(
            "Only straight-line effects of what is held constant are taken out; look at the figure for bends."
        )
    if len(table) < 20:
        warnings.append(f"With {len(table)} rows only strong correlations can be seen.")
    values = finding_values(r=(row["r"], row["lower_95"], row["upper_95"]), p_value=row["p_value"], n=row["n"])
    findings = [
        {"text": text, "values": values, "output": "partial", "row": table_row(frame, correlation="partial")},
        {"text": f"The plain correlation of the same rows is {bare['r']:.3f} (95 % CI {bare['lower_95']:.3f} to "
                 f"{bare['upper_95']:.3f}), {format_p(bare['p_value'])}.",
         "values": finding_values(r=(bare["r"], bare["lower_95"], bare["upper_95"]), p_value=bare["p_value"]),
         "output": "partial", "row": table_row(frame, correlation="plain")},
    ]  # fmt: skip
    return {
        "partial": frame,
        "residual_plot": residual_figure(*rest, x, y, row),
        "findings": findings,
        "warnings": warnings,
    }
