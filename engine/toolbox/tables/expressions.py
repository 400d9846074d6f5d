"""Conditions and formulas: a small evaluator that knows columns, numbers, texts and a few functions.

Nothing else can run: an expression is parsed, never executed.
"""

from __future__ import annotations

from engine.toolbox.tables.dates import date_values, days_between


def expression_names(text, columns):
    """Return the expression with every `back-quoted column` as a plain name, and what each name stands for."""
    import re

    names = {str(column): str(column) for column in columns}

    def plain(found):
        wanted = found.group(1)
        if wanted not in names:
            raise ValueError(f"There is no column {wanted!r}; the columns are: {', '.join(list(names)[:15])}.")
        names[f"quoted_column_{len(names)}"] = wanted
        return f"quoted_column_{len(names) - 1}"

    parts = re.split(r"('[^']*'|\"[^\"]*\")", text)
    parts[::2] = [re.sub(r"`([^`]+)`", plain, part) for part in parts[::2]]
    return "".join(parts), names


def of_rows(name, arguments, text):
    """Return for each row what the rows give that meet a condition and agree with it in columns.

    `mean_of(weight, day == 0, mouse)` is the mean weight at day 0 of the row's own mouse, `count_of(dead, cage)` how
    many of its cage are dead. Where no such row has a value the result is missing; a count is 0.
    """
    import pandas as pd

    counts = name == "count_of"
    values, (condition, *by) = (None, arguments) if counts else (arguments[0], arguments[1:])
    if not isinstance(condition, pd.Series) or str(condition.dtype) not in ("bool", "boolean"):
        raise ValueError(f"{name} in {text!r} needs a condition that names a column, such as day == 0.")
    if not all(isinstance(column, pd.Series) for column in by):
        raise ValueError(f"{name} in {text!r} takes columns after the condition: those in which rows agree.")
    chosen = condition.fillna(False).astype(bool)
    if counts:
        numbers = chosen.astype(float)
    elif isinstance(values, pd.Series) and pd.api.types.is_numeric_dtype(values) and values.dtype != "boolean":
        numbers = values.astype(float).where(chosen)
    else:
        raise ValueError(f"{name} in {text!r} needs a column of numbers first.")
    keys = [column.reset_index(drop=True).rename(at) for at, column in enumerate(by)]
    grouped = numbers.reset_index(drop=True).groupby(keys or [pd.Series(0, range(len(numbers)))], dropna=True)
    least = {"min_count": 0 if counts else 1} if name in ("count_of", "sum_of") else {}
    found = grouped.transform("sum" if counts else name.removesuffix("_of"), **least)
    return found.set_axis(numbers.index)


def first_of_each(arguments, text):
    """Say of each row that meets a condition whether it comes first of those that agree with it in columns.

    `is_first(visit, drug == 'A', patient)`: the row of the patient's earliest visit, of several at once the one that
    stands first in the table. Rows without a value to order by, or in a column in which they agree, are never first.
    """
    import pandas as pd

    order, condition, *by = arguments
    if not isinstance(condition, pd.Series) or str(condition.dtype) not in ("bool", "boolean"):
        raise ValueError(f"is_first in {text!r} needs a condition that names a column, such as day >= 0.")
    if not isinstance(order, pd.Series) or not by or not all(isinstance(column, pd.Series) for column in by):
        raise ValueError(
            f"is_first in {text!r} takes a column to order by, a condition, and columns in which rows agree."
        )
    values = order if pd.api.types.is_numeric_dtype(order) else date_values(order, order.name)
    place = pd.Series(range(len(order)))
    frame = pd.DataFrame({"order": values.to_numpy(float), **{f"by{at}": column.array for at, column in enumerate(by)}})
    able = frame[condition.fillna(False).astype(bool).to_numpy()].dropna()
    keys = [name for name in frame.columns if name != "order"]
    first = able.assign(place=place).sort_values(["order", "place"]).drop_duplicates(keys)
    return pd.Series(place.isin(first["place"]).to_numpy(), index=order.index, dtype="boolean")


def of_columns(name, arguments, text):
    """Return for each row the sum, mean, least or most of the columns that have a value there, or how many are above 0.

    A row without any value has none of these, and 0 above 0.
    """
    import pandas as pd

    if not all(pd.api.types.is_numeric_dtype(column) for column in arguments):
        raise ValueError(f"{name} in {text!r} needs columns of numbers.")
    table = pd.concat([column.astype(float) for column in arguments], axis=1)
    if name == "count_across":
        return (table > 0).sum(axis=1).astype(float)
    if name == "sum_across":
        return table.sum(axis=1, min_count=1)
    return getattr(table, name.removesuffix("_across"))(axis=1)


