"""Why apart: a meta-analysis has studies for rows, and each row brings its own precision.

Whatever the studies report becomes one effect and one variance each (`study_effects.py`); the pooling (`pooling.py`)
knows nothing of where they are from. The between-study variance is named with its estimator: it decides the answer.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep, Points
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.meta_regression import moderator_column, moderator_tables
from engine.toolbox.statistics.pooling import (
    dersimonian_laird,
    egger_test,
    heterogeneity_row,
    paule_mandel,
    pool,
    pooled_rows,
    restricted_likelihood,
)
from engine.toolbox.statistics.study_effects import study_effects, study_names
from engine.toolbox.tables.columns import (
    finding_values,
    format_number,
    format_p,
    left_open,
    level_labels,
    new_axes,
    palette,
    plain_table,
    require_columns,
)
from engine.toolbox.tables.rows import table_row


@check("pooled_effects_consistent")
def pooled_effects_consistent(step: StepOutputs) -> Iterator[Issue]:
    """A pooled effect lies in its interval among the studies' effects; weights of a model add up to 100 %."""
    pooled, studies = step.table("pooled"), step.table("studies")
    low, high = studies["effect"].min(), studies["effect"].max()
    slack = 1e-9 * max(1.0, abs(low), abs(high))
    for _, row in pooled.iterrows():
        if not row["lower_95"] <= row["estimate"] <= row["upper_95"]:
            message = f"{row['model']}: the interval does not contain the estimate {row['estimate']}."
            yield Issue(code="interval_without_estimate", severity="error", message=message, where="pooled")
        if not low - slack <= row["estimate"] <= high + slack:
            message = f"{row['model']}: the estimate {row['estimate']} lies outside the effects of the studies."
            yield Issue(code="pooled_outside_studies", severity="error", message=message, where="pooled")
    for name in ("weight_fixed", "weight_random"):
        if abs(studies[name].sum() - 100) > 1e-6:
            message = f"The weights in {name} add up to {studies[name].sum()} %, not to 100 %."
            yield Issue(code="weights_differ", severity="error", message=message, where="studies")


def forest_figure(studies, row, name, log):
    """Draw every study with its interval (square by weight), the pooled diamond and the prediction interval."""
    import numpy as np

    shown = studies.iloc[::-1].reset_index(drop=True)
    figure, axis = new_axes(width=7.6, height=max(3.0, min(20, 0.3 * len(shown) + 1.9)))
    back = np.exp if log else (lambda x: x)
    colour = palette(2)
    for i, study in shown.iterrows():
        axis.plot(back([study["lower_95"], study["upper_95"]]), [i, i], color="0.35", linewidth=1)
        axis.scatter(back(study["effect"]), i, s=12 + 4 * study["weight_random"], marker="s", color=colour[0], zorder=3)
    left, right, y = *back(np.array([row["lower_95"], row["upper_95"]])), -1.4
    axis.fill([left, back(row["estimate"]), right, back(row["estimate"])], [y, y + 0.35, y, y - 0.35], color=colour[1])
    ticks, labels = [*range(len(shown)), y], [*(str(text)[:40] for text in shown["study"]), row["model"]]
    if "prediction_lower" in row:
        axis.plot(
            back(np.array([row["prediction_lower"], row["prediction_upper"]])),
            [y - 1, y - 1],
            color=colour[1],
            linewidth=3,
        )
        ticks, labels = [*ticks, y - 1], [*labels, "95 % prediction interval"]
    axis.axvline(back(0.0), color="0.6", linewidth=0.9, linestyle="--")
    axis.set_yticks(ticks, labels, fontsize=8)
    axis.set_ylim(y - 1.7, len(shown) - 0.4)
    if log:
        axis.set_xscale("log")
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.xaxis.set_minor_formatter(lambda value, _: "")
    for i, study in shown.iterrows():
        texts = [format_number(float(back(study[key]))) for key in ("effect", "lower_95", "upper_95")]
        axis.text(
            1.02,
            i,
            f"{texts[0]} [{texts[1]}, {texts[2]}]",
            transform=axis.get_yaxis_transform(),
            fontsize=8,
            va="center",
        )
    texts = [format_number(float(back(row[key]))) for key in ("estimate", "lower_95", "upper_95")]
    axis.text(1.02, y, f"{texts[0]} [{texts[1]}, {texts[2]}]", transform=axis.get_yaxis_transform(), fontsize=8,
              va="center", fontweight="bold")  # fmt: skip
    axis.set_xlabel(f"{name} (95 % CI{', log scale' if log else ''})")
    return figure


