"""What would give the answer away: ids, dates, codes of the outcome, gaps that tell it, copies of rows.

A prediction that knows the answer looks brilliant and is worth nothing. What cannot be an honest predictor is left
out and said; what could be one but tells the outcome alone is named, and the result without it is given beside.
"""

from __future__ import annotations

from engine.toolbox.tables.columns import level_labels, require_columns


def named_like_id(name):
    """Say whether a column is called an id, a number or a row."""
    import re

    return bool(re.search(r"(?:^|[_ .-])(?:id|nr|no|number|index|rownames?|row|barcode|code)$", str(name), re.I))


def names_subjects(name, column):
    """Say whether a column tells who or what has several rows: called so, with five or more words or whole numbers."""
    import re

    import pandas as pd

    own = column.dropna()
    numbers = pd.to_numeric(own, errors="coerce")
    fractions = len(own) and numbers.notna().all() and bool((numbers % 1 != 0).any())
    return not fractions and own.nunique() >= 5 and bool(re.fullmatch(
        r"(?:patient|subject|participant|person|individual|volunteer|proband|donor|animal|mouse|mice|rat|dog|cow|horse|"
        r"pig|sheep|bird|fish|plant|tree|litter|family|twin|cage|tank|clone|cell line)s?(?:[_ .-]?(?:id|nr|no|number|"
        r"code|name))?|(?:sub|subj|pat|pt)(?:[_ .-]?(?:id|nr|no))?", str(name), re.I))  # fmt: skip


def dates_only(labels):
    """Say whether text labels are dates."""
    return bool(labels.str.fullmatch(r"\d{4}-\d{1,2}-\d{1,2}.*|\d{1,2}[./]\d{1,2}[./]\d{2,4}").all())


def knows_outcome(own, labels, numbers, numeric_outcome):
    """Say whether a column is the outcome under another name: a straight line of it, or a code of its levels.

    A code may be finer than the outcome (site, batch or patient within it): words or at most ten numbers, several rows
    a value, and every value with one level of the outcome.
    """
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
            return bool(abs(np.corrcoef(numbers[both[both].index], target)[0, 1]) > 0.9999)
    pairs, values = set(zip(own[both], labels[both], strict=True)), own[both].nunique()
    if len(pairs) == values == labels[both].nunique():
        return True
    sizes = own[both].value_counts()
    if numbers is not None and values > 10:
        return False
    return len(pairs) == values <= both.sum() / 3 and sizes[sizes > 1].sum() >= 0.9 * both.sum() >= 18


def gaps_know_outcome(own, labels, numeric_outcome):
    """Say whether a column is filled in for some levels of the outcome only, so that a gap gives the answer away."""
    gaps = own.isna()
    if numeric_outcome or min(gaps.sum(), (~gaps).sum()) < 5:
        return False
    shares = gaps.groupby(labels).mean()
    return bool(shares.max() - shares.min() > 0.8)


def named_like_the_end(name):
    """Say whether a column is called as what is known only when all is over: stay, discharge, cause of death."""
    import re

    return bool(re.search(
        r"(?:^|[_ .-])(?:final|discharged?|length of stay|los|survival|follow ?-?up|cause of death|"
        r"(?:date|age|time|day) (?:of|at|to) (?:death|discharge|exit|event)|"
        r"(?:days?|nights?|hours?|weeks?|months?) (?:in|to|until|till|of) (?:the )?"
        r"(?:clinic|hospital|icu|ward|unit|stay|discharge|death|event|relapse|failure|exit|end))(?:$|[_ .-])",
        re.sub(r"[_.]", " ", str(name)), re.I))  # fmt: skip


