"""What a Cox model is put together from: coding, checks before and after the fit, tables and sentences."""

from __future__ import annotations

from engine.toolbox.survival.partial_likelihood import (
    cluster_covariance,
    cox_residuals,
    interval_concordance,
    interval_hazards_test,
)
from engine.toolbox.tables.columns import (
    called_level,
    format_p,
    in_a_row,
    known_reference,
    left_open,
    level_labels,
    likely_control,
    numeric_values,
    order_levels,
    reference_levels,
)
from engine.toolbox.tables.rows import table_row
from engine.toolbox.tables.wording import between, per_step, several_told


def code_covariates(data, covariates, categorical, per=1.0, references=(), held=()):
    """Return (numeric design, facts per term, warnings): text becomes one term per level but the reference.

    The reference is the level told (`references`, each as column=level), else the one named like a control (placebo,
    control, no...), else the first in order. A number with a reference told is taken as groups. `per` units are one
    step of every number but those `held` constant only.
    """
    import pandas as pd

    told = reference_levels(references, covariates)
    categorical = [*categorical, *told]
    design, facts, warnings = pd.DataFrame(index=data.index), {}, []
    for name in covariates:
        column = data[f"x:{name}"]
        numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
        labels = level_labels(column)
        levels = order_levels(labels)
        if len(levels) < 2:
            message = (
                f"The covariate {name!r} is {levels[0]!r} in all {len(data)} complete rows; a covariate "
                "must vary. Leave it out."
            )
            raise ValueError(message)
        if not numeric and name not in categorical:
            parsed = pd.to_numeric(column, errors="coerce")
            if 0.5 < parsed.notna().mean() < 1 and len(levels) > 5:
                numeric_values(data.rename(columns={f"x:{name}": name}), name)
        if numeric and name not in categorical:
            design[name] = column.astype(float)
            design[name] /= per if len(levels) > 2 and name not in held else 1.0
            # A number with two values one apart (0 and 1, or 1 and 2) compares two groups: its ratio reads as such.
            pair = len(levels) == 2 and design[name].max() - design[name].min() == 1
            facts[name] = (name, levels[1], levels[0]) if pair else (name, "", "")
            continue
        if len(levels) > 20:
            message = (
                f"The covariate {name!r} has {len(levels)} levels as text; expected at most 20. Is it an "
                "identifier? Leave it out or group its levels."
            )
            raise ValueError(message)
        reference = known_reference(told[name], levels, name) if name in told else likely_control(levels) or levels[0]
        for level in (level for level in levels if level != reference):
            term = f"{name}: {level} vs {reference}"
            design[term] = (labels == level).astype(float)
            facts[term] = (name, level, reference)
            if design[term].sum() < 5:
                warnings.append(f"Only {int(design[term].sum())} rows have {name} = {level}.")
    return design, facts, warnings


def check_roles(covariates, strata, categorical, start, subject, landmark):
    """Raise ValueError when columns of a Cox model contradict each other."""
    if not covariates:
        message = "No covariate was given; name at least one column whose effect on survival is to be estimated."
        raise ValueError(message)
    both = [name for name in covariates if name in strata]
    if both:
        message = (
            f"The column {both[0]!r} is both a covariate and a stratum; choose one: strata adjust for it "
            "without estimating its effect."
        )
        raise ValueError(message)
    stray = [name for name in categorical if name not in covariates]
    if stray:
        message = (
            f"The column {stray[0]!r} in categorical is not among the covariates {', '.join(covariates)}; "
            "add it or drop it."
        )
        raise ValueError(message)
    twice = [name for name in (start, subject) if name and name in (*covariates, *strata)]
    if twice or (start and start == subject):
        message = (
            f"The column {twice[0] if twice else start!r} is the start or the subject and also serves otherwise; "
            "expected different columns."
        )
        raise ValueError(message)
    if start and landmark is not None:
        message = (
            "A landmark was given together with start; rows with a start let a covariate change when it does, so no "
            "landmark is needed. Leave one of them out."
        )
        raise ValueError(message)


