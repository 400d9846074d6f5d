"""The design of a comparison of samples: which samples, which factors, and whether their effects can be told apart."""

from __future__ import annotations

from engine.toolbox.bulk_rna.common import name_some


def level_text(values):
    """Return a column as stripped text, missing where it was missing or empty; 1.0 and 1 are the same level."""
    import pandas as pd

    numbers = pd.to_numeric(values, errors="coerce")
    if values.notna().any() and numbers.notna().sum() == values.notna().sum() and values.dtype.kind not in "bO":
        whole = (numbers.dropna() % 1 == 0).all()
        text = numbers.map(lambda x: None if x != x else str(int(x)) if whole else f"{x:g}")
        return text.astype(object)
    text = values.map(lambda x: None if x is None or x != x else str(x).strip())
    return text.astype(object).where(text != "", None)


def choose_samples(sheet, condition, treated, control, covariates, lean):
    """Return the samples of the two levels without missing factors, and notes; see `designed`."""
    for column in [condition, *covariates]:
        if column not in sheet:
            raise ValueError(f"The sample sheet has no column {column!r}; it has: {name_some(sheet.columns, 12)}.")
    treated, control = str(treated).strip(), str(control).strip()
    if treated == control:
        raise ValueError(f"treated and control are both {treated!r}: choose two different levels of {condition!r}.")
    if condition in covariates:
        raise ValueError(f"{condition!r} is both the condition and a covariate: take it out of the covariates.")
    levels = level_text(sheet[condition])
    for level in (treated, control):
        if level not in set(levels.dropna()):
            raise ValueError(
                f"{condition!r} has no level {level!r} among the samples that match the counts; "
                f"its levels are: {name_some(sorted(set(levels.dropna())), 12)}."
            )
    notes = []
    if levels.isna().any():
        notes.append(f"Left out, having no value of {condition}: {name_some(sheet.index[levels.isna()])}.")
    other = levels.notna() & ~levels.isin([treated, control])
    if other.any():
        notes.append(
            f"{int(other.sum())} samples of other levels of {condition} ({name_some(sorted(set(levels[other])))}) "
            "are left out of this comparison."
        )
    used = sheet[levels.isin([treated, control])].copy()
    used[condition] = levels[used.index]
    for column in covariates:
        missing = level_text(used[column]).isna()
        if missing.any():
            notes.append(f"Left out, having no value of {column}: {name_some(used.index[missing])}.")
            used = used[~missing]
    sizes = used[condition].value_counts()
    for level in (treated, control):
        if sizes.get(level, 0) < 2:
            raise ValueError(
                f"{condition} = {level!r} has {sizes.get(level, 0)} usable sample(s): the variation between replicates "
                "is measured from at least 2 in each group; add replicates or describe the fold changes without a test."
            )
    if sizes.min() == 2:
        notes.append(
            f"A group has only 2 replicates ({treated}: {sizes[treated]}, {control}: {sizes[control]}): "
            f"{lean}, and few true changes are found."
        )
    return used, notes


def build_factors(used, condition, treated, control, covariates, categorical):
    """Return the factors under plain names, the design formula, and how each covariate was coded.

    Numbers among `categorical` and whole numbers with repeats (donor 1, 2, 3...) are labels; other numbers are
    centred, scaled and kept numeric.
    """
    import re

    import pandas as pd

    factors, terms, notes = pd.DataFrame(index=used.index), [], []
    for position, column in enumerate(covariates):
        text = level_text(used[column])
        numbers = pd.to_numeric(used[column], errors="coerce")
        is_number = bool(numbers.notna().all()) and used[column].dtype.kind != "b" and column not in categorical
        label_like = re.search(
            r"donor|patient|subject|batch|institut|hospital|clinic|cent(re|er)|(^|[^a-z])(pair|plate|site|litter|animal|mouse|replicate|run|lane|block|id)([^a-z]|$)",
            str(column).lower(),
        )
        n_levels = text.nunique()
        if n_levels < 2:
            notes.append(f"{column} has the same value ({text.iloc[0]}) in all samples used and is left out.")
            continue
        if n_levels == len(used) and not is_number:
            raise ValueError(
                f"{column!r} has a different value in each of the {len(used)} samples, so adjusting for it leaves "
                "nothing to compare: take it out of the covariates."
            )
        name = f"covariate_{position + 1}"
        whole = is_number and bool((numbers % 1 == 0).all())
        if is_number and not (whole and n_levels < len(used) and (label_like or n_levels <= 0.5 * len(used))):
            factors[name] = (numbers - numbers.mean()) / numbers.std(ddof=0)
            notes.append(f"{column} enters as a number (centred and scaled).")
        else:
            factors[name] = pd.Categorical(text, categories=sorted(set(text)))
            if bool(numbers.notna().all()) and used[column].dtype.kind != "b":
                notes.append(f"{column} holds {n_levels} different numbers, taken as labels, not as a quantity.")
        terms.append((name, column))
    # Alphabetical levels: which one is the reference moves the last digits of the fit, so swapping treated and control
    # then turns signs and nothing else.
    factors["condition"] = pd.Categorical(used[condition], categories=sorted([treated, control]))
    return factors, terms, notes