def of_text(name, arguments, text):
    """Return a piece of texts (`part(sample, '_', 1)`, from the end with -1), or the one number in each."""
    import pandas as pd

    column = pd.Series(arguments[0]).astype("string").str.removesuffix(".0")
    if name == "number":
        found = column.str.findall(r"[-+]?\d+(?:[.,]\d+)?(?:[eE][-+]?\d+)?")
        single = found.map(lambda every: every[0].replace(",", ".") if len(every) == 1 else None, na_action="ignore")
        return pd.to_numeric(single.astype(object), errors="coerce").astype(float)
    separator, which = arguments[1:]
    if not isinstance(separator, str) or not separator or not isinstance(which, float) or which == 0:
        raise ValueError(
            f"part in {text!r} takes a column, a text in quotes that separates, and a number from 1 or -1."
        )
    at = int(which) - 1 if which > 0 else int(which)
    return column.str.split(separator, regex=False).str.get(at).str.strip().astype(object)


def apply_function(name, arguments, text):
    """Return a function of a column: numeric ones on numbers, text ones on text, is_missing on both."""
    import numpy as np
    import pandas as pd

    numeric = {"log2": np.log2, "log10": np.log10, "log": np.log, "ln": np.log, "sqrt": np.sqrt, "abs": np.abs,
               "exp": np.exp, "round": np.round, "floor": np.floor, "ceil": np.ceil, "log1p": np.log1p}  # fmt: skip
    textual = ("contains", "startswith", "endswith")
    group_names = ("mean_of", "median_of", "sum_of", "min_of", "max_of", "count_of")
    across_names = ("sum_across", "mean_across", "min_across", "max_across", "count_across")
    index = next((part.index for part in arguments if isinstance(part, pd.Series)), None)

    def as_column(value, name):
        return value if isinstance(value, pd.Series) else pd.Series([value] * len(index), index=index, name=name)

    if name in ("is_missing", "isna", "isnull", "notna", "notnull") and len(arguments) == 1:
        missing = pd.Series(arguments[0]).isna().astype("boolean")
        return ~missing if name.startswith("not") else missing
    if name in ("upper", "lower") and len(arguments) == 1:
        return getattr(pd.Series(arguments[0]).astype("string").str, name)().astype(object)
    if name in textual and len(arguments) == 2 and isinstance(arguments[1], str):
        column = pd.Series(arguments[0]).astype("string")
        found = column.str.contains(arguments[1], regex=False) if name == "contains" else None
        return (getattr(column.str, name)(arguments[1]) if found is None else found).astype("boolean")
    if name == "if_else" and len(arguments) == 3 and isinstance(arguments[0], pd.Series):
        chosen = pd.Series(np.where(arguments[0].fillna(False).astype(bool), arguments[1], arguments[2]), dtype=object)
        # Of numbers alone it gives numbers, which can be calculated with.
        return chosen.set_axis(arguments[0].index).where(arguments[0].notna()).infer_objects()
    if name in ("year", "month") and len(arguments) == 1 and index is not None:
        days = pd.to_timedelta(date_values(arguments[0], arguments[0].name), unit="D")
        return getattr((pd.Timestamp("1970-01-01") + days).dt, name).astype(float)
    if name == "days_between" and len(arguments) == 2 and index is not None:
        return days_between(*(as_column(part, str(part)) for part in arguments))
    if name == "join" and len(arguments) in (2, 3) and index is not None and isinstance(arguments[-1], str | pd.Series):
        first, second = (as_column(part, "").astype("string").str.removesuffix(".0") for part in arguments[:2])
        between = arguments[2] if len(arguments) == 3 else " / "
        return (first + between + second).astype(object).rename("join")
    if name in across_names and len(arguments) > 1 and all(isinstance(part, pd.Series) for part in arguments):
        return of_columns(name, arguments, text)
    if name in group_names and len(arguments) > (name != "count_of"):
        return of_rows(name, arguments, text)
    if name == "is_first" and len(arguments) > 2:
        return first_of_each(arguments, text)
    if (name, len(arguments)) in (("part", 3), ("number", 1)) and index is not None:
        return of_text(name, arguments, text)
    if name in numeric and len(arguments) == 1:
        values = arguments[0]
        if not isinstance(values, float | int) and not pd.api.types.is_numeric_dtype(values):
            raise ValueError(f"{name} in {text!r} needs numbers, but was given text. Choose a numeric column.")
        with np.errstate(all="ignore"):
            return numeric[name](values)
    takes = {
        **dict.fromkeys([*numeric, "is_missing", "notna", "upper", "lower"], "a column"),
        **dict.fromkeys(textual, "a column and a text in quotes"),
        "if_else": "a condition and two values or columns",
        "join": "two columns, or a column and a text in quotes, and as third what stands between them (' / ')",
        **dict.fromkeys(["year", "month"], "a column of dates"),
        "part": "a column, a text in quotes that separates pieces, and which piece (1, or -1 for the last)",
        "number": "a column of texts with one number each",
        **dict.fromkeys(group_names[:-1], "a column, a condition, and the columns in which rows agree"),
        "count_of": "a condition, and the columns in which rows agree",
        "is_first": "a column to order by, a condition, and the columns in which rows agree",
        **dict.fromkeys(across_names, "two or more columns of numbers"),
        "days_between": "two columns of dates, or a column and a date in quotes such as '2021-03-31'",
    }
    if name in takes:
        raise ValueError(f"{name} in {text!r} takes {takes[name]}.")
    raise ValueError(f"{name!r} in {text!r} is no function that can be used here; expected one of: {', '.join(takes)}.")