def axis_label(name, log):
    """Return what an effect is called on an axis of the effect itself, where logarithms were pooled."""
    return name if not log or name in ("risk ratio", "odds ratio") else f"exp of {name}"


def funnel_figure(studies, row, name):
    """Draw every study's effect against its standard error, with the region around the pooled effect."""
    figure, axis = new_axes()
    top = 1.08 * float(studies["se"].max())
    middle = row["estimate"]
    axis.fill([middle, middle - 1.96 * top, middle + 1.96 * top], [0, top, top], color="0.92", zorder=0)
    axis.axvline(middle, color="0.5", linestyle="--", linewidth=0.9)
    axis.scatter(
        studies["effect"], studies["se"], s=22, color=palette(1)[0], edgecolor="white", linewidth=0.4, zorder=3
    )
    axis.set_ylim(top, 0)
    axis.set_xlabel(name)
    axis.set_ylabel("standard error (small studies below)")
    return figure


def sides_of_arms(arms):
    """Return what the names of the columns of two groups call them, () where nothing else sets them apart.

    `vaccinated` and `unvaccinated` of `TB cases (vaccinated)` and `TB cases (unvaccinated)`.
    """
    import re

    first, second = arms[: len(arms) // 2], arms[len(arms) // 2 :]
    words = [[re.findall(r"[A-Za-z]+", name) for name in side] for side in (first, second)]
    sides = []
    for own, others in (words, words[::-1]):
        other = {word for name in others for word in name}
        apart = [" ".join(word for word in name if word not in other) for name in own]
        sides.append(apart[0] if len(set(apart)) == 1 and len(apart[0]) > 1 else "")
    return tuple(sides) if all(sides) else ()


@tool(
    name="meta_analysis",
    title="Meta-analysis of several studies",
    description=(
        "Combine the effects of several studies, one row a study: fixed effect (inverse variance) and random "
        "effects with the between-study variance by REML, DerSimonian-Laird and Paule-Mandel, Hartung-Knapp's "
        "interval, Q, I2, tau2 with its interval, a 95 % prediction interval, Egger's test, each study left out "
        "in turn, forest plot and funnel plot. "
        "From an effect with "
        "standard error, variance or 95 % interval; from events and totals of two groups (log risk ratio or odds "
        "ratio); or "
        "from means, SDs and ns (Hedges g or mean difference). Studies are independent. With a moderator (a number or "
        "two or more groups of studies) also meta-regression by REML with Knapp and Hartung's test: slope, R2, "
        "residual heterogeneity and a bubble plot."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "moderator => meta-regression, because the effects of studies are set against {moderator}",
        "model=fixed => fixed-effect meta-analysis (inverse variance), because effects of several studies "
        "are combined",
        "model=dersimonian_laird => random-effects meta-analysis (DerSimonian-Laird, Hartung-Knapp "
        "interval), because effects of several studies are combined",
        "model=paule_mandel => random-effects meta-analysis (Paule-Mandel, Hartung-Knapp interval), "
        "because effects of several studies are combined",
        "random-effects meta-analysis (REML, Hartung-Knapp interval), because effects of several studies "
        "are combined",
    ),
    answers=["meta_analysis"],
    inputs={"table": "table: one row a study"},
    outputs={
        "pooled": "table: the pooled effect by each model, with interval, p-value and prediction interval",
        "heterogeneity": "table: Q, I2, tau2 with intervals",
        "studies": "table: effect, standard error, interval, weights of each study, and the pooled effect without it",
        "egger": "table: Egger's test of small studies",
        "forest_plot": "figure: studies and the pooled effect",
        "funnel_plot": "figure: effects against standard errors",
        "moderator": "table: intercept and slope (or group difference) of the meta-regression",
        "residual": "table: what heterogeneity is left and what the moderator accounts for",
        "bubble_plot": "figure: effects over the moderator, size by precision",
    },
    points={"funnel_plot": Points(table="studies", x="effect", y="se", picture_first=True)},
    optional_outputs=("egger", "moderator", "residual", "bubble_plot"),
    params={
        "effect": param(
            "Effect of each study, where events and totals (or means and SDs) of two groups do not give it",
            kind="column", of="table", role="y",
            called=r"(log ?|ln ?|l)?(or|rr|hr|irr|rd|md|smd|es|te)( .*)?|yi|effect( size| estimate)?|estimate|beta|"
            r"hedges g|(log |ln )?(odds|risk|hazard|rate|response) ratio( .*)?|cohens? d|mean difference",
        ),
        "error": param(
            "Column with its standard error or variance", kind="column", of="table", role="y",
            called=r"sei?( .*)?|.* sei?|std err(or)?|standard error|vi|var(iance)?( .*)?|.* var(iance)?",
        ),
        "lower": param("Column with the lower 95 % limit", kind="column", of="table", role="measures",
                       called=r"(.* )?(lower|low|lo|lcl|lci|ll|from|ci l)( .*)?"),
        "upper": param("Column with the upper 95 % limit", kind="column", of="table", role="measures",
                       called=r"(.* )?(upper|up|high|hi|ucl|uci|ul|ci u)( .*)?"),
        "arms": param(
            "Columns of two groups: events and totals, or means, SDs and ns (recognised by their names)",
            kind="columns", of="table", role="measures", least=4, most=6,
            called=r"(.* )?(events?|cases|deaths|died|dead|positive|responders?|n|totals?|mean|sd|tpos|tneg|cpos|cneg)"
            r"( .*)?",
            instead_of=["effect", "error", "lower", "upper"],
        ),
        "study": param(
            "Column that names the studies", kind="column", of="table", role="anything",
            called=r"(study|studies|trial|author|authors|paper|publication)( .*)?",
        ),
        "moderator": param(
            "What may explain why studies differ: a number or groups of studies, for meta-regression",
            kind="columns", of="table", role="predictors", most=1,
        ),
        "regression_test": param(
            "Test of the moderator", choices=["knapp_hartung", "normal"],
            words=["normal: wald|z[ -]tests?\\b|without knapp",
                   "knapp_hartung: knapp|HKSJ|t[ -]test"],
        ),
        "model": param(
            "Which model answers; the others stand in the table",
            choices=["reml", "dersimonian_laird", "fixed", "paule_mandel"],
            words=["paule_mandel: paule.?(?:and )?mandel",
                   "dersimonian_laird: dersimonian|\\bDL\\b", "fixed: fixed.effects?|common.effect", "reml: reml"],
        ),
        "measure": param(
            "Effect computed from two groups",
            choices=["auto", "risk_ratio", "odds_ratio", "hedges_g", "mean_difference"],
            words=["odds_ratio: odds|(?-i:\\bOR\\b)", "risk_ratio: risk ratios?|relative risk|(?-i:\\bRR\\b)",
                   "mean_difference: mean.differences?|raw differences?", "hedges_g: hedges|standardi[sz]ed|\\bSMD\\b"],
        ),
        "error_is": param(
            "What the column of errors holds; auto by its name",
            choices=["auto", "standard_error", "variance"],
            words=["variance: variances?\\b(?! be)", "standard_error: standard errors?|\\bSEs?\\b"],
        ),
        "scale": param(
            "Scale of the effect: auto by its name, ratios are pooled as logarithms",
            choices=["auto", "as_is", "log", "ratio"], words=["auto: by its name"],
        ),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "pooled_effects_consistent"),
    keywords=(
        "meta-analysis", "pooled effect", "forest plot", "funnel plot", "random effects", "fixed effect",
        "heterogeneity",
        "I2", "tau2", "DerSimonian-Laird", "REML", "Egger's test", "publication bias", "systematic review", "metafor",
        "meta-regression", "moderator", "bubble plot", "Knapp-Hartung", "residual heterogeneity",
        "prediction interval of studies", "all studies together",
    ),
    citations=(
        Citation(title="Meta-analysis in clinical trials", authors="DerSimonian R, Laird N", year=1986,
                 doi="10.1016/0197-2456(86)90046-2"),
        Citation(title="Bias and efficiency of meta-analytic variance estimators in the random-effects model",
                 authors="Viechtbauer W", year=2005, doi="10.3102/10769986030003261"),
        Citation(title="Consensus values and weighting factors", authors="Paule RC, Mandel J", year=1982,
                 doi="10.6028/jres.087.022"),
        Citation(title="A refined method for the meta-analysis of controlled clinical trials with binary outcome",
                 authors="Hartung J, Knapp G", year=2001, doi="10.1002/sim.1009"),
        Citation(title="A re-evaluation of random-effects meta-analysis", authors="Higgins JPT, Thompson SG, "
            "Spiegelhalter DJ",
                 year=2009, doi="10.1111/j.1467-985X.2008.00552.x"),
        Citation(title="Improved tests for a random effects meta-regression with a single covariate",
                 authors="Knapp G, Hartung J", year=2003, doi="10.1002/sim.1482"),
        Citation(title="Bias in meta-analysis detected by a simple, graphical test",
                 authors="Egger M, Davey Smith G, Schneider M, Minder C", year=1997, doi="10.1136/bmj.315.7109.629"),
    ),
    packages=("scipy", "numpy", "pandas"),
    leads={"intercept": r"publication bias|small.stud|funnel|egger|asymmetr|"
           r"(?:never|not|un) ?published",
           # Where the pooled effect is asked for as well, it leads.
           "I2": r"^(?!.*(?:\b(?:odds|risk|hazard) ratio|pooled|overall)).*(?:heterogen|inconsisten|\bI2\b|I²)"},
    seconds=3.0,
    example="Pool the log odds ratios of the trials with their standard errors and draw a forest plot.",
    next_steps=(
        NextStep(text="Look for what sets the studies with the largest and smallest effects in {rows} apart "
                      "(dose, species, "
                      "region) before reading the pooled effect as one truth."),
    ),
)  # fmt: skip
def meta_analysis(
    table,
    *,
    effect: str = "",
    error: str = "",
    lower: str = "",
    upper: str = "",
    arms: list[str] = [],  # noqa: B006 - a plain default, never changed
    study: str = "",
    moderator: list[str] = [],  # noqa: B006
    regression_test: str = "knapp_hartung",
    model: str = "reml",
    measure: str = "auto",
    error_is: str = "auto",
    scale: str = "auto",
):
    """Combine the effects of several studies."""
    import numpy as np
    import pandas as pd

    table = plain_table(table)
    if study:
        require_columns(table, [study])
    require_columns(table, moderator)
    table, y, v, name, log, warnings = study_effects(table, effect, error, lower, upper, arms, measure, error_is, scale)
    labels, called = study_names(table, study)
    known = (y.notna() & v.notna()).to_numpy()
    y, v, labels = y[known].to_numpy(), v[known].to_numpy(), labels[known].to_numpy()
    if len(y) < 2:
        raise ValueError(f"Only {len(y)} studies have an effect and its precision; expected at least 2 to combine.")
    named = list(level_labels(table[called][known]).dropna()) if called else []
    if called and len(set(named)) < len(named):
        warnings.append(f"Some values of {called} have several rows; they were pooled as independent studies, "
                        f"which makes the "
                        "interval too narrow if they share subjects.")  # fmt: skip
    estimators = {"dersimonian_laird": dersimonian_laird, "reml": restricted_likelihood, "paule_mandel": paule_mandel}
    titles = {"fixed": "fixed effect (inverse variance)", "dersimonian_laird": "random effects (DerSimonian-Laird)",
              "reml": "random effects (REML)", "paule_mandel": "random effects (Paule-Mandel)"}  # fmt: skip
    between = {name: estimate(y, v) for name, estimate in estimators.items()}
    rows = pooled_rows(y, v, between)
    by_model = {row["model"]: row for row in rows}
    fixed, reml = by_model[titles["fixed"]], by_model[titles["reml"]]
    chosen, used = by_model[titles[model]], model if model in between else "reml"
    tau2, method = between[used], titles[used].partition("(")[2].rstrip(")")
    spread = heterogeneity_row(y, v, tau2, method)
    without = []
    for i in range(len(y)):
        rest, part = np.delete(y, i), np.delete(v, i)
        own = estimators[model](rest, part) if model in estimators and len(rest) > 1 else 0.0
        without.append(pool(rest, part, own)[0])
    se = np.sqrt(v)
    weights = [100 / (v + t) / (1 / (v + t)).sum() for t in (0.0, tau2)]
    studies = pd.DataFrame({"study": labels, "effect": y, "se": se, "lower_95": y - 1.959964 * se,
                            "upper_95": y + 1.959964 * se, "weight_fixed": weights[0], "weight_random": weights[1],
                            "pooled_without": without})  # fmt: skip
    if log:
        chosen_ratio = [float(np.exp(chosen[key])) for key in ("estimate", "lower_95", "upper_95")]
        for row in rows:
            row |= {"ratio": np.exp(row["estimate"]), "ratio_lower_95": np.exp(row["lower_95"]),
                    "ratio_upper_95": np.exp(row["upper_95"])}  # fmt: skip
    pooled, table_spread = pd.DataFrame(rows), pd.DataFrame([spread])
    texts = [format_number(chosen[key]) for key in ("estimate", "lower_95", "upper_95")]
    number = f"{texts[0]} (95 % CI {texts[1]} to {texts[2]})"
    if log:
        shown = [format_number(value) for value in chosen_ratio]
        plain = name if name in ("risk ratio", "odds ratio") else f"as a ratio (exp of {name})"
        number = f"{shown[0]} (95 % CI {shown[1]} to {shown[2]})"
        name_said = plain
    else:
        name_said = name
    clear = chosen["p_value"] < 0.05
    direction = ("above" if chosen["estimate"] > 0 else "below") + (" 1" if log else " 0")
    verdict = f"is {direction} on average" if clear else f"is not shown to differ from {1 if log else 0} on average"
    ends = chosen_ratio[1:] if log else (chosen["lower_95"], chosen["upper_95"])
    unseen = "" if clear else left_open(*ends, ratio=log)
    sides = sides_of_arms(arms) if clear and name in ("risk ratio", "odds ratio") else ()
    start = f"Taken together, the effect of the {len(y)} studies {verdict}"
    if sides:
        size = 100 * abs(chosen["ratio"] - 1)
        way = f"{format_number(size)} % {'higher' if chosen['ratio'] > 1 else 'lower'}"
        start = (f"Over the {len(y)} studies together the {name.split()[0]}{' is' if name[0] == 'r' else ' are'} {way} "
                 f"with {sides[0]} than with {sides[1]}")  # fmt: skip
    findings = [
        {"text": f"{start}: {name_said} {number}, {format_p(chosen['p_value'])}, {chosen['model']}{unseen}.",
         "values": finding_values(estimate=(chosen["estimate"], chosen["lower_95"], chosen["upper_95"]),
                                  se=chosen["se"],
                                  p_value=chosen["p_value"], ratio=chosen.get("ratio")),
         "output": "pooled", "row": table_row(pooled, model=chosen["model"])},
        {"text": ("The studies contradict each other more than chance explains" if spread["p_value"] < 0.05 else
                  "The studies do not differ clearly more than chance explains")
                 + f": I2 = {spread['I2']:.1f} % (95 % CI {spread['I2_lower_95']:.1f} to "
                   f"{spread['I2_upper_95']:.1f} %; {spread['I2_from_Q']:.1f} % by Q), tau2 = "
                 f"{format_number(spread['tau2'])} ({method}), Q = {spread['Q']:.2f} on {spread['df']} degrees "
                 f"of freedom, "
                 f"{format_p(spread['p_value'])}.",
         "values": finding_values(I2=(spread["I2"], spread["I2_lower_95"], spread["I2_upper_95"]),
                                  I2_from_Q=spread["I2_from_Q"], Q=spread["Q"],
                                  tau2=(spread["tau2"], spread["tau2_lower_95"], spread["tau2_upper_95"]),
                                  p_value=spread["p_value"]),
         "output": "heterogeneity", "row": table_row(table_spread, heterogeneity=method)},
    ]  # fmt: skip
    if "prediction_lower" in chosen:
        limits = [chosen["prediction_lower"], chosen["prediction_upper"]]
        shown = [format_number(float(np.exp(x)) if log else x) for x in limits]
        across = limits[0] < 0 < limits[1]
        findings.append({
            "text": f"In a new study of the same kind the true {'ratio' if log else 'effect'} would lie between "
                    f"{shown[0]} and "
                    f"{shown[1]} (95 % prediction interval)" + (", so it could point either way." if across else "."),
            "values": finding_values(prediction_lower=limits[0], prediction_upper=limits[1]),
            "output": "pooled", "row": table_row(pooled, model=chosen["model"])})  # fmt: skip
    pull = int(np.argmax(np.abs(studies["pooled_without"] - chosen["estimate"])))
    moved = studies["pooled_without"].iloc[pull]
    findings.append({
        "text": f"{labels[pull]} pulls the pooled effect most: without it, it is "
                f"{format_number(float(np.exp(moved)) if log else float(moved))}.",
        "values": finding_values(pooled_without=float(moved)), "output": "studies",
        "row": table_row(studies, study=labels[pull])})  # fmt: skip
    egger = egger_test(y, v)
    if egger:
        said = (
            "give other effects than large ones, as when small studies were not published"
            if egger["p_value"] < 0.05
            else ("are not shown to give other effects than large ones")
        )
        findings.append({
            "text": f"Small studies {said}: Egger's intercept {format_number(egger['intercept'])} (SE "
                    f"{format_number(egger['se'])}), {format_p(egger['p_value'])}.",
            "values": finding_values(intercept=egger["intercept"], p_value=egger["p_value"]),
            "output": "egger", "row": {"test": "Egger"}})  # fmt: skip
    if egger and len(y) < 10:
        warnings.append(
            f"With {len(y)} studies, fewer than 10, Egger's test and the funnel plot can hardly show a bias."
        )
    hk = by_model.get("random effects (REML), Hartung-Knapp", chosen)
    narrow = hk["upper_95"] - hk["lower_95"] < reml["upper_95"] - reml["lower_95"]
    if len(y) < 5:
        warnings.append(f"Only {len(y)} studies: tau2 is very uncertain" + (
            "." if hk is chosen or narrow else "; prefer the Hartung-Knapp row of the table."))  # fmt: skip
    if np.sign(fixed["estimate"]) != np.sign(reml["estimate"]) or (fixed["p_value"] < 0.05) != (reml["p_value"] < 0.05):
        warnings.append("Fixed and random effects do not agree at 0.05: large and small studies say different things.")
    if hk is not chosen and narrow and len(y) < 20:
        warnings.append("Hartung-Knapp's interval is narrower than the ordinary one, because the studies happen to "
                        "agree more than their errors let expect: do not lean on that row.")  # fmt: skip
    elif (hk["p_value"] < 0.05) != clear and model != "fixed":
        warnings.append(
            "By Hartung-Knapp's interval, which fits few studies better, the conclusion at 0.05 would be another."
        )
    explained, bubbles = {"moderator": None, "residual": None}, None
    if moderator:
        values, notes = moderator_column(table[moderator[0]][known])
        warnings += notes
        explained, bubbles, said = moderator_tables(
            y, v, values, moderator[0], axis_label(name, log), log, regression_test
        )
        findings = [*said, *findings]
    wanted = ["model", "studies", "estimate", "se", "lower_95", "upper_95", "statistic", "p_value", "tau2",
              "prediction_lower",
              "prediction_upper", "ratio", "ratio_lower_95", "ratio_upper_95"]  # fmt: skip
    axis_name = axis_label(name, log)
    return {
        "pooled": pooled.reindex(columns=[column for column in wanted if column in pooled]),
        "heterogeneity": table_spread,
        "egger": pd.DataFrame([{"test": "Egger"} | egger]) if egger else None,
        "studies": studies,
        "forest_plot": forest_figure(studies, chosen, axis_name, log),
        "funnel_plot": funnel_figure(studies, chosen, f"log {name}" if name in ("risk ratio", "odds ratio") else name),
        "bubble_plot": bubbles,
        **explained,
        "findings": findings,
        "warnings": warnings,
    }
