"""Rates of enzymes: fitted as measured, because lines through reciprocals let the least certain rates decide."""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.pharmacology.fitting import (
    colour_of,
    estimate,
    finish_axes,
    fit_curve,
    hidden_groups,
    lack_of_fit_p,
    nested_f_test,
    positive_column,
    said_range,
    settled,
    split_curves,
)
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import finding_values, format_number, format_p, left_open, new_axes, numeric_values
from engine.toolbox.tables.rows import table_row

_PAPER = Citation(
    title="The original Michaelis constant: translation of the 1913 Michaelis-Menten paper",
    authors="Johnson KA, Goody RS",
    year=2011,
    doi="10.1021/bi201284u",
)


@check("rates_below_vmax")
def rates_below_vmax(step: StepOutputs) -> Iterator[Issue]:
    """Vmax and Km are positive and lie within their intervals."""
    table = step.table("constants")
    for name in ("vmax", "km"):
        known = table.dropna(subset=[f"{name}_lower_95", f"{name}_upper_95"])
        low, high = known[f"{name}_lower_95"], known[f"{name}_upper_95"]
        if (table[name] <= 0).any() or ((known[name] < low) | (known[name] > high)).any():
            message = f"A {name} is not positive or lies outside its own interval."
            yield Issue(code="constant_outside_interval", severity="error", message=message, where="constants")


def fit_michaelis_menten(s, v):
    """Fit v = Vmax s / (Km + s) by least squares, with log Vmax and log Km as parameters."""
    import numpy as np

    top = max(float(v.max()), 1e-300)
    middle = float(np.median(s[s > 0]))
    starts = [np.log([top * factor, middle * share]) for factor in (1.05, 2.0) for share in (0.2, 1.0, 5.0)]
    return fit_curve(lambda theta: np.exp(theta[0]) * s / (np.exp(theta[1]) + s), starts, v)


def fit_substrate_inhibition(s, v, plain):
    """Fit v = Vmax s / (Km + s + s^2 / Ki) by least squares, with the logarithms as parameters; `plain` is without Ki.

    Source: Haldane (1930), Enzymes.
    """
    import numpy as np

    start, top = plain["theta"], float(s.max())
    starts = [[start[0] + np.log(a), start[1] + np.log(a), np.log(top * b)] for a in (1.0, 2.0, 6.0) for b in (0.3, 2)]
    return fit_curve(lambda theta: rate_of(s, np.exp(theta)), starts, v)


def rate_of(s, constants):
    """Return the rate at a substrate concentration from Vmax, Km and, with substrate inhibition, Ki."""
    top, half, *inhibition = constants
    return top * s / (half + s + (s * s / inhibition[0] if inhibition else 0.0))


def chosen_fits(data, model):
    """Return each curve's fit and its p-value of substrate inhibition, and warnings; one model serves all curves.

    `auto` takes inhibition where the F test of the nested fits shows it in a curve (Bonferroni over the curves) whose
    data settle Ki.
    """
    import numpy as np

    plain = {name: fit_michaelis_menten(s, v) for name, (s, v) in data.items()}
    wide, p_values, warnings = {}, {}, []
    for name, (s, v) in data.items():
        p_values[name] = float("nan")
        if model == "michaelis_menten" or len(np.unique(s[s > 0])) < 5 or plain[name]["df"] < 3:
            continue
        wide[name] = fit_substrate_inhibition(s, v, plain[name])
        p_values[name] = nested_f_test(plain[name]["sse"], plain[name]["df"], wide[name]["sse"], wide[name]["df"])[3]
    shown = [name for name in wide if p_values[name] < 0.05 / len(data)
             and settled(*estimate(wide[name], lambda theta: theta[2], log=True)[2:])]  # fmt: skip
    if model == "substrate_inhibition" and len(wide) < len(data):
        raise ValueError(
            "Substrate inhibition has three constants and needs 5 different substrate concentrations above 0 and 6 "
            "rows a curve; take model michaelis_menten or measure more."
        )
    if shown and len(wide) < len(data):
        warnings.append("Substrate inhibition is seen, but not every curve has 5 concentrations to fit it; left out.")
    if model == "substrate_inhibition" or (shown and len(wide) == len(data)):
        return wide, p_values, warnings
    return plain, p_values, warnings


