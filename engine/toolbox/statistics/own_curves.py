"""Why apart: a formula that a person writes is parsed, never run, and brings no starting values of its own.

What can be read is arithmetic of numbers, the parameters, x and a few functions. Parameters that enter linearly are
solved for exactly, the others are started from many places of the scale of the data, so that nobody has to guess.
"""

from __future__ import annotations

_FUNCTIONS = r"(?:exp|log10|log2|log|ln|sqrt|abs|sin|cos|tan|tanh|sinh|cosh|arctan|atan|pow)"
_ATOM = r"(?>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|[A-Za-z_]\w*)"
_OPERATOR = r"\s*(?:\*\*|[-+*/^·×])\s*"
_SIGN = r"(?:[-+]\s*)?"
_SIDE_BY_SIDE = rf"\s*(?={_FUNCTIONS}\s*\()|\s+(?=[A-Za-z]\b(?!['’]|\s*[=<>]))"
"""A product without a sign, which only a formula after an equals sign or in parentheses can have: `a exp(-b x)`."""

_NAMED = r"\s+(?=[A-Za-z]\w*\s*[-+*/^)])"
"""Inside parentheses the second of such a product may be a name: `(1 + b hours)`."""


def _term(depth):
    """Return the pattern of one term of a formula, parentheses nested up to `depth` deep."""
    term = _ATOM
    for _ in range(depth):
        inner = rf"{_SIGN}{term}(?:(?:{_OPERATOR}|{_SIDE_BY_SIDE}|{_NAMED}|\s*(?=\()){_SIGN}{term})*"
        term = rf"(?>(?:[A-Za-z_]\w*\s*)?\(\s*{inner}(?:\s*,\s*{inner})?\s*\)|{_ATOM})"
    return term


_TERM = _term(3)  # the pattern grows fourfold a level: at 4 it took 10 s to compile in every process, at 3 it takes 2 s
_LOOSE = rf"{_SIGN}{_TERM}(?:(?:{_OPERATOR}|{_SIDE_BY_SIDE}){_SIGN}{_TERM})+"
_TERMS = rf"{_SIGN}{_TERM}(?:{_OPERATOR}{_SIGN}{_TERM})*"
_REST = rf"(?:{_OPERATOR}{_TERMS})?"
FORMULA_SAID = [
    rf"(?:(?<=[=~])|(?<=[=~]\s))\s*(?P<value>{_LOOSE}(?:[-+*/^(]+[^\s,;?!]*)?)",
    rf"(?<![\w.)])(?P<value>{_TERMS}\s*(?:\*\*|[*^·×])\s*{_TERMS})",
    rf"(?<![\w.)])(?P<value>(?:{_TERMS}{_OPERATOR})?{_FUNCTIONS}\(\s*{_TERMS}\s*\){_REST})",
    rf"(?<![\w.)])(?P<value>[A-Za-z]\d?\(\s*{_SIGN}{_TERM}{_OPERATOR}{_TERMS}\s*\){_REST})",
    rf"(?<![\w.)])(?P<value>{_TERMS}\s*/\s*\(\s*{_TERMS}\s*\){_REST})",
]
"""How a formula stands in a question: after an equals sign, or with a product, a power, a function or a quotient."""


