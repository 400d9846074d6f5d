"""How an inhibitor works: every rate in one fit, because lines drawn level by level weigh the worst rates most.

Modes differ in how many constants they have, so the closest fit alone proves nothing; they are compared by AICc and,
where one contains the other, by an F test, and what the rates cannot tell apart is said.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.pharmacology.fitting import (
    colour_of,
    finish_axes,
    hidden_groups,
    lack_of_fit_p,
    positive_column,
    said_range,
    settled,
    split_curves,
)
from engine.toolbox.pharmacology.inhibition_modes import (
    add_limits,
    constant_rows,
    fit_modes,
    inhibited_rate,
    model_rows,
)
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import (
    finding_values,
    format_number,
    format_p,
    new_axes,
    numeric_values,
)
from engine.toolbox.tables.rows import table_row


@check("modes_are_ranked")
def modes_are_ranked(step: StepOutputs) -> Iterator[Issue]:
    """Mixed inhibition never fits worse than what it contains, weights add up to 1, constants lie in their limits."""
    for curve, rows in step.table("models").groupby("curve"):
        sse = rows.set_index("mode")["sse"]
        if (sse["mixed"] > sse * (1 + 1e-6) + 1e-300).any() or abs(rows["weight"].sum() - 1) > 1e-6:
            message = f"Curve {curve}: mixed inhibition fits worse than a mode it contains, or weights do not add up."
            yield Issue(code="modes_out_of_order", severity="error", message=message, where="models")
    table = step.table("constants").dropna(subset=["lower_95", "upper_95"])
    inside = (table["value"] >= table["lower_95"] * (1 - 1e-6)) & (table["value"] <= table["upper_95"] * (1 + 1e-6))
    if (table["value"] < 0).any() or not inside.all():
        message = "A constant is negative or lies outside its own interval."
        yield Issue(code="constant_outside_interval", severity="error", message=message, where="constants")


def exchanged(s, i, v):
    """Say whether rates fall with the substrate and rise with the inhibitor, as they do when the two are mixed up."""
    import numpy as np
    from scipy.stats import rankdata

    ranks = np.column_stack([np.ones(len(v)), rankdata(s), rankdata(i)])
    _, by_substrate, by_inhibitor = np.linalg.lstsq(ranks, rankdata(v), rcond=None)[0]
    return bool(by_substrate < 0 < by_inhibitor)


def refuse_thin_rates(name, s, i, v):
    """Raise ValueError where rates cannot show a mode of inhibition."""
    import numpy as np

    of = "" if name == "all" else f"{name}: "
    levels, steps = np.unique(i), np.unique(s)
    if len(levels) < 2:
        raise ValueError(
            f"{of}the inhibitor has one concentration ({levels[0]:g}); a mode of inhibition needs at least two, one of "
            "them 0. For Km and Vmax alone ask for enzyme kinetics."
        )
    if len(steps) < 3:
        raise ValueError(
            f"{of}{len(steps)} different substrate concentrations above 0; a mode of inhibition needs at least 3. For "
            "the inhibitor that halves the rate at one substrate concentration ask for the IC50."
        )
    if sum(len(np.unique(s[i == level])) > 1 for level in levels) < 2:
        raise ValueError(
            f"{of}only at one inhibitor concentration is there more than one substrate concentration; expected several "
            "at each. Measure every level of the inhibitor at several substrate concentrations."
        )
    if len(v) < 8:
        raise ValueError(f"{of}{len(v)} rates; fitting and comparing modes of inhibition needs at least 8.")
    if v.max() <= 0 or np.ptp(v) == 0:
        raise ValueError(f"{of}the rate is constant or never above 0; expected rates that rise with the substrate.")


def inhibition_remarks(name, best, s, i, v, fits, inhibitor, sure):
    """Return what a careful reader must know of one fit."""
    import numpy as np
    from scipy import stats

    of = "" if name == "all" else f"{name}: "
    remarks = []
    if i.min() > 0:
        remarks.append(
            f"{of}no rate was measured without inhibitor ({inhibitor} 0), so Vmax, Km and the mode rest on an "
            "extrapolation."
        )
    elif len(np.unique(i)) == 2:
        remarks.append(
            f"{of}one inhibitor concentration beside 0: the mode and its constants rest on that one, and whether the "
            "inhibition grows as the model says is not checked."
        )
    if not s.min() < best["km"] < s.max():
        side = "above" if s.min() >= best["km"] else "below"
        remarks.append(
            f"{of}every substrate concentration ({format_number(s.min())} to {format_number(s.max())}) is {side} the "
            f"fitted Km of {format_number(best['km'])}; concentrations on both sides of Km tell the modes apart."
        )
    if sure and np.nanmin([best["ki"], best["ki_prime"]]) > i.max():
        remarks.append(
            f"{of}the highest inhibitor concentration ({format_number(i.max())}) is below its inhibition constant, so "
            "the constant rests on weak inhibition."
        )
    left = v - inhibited_rate(fits["none"]["theta"], "none", s, i)
    rising = stats.spearmanr(i, left)
    if rising.statistic > 0 and rising.pvalue < 0.01:
        remarks.append(
            f"{of}the rates rise with {inhibitor}: it activates (or is the substrate), which no curve here describes."
        )
    cells = np.unique(np.column_stack([s, i]), axis=0, return_inverse=True)[1].ravel()
    p_fit = lack_of_fit_p(cells, v, best["sse"], best["df"])
    if p_fit < 0.05:
        remarks.append(
            f"{of}the best mode misses the rates more than replicates scatter ({format_p(p_fit)}): cooperativity, "
            "substrate inhibition, tight binding or partial inhibition would do so, and none is among the modes."
        )
    return remarks


def said_constants(row, unit):
    """Return Ki and Ki' of a mode with their limits as text."""
    kinds = {"ki": "Ki", "ki_prime": "Ki'"}
    keys = ["ki"] if row["mode"] == "non-competitive" else [key for key in kinds if row[key] == row[key]]
    return " and ".join(
        f"{kinds[key]} {format_number(row[key])}{' ' + unit if unit else ''} "
        f"({said_range(row[f'{key}_lower_95'], row[f'{key}_upper_95'])})"
        for key in keys
    )