def compare_values(left, operator, right, text):
    """Compare two columns or values; the result is unknown (NA) where either is missing."""
    import operator as operators

    import pandas as pd

    series = [side for side in (left, right) if isinstance(side, pd.Series)]
    if not series:
        raise ValueError(f"A comparison in {text!r} names no column; expected for example: p_value < 0.05.")
    index = series[0].index
    sides = [
        side if isinstance(side, pd.Series) else pd.Series([side] * len(index), index=index) for side in (left, right)
    ]
    numeric = [pd.api.types.is_numeric_dtype(s) or pd.api.types.is_bool_dtype(s) or not s.notna().any() for s in sides]
    if numeric[0] != numeric[1]:
        words = [repr(v) if not isinstance(v, pd.Series) else f"column {v.name!r}" for v in (left, right)]
        kinds = ["numbers" if n else "text" for n in numeric]
        raise ValueError(
            f"{text!r} compares {words[0]} ({kinds[0]}) with {words[1]} ({kinds[1]}); expected the same kind on both "
            "sides. Write texts in quotes and numbers without, and check the column for values that are not numbers."
        )
    known = sides[0].notna() & sides[1].notna()
    result = pd.Series(pd.NA, index=index, dtype="boolean")
    chosen = [side[known] if numeric[0] else side[known].astype(str) for side in sides]
    if known.any():
        run = {"Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge", "Eq": "eq", "NotEq": "ne"}[operator]
        result[known] = getattr(operators, run)(*chosen).astype("boolean")
    return result


def is_member(column, choices, negate, text):
    """Say for every value of a column whether it is one of the choices, unknown where it is missing."""
    import pandas as pd

    if not isinstance(column, pd.Series) or not isinstance(choices, list):
        raise ValueError(f"'in' in {text!r} expects a column and a list, for example: symbol in ['TP53', 'MYC'].")
    texts = not (pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column))
    wrong = [choice for choice in choices if isinstance(choice, str) != texts]
    if wrong and column.notna().any():  # a column without any value is of no kind
        raise ValueError(f"{text!r} looks for {wrong[0]!r} in a column of {'text' if texts else 'numbers'}; expected "
                         f"{'texts in quotes' if texts else 'numbers without quotes'}.")  # fmt: skip
    found = column.isin(choices).astype("boolean")
    found[column.isna()] = pd.NA
    return ~found if negate else found


