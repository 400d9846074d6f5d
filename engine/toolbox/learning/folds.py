"""Cross-validation, shared by every tool that predicts.

A prediction looks better than it is when a subject or a copied row stands on both sides of a split, when the data were
scaled or tuned with the rows that test them, and when folds that share their training rows are counted as independent.
Here all of that is settled once, and what was done is said.
"""

from __future__ import annotations

from engine.toolbox.learning.leaks import (
    copied_rows,
    unsaid_subject,
    usable_predictors,
)
from engine.toolbox.learning.models import (
    coded_rows,
    fill_and_scale,
    fitted_model,
    strengths,
)
from engine.toolbox.tables.columns import (
    complete_rows,
    level_labels,
    numeric_values,
    plain_table,
    require_columns,
)


def prepared_rows(table, outcome, predictors, subject, numeric_outcome, categorical=()):
    """Return (predictors, outcome as labels or numbers, units as codes or None, warnings).

    Rows without an outcome or subject are left out and said; gaps in predictors stay, for each fold to fill. A unit is
    what stays whole when rows are split: a subject, or a row with its copies. The index is the place in the table.
    Numbers among `categorical` name something and are taken as text.
    """
    import pandas as pd

    table = plain_table(table)
    names = {name: table[name] for name in categorical if name in table}
    table = table.assign(**{name: level_labels(column) for name, column in names.items()})
    needed = [outcome, *([subject] if subject else [])]
    require_columns(table, needed)
    places = complete_rows(table[needed].assign(**{" place": range(len(table))}), needed)[0][" place"]
    table, warnings = complete_rows(table, needed)
    target = numeric_values(table, outcome) if numeric_outcome else level_labels(table[outcome])
    if target.nunique() < 2:
        raise ValueError(f"Column {outcome!r} is {target.iloc[0]!r} in every row; there is nothing to predict.")
    warnings += unsaid_subject(table, outcome, subject)
    frame, notes = usable_predictors(table, outcome, predictors, subject, numeric_outcome)
    warnings += notes
    gaps = frame.isna().sum()
    if gaps.sum():
        most, several = gaps.idxmax(), int((gaps > 0).sum())
        warnings.append(f"{int(gaps.sum())} gaps in {several} predictor{'s' if several > 1 else ''} (most in {most}: "
                        f"{int(gaps[most])}) are filled inside each fold with the median or the most frequent level of "
                        "its training rows.")  # fmt: skip
    groups = pd.Series(pd.factorize(level_labels(table[subject]))[0], index=table.index) if subject else None
    copies = None if subject else copied_rows(frame, target)
    if groups is not None and groups.nunique() < len(groups):
        warnings.append(f"The {len(groups)} rows of {groups.nunique()} {subject} are split by {subject}: no subject is "
                        "in training and test at once.")  # fmt: skip
    if copies is not None:
        groups = copies
        many = len(copies) - copies.nunique()
        warnings.append(f"{many} row{'s are copies' if many > 1 else ' is a copy'} of another in every predictor and "
                        f"in {outcome}: copies stay together in a fold and count as one ({copies.nunique()} different "
                        "rows). If they are mistakes, remove them.")  # fmt: skip
    if len(frame) < 10:
        raise ValueError(
            f"Only {len(frame)} rows have an outcome; predicting unseen rows needs at least 10, better 100."
        )
    frame, target = frame.set_axis(places.to_numpy()), target.set_axis(places.to_numpy())
    return frame, target, None if groups is None else groups.set_axis(places.to_numpy()), warnings


def split_rows(target, groups, folds, seed, target_is_number):
    """Return the (training, test) positions of one round of cross-validation: subjects whole, classes in balance.

    No folds (0) stand for leaving out one row, or one subject, at a time.
    """
    import numpy as np
    from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, StratifiedGroupKFold, StratifiedKFold

    rows = np.zeros(len(target))
    if not folds:
        return list(LeaveOneGroupOut().split(rows, groups=np.arange(len(rows)) if groups is None else groups))
    if target_is_number:
        if groups is None:
            return list(KFold(folds, shuffle=True, random_state=seed).split(rows))
        return list(GroupKFold(folds, shuffle=True, random_state=seed).split(rows, groups=groups))
    if groups is None:
        return list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(rows, target))
    return list(StratifiedGroupKFold(folds, shuffle=True, random_state=seed).split(rows, target, groups))


