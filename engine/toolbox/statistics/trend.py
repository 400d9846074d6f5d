"""Why apart: over ordered groups a test that knows the order sees a steady rise that a test of any difference misses.

The order is read from the levels' names or given, and always said: a trend over the wrong order is a wrong answer.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.proportions import (
    share_figure,
    share_row,
    tally_shares,
)
from engine.toolbox.tables.columns import (
    complete_rows,
    finding_values,
    format_number,
    format_p,
    label_groups,
    left_open,
    level_labels,
    likely_control,
    new_axes,
    numeric_values,
    order_levels,
    palette,
    pick_level,
    plain_table,
    require_columns,
)
from engine.toolbox.tables.rows import table_row

MOST_GROUPS = 50
"""A trend goes over so many groups."""


@check("trend_direction_consistent")
def trend_direction_consistent(step: StepOutputs) -> Iterator[Issue]:
    """The effect lies in its interval and points the way of z, and one test is recommended."""
    table = step.table("trend") if "trend" in step.files else None
    if table is None:
        return
    if int(table["recommended"].sum()) != 1:
        message = f"{int(table['recommended'].sum())} tests are recommended instead of one."
        yield Issue(code="recommended", severity="error", message=message, where="trend")
    for _, row in table.dropna(subset=["effect", "z"]).iterrows():
        none = 1 if str(row["measure"]).startswith("odds ratio") else 0
        if (row["effect"] - none) * row["z"] < -1e-9:
            message = f"The effect {row['effect']} points the other way than z = {row['z']}."
            yield Issue(code="trend_direction", severity="error", message=message, where="trend")
        if row["effect"] < row["lower_95"] - 1e-12 or row["effect"] > row["upper_95"] + 1e-12:
            message = f"The interval does not contain the effect {row['effect']}."
            yield Issue(code="interval_without_estimate", severity="error", message=message, where="trend")


def roman_value(text):
    """Return the value of a Roman numeral up to XXXIX, or None when the text is none."""
    import re

    if not text or not re.fullmatch(r"x{0,3}(ix|iv|v?i{0,3})", text):
        return None
    digits = [{"i": 1, "v": 5, "x": 10}[letter] for letter in text]
    return sum(-a if a < b else a for a, b in zip(digits, [*digits[1:], 0], strict=True))


def numbered_key(level):
    """Return what a level with a number in its name sorts by and the words beside the number, or None.

    `<50` comes before `50-59`, and `60+` after `60`; of a range the first number counts.
    """
    import re

    text = re.sub(r"(?<=\d)\s*(?:[-–]|to)\s*(?=\d)", " to ", level.casefold())
    number = r"(?:(?<!\w)-)?\d+(?:\.\d+)?"
    numbers = re.findall(number, text)
    if not numbers or len(numbers) > 2:
        return None
    side = -1 if re.search(r"[<≤]|\b(below|under|less)\b", text) else 0
    side = 1 if re.search(r"[>≥+]|\b(above|over|more)\b", text) else side
    words = re.sub(number + r"|[<>≤≥=+\s.,_]|\b(below|under|less|above|over|more|than|to)\b", "", text)
    # Side and count tell a plain number from an open end or a range, which have no number to score by.
    return (float(numbers[0]), side, len(numbers)), words


def roman_key(level):
    """Return what a level with a Roman numeral sorts by (`IIIa` after `III`) and the words before it, or None."""
    import re

    found = re.fullmatch(r"(|.*[\s_.-])([ivx]+|0)([a-d]?\d?)", level.casefold().strip())
    value = 0 if found and found[2] == "0" else roman_value(found[2]) if found else None
    return None if value is None else ((value, found[3]), found[1].strip(" _.-"))


def ladder_key(level):
    """Return the ladder of words that a level stands on and its place, or None."""
    import re

    ladders = (
        (("none", "absent", "negative", "zero", "trace"), ("low", "lowest", "mild", "small", "minor", "slight", "weak"),
         ("medium", "med", "moderate", "mid", "middle", "intermediate"),
         ("high", "highest", "severe", "large", "major", "strong")),
        (("newborn", "infant"), ("child", "juvenile"), ("adolescent", "subadult"), ("young",), ("adult", "mature"),
         ("old", "elderly", "aged")),
        (("early",), ("middle", "mid", "intermediate"), ("late",)),
        (("before", "pre", "baseline"), ("during",), ("after", "post"), ("followup",)),
        (("never",), ("rarely", "seldom"), ("sometimes", "occasionally"), ("often", "frequently"), ("always",)),
        (("never",), ("former", "past", "ex"), ("current",)),
        (("poor", "bad"), ("fair",), ("good",), ("excellent",)),
        (("first",), ("second",), ("third",), ("fourth",), ("fifth",)),
    )  # fmt: skip
    words = re.findall(r"[^\W\d_]+", level.casefold())
    places = {}
    for number, ladder in enumerate(ladders):
        found = [place for place, rung in enumerate(ladder) for word in words if word in rung]
        if len(found) == 1:
            # `very low` lies further out than `low`.
            further = 0.5 if {"very", "extremely"} & set(words) else 0
            places[number] = found[0] + (further if found[0] > (len(ladder) - 1) / 2 else -further)
    return places


def natural_order(levels):
    """Return the levels from lowest to highest and their numbers (None without), or (None, None) when names do not say.

    Understood are numbers (also `Wk0`, `10 mg`, `<50`, `50-59`), Roman numerals and words such as low, medium, high. A
    single control-like level without a number comes first.
    """
    try:
        numbers = {level: float(level) for level in levels}
        return sorted(levels, key=numbers.get), numbers
    except ValueError:
        pass
    control = likely_control(levels)
    for key in (numbered_key, roman_key):
        found = {level: key(level) for level in levels}
        rest = [level for level in levels if found[level] is not None]
        first = [level for level in levels if found[level] is None]
        alike = len({found[level][1] for level in rest}) == 1 and len({found[level][0] for level in rest}) == len(rest)
        if len(rest) > 1 and alike and first in ([], [control]):
            ordered = [*first, *sorted(rest, key=lambda level: found[level][0])]
            single = key is numbered_key and not first and all(found[level][0][1:] == (0, 1) for level in rest)
            return ordered, {level: found[level][0][0] for level in rest} if single else None
    rungs = {level: ladder_key(level) for level in levels}
    for number in range(8):
        rest = [level for level in levels if number in rungs[level]]
        first = [level for level in levels if number not in rungs[level]]
        if len(rest) > 1 and len({rungs[level][number] for level in rest}) == len(rest) and first in ([], [control]):
            return [*first, *sorted(rest, key=lambda level: rungs[level][number])], None
    return None, None


def chosen_order(levels, order, group):
    """Return the levels from lowest to highest, their scores, what the scores are, and warnings."""
    found, numbers = natural_order(levels)
    warnings = []
    if order:
        ordered = list(dict.fromkeys(pick_level(level, levels, group) for level in order))
        left = [level for level in levels if level not in ordered]
        if left:
            warnings.append(f"Left out because the order does not name them: {', '.join(left)} of {group}.")
    elif found is None:
        raise ValueError(
            f"The names of the levels of {group!r} do not say which is lowest: {', '.join(levels[:12])}. Give order, "
            "the levels from lowest to highest."
        )
    else:
        ordered = found
        warnings.append(f"The order taken is {' < '.join(ordered[:12])}{' ...' if len(ordered) > 12 else ''}.")
    if len(ordered) < 2:
        raise ValueError(f"Column {group!r} has the single level {ordered[0]!r}; a trend needs at least two.")
    if len(ordered) > MOST_GROUPS:
        raise ValueError(
            f"Column {group!r} has {len(ordered)} levels; expected at most {MOST_GROUPS}. Use correlation for two "
            "measurements."
        )
    if len(ordered) == 2:
        warnings.append("With two levels a trend is the same as a difference between them.")
    scores = [numbers[level] for level in ordered] if numbers else []
    if scores and scores == sorted(set(scores)):
        return ordered, scores, "the numbers of the levels", warnings
    return ordered, [float(place) for place in range(1, len(ordered) + 1)], "ranks 1, 2, 3 ...", warnings


def kendall_parts(values, place):
    """Return every value's share in Kendall's S, and its numbers of pairs untied in group and in value."""
    import numpy as np

    groups = np.unique(place)
    sorted_values = {g: np.sort(values[place == g]) for g in groups}
    share, everything = np.zeros(len(values)), np.sort(values)
    for g in groups:
        mine = values[place == g]
        for h in groups:
            if h != g:
                lower = np.searchsorted(sorted_values[h], mine, "left")
                higher = len(sorted_values[h]) - np.searchsorted(sorted_values[h], mine, "right")
                share[place == g] += np.sign(h - g) * (higher - lower)
    apart = np.array([(place != g).sum() for g in place])
    same = np.searchsorted(everything, values, "right") - np.searchsorted(everything, values, "left")
    return share, apart, len(values) - same


def jonckheere(values, place):
    """Return the Jonckheere-Terpstra statistic, its z with ties, and Kendall's tau-b with a jackknife interval."""
    import numpy as np
    from scipy.stats import norm

    share, apart, untied = kendall_parts(values, place)
    n, s, pairs, different = len(values), share.sum() / 2, apart.sum() / 2, untied.sum() / 2
    ties = [np.unique(x, return_counts=True)[1].astype(float) for x in (place, values)]
    twos, threes = ([(t * (t - 1)).sum() for t in ties], [(t * (t - 1) * (t - 2)).sum() for t in ties])
    variance = (n * (n - 1) * (2 * n + 5) - sum((t * (t - 1) * (2 * t + 5)).sum() for t in ties)) / 18
    variance += threes[0] * threes[1] / (9 * n * (n - 1) * (n - 2)) + twos[0] * twos[1] / (2 * n * (n - 1))
    z = s / np.sqrt(variance)
    tau = s / np.sqrt(pairs * different)
    with np.errstate(invalid="ignore", divide="ignore"):
        without = (s - share) / np.sqrt((pairs - apart) * (different - untied))
    half = 1.959963984540054 * np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
    return {"statistic": (s + pairs) / 2, "z": float(z), "p_value": float(2 * norm.sf(abs(z))), "effect": float(tau),
            "lower_95": max(-1.0, float(tau - half)), "upper_95": min(1.0, float(tau + half))}  # fmt: skip