def check_rank(design, events, penalizer):
    """Raise ValueError when covariates repeat each other or the events are fewer than the terms."""
    import numpy as np

    centred = design - design.mean()
    if np.linalg.matrix_rank((centred / centred.std()).to_numpy()) < design.shape[1]:
        pairs = centred.corr().abs().to_numpy() - np.eye(design.shape[1])
        first, second = np.unravel_index(np.argmax(pairs), pairs.shape)
        message = (
            f"The covariates repeat each other (such as {design.columns[first]!r} and "
            f"{design.columns[second]!r}), so their effects cannot be told apart. Leave one out."
        )
        raise ValueError(message)
    if events <= design.shape[1] and penalizer == 0:
        message = (
            f"There are {events} events for {design.shape[1]} terms; a Cox model needs more events than "
            "terms, better ten times as many. Use fewer covariates."
        )
        raise ValueError(message)


def robust_covariance(model, frame, strata):
    """Return the covariance of the estimates by subject (Lin and Wei), as an array in the order of the terms."""
    terms = list(model.params_.index)
    groups = frame[strata].astype(str).agg("\t".join, axis=1) if strata else None
    start = frame["start"] if "start" in frame else 0 * frame["time"]
    score, _, _ = cox_residuals(start, frame["time"], frame["event"], frame[terms], model.params_, groups)
    return cluster_covariance(score, model.variance_matrix_.to_numpy(), frame["subject"])


def term_table(model, terms, facts, robust):
    """Return the table of hazard ratios; with a robust covariance its errors, and the model's own beside them."""
    import numpy as np
    import pandas as pd
    from scipy.stats import norm

    summary = model.summary
    coef, own = summary["coef"].to_numpy(dtype=float), summary["se(coef)"].to_numpy(dtype=float)
    error = own if robust is None else np.sqrt(np.diag(robust))
    with np.errstate(over="ignore"):
        low, high = np.exp(coef - 1.959963984540054 * error), np.exp(coef + 1.959963984540054 * error)
    table = pd.DataFrame(
        {"term": [terms[key] for key in summary.index], "coef": coef,
         "hazard_ratio": summary["exp(coef)"].to_numpy(dtype=float), "se": error, "lower_95": low, "upper_95": high,
         "z": coef / error, "p_value": 2 * norm.sf(np.abs(coef / error))}
    )  # fmt: skip
    for position, part in enumerate(("covariate", "level", "reference")):
        table[part] = [facts[term][position] for term in table["term"]]
    return table if robust is None else table.assign(model_se=own)


def hazards_rows(model, frame, strata, terms):
    """Return the rows of the test of proportional hazards."""
    from lifelines.statistics import proportional_hazard_test

    if "start" in frame:
        statistics, p_values = interval_hazards_test(model, frame, strata)
        tested = zip(model.params_.index, statistics, p_values, strict=True)
    else:
        used = frame.drop(columns="subject", errors="ignore")
        found = proportional_hazard_test(model, used, time_transform="km").summary
        tested = ((key[0] if isinstance(key, tuple) else key, item["test_statistic"], item["p"])
                  for key, item in found.iterrows())  # fmt: skip
    return [
        {"diagnostic": "proportional hazards", "term": terms[key], "value": float(statistic), "p_value": float(p),
         "verdict": "violated" if p < 0.05 else "no clear sign of violation"}
        for key, statistic, p in tested
    ]  # fmt: skip


def doubtful_hazards(violated, facts, split):
    """Return the warning that says which hazard ratios are averages over time, and what to do about it."""
    named = ", ".join(f"{term} ({format_p(p)})" for term, p in violated.items())
    kinds = list(dict.fromkeys(facts[term][0] for term in violated if facts[term][1]))
    numbers = list(dict.fromkeys(facts[term][0] for term in violated if not facts[term][1]))
    advice = [f"set strata to {', '.join(kinds)}"] if kinds else []
    advice += [f"cut {', '.join(numbers)} into ranges and set strata to them"] if numbers else []
    return (
        f"Proportional hazards are doubtful for {named}: those hazard ratios are averages over time that depend on the "
        f"length of follow-up. {'Read them before and after the split in over_time; if' if split else 'If'} they are "
        f"only adjusted for, {' and '.join(advice)} (no ratio of their own then)."
    )