def read_formula(text, x, columns):
    """Return a formula as a tree, the name of x in it and the names of its parameters in their order.

    Args:
        text: for example `a*(1 - exp(-b*x))`, `y = Vmax*conc/(Km + conc)`; `^` is a power.
        x: name of the column that the curve runs along; in the formula it is called so, x or t.
        columns: names of all columns, none of which but x may be in the formula.

    Raises:
        ValueError: naming what cannot be read.
    """
    import ast
    import re

    body = re.split(r"[=~]", text, maxsplit=1)[-1].strip()
    example = "expected arithmetic of parameters and x, for example a*(1 - exp(-b*x))"
    if not body or len(body) > 300:
        raise ValueError(f"The formula {text[:60]!r} is {'empty' if not body else 'too long'}; {example}.")
    plain = re.sub(r"\^", "**", body.replace("·", "*").replace("×", "*").replace("−", "-"))
    functions = ("exp", "log", "ln", "log10", "log2", "sqrt", "abs", "sin", "cos", "tan", "tanh", "sinh", "cosh",
                 "arctan", "atan", "pow")  # fmt: skip
    names = {re.sub(r"\W+", "_", str(name)): str(name) for name in columns}
    if x in plain and re.search(r"\W", x):
        plain = plain.replace(x, re.sub(r"\W+", "_", x))
    alone = "".join(sorted(set(re.findall(r"\b[xt]\b", plain)))) or "xt"

    def together(found):
        if found["pair"] in names:
            return found[0]  # the column dt is no product
        first, second = re.fullmatch(r"(\d+(?:\.\d+)?|[a-z])(\w+)", found["pair"]).groups()
        second = re.sub(rf"^([a-z])([{alone}])$", r"\1*\2", second)  # 2kt
        return f"{found['sign']}({first}*{second}{found['power']})"

    pair = rf"(?P<pair>\d+(?:\.\d+)?[A-DF-Za-df-z_]\w*|[a-z][{alone}])\b(?!\s*\()(?P<power>(?:\*\*\w+(?:\.\d+)?)?)"
    plain = re.sub(rf"(?:(?<=/)|(?<=\*\*))(?P<sign>\s*[-+]?\s*){pair}", together, plain)  # /2s^2, e^-kt
    below = re.search(r"/\s*(\w+(?:\.\d+)?|\([^()]*\))(?:\*\*\w+)?(?:\s+(?=[\w(])|(?=\())", plain)
    if below and below[1].lower() not in functions:
        raise ValueError(f"The formula {text!r} leaves open what / divides by: only {below[1]}, or the whole product "
                         "after it. Write / (a * b), or * where the product ends.")  # fmt: skip
    plain = re.sub(r"(?<![\w.])(\d+(?:\.\d+)?)\s*(?=[A-DF-Za-df-z_(])", r"\1*", plain)  # 2x, 3(a + b)
    plain = re.sub(r"\b([A-Za-z]\d?)\(", r"\1*(", plain)  # a(1 - b)
    plain = re.sub(rf"\b(?P<pair>[a-z][{alone}])\b(?P<power>)(?P<sign>)", together, plain)  # exp(-bx)
    plain = re.sub(r"(?<=[\w)])\s+(?=[\w(])|(?<=\))(?=[\w(])", "*", plain)  # a exp(-b x)
    for name in functions:
        plain = re.sub(rf"\b{name}\*\(", f"{name}(", plain, flags=re.IGNORECASE)
    try:
        tree = ast.parse(plain, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"The formula {text!r} cannot be read; {example}.") from None
    found = []

    def walk(node, depth):
        if depth > 40:
            raise ValueError(f"The formula {text[:60]!r} is nested too deep; {example}.")
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return ("number", float(node.value))
        if isinstance(node, ast.Name):
            found.append(node.id)
            return ("name", node.id)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            return ("USub" if isinstance(node.op, ast.USub) else "UAdd", walk(node.operand, depth + 1))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div | ast.Pow):
            if isinstance(node.op, ast.Pow) and isinstance(node.left, ast.Name) and node.left.id == "e":
                return ("exp", walk(node.right, depth + 1))
            return (type(node.op).__name__, walk(node.left, depth + 1), walk(node.right, depth + 1))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name, count = node.func.id.lower(), len(node.args)
            if name not in functions:
                known = ", ".join(functions)
                raise ValueError(f"{node.func.id!r} in the formula {text!r} is no function that can be used here; "
                                 f"expected one of: {known}. A product is written with *.")  # fmt: skip
            if count != (2 if name == "pow" else 1) or node.keywords:
                raise ValueError(f"{name} in the formula {text!r} has {count} arguments; expected "
                                 f"{2 if name == 'pow' else 1}.")  # fmt: skip
            return ("Pow" if name == "pow" else name, *(walk(part, depth + 1) for part in node.args))
        piece = ast.get_source_segment(plain, node) or type(node).__name__
        raise ValueError(f"{piece[:40]!r} in the formula {text!r} is nothing that can be fitted; {example}.")

    tree = walk(tree, 0)
    used = list(dict.fromkeys(found))
    own = [name for name in used if names.get(name) == x]
    alike = own or [name for name in used if name.casefold() == re.sub(r"\W+", "_", x).casefold()]
    across = alike or [name for name in used if name in ("x", "X")] or [name for name in used if name in ("t", "T")]
    if not across:
        raise ValueError(f"The formula {text!r} does not contain {x!r} or x; write what the curve runs along as x.")
    others = [name for name in used if name != across[0] and name in names and len(name) > 1]
    if others:
        raise ValueError(f"The formula {text!r} contains the column {names[others[0]]!r} beside {x!r}; a curve runs "
                         "along one column, and all other names are parameters.")  # fmt: skip
    letters = [name for name in used if name != across[0] and name != "pi"]
    if not 1 <= len(letters) <= 8:
        raise ValueError(f"The formula {text!r} has {len(letters)} parameters ({', '.join(letters)}); expected 1 to "
                         "8.")  # fmt: skip
    return tree, across[0], letters


def formula_value(tree, values):
    """Return the value of a formula for name -> number or array; NaN or infinite where it has none."""
    import math
    import operator

    import numpy as np

    kind = tree[0]
    if kind == "number":
        return tree[1]
    if kind == "name":
        return math.pi if tree[1] == "pi" and "pi" not in values else values[tree[1]]
    parts = [np.asarray(formula_value(part, values), dtype=float) for part in tree[1:]]
    run = {"Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": np.divide, "Pow": np.power,
           "USub": operator.neg, "UAdd": operator.pos, "ln": np.log, "atan": np.arctan}  # fmt: skip
    with np.errstate(all="ignore"):
        return run[kind](*parts) if kind in run else getattr(np, kind)(*parts)