def said_size(row, unit):
    """Return a constant with its limits as text, and as values; of an endless or vanishing one the limit it has."""
    value, low, high = row["value"], row["lower_95"], row["upper_95"]
    if 0 < value < float("inf"):
        doubt = "" if settled(low, high) or row["constant"] == "alpha" else "; not settled by these rates"
        text = f"{format_number(value)}{' ' + unit if unit else ''} ({said_range(low, high)}{doubt})"
        return text, finding_values(value=(value, low, high))
    if value == 0:
        return f"at most {format_number(high)} (95 % limit; best at 0)", finding_values(upper_95=high)
    return f"at least {format_number(low)} (95 % limit; best without end)", finding_values(lower_95=low)


def mode_sentence(who, rows, substrate, inhibitor, unit, sure, most):
    """Return the sentence that names the mode and how sure the rates are, and its row.

    Where none is shown it says how much of the rate the highest concentration (`most`) may still take, by the lower
    limit of Ki of non-competitive inhibition, which is the same at every substrate: 1 / (1 + Ki / most).
    """
    best = rows[0]
    if not sure:
        mixed, same = (next(row for row in rows if row["mode"] == mode) for mode in ("mixed", "non-competitive"))
        least = same["ki_lower_95"]
        bound = (
            f"; were it non-competitive, the highest {inhibitor} tested ({format_number(most)}{unit and f' {unit}'}) "
            f"would take at most {100 / (1 + least / most):.3g} % of the rate (Ki at least {format_number(least)}"
            f"{unit and f' {unit}'}, 95 % limit)" if 0 < least < float("inf") else ""
        )  # fmt: skip
        return (
            f"No inhibition by {inhibitor} is shown{who}: curves with it fit no better than one without "
            f"(F test of mixed inhibition against none, {format_p(mixed['p_inhibition'])}; n = {mixed['n']}){bound}."
        ), mixed  # fmt: skip
    effect = {
        "competitive": f"more {substrate} overcomes it (Km rises, Vmax stays)",
        "uncompetitive": f"it holds the enzyme that has bound {substrate} (Km and Vmax fall alike)",
        "non-competitive": f"more {substrate} does not overcome it (Vmax falls, Km stays)",
        "mixed": f"more {substrate} overcomes it in part (Km rises, Vmax falls)",
    }[best["mode"]]
    size = said_constants(best, unit)
    if best["mode"] == "mixed" and best["ki_prime"] < best["ki"]:
        effect = f"more {substrate} does not overcome it (Km and Vmax fall)"
    tail = f"F test against no inhibition, {format_p(best['p_inhibition'])}; n = {best['n']})."
    close = [row["mode"] for row in rows[1:] if row["delta_aicc"] < 2 and row["mode"] != "none"]
    above = f"AICc {format_number(best['margin'])} higher"
    if not close:
        second = rows[1]["mode"].replace("none", "no inhibition")
        return (
            f"Inhibition by {inhibitor}{who} is {best['mode']}: {effect}; {size}; next best: {second} ({above}; {tail}",
            best,
        )
    text = f"Inhibition by {inhibitor}{who} fits best as {best['mode']}: {effect}; {size}; but "
    if close == ["mixed"]:
        text += f"mixed inhibition, which contains it, is not excluded ({above}; F test between them, "
        return f"{text}{format_p(best['p_value'])}; {tail}", best
    text += (
        f"these rates cannot tell it from {' or '.join(close)} inhibition (the nearest has an {above}, less than 2; "
    )
    return text + tail, best


