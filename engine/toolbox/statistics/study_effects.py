"""What studies report, made one effect and one variance each.

An effect with its standard error, variance or interval, counts of two groups, or means, SDs and ns; which columns are
which is read from their names, and what was taken is said.
"""

from __future__ import annotations

from engine.toolbox.tables.columns import complete_rows, level_labels, numeric_values, require_columns


def name_words(name):
    """Return the words of a column name in lower case, parted at signs, humps and digits: meanA -> mean, a."""
    import re

    return re.findall(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]+|\d+", name) and [
        word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
    ]


def effect_columns(table):
    """Return effect, error, lower and upper of the columns whose names say so, "" where none or several do."""
    import re

    patterns = {
        "effect": r"(yi|te|es|effect|effect size|estimate|estimates|effectsize|beta|coef|slope|smd|hedges "
        r"g|cohens? d|md|"
        r"mean difference|difference|ln ?(rr|or|hr|r)|log ?(rr|or|hr)|log (odds|risk|hazard|response) ratio|lnrr|g|d|"
        r"or|rr|hr|(odds|risk|hazard) ratio)",
        "error": r"(sei?|se .*|.* se|sem|std err(or)?|standard error|error|se[tm]e|vi|var|variance|v|.* "
        r"variance|.* var)",
        "lower": r"(lower|lcl|ll|low|ci lower|ci low|lower ci|ci lb|lb|lower 95|ci l|lci|lower limit)",
        "upper": r"(upper|ucl|ul|high|ci upper|ci high|upper ci|ci ub|ub|upper 95|ci u|uci|upper limit)",
    }
    found = {}
    for part, pattern in patterns.items():
        hits = [str(c) for c in table.columns if re.fullmatch(pattern, " ".join(name_words(str(c))))]
        found[part] = hits[0] if len(hits) == 1 else ""
    return found


def arm_columns(table, names):
    """Return the columns of two groups by their part, or {} when the names do not tell: the group named first is 1.

    Parts are event_1, total_1 (or rest_1, those without the event), or mean_1, sd_1, n_1, and the same with 2.
    A part is told by a word of the name (events, n, total, mean, sd) or by common letters (tpos/tneg/cpos/cneg,
    ai/bi/ci/di, m1i/sd1i/n1i).
    """
    import re

    columns = names or [str(column) for column in table.columns]
    folded = {re.sub(r"[^a-z0-9]", "", name.lower()): name for name in columns}
    for letters in (("ai", "bi", "ci", "di"), ("tpos", "tneg", "cpos", "cneg"), ("a", "b", "c", "d")):
        if all(letter in folded for letter in letters):
            parts = ("event_1", "rest_1", "event_2", "rest_2")
            return {part: folded[letter] for part, letter in zip(parts, letters, strict=True)}
    kinds = {"event": r"(events?|cases|deaths|died|dead|pos|positive|quit|responders?|e|x|ev|d|q)",
             "rest": r"(neg|negative|nonevents?|noevents?|alive|survivors|without)",
             "total": r"(n|total|totals|size|patients|subjects|t|ni)", "mean": r"(mean|means|m|avg|average|mi)",
             "sd": r"(sd|sds|std|sdi|stdev)"}  # fmt: skip
    found, arms = {}, []
    for name in columns:
        words = name_words(name)
        if len(words) == 1:  # qt, meanA written meana, sdt: the last letter is the group
            words = [words[0][:-1], words[0][-1]] if len(words[0]) > 1 else words
        if words and words[-1] == "i" and len(words) > 1:
            words = words[:-1]
        for kind, pattern in kinds.items():
            hits = [word for word in words if re.fullmatch(pattern, word)]
            if kind == "event" and any(re.fullmatch(kinds[other], word) for other in ("total", "mean", "sd", "rest")
                                       for word in words[:1]):  # fmt: skip
                continue
            if hits and len(words) > 1:
                at = words.index(hits[0])
                found[(kind, " ".join(words[:at] + words[at + 1 :]))] = name
                break
    for _, arm in [key for key in found if key[0] in ("event", "mean")]:  # `TB cases (vaccinated)` of `N vaccinated`
        wider = [k for k in found if k[0] in ("total", "rest", "sd") and set(k[1].split()) < set(arm.split())]
        if not any((other, arm) in found for other in ("total", "rest")):
            for other in wider:
                found[other[0], arm] = found.pop(other)
    for _, arm in found:
        parts = {k for k, a in found if a == arm}
        if arm not in arms and (parts >= {"mean", "sd", "total"} or (
                "mean" not in parts and "event" in parts and parts & {"total", "rest"})):  # fmt: skip
            arms.append(arm)
    control = {"c", "ctrl", "control", "controls", "con", "placebo", "p", "pbo", "ctl", "2"}
    arms = sorted(arms, key=lambda arm: arm in control)
    if len(arms) != 2:
        return {}
    return {
        f"{'n' if kind == 'total' and ('mean', arm) in found else kind}_{arms.index(arm) + 1}": name
        for (kind, arm), name in found.items()
        if arm in arms
    }