def kinetics_row(name, s, v, fit, p_inhibition):
    """Return the row of constants of one curve."""
    import numpy as np

    row = {"curve": name, "n": len(v), "concentrations": len(np.unique(s[s > 0]))}
    keys = ("vmax", "km", "ki")[: len(fit["theta"])]
    row["model"] = "substrate inhibition" if len(keys) > 2 else "Michaelis-Menten"
    for i, key in enumerate(keys):
        value, error, low, high = estimate(fit, lambda theta, i=i: theta[i], log=True)
        row |= {key: value, f"{key}_se": error, f"{key}_lower_95": low, f"{key}_upper_95": high}
    value, _, low, high = estimate(fit, lambda theta: theta[0] - theta[1], log=True)
    row |= {"vmax_per_km": value, "vmax_per_km_lower_95": low, "vmax_per_km_upper_95": high}
    if "ki" in row:
        value, _, low, high = estimate(fit, lambda theta: (theta[1] + theta[2]) / 2, log=True)
        row |= {"optimum": value, "optimum_lower_95": low, "optimum_upper_95": high}
    row |= {"residual_sd": fit["sigma"], "df": fit["df"], "p_lack_of_fit": lack_of_fit_p(s, v, fit["sse"], fit["df"])}
    return row | {"p_substrate_inhibition": p_inhibition}


def refuse_few_rates(name, s, v):
    """Raise ValueError where the rates of a curve cannot show Km and Vmax."""
    import numpy as np

    levels = np.unique(s[s > 0])
    of = "" if name == "all" else f"{name}: "
    if len(levels) < 3 or len(v) < 4:
        raise ValueError(
            f"{of}{len(levels)} different substrate concentrations above 0 in {len(v)} rows; Km and Vmax need at least "
            "3 concentrations and 4 rows. Measure more concentrations."
        )
    if v.max() <= 0 or np.ptp(v) == 0:
        raise ValueError(f"{of}the rate is constant or never above 0; expected rates that rise with the substrate.")


def kinetics_remarks(row, s, v, fitted):
    """Return what a careful reader must know of one curve."""
    import numpy as np

    of = "" if row["curve"] == "all" else f"{row['curve']}: "
    remarks = []
    if "ki" in row and not settled(row["ki_lower_95"], row["ki_upper_95"]):
        remarks.append(f"{of}these rates hardly settle Ki of the substrate; measure more at high concentrations.")
    if s.max() < row["km"]:
        remarks.append(
            f"{of}the highest substrate concentration ({format_number(s.max())}) is below Km: Vmax and Km are "
            "extrapolated, only Vmax/Km is well settled."
        )
    elif not settled(row["km_lower_95"], row["km_upper_95"]) or row["km_upper_95"] > 20 * row["km_lower_95"]:
        remarks.append(f"{of}these concentrations hardly settle Km; measure more of them around and above it.")
    if s[s > 0].min() > row["km"]:
        remarks.append(f"{of}every substrate concentration is above Km, so Km rests on an extrapolation downwards.")
    levels = np.unique(s)
    left = np.array([np.mean((v - fitted)[s == level]) for level in levels])
    means = np.array([np.mean(v[s == level]) for level in levels])
    if (
        "ki" not in row
        and len(levels) > 4
        and means.argmax() < len(levels) - 2
        and means[-1] < 0.85 * means.max()
        and left[-1] < 0
    ):
        remarks.append(
            f"{of}the rate falls again at high substrate: substrate inhibition, which this curve leaves out "
            f"(F test of one constant more: {format_p(row['p_substrate_inhibition'])})."
        )
    if row["p_lack_of_fit"] < 0.05:
        remarks.append(
            f"{of}the curve misses the points more than replicates scatter ({format_p(row['p_lack_of_fit'])})"
            "; cooperativity would do so."
            if "ki" in row
            else f"{of}the curve misses the points more than replicates scatter ({format_p(row['p_lack_of_fit'])})"
            "; cooperativity or substrate inhibition would do so."
        )
    return remarks


def constant_ratios(rows, fits):
    """Return a row of Km and Vmax of the second curve over those of the first, with interval and p (Welch, logs)."""
    import math

    from scipy import stats

    (first, second), out = rows, []
    for i, key in enumerate(("vmax", "km")):
        gap = math.log(second[key] / first[key])
        parts = [float(fits[row["curve"]]["cov"][i, i]) for row in rows]
        error = math.sqrt(sum(parts))
        df = sum(parts) ** 2 / sum(part**2 / row["df"] for part, row in zip(parts, rows, strict=True))
        half = float(stats.t.ppf(0.975, df)) * error
        out.append(
            {
                "constant": {"vmax": "Vmax", "km": "Km"}[key],
                "comparison": f"{second['curve']} / {first['curve']}",
                "ratio": math.exp(gap),
                "lower_95": math.exp(gap - half),
                "upper_95": math.exp(gap + half),
                "p_value": float(2 * stats.t.sf(abs(gap) / error, df)),
            }
        )
    return out


