"""What a prediction rests on, and whether its probabilities hold.

Importance is measured on rows the model never saw, by shuffling a column there: what helps only in training counts
nothing. A probability of 30 % holds when 30 of 100 such rows had the outcome.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.learning.folds import (
    corrected_interval,
    possible_folds,
    prepared_rows,
    size_warnings,
    split_rows,
    too_small,
    tuned_fit,
)
from engine.toolbox.learning.leaks import meant_subject, telling_columns
from engine.toolbox.learning.models import coded_names, coded_rows, model_name
from engine.toolbox.learning.recalibration import (
    advice,
    gap_rows,
    logit_fit,
)
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.proportions import event_rows, wilson_interval
from engine.toolbox.tables.columns import (
    complete_rows,
    finding_values,
    format_number,
    new_axes,
    numeric_values,
    palette,
    plain_table,
    require_columns,
)
from engine.toolbox.tables.rows import table_row


@check("importance_consistent")
def importance_consistent(step: StepOutputs) -> Iterator[Issue]:
    """Shares lie between 0 and 1, ranks are complete and follow the importance."""
    table = step.table("importance")
    for column in ("helped", "top_five"):
        if not table[column].between(0, 1).all():
            yield Issue(code="share_out_of_range", severity="error", message=f"A share in {column} is impossible.",
                        where="importance")  # fmt: skip
    if (table["importance"].diff().iloc[1:] > 1e-12).any():
        yield Issue(code="importance_order", severity="error", message="The columns are not in order of importance.",
                    where="importance")  # fmt: skip


@check("calibration_bins_add_up")
def calibration_bins_add_up(step: StepOutputs) -> Iterator[Issue]:
    """Observed shares are events over rows, inside their intervals; the Brier score lies between 0 and 1."""
    for _, row in step.table("bins").iterrows():
        if (
            abs(row["observed"] * row["rows"] - row["events"]) > 1e-6
            or not row["lower_95"] <= row["observed"] <= row["upper_95"]
        ):
            yield Issue(code="bin_differs", severity="error", message="An observed share is not its events over rows.",
                        where="bins")  # fmt: skip
    brier = step.table("calibration").set_index("measure")["value"]["brier"]
    if not 0 <= brier <= 1:
        yield Issue(code="brier_out_of_range", severity="error", message=f"A Brier score of {brier} is impossible.",
                    where="calibration")  # fmt: skip


def alike_columns(frame):
    """Return for every predictor the numeric ones that go with it: Spearman correlation beyond 0.8."""
    close = frame.select_dtypes("float").corr(method="spearman").abs() > 0.8
    return {name: [other for other in close.columns[close[name]] if other != name] if name in close else []
            for name in frame}  # fmt: skip


def shuffled_rows(new, columns, rng, times):
    """Return the coded rows `times` below each other, with the chosen columns shuffled together."""
    import numpy as np

    copies = np.tile(new, (times, 1))
    order = np.concatenate([rng.permutation(len(new)) for _ in range(times)])
    copies[:, columns] = new[order][:, columns]
    return copies


def unseen_quality(fitted, new, truth, number):
    """Return R2, AUC (two labels) or accuracy on unseen rows, the mean where they stand below each other repeatedly."""
    import numpy as np
    from sklearn.metrics import accuracy_score, r2_score, roc_auc_score

    two = not number and len(fitted.classes_) == 2
    said = fitted.predict_proba(new)[:, 1] if two else fitted.predict(new)
    measure = r2_score if number else roc_auc_score if two else accuracy_score
    known = truth == fitted.classes_[1] if two else truth
    return float(np.mean([measure(known, own) for own in np.split(said, len(new) // len(truth))]))


@tool(
    name="feature_importance",
    title="Permutation importance of predictors",
    description=(
        "Rank the columns by how much a prediction of unseen rows suffers when one of them is shuffled (permutation "
        "importance on the held-out folds of repeated cross-validation), for a label (loss of AUC or, with more "
        "labels, of accuracy) or a number (loss of R2); with its interval, the range of its rank over folds, the share "
        "of folds in which it helped, and the loss when columns that go together are shuffled at once. Ids and copies "
        "of the outcome are left out; the rows of a subject stay together."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "loss of prediction on unseen rows when a column is shuffled, in repeated cross-validation of a "
        "{model} model",
    ),
    answers=["feature_importance"],
    inputs={"table": "table: one row a sample"},
    outputs={
        "importance": "table: importance and stability of every column",
        "importance_plot": "figure: importance over the folds",
    },
    params={
        "outcome": param("The label or number that is predicted", kind="column", of="table", role="anything",
                         needed=True),
        "predictors": param("Columns that are ranked; empty for all others", kind="columns", of="table",
                            role="predictors"),
        "categorical": param("Numbers among them that are names (centre, plate)", kind="columns", of="table",
                             role="as_groups"),
        "subject": param("Column of subjects with several rows; all rows of one stay in the same fold", kind="column",
                         of="table", role="cluster"),
        "model": param("How it is predicted", choices=["forest", "linear", "lasso", "boosting"],
                       words=["boosting: gradient[- ]?boost|boosted trees?|(?:xg|cat)boost|xgb|lightgbm",
                              "forest: random.?forests?|decision trees?", "lasso: lasso",
                              "linear: logistic|ridge|linear"]),
        "folds": param("Parts the rows are split into", minimum=2, maximum=20, words=["folds?"]),
        "repeats": param("How often the split is made anew", minimum=1, maximum=50, words=["repeats?", "repetitions?"]),
        "seed": param("Seed of splits and shuffles", minimum=0, words=["seed"]),
    },
    checks=("tables_not_empty", "findings_match_tables", "importance_consistent"),
    keywords=(
        "feature importance", "permutation importance", "variable importance", "which variables matter",
        "most important predictors", "most predictive", "which measurements help most", "random forest importance",
    ),
    citations=(
        Citation(title="Random forests", authors="Breiman L", year=2001, doi="10.1023/A:1010933404324"),
        Citation(title="Scikit-learn: machine learning in Python", authors="Pedregosa F, et al.", year=2011),
    ),
    packages=("scikit-learn", "numpy", "pandas"),
    seconds=20,
    example="Which blood values help most to tell the diagnosis?",
    next_steps=(
        NextStep(text="Importance in a prediction is no effect: for an adjusted effect with an interval fit a "
                      "regression."),
    ),
)  # fmt: skip
def feature_importance(
    table,
    *,
    outcome: str = "",
    predictors: list[str] = [],  # noqa: B006 - a plain default, never changed
    categorical: list[str] = [],  # noqa: B006
    subject: str = "",
    model: str = "forest",
    folds: int = 5,
    repeats: int = 3,
    seed: int = 1,
):
    """Rank columns by what a prediction of unseen rows loses without them."""
    import numpy as np
    import pandas as pd
    from scipy.stats import rankdata

    if not outcome:
        raise ValueError("What is to be predicted was not said; name its column as outcome.")
    require_columns(plain_table(table), [outcome])
    column = table[outcome] if outcome in table else plain_table(table)[outcome]
    number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column) and column.nunique() > 6
    predictors, subject, meant = meant_subject(plain_table(table), predictors, subject)
    frame, target, groups, warnings = prepared_rows(table, outcome, predictors, subject, number, categorical)
    warnings = meant + warnings
    if frame.shape[1] < 2:
        raise ValueError(f"Only {frame.columns[0]!r} is left as a predictor; a ranking needs at least two columns.")
    if not number and target.nunique() > 12:
        raise ValueError(f"Column {outcome!r} has {target.nunique()} different labels; expected at most 12.")
    folds, _ = possible_folds(target, groups, folds, number)
    warnings += [] if too_small(target, groups, number) else size_warnings(frame, target, groups, number)
    two = not number and target.nunique() == 2
    measure = "R2" if number else "AUC" if two else "accuracy"

    alike, times = alike_columns(frame), 3
    if frame.shape[1] > 200:
        repeats = times = 1
        warnings.append(f"{frame.shape[1]} columns are many: one repeat and one shuffle of each, so ranks are rough.")
    rng, losses, joint, whole, part = np.random.default_rng(seed), [], [], [], []
    for repeat in range(repeats):
        for number_of, (train, test) in enumerate(split_rows(target, groups, folds, seed + repeat, number)):
            truth = target.iloc[test].to_numpy()
            if len(test) < 2 or (two and len(set(truth)) < 2):
                continue
            fitted, facts = tuned_fit(frame, target, groups, train, model, seed + repeat, number)
            new, owner = coded_rows(frame, test, facts), np.array(coded_names(frame, facts))
            full = unseen_quality(fitted, new, truth, number)
            parts = [[name] for name in frame] + [[name, *alike[name]] for name in frame if alike[name]]
            mixed = [shuffled_rows(new, np.isin(owner, names), rng, times) for names in parts]
            shuffled = [full - unseen_quality(fitted, rows, truth, number) for rows in mixed]
            whole.append(full)
            part.append(number_of)
            losses.append(shuffled[: frame.shape[1]])
            joint.append(shuffled[frame.shape[1] :])
    found = np.array(losses)
    if not len(found):
        raise ValueError("No fold held both labels; there are too few rows to rank columns.")
    ranks = np.array([rankdata(-row) for row in found])
    part = np.array([part])
    intervals = [corrected_interval(column, part) for column in found.T]
    together = dict(zip([name for name in frame if alike[name]], np.mean(joint, axis=0), strict=True))
    result = pd.DataFrame(
        {"predictor": list(frame.columns), "importance": found.mean(axis=0), "sd": found.std(axis=0, ddof=1),
         "lower_95": [low for low, _ in intervals], "upper_95": [high for _, high in intervals],
         "helped": (found > 0).mean(axis=0), "top_five": (ranks <= 5).mean(axis=0),
         "median_rank": np.median(ranks, axis=0), "rank_low": np.percentile(ranks, 2.5, axis=0),
         "rank_high": np.percentile(ranks, 97.5, axis=0),
         "with_alike": [together.get(name, float("nan")) for name in frame],
         "alike": [", ".join(alike[name]) for name in frame], "folds": len(found)}
    ).sort_values("importance", ascending=False, kind="stable", ignore_index=True)  # fmt: skip
    quality_mean = float(np.mean(whole))
    guessed = 0.0 if number else 0.5 if two else float(target.value_counts(normalize=True).max())
    useless = not corrected_interval(whole, part)[0] > guessed
    first = result.iloc[0]
    named = ", ".join(
        f"{row.predictor} ({row.importance:.2f})" for row in result.head(5).itertuples() if row.lower_95 > 0
    )
    small = too_small(target, groups, number)
    lead = (f"The prediction of {outcome} hardly works on unseen rows ({measure} {quality_mean:.2f}), so no column can "
            "be called important" if useless else
            f"The data are too few to rank columns ({small}); for what it is worth, the prediction of {outcome} ("
            f"unseen {measure} {quality_mean:.2f}) rests most on {named or first['predictor']}" if small else
            f"The prediction of {outcome} (unseen {measure} {quality_mean:.2f}) rests on {named}" if named else
            f"The prediction of {outcome} (unseen {measure} {quality_mean:.2f}) rests on no column alone: none makes a "
            "loss that is surely above 0")  # fmt: skip
    findings = [
        {"text": f"{lead}: loss of {measure} when the column is shuffled, mean of {len(found)} held-out folds "
                 f"({len(target)} rows, {frame.shape[1]} columns, {model_name(model, number)}).",
         "values": finding_values(importance=float(first["importance"])), "output": "importance",
         "row": table_row(result, predictor=first["predictor"])}
    ]  # fmt: skip
    sure = result[result["lower_95"] > 0]
    findings += [
        {"text": f"Shuffling {row['predictor']} costs {row['importance']:.3f} of {measure} (95 % interval "
                 f"{row['lower_95']:.3f} to {row['upper_95']:.3f}); it helped in {100 * row['helped']:.0f} % of the "
                 f"folds, and its rank ran from {row['rank_low']:.0f} to {row['rank_high']:.0f}"
                 + (f"; together with {row['alike']}, which go with it, {row['with_alike']:.3f}." if row["alike"]
                    else "."),
         "values": finding_values(importance=(row["importance"], row["lower_95"], row["upper_95"]),
                                  helped=row["helped"], top_five=row["top_five"]),
         "output": "importance", "row": table_row(result, predictor=row["predictor"])}
        for row in ([] if useless else sure.head(5).to_dict("records"))
    ]  # fmt: skip
    telling = telling_columns(frame, target, number)
    if telling:
        shown = ", ".join(f"{name} ({how})" for name, how in list(telling.items())[:6])
        warnings.insert(0, f"{shown}: tells {outcome} almost alone. Make sure that it is not measured after {outcome} "
                           "is known, or because of it; the other columns look useless beside it.")  # fmt: skip
    pairs = sorted({" and ".join(sorted([name, other])) for name in frame for other in alike[name]})
    if pairs:
        warnings.append("Columns that go together share their importance, so each alone looks less important than "
                        f"they are together (with_alike): {', '.join(pairs[:5])}"
                        f"{', ...' if len(pairs) > 5 else ''}.")  # fmt: skip
    shown = result.head(15).iloc[::-1]
    figure, axis = new_axes(width=6.4, height=1.6 + 0.26 * len(shown))
    reach = [shown["importance"] - shown["lower_95"], shown["upper_95"] - shown["importance"]]
    axis.barh(
        range(len(shown)), shown["importance"], xerr=np.nan_to_num(reach), color=palette(1)[0], ecolor="0.4", capsize=2
    )
    axis.set_yticks(range(len(shown)), [name if len(name) <= 28 else name[:26] + ".." for name in shown["predictor"]])
    axis.axvline(0, color="0.5", linewidth=0.8)
    axis.set_xlabel(f"loss of {measure} on unseen rows when shuffled (line: 95 % interval)")
    return {"importance": result, "importance_plot": figure, "findings": findings, "warnings": warnings}


@tool(
    name="calibration",
    title="Calibration of predicted probabilities",
    description=(
        "Say whether predicted probabilities hold: Brier score against always saying the overall share, calibration "
        "intercept (too high or too low overall) and slope (below 1: too extreme) with 95 % intervals from logistic "
        "fits "
        "on the log odds, expected calibration error against that of right probabilities, observed shares in groups of "
        "like predictions with Wilson intervals, and whether and how to recalibrate. Percentages are "
        "read "
        "as such. Needs predictions made on rows that the model was not fitted to."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "Brier score, and calibration intercept and slope from logistic fits, because predicted "
        "probabilities are held against what happened",
    ),
    complete=("outcome", "probability"),
    answers=["calibration"],
    inputs={"table": "table: one row a subject, its predicted probability and what happened"},
    outputs={
        "calibration": "table: Brier score, intercept, slope, expected calibration error and recalibration",
        "bins": "table: predicted and observed shares",
        "calibration_plot": "figure: observed against predicted",
    },
    params={
        "outcome": param("Yes/no column of what happened", kind="column", of="table", role="outcome"),
        "event_value": param("The level that means that it happened; empty to recognise it", kind="level", of="outcome",
                             role="event"),
        "probability": param("Column of predicted probabilities, 0 to 1 or in percent", kind="column", of="table",
                             role="p_value",
                             called=r"(.* )?(p|prob|probability|risk|pred\w*|forecast|chance)( .*)?"),
        "bins": param("Groups of like predictions", minimum=2, maximum=20, words=["bins?", "groups?", "deciles?"]),
    },
    checks=("tables_not_empty", "findings_match_tables", "calibration_bins_add_up"),
    keywords=(
        "calibration", "calibration curve", "Brier score", "reliability diagram", "calibration slope",
        "predicted probability", "predicted risk", "observed against expected", "well calibrated",
        "expected calibration error", "recalibration",
    ),
    citations=(
        Citation(title="Verification of forecasts expressed in terms of probability", authors="Brier GW", year=1950),
        Citation(title="Two further applications of a model for binary regression", authors="Cox DR", year=1958,
                 doi="10.1093/biomet/45.3-4.562"),
        Citation(title="Calibration: the Achilles heel of predictive analytics",
                 authors="Van Calster B, McLernon DJ, van Smeden M, et al.", year=2019,
                 doi="10.1186/s12916-019-1466-7"),
    ),
    packages=("statsmodels", "numpy", "pandas"),
    seconds=2,
    example="Do the predicted probabilities of relapse agree with what happened?",
)  # fmt: skip
def calibration(table, *, outcome: str, probability: str, event_value: str = "", bins: int = 10):
    """Compare predicted probabilities with what happened."""
    import numpy as np
    import pandas as pd

    table = plain_table(table)
    if outcome == probability:
        raise ValueError(f"The outcome and the probability are both {outcome!r}; choose two different columns.")
    require_columns(table, [outcome, probability])
    table, warnings = complete_rows(table, [outcome, probability])
    chance = numeric_values(table, probability).to_numpy()
    if 1 < chance.max() <= 100 and chance.min() >= 0:
        warnings.append(f"{probability} reaches {chance.max():g} and was read as percent.")
        chance = chance / 100
    if chance.min() < 0 or chance.max() > 1:
        raise ValueError(f"Column {probability!r} runs from {chance.min():g} to {chance.max():g}; expected "
                         f"probabilities "
                         "between 0 and 1, or percent.")  # fmt: skip
    happened, what, notes = event_rows(table[outcome], outcome, event_value)
    warnings += notes
    truth = happened.to_numpy(dtype=float)
    n, events = len(truth), int(truth.sum())
    if n < 20 or events in (0, n):
        raise ValueError(f"Of {n} rows {events} have {what}; calibration needs at least 20 rows with and without it.")
    if np.ptp(chance) == 0:
        raise ValueError(f"Column {probability!r} is {chance[0]:g} in every row; there is nothing to calibrate.")
    edge = int(((chance <= 0) | (chance >= 1)).sum())
    safe = np.clip(chance, 1e-4, 1 - 1e-4)
    if edge:
        warnings.append(f"{edge} predictions of exactly 0 or 1 were taken as 0.0001 or 0.9999 for intercept and slope.")
    logits = np.log(safe / (1 - safe))
    shift, shift_se, _, _ = logit_fit(truth, logits, False)
    _, _, slope, slope_se = logit_fit(truth, logits, True)
    brier, share = float(((chance - truth) ** 2).mean()), events / n
    plain = share * (1 - share)
    z = 1.959963984540054
    ratio = events / float(chance.sum())
    spread = z * float(((chance - truth) ** 2).std(ddof=1)) / np.sqrt(n)
    rows = [
        {"measure": "brier", "value": brier, "lower_95": max(0, brier - spread), "upper_95": brier + spread,
         "ideal": 0.0},
        {"measure": "brier of the overall share", "value": plain},
        {"measure": "scaled brier", "value": 1 - brier / plain, "ideal": 1.0},
        {"measure": "intercept", "value": shift, "lower_95": shift - z * shift_se, "upper_95": shift + z * shift_se,
         "ideal": 0.0},
        {"measure": "slope", "value": slope, "lower_95": slope - z * slope_se, "upper_95": slope + z * slope_se,
         "ideal": 1.0},
        {"measure": "mean predicted", "value": float(chance.mean()), "ideal": share},
        {"measure": "observed share", "value": share},
        {"measure": "observed / expected", "value": ratio, "lower_95": ratio * np.exp(-z / np.sqrt(events)),
         "upper_95": ratio * np.exp(z / np.sqrt(events)), "ideal": 1.0},
    ]  # fmt: skip
    part = pd.qcut(
        pd.Series(chance).rank(method="average"), min(bins, max(2, n // 10)), labels=False, duplicates="drop"
    )
    s_low, s_high = slope - z * slope_se, slope + z * slope_se
    rows += gap_rows(chance, truth, part.to_numpy(dtype=int))
    more, mend = advice(logits, truth, (shift, shift - z * shift_se, shift + z * shift_se), (slope, s_low, s_high),
                        brier, {row["measure"]: row for row in rows})  # fmt: skip
    rows += more
    result = pd.DataFrame(rows).reindex(columns=["measure", "value", "lower_95", "upper_95", "ideal"])
    groups = []
    for _, here in pd.Series(range(n)).groupby(part.to_numpy()):
        hits = int(truth[here].sum())
        low, high = wilson_interval(hits, len(here))
        groups.append({"from": chance[here].min(), "to": chance[here].max(), "rows": len(here), "events": hits,
                       "predicted": chance[here].mean(), "observed": hits / len(here), "lower_95": low,
                       "upper_95": high})  # fmt: skip
    table_bins = pd.DataFrame(groups)
    low, high = shift - z * shift_se, shift + z * shift_se
    level = "too low" if low > 0 else "too high" if high < 0 else "right overall as far as the data tell"
    shape = (
        "too extreme"
        if s_high < 1
        else "not extreme enough"
        if s_low > 1
        else "not shown to be too extreme or too timid"
    )
    findings = [
        {"text": f"The predicted probabilities of {what} are {level} and {shape}: on average "
                 f"{100 * chance.mean():.1f} % "
                 f"predicted and {100 * share:.1f} % observed; intercept {format_number(shift)} (95 % interval "
                 f"{format_number(low)} to {format_number(high)}; 0 is right), slope {format_number(slope)} (95 % "
                 f"interval "
                 f"{format_number(s_low)} to {format_number(s_high)}; 1 is right), n = {n}, {events} events.",
         "values": finding_values(value=(slope, s_low, s_high)), "output": "calibration", "row": {"measure": "slope"}},
        {"text": f"For every case that was foretold {ratio:.3g} were seen: {events} against {chance.sum():.1f} "
                 "expected.",
         "values": finding_values(value=ratio), "output": "calibration", "row": {"measure": "observed / expected"}},
        {"text": f"The Brier score is {brier:.3f}, against {plain:.3f} when always saying the overall share (lower is "
                 f"better): the predictions are {'better' if brier < plain else 'no better'} than that.",
         "values": finding_values(value=brier), "output": "calibration", "row": {"measure": "brier"}},
        mend,
    ]  # fmt: skip
    if events < 50 or n - events < 50:
        warnings.append(
            f"{min(events, n - events)} rows of the rarer outcome are few; a calibration curve needs 100 or more."
        )
    warnings.append(
        "Calibration on the rows a model was fitted to looks perfect and says nothing; these must be others."
    )
    figure, axis = new_axes(width=4.8, height=4.6)
    axis.plot([0, 1], [0, 1], color="0.5", linestyle="--", linewidth=0.9, label="right")
    limits = [table_bins["observed"] - table_bins["lower_95"], table_bins["upper_95"] - table_bins["observed"]]
    axis.errorbar(table_bins["predicted"], table_bins["observed"], yerr=np.maximum(limits, 0), fmt="o",
                  color=palette(1)[0], capsize=3, label="groups of rows (95 %)")  # fmt: skip
    axis.set_xlabel("predicted probability")
    axis.set_ylabel(f"observed share, {what}")
    axis.set_xlim(-0.02, 1.02)
    axis.set_ylim(-0.02, 1.02)
    axis.legend(frameon=False, fontsize=8, loc="upper left")
    return {"calibration": result, "bins": table_bins, "calibration_plot": figure, "findings": findings,
            "warnings": warnings}  # fmt: skip