def ratio_by_interval(y, low, high):
    """Say whether positive effects lie amid their intervals on a log scale, and clearly not on their own."""
    import numpy as np

    if (y <= 0).any() or (low <= 0).any() or (high <= low).any():
        return False
    plain = np.abs((low + high) / 2 - y) / (high - low)
    logs = np.abs(np.log(low * high) / 2 - np.log(y)) / np.log(high / low)
    return bool(np.median(plain) > 0.05 and np.median(logs) < 0.02)


def given_effects(table, effect, error, lower, upper, error_is, scale):
    """Return effects, variances, what the effect is, whether it is a logarithm, and warnings."""
    import re

    import numpy as np

    warnings, words = [], " ".join(name_words(effect))
    y = numeric_values(table, effect)
    ratio = scale == "ratio" or (scale == "auto" and re.search(r"\b(or|rr|hr|irr|ratio)\b", words) and (y > 0).all()
                                 and not re.search(r"\b(log|ln)", words))  # fmt: skip
    log = bool(ratio or scale == "log" or (scale == "auto" and re.match(r"(log|ln)", words)))
    if ratio and (y <= 0).any():
        raise ValueError(f"Column {effect!r} is to hold ratios but has values of 0 or below; expected positive ones.")
    if ratio:
        warnings.append(f"{effect} was taken for a ratio and pooled as its logarithm; set scale to as_is otherwise.")
        y = np.log(y)
    if lower and upper:
        low, high = numeric_values(table, lower), numeric_values(table, upper)
        if not (ratio or log or scale == "as_is") and ratio_by_interval(y, low, high):
            ratio = log = True
            warnings.append(f"The intervals of {effect} are symmetric on a log scale only, so it was taken for a ratio "
                            "and pooled as its logarithm; set scale to as_is otherwise.")  # fmt: skip
            y = np.log(y)
        if ratio:
            if (low <= 0).any():
                raise ValueError(f"Column {lower!r} has limits of 0 or below; the interval of a ratio is positive.")
            low, high = np.log(low), np.log(high)
        if (low >= high).any() or (y < low).any() or (y > high).any():
            raise ValueError(f"In {int(((low >= high) | (y < low) | (y > high)).sum())} rows {effect!r} is not between "
                             f"{lower!r} and {upper!r}; expected lower limit, effect, upper limit.")  # fmt: skip
        warnings.append("Standard errors were taken from 95 % intervals: width / 3.92.")
        return y, ((high - low) / 3.919927969080108) ** 2, effect, log, warnings
    if not error:
        raise ValueError(
            f"Of the precision of {effect!r} nothing is named; expected a column of standard errors or variances, or "
            "two with the limits of the 95 % interval."
        )
    spread = numeric_values(table, error)
    if (spread <= 0).any():
        raise ValueError(
            f"Column {error!r} has {int((spread <= 0).sum())} values of 0 or below; expected positive standard errors "
            f"or variances. Is {error!r} the effect and {effect!r} its error?"
        )
    if error_is == "auto":
        variance = re.search(r"\b(vi?|var|variances?)\b", " ".join(name_words(error)))
        error_is = "variance" if variance else "standard_error"
        warnings.append(f"{error} was taken for {'variances' if variance else 'standard errors'} by its name.")
    if ratio:
        warnings.append(f"{error} was taken to be on the logarithmic scale, as ratios are reported.")
    return y, spread if error_is == "variance" else spread**2, effect, log, warnings


