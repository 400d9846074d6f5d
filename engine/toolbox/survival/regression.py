"""The effect of several variables on survival at once, by Cox regression, with the checks that it needs.

A hazard ratio is only as good as proportional hazards, enough events and a fit that converged; each is
checked here, so that the ratio is not read without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep, Repair
from engine.toolbox.checks import check
from engine.toolbox.registry import param, tool
from engine.toolbox.survival.data import SURVIVAL_HELPERS, survival_data
from engine.toolbox.tables.columns import (
    format_number,
    format_p,
    level_labels,
    likely_control,
    numeric_values,
    order_levels,
)
from engine.toolbox.tables.rows import table_row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.toolbox.checks import StepOutputs


@check("hazard_ratios_consistent")
def hazard_ratios_consistent(step: StepOutputs) -> Iterator[Issue]:
    """A hazard ratio is the exponential of its coefficient and lies inside its interval."""
    import numpy as np

    if "cox_table" not in step.files:
        return
    table = step.table("cox_table")
    apart = ~np.isclose(table["hazard_ratio"], np.exp(table["coef"]), rtol=1e-4)
    outside = (table["hazard_ratio"] < table["lower_95"]) | (table["hazard_ratio"] > table["upper_95"])
    for term in table.loc[apart | outside, "term"]:
        message = f"The hazard ratio of {term!r} does not fit its coefficient or its interval."
        yield Issue(code="hazard_ratio_inconsistent", severity="error", message=message, where="cox_table")


def code_covariates(data, covariates, categorical):
    """Return (numeric design, facts per term, warnings): text becomes one term per level but the reference.

    The reference is the level named like a control (placebo, control, no...), else the first in order.
    """
    import pandas as pd

    design, facts, warnings = pd.DataFrame(index=data.index), {}, []
    for name in covariates:
        column = data[f"x:{name}"]
        numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
        labels = level_labels(column)
        levels = order_levels(labels)
        if len(levels) < 2:
            message = (
                f"The covariate {name!r} is {levels[0]!r} in all {len(data)} complete rows; a covariate "
                "must vary. Leave it out."
            )
            raise ValueError(message)
        if not numeric and name not in categorical:
            parsed = pd.to_numeric(column, errors="coerce")
            if 0.5 < parsed.notna().mean() < 1 and len(levels) > 5:
                numeric_values(data.rename(columns={f"x:{name}": name}), name)
        if numeric and name not in categorical:
            design[name] = column.astype(float)
            # A number with two values one apart (0 and 1, or 1 and 2) compares two groups: its ratio reads as such.
            pair = len(levels) == 2 and design[name].max() - design[name].min() == 1
            facts[name] = (name, levels[1], levels[0]) if pair else (name, "", "")
            continue
        if len(levels) > 20:
            message = (
                f"The covariate {name!r} has {len(levels)} levels as text; expected at most 20. Is it an "
                "identifier? Leave it out or group its levels."
            )
            raise ValueError(message)
        reference = likely_control(levels) or levels[0]
        for level in (level for level in levels if level != reference):
            term = f"{name}: {level} vs {reference}"
            design[term] = (labels == level).astype(float)
            facts[term] = (name, level, reference)
            if design[term].sum() < 5:
                warnings.append(f"Only {int(design[term].sum())} rows have {name} = {level}.")
    return design, facts, warnings


def fit_cox(frame, strata, penalizer):
    """Return (fitted model, warnings of the fit); a fit that fails is one sentence."""
    import warnings as python_warnings

    import numpy as np
    from lifelines import CoxPHFitter
    from lifelines.exceptions import ConvergenceError

    model = CoxPHFitter(penalizer=penalizer)
    with python_warnings.catch_warnings(record=True) as caught:
        python_warnings.simplefilter("always")
        try:
            model.fit(frame, "time", "event", strata=strata or None)
        except (ConvergenceError, np.linalg.LinAlgError) as err:
            message = (
                "The Cox model did not converge: a covariate separates those with and without the event, "
                "or two covariates say the same. Leave one out, or set a penalizer such as 0.1."
            )
            raise ValueError(message) from err
    texts = [
        str(item.message)
        for item in caught
        if "onvergence" in type(item.message).__name__
        or "onverge" in str(item.message)
        or "separat" in str(item.message)
    ]
    return model, texts


@tool(
    name="cox_regression",
    title="Cox proportional hazards regression",
    description=(
        "Estimate hazard ratios of one or more covariates (Cox proportional hazards, Efron's "
        "treatment of ties, Wald tests, "
        "two-sided, 95 % intervals). Numbers enter per unit; text and the columns named in "
        "categorical get one hazard ratio per "
        "level against the first level, which is named. Strata get their own baseline hazard. "
        "Reports concordance, events per "
        "variable and a test of proportional hazards (scaled Schoenfeld residuals against "
        "Kaplan-Meier-transformed time)."
    ),
    domain="clinical",
    task_type="analysis",
    inputs={"survival": "survival_table: one row per subject"},
    outputs={
        "cox_table": "table: hazard ratio per term",
        "diagnostics": "table: proportional hazards, concordance, events per variable",
        "forest_plot": "figure: hazard ratios with intervals",
    },
    params={
        "time": param("column of follow-up times", kind="column", of="survival", role="time"),
        "event": param("column that says whether the event happened", kind="column", of="survival", role="event"),
        "event_value": param(
            "the level of the event column that means that it happened (others are censored)",
            kind="level",
            of="event",
            role="event",
        ),
        "covariates": param(
            "columns whose effect is estimated together", kind="columns", of="survival", role="covariates", least=1
        ),
        "strata": param(
            "columns whose levels get their own baseline hazard", kind="columns", of="survival", role="strata"
        ),
        "penalizer": param(
            "ridge penalty, 0 for none", minimum=0, maximum=100, words=["penali[sz]er", "penalty", "ridge penalty"]
        ),
        "categorical": param(
            "covariates written as numbers that are categories (stage, centre)", kind="columns", of="survival"
        ),
    },
    requires_tool=("kaplan_meier",),
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "hazard_ratios_consistent"),
    keywords=(
        "Cox",
        "hazard ratio",
        "proportional hazards",
        "multivariable survival",
        "adjusted survival",
        "prognostic factor",
        "risk factors",
        "survival regression",
        "covariates",
        "HR",
    ),
    citations=(
        Citation(
            title="Regression models and life-tables",
            authors="Cox DR",
            year=1972,
            doi="10.1111/j.2517-6161.1972.tb00899.x",
        ),
        Citation(
            title="Proportional hazards tests and diagnostics based on weighted residuals",
            authors="Grambsch PM, Therneau TM",
            year=1994,
            doi="10.1093/biomet/81.3.515",
        ),
        Citation(
            title="lifelines: survival analysis in Python",
            authors="Davidson-Pilon C",
            year=2019,
            doi="10.21105/joss.01317",
        ),
    ),
    repairs=[
        Repair(
            pattern=r"converg|singular|collinear|delta contains nan",
            change={"penalizer": 0.1},
            why=(
                "the fit did not converge, so a small ridge penalty (0.1) was added; hazard ratios are shrunk towards 1"
            ),
        ),
    ],
    next_steps=[
        NextStep(
            text=(
                "Look at the proportional-hazards test in the diagnostics of {name}; a covariate that fails it "
                "belongs in strata or needs a time-varying effect."
            ),
        ),
    ],
    packages=("lifelines", "pandas", "numpy", "scipy"),
    seconds=4,
    example="Does hormone therapy lower the risk of relapse, adjusted for age and nodes?",
    helpers=(*SURVIVAL_HELPERS, likely_control, format_number, format_p, code_covariates, fit_cox),
    answers=["cox_regression"],
)
def cox_regression(
    survival,
    *,
    time: str,
    event: str,
    covariates: list[str],
    event_value: str = "1",
    strata: list[str] = [],  # noqa: B006 - a plain default, never changed
    penalizer: float = 0.0,
    categorical: list[str] = [],  # noqa: B006 - a plain default, never changed
):
    """Fit a Cox model and check it."""
    import numpy as np
    import pandas as pd
    from lifelines.statistics import proportional_hazard_test
    from matplotlib.figure import Figure

    covariates, strata = list(dict.fromkeys(covariates)), list(dict.fromkeys(strata))
    if not covariates:
        message = "No covariate was given; name at least one column whose effect on survival is to be estimated."
        raise ValueError(message)
    both = [name for name in covariates if name in strata]
    if both:
        message = (
            f"The column {both[0]!r} is both a covariate and a stratum; choose one: strata adjust for it "
            "without estimating its effect."
        )
        raise ValueError(message)
    stray = [name for name in categorical if name not in covariates]
    if stray:
        message = (
            f"The column {stray[0]!r} in categorical is not among the covariates {', '.join(covariates)}; "
            "add it or drop it."
        )
        raise ValueError(message)
    data, chosen, warnings = survival_data(survival, time, event, event_value, [*covariates, *strata])
    design, facts, notes = code_covariates(data, covariates, categorical)
    warnings += notes
    centred = design - design.mean()
    if np.linalg.matrix_rank((centred / centred.std()).to_numpy()) < design.shape[1]:
        pairs = centred.corr().abs().to_numpy() - np.eye(design.shape[1])
        first, second = np.unravel_index(np.argmax(pairs), pairs.shape)
        message = (
            f"The covariates repeat each other (such as {design.columns[first]!r} and "
            f"{design.columns[second]!r}), so their effects cannot be told apart. Leave one out."
        )
        raise ValueError(message)
    events = int(data["event"].sum())
    if events <= design.shape[1] and penalizer == 0:
        message = (
            f"There are {events} events for {design.shape[1]} terms; a Cox model needs more events than "
            "terms, better ten times as many. Use fewer covariates."
        )
        raise ValueError(message)
    # Plain names inside the model: lifelines would read formula signs in the columns' own names.
    terms = {f"term{number}": term for number, term in enumerate(design.columns)}
    frame = design.set_axis(list(terms), axis=1).assign(time=data["time"], event=data["event"])
    for number, name in enumerate(strata):
        frame[f"stratum{number}"] = level_labels(data[f"x:{name}"]).astype(str)
    model, trouble = fit_cox(frame, [f"stratum{number}" for number in range(len(strata))], penalizer)
    summary = model.summary
    table = pd.DataFrame(
        {
            "term": [terms[key] for key in summary.index],
            "coef": summary["coef"].to_numpy(dtype=float),
            "hazard_ratio": summary["exp(coef)"].to_numpy(dtype=float),
            "se": summary["se(coef)"].to_numpy(dtype=float),
            "lower_95": summary["exp(coef) lower 95%"].to_numpy(dtype=float),
            "upper_95": summary["exp(coef) upper 95%"].to_numpy(dtype=float),
            "z": summary["z"].to_numpy(dtype=float),
            "p_value": summary["p"].to_numpy(dtype=float),
        }
    )
    for position, part in enumerate(("covariate", "level", "reference")):
        table[part] = [facts[term][position] for term in table["term"]]
    wide = table.loc[(table["se"] > 10) | ~np.isfinite(table["hazard_ratio"]), "term"].tolist()
    if trouble or wide:
        named = f" ({', '.join(wide)})" if wide else ""
        warnings.append(
            f"The fit is not reliable{named}: hazard ratios run to extremes because a covariate almost "
            "separates events from non-events. Combine levels, leave it out or set a penalizer."
        )
    per_term = events / len(table)
    if per_term < 10:
        warnings.append(
            f"There are {per_term:.1f} events per estimated term; below 10 estimates and p-values are unsure."
        )
    if penalizer > 0:
        warnings.append(
            f"A ridge penalty of {penalizer:g} shrinks the hazard ratios towards 1; their intervals and "
            "p-values are approximate."
        )

    rows, violated = [], []
    try:
        tested = proportional_hazard_test(model, frame, time_transform="km").summary
        for key, item in tested.iterrows():
            term = terms[key[0] if isinstance(key, tuple) else key]
            p_value = float(item["p"])
            verdict = "violated" if p_value < 0.05 else "no sign of violation"
            if p_value < 0.05:
                violated.append(f"{term} ({format_p(p_value)})")
            rows.append(
                {
                    "diagnostic": "proportional hazards",
                    "term": term,
                    "value": float(item["test_statistic"]),
                    "p_value": p_value,
                    "verdict": verdict,
                }
            )
    except (ValueError, np.linalg.LinAlgError):
        warnings.append("Proportional hazards could not be tested on these data.")
    if violated:
        warnings.append(
            f"Proportional hazards are doubtful for {', '.join(violated)}: those hazard ratios are "
            "averages over time that depend on the length of follow-up. Stratify by the variable or "
            "split the time."
        )
    ratio = model.log_likelihood_ratio_test()
    rows += [
        {
            "diagnostic": "concordance",
            "term": "",
            "value": float(model.concordance_index_),
            "p_value": np.nan,
            "verdict": "0.5 is chance, 1 is perfect",
        },
        {
            "diagnostic": "likelihood ratio test",
            "term": "",
            "value": float(ratio.test_statistic),
            "p_value": float(ratio.p_value),
            "verdict": f"{len(table)} df, all terms together",
        },
        {"diagnostic": "subjects", "term": "", "value": float(len(data)), "p_value": np.nan, "verdict": ""},
        {"diagnostic": "events", "term": "", "value": float(events), "p_value": np.nan, "verdict": ""},
        {
            "diagnostic": "events per term",
            "term": "",
            "value": float(per_term),
            "p_value": np.nan,
            "verdict": "few" if per_term < 10 else "enough",
        },
    ]
    diagnostics = pd.DataFrame(rows)

    significant = int((table["p_value"] < 0.05).sum())
    adjusted = f", stratified by {', '.join(strata)}" if strata else ""
    findings = [
        {
            "text": (
                f"In a Cox model of {len(data)} subjects with {events} events ({event} = "
                f"{chosen}{adjusted}), {significant} of {len(table)} terms have a p below 0.05; "
                f"concordance {model.concordance_index_:.3f}."
            ),
            "values": [
                {"name": "n_subjects", "value": len(data), "unit": "subjects"},
                {"name": "n_events", "value": events, "unit": "events", "n": len(data)},
                {"name": "concordance", "value": float(model.concordance_index_)},
            ],
            "output": "cox_table",
        }
    ]
    # The covariate named first is usually the one the question is about; with many, the clearest come first.
    told = table if len(table) <= 6 else table.sort_values("p_value", kind="stable").head(9)
    for row in told.to_dict("records"):
        change = "higher" if row["hazard_ratio"] > 1 else "lower"
        if row["level"]:
            text = (
                f"{row['covariate']} {row['level']} against {row['reference']}: hazard ratio {row['hazard_ratio']:.3g}"
            )
            direction = f"{change} hazard in {row['level']}"
        else:
            text = f"{row['covariate']}, per unit: hazard ratio {row['hazard_ratio']:.3g}"
            direction = f"{change} hazard with more"
        if row["p_value"] >= 0.05:
            direction = "no clear difference"
        findings.append(
            {
                "text": (
                    f"{text} (95 % interval {row['lower_95']:.3g} to {row['upper_95']:.3g}, "
                    f"{format_p(row['p_value'])}; "
                    f"{direction}{'' if len(covariates) == 1 else ', adjusted for the other covariates'})."
                ),
                "values": [
                    {
                        "name": "hazard_ratio",
                        "value": row["hazard_ratio"],
                        "low": row["lower_95"],
                        "high": row["upper_95"],
                        "n": len(data),
                    },
                    {"name": "coef", "value": row["coef"]},
                    {"name": "p_value", "value": row["p_value"]},
                ],
                "output": "cox_table",
                "row": table_row(table, term=row["term"]),
            }
        )

    figure = Figure(figsize=(6.5, 1.4 + 0.4 * len(table)), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(table))[::-1]
    finite = table[["hazard_ratio", "lower_95", "upper_95"]].clip(1e-3, 1e3)
    axes.hlines(places, finite["lower_95"], finite["upper_95"], color="#0072B2")
    axes.plot(finite["hazard_ratio"], places, "s", color="#0072B2")
    axes.axvline(1, color="#666666", linestyle="--", linewidth=1)
    axes.set_xscale("log")
    axes.set_yticks(places, table["term"])
    axes.set_ylim(-0.6, len(table) - 0.4)
    axes.set_xlabel("hazard ratio with 95 % interval (log scale)")
    return {
        "cox_table": table,
        "diagnostics": diagnostics,
        "forest_plot": figure,
        "findings": findings,
        "warnings": warnings,
    }
