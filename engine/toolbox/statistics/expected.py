"""What a fitted model expects at values that are named: means and chances with intervals, and the span of a new one."""

from __future__ import annotations

from engine.toolbox.tables.columns import finding_values, format_number, in_a_row, numeric_values


def given_values(at, predictors):
    """Return predictor -> values of texts such as `age=60`, in their order; an unknown name raises ValueError."""
    found = {}
    for text in at:
        name, sign, value = text.rpartition("=")
        name, value = name.strip(), value.strip()
        if not sign or name not in predictors:
            raise ValueError(f"{text!r} names no predictor with its value; expected one of {', '.join(predictors)}, "
                             f"as in '{predictors[0]}=1'.")  # fmt: skip
        found[name] = list(dict.fromkeys([*found.get(name, []), value]))
    return found


def same_number(one, other):
    """Say whether two texts are one number written in two ways."""
    try:
        return float(one) == float(other)
    except ValueError:
        return False


def block_at(name, value, design, table, columns, levels):
    """Return the cells of a predictor's columns at a value, and a warning where the data do not reach there."""
    alike = [level for level in levels.get(name, ()) if level == value or same_number(level, value)]
    if name in levels and columns != [name]:
        if not alike:
            raise ValueError(f"{name} has no level {value!r}; it has {', '.join(levels[name][:8])}.")
        return [float(term.startswith(f"{name}[{alike[0]} vs ")) for term in columns], ""
    numbers = numeric_values(table, name)
    try:
        number = float(value)
    except ValueError:
        raise ValueError(f"{name} is a number; {value!r} is none.") from None
    step = float(numbers.abs().sum() / design[name].abs().sum())
    low, high = float(numbers.min()), float(numbers.max())
    beyond = "" if low <= number <= high else (
        f"{name} {format_number(number)} lies outside the data ({format_number(low)} to {format_number(high)}): "
        "what is expected there rests on the model alone.")  # fmt: skip
    return [number / step], beyond


def expected_at(design, effects, products, settings, model):
    """Return (estimate, lower, upper, ends of a single new one or None) with predictors set, the others as they are.

    Args:
        design: rows x columns of the model.
        effects: predictor -> its columns.
        products: column of an interaction -> the two columns it multiplies.
        settings: predictor -> the cells of its columns.
        model: `beta`, `covariance`, `df`, `scale` (mean or probability) and, of means, `mse`.
    """
    import numpy as np
    from scipy import stats

    rows = design.copy()
    for name, cells in settings.items():
        rows[effects[name]] = cells
    for column, (a, b) in products.items():
        rows[column] = rows[a] * rows[b]
    x, beta, covariance = rows.to_numpy(dtype=float), model["beta"], model["covariance"]
    critical = stats.t.ppf(0.975, model["df"]) if np.isfinite(model["df"]) else stats.norm.ppf(0.975)
    if model["scale"] == "mean":
        row = x.mean(axis=0)
        estimate, variance = float(row @ beta), float(row @ covariance @ row)
        half, new = critical * np.sqrt(variance), critical * np.sqrt(variance + model["mse"])
        alone = len(settings) == len([name for name in effects if not {*effects[name]} <= {*products}])
        single = (estimate - float(new), estimate + float(new)) if alone else None
        return estimate, estimate - float(half), estimate + float(half), single
    chance = 1 / (1 + np.exp(-(x @ beta)))
    slope = (chance * (1 - chance)) @ x / len(x)  # the delta method, on the logit of the averaged chance
    mean = float(chance.mean())
    half = critical * np.sqrt(float(slope @ covariance @ slope)) / (mean * (1 - mean))
    logit = np.log(mean / (1 - mean))
    return mean, *(float(1 / (1 + np.exp(-end))) for end in (logit - half, logit + half)), None


def expected_finding(rows, told, combos, held, others, scale, outcome):
    """Return the sentence on what is expected, the values of the first row beside it."""

    def size(value):
        return f"{100 * value:.3g} %" if scale == "probability" else format_number(value)

    parts = []
    for row, combo in zip(rows, combos, strict=True):
        own = "".join(f" {'at' if name in held else 'with'} {name} {value}" for name, value in combo.items())
        single = "" if row["new_lower_95"] is None else (
            f"; a single one between {size(row['new_lower_95'])} and {size(row['new_upper_95'])}")  # fmt: skip
        parts.append(
            f"{size(row['expected'])}{own} (95 % CI {size(row['lower_95'])} to {size(row['upper_95'])}{single})"
        )
    where = ", ".join(f"{name} {value}" for name, value in told.items())
    averaged = f", averaged over {in_a_row(others)}" if others else ""
    what = f"the chance of {outcome}" if scale == "probability" else outcome
    first = rows[0]
    start = f"At {where} {what}" if told else what[:1].upper() + what[1:]
    text = f"{start} is expected to be {in_a_row(parts)}{averaged}."
    return {"text": text,
            "values": finding_values(expected=(first["expected"], first["lower_95"], first["upper_95"])),
            "output": "expected", "row": {"at": first["at"]}}  # fmt: skip


def expected_values(design, table, effects, products, levels, at, model, outcome):
    """Return the table of what is expected, its finding and warnings.

    Predictors that are not named keep the values of the data, over which the expectation is averaged, but for factors:
    of up to six combinations of their levels each has a row.
    """
    from itertools import product

    import numpy as np

    main = [name for name in effects if not {*effects[name]} <= {*products}]
    given, warnings = given_values(at, main), []
    cells = {}
    for name, values in given.items():
        for value in values:
            cells[name, value], beyond = block_at(name, value, design, table, effects[name], levels)
            warnings += [beyond] if beyond else []
    told = {name: values[0] for name, values in given.items() if len(values) == 1}
    free = {name: levels[name] for name in main if name in levels and name not in given}
    open_to = {name: values for name, values in given.items() if name not in told}
    several = open_to | (free if np.prod([len(values) for values in free.values()]) <= 6 else {})
    combos = [dict(zip(several, chosen, strict=True)) for chosen in product(*several.values())]
    rows = []
    for combo in combos:
        own = {
            name: cells.get((name, value)) or block_at(name, value, design, table, effects[name], levels)[0]
            for name, value in (told | combo).items()
        }
        estimate, low, high, single = expected_at(design, effects, products, own, model)
        where = ", ".join(f"{name} {value}" for name, value in (told | combo).items())
        ends = dict(zip(("new_lower_95", "new_upper_95"), single or (None, None), strict=True))
        rows.append({"at": where, "expected": estimate, "lower_95": low, "upper_95": high} | ends)
    others = [name for name in main if name not in told | combos[0]]
    return rows, expected_finding(rows, told, combos, open_to, others, model["scale"], outcome), warnings