def check_design(factors, terms, condition):
    """Refuse a design whose effects cannot be told apart, naming the columns; return residual degrees of freedom."""
    import numpy as np
    import pandas as pd

    def columns_of(*names):
        dummies = pd.get_dummies(factors[list(names)], drop_first=True, dtype=float)
        return np.column_stack([np.ones(len(factors)), dummies.to_numpy(dtype=float)])

    def redundant(*names):
        matrix = columns_of(*names)
        return np.linalg.matrix_rank(matrix) < matrix.shape[1]

    named = [*terms, ("condition", condition)]
    everything = columns_of(*(name for name, _ in named))
    if redundant(*(name for name, _ in named)):
        for name, column in reversed(terms):
            if redundant(name, "condition"):
                raise ValueError(
                    f"{column!r} and {condition!r} are confounded: each level of one occurs with a single level of the "
                    "other, so their effects cannot be told apart; leave the covariate out, or test something else."
                )
        for first, (name, column) in enumerate(terms):
            for other, other_column in terms[first + 1 :]:
                if redundant(name, other):
                    raise ValueError(
                        f"{column!r} and {other_column!r} carry the same information (one follows from the other): "
                        "keep only one of them as covariate."
                    )
        raise ValueError(
            f"The covariates {name_some([column for _, column in terms])} together determine {condition!r} or each "
            "other: leave one of them out."
        )
    freedom = len(factors) - everything.shape[1]
    if freedom < 1:
        raise ValueError(
            f"{len(factors)} samples cannot fit {everything.shape[1]} coefficients and still show the variation "
            f"between replicates (covariates: {name_some([column for _, column in terms])}): leave a covariate out."
        )
    return freedom


def as_in_sheet(sheet, condition, *levels):
    """Return levels as the sheet writes them: a column of 0 and 1 with a gap is read as 0.0 and 1.0."""
    levels = [str(level).strip() for level in levels]
    if condition not in sheet:
        return levels
    known = set(level_text(sheet[condition]).dropna())
    return [level if level in known else level.removesuffix(".0") for level in levels]


def lone_levels(factors, terms):
    """Return which levels of the covariates occur in one group only, one sentence a covariate."""
    import pandas as pd

    notes = []
    for name, column in terms:
        if hasattr(factors[name], "cat"):
            groups = pd.crosstab(factors[name], factors["condition"])
            single = groups.index[(groups == 0).any(axis=1)]
            if len(single):
                notes.append(f"{column} {name_some(single)} occur in one group only and add nothing to the comparison.")
    return notes


def designed(sheet, condition, treated, control, covariates, categorical, lean):
    """Return (samples used, factors, (factor, covariate) pairs, residual degrees of freedom, notes) of a comparison.

    Args:
        sheet: one row a sample that was measured.
        condition, treated, control: what is compared, as the sheet writes it.
        covariates, categorical: what is held constant, and which of it are labels.
        lean: what the test leans on where a group has two replicates, as the beginning of a sentence.
    """
    used, notes = choose_samples(sheet, condition, treated, control, covariates, lean)
    factors, terms, more = build_factors(used, condition, treated, control, covariates, categorical)
    freedom = check_design(factors, terms, condition)
    return used, factors, terms, freedom, [*notes, *more, *lone_levels(factors, terms)]