def count_effects(table, parts, measure):
    """Return log risk or odds ratios of group 1 against 2, variances and warnings (0.5 added where a count is 0)."""
    import numpy as np

    counts = {part: numeric_values(table, name) for part, name in parts.items()}
    for part, column in counts.items():
        if (column < 0).any() or ((column - column.round()).abs() > 1e-6).any():
            raise ValueError(f"Column {parts[part]!r} holds negative or fractional values; expected counts.")
    a, c = counts["event_1"], counts["event_2"]
    b, d = (counts[f"rest_{i}"] if f"rest_{i}" in counts else counts[f"total_{i}"] - counts[f"event_{i}"] for i in "12")
    if (b < 0).any() or (d < 0).any():
        raise ValueError(f"{int(((b < 0) | (d < 0)).sum())} rows have more events than subjects; check the totals.")
    warnings = []
    none = ((a + c) == 0) | ((b + d) == 0)
    empty = (a + b == 0) | (c + d == 0)
    if (none | empty).any():
        warnings.append(f"{int((none | empty).sum())} studies have no event, only events, or an empty group in both "
                        "groups and say nothing of a ratio; they were left out.")  # fmt: skip
    zero = (a == 0) | (b == 0) | (c == 0) | (d == 0)
    if (zero & ~none & ~empty).any():
        warnings.append(
            f"0.5 was added to the counts of {int((zero & ~none & ~empty).sum())} studies with a count of 0, which "
            "pulls their ratio towards 1; where most studies have few events read the result as rough."
        )
    with np.errstate(all="ignore"):
        a, b, c, d = (count + 0.5 * zero for count in (a, b, c, d))
        if measure == "odds_ratio":
            y, v = np.log(a * d / (b * c)), 1 / a + 1 / b + 1 / c + 1 / d
        else:
            y, v = np.log(a / (a + b) / (c / (c + d))), 1 / a - 1 / (a + b) + 1 / c - 1 / (c + d)
    return y.where(~(none | empty)), v.where(~(none | empty)), warnings


def mean_effects(table, parts, measure):
    """Return Hedges g (exact correction, large-sample variance) or mean differences, group 1 minus 2; variances."""
    import numpy as np
    from scipy.special import gammaln

    m1, s1, n1, m2, s2, n2 = (numeric_values(table, parts[f"{key}_{i}"]) for i in "12" for key in ("mean", "sd", "n"))
    if (s1 <= 0).any() or (s2 <= 0).any() or (n1 < 2).any() or (n2 < 2).any():
        raise ValueError("A standard deviation is 0 or below or a group has fewer than 2 subjects; expected positive "
                         "SDs and at least 2 subjects a group.")  # fmt: skip
    if measure == "mean_difference":
        return m1 - m2, s1**2 / n1 + s2**2 / n2, []
    df = n1 + n2 - 2
    correction = np.exp(gammaln(df / 2) - np.log(np.sqrt(df / 2)) - gammaln((df - 1) / 2))
    g = correction * (m1 - m2) / np.sqrt(((n1 - 1) * s1**2 + (n2 - 1) * s2**2) / df)
    return g, 1 / n1 + 1 / n2 + g**2 / (2 * (n1 + n2)), []