def permuted_trend(values, place, seed):
    """Return the two-sided p-value of Jonckheere's test over all ways to deal values to groups, and the kind.

    All of them where there are at most 19,999, else that many random ones.
    """
    import math

    import numpy as np
    from scipy.stats import permutation_test

    samples = [values[place == g] for g in np.unique(place)]
    mask = place[None, np.argsort(place, kind="stable")] > np.sort(place)[:, None]

    def s_statistic(*groups):
        together = np.concatenate(groups)
        return float((np.sign(together[None, :] - together[:, None]) * mask).sum())

    ways = math.factorial(len(values)) // math.prod(math.factorial(len(sample)) for sample in samples)
    result = permutation_test(samples, lambda *groups: abs(s_statistic(*groups)), alternative="greater",
                              n_resamples=19_999, vectorized=False, rng=np.random.default_rng(seed))  # fmt: skip
    return float(result.pvalue), f"exact, all {ways} arrangements" if ways <= 19_999 else "19999 random arrangements"


def odds_slope(events, totals, scores):
    """Return the odds ratio per unit of score with Wald's 95 % interval, nan where events are separated by the score.

    Logistic regression, of which Cochran and Armitage's is the score test: so effect and test agree.
    """
    import numpy as np

    spread = np.ptp(scores)
    design = np.column_stack([np.ones(len(scores)), (scores - np.mean(scores)) / spread])
    beta = np.zeros(2)
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(design @ beta, -500, 500)))
        information = (design * (totals * p * (1 - p))[:, None]).T @ design
        if np.linalg.cond(information) > 1e10:
            return float("nan"), float("nan"), float("nan")
        step = np.linalg.solve(information, design.T @ (events - totals * p))
        beta = beta + step / max(1.0, np.abs(step).max() / 3)
        if np.abs(step).max() < 1e-10:
            half = 1.959963984540054 * np.sqrt(np.linalg.inv(information)[1, 1])
            return tuple(float(np.exp((beta[1] + side * half) / spread)) for side in (0, -1, 1))
    return float("nan"), float("nan"), float("nan")


