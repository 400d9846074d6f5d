"""Can a label or a number be predicted? Judged on rows the model never saw, against the plainest guess.

Accuracy on the rows a model was fitted to says nothing; nor does accuracy without what guessing would reach.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.learning.folds import (
    LEARNING_HELPERS,
    possible_folds,
    prepared_rows,
    size_warnings,
    unseen_predictions,
)
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.proportions import wilson_interval
from engine.toolbox.tables.columns import (
    finding_values,
    format_number,
    likely_control,
    new_axes,
    order_levels,
    palette,
    pick_level,
)

_MODEL_WORDS = ["forest: random.?forests?|decision trees?|tree ensemble", "linear: logistic|ridge|linear|lasso"]
_NESTED = Citation(
    title="Bias in error estimation when using cross-validation for model selection",
    authors="Varma S, Simon R", year=2006, doi="10.1186/1471-2105-7-91",
)  # fmt: skip
_SKLEARN = Citation(title="Scikit-learn: machine learning in Python", authors="Pedregosa F, et al.", year=2011)
_SUBJECT = param("Column of subjects with several rows; all rows of one stay in the same fold", kind="column",
                 of="table", role="cluster")  # fmt: skip
_PREDICTORS = param("Columns to predict from; empty for all others that may be used", kind="columns", of="table",
                    role="predictors")  # fmt: skip
_FOLDS = param("Parts the rows are split into; each is predicted from the others", minimum=2, maximum=20,
               words=["folds?", "fold cv"])  # fmt: skip
_REPEATS = param("How often the split is made anew", minimum=1, maximum=50, words=["repeats?", "repetitions?"])
_SEED = param("Seed of the splits", minimum=0, words=["seed"])


@check("performance_possible")
def performance_possible(step: StepOutputs) -> Iterator[Issue]:
    """Shares and areas lie between 0 and 1 and within their interval; R2 is at most 1."""
    for _, row in step.table("performance").iterrows():
        value, low, high = row["value"], row["lower_95"], row["upper_95"]
        if row["measure"] in ("AUC", "accuracy", "balanced_accuracy", "brier") and not 0 <= value <= 1:
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


def area_under_curve(truth, score):
    """Return the AUC: the chance that a random positive row scores above a random negative one (ties count half)."""
    import numpy as np
    from scipy.stats import rankdata

    truth = np.asarray(truth, dtype=bool)
    ranks, n = rankdata(score), truth.sum()
    return float((ranks[truth].sum() - n * (n + 1) / 2) / (n * (len(truth) - n)))


def area_interval(area, positives, negatives):
    """Return the 95 % interval of an AUC from `positives` and `negatives` independent subjects.

    Newcombe's score method (2006, Stat Med 25:559, method 5), on Hanley and McNeil's variance: it stays within 0 to 1
    and does not shrink to a point at 1.
    """
    from scipy.optimize import brentq

    half = (positives + negatives) / 2 - 1

    def excess(theta):
        spread = 1 + half * (1 - theta) / (2 - theta) + half * theta / (1 + theta)
        return (area - theta) ** 2 - 1.959963984540054**2 * theta * (1 - theta) * spread / (positives * negatives)

    low = 0.0 if area <= 0 else brentq(excess, 1e-12, min(area, 1 - 1e-9)) if excess(1e-12) > 0 else 0.0
    high = 1.0 if area >= 1 else brentq(excess, max(area, 1e-9), 1 - 1e-12) if excess(1 - 1e-12) > 0 else 1.0
    return float(low), float(high)


def draw_classes(truth, predicted, chance, classes, event, area):
    """Return a figure: the ROC curve where there are two classes, and which class was taken for which."""
    import numpy as np

    figure, axes = new_axes(width=8.4 if event else 4.8, height=4.0, panels=2 if event else 1)
    grid = axes[1] if event else axes
    if event:
        order = np.argsort(-chance, kind="stable")
        hits = (truth == event)[order]
        ends = np.append(np.flatnonzero(np.diff(chance[order])), len(hits) - 1)
        rise = np.concatenate([[0], np.cumsum(hits)[ends]]) / hits.sum()
        false = np.concatenate([[0], np.cumsum(~hits)[ends]]) / (~hits).sum()
        axes[0].plot(false, rise, color=palette(1)[0], label=f"AUC {area:.2f}")
        axes[0].plot([0, 1], [0, 1], color="0.6", linestyle="--", linewidth=0.9, label="guessing")
        axes[0].set_xlabel(f"share of others called {event}")
        axes[0].set_ylabel(f"share of {event} found")
        axes[0].legend(frameon=False, loc="lower right")
    counts = np.array([[((truth == a) & (predicted == b)).sum() for b in classes] for a in classes])
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    grid.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for i, row in enumerate(counts):
        for j, count in enumerate(row):
            grid.text(j, i, str(count), ha="center", va="center", color="white" if shares[i, j] > 0.6 else "black")
    short = [name if len(name) <= 14 else name[:12] + ".." for name in classes]
    grid.set_xticks(range(len(classes)), short, rotation=35 if len(classes) > 3 else 0)
    grid.set_yticks(range(len(classes)), short)
    grid.set_xlabel("predicted (rows not seen)")
    grid.set_ylabel("true")
    return figure


@tool(
    name="classify",
    title="Classification judged on unseen rows",
    description=(
        "Say whether a label can be predicted and how well on rows that were not seen: repeated, nested "
        "cross-validation of penalised logistic regression (or a random forest) against the shares of the classes as a "
        "baseline; AUC (two classes), accuracy, balanced accuracy and Brier score. Ids, constant columns and copies of "
        "the outcome are left out and said; gaps, scaling and the penalty are settled inside the training rows; the "
        "rows "
        "of a subject stay together."
    ),
    domain="statistics",
    task_type="analysis",
    answers=["classify"],
    inputs={"table": "table: one row a sample"},
    outputs={
        "performance": "table: measures on unseen rows, intervals and the baseline",
        "confusion": "table: true against predicted label",
        "predictions": "table: the label and the probabilities of every row, not seen when predicted",
        "class_plot": "figure: ROC curve and confusion",
    },
    params={
        "outcome": param("The label to predict", kind="column", of="table", role="category"),
        "event_value": param("Of two labels the one whose probability is judged; empty to recognise it", kind="level",
                             of="outcome", role="event"),
        "predictors": _PREDICTORS, "subject": _SUBJECT,
        "model": param("How it is predicted", choices=["linear", "forest"], words=_MODEL_WORDS),
        "folds": _FOLDS, "repeats": _REPEATS, "seed": _SEED,
    },
    checks=("tables_not_empty", "findings_match_tables", "performance_possible", "every_row_predicted"),
    keywords=(
        "classification", "classifier", "predict the class", "cross-validation", "ROC curve", "AUC", "machine learning",
        "diagnose from", "logistic classifier", "random forest classifier", "confusion matrix", "tell apart",
        "accuracy",
    ),
    citations=(
        _NESTED,
        Citation(title="Confidence intervals for an effect size measure based on the Mann-Whitney statistic. Part 2",
                 authors="Newcombe RG", year=2006, doi="10.1002/sim.2324"),
        _SKLEARN,
    ),
    packages=("scikit-learn", "pandas", "numpy", "scipy"),
    seconds=15,
    example="Can the diagnosis be predicted from the blood values, and how well on new patients?",
    next_steps=(
        NextStep(text="Test it on samples of another place or time: cross-validation tells nothing of those."),
    ),
    helpers=(*LEARNING_HELPERS, wilson_interval, area_under_curve, area_interval, draw_classes),
)  # fmt: skip
def classify(
    table,
    *,
    outcome: str,
    event_value: str = "",
    predictors: list[str] = [],  # noqa: B006 - a plain default, never changed
    subject: str = "",
    model: str = "linear",
    folds: int = 5,
    repeats: int = 5,
    seed: int = 1,
):
    """Predict a label of unseen rows."""
    import numpy as np
    import pandas as pd

    frame, target, groups, warnings = prepared_rows(table, outcome, predictors, subject, False)
    classes = order_levels(target)
    if len(classes) > 12:
        raise ValueError(f"Column {outcome!r} has {len(classes)} different values; expected at most 12 labels. For a "
                         "number use predict_value.")  # fmt: skip
    event = ""
    if len(classes) == 2:
        control = likely_control(classes)
        event = pick_level(event_value, classes, outcome) if event_value else ""
        event = event or next((name for name in classes if name != control), classes[-1])
    folds, units = possible_folds(target, groups, folds, False)
    warnings += size_warnings(frame, target, groups, False)
    chance, plain = unseen_predictions(frame, target, groups, model, folds, repeats, seed, False)
    names = np.array(sorted(classes))
    truth, guess = target.to_numpy(dtype=str), names[chance.argmax(axis=1)]
    right = guess == truth
    n_units = units["unit"].nunique()
    per_unit = pd.Series(right).groupby(units["unit"]).mean()
    low, high = wilson_interval(per_unit.mean() * n_units, n_units)
    centre = float(right.mean())
    low, high = min(low, centre), max(high, centre)
    shares = target.value_counts(normalize=True)
    recalls = [float(right[truth == name].mean()) for name in names]
    hot = (truth[:, None] == names[None, :]).astype(float)
    rows = []
    area = float("nan")
    if event:
        where = int(np.flatnonzero(names == event)[0])
        area = area_under_curve(truth == event, chance[:, where])
        has = [units.loc[truth == name, "unit"].nunique() for name in (event, next(c for c in classes if c != event))]
        a_low, a_high = area_interval(area, *has)
        rows.append({"measure": "AUC", "value": area, "lower_95": a_low, "upper_95": a_high, "baseline": 0.5})
    rows += [
        {"measure": "accuracy", "value": centre, "lower_95": low, "upper_95": high, "baseline": float(shares.max())},
        {"measure": "balanced_accuracy", "value": float(np.mean(recalls)), "baseline": 1 / len(classes)},
        {"measure": "brier", "value": float(((chance - hot) ** 2).sum(axis=1).mean() / 2),
         "baseline": float(((plain - hot) ** 2).sum(axis=1).mean() / 2)},
    ]  # fmt: skip
    columns = ["measure", "value", "lower_95", "upper_95", "baseline"]
    performance = pd.DataFrame(rows).reindex(columns=columns).assign(n=len(target), subjects=n_units)
    first = rows[0]
    better = first["lower_95"] > first["baseline"]
    verdict = ("can be predicted better than by guessing" if better else
               "cannot be shown to be predicted better than by guessing")  # fmt: skip
    said = (f"AUC {area:.2f} (95 % interval {first['lower_95']:.2f} to {first['upper_95']:.2f}; 0.5 is guessing), "
            if event else "")  # fmt: skip
    who = f"{len(target)} rows" + (f" of {n_units} {subject}" if groups is not None else "")
    how = "penalised logistic regression" if model == "linear" else "random forest"
    findings = [
        {"text": f"{outcome}{f' ({event})' if event else ''} {verdict} on unseen rows: {said}{100 * centre:.0f} % "
                 f"right (95 % interval {100 * low:.0f} to {100 * high:.0f} %) against {100 * shares.max():.0f} % when "
                 f"always saying {shares.idxmax()} ({who}, {frame.shape[1]} predictors, {how}, {folds}-fold "
                 f"cross-validation "
                 f"repeated {repeats} times).",
         "values": finding_values(value=(first["value"], first["lower_95"], first["upper_95"]),
                                  baseline=first["baseline"]),
         "output": "performance", "row": {"measure": first["measure"]}}
    ]  # fmt: skip
    counts = [{"true": a, "predicted": b, "rows": int(((truth == a) & (guess == b)).sum())}
              for a in classes for b in classes]  # fmt: skip
    for name in classes[:6]:
        total, hit = int((truth == name).sum()), int(((truth == name) & right).sum())
        findings.append({"text": f"Of {total} rows that are {name}, {hit} were recognised ({100 * hit / total:.0f} %).",
                         "values": finding_values(recognised=hit, total=total), "output": "confusion"})  # fmt: skip
    if centre > 0.995 and len(target) >= 30:
        warnings.append("Nearly every row is predicted right, which is rare in real data: check that no predictor is "
                        f"measured after {outcome} is known, or because of it.")  # fmt: skip
    predictions = pd.DataFrame({"row": np.arange(1, len(target) + 1), "true": truth, "predicted": guess})
    for i, name in enumerate(names):
        predictions[f"probability {name}"] = chance[:, i]
    score = chance[:, int(np.flatnonzero(names == event)[0])] if event else None
    return {
        "performance": performance,
        "confusion": pd.DataFrame(counts),
        "predictions": predictions,
        "class_plot": draw_classes(truth, guess, score, classes, event, area),
        "findings": findings,
        "warnings": warnings,
    }


def explained_share(truth, predicted, plain):
    """Return R2 on unseen rows: 1 - squared errors over those of the training mean (below 0: worse than the mean)."""
    return float(1 - ((truth - predicted) ** 2).sum() / ((truth - plain) ** 2).sum())


@tool(
    name="predict_value",
    title="Prediction of a number judged on unseen rows",
    description=(
        "Say whether a measured number can be predicted and how well on rows that were not seen: repeated, nested "
        "cross-validation of ridge regression (or a random forest) against the mean as a baseline; R2, root mean "
        "squared and mean absolute error in the unit of the number, with bootstrap intervals over rows or subjects. "
        "Ids, "
        "constant columns and copies of the outcome are left out and said; the rows of a subject stay together."
    ),
    domain="statistics",
    task_type="analysis",
    answers=["predict_value"],
    inputs={"table": "table: one row a sample"},
    outputs={
        "performance": "table: R2 and errors on unseen rows, with intervals and the baseline",
        "predictions": "table: the true and the predicted value of every row",
        "value_plot": "figure: predicted against true",
    },
    params={
        "outcome": param("The number to predict", kind="column", of="table", role="measure"),
        "predictors": _PREDICTORS, "subject": _SUBJECT,
        "model": param("How it is predicted", choices=["linear", "forest"], words=_MODEL_WORDS),
        "folds": _FOLDS, "repeats": _REPEATS, "seed": _SEED,
    },
    checks=("tables_not_empty", "findings_match_tables", "performance_possible", "every_row_predicted"),
    keywords=(
        "predict a number", "prediction error", "R2 on unseen rows", "cross-validated R2", "ridge regression",
        "random forest regression", "machine learning", "out-of-sample", "mean absolute error", "RMSE",
    ),
    citations=(_NESTED, _SKLEARN),
    packages=("scikit-learn", "pandas", "numpy", "scipy"),
    seconds=15,
    example="How well can body mass be predicted from the other measures in animals not seen before?",
    next_steps=(
        NextStep(text="Test it on samples of another place or time: cross-validation tells nothing of those."),
    ),
    helpers=(*LEARNING_HELPERS, explained_share),
)  # fmt: skip
def predict_value(
    table,
    *,
    outcome: str,
    predictors: list[str] = [],  # noqa: B006 - a plain default, never changed
    subject: str = "",
    model: str = "linear",
    folds: int = 5,
    repeats: int = 5,
    seed: int = 1,
):
    """Predict a number of unseen rows."""
    import numpy as np
    import pandas as pd

    frame, target, groups, warnings = prepared_rows(table, outcome, predictors, subject, True)
    folds, units = possible_folds(target, groups, folds, True)
    warnings += size_warnings(frame, target, groups, True)
    predicted, plain = unseen_predictions(frame, target, groups, model, folds, repeats, seed, True)
    truth, who = target.to_numpy(dtype=float), units["unit"].to_numpy()
    members = [np.flatnonzero(who == unit) for unit in np.unique(who)]
    rng, draws = np.random.default_rng(seed), []
    for _ in range(1000):
        take = np.concatenate([members[i] for i in rng.integers(0, len(members), len(members))])
        error = truth[take] - predicted[take]
        base = ((truth[take] - plain[take]) ** 2).sum()
        if base > 0:
            draws.append([1 - (error**2).sum() / base, np.sqrt((error**2).mean()), np.abs(error).mean()])
    low, high = np.percentile(draws, [2.5, 97.5], axis=0)
    error, base = truth - predicted, truth - plain
    values = [explained_share(truth, predicted, plain), float(np.sqrt((error**2).mean())), float(np.abs(error).mean())]
    bases = [0.0, float(np.sqrt((base**2).mean())), float(np.abs(base).mean())]
    performance = pd.DataFrame(
        {"measure": ["R2", "RMSE", "MAE"], "value": values, "lower_95": np.minimum(low, values),
         "upper_95": np.maximum(high, values), "baseline": bases, "n": len(truth), "subjects": len(members)}
    )  # fmt: skip
    better = performance.loc[0, "lower_95"] > 0
    verdict = ("can be predicted better than by its mean" if better else
               "cannot be shown to be predicted better than by its mean")  # fmt: skip
    rows = f"{len(truth)} rows" + (f" of {len(members)} {subject}" if groups is not None else "")
    how = "ridge regression" if model == "linear" else "random forest"
    share = performance.loc[0]
    findings = [
        {"text": f"{outcome} {verdict} on unseen rows: R2 {share['value']:.2f} (95 % interval {share['lower_95']:.2f} "
                 f"to {share['upper_95']:.2f}; 0 is the mean alone), typical error {format_number(values[1])} against "
                 f"{format_number(bases[1])} with the mean ({rows}, {frame.shape[1]} predictors, {how}, {folds}-fold "
                 f"cross-validation repeated {repeats} times).",
         "values": finding_values(value=(float(share["value"]), float(share["lower_95"]), float(share["upper_95"])),
                                  baseline=0.0),
         "output": "performance", "row": {"measure": "R2"}},
        {"text": f"The prediction of {outcome} is off by {format_number(values[2])} on average (95 % interval "
                 f"{format_number(performance.loc[2, 'lower_95'])} to {format_number(performance.loc[2, 'upper_95'])}),"
                 f" by {format_number(bases[2])} when always saying the mean.",
         "values": finding_values(value=values[2], baseline=bases[2]), "output": "performance",
         "row": {"measure": "MAE"}},
    ]  # fmt: skip
    if values[0] > 0.995:
        warnings.append("Nearly all of the variation is predicted, which is rare in real data: check that no predictor "
                        f"is computed from {outcome}.")  # fmt: skip
    figure, axis = new_axes(width=4.8, height=4.6)
    axis.scatter(truth, predicted, s=16, color=palette(1)[0], alpha=0.7, edgecolor="white", linewidth=0.4)
    ends = [min(truth.min(), predicted.min()), max(truth.max(), predicted.max())]
    axis.plot(ends, ends, color="0.4", linestyle="--", linewidth=0.9)
    axis.set_xlabel(f"{outcome}, true")
    axis.set_ylabel(f"{outcome}, predicted (not seen)")
    axis.set_title(f"R2 {values[0]:.2f}, n = {len(truth)}", fontsize=10)
    predictions = pd.DataFrame(
        {"row": np.arange(1, len(truth) + 1), "true": truth, "predicted": predicted, "error": predicted - truth}
    )
    return {"performance": performance, "predictions": predictions, "value_plot": figure, "findings": findings,
            "warnings": warnings}  # fmt: skip