def curves_finding(rows, substrate_unit, rate_unit):
    """Return the finding on Km and Vmax of all curves."""
    parts, values = [], []
    for row in rows:
        told = [
            f"{name} {format_number(row[key])}{' ' + unit if unit else ''} "
            f"({said_range(row[f'{key}_lower_95'], row[f'{key}_upper_95'])})"
            for name, key, unit in (("Km", "km", substrate_unit), ("Vmax", "vmax", rate_unit))
        ]
        parts.append(f"{row['curve']}: {' and '.join(told)}")
        for key in ("km", "vmax"):
            known = (row[key], row[f"{key}_lower_95"], row[f"{key}_upper_95"])
            values += finding_values(**{f"{key} {row['curve']}": known})
    values += finding_values(n_curves=len(rows))
    return [{"text": "; ".join(parts) + ".", "values": values, "output": "constants"}]


def ratios_finding(rows, ratios, units):
    """Return the finding that compares the constants of two curves, the one that differs most clearly first."""
    parts, values = [], []
    first, second = rows
    for row in sorted(ratios, key=lambda row: row["p_value"]):
        key = {"Km": "km", "Vmax": "vmax"}.get(row["constant"])
        if key is None:
            continue
        clear = row["p_value"] < 0.05
        verdict = (f"is {'higher' if second[key] > first[key] else 'lower'} in {second['curve']} than in" if clear
                   else f"is not shown to differ between {second['curve']} and")  # fmt: skip
        unit = f" {units[key]}" if units[key] else ""
        parts.append(
            f"{row['constant']} {verdict} {first['curve']}: {format_number(second[key])} against "
            f"{format_number(first[key])}{unit}, ratio {format_number(row['ratio'])} "
            f"({said_range(row['lower_95'], row['upper_95'])}; {format_p(row['p_value'])})"
            f"{'' if clear else left_open(row['lower_95'], row['upper_95'], ratio=True).replace(';', ',')}"
        )
        values += finding_values(**{f"{key} {first['curve']}": first[key], f"{key} {second['curve']}": second[key],
                                    f"{key} ratio": (row["ratio"], row["lower_95"], row["upper_95"])})  # fmt: skip
    return [{"text": "; ".join(parts) + ".", "values": values, "output": "ratios"}] if parts else []


