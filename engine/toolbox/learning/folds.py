"""Cross-validation and its guards, shared by every tool that predicts.

A prediction looks better than it is when a column already knows the answer, when an id lets rows be recognised, when a
subject stands on both sides of a split, or when the data were scaled or tuned with the rows that test them. Here all
of that is kept apart once, and what was left out is said.
"""

from __future__ import annotations

from engine.toolbox.tables.columns import (
    GROUP_HELPERS,
    complete_rows,
    level_labels,
    numeric_values,
    plain_table,
    require_columns,
)
from engine.toolbox.tables.rows import table_row


def usable_predictors(table, outcome, predictors, subject, numeric_outcome):
    """Return (frame of predictors that may be used, warnings about those that may not).

    Left out: ids (nearly all values different and no measurement), constant columns, columns of dates, columns more
    than half empty, text with more than 20 levels, and columns that know the outcome: one value for each value of it.
    Every other column enters where none is named.
    """
    import pandas as pd

    named = list(dict.fromkeys(predictors)) or [str(name) for name in table.columns if name not in (outcome, subject)]
    if outcome in predictors or (subject and subject in predictors):
        also = f" and {subject!r} the subject" if subject else ""
        raise ValueError(f"{outcome!r} is what is predicted{also}; it cannot be a predictor too. Leave it out of the "
                         "predictors.")  # fmt: skip
    require_columns(table, named)
    labels, kept = level_labels(table[outcome]), pd.DataFrame(index=table.index)
    left: dict[str, list[str]] = {}
    for name in named:
        column = table[name]
        own = level_labels(column)
        known = own.notna()
        distinct = own[known].nunique()
        number = pd.to_numeric(own[known], errors="coerce")
        is_number = known.any() and bool(number.notna().all()) and not pd.api.types.is_bool_dtype(column)
        whole = is_number and bool((number % 1 == 0).all())
        # Row numbers and ids: whole numbers, all different, in order and close together, or called an id.
        steps = whole and distinct == known.sum() and distinct > 10
        steps = steps and ((bool(number.is_monotonic_increasing) and number.max() - number.min() < 2 * len(table))
                           or named_like_id(name))  # fmt: skip
        if distinct < 2:
            why = "the same in every row"
        elif known.mean() < 0.5:
            why = "more than half empty"
        elif pd.api.types.is_datetime64_any_dtype(column) or (not is_number and dates_only(own[known])):
            why = "dates"
        elif steps or (not is_number and distinct > 20):
            why = "ids or free text"
        elif knows_outcome(own, labels, number if is_number else None, numeric_outcome):
            why = f"a copy or a code of {outcome}, which would give the answer away"
        else:
            kept[name] = pd.to_numeric(own, errors="coerce").astype(float) if is_number else own
            continue
        left.setdefault(why, []).append(name)
    warnings = [f"Left out of the predictors ({why}): {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}."
                for why, names in left.items()]  # fmt: skip
    if kept.shape[1] == 0:
        raise ValueError("No column is left to predict from. " + " ".join(warnings))
    return kept, warnings


def named_like_id(name):
    """Say whether a column is called an id, a number or a row."""
    import re

    return bool(re.search(r"(?:^|[_ .-])(?:id|nr|no|number|index|rownames?|row|barcode|code)$", str(name), re.I))


def dates_only(labels):
    """Say whether text labels are dates."""
    return bool(labels.str.fullmatch(r"\d{4}-\d{1,2}-\d{1,2}.*|\d{1,2}[./]\d{1,2}[./]\d{2,4}").all())


def knows_outcome(own, labels, numbers, numeric_outcome):
    """Say whether a column is the outcome under another name: a straight line of it, or one value for each level."""
    import numpy as np
    import pandas as pd

    both = own.notna() & labels.notna()
    if both.sum() < 5:
        return False
    if numeric_outcome:
        if numbers is None:
            return False
        target = pd.to_numeric(labels[both], errors="coerce")
        with np.errstate(divide="ignore", invalid="ignore"):
            return bool(abs(np.corrcoef(numbers[both], target)[0, 1]) > 0.9999)
    pairs = set(zip(own[both], labels[both], strict=True))
    return len(pairs) == own[both].nunique() == labels[both].nunique()