def linear_parameters(value, count, x, rng):
    """Return the places of parameters in which a curve is linear, all of them at once, given the others.

    Args:
        value: function of x and parameters.
        count: how many parameters there are.
        x: where the curve is tried.
        rng: generator of the places where linearity is tried.
    """
    import numpy as np

    def straight(places):
        tried = 0
        for _ in range(12):
            base = rng.uniform(0.2, 1.5, count)
            u, v = (np.where(np.isin(range(count), places), rng.uniform(-2, 2, count), base) for _ in range(2))
            zero = np.where(np.isin(range(count), places), 0.0, base)
            both = np.where(np.isin(range(count), places), u + v, base)
            with np.errstate(all="ignore"):
                at = [np.asarray(value(x, p), dtype=float) * np.ones(len(x)) for p in (u, v, both, zero)]
            if not all(np.isfinite(part).all() for part in at):
                continue
            tried += 1
            size = max(float(np.abs(part).max()) for part in at) + 1e-300
            if np.abs(at[0] + at[1] - at[2] - at[3]).max() > 1e-8 * size:
                return False
        return tried > 0

    chosen = []
    for place in range(count):
        if straight([*chosen, place]):
            chosen.append(place)
    return chosen


def fit_formula(tree, across, letters, x, y):
    """Return the least-squares fit of a formula (parameters, covariance, sum of squares), or None when there is none.

    Args:
        tree: the formula as `read_formula` gives it.
        across: what x is called in it.
        letters: the names of its parameters.
        x: numbers along the curve.
        y: the measurements.
    """
    import warnings

    import numpy as np
    from scipy.optimize import curve_fit

    count = len(letters)
    if len(y) <= count:
        return None

    def value(v, p):
        return formula_value(tree, {across: np.asarray(v, dtype=float), **dict(zip(letters, p, strict=True))})

    rng = np.random.default_rng(0)
    sizes = np.abs(x[x != 0])
    low, middle, top = (float(q) for q in np.quantile(sizes if len(sizes) else [1.0], (0.0, 0.5, 1.0)))
    tall = float(np.abs(y).max()) or 1.0
    scales = np.array([1.0, 1 / top, 1 / middle, 1 / low, middle, top, low, tall, tall / top, 1.0])
    linear = linear_parameters(value, count, x / top if top else x, rng)
    starts = []
    for number in range(600):
        factor = np.exp(rng.normal(0, 1.2, count)) * np.where(rng.random(count) < 0.3, -1, 1)
        start = scales[rng.integers(0, len(scales), count)] * factor
        if number < 4:
            start = np.full(count, (1.0, 0.1, -1.0, tall)[number])
        with np.errstate(all="ignore"):
            if linear:
                base = np.where(np.isin(range(count), linear), 0.0, start)
                zero = np.asarray(value(x, base), dtype=float) * np.ones(len(x))
                columns = [np.asarray(value(x, np.where(np.arange(count) == j, 1.0, base))) - zero for j in linear]
                design = np.column_stack([column * np.ones(len(x)) for column in columns])
                if not (np.isfinite(design).all() and np.isfinite(zero).all()):
                    continue
                start[linear] = np.linalg.lstsq(design, y - zero, rcond=None)[0]
            rss = float(((y - value(x, start)) ** 2).sum())
        if np.isfinite(rss):
            starts.append((rss, start))
        if len(linear) == count:
            break
    best = None
    for _, start in sorted(starts, key=lambda item: item[0])[:15]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found, covariance = curve_fit(lambda v, *p: value(v, p), x, y, p0=start, maxfev=4000, xtol=1e-12,
                                              ftol=1e-12)  # fmt: skip
        except (RuntimeError, ValueError, TypeError):
            continue
        rss = float(((y - value(x, found)) ** 2).sum())
        if np.isfinite(rss) and (best is None or rss < best["rss"] * (1 - 1e-10)):
            best = {"parameters": found, "covariance": covariance, "rss": rss, "value": value}
    return best


def undetermined_parameters(fit, x, letters):
    """Return the parameters of a fit that can change together without the curve changing; empty where all are fixed."""
    import numpy as np

    p = np.asarray(fit["parameters"], dtype=float)
    steps = 1e-6 * np.maximum(np.abs(p), 1e-6)
    moved = [fit["value"](x, p + np.eye(len(p))[j] * steps[j]) - fit["value"](x, p - np.eye(len(p))[j] * steps[j])
             for j in range(len(p))]  # fmt: skip
    slopes = np.column_stack([part / (2 * step) * np.ones(len(x)) for part, step in zip(moved, steps, strict=True)])
    if not np.isfinite(slopes).all():
        return list(letters)
    sizes = np.linalg.norm(slopes, axis=0)
    flat = [letter for letter, size in zip(letters, sizes, strict=True) if size == 0]
    if flat:
        return flat
    _, singular, turned = np.linalg.svd(slopes / sizes, full_matrices=False)
    if singular[-1] > 1e-7 * singular[0]:
        return []
    return [letter for letter, share in zip(letters, np.abs(turned[-1]), strict=True) if share > 0.05]