@tool(
    name="enzyme_kinetics",
    title="Michaelis-Menten kinetics",
    description=(
        "Fits the Michaelis-Menten curve to reaction rates by non-linear least squares and gives Km, Vmax and Vmax/Km "
        "(with the enzyme concentration also kcat) with 95 % intervals, one curve or one per group; two groups are "
        "compared by the ratios of their constants. Where the rate falls at high substrate, the curve of substrate "
        "inhibition (Haldane) with its Ki is fitted, if an F test shows it."
    ),
    domain="pharmacology",
    task_type="analysis",
    methods=(
        "model=auto => Michaelis-Menten curve by non-linear least squares, or with substrate inhibition "
        "where an F test shows it, because rates are measured over a substrate",
        "model=michaelis_menten => Michaelis-Menten curve by non-linear least squares, because rates are "
        "measured over a substrate",
        "Michaelis-Menten curve with substrate inhibition (Haldane) by non-linear least squares, because "
        "rates are measured over a substrate",
    ),
    complete=("substrate", "rate", "group"),
    inputs={"table": "table: one row a substrate concentration and rate"},
    outputs={
        "constants": "table: Km, Vmax and Vmax/Km of every curve",
        "ratios": "table: ratios of the constants of two groups",
        "kinetics_plot": "figure: rates and fitted curves",
    },
    optional_outputs=("ratios",),
    params={
        "substrate": param("Column of substrate concentrations", kind="column", of="table", role="dose"),
        "rate": param("Column of initial rates", kind="column", of="table", role="measure"),
        "group": param(
            "Column that tells curves apart (enzyme, treatment)", kind="column", of="table", role="group_optional"
        ),
        "enzyme": param(
            "Concentration of active sites, in the unit of the rate's product; gives kcat",
            minimum=0,
            words=["enzyme concentration", "enzyme conc\\.?", "\\[E\\]"],
        ),
        "model": param(
            "Curve: auto adds substrate inhibition where an F test shows it",
            choices=["auto", "michaelis_menten", "substrate_inhibition"],
            words=[
                "auto: (?:with and without|is there|whether|test\\w* for|or just|any)[^.;?!]{0,25} "
                "(?:substrate|excess) inhibition|"
                "inhibition[^.;?!]{0,12} or (?:just|plain|simple)",
                "substrate_inhibition: (?:substrate|excess.substrate).inhibition|haldane|"
                "inhibited by (?:its|the|their) (?:own )?substrate",
                "michaelis_menten: (?:plain|simple|only|just) michaelis|without substrate inhibition",
            ],
        ),
        "substrate_unit": param("Unit of the substrate concentration"),
        "rate_unit": param("Unit of the rate"),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "rates_below_vmax"),
    keywords=(
        "Michaelis-Menten",
        "Km",
        "Vmax",
        "kcat",
        "kcat/Km",
        "catalytic efficiency",
        "Lineweaver-Burk",
        "Eadie-Hofstee",
        "initial rate",
        "substrate affinity",
        "saturation kinetics",
        "turnover number",
        "substrate inhibition",
        "Haldane",
        "excess substrate",
    ),
    citations=(_PAPER, Citation(title="Enzymes", authors="Haldane JBS", year=1930)),
    packages=("scipy", "numpy", "pandas"),
    leads={
        "n_curves": r"(?is)^(?!.*(?:compar|differ|\bthan\b|versus|\bvs\b|chang|affect|effect|higher|lower|ratio))"
        r".*\b(?:for|of|in|by|per) (?:each|every|both|all|the two)\b"
    },
    seconds=2.0,
    example="What are Km and Vmax of the treated and the untreated enzyme?",
    answers=["enzyme_kinetics"],
)
def enzyme_kinetics(
    table,
    *,
    substrate: str,
    rate: str,
    group: str = "",
    enzyme: float | None = None,
    model: str = "auto",
    substrate_unit: str = "",
    rate_unit: str = "",
):
    """Fit v = Vmax [S] / (Km + [S]) (Michaelis and Menten 1913; Johnson and Goody 2011), or with [S]^2 / Ki below.

    Km and the substrate's own Ki are in the unit of the substrate, Vmax in that of the rate, kcat = Vmax / enzyme.

    Raises:
        ValueError: for too few concentrations, constant rates, or columns of the wrong kind.
    """
    import numpy as np
    import pandas as pd

    table, labels, names, warnings = split_curves(table, [substrate, rate], group)
    s = positive_column(table, substrate, "concentrations").to_numpy()
    v = numeric_values(table, rate).to_numpy()
    if (v < 0).any():
        warnings.append(f"{int((v < 0).sum())} rates are below 0, as a blank taken off leaves them; they were kept.")
    if model not in ("auto", "michaelis_menten", "substrate_inhibition"):
        raise ValueError(f"There is no model {model!r}; expected auto, michaelis_menten or substrate_inhibition.")
    rows, residuals = [], np.zeros(len(v))
    data = {name: (s[(labels == name).to_numpy()], v[(labels == name).to_numpy()]) for name in names}
    for name, (own, rates) in data.items():
        refuse_few_rates(name, own, rates)
    fits, p_inhibition, notes = chosen_fits(data, model)
    warnings += notes
    for name in names:
        here = (labels == name).to_numpy()
        row = kinetics_row(name, s[here], v[here], fits[name], p_inhibition[name])
        fitted = rate_of(s[here], np.exp(fits[name]["theta"]))
        residuals[here] = v[here] - fitted
        warnings += kinetics_remarks(row, s[here], v[here], fitted)
        if enzyme:
            row |= {
                "kcat": row["vmax"] / enzyme,
                "kcat_lower_95": row["vmax_lower_95"] / enzyme,
                "kcat_upper_95": row["vmax_upper_95"] / enzyme,
            }
        rows.append(row)
    if not group:
        warnings += hidden_groups(table, {substrate, rate}, residuals)
    constants = pd.DataFrame(rows)
    findings = curves_finding(rows, substrate_unit, rate_unit) if 2 <= len(rows) <= 6 else []
    for row in rows[:8]:
        who = "" if row["curve"] == "all" else f" of {row['curve']}"
        parts = [
            f"{what}{who if what == 'Km' else ''} is {format_number(row[key])}{' ' + unit if unit else ''} "
            f"({said_range(row[f'{key}_lower_95'], row[f'{key}_upper_95'])})"
            for what, key, unit in (
                ("Km", "km", substrate_unit),
                ("Vmax", "vmax", rate_unit),
                *([("kcat", "kcat", "")] if enzyme else []),
                *([("Ki of the substrate", "ki", substrate_unit)] if "ki" in row else []),
            )
        ]
        tail = (
            f"; too much substrate slows it ({format_p(row['p_substrate_inhibition'])}, F test against no inhibition), "
            f"fastest at {format_number(row['optimum'])}{' ' + substrate_unit if substrate_unit else ''} "
            f"({said_range(row['optimum_lower_95'], row['optimum_upper_95'])})"
            if "ki" in row and row["p_substrate_inhibition"] < 0.05
            else f"; no clear sign of substrate inhibition ({format_p(row['p_substrate_inhibition'])})"
            if row["p_substrate_inhibition"] >= 0.05
            else ""
        )
        findings.append(
            {
                "text": f"{' and '.join([', '.join(parts[:-1]), parts[-1]])}, from {row['n']} rates at "
                f"{row['concentrations']} concentrations of {substrate}{tail}.",
                "values": finding_values(
                    **{
                        key: (row[key], row[f"{key}_lower_95"], row[f"{key}_upper_95"])
                        for key in ("km", "vmax", "ki", "optimum")
                        if key in row
                    }
                ),
                "output": "constants",
                "row": table_row(constants, curve=row["curve"]),
            }
        )
    ratios = None
    if len(rows) == 2 and all(np.isfinite(fit["cov"]).all() for fit in fits.values()):
        ratios = pd.DataFrame(constant_ratios(rows, fits))
        for row in ratios.to_dict("records"):
            verdict = "differs" if row["p_value"] < 0.05 else "is not shown to differ"
            findings.append(
                {
                    "text": f"{row['constant']} {verdict} between {rows[0]['curve']} and {rows[1]['curve']}: ratio "
                    f"{row['comparison']} {format_number(row['ratio'])} "
                    f"({said_range(row['lower_95'], row['upper_95'])}; {format_p(row['p_value'])})"
                    f"{'' if row['p_value'] < 0.05 else left_open(row['lower_95'], row['upper_95'], ratio=True)}.",
                    "values": finding_values(
                        ratio=(row["ratio"], row["lower_95"], row["upper_95"]), p_value=row["p_value"]
                    ),
                    "output": "ratios",
                    "row": table_row(ratios, constant=row["constant"]),
                }
            )
        units = {"km": substrate_unit, "vmax": rate_unit}
        findings = ratios_finding(rows, ratios.to_dict("records"), units) + findings
    elif len(rows) > 2:
        warnings.append("More than two curves are shown beside each other; no test says which of them differ.")
    figure, axis = new_axes(width=6.4)
    colours, grid = colour_of(names), np.linspace(0, 1.03 * s.max(), 300)
    for row in rows:
        here, constants_of = (labels == row["curve"]).to_numpy(), np.exp(fits[row["curve"]]["theta"])
        colour, marker = colours[row["curve"]]
        axis.plot(s[here], v[here], marker, color=colour, markersize=5, alpha=0.8, markeredgecolor="white")
        axis.plot(grid, rate_of(grid, constants_of), color=colour, linewidth=1.6, label=row["curve"])
        if row["km"] < s.max():
            axis.plot(
                [row["km"]] * 2,
                [0, float(rate_of(row["km"], constants_of))],
                color=colour,
                linestyle=":",
                linewidth=0.9,
            )
    axis.set_xlim(left=0)
    axis.set_ylim(bottom=min(0.0, float(v.min()) * 1.05))
    finish_axes(
        axis,
        f"{substrate} ({substrate_unit + '; ' if substrate_unit else ''}dotted: Km)",
        f"{rate} ({rate_unit})" if rate_unit else rate,
        names,
        group,
    )
    return {
        "constants": constants,
        "ratios": ratios,
        "kinetics_plot": figure,
        "findings": findings,
        "warnings": warnings,
    }