def cochran_armitage(events, totals, scores):
    """Return Cochran and Armitage's z with the odds ratio per unit of score, and the departure from a straight line."""
    import numpy as np
    from scipy.stats import chi2, norm

    e, n, x = (np.asarray(given, dtype=float) for given in (events, totals, scores))
    share, overall = e / n, e.sum() / n.sum()
    distance = x - (n * x).sum() / n.sum()
    z = (distance * e).sum() / np.sqrt(overall * (1 - overall) * (n * distance**2).sum())
    effect, low, high = odds_slope(e, n, x)
    departure = max(0.0, (n * (share - overall) ** 2).sum() / (overall * (1 - overall)) - z**2)
    free = len(x) - 2
    trend = {"statistic": float(z**2), "z": float(z), "df": 1, "p_value": float(2 * norm.sf(abs(z))), "effect": effect,
             "lower_95": low, "upper_95": high}  # fmt: skip
    return trend, {"test": "departure from a straight line", "statistic": float(departure), "df": free,
                   "p_value": float(chi2.sf(departure, free)) if free else float("nan")}  # fmt: skip


def dealt_trend(events, totals, scores, seed):
    """Return the two-sided p-value of the share's trend over random tables with the same margins."""
    import numpy as np

    n, x = np.asarray(totals, dtype=int), np.asarray(scores, dtype=float)
    expected = sum(events) * (n * x).sum() / n.sum()
    observed = abs((np.asarray(events) * x).sum() - expected)
    rng = np.random.default_rng(seed)
    drawn = rng.multivariate_hypergeometric(n, int(sum(events)), size=19_999, method="marginals")
    far = np.abs(drawn @ x - expected) >= observed - 1e-9 * max(1.0, observed)
    return float((far.sum() + 1) / 20_000)