def calculate(left, operator, right, text):
    """Add, subtract, multiply, divide or raise columns and numbers."""
    import operator as operators

    import numpy as np
    import pandas as pd

    run = {"Add": "add", "Sub": "sub", "Mult": "mul", "Div": "truediv", "Mod": "mod", "Pow": "pow"}.get(operator)
    numeric = [isinstance(v, float | int) or (isinstance(v, pd.Series) and pd.api.types.is_numeric_dtype(v)
               and v.dtype != "boolean") for v in (left, right)]  # fmt: skip
    if run is None or not all(numeric):
        what = "an operator that is not supported" if run is None else "text or a condition where a number is needed"
        raise ValueError(f"{text!r} has {what}; expected + - * / % ** on numeric columns and numbers.")
    try:
        with np.errstate(all="ignore"):
            return getattr(operators, run)(left, right)
    except (OverflowError, ZeroDivisionError) as error:
        raise ValueError(f"{text!r} cannot be calculated ({error}); check its constants.") from None


def evaluate_node(node, table, names, text):
    """Evaluate one part of an expression; anything but columns, constants and known operations raises ValueError."""
    import ast

    import pandas as pd

    def again(part):
        return evaluate_node(part, table, names, text)

    if isinstance(node, ast.Constant) and isinstance(node.value, str | bool):
        return node.value
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.Name):
        if node.id not in names:
            import difflib

            close = difflib.get_close_matches(node.id, list(names), n=1)
            hint = f"Did you mean {close[0]!r}?" if close else f"The columns are: {', '.join(list(names)[:15])}."
            raise ValueError(f"{node.id!r} in {text!r} is no column. {hint} Texts need quotes.")
        column = table[names[node.id]]
        return column.astype(float) if pd.api.types.is_integer_dtype(column) else column
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        if not all(isinstance(part, ast.Constant | ast.UnaryOp) for part in node.elts):
            raise ValueError(f"The list in {text!r} holds something else than texts and numbers.")
        return [again(part) for part in node.elts]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        return calculate(-1.0 if isinstance(node.op, ast.USub) else 1.0, "Mult", again(node.operand), text)
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.BitAnd | ast.BitOr):
        return calculate(again(node.left), type(node.op).__name__, again(node.right), text)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return apply_function(node.func.id, [again(part) for part in node.args], text)
    return evaluate_logic(node, again, text)


def evaluate_logic(node, again, text):
    """Evaluate comparisons, and, or, not with three values: true, false and unknown where data is missing."""
    import ast

    import pandas as pd

    def truth(part):
        value = again(part)
        if isinstance(value, pd.Series) and (value.dtype == "boolean" or pd.api.types.is_bool_dtype(value)):
            return value.astype("boolean")
        raise ValueError(f"A part of {text!r} is not a condition; expected comparisons joined by and, or, not.")

    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
        return ~truth(node.operand)
    if isinstance(node, ast.BoolOp) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr)):
        parts = node.values if isinstance(node, ast.BoolOp) else [node.left, node.right]
        both = isinstance(node.op, ast.And | ast.BitAnd)
        result = truth(parts[0])
        for part in parts[1:]:
            result = (result & truth(part)) if both else (result | truth(part))
        return result
    if isinstance(node, ast.Compare):
        values = [again(part) for part in [node.left, *node.comparators]]
        result = None
        for left, operator, right in zip(values, node.ops, values[1:], strict=False):
            name = type(operator).__name__
            if name in ("In", "NotIn"):
                step = is_member(left, right, name == "NotIn", text)
            elif name in ("Is", "IsNot"):
                raise ValueError(f"{text!r} uses 'is'; expected == or is_missing(column).")
            else:
                step = compare_values(left, name, right, text)
            result = step if result is None else result & step
        return result
    raise ValueError(
        f"{text!r} holds something that is not allowed here; expected columns, numbers, texts in quotes, comparisons, "
        "and/or/not, in [...], arithmetic and functions such as log2, abs, contains."
    )


def evaluate_expression(text, table):
    """Evaluate a condition or formula on a table; raises ValueError with one sentence when it cannot be read."""
    import ast

    if len(text) > 10_000:
        raise ValueError(f"The expression has {len(text)} characters; expected at most 10,000.")
    plain, names = expression_names(text.strip(), table.columns)
    try:
        tree = ast.parse(plain, mode="eval")
        if sum(1 for _ in ast.walk(tree)) > 1000:
            raise ValueError(f"The expression {text[:60]!r}... is too long; expected at most 1,000 parts.")
        return evaluate_node(tree.body, table, names, text)
    except SyntaxError:
        hint = " Use == to compare." if " = " in f" {text} " else " Put column names with spaces in `back quotes`."
        raise ValueError(f"{text!r} cannot be read as an expression.{hint}") from None
