"""Concentrations read from standards: the curve is fitted to what is known, then read backwards for what is not.

Reading backwards multiplies noise where the curve is flat, so every unknown has an interval, and what lies outside the
standards is called so and not extrapolated.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.pharmacology.fitting import finish_axes, said_range
from engine.toolbox.pharmacology.standards import (
    calibration_parts,
    chosen_fit,
    dilution_remarks,
    inverse_read,
    pcr_efficiency,
    standard_rows,
)
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import (
    finding_values,
    format_number,
    new_axes,
    numeric_values,
    palette,
    plain_table,
    require_columns,
)
from engine.toolbox.tables.rows import table_row


@check("unknowns_within_range")
def unknowns_within_range(step: StepOutputs) -> Iterator[Issue]:
    """An unknown called within range lies between the lowest and the highest standard, and within its interval."""
    table = step.table("unknowns") if "unknowns" in step.files else None
    if table is None:
        return
    inside = table[table["range"] == "within"]
    standards = step.table("standards")
    known = standards.loc[standards["concentration"] > 0, "concentration"]
    if ((inside["read"] < known.min() * (1 - 1e-6)) | (inside["read"] > known.max() * (1 + 1e-6))).any():
        message = "An unknown called within range lies outside the standards."
        yield Issue(code="unknown_outside_range", severity="error", message=message, where="unknowns")
    if ((inside["lower_95"] > inside["read"]) | (inside["upper_95"] < inside["read"])).any():
        message = "An unknown lies outside its own interval."
        yield Issue(code="interval_without_estimate", severity="error", message=message, where="unknowns")


def span_finding(read, beyond, tail, diluted):
    """Return the finding on several samples: the least and the most concentrated, and how many cannot be read."""
    if len(read) < 2:
        return []
    order = read.sort_values("concentration")
    least, most = (order.iloc[at] for at in (0, -1))
    told = [f"{format_number(row['concentration'])} ({row['sample']})" for row in (least, most)]
    also = f"; {beyond} more {'is' if beyond == 1 else 'are'} beyond the curve" if beyond else ""
    whole = f" undiluted ({format_number(diluted)} times that of the wells)" if diluted != 1 else ""
    text = f"The concentrations of {len(read)} samples run from {told[0]} to {told[1]}{tail}{whole}{also}."
    values = finding_values(lowest=float(least["concentration"]), highest=float(most["concentration"]), n=len(read))
    return [{"text": text, "values": values, "output": "unknowns"}]


@tool(
    name="standard_curve",
    title="Standard curve and unknowns",
    description=(
        "Fits a standard curve (four-parameter logistic, straight line, or line on log concentration with PCR "
        "efficiency), reads the concentrations of unknown samples from it with 95 % intervals, and gives recovery of "
        "the standards and the range that can be trusted. Rows without a concentration are the unknowns."
    ),
    domain="pharmacology",
    task_type="analysis",
    methods=(
        "model=4PL => four-parameter logistic curve, read backwards for the unknowns; no test",
        "model=linear|log-linear => straight line, read backwards for the unknowns; no test",
        "four-parameter logistic curve or straight line, by what the standards show, read backwards for "
        "the unknowns; no test",
    ),
    inputs={"table": "table: standards and samples, one row a well"},
    outputs={
        "unknowns": "table: concentration of every sample with its interval",
        "standards": "table: standards read back, with recovery",
        "curve": "table: parameters of the curve",
        "standard_plot": "figure: the curve, standards and samples",
    },
    optional_outputs=("unknowns",),
    params={
        "concentration": param(
            "Column of known concentrations, empty for unknown samples", kind="column", of="table", role="dose"
        ),
        "signal": param(
            "Column of the signal (absorbance, OD, Ct)",
            kind="column",
            of="table",
            role="measure",
            called=r"((raw|mean|corrected|net) )?(od|o d|a|abs|absorbance|signal|ct|cq|fluorescence|rfu|rlu|mfi|"
            r"reading)( \d+)?( nm)?",
        ),
        "sample": param(
            "Column of sample names; rows of one sample are replicates",
            kind="column",
            of="table",
            role="subject",
            called=r"samples?|sample (name|id)|unknowns?|proben?|muestras?|echantillons?",
        ),
        "diluted": param(
            "How many times all samples were diluted, where no column says so",
            minimum=1,
            words=[r"dilut\w*(?:\s+(?:by|of|was|at))?\s+1\s?[:/]", r"(?:were|was|used|ran|run)\s+(?:at\s+)?1\s?[:/]"],
        ),
        "dilution": param(
            "Column of dilution factors of the samples",
            kind="column",
            of="table",
            role="exposure",
            called=r"(sample )?(dil\w*|fold)( (factor|fold|x))?|df",
        ),
        "model": param(
            "Curve",
            choices=["auto", "4PL", "linear", "log-linear"],
            words=[
                "4PL: 4.?PL|four.?param|sigmoid|logistic",
                "log-linear: q?pcr|\\bCt\\b|amplification efficiency|log.?linear",
                "linear: straight|linear|regression line",
            ],
        ),
        "unit": param("Unit of the concentration"),
    },
    checks=("tables_not_empty", "findings_match_tables", "unknowns_within_range"),
    keywords=(
        "standard curve",
        "calibration curve",
        "ELISA",
        "back-calculation",
        "back-calculate",
        "unknown samples",
        "Bradford assay",
        "BCA assay",
        "interpolate concentrations",
        "limit of quantification",
        "dilution series",
        "PCR efficiency",
        "serial dilution",
        "calibrators",
    ),
    citations=(
        Citation(title="Nonlinear regression analysis and its applications", authors="Bates DM, Watts DG", year=1988),
        Citation(
            title="Statistics and Chemometrics for Analytical Chemistry", authors="Miller JN, Miller JC", year=2010
        ),
    ),
    packages=("scipy", "numpy", "pandas"),
    seconds=2.0,
    example="What are the concentrations of the unknown samples on this ELISA plate?",
    next_steps=(NextStep(text="Measure samples outside the range of the standards again at another dilution."),),
    answers=["standard_curve"],
)
def standard_curve(
    table,
    *,
    concentration: str,
    signal: str,
    sample: str = "",
    dilution: str = "",
    diluted: float = 1.0,
    model: str = "auto",
    unit: str = "",
):
    """Fit standards and read unknowns by inverse prediction (Miller and Miller; delta method).

    Concentrations are in the unit of the standards; with a dilution column `concentration` is that of the undiluted
    sample and `read` that in the well. Efficiency is exp(-1 / slope) - 1 with the slope per natural log.

    Raises:
        ValueError: for too few standards, a signal that does not change, or columns of the wrong kind.
    """
    import numpy as np
    import pandas as pd

    chosen = [name for name in (concentration, signal, sample, dilution) if name]
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"The same column serves twice ({', '.join(chosen)}); expected different columns.")
    if model not in ("auto", "4PL", "linear", "log-linear"):
        raise ValueError(f"There is no curve {model!r}; expected auto, 4PL, linear or log-linear.")
    table = plain_table(table)
    require_columns(table, chosen)
    x, y, unknown, warnings = calibration_parts(table, concentration, signal, sample)
    if len(np.unique(x)) < 3:
        raise ValueError(
            f"{len(np.unique(x))} different standards in {concentration!r}; a standard curve needs at least 3."
        )
    if np.ptp(y) == 0:
        raise ValueError(
            f"The signal is {y[0]:g} for every standard; expected one that changes with the concentration."
        )
    fit, why = chosen_fit(x, y, model, signal)
    warnings += [why] if why else []
    if fit["df"] < 1:
        raise ValueError(f"{len(y)} rows of standards leave nothing to judge the curve by; measure more standards.")
    standards = standard_rows(fit, x, y)
    known = standards[standards["concentration"] > 0]
    good = known[known["recovery_percent"].between(80, 120)]
    lowest, highest = float(known["concentration"].min()), float(known["concentration"].max())
    off = known[~known["recovery_percent"].between(80, 120)]
    if len(off):
        warnings.append(
            "Standards read back worse than 80 to 120 %: "
            + ", ".join(
                f"{format_number(c)} ({format_number(r)} %)"
                for c, r in zip(off["concentration"], off["recovery_percent"], strict=True)
            )
            + "."
        )
    if len(good):
        lowest, highest = float(good["concentration"].min()), float(good["concentration"].max())
    r2 = 1 - fit["sse"] / float(((fit["y"] - fit["y"].mean()) ** 2).sum())
    theta = fit["theta"]
    curve = {
        "model": fit["model"],
        "standards": len(standards),
        "n": len(fit["y"]),
        "r2": r2,
        "residual_sd": fit["sigma"],
        "range_low": lowest,
        "range_high": highest,
    }
    if fit["model"] == "4PL":
        curve |= {
            "signal_without": theta[0],
            "signal_at_most": theta[1],
            "half_way": float(np.exp(theta[2])),
            "slope": float(np.exp(theta[3])),
        }
    else:
        curve |= {"intercept": theta[0], "slope": theta[1] * (np.log(10) if fit["logs"] else 1)}
    efficiency, notes = pcr_efficiency(fit, concentration, r2)
    curve |= efficiency
    warnings += notes
    tail = f" {unit}" if unit else ""
    curves = pd.DataFrame([curve])
    findings, samples = [], None
    if len(unknown):
        factor = numeric_values(table, dilution) if dilution else pd.Series(1.0, index=table.index)
        unknown["factor"] = factor.loc[unknown.index].fillna(1.0) * diluted
        rows, outside = [], []
        for (name, times), part in unknown.groupby(["sample", "factor"], sort=False):
            mean = float(part["signal"].mean())
            read, low, high = inverse_read(fit, mean, len(part))
            edges = np.sort([fit["function"](theta, np.log(c) if fit["logs"] else c) for c in (lowest, highest)])
            place = "within"
            if not edges[0] <= mean <= edges[1]:
                up = mean > edges[1]
                increasing = (fit["theta"][1] > fit["theta"][0]) if fit["model"] == "4PL" else fit["theta"][1] > 0
                place = "above" if up == increasing else "below"
                outside.append(f"{name} ({place})")
            spread = 100 * float(part["signal"].std(ddof=1)) / abs(mean) if len(part) > 1 and mean else np.nan
            row = {"sample": name, "n": len(part), "signal": mean, "cv_percent": spread, "range": place}
            if place == "within":
                row |= {
                    "read": read,
                    "lower_95": low,
                    "upper_95": high,
                    "concentration": read * times,
                    "concentration_lower_95": low * times,
                    "concentration_upper_95": high * times,
                }
            rows.append(row | ({"dilution": times} if dilution or diluted != 1 else {}))
        samples = pd.DataFrame(rows)
        for key in (
            "read",
            "lower_95",
            "upper_95",
            "concentration",
            "concentration_lower_95",
            "concentration_upper_95",
        ):
            if key not in samples:
                samples[key] = np.nan
        if outside:
            warnings.append(
                f"{len(outside)} of {len(samples)} samples lie outside the standards that can be trusted and were "
                f"not extrapolated: {', '.join(outside[:8])}."
            )
        warnings += dilution_remarks(samples)
        inside = int((samples["range"] == "within").sum())
        if inside > 12:
            warnings.append(f"12 of {inside} samples within range are told here; all are in the table unknowns.")
        if (samples["cv_percent"] > 20).any():
            warnings.append(
                "Replicates differ by more than 20 % (CV) in: "
                + ", ".join(samples.loc[samples["cv_percent"] > 20, "sample"].astype(str).head(8))
                + "."
            )
        findings += span_finding(
            samples[samples["range"] == "within"], samples["range"].ne("within").sum(), tail, diluted
        )
        for row in samples[samples["range"] == "within"].head(12).to_dict("records"):
            findings.append(
                {
                    "text": f"The concentration of {row['sample']} is {format_number(row['concentration'])}{tail} "
                    f"({said_range(row['concentration_lower_95'], row['concentration_upper_95'])}; "
                    f"{row['n']} {'well' if row['n'] == 1 else 'wells'})"
                    + (
                        f", {format_number(row['read'])} in the well diluted {format_number(row['dilution'])}-fold."
                        if row.get("dilution", 1) != 1
                        else "."
                    ),
                    "values": finding_values(
                        concentration=(
                            row["concentration"],
                            row["concentration_lower_95"],
                            row["concentration_upper_95"],
                        )
                    ),
                    "output": "unknowns",
                    "row": table_row(
                        samples, sample=row["sample"], **({"dilution": row["dilution"]} if "dilution" in row else {})
                    ),
                }
            )
    elif not efficiency:
        warnings.append(
            f"No row lacks a concentration, so no unknown sample was read; leave {concentration} empty for them."
        )
    text = (
        f"The standards follow a {fit['model']} curve (R2 {r2:.4f}; {len(standards)} standards, {len(fit['y'])} "
        f"wells); "
        f"it can be trusted from {format_number(lowest)} to {format_number(highest)}{tail}"
    )
    if "efficiency_percent" in curve:
        text += f"; slope {curve['slope']:.2f} per tenfold, PCR efficiency {curve['efficiency_percent']:.1f} %"
        text += f" ({said_range(curve['efficiency_lower_95'], curve['efficiency_upper_95'])})"
    findings.append(
        {
            "text": text + ".",
            "values": finding_values(
                r2=r2,
                range_low=lowest,
                range_high=highest,
                efficiency_percent=tuple(
                    curve.get(key) for key in ("efficiency_percent", "efficiency_lower_95", "efficiency_upper_95")
                ),
            ),
            "output": "curve",
            "row": table_row(curves, model=fit["model"]),
        }
    )
    figure, axis = new_axes(width=6.0)
    colours = palette(2)
    shown = x > 0 if fit["logs"] else np.ones(len(x), dtype=bool)
    axis.plot(x[shown], y[shown], "o", color=colours[0], markersize=5, label="standards")
    low, high = x[shown].min(), x[shown].max()
    grid = np.geomspace(low, high, 200) if fit["logs"] else np.linspace(low, high, 200)
    axis.plot(grid, fit["function"](theta, np.log(grid) if fit["logs"] else grid), color=colours[0], linewidth=1.5)
    if samples is not None and (samples["range"] == "within").any():
        inside = samples[samples["range"] == "within"]
        axis.plot(inside["read"], inside["signal"], "D", color=colours[1], markersize=5, label="samples")
    if fit["logs"]:
        axis.set_xscale("log")
    scale = "log scale" if fit["logs"] else ""
    inner = ", ".join(part for part in (unit, scale) if part)
    finish_axes(axis, f"{concentration} ({inner})" if inner else concentration, signal, ["standards", "samples"], "")
    return {
        "unknowns": samples,
        "standards": standards,
        "curve": curves,
        "standard_plot": figure,
        "findings": findings,
        "warnings": warnings,
    }