def numeric_trend(table, value, group, order, seed):
    """Return the tests, the levels' summary, the samples and warnings of a measured value."""
    import numpy as np
    import pandas as pd
    from scipy import stats

    labels, numbers = level_labels(table[group]), numeric_values(table, value)
    levels, _, _, warnings = chosen_order(order_levels(labels), order, group)
    kept = labels.isin(levels)
    place = labels[kept].map({level: number for number, level in enumerate(levels)}).to_numpy(dtype=int)
    values = numbers[kept].to_numpy()
    if np.ptp(values) == 0:
        raise ValueError(f"Every value of {value!r} is the same; there is no trend to look for. Choose another.")
    if len(values) < 4:
        raise ValueError(f"{len(values)} values in {len(levels)} groups cannot show a trend; expected at least 4.")
    tested = jonckheere(values, place)
    ranked = float(stats.spearmanr(values, place).statistic)
    tests = [{"test": "Jonckheere-Terpstra test (normal approximation)", **tested, "spearman_rho": ranked}]
    if len(values) <= 50:
        p_value, kind = permuted_trend(values, place, seed)
        tests.insert(0, tests[0] | {"test": f"Jonckheere-Terpstra test ({kind})", "p_value": p_value})
    samples = [values[place == number] for number in range(len(levels))]
    rows = [{"level": level, "place": number, "n": len(x), "mean": float(x.mean()), "median": float(np.median(x)),
             "q1": float(np.quantile(x, 0.25)), "q3": float(np.quantile(x, 0.75))}
            for number, (level, x) in enumerate(zip(levels, samples, strict=True), start=1)]  # fmt: skip
    steps = np.diff([row["median"] for row in rows]) * np.sign(tested["effect"])
    if (steps < 0).any():
        warnings.append("The medians do not all go one way from level to level: look at the figure.")
    frame = pd.DataFrame(tests).assign(n=len(values), measure="Kendall's tau-b")
    return frame, rows, samples, warnings