def model_rows(model, frame, strata, table, robust):
    """Return the rows of diagnostics of the model as a whole: concordance and the test of all terms together."""
    import numpy as np
    from scipy.stats import chi2

    concordance = float(model.concordance_index_)
    if "start" in frame:
        groups = frame[strata].astype(str).agg("\t".join, axis=1) if strata else None
        lead = frame[list(model.params_.index)] @ model.params_
        concordance = interval_concordance(frame["start"], frame["time"], frame["event"], lead, groups)
    if robust is None:
        ratio = model.log_likelihood_ratio_test()
        name, statistic, p_value = "likelihood ratio test", ratio.test_statistic, ratio.p_value
    else:
        coef = model.params_.to_numpy()
        name, statistic = "Wald test, robust", coef @ np.linalg.pinv(robust) @ coef
        p_value = chi2.sf(statistic, len(coef))
    return [
        {"diagnostic": "concordance", "term": "", "value": concordance, "p_value": np.nan,
         "verdict": "0.5 is chance, 1 is perfect"},
        {"diagnostic": name, "term": "", "value": float(statistic), "p_value": float(p_value),
         "verdict": f"{len(table)} df, all terms together"},
    ]  # fmt: skip


def term_finding(table, row, covariates, n, what, per=1.0):
    """Return the finding of one term: how much higher or lower the hazard is, the ratio, how sure, adjusted for what.

    Args:
        table: the table of terms.
        row: the term's row.
        covariates: all covariates of the model.
        n: rows of the model.
        what: the event as a sentence names it (`died = 1`).
        per: for how many units of a number the ratio is.
    """
    ratio = row["hazard_ratio"]
    size = f"{100 * abs(ratio - 1):.3g} % {'higher' if ratio > 1 else 'lower'}"
    size = f"{ratio:.3g} times as high" if ratio >= 3 else size
    level, reference = called_level(row["level"], row["covariate"]), row["reference"]
    where = f"with {level} than with {reference}" if row["level"] else per_step(row["covariate"], per)
    where = where.replace(" than with ", " as with ") if ratio >= 3 else where
    if row["p_value"] < 0.05:
        text = f"The hazard of {what} was {size} {where}"
    else:
        text = (f"The hazard of {what} was not shown to differ between {level} and {reference}" if row["level"]
                else f"The hazard of {what} was not shown to change {where}")  # fmt: skip
    others = [name for name in covariates if name != row["covariate"]]
    held = f", adjusted for {', '.join(others[:6])}{' and others' if len(others) > 6 else ''}" if others else ""
    unseen = "" if row["p_value"] < 0.05 else left_open(row["lower_95"], row["upper_95"], ratio=True)
    return {
        "text": (
            f"{text}{held}: hazard ratio {ratio:.3g} (95 % interval {row['lower_95']:.3g} to {row['upper_95']:.3g}, "
            f"{format_p(row['p_value'])}){unseen}."
        ),
        "values": [
            {
                "name": "hazard_ratio",
                "value": row["hazard_ratio"],
                "low": row["lower_95"],
                "high": row["upper_95"],
                "n": n,
            },
            {"name": "coef", "value": row["coef"]},
            {"name": "p_value", "value": row["p_value"]},
        ],
        "output": "cox_table",
        "row": table_row(table, term=row["term"]),
    }


def level_tests(model, terms, facts, robust):
    """Return a row of diagnostics for each group of three and more levels: Wald's test of all its terms together."""
    import numpy as np
    from scipy.stats import chi2

    keys = list(model.params_.index)
    covariance = model.variance_matrix_.to_numpy() if robust is None else robust
    rows = []
    for name in dict.fromkeys(facts[term][0] for term in terms.values()):
        at = [number for number, key in enumerate(keys) if facts[terms[key]][0] == name]
        if len(at) > 1:
            beta = model.params_.to_numpy()[at]
            value = float(beta @ np.linalg.pinv(covariance[np.ix_(at, at)]) @ beta)
            rows.append({"diagnostic": "all levels together (Wald)", "term": name, "value": value,
                         "p_value": float(chi2.sf(value, len(at))), "verdict": f"{len(at)} df"})  # fmt: skip
    return rows