def unfit_reason(name, own, column, labels, outcome, numeric_outcome, once):
    """Return (why a column may not be a predictor or "", its numbers or None); `once` marks one row a subject."""
    import pandas as pd

    known = own.notna()
    distinct = own[known].nunique()
    number = pd.to_numeric(own[known], errors="coerce")
    is_number = known.any() and bool(number.notna().all()) and not pd.api.types.is_bool_dtype(column)
    whole = is_number and bool((number % 1 == 0).all())
    # Row numbers and ids: whole numbers, all different, in order and close together, or called an id.
    steps = whole and distinct == known.sum() and distinct > 10
    steps = steps and ((bool(number.is_monotonic_increasing) and number.max() - number.min() < 2 * len(own))
                       or named_like_id(name))  # fmt: skip
    if distinct < 2:
        why = "the same in every row"
    elif gaps_know_outcome(own, labels, numeric_outcome):
        why = f"filled in for some {outcome} only, so that a gap would give the answer away"
    elif known.mean() < 0.5:
        why = "more than half empty"
    elif pd.api.types.is_datetime64_any_dtype(column) or (not is_number and dates_only(own[known])):
        why = "dates"
    elif steps or (not is_number and distinct > 20):
        why = "ids or free text"
    elif knows_outcome(own[once], labels[once], number if is_number else None, numeric_outcome):
        why = f"a copy or a code of {outcome}, which would give the answer away"
    else:
        why = ""
    return why, pd.to_numeric(own, errors="coerce").astype(float) if is_number else None


def computed_from(frame, target):
    """Return the columns computed from a numeric outcome and another column: a density is its count over an area.

    Of the two columns that give the outcome together, the one that goes with it more closely is named.
    """
    import itertools

    import numpy as np

    y, found = target.to_numpy(dtype=float), {}
    numbers = frame.select_dtypes("float").dropna(axis=1)
    if numbers.shape[1] > 40 or len(y) < 20 or y.std() == 0:
        return found
    for one, other in itertools.permutations(numbers, 2):
        a, b = numbers[one].to_numpy(), numbers[other].to_numpy()
        with np.errstate(all="ignore"):
            made = {"times": a * b, "over": a / b, "plus": a + b, "minus": a - b}
            close = {name: abs(np.corrcoef(values, y)[0, 1]) for name, values in ((one, a), (other, b))}
        for word, values in made.items():
            if not np.isfinite(values).all() or values.std() == 0:
                continue
            factor = float(values @ y / (values @ values))
            if np.abs(y - factor * values).max() <= 1e-3 * np.abs(y).max():
                found[max(close, key=lambda name: close[name])] = f"{one} {word} {other} is"
    return found


def usable_predictors(table, outcome, predictors, subject, numeric_outcome):
    """Return (frame of predictors that may be used, warnings about those that may not).

    Left out: ids (nearly all values different and no measurement), constant columns, columns of dates, columns more
    than half empty or empty for some levels of the outcome only, text with more than 20 levels, columns that name
    subjects, columns that know the outcome, and columns called as what is known at the end only. Every other column
    enters where none is named.
    """
    import pandas as pd

    named = list(dict.fromkeys(predictors)) or [str(name) for name in table.columns if name not in (outcome, subject)]
    if outcome in predictors or (subject and subject in predictors):
        also = f" and {subject!r} the subject" if subject else ""
        raise ValueError(f"{outcome!r} is what is predicted{also}; it cannot be a predictor too. Leave it out of the "
                         "predictors.")  # fmt: skip
    require_columns(table, named)
    labels, kept = level_labels(table[outcome]), {}
    left: dict[str, list[str]] = {}
    for name in named:
        own = level_labels(table[name])
        # A subject's rows say the same thing once: they are no evidence that a column is a code.
        rows = pd.DataFrame({"own": own, "label": labels, "who": table[subject] if subject else range(len(own))})
        why, numbers = unfit_reason(name, own, table[name], labels, outcome, numeric_outcome, ~rows.duplicated())
        if not why and not predictors and names_subjects(name, own):
            why = "names of subjects, by which their other rows would be recognised"
        if not why and named_like_the_end(name) and not all(map(named_like_the_end, named)):
            why = f"called as what is known only when {outcome} is; rename one that is known before"
        if why:
            left.setdefault(why, []).append(name)
        else:
            kept[name] = own if numbers is None else numbers
    if numeric_outcome and kept:
        target = pd.to_numeric(table[outcome], errors="coerce")
        there = target.notna().to_numpy()
        for name, how in computed_from(pd.DataFrame(kept, index=table.index)[there], target[there]).items():
            left.setdefault(f"{how} {outcome}, so it was computed from that", []).append(name)
            del kept[name]
    late = [name for name in predictors if name in kept and named_like_the_end(name)]
    warnings = [f"{', '.join(late[:8])}: by the name known only when {outcome} is; a prediction made before cannot "
                "have it, and the result is then too good."] if late else []  # fmt: skip
    warnings += [f"Left out of the predictors ({why}): {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}."
                for why, names in left.items()]  # fmt: skip
    if not kept:
        raise ValueError("No column is left to predict from. " + " ".join(warnings))
    return pd.DataFrame(kept, index=table.index), warnings