def possible_folds(target, groups, folds, target_is_number):
    """Return (how many folds the rows allow, units per class or in all); fewer than five units raise ValueError."""
    import pandas as pd

    units = pd.DataFrame({"target": list(target), "unit": range(len(target)) if groups is None else list(groups)})
    if target_is_number:
        fewest = units["unit"].nunique()
        what = "rows" if groups is None else "subjects"
    else:
        counts = units.groupby("target")["unit"].nunique()
        fewest = int(counts.min())
        what = f"{'rows' if groups is None else 'subjects'} of {counts.idxmin()}"
    if fewest < 5:
        raise ValueError(
            f"There are only {fewest} {what}; cross-validation needs at least 5. Collect more or join levels."
        )
    return min(folds, fewest), units


def split_said(folds, repeats):
    """Return how the rows were split, in words."""
    return f"{folds}-fold cross-validation repeated {repeats} times" if folds else "leaving out one at a time"


def inner_splits(target, groups, seed, target_is_number):
    """Return the splits of training rows among which a setting is chosen: four, or two where a class is rare."""
    if target_is_number:
        units = len(target) if groups is None else groups.nunique()
    else:
        units = int(target.value_counts().min()) if groups is None else int(groups.groupby(target).nunique().min())
    return split_rows(target, groups, 4 if units >= 4 else 2, seed, target_is_number)


def loss_of(fitted, new, truth, target_is_number):
    """Return the squared error, or the log loss (no chance counts as less than 0.001), summed over rows."""
    import numpy as np

    if target_is_number:
        return float(((fitted.predict(new) - truth) ** 2).sum())
    chance = fitted.predict_proba(new)[np.arange(len(truth)), np.searchsorted(fitted.classes_, truth)]
    return float(-np.log(np.maximum(chance, 1e-3)).sum())


def tuned_fit(frame, target, groups, train, model, seed, target_is_number):
    """Fit on the training positions; return (fitted model, facts for `coded_rows`).

    The strength is chosen by an inner cross-validation of the training rows alone (nested): squared error or log loss.
    """
    import warnings

    import numpy as np
    from threadpoolctl import threadpool_limits

    wanted, inside = target.iloc[train], groups.iloc[train] if groups is not None else None
    grid = strengths(model, target_is_number, len(train))
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # slow convergence at one of the penalties
        splits = inner_splits(wanted, inside, seed, target_is_number) if len(grid) > 1 else []
        losses = np.zeros(len(grid))
        for fit_on, tried_on in splits:
            own = wanted.iloc[fit_on]
            if not target_is_number and own.nunique() < wanted.nunique():
                continue
            facts = fill_and_scale(frame, train[fit_on])
            known, new = coded_rows(frame, train[fit_on], facts), coded_rows(frame, train[tried_on], facts)
            truth = wanted.iloc[tried_on].to_numpy()
            deeper = None
            if model == "svm" and not target_is_number:
                deeper = inner_splits(own, inside.iloc[fit_on] if inside is not None else None, seed, False)
            for i, candidate in enumerate(grid):
                fitted = fitted_model(model, known, own, target_is_number, candidate, seed, deeper)
                losses[i] += loss_of(fitted, new, truth, target_is_number)
        facts = fill_and_scale(frame, train)
        known = coded_rows(frame, train, facts)
        return fitted_model(model, known, wanted, target_is_number, grid[int(losses.argmin())], seed, splits), facts