def share_trend(sums, group, order, seed):
    """Return the tests, the levels' shares and warnings of a yes/no outcome."""
    import numpy as np
    import pandas as pd

    levels, scores, kind, warnings = chosen_order(order_levels(sums.index), order, group)
    events, totals = sums.loc[levels, "events"].to_numpy(), sums.loc[levels, "total"].to_numpy()
    if not 0 < events.sum() < totals.sum():
        raise ValueError("The event happened to none or to all of the subjects; there is no trend to look for.")
    warnings.append(f"The scores of the levels are {kind}.")
    tested, departure = cochran_armitage(events, totals, scores)
    tests = [{"test": "Cochran-Armitage test (normal approximation)", **tested}]
    share = events.sum() / totals.sum()
    expected = np.concatenate([totals * share, totals * (1 - share)])
    if (expected < 5).mean() > 0.2 or (expected < 1).any():
        p_value = dealt_trend(events, totals, scores, seed)
        tests.insert(0, tests[0] | {"test": "Cochran-Armitage test (19999 random tables)", "p_value": p_value})
        warnings.append(f"{int((expected < 5).sum())} of {expected.size} expected counts are below 5, so the p-value "
                        "of random tables is the one to read.")  # fmt: skip
    rows = [{"level": level, "score": score, **share_row(level, e, n)}
            for level, score, e, n in zip(levels, scores, events, totals, strict=True)]  # fmt: skip
    if len(levels) > 2:
        tests.append(departure)
        if departure["p_value"] < 0.05:
            warnings.append(f"The shares depart from a straight line ({format_p(departure['p_value'])}): one slope "
                            "does not describe them.")  # fmt: skip
    unit = f"unit of {group}" if kind.startswith("the numbers") else "level"
    return pd.DataFrame(tests).assign(n=int(totals.sum()), measure=f"odds ratio per {unit}"), rows, warnings


def value_figure(rows, samples, value, group):
    """Draw every value by ordered level, with the medians joined."""
    import numpy as np

    figure, axis = new_axes(width=max(4.5, min(14, 0.8 * len(rows) + 2.5)))
    rng, colours = np.random.default_rng(0), palette(2)
    for number, sample in enumerate(samples):
        axis.scatter(number + rng.uniform(-0.15, 0.15, len(sample)), sample, s=14, color=colours[0], alpha=0.6)
    axis.plot(range(len(rows)), [row["median"] for row in rows], "D-", color=colours[1], label="median")
    label_groups(axis, [f"{row['level']} (n = {row['n']})" for row in rows])
    axis.legend(frameon=False)
    axis.set_xlabel(group)
    axis.set_ylabel(value)
    return figure