@tool(
    name="enzyme_inhibition",
    title="Mode of enzyme inhibition",
    description=(
        "Fits competitive, uncompetitive, non-competitive and mixed inhibition (and none) to all rates at once by "
        "non-linear least squares, ranks them by AICc and extra-sum-of-squares F tests, and gives Ki, Ki' (alpha), Km "
        "and Vmax with 95 % profile intervals; one enzyme or inhibitor, or one per group."
    ),
    domain="pharmacology",
    task_type="analysis",
    methods=(
        "competitive, uncompetitive, non-competitive and mixed inhibition fitted to all rates, ranked by "
        "AICc and F tests, because each mode predicts other rates",
    ),
    complete=("substrate", "inhibitor", "rate", "group"),
    inputs={"table": "table: one row a rate at a substrate and an inhibitor concentration"},
    outputs={
        "models": "table: fit, AICc, weight, F tests and constants of every mode",
        "constants": "table: constants of the best mode, and of those as good, with intervals",
        "inhibition_plot": "figure: rates and fitted curves at every inhibitor concentration",
    },
    params={
        "substrate": param(
            "Column of substrate concentrations",
            kind="column",
            of="table",
            role="x",
            called=r"(.* )?(substrate|substr|sub|s)( (conc\w*|[munpk]?m|mol|mg|ug|g|l|ml|per))*",
        ),
        "inhibitor": param(
            "Column of inhibitor concentrations, 0 for none",
            kind="column",
            of="table",
            role="x",
            called=r"(.* )?(inhibitor|inhib|inh|i|blocker)( (conc\w*|[munpk]?m|mol|mg|ug|g|l|ml|per))*",
        ),
        "rate": param("Column of initial rates", kind="column", of="table", role="measure"),
        "group": param(
            "Column that tells enzymes or inhibitors apart", kind="column", of="table", role="group_optional"
        ),
        "substrate_unit": param("Unit of the substrate concentration"),
        "inhibitor_unit": param("Unit of the inhibitor concentration"),
        "rate_unit": param("Unit of the rate"),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "modes_are_ranked"),
    keywords=(
        "enzyme inhibition",
        "inhibition constant",
        "Ki",
        "competitive inhibition",
        "uncompetitive inhibition",
        "non-competitive inhibition",
        "noncompetitive inhibition",
        "mixed inhibition",
        "mode of inhibition",
        "mechanism of inhibition",
        "Dixon plot",
        "competitive inhibitor",
        "alpha factor",
    ),
    citations=(
        Citation(
            title="Fundamentals of Enzyme Kinetics (4th ed.)",
            authors="Cornish-Bowden A",
            year=2012,
        ),
        Citation(
            title="Model Selection and Multimodel Inference (2nd ed.)",
            authors="Burnham KP, Anderson DR",
            year=2002,
            doi="10.1007/b97636",
        ),
    ),
    packages=("scipy", "numpy", "pandas"),
    seconds=6.0,
    example="Is the inhibitor competitive, and what is its Ki?",
    next_steps=(NextStep(text="Measure rates on both sides of Km and of Ki where two modes could not be told apart."),),
    answers=["enzyme_inhibition"],
)
def enzyme_inhibition(
    table,
    *,
    substrate: str,
    inhibitor: str,
    rate: str,
    group: str = "",
    substrate_unit: str = "",
    inhibitor_unit: str = "",
    rate_unit: str = "",
):
    """Fit v = Vmax [S] / (Km (1 + [I]/Ki) + [S] (1 + [I]/Ki')) and its special cases (Cornish-Bowden 2012).

    Competitive: Ki' endless; uncompetitive: Ki endless; non-competitive: Ki = Ki'. Ki and Ki' are in the unit of the
    inhibitor, Km in that of the substrate, Vmax in that of the rate. F tests lie on the edge of what is possible
    (1/Ki = 0), where they are a little too careful.

    Raises:
        ValueError: for fewer than two inhibitor or three substrate concentrations, or columns of the wrong kind.
    """
    import numpy as np
    import pandas as pd

    table, labels, names, warnings = split_curves(table, [substrate, inhibitor, rate], group)
    s = positive_column(table, substrate, "concentrations").to_numpy()
    i = positive_column(table, inhibitor, "concentrations, 0 for none").to_numpy()
    v = numeric_values(table, rate).to_numpy()
    if exchanged(s, i, v):
        substrate, inhibitor, s, i = inhibitor, substrate, i, s
        substrate_unit, inhibitor_unit = inhibitor_unit, substrate_unit
        warnings.append(
            f"The rates rise with {substrate} and fall with {inhibitor}: {substrate} was taken for the substrate and "
            f"{inhibitor} for the inhibitor, not the other way."
        )
    bare = s == 0
    if bare.any():
        text = f"{int(bare.sum())} rates without {substrate} tell nothing of the constants and were left out"
        high = float(np.abs(v[bare].mean())) > 0.05 * float(np.abs(v).max())
        warnings.append(text + (f"; they average {v[bare].mean():.3g}: take this blank off first." if high else "."))
    if (v[~bare] < 0).any():
        warnings.append(f"Rates below 0 ({int((v[~bare] < 0).sum())}), as a blank taken off leaves them, were kept.")
    table, labels = table[~bare], labels[~bare]
    s, i, v = s[~bare], i[~bare], v[~bare]
    models, constants, findings, fitted, residuals = [], [], [], {}, np.zeros(len(v))
    for name in names:
        here = (labels == name).to_numpy()
        mine = s[here], i[here], v[here]
        refuse_thin_rates(name, *mine)
        fits = fit_modes(*mine)
        rows = model_rows(fits, *mine[1:])
        who = "" if name == "all" else f" in {group} {name}"
        sure = rows[0]["mode"] != "none" and rows[0]["p_inhibition"] < 0.05
        mode = rows[0]["mode"] if sure else "none"
        needed = (mode, "mixed" if sure else "non-competitive")
        kept = [row["mode"] for row in rows if row["delta_aicc"] < 2 or row["mode"] in needed]
        limits = [row for one in kept for row in constant_rows(one, fits[one], *mine)]
        add_limits(rows, limits)
        text, told = mode_sentence(who, rows, substrate, inhibitor, inhibitor_unit, sure, float(mine[1].max()))
        findings.append((text, {"curve": name, **told}))
        models += [{"curve": name, **row} for row in rows]
        constants += [{"curve": name, **row} for row in limits]
        warnings += inhibition_remarks(name, rows[0], *mine, fits, inhibitor, sure)
        fitted[name] = mode, fits[mode]["theta"]
        residuals[here] = mine[2] - inhibited_rate(fitted[name][1], fitted[name][0], *mine[:2])
    if not group:
        warnings += hidden_groups(table, {substrate, inhibitor, rate}, residuals)
    models, constants = pd.DataFrame(models), pd.DataFrame(constants)
    findings = [
        {
            "text": text,
            "values": finding_values(
                **{
                    key: (row[key], row.get(f"{key}_lower_95"), row.get(f"{key}_upper_95"))
                    for key in ("ki", "ki_prime")
                },
                **{key: row[key] for key in ("margin", "p_inhibition", "p_value", "weight")},
            ),
            "output": "models",
            "row": table_row(models, curve=row["curve"], mode=row["mode"]),
        }
        for text, row in findings[:8]
    ]
    units = {"Km": substrate_unit, "Vmax": rate_unit}
    chosen = constants["curve"].map({name: fitted[name][0] for name in names})
    told = constants["constant"].isin(["Km", "Vmax"]) & (constants["mode"] == chosen)
    told |= (constants["constant"] == "alpha") & (chosen != "none")
    for row in constants[told].head(12).to_dict("records"):
        where = "" if row["curve"] == "all" else f" in {group} {row['curve']}"
        fit = " in the mixed fit" if row["constant"] == "alpha" else ""
        size, values = said_size(row, units.get(row["constant"], ""))
        findings.append(
            {
                "text": f"{row['constant']}{fit}{where} is {size}: {row['meaning']}.",
                "values": values,
                "output": "constants",
                "row": table_row(constants, curve=row["curve"], mode=row["mode"], constant=row["constant"]),
            }
        )
    figure, axes = new_axes(width=6.4 if len(names) == 1 else 4.4 * min(len(names), 4), panels=min(len(names), 4))
    levels = [f"{level:g}" for level in np.unique(i)]
    colours, grid = colour_of(levels), np.linspace(0, 1.03 * s.max(), 300)
    for axis, name in zip(np.atleast_1d(axes), names, strict=False):
        mode, theta = fitted[name]
        for level in np.unique(i[(labels == name).to_numpy()]):
            here = (labels == name).to_numpy() & (i == level)
            colour, marker = colours[f"{level:g}"]
            axis.plot(s[here], v[here], marker, color=colour, markersize=5, alpha=0.8, markeredgecolor="white")
            axis.plot(grid, inhibited_rate(theta, mode, grid, level), color=colour, linewidth=1.6, label=f"{level:g}")
        axis.set_xlim(left=0)
        axis.set_ylim(bottom=min(0.0, float(v.min()) * 1.05))
        axis.set_title(f"{'' if name == 'all' else name + ': '}{mode.replace('none', 'no inhibition')}", fontsize=10)
        finish_axes(
            axis,
            f"{substrate} ({substrate_unit})" if substrate_unit else substrate,
            f"{rate} ({rate_unit})" if rate_unit else rate,
            levels if name == names[: min(len(names), 4)][-1] else [],
            f"{inhibitor}{f' ({inhibitor_unit})' if inhibitor_unit else ''}",
        )
    return {
        "models": models,
        "constants": constants,
        "inhibition_plot": figure,
        "findings": findings,
        "warnings": warnings,
    }
