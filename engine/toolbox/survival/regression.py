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
from engine.toolbox.statistics.linear import ADJUSTED, CONTROL, PER, REFERENCES, base_levels
from engine.toolbox.survival.changes import split_at_change, states_at
from engine.toolbox.survival.cox_model import (
    check_rank,
    check_roles,
    code_covariates,
    describe_covariates,
    describe_levels,
    doubtful_hazards,
    draw_forest,
    hazards_rows,
    level_tests,
    model_rows,
    robust_covariance,
    term_finding,
    term_table,
)
from engine.toolbox.survival.data import survival_data
from engine.toolbox.survival.horizon import unit_of_times
from engine.toolbox.survival.intervals import span_records
from engine.toolbox.survival.landmark import LANDMARK, LANDMARK_UNIT, from_landmark
from engine.toolbox.survival.over_time import over_time_findings, ratios_over_time
from engine.toolbox.survival.partial_likelihood import fit_cox
from engine.toolbox.tables.columns import (
    level_labels,
    plain_table,
    require_columns,
)

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
        "Kaplan-Meier-transformed time); where it fails, the ratio before and after the median event time. Rows can "
        "be spans of time (start, end): late entry, covariates that change, several events; errors are then robust by "
        "subject (Lin and Wei). A landmark leaves out who had the event or was lost before it."
    ),
    domain="clinical",
    task_type="analysis",
    methods=(
        "since => Cox regression with Wald tests, because the outcome is the time to an event and "
        "{covariates} begins during follow-up",
        "strata => Cox regression with Wald tests, stratified by {strata}, because the outcome is the time "
        "to an event",
        "event:2|3 => Cox regression with Wald tests, because times are censored",
        "Cox regression with Wald tests, because the outcome is the time to an event",
    ),
    complete=("time", "event", "covariates", "strata", "start", "subject", "after landmark", "not since"),
    inputs={"survival": "survival_table: one row per subject, or spans of time with a start and an end"},
    outputs={
        "cox_table": "table: hazard ratio per term",
        "diagnostics": "table: proportional hazards, concordance, events per variable",
        "forest_plot": "figure: hazard ratios with intervals",
        "over_time": "table: ratios before and after the median event time, of terms that are not proportional",
    },
    optional_outputs=("over_time",),
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
            "covariates written as numbers that are categories (stage, centre)",
            kind="columns",
            of="survival",
            role="as_groups",
        ),
        "start": param(
            "column of times from which a row counts, for rows that are spans of time (start, end) or for late entry",
            kind="column",
            of="survival",
            role="start",
        ),
        "subject": param(
            "column of subjects with several rows (or of clusters, without start); errors are then robust by it",
            kind="column",
            of="survival",
            role="cluster",
        ),
        "since": param(
            "column of times at which the first covariate began (transplanted, drug started), empty where it never did",
            kind="column",
            of="survival",
            role="since",
        ),
        "landmark": LANDMARK,
        "landmark_unit": LANDMARK_UNIT,
        "per": PER,
        "references": REFERENCES,
        "control": CONTROL,
        "adjusted": ADJUSTED,
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
        "time-dependent covariate",
        "start-stop",
        "counting process",
        "delayed entry",
        "left truncation",
        "recurrent events",
        "Andersen-Gill",
        "landmark analysis",
        "immortal time"),
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
            title="The robust inference for the Cox proportional hazards model",
            authors="Lin DY, Wei LJ",
            year=1989,
            doi="10.1080/01621459.1989.10478874",
        ),
        Citation(
            title="Analysis of survival by tumor response",
            authors="Anderson JR, Cain KC, Gelber RD",
            year=1983,
            doi="10.1200/JCO.1983.1.11.710",
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
    answers=["cox_regression"],
)  # fmt: skip
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
    start: str = "",
    subject: str = "",
    since: str = "",
    landmark: float | None = None,
    landmark_unit: str = "",
    per: float = 1.0,
    references: list[str] = [],  # noqa: B006 - a plain default, never changed
    control: str = "",
    adjusted: list[str] = [],  # noqa: B006 - a plain default, never changed
):
    """Fit a Cox model and check it."""
    import numpy as np
    import pandas as pd

    covariates, strata = list(dict.fromkeys(covariates)), list(dict.fromkeys(strata))
    check_roles(covariates, strata, categorical, start or since, subject, landmark if start else None)
    used = [*covariates, *strata, *(name for name in (start, subject) if name)]
    if start and since:
        raise ValueError(f"Both start ({start!r}) and since ({since!r}) were given; leave one of them out.")
    if since:
        survival = plain_table(survival)
        require_columns(survival, [since])
        place = "place of the row"  # rows that lack a value are left out, and each keeps its own beginning
        data, chosen, warnings = survival_data(
            survival.assign(**{place: range(len(survival))}), time, event, event_value, [*used, place]
        )
        began = pd.to_numeric(survival[since], errors="coerce")
        data["began"] = began.to_numpy()[data.pop(f"x:{place}").astype(int)]
    else:
        data, chosen, warnings = survival_data(survival, time, event, event_value, used)
    unit = unit_of_times(time, "")
    data, moment, notes = from_landmark(span_records(data, start, subject, time), landmark, landmark_unit, time, unit)
    warnings += notes
    spans = bool(start or (since and moment is None))
    if since and moment is not None:
        data, notes = states_at(data, covariates[0], since, moment)
        warnings += notes
    followed = len(data)
    if since and moment is None:
        data, notes = split_at_change(data, covariates[0], since, time)
        warnings += notes
    bases = [f"{name}={level}" for name, level in base_levels(data, references, covariates, control).items()]
    design, facts, notes = code_covariates(data, covariates, categorical, per, bases, adjusted)
    warnings += notes
    events = int(data["event"].sum())
    check_rank(design, events, penalizer)
    # Plain names inside the model: lifelines would read formula signs in the columns' own names.
    terms = {f"term{number}": term for number, term in enumerate(design.columns)}
    frame = design.set_axis(list(terms), axis=1).join(
        data[[c for c in ("time", "event", "start", "subject") if c in data]]
    )
    strata_columns = [f"stratum{number}" for number in range(len(strata))]
    for column, name in zip(strata_columns, strata, strict=True):
        frame[column] = level_labels(data[f"x:{name}"]).astype(str)
    model, trouble = fit_cox(
        frame.drop(columns="subject", errors="ignore"), strata_columns, penalizer, "start" if spans else ""
    )
    robust = robust_covariance(model, frame, strata_columns) if subject else None
    table = term_table(model, terms, facts, robust)
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
    n_subjects = data["subject"].nunique() if subject else followed
    if subject and n_subjects < 20:
        warnings.append(f"Errors that are robust by {subject} need many of them; there are {n_subjects}.")

    rows, violated, over_time = [], {}, None
    try:
        rows = hazards_rows(model, frame, strata_columns, terms)
    except (ValueError, np.linalg.LinAlgError):
        warnings.append("Proportional hazards could not be tested on these data.")
    violated = {row["term"]: row["p_value"] for row in rows if row["p_value"] < 0.05}
    if violated:
        split = {facts[term][0] for term in violated}
        keys = [key for key, term in terms.items() if facts[term][0] in split]
        found, notes = ratios_over_time(frame, terms, keys, strata_columns, penalizer)
        over_time = pd.DataFrame(found) if found else None
        warnings += [doubtful_hazards(violated, facts, over_time is not None), *notes]
    rows += model_rows(model, frame, strata_columns, table, robust)
    # Rows with a start may be several of one subject; how many subjects there are is then known by their column only.
    counts = {"subjects": n_subjects} if subject or not start else {}
    counts |= ({"records": len(data)} if spans or subject else {}) | {"events": events}
    rows += [
        {"diagnostic": name, "term": "", "value": float(value), "p_value": np.nan, "verdict": ""}
        for name, value in counts.items()
    ]
    few = "few" if per_term < 10 else "enough"
    rows.append({"diagnostic": "events per term", "term": "", "value": per_term, "p_value": np.nan, "verdict": few})
    rows += level_tests(model, terms, facts, robust)
    diagnostics = pd.DataFrame(rows)

    concordance = diagnostics.set_index("diagnostic").loc["concordance", "value"]
    significant = int((table["p_value"] < 0.05).sum())
    who = f"{n_subjects} subjects in {len(data)} rows" if subject else f"{n_subjects} {'rows' if start else 'subjects'}"
    beside = f", stratified by {', '.join(strata)}" if strata else ""
    beside += f", landmark at {moment:g} {unit}".rstrip() if moment is not None else ""
    beside += f", errors robust by {subject}" if subject else ""
    summary = {
        "text": (
            f"In a Cox model of {who} with {events} events ({event} = "
            f"{chosen}{beside}), {significant} of {len(table)} terms have a p below 0.05; "
            f"concordance {concordance:.3f}."
        ),
        "values": [
            *({"name": f"n_{name}", "value": int(n), "unit": name} for name, n in counts.items() if name != "events"),
            {"name": "n_events", "value": events, "unit": "events", "n": len(data)},
            {"name": "concordance", "value": float(concordance)},
        ],
        "output": "cox_table",
    }
    # The covariate named first is usually the one the question is about; of many others the clearest come first.
    asked = table["covariate"] == covariates[0]
    rest = table[~asked] if len(table) <= 6 else table[~asked].sort_values("p_value", kind="stable").head(8)
    told = pd.concat([table[asked].head(4), rest])
    findings = [
        term_finding(
            table, row, covariates, len(data), f"{event} = {chosen}", 1.0 if row["covariate"] in adjusted else per
        )
        for row in told.to_dict("records")
    ]
    changing = over_time_findings(over_time, violated, facts, unit) if over_time is not None else []
    levels, what = level_tests(model, terms, facts, robust), f"{event} = {chosen}"
    joint = {row["term"]: row["p_value"] for row in levels}
    together = describe_covariates(table, covariates, adjusted, len(data), what, joint) if per == 1 else []
    if covariates[0] in joint and not together:
        others = [name for name in covariates if name != covariates[0]]
        held = f", adjusted for {', '.join(others[:6])}" if others else ""
        together = [describe_levels(table, row, len(data), what, held)
                    for row in levels if row["term"] == covariates[0]]  # fmt: skip
    findings = [*together, findings[0], *changing, summary, *findings[1:]]
    return {
        "cox_table": table,
        "diagnostics": diagnostics,
        "forest_plot": draw_forest(table),
        "over_time": over_time,
        "findings": findings,
        "warnings": warnings,
    }