def trend_findings(frame, rows, levels, what, group, alpha, key):
    """Return the findings: the trend with its test and effect, and the lowest and highest level."""
    import math

    best = frame.iloc[0]
    order = " < ".join(row["level"] for row in rows) if len(rows) <= 8 else f"{rows[0]['level']} to {rows[-1]['level']}"
    clear, measure, unseen = best["p_value"] < alpha, best["measure"], ""
    effect, low, high = best["effect"], best["lower_95"], best["upper_95"]
    if key == "share" and "score" in rows[0] and measure.endswith(f"unit of {group}"):
        # Per unit of a dose a ratio is hardly told from 1: over all doses it is.
        reach = rows[-1]["score"] - rows[0]["score"]
        effect, low, high = (
            end**reach if abs(reach * math.log(end)) < 600 else math.nan for end in (effect, low, high)
        )
        measure = f"odds ratio of {rows[-1]['level']} against {rows[0]['level']} on the line of the trend"
    size = f"{measure} {format_number(effect)} (95 % CI {format_number(low)} to {format_number(high)})"
    if best["effect"] != best["effect"]:
        size = f"no {best['measure']}, as {group} parts those with the event from the others completely"
    elif not clear and key == "share":
        unseen = left_open(low, high, ratio=True, what="odds")
        unseen = f"{unseen} at {rows[-1]['level']} than at {rows[0]['level']}" if unseen else ""
    elif not clear:
        unseen = f"; the data are compatible with a tau-b from {format_number(low)} to {format_number(high)}"
    verb = ("rises" if best["z"] > 0 else "falls") if clear else "is not shown to rise or fall"
    ends = [f"{format_number(row['median'])}" if key == "median" else f"{100 * row['share']:.1f} %"
            for row in (rows[0], rows[-1])]  # fmt: skip
    first = f"{'from' if clear else 'it is'} {'a median of ' if key == 'median' else ''}{ends[0]}"
    middle = [f"{format_number(row['median'])}" if key == "median" else f"{100 * row['share']:.1f} %"
              for row in rows[1:-1]] if len(rows) <= 6 else []  # fmt: skip
    between = [f"{shown} at {row['level']}" for shown, row in zip(middle, rows[1:-1], strict=False)]
    through = f" ({', '.join(between)})" if between else ""
    ends = f"{first} at {rows[0]['level']} {'to' if clear else 'and'} {ends[1]} at {rows[-1]['level']}{through}"
    findings = [
        {"text": f"{what} {verb} over {group} ({order}; n = {best['n']}){', ' if clear else '; '}{ends}: {size}, "
                 f"{format_p(best['p_value'])} ({best['test']}){unseen}.",
         "values": finding_values(effect=(best["effect"], best["lower_95"], best["upper_95"]), z=best["z"],
                                  p_value=best["p_value"], n=best["n"], spearman_rho=best.get("spearman_rho")),
         "output": "trend", "row": {"test": best["test"]}}
    ]  # fmt: skip
    for row in (rows[0], rows[-1]):
        shown = f"median {format_number(row['median'])}" if key == "median" else f"{100 * row['share']:.1f} %"
        size = row["n"] if key == "median" else row["total"]
        findings.append({"text": f"{what} at {group} = {row['level']}: {shown} (n = {size}).",
                         "values": finding_values(**{key: row[key]}), "output": "levels",
                         "row": table_row(levels, level=row["level"])})  # fmt: skip
    return findings


def is_yes_no(column):
    """Say whether a column holds two states: truth values, 0 and 1, or two names."""
    levels = order_levels(level_labels(column))
    if set(levels) <= {"0", "1"}:
        return True
    try:
        return not [float(level) for level in levels]
    except ValueError:
        return len(levels) <= 2