def prepared_rows(table, outcome, predictors, subject, numeric_outcome):
    """Return (predictors, outcome as labels or numbers, subjects as codes or None, warnings).

    Rows without an outcome or subject are left out and said; gaps in predictors stay, for each fold to fill.
    """
    import pandas as pd

    table = plain_table(table)
    require_columns(table, [outcome, *([subject] if subject else [])])
    table, warnings = complete_rows(table, [outcome, *([subject] if subject else [])])
    if numeric_outcome:
        target = numeric_values(table, outcome)
        if target.nunique() < 2:
            raise ValueError(f"Column {outcome!r} is {target.iloc[0]:g} in every row; there is nothing to predict.")
    else:
        target = level_labels(table[outcome])
        if target.nunique() < 2:
            raise ValueError(f"Column {outcome!r} is {target.iloc[0]!r} in every row; there is nothing to predict.")
    frame, notes = usable_predictors(table, outcome, predictors, subject, numeric_outcome)
    warnings += notes
    gaps = frame.isna().sum()
    if gaps.sum():
        most = gaps.idxmax()
        warnings.append(f"{int(gaps.sum())} gaps in {int((gaps > 0).sum())} predictors (most in {most}: "
                        f"{int(gaps[most])}) are filled inside each fold with the median or the most frequent level of "
                        "its training rows.")  # fmt: skip
    groups = pd.Series(pd.factorize(level_labels(table[subject]))[0], index=table.index) if subject else None
    if groups is not None and groups.nunique() < len(groups):
        warnings.append(f"The {len(groups)} rows of {groups.nunique()} {subject} are split by {subject}: no subject is "
                        "in training and test at once.")  # fmt: skip
    if len(frame) < 10:
        raise ValueError(
            f"Only {len(frame)} rows have an outcome; predicting unseen rows needs at least 10, better 100."
        )
    return frame, target, groups, warnings


def fill_and_scale(frame, rows):
    """Return what the training rows say of every predictor: (name, fill, centre, spread, levels), for `coded_rows`."""
    facts = []
    for name in frame:
        column = frame[name].iloc[rows]
        if frame[name].dtype.kind != "f":
            counts = column.value_counts()
            facts.append((name, counts.index[0] if len(counts) else "", 0.0, 1.0, sorted(counts.index)))
            continue
        fill = float(column.median()) if column.notna().any() else 0.0
        filled = column.fillna(fill)
        facts.append((name, fill, float(filled.mean()), float(filled.std(ddof=0)) or 1.0, None))
    return facts


def coded_rows(frame, rows, facts):
    """Return rows as numbers by what the training rows said: gaps filled, numbers scaled, a 0/1 column per level."""
    import numpy as np

    columns = []
    for name, fill, centre, spread, levels in facts:
        values = frame[name].iloc[rows].fillna(fill).to_numpy()
        if levels is None:
            columns.append((values.astype(float) - centre) / spread)
        else:
            columns += [(values == level).astype(float) for level in levels]
    return np.column_stack(columns)