def describe_levels(table, row, n, what, held):
    """Return the finding on a group of three and more levels: whether the hazard differs, and each level's ratio."""
    terms = sorted(table[table["covariate"] == row["term"]].to_dict("records"), key=lambda one: -one["hazard_ratio"])
    verdict = "differed" if row["p_value"] < 0.05 else "was not shown to differ"
    listed = [f"{called_level(one['level'], row['term'])} {one['hazard_ratio']:.3g} (95 % CI {one['lower_95']:.3g} to "
              f"{one['upper_95']:.3g})" for one in terms[:6]]  # fmt: skip
    return {
        "text": f"The hazard of {what} {verdict} {between(row['term'])}{held} (Wald test, "
                f"{format_p(row['p_value'])}): against {called_level(terms[0]['reference'], row['term'])} hazard ratio "
                f"{in_a_row(listed)}.",
        "values": [{"name": f"hazard_ratio {one['level']}", "value": one["hazard_ratio"], "low": one["lower_95"],
                    "high": one["upper_95"], "n": n} for one in terms[:6]]
        + [{"name": "p_value", "value": row["p_value"]}],
        "output": "cox_table", "row": {},
    }  # fmt: skip


def ends_of(terms, name):
    """Return the level with the highest hazard and the one with the lowest, each with its ratio to the reference."""
    reference = terms[0]["reference"]
    ratios = sorted([(1.0, reference), *((one["hazard_ratio"], one["level"]) for one in terms)])
    return [
        called_level(level, name) if level == reference else
        f"{called_level(level, name)} ({ratio:.3g} times as high as in {called_level(reference, name)})"
        for ratio, level in (ratios[-1], ratios[0])
    ]  # fmt: skip


def describe_covariates(table, covariates, adjusted, n, what, joint=None):
    """Return the finding on all covariates that are asked about, [] where it is one or one has several levels."""
    asked = [name for name in covariates if name not in adjusted]
    rows = {name: table[table["covariate"] == name].to_dict("records") for name in asked}
    joint = joint or {}
    if len(asked) < 2 or any(len(terms) != 1 and name not in joint for name, terms in rows.items()):
        return []
    parts = [{"name": name, "p": p, "ends": ends_of(rows[name], name)} for name, p in joint.items() if name in asked]
    for name, (row,) in ((name, terms) for name, terms in rows.items() if name not in joint):
        ratio = row["hazard_ratio"]
        size = f"{100 * abs(ratio - 1):.3g} % {'higher' if ratio > 1 else 'lower'}"
        than = "as" if ratio >= 3 else "than"
        level, other = (called_level(row[key], name) for key in ("level", "reference"))
        where = f"in {level} {than} in {other}" if row["level"] else per_step(name)
        parts.append(
            {"name": name, "p": row["p_value"], "size": f"{ratio:.3g} times as high" if ratio >= 3 else size,
             "where": where,
             "interval": f"hazard ratio {ratio:.3g}, 95 % CI {row['lower_95']:.3g} to {row['upper_95']:.3g}"}
        )  # fmt: skip
    values = [{"name": "n_significant", "value": sum(part["p"] < 0.05 for part in parts), "n": n}]
    return [
        {
            "text": several_told(parts, f"The hazard of {what}", "was", held=[n for n in adjusted if n in covariates]),
            "values": values,
            "output": "cox_table",
            "row": {},
        }
    ]


def draw_forest(table):
    """Return a figure of hazard ratios with their intervals on a log scale."""
    import numpy as np
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 1.4 + 0.4 * len(table)), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(table))[::-1]
    finite = table[["hazard_ratio", "lower_95", "upper_95"]].clip(1e-3, 1e3)
    axes.hlines(places, finite["lower_95"], finite["upper_95"], color="#0072B2")
    axes.plot(finite["hazard_ratio"], places, "s", color="#0072B2")
    axes.axvline(1, color="#666666", linestyle="--", linewidth=1)
    axes.set_xscale("log")
    low, high = finite["lower_95"].min(), finite["upper_95"].max()
    steps = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100]
    shown = [step for step in steps if 0.9 * low <= step <= 1.1 * high]
    if 2 <= len(shown) <= 9:
        axes.set_xticks(shown, [f"{step:g}" for step in shown])
        axes.set_xticks([], minor=True)
    axes.set_yticks(places, table["term"])
    axes.set_ylim(-0.6, len(table) - 0.4)
    axes.set_xlabel("hazard ratio with 95 % interval (log scale)")
    return figure