@tool(
    name="trend_test",
    title="Trend over ordered groups",
    description=(
        "Test whether a measurement or a share rises or falls steadily over ordered groups (doses, stages, weeks). A "
        "measurement: the Jonckheere-Terpstra test with ties, by permutation up to 50 values, with Kendall's tau-b and "
        "a jackknife interval. A yes/no outcome, or columns of events and totals: the Cochran-Armitage test with the "
        "levels' numbers or ranks as scores, by random tables when counts are small, with the share of every level, "
        "the odds ratio per unit and the departure from a straight line. Two-sided; rows are independent subjects."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "events => Cochran-Armitage test for trend, because the groups have an order and the outcome is "
        "counts out of totals",
        "event_value => Cochran-Armitage test for trend, because the groups have an order and the outcome is yes or no",
        "value~number|share|count => Jonckheere-Terpstra test for trend, because the groups have an order "
        "and the outcome is measured",
        "Jonckheere-Terpstra test for a measurement, Cochran-Armitage for a yes/no outcome, because the "
        "groups have an order",
    ),
    complete=("group", "value", "not events"),
    answers=["trend_test"],
    inputs={"table": "table: one row a subject, or rows of events and totals"},
    outputs={
        "trend": "table: test, z, p-value and effect; the recommended test first",
        "levels": "table: the levels in their order with median or share",
        "trend_plot": "figure: values or shares by level",
    },
    params={
        "value": param("The measurement, or a yes/no column", kind="column", of="table", role="response", needed=True),
        "event_value": param(
            "The level of a yes/no value that is the event", kind="level", of="value", role="event_if_binary"
        ),
        "events": param(
            "Column of counted events, when the table is tallied",
            kind="column",
            of="table",
            role="part",
            instead_of=["value", "event_value"],
        ),
        "total": param(
            "Column of totals that the events are part of",
            kind="column",
            of="table",
            role="total",
            instead_of=["value", "event_value"],
        ),
        "group": param("The ordered groups", kind="column", of="table", role="ordered", distinct=MOST_GROUPS),
        "order": param("The levels from lowest to highest; empty to read it from their names", kind="texts", role=""),
        "alpha": param("P-value below which a trend is reported", minimum=1e-10, maximum=0.5),
        "seed": param("Seed of the random arrangements", minimum=0),
    },
    checks=(
        "tables_not_empty",
        "p_values_valid",
        "findings_match_tables",
        "shares_match_counts",
        "trend_direction_consistent",
    ),
    keywords=(
        "trend",
        "dose-dependent",
        "increases with",
        "decreases with",
        "ordered groups",
        "ordinal",
        "Jonckheere-Terpstra",
        "Cochran-Armitage",
        "rises over stages",
        "monotonic",
        "linear trend",
        "p for trend",
        "gradient",
        "with increasing dose",
        "severity",
        "over the weeks",
    ),
    citations=(
        Citation(
            title="A distribution-free k-sample test against ordered alternatives",
            authors="Jonckheere AR",
            year=1954,
            doi="10.1093/biomet/41.1-2.133",
        ),
        Citation(
            title="Some methods for strengthening the common chi-squared tests",
            authors="Cochran WG",
            year=1954,
            doi="10.2307/3001616",
        ),
        Citation(
            title="Tests for linear trends in proportions and frequencies",
            authors="Armitage P",
            year=1955,
            doi="10.2307/3001775",
        ),
    ),
    packages=("scipy", "numpy", "pandas"),
    seconds=3.0,
    example="Does the marker rise with tumour stage?",
    next_steps=(
        NextStep(
            text="A trend does not say between which levels of {param:group} the change lies: compare the levels "
            "with a control (compare_groups).",
            needs_param="value",
            unless_tool="compare_groups",
            after="found",
        ),
    ),
)
def trend_test(
    table,
    *,
    group: str,
    value: str = "",
    event_value: str = "",
    events: str = "",
    total: str = "",
    order: list[str] = [],  # noqa: B006 - a plain default, never changed
    alpha: float = 0.05,
    seed: int = 1,
):
    """Test for a trend over ordered groups."""
    import pandas as pd

    if not (value or events or total):
        raise ValueError("Nothing to follow was named; expected a value column, or columns of events and totals.")
    if value and value == group:
        raise ValueError(f"{value!r} is both the value and the groups; expected different columns.")
    table = plain_table(table)
    require_columns(table, [name for name in (value, group) if name])
    if events or total or event_value or is_yes_no(table[value]):
        sums, what, warnings = tally_shares(table, value, event_value, events, total, group)
        frame, rows, notes = share_trend(sums, group, order, seed)
        figure = share_figure(rows, what, group, joined=True)
        what, key = f"The share of {what}", "share"
        levels = pd.DataFrame(rows).drop(columns="group")
    else:
        table, warnings = complete_rows(table, [value, group])
        frame, rows, samples, notes = numeric_trend(table, value, group, order, seed)
        what, key = value, "median"
        figure, levels = value_figure(rows, samples, value, group), pd.DataFrame(rows)
    frame["recommended"] = frame.index == 0
    wanted = ["test", "statistic", "df", "z", "p_value", "n", "measure", "effect", "lower_95", "upper_95",
              "spearman_rho", "recommended"]  # fmt: skip
    return {
        "trend": frame[[name for name in wanted if name in frame]],
        "levels": levels,
        "trend_plot": figure,
        "findings": trend_findings(frame, rows, levels, what, group, alpha, key),
        "warnings": warnings + notes,
    }