def learner(model, target_is_number, strength, seed, solver="lbfgs"):
    """Return an unfitted model: linear (logistic or ridge regression with penalty 1/strength) or forest (300 trees)."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    from sklearn.linear_model import LogisticRegression, Ridge

    if model == "forest":
        kind = RandomForestRegressor if target_is_number else RandomForestClassifier
        return kind(n_estimators=300, min_samples_leaf=2, random_state=seed, n_jobs=1)
    return (
        Ridge(alpha=1 / strength) if target_is_number else LogisticRegression(C=strength, max_iter=200, solver=solver)
    )


def split_rows(target, groups, folds, seed, target_is_number):
    """Return the (training, test) positions of one round of cross-validation: subjects whole, classes in balance."""
    import numpy as np
    from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

    rows = np.zeros(len(target))
    if target_is_number:
        if groups is None:
            return list(KFold(folds, shuffle=True, random_state=seed).split(rows))
        return list(GroupKFold(folds, shuffle=True, random_state=seed).split(rows, groups=groups))
    if groups is None:
        return list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(rows, target))
    return list(StratifiedGroupKFold(folds, shuffle=True, random_state=seed).split(rows, target, groups))


def possible_folds(target, groups, folds, target_is_number):
    """Return (how many folds the rows allow, units per class or in all); fewer than two raise ValueError."""
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


def tuned_fit(frame, target, groups, train, model, seed, target_is_number):
    """Fit on the training positions; return (fitted model, facts for `coded_rows`).

    The penalty is chosen by an inner cross-validation of the training rows alone (nested): squared error or log loss.
    """
    import warnings

    import numpy as np
    from threadpoolctl import threadpool_limits

    strength, wanted = 1.0, target.iloc[train]
    solver = "newton-cholesky" if frame.shape[1] < 60 else "lbfgs"  # the same minimum; the first is quicker for few
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # slow convergence at one of the penalties
        if model == "linear":
            grid = [0.001, 0.01, 0.1, 1.0] if target_is_number else [0.003, 0.03, 0.3, 3.0]
            losses = np.zeros(len(grid))
            inside = groups.iloc[train] if groups is not None else None
            parts = split_rows(wanted, inside, inner_folds(wanted, inside, target_is_number), seed, target_is_number)
            for fit_on, tried_on in parts:
                own = wanted.iloc[fit_on]
                if not target_is_number and own.nunique() < wanted.nunique():
                    continue
                facts = fill_and_scale(frame, train[fit_on])
                known, new = coded_rows(frame, train[fit_on], facts), coded_rows(frame, train[tried_on], facts)
                truth = wanted.iloc[tried_on].to_numpy()
                for i, candidate in enumerate(grid):
                    fitted = learner(model, target_is_number, candidate, seed, solver).fit(known, own)
                    if target_is_number:
                        losses[i] += ((fitted.predict(new) - truth) ** 2).sum()
                    else:
                        chance = fitted.predict_proba(new)[
                            np.arange(len(truth)), np.searchsorted(fitted.classes_, truth)
                        ]
                        losses[i] -= np.log(np.maximum(chance, 1e-12)).sum()
            strength = grid[int(losses.argmin())]
        facts = fill_and_scale(frame, train)
        return learner(model, target_is_number, strength, seed, solver).fit(
            coded_rows(frame, train, facts), wanted
        ), facts


def inner_folds(target, groups, target_is_number):
    """Return how many folds the inner cross-validation has: four, or two where a class is rare."""
    if target_is_number:
        units = len(target) if groups is None else groups.nunique()
    else:
        units = int(target.value_counts().min()) if groups is None else int(groups.groupby(target).nunique().min())
    return 4 if units >= 4 else 2


def unseen_predictions(frame, target, groups, model, folds, repeats, seed, target_is_number):
    """Return (predictions, predictions of the baseline), one per row: from models that never saw it, mean of repeats.

    Classes: the probabilities of the sorted classes; baseline the shares of the training rows. Numbers: the value;
    baseline the mean of the training rows.
    """
    import numpy as np

    classes = sorted(target.unique()) if not target_is_number else []
    shape = (len(target), len(classes)) if classes else (len(target),)
    seen, plain = np.zeros(shape), np.zeros(shape)
    for repeat in range(repeats):
        for train, test in split_rows(target, groups, folds, seed + repeat, target_is_number):
            fitted, facts = tuned_fit(frame, target, groups, train, model, seed + repeat, target_is_number)
            new = coded_rows(frame, test, facts)
            if not classes:
                seen[test] += fitted.predict(new) / repeats
                plain[test] += target.iloc[train].mean() / repeats
                continue
            shares = target.iloc[train].value_counts(normalize=True)
            where = [classes.index(name) for name in fitted.classes_]
            seen[np.ix_(test, where)] += fitted.predict_proba(new) / repeats
            plain[np.ix_(test, [classes.index(name) for name in shares.index])] += shares.to_numpy() / repeats
    return seen, plain


def size_warnings(frame, target, groups, target_is_number):
    """Return the warnings that little data and many predictors deserve."""
    warnings = []
    rows = len(target) if groups is None else groups.nunique()
    fewest = rows if target_is_number else int(target.value_counts().min())
    what = "rows" if groups is None else "subjects"
    rare = "" if target_is_number else f", {fewest} rows in the rarest class"
    if rows < 50 or fewest < 20:
        warnings.append(f"Small data ({rows} {what}{rare}): the estimate would move a lot with other rows; do not "
                        f"rely on "
                        "it without new data.")  # fmt: skip
    if frame.shape[1] > fewest:
        whose = "rows" if target_is_number else "rows of the rarest class"
        warnings.append(f"There are more predictors ({frame.shape[1]}) than {whose} ({fewest}); the penalty keeps the "
                        "model in check, but chance findings among them are likely.")  # fmt: skip
    return warnings


LEARNING_HELPERS = (
    *GROUP_HELPERS, table_row, named_like_id, dates_only, knows_outcome, usable_predictors, prepared_rows,
    fill_and_scale,
    coded_rows, learner, split_rows,
    possible_folds, inner_folds, tuned_fit, unseen_predictions, size_warnings,
)  # fmt: skip
"""What a tool needs that predicts; its code carries them."""