def meant_subject(table, predictors, subject):
    """Return (predictors, subject, warnings) where a named predictor is really who or what the rows belong to.

    `How well on new patients?` names the patients, but not as something to predict from: their rows are kept together,
    and where nothing else is named every other column predicts.
    """
    require_columns(table, [*dict.fromkeys(predictors)])
    whose = [name for name in predictors if names_subjects(name, level_labels(table[name]))]
    if subject or not whose:
        return list(predictors), subject, []
    rest = [name for name in predictors if name not in whose]
    return rest, whose[0], [f"{whose[0]} says whose rows these are: it was taken as the subject and not as a predictor"
                            + ("." if rest else "; every other column that may be used is one.")]  # fmt: skip


def unsaid_subject(table, outcome, subject):
    """Return a warning where a column called after subjects repeats and was not given as the subject."""
    for name in table.columns:
        own = level_labels(table[name]).dropna()
        values = own.nunique()
        if not subject and name != outcome and names_subjects(name, own) and values <= 0.8 * len(own):
            return [f"{name} repeats ({values} values in {len(own)} rows) and was not given as the subject: rows of "
                    f"one {name} are then on both sides of a split, and the result is too good for a new {name}. Plan "
                    f"it again with subject = {name}."]  # fmt: skip
    return []


def copied_rows(frame, target):
    """Return a code a row, equal for rows that are copies in every predictor and the outcome; None without copies.

    Rows of a few short scales meet by chance: copies count only where there are more than five times as many as
    columns that know nothing of each other would give.
    """
    import pandas as pd

    codes = frame.round(12).assign(**{"the outcome": list(target)})
    same = pd.Series(pd.util.hash_pandas_object(codes.astype(str), index=False).to_numpy())
    pairs = (same.value_counts() * (same.value_counts() - 1) / 2).sum()
    if not pairs:
        return None
    expected = len(frame) * (len(frame) - 1) / 2
    for name in codes:
        expected *= (codes[name].value_counts(normalize=True, dropna=False) ** 2).sum()
    return pd.Series(pd.factorize(same)[0], index=frame.index) if pairs > 5 * expected else None


def telling_columns(frame, target, numeric_outcome):
    """Return the numeric predictors that alone tell the outcome: column -> how, in words.

    Labels: every two of them are parted by the column (AUC of at least 0.995). Numbers: a correlation beyond 0.98.
    """
    import numpy as np
    import pandas as pd
    from scipy.stats import rankdata

    found, labels = {}, target.to_numpy()
    for name in [] if numeric_outcome else frame.select_dtypes(exclude="float"):
        known = frame[name].notna() & target.notna()
        counts = pd.crosstab(frame.loc[known, name], target[known])
        right, most = counts.max(axis=1).sum() / max(1, known.sum()), counts.sum().max() / max(1, known.sum())
        if known.sum() >= 20 and len(counts) <= 6 and right >= 0.985 and right - most >= 0.1:
            found[name] = f"{100 * right:.1f} % of the rows are right by it alone"
    for name in frame.select_dtypes("float"):
        known = frame[name].notna().to_numpy()
        own, truth = frame[name].to_numpy()[known], labels[known]
        if len(own) < 20:
            continue
        if numeric_outcome:
            r = float(np.corrcoef(own, truth)[0, 1]) if own.std() > 0 and truth.std() > 0 else 0.0
            if abs(r) > 0.98:
                found[name] = f"r = {r:.3f}"
            continue
        levels, parted = np.unique(truth), []
        for i, one in enumerate(levels):
            for other in levels[i + 1 :]:
                both = (truth == one) | (truth == other)
                ranks, n = rankdata(own[both]), (truth[both] == one).sum()
                area = (ranks[truth[both] == one].sum() - n * (n + 1) / 2) / (n * (both.sum() - n))
                parted.append(max(area, 1 - area))
        if min(parted, default=0) >= 0.995:
            found[name] = f"AUC {min(parted):.3f}"
    return found
