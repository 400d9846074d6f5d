"""Can a label or a number be predicted? Judged on rows the model never saw, against the plainest guess.

Accuracy on the rows a model was fitted to says nothing; nor does accuracy without what guessing would reach.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep, Points
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.learning.folds import (
    possible_folds,
    prepared_rows,
    size_warnings,
    split_said,
    too_small,
    unseen_predictions,
)
from engine.toolbox.learning.leaks import meant_subject, telling_columns
from engine.toolbox.learning.measures import (
    calibration_line,
    chance_p,
    class_measures,
    draw_classes,
    number_measures,
)
from engine.toolbox.learning.models import model_name
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import (
    drawn_rows,
    finding_values,
    format_number,
    format_p,
    level_labels,
    likely_control,
    new_axes,
    order_levels,
    palette,
    pick_level,
    plain_table,
)

MOST_LABELS = 12
"""So many labels are told apart."""

_MODELS = ["linear", "lasso", "elastic_net", "lda", "pls", "knn", "svm", "forest", "boosting"]
_MODEL_WORDS = [
    r"boosting: gradient[- ]?boost\w*|boosted trees?|boosting|(?:xg|cat)boost|xgb\b|lightgbm|gbm\b",
    "forest: random.?forests?|decision trees?|tree ensemble",
    r"svm: svms?\b|svc\b|svr\b|support.vectors?",
    r"knn: k-?nn\b|(?:k[- ])?nearest[- ]neighbou?rs?",
    r"lda: lda\b|(?:linear )?discriminant",
    # `pls` at the end of a wish is please.
    r"pls: (?-i:O?PLS)(?:-?DA|R)?\b|o?pls-?(?:da|r)\b|(?:with|by|using|an?) o?pls\b|pls (?:model|regression)|"
    r"partial least squares",
    "elastic_net: elastic[- ]?net",
    "lasso: lasso",
    "linear: logistic|ridge|linear",
]
"""What people say for a model; special names first, as `lasso logistic` and `linear discriminant` are said."""
_NESTED = Citation(
    title="Bias in error estimation when using cross-validation for model selection",
    authors="Varma S, Simon R", year=2006, doi="10.1186/1471-2105-7-91",
)  # fmt: skip
_CORRECTED = Citation(
    title="Inference for the generalization error", authors="Nadeau C, Bengio Y", year=2003,
    doi="10.1023/A:1024068626366",
)  # fmt: skip
_SKLEARN = Citation(title="Scikit-learn: machine learning in Python", authors="Pedregosa F, et al.", year=2011)
_SUBJECT = param("Column of subjects with several rows; all rows of one stay in the same fold", kind="column",
                 of="table", role="cluster")  # fmt: skip
_PREDICTORS = param("Columns to predict from; empty for all others that may be used", kind="columns", of="table",
                    role="predictors")  # fmt: skip
_CATEGORICAL = param("Numbers among them that are names (centre, plate)", kind="columns", of="table", role="as_groups")
_FOLDS = param("Parts the rows are split into; each is predicted from the others", minimum=2, maximum=20,
               words=["folds?", "fold cv"])  # fmt: skip
_REPEATS = param("How often the split is made anew", minimum=1, maximum=50, words=["repeats?", "repetitions?"])
_LEAVE = param("Whether one row (one subject) at a time is left out instead; up to 300",
               words=[r"true: leave[- ]one(?:[- ]\w+)?[- ]out|loo-?cv|loo\b|jack-?knif\w*"])  # fmt: skip
_SEED = param("Seed of the splits", minimum=0, words=["seed"])


@check("performance_possible")
def performance_possible(step: StepOutputs) -> Iterator[Issue]:
    """Shares and areas lie between 0 and 1 and within their interval; R2 is at most 1."""
    for _, row in step.table("performance").iterrows():
        value, low, high = row["value"], row["lower_95"], row["upper_95"]
        if row["measure"] not in ("R2", "RMSE", "MAE") and "calib" not in row["measure"] and not 0 <= value <= 1:
            yield Issue(code="performance_out_of_range", severity="error", message=f"{row['measure']} is {value}.",
                        where="performance")  # fmt: skip
        if row["measure"] == "R2" and value > 1:
            yield Issue(code="performance_out_of_range", severity="error", message=f"R2 is {value}, above 1.",
                        where="performance")  # fmt: skip
        if low == low and not low - 1e-9 <= value <= high + 1e-9:
            message = f"{row['measure']}: {value} lies outside its interval {low} to {high}."
            yield Issue(code="interval_without_estimate", severity="error", message=message, where="performance")


@check("every_row_predicted")
def every_row_predicted(step: StepOutputs) -> Iterator[Issue]:
    """Every row has one prediction, and the confusion table counts them all."""
    rows = step.table("predictions")
    if rows["predicted"].isna().any():
        yield Issue(code="row_without_prediction", severity="error", message="A row has no prediction.",
                    where="predictions")  # fmt: skip
    if "confusion" in step.files and int(step.table("confusion")["rows"].sum()) != len(rows):
        yield Issue(code="confusion_total", severity="error", message="The confusion table does not count every row.",
                    where="confusion")  # fmt: skip


def rounds(target, groups, folds, repeats, leave_one_out, target_is_number):
    """Return (folds, repeats, units of every row, warnings); no folds stand for leaving out one at a time."""
    possible, units = possible_folds(target, groups, folds, target_is_number)
    units = units["unit"].to_numpy()
    if not leave_one_out:
        return possible, repeats, units, []
    n_units = len(set(units.tolist()))
    if n_units > 300:
        return min(10, possible), 1, units, [
            f"Leaving out one of {n_units} at a time takes as many fits; 10 folds were used, which differ little."
        ]  # fmt: skip
    notes = [] if target_is_number else ["Leaving out one at a time, the AUC compares scores of different models and "
                                         "comes out somewhat low; repeated folds are better for it."]  # fmt: skip
    return 0, 1, units, notes


def telling_said(telling, outcome, left):
    """Return the warning about columns that tell the outcome alone."""
    many = len(telling) > 1
    named = ", ".join(f"{name} ({how})" for name, how in list(telling.items())[:6])
    rest = "; the result without them is given beside" if many else "; the result without it is given beside"
    return (f"{named} {'each tell' if many else 'tells'} {outcome} almost alone, which is rare unless a column is "
            f"measured after {outcome} is known or because of it. Believe the result only if that is not so"
            f"{rest if left else ''}.")  # fmt: skip


def without_said(telling, row):
    """Return the clause and the finding about the result without the columns that tell the outcome alone."""
    measure = row["measure"].split()[0]
    result = f"{measure} {row['value']:.2f} (95 % interval {row['lower_95']:.2f} to {row['upper_95']:.2f})"
    names = ", ".join(list(telling)[:4])
    finding = {"text": f"Without {names}: {result}.", "values": told_values(row), "output": "performance",
               "row": {"measure": row["measure"]}}  # fmt: skip
    return f"; but {names} alone nearly {'tells' if len(telling) == 1 else 'tell'} it, and without: {result}", finding


def told_values(row):
    """Return the values of a finding that shows one row of the performance table."""
    return finding_values(value=(row["value"], row["lower_95"], row["upper_95"]), baseline=row["baseline"])


@tool(
    name="classify",
    title="Classification judged on unseen rows",
    description=(
        "Say whether a label can be predicted and how well on rows that were not seen: repeated, nested "
        "cross-validation of penalised logistic regression (or lasso, elastic net, LDA, PLS-DA, nearest neighbours, "
        "SVM, random forest, gradient boosting) against the shares of the classes as a baseline; AUC, accuracy, "
        "balanced accuracy, sensitivity, specificity, Brier score and calibration, with intervals corrected for folds "
        "that share rows, and a p-value by shuffled labels for linear models. Ids, constant columns and copies of the "
        "outcome are left out, columns that tell it alone are named; gaps, scaling and the penalty are settled inside "
        "the training rows; the rows of a subject, and copies of a row, stay together."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "model=linear => penalised logistic regression judged by nested cross-validation, because what "
        "counts is rows the model has not seen",
        "{model} model judged by nested cross-validation, because what counts is rows the model has not seen",
    ),
    complete=("outcome", "subject"),
    answers=["classify"],
    inputs={"table": "table: one row a sample"},
    outputs={
        "performance": "table: measures on unseen rows, intervals, the baseline, and p by shuffled labels",
        "confusion": "table: true against predicted label",
        "predictions": "table: the label and the probabilities of every row, not seen when predicted",
        "class_plot": "figure: ROC curve and confusion",
    },
    params={
        "outcome": param("The label to predict", kind="column", of="table", role="category", distinct=MOST_LABELS),
        "event_value": param("Of two labels the one whose probability is judged; empty to recognise it", kind="level",
                             of="outcome", role="event_if_binary"),
        "predictors": _PREDICTORS, "categorical": _CATEGORICAL, "subject": _SUBJECT,
        "model": param("How it is predicted", choices=_MODELS, words=_MODEL_WORDS),
        "folds": _FOLDS, "repeats": _REPEATS, "leave_one_out": _LEAVE, "seed": _SEED,
    },
    checks=("tables_not_empty", "findings_match_tables", "performance_possible", "every_row_predicted"),
    keywords=(
        "classification", "classifier", "predict the class", "cross-validation", "ROC curve", "AUC", "machine learning",
        "diagnose from", "logistic classifier", "random forest classifier", "confusion matrix", "tell apart",
        "accuracy", "linear discriminant analysis", "PLS-DA", "support vector machine", "nearest neighbours",
        "gradient boosting", "nested cross-validation",
    ),
    citations=(
        _NESTED, _CORRECTED,
        Citation(title="Confidence intervals for an effect size measure based on the Mann-Whitney statistic. Part 2: "
                       "asymptotic methods and evaluation",
                 authors="Newcombe RG", year=2006, doi="10.1002/sim.2324"),
        _SKLEARN,
    ),
    packages=("scikit-learn", "pandas", "numpy", "scipy"),
    seconds=15,
    example="Can the diagnosis be predicted from the blood values, and how well on new patients?",
    next_steps=(
        NextStep(text="Test it on samples of another place or time: cross-validation tells nothing of those."),
    ),
)  # fmt: skip
def classify(
    table,
    *,
    outcome: str,
    event_value: str = "",
    predictors: list[str] = [],  # noqa: B006 - a plain default, never changed
    categorical: list[str] = [],  # noqa: B006
    subject: str = "",
    model: str = "linear",
    folds: int = 5,
    repeats: int = 5,
    leave_one_out: bool = False,
    seed: int = 1,
):
    """Predict a label of unseen rows."""
    import numpy as np
    import pandas as pd

    table = plain_table(table)
    predictors, subject, meant = meant_subject(table, predictors, subject)
    frame, target, groups, warnings = prepared_rows(table, outcome, predictors, subject, False, categorical)
    warnings = meant + warnings
    classes = order_levels(target)
    if len(classes) > MOST_LABELS:
        raise ValueError(f"Column {outcome!r} has {len(classes)} different values; expected at most {MOST_LABELS} "
                         "labels. For a number use predict_value.")  # fmt: skip
    event = ""
    if len(classes) == 2:
        control = likely_control(classes)
        event = pick_level(event_value, classes, outcome) if event_value else ""
        event = event or next((name for name in classes if name != control), classes[-1])
    small = too_small(target, groups, False)
    folds, repeats, units, notes = rounds(target, groups, folds, repeats, leave_one_out, False)
    warnings += notes + (size_warnings(frame, target, groups, False) if not small else [])
    seen, plain, part = unseen_predictions(frame, target, groups, model, folds, repeats, seed, False)
    names, truth = np.array(sorted(classes)), target.to_numpy(dtype=str)
    rows = class_measures(truth, seen, plain, part, units, names, event)
    chance = seen.mean(axis=0)
    guess, n_units = names[chance.argmax(axis=1)], len(np.unique(units))
    hit = int(np.flatnonzero(names == event)[0]) if event else 0
    if event:
        rows += calibration_line(truth == event, chance[:, hit], n_units)
    first, main = rows[0], {row["measure"]: row for row in rows}
    p_value = first["p_value"] = chance_p(frame, target, groups, part[0], model, seed, False)
    telling = telling_columns(frame, target, False)
    left = frame.drop(columns=list(telling))
    if telling and left.shape[1]:
        again = unseen_predictions(left, target, groups, model, folds, repeats, seed, False)
        without = class_measures(truth, *again, units, names, event)[0]
        rows.append({**without, "measure": f"{without['measure']} without telling columns"})
    columns = ["measure", "value", "lower_95", "upper_95", "baseline", "p_value"]
    performance = pd.DataFrame(rows).reindex(columns=columns).dropna(subset=["value"]).assign(
        n=len(target), subjects=n_units)  # fmt: skip
    right, common = main["accuracy"], target.value_counts().idxmax()
    who = f"{len(target)} rows" + (f" of {n_units} {subject}" if subject else "")
    how = (f"{who}, {frame.shape[1]} predictors, {model_name(model, False)}, {split_said(folds, repeats)}; mean of the "
           "repeats" if repeats > 1 else f"{who}, {frame.shape[1]} predictors, {model_name(model, False)}, "
           f"{split_said(folds, repeats)}")  # fmt: skip
    by_chance = f", {format_p(p_value)} by shuffled labels" if p_value == p_value else ""
    area = (f"AUC {first['value']:.2f} (95 % interval {first['lower_95']:.2f} to {first['upper_95']:.2f}; 0.5 is "
            f"guessing{by_chance}), " if event else "")  # fmt: skip
    shares = (f"{100 * right['value']:.0f} % right (95 % interval {100 * right['lower_95']:.0f} to "
              f"{100 * right['upper_95']:.0f} %{'' if event else by_chance}) against {100 * right['baseline']:.0f} % "
              f"when always saying {common}")  # fmt: skip
    label = f"{outcome}{f' ({event})' if event else ''}"
    if small:
        lead = f"The data are too few to say how well {label} can be predicted ({small}); for what it is worth"
    elif first["lower_95"] > first["baseline"]:
        lead = f"{label} can be predicted better than by guessing on unseen rows"
    else:
        lead = f"{label} cannot be shown to be predicted better than by guessing on unseen rows"
    findings = [{"text": f"{lead}: {area}{shares} ({how}).", "values": told_values(first), "output": "performance",
                 "row": {"measure": first["measure"]}}]  # fmt: skip
    by_repeat = names[seen.argmax(axis=2)]
    counts = [{"true": a, "predicted": b, "rows": int(((truth == a) & (guess == b)).sum()),
               "share": float((by_repeat[:, truth == a] == b).mean())} for a in classes for b in classes]  # fmt: skip
    if event:
        found, spared = main["sensitivity"], main["specificity"]
        findings.append({
            "text": f"Saying {event} where it is the likelier, {100 * found['value']:.0f} % of the {event} are found "
                    f"(sensitivity; 95 % interval {100 * found['lower_95']:.0f} to {100 * found['upper_95']:.0f} %) "
                    f"and {100 * spared['value']:.0f} % of the others are rightly left (specificity; "
                    f"{100 * spared['lower_95']:.0f} to {100 * spared['upper_95']:.0f} %).",
            "values": told_values(found), "output": "performance", "row": {"measure": "sensitivity"}})  # fmt: skip
    if "sensitivity_at_share" in main:
        found, spared = main["sensitivity_at_share"], main["specificity_at_share"]
        findings.append({
            "text": f"The classes are uneven, so the likelier one is mostly {common}. Saying {event} where its "
                    f"probability exceeds its share among the training rows, {100 * found['value']:.0f} % of the "
                    f"{event} are found and {100 * spared['value']:.0f} % of the others rightly left.",
            "values": finding_values(value=found["value"]), "output": "performance",
            "row": {"measure": "sensitivity_at_share"}})  # fmt: skip
    for name in [] if event else classes[:6]:
        own, recalled = [row for row in counts if row["true"] == name], main[f"recall of {name}"]
        wrong = max((row for row in own if row["predicted"] != name), key=lambda row: row["share"])
        taken = f"; most others were taken for {wrong['predicted']}" if wrong["share"] > 0 else ""
        findings.append({
            "text": f"Of {int((truth == name).sum())} rows that are {name}, {100 * recalled['value']:.0f} % were "
                    f"recognised (95 % interval {100 * recalled['lower_95']:.0f} to "
                    f"{100 * recalled['upper_95']:.0f} %){taken}.",
            "values": told_values(recalled), "output": "performance",
            "row": {"measure": f"recall of {name}"}})  # fmt: skip
    if telling:
        warnings.insert(0, telling_said(telling, outcome, left.shape[1]))
        if left.shape[1]:
            clause, finding = without_said(telling, rows[-1])
            findings[0]["text"] = findings[0]["text"].removesuffix(".") + clause + "."
            findings.append(finding)
    elif right["value"] > 0.995 and len(target) >= 30:
        warnings.append("Nearly every row is predicted right, which is rare in real data: check that no predictor is "
                        f"measured after {outcome} is known, or because of it.")  # fmt: skip
    predictions = pd.DataFrame({"row": target.index + 1, "true": truth, "predicted": guess})
    if subject:
        predictions.insert(1, subject, level_labels(table[subject]).iloc[target.index].to_numpy())
    for i, name in enumerate(names):
        predictions[f"probability {name}"] = chance[:, i]
    return {
        "performance": performance,
        "confusion": pd.DataFrame(counts),
        "predictions": predictions,
        "class_plot": draw_classes(truth, guess, chance[:, hit] if event else None, classes, event, first["value"]),
        "findings": findings,
        "warnings": warnings,
    }


@tool(
    name="predict_value",
    title="Prediction of a number judged on unseen rows",
    description=(
        "Say whether a measured number can be predicted and how well on rows that were not seen: repeated, nested "
        "cross-validation of ridge regression (or lasso, elastic net, partial least squares, nearest neighbours, SVM, "
        "random forest, gradient boosting) against the mean as a baseline; R2, root mean squared and mean absolute "
        "error in the unit of the number, with bootstrap intervals over rows or subjects, widened for folds that share "
        "rows, and a p-value by shuffled values for linear models. Ids, constant columns and copies of the outcome are "
        "left out, columns that tell it alone are named; the rows of a subject, and copies of a row, stay together."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "model=linear => ridge regression judged by nested cross-validation, because what counts is rows "
        "the model has not seen",
        "{model} model judged by nested cross-validation, because what counts is rows the model has not seen",
    ),
    complete=("outcome", "subject"),
    answers=["predict_value"],
    inputs={"table": "table: one row a sample"},
    outputs={
        "performance": "table: R2 and errors on unseen rows, intervals, the baseline, and p by shuffled values",
        "predictions": "table: the true and the predicted value of every row",
        "value_plot": "figure: predicted against true",
    },
    points={"value_plot": Points(table="predictions", x="true", y="predicted")},
    params={
        "outcome": param("The number to predict", kind="column", of="table", role="measure"),
        "predictors": _PREDICTORS, "categorical": _CATEGORICAL, "subject": _SUBJECT,
        "model": param("How it is predicted", choices=[name for name in _MODELS if name != "lda"],
                       words=[line for line in _MODEL_WORDS if not line.startswith("lda")]),
        "folds": _FOLDS, "repeats": _REPEATS, "leave_one_out": _LEAVE, "seed": _SEED,
    },
    checks=("tables_not_empty", "findings_match_tables", "performance_possible", "every_row_predicted"),
    keywords=(
        "predict a number", "prediction error", "R2 on unseen rows", "cross-validated R2", "ridge regression",
        "random forest regression", "machine learning", "out-of-sample", "mean absolute error", "RMSE",
        "partial least squares", "lasso", "elastic net", "gradient boosting",
    ),
    citations=(_NESTED, _CORRECTED, _SKLEARN),
    packages=("scikit-learn", "pandas", "numpy", "scipy"),
    seconds=15,
    example="How well can body mass be predicted from the other measures in animals not seen before?",
    next_steps=(
        NextStep(text="Test it on samples of another place or time: cross-validation tells nothing of those."),
    ),
)  # fmt: skip
def predict_value(
    table,
    *,
    outcome: str,
    predictors: list[str] = [],  # noqa: B006 - a plain default, never changed
    categorical: list[str] = [],  # noqa: B006
    subject: str = "",
    model: str = "linear",
    folds: int = 5,
    repeats: int = 5,
    leave_one_out: bool = False,
    seed: int = 1,
):
    """Predict a number of unseen rows."""
    import numpy as np
    import pandas as pd

    table = plain_table(table)
    predictors, subject, meant = meant_subject(table, predictors, subject)
    frame, target, groups, warnings = prepared_rows(table, outcome, predictors, subject, True, categorical)
    warnings = meant + warnings
    small = too_small(target, groups, True)
    folds, repeats, units, notes = rounds(target, groups, folds, repeats, leave_one_out, True)
    warnings += notes + (size_warnings(frame, target, groups, True) if not small else [])
    seen, plain, part = unseen_predictions(frame, target, groups, model, folds, repeats, seed, True)
    truth, predicted, n_units = target.to_numpy(dtype=float), seen.mean(axis=0), len(np.unique(units))
    rows = number_measures(truth, seen, plain, part, units, seed)
    first = rows[0]
    p_value = first["p_value"] = chance_p(frame, target, groups, part[0], model, seed, True)
    telling = telling_columns(frame, target, True)
    left = frame.drop(columns=list(telling))
    if telling and left.shape[1]:
        again = unseen_predictions(left, target, groups, model, folds, repeats, seed, True)
        rows.append({**number_measures(truth, *again, units, seed)[0], "measure": "R2 without telling columns"})
    columns = ["measure", "value", "lower_95", "upper_95", "baseline", "p_value"]
    performance = pd.DataFrame(rows).reindex(columns=columns).assign(n=len(truth), subjects=n_units)
    if small:
        lead = f"The data are too few to say how well {outcome} can be predicted ({small}); for what it is worth"
    elif first["lower_95"] > 0:
        lead = f"{outcome} can be predicted better than by its mean on unseen rows"
    else:
        lead = f"{outcome} cannot be shown to be predicted better than by its mean on unseen rows"
    who = f"{len(truth)} rows" + (f" of {n_units} {subject}" if subject else "")
    by_chance = f", {format_p(p_value)} by shuffled values" if p_value == p_value else ""
    off, away = rows[1], rows[2]
    findings = [
        {"text": f"{lead}: R2 {first['value']:.2f} (95 % interval {first['lower_95']:.2f} to {first['upper_95']:.2f}; "
                 f"0 is the mean alone{by_chance}), typical error {format_number(off['value'])} against "
                 f"{format_number(off['baseline'])} with the mean ({who}, {frame.shape[1]} predictors, "
                 f"{model_name(model, True)}, {split_said(folds, repeats)}).",
         "values": told_values(first), "output": "performance", "row": {"measure": "R2"}},
        {"text": f"The prediction of {outcome} is off by {format_number(away['value'])} on average (95 % interval "
                 f"{format_number(away['lower_95'])} to {format_number(away['upper_95'])}), by "
                 f"{format_number(away['baseline'])} when always saying the mean.",
         "values": told_values(away), "output": "performance", "row": {"measure": "MAE"}},
    ]  # fmt: skip
    if telling:
        warnings.insert(0, telling_said(telling, outcome, left.shape[1]))
        if left.shape[1]:
            clause, finding = without_said(telling, rows[-1])
            findings[0]["text"] = findings[0]["text"].removesuffix(".") + clause + "."
            findings.append(finding)
    elif first["value"] > 0.995:
        warnings.append("Nearly all of the variation is predicted, which is rare in real data: check that no predictor "
                        f"is computed from {outcome}.")  # fmt: skip
    figure, axis = new_axes(width=4.8, height=4.6)
    axis.scatter(truth, predicted, s=16, color=palette(1)[0], alpha=0.7, edgecolor="white", linewidth=0.4)
    ends = [min(truth.min(), predicted.min()), max(truth.max(), predicted.max())]
    axis.plot(ends, ends, color="0.4", linestyle="--", linewidth=0.9)
    axis.set_xlabel(f"{outcome}, true")
    axis.set_ylabel(f"{outcome}, predicted (not seen)")
    axis.set_title(f"R2 {first['value']:.2f}, n = {len(truth)}", fontsize=10)
    predictions = pd.DataFrame(
        {"row": target.index + 1, "true": truth, "predicted": predicted, "error": predicted - truth}
    )
    if subject:
        predictions.insert(1, subject, level_labels(table[subject]).iloc[target.index].to_numpy())
    named = drawn_rows(table, []).iloc[target.index, 0]
    if named.name not in predictions:
        predictions.insert(0, named.name, named.to_numpy())
    return {"performance": performance, "predictions": predictions, "value_plot": figure, "findings": findings,
            "warnings": warnings}  # fmt: skip