def unseen_predictions(frame, target, groups, model, folds, repeats, seed, target_is_number):
    """Return (predictions, predictions of the baseline, folds): one per repeat and row, from models that never saw it.

    Classes: the probabilities of the sorted classes; baseline the shares of the training rows. Numbers: the value;
    baseline the mean of the training rows. Folds: the number of the part in which the row was tested.
    """
    import numpy as np

    classes = sorted(target.unique()) if not target_is_number else []
    shape = (repeats, len(target), len(classes)) if classes else (repeats, len(target))
    seen, plain, part = np.zeros(shape), np.zeros(shape), np.zeros(shape[:2], dtype=int)
    for repeat in range(repeats):
        splits = split_rows(target, groups, folds, seed + repeat, target_is_number)
        for number, (train, test) in enumerate(splits):
            fitted, facts = tuned_fit(frame, target, groups, train, model, seed + repeat, target_is_number)
            new = coded_rows(frame, test, facts)
            part[repeat, test] = number
            if not classes:
                seen[repeat, test] = fitted.predict(new)
                plain[repeat, test] = target.iloc[train].mean()
                continue
            shares = target.iloc[train].value_counts(normalize=True)
            where = [classes.index(name) for name in fitted.classes_]
            seen[np.ix_([repeat], test, where)] = fitted.predict_proba(new)
            plain[np.ix_([repeat], test, [classes.index(name) for name in shares.index])] = shares.to_numpy()
    return seen, plain, part


def corrected_interval(values, part):
    """Return the 95 % interval of the mean of a measure over folds and repeats (Nadeau and Bengio 2003).

    Folds share training rows, and repeats share all rows, so that they are far from independent: the variance of the
    J values counts 1/J + test rows/training rows times instead of 1/J. NaN where there are fewer than two values.
    """
    import numpy as np
    from scipy.stats import t

    values = np.asarray([value for value in values if value == value], dtype=float)
    if len(values) < 2:
        return float("nan"), float("nan")
    folds = len(np.unique(part[0]))
    half = t.ppf(0.975, len(values) - 1) * np.sqrt(values.var(ddof=1) * (1 / len(values) + 1 / (folds - 1)))
    return float(values.mean() - half), float(values.mean() + half)


def widest(value, intervals, lowest=0.0, highest=1.0):
    """Return the interval that holds the value and all the intervals, within what is possible."""
    lows, highs = zip(*intervals, strict=True)
    low, high = min([value, *(x for x in lows if x == x)]), max([value, *(x for x in highs if x == x)])
    return max(lowest, low), min(highest, high)


def too_small(target, groups, target_is_number):
    """Return what makes the data too few for any number to be believed, in words, or "": under 40, or 10 of a class."""
    rows = len(target) if groups is None else groups.nunique()
    what = "rows" if groups is None else "independent rows"
    if target_is_number:
        return f"only {rows} {what}" if rows < 40 else ""
    own = target.value_counts() if groups is None else groups.groupby(target).nunique().sort_values(ascending=False)
    if rows < 40 or own.iloc[-1] < 10:
        return f"only {rows} {what}, {int(own.iloc[-1])} of them {own.index[-1]}"
    return ""


def size_warnings(frame, target, groups, target_is_number):
    """Return the warnings that little data and many predictors deserve."""
    warnings = []
    rows = len(target) if groups is None else groups.nunique()
    own = target.value_counts() if groups is None or target_is_number else groups.groupby(target).nunique()
    fewest = rows if target_is_number else int(own.min())
    what = "rows" if groups is None else "subjects"
    rare = "" if target_is_number else f", {fewest} in the rarest class"
    if rows < 50 or fewest < 20:
        warnings.append(f"Small data ({rows} {what}{rare}): the estimate would move a lot with other rows; do not "
                        "rely on it without new data.")  # fmt: skip
    if frame.shape[1] > fewest:
        whose = "rows" if target_is_number else "rows of the rarest class"
        warnings.append(f"There are more predictors ({frame.shape[1]}) than {whose} ({fewest}); chance findings among "
                        "them are likely.")  # fmt: skip
    return warnings