def study_names(table, study):
    """Return a name for every row: the column given, the one called study, author, trial or paper, else numbers."""
    import re

    import pandas as pd

    if not study:
        hits = [str(c) for c in table.columns if re.search(
            r"^(study|stud|slab|trial|author|paper|lab|cohort|publication|"
                r"experiment|site|farm)", str(c), re.I)]  # fmt: skip
        study = next((c for c in hits if not pd.api.types.is_numeric_dtype(table[c])), hits[0] if hits else "")
    if not study:
        return pd.Series([f"row {i + 1}" for i in range(len(table))], index=table.index), ""
    labels = level_labels(table[study])
    labels = labels.where(labels.notna(), pd.Series([f"row {i + 1}" for i in range(len(table))], index=table.index))
    repeat = labels.groupby(labels).cumcount()
    return labels.where(repeat == 0, labels + " (" + (repeat + 1).astype(str) + ")"), study


def study_effects(table, effect, error, lower, upper, arms, measure, error_is, scale):
    """Return effects, variances, the effect's name, whether it is a logarithm, and warnings."""
    own, every = effect_columns(table), arm_columns(table, [])
    named = [name for name in (effect, error, lower, upper) if name]
    require_columns(table, [*named, *arms])
    parts = (arm_columns(table, arms) or every) if arms else {} if effect and effect not in every.values() else every
    if parts and set(named) & set(parts.values()):
        effect = error = lower = upper = ""
    if effect and effect in (own["error"], own["lower"], own["upper"]) and own["effect"]:
        effect, error, lower, upper = own["effect"], own["error"], own["lower"], own["upper"]
        error = "" if lower in named or upper in named else error
    if arms and not parts:
        raise ValueError(
            f"From the names {', '.join(arms)} it is not clear which column is what; expected names such as "
            f"events_1, n_1, "
            "events_2, n_2, or mean_1, sd_1, n_1, mean_2, sd_2, n_2. Rename them."
        )
    if not effect and (not own["effect"] or (not own["error"] and not own["lower"] and not error)) and parts:
        require_columns(table, parts.values())
        table, warnings = complete_rows(table, list(parts.values()))
        said = ", ".join(
            f"{part.replace('_', ' of group ')}: {name}" for part, name in sorted(parts.items(), key=lambda p: p[0][-1])
        )
        warnings.append(f"The columns were taken as {said}; effects are group 1 against group 2.")
        if "mean_1" in parts:
            if measure not in ("auto", "hedges_g", "mean_difference"):
                raise ValueError(
                    f"{measure} needs counts, but the columns hold means; take hedges_g or mean_difference."
                )
            measure = "hedges_g" if measure == "auto" else measure
            y, v, notes = mean_effects(table, parts, measure)
            return (
                table,
                y,
                v,
                {"hedges_g": "Hedges g", "mean_difference": "mean difference"}[measure],
                False,
                warnings + notes,
            )
        if measure not in ("auto", "risk_ratio", "odds_ratio"):
            raise ValueError(
                f"{measure} needs means and SDs, but the columns hold counts; take risk_ratio or odds_ratio."
            )
        measure = "risk_ratio" if measure == "auto" else measure
        y, v, notes = count_effects(table, parts, measure)
        return table, y, v, measure.replace("_", " "), True, warnings + notes
    effect = effect or own["effect"]
    if not effect:
        raise ValueError(
            "The table has no column that is clearly the effect of a study; expected an effect with its standard "
            "error, or "
            "events and totals of two groups, or their means, SDs and ns. Name the columns."
        )
    if not error and not (lower and upper):
        error, lower, upper = own["error"], own["lower"], own["upper"]
        error = "" if error == effect else error
        lower, upper = ("", "") if error else (lower, upper)
    chosen = [name for name in (effect, error, lower, upper) if name]
    require_columns(table, chosen)
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"The same column serves twice ({', '.join(chosen)}); expected different columns.")
    table, warnings = complete_rows(table, chosen)
    y, v, name, log, notes = given_effects(table, effect, error, lower, upper, error_is, scale)
    return table, y, v, name, log, warnings + notes
