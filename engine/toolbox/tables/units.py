"""Why units are converted by dimension: a factor typed by hand is wrong once and then everywhere.

A unit is read, in the many ways people write it, into pint's factor to SI and its dimensions; only units of one
dimension convert, mass and amount only through a molar mass that the user gives. The old column stays.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import (
    finding_values,
    format_number,
    numeric_values,
    plain_table,
    require_columns,
)


@check("conversion_is_the_factor")
def conversion_is_the_factor(step: StepOutputs) -> Iterator[Issue]:
    """Every converted value is the old one times the factor plus the offset, up to the decimals asked for."""
    table, decimals = step.table("converted"), int(step.params.get("decimals", -1))
    for used in step.table("conversion").to_dict("records"):
        old, new = table[used["column"]].astype(float), table[used["new_column"]].astype(float)
        expected = old * used["factor"] + used["offset"]
        slack = 1e-9 * expected.abs() + 1e-12 + (0.51 * 10.0**-decimals if decimals >= 0 else 0.0)
        if ((new - expected).abs() > slack).any() or (old.isna() != new.isna()).any():
            message = f"{used['new_column']!r} is not {used['column']!r} times its factor in every row."
            yield Issue(code="conversion_differs", severity="error", message=message, where="converted")


def unit_registry():
    """Return pint's units with those of the laboratory that it lacks; made once."""
    import pint

    if not hasattr(unit_registry, "made"):
        units = pint.UnitRegistry()
        for line in ("@alias stone = st", "@alias week = wk", "ppb = 1e-9", "IU = [activity]"):
            units.define(line)
        unit_registry.made = units
    return unit_registry.made


def unit_symbols():
    """Return the symbols that count as units; pint knows more, some of them words of column names (point, count)."""
    plain = ("g", "m", "s", "mol", "L", "Pa", "bar", "J", "cal", "M", "Da", "IU")
    prefixed = {prefix + symbol for symbol in plain for prefix in ("", *"khdcmunpf")}
    return prefixed | {
        "min", "h", "d", "wk", "yr", "t", "lb", "oz", "st", "in", "ft", "yd", "mi", "ha", "acre", "gal", "qt", "floz",
        "bu", "mmHg", "atm", "psi", "mph", "%", "ppm", "ppb", "1",
    }  # fmt: skip


def plain_unit(text):
    """Return a unit as people write it (`mg per dl`, `pounds`, `µmol/l`) in the symbols of the table."""
    import re

    names = {
        "pounds": "lb", "pound": "lb", "lbs": "lb", "ounces": "oz", "ounce": "oz", "stone": "st", "stones": "st",
        "inches": "in", "inch": "in", "feet": "ft", "foot": "ft", "yards": "yd", "yard": "yd", "miles": "mi",
            "mile": "mi",
        "gallons": "gal", "gallon": "gal", "acres": "acre", "ac": "acre", "bushels": "bu", "bushel": "bu",
            "hectares": "ha",
        "hectare": "ha", "tonnes": "t", "tonne": "t", "tons": "t", "kilos": "kg", "kilo": "kg", "minutes": "min",
        "minute": "min", "mins": "min", "hours": "h", "hour": "h", "hrs": "h", "hr": "h", "days": "d", "day": "d",
        "weeks": "wk", "week": "wk", "years": "yr", "year": "yr", "seconds": "s", "second": "s", "secs": "s",
            "sec": "s",
        "mcg": "ug", "cc": "mL", "mmhg": "mmHg", "kpa": "kPa", "pa": "Pa", "molar": "M", "iu": "IU", "u": "IU",
        "percent": "%", "pct": "%", "kj": "kJ", "ml": "mL", "dl": "dL", "ul": "uL", "l": "L", "nl": "nL", "cl": "cL",
        "celsius": "C", "centigrade": "C", "c": "C", "degc": "C", "fahrenheit": "F", "f": "F", "degf": "F",
            "kelvin": "K",
        "k": "K", "da": "Da", "kda": "kDa", "j": "J", "micron": "um", "microns": "um",
    }  # fmt: skip
    long = {"kilo": "k", "hecto": "h", "deci": "d", "centi": "c", "milli": "m", "micro": "u", "nano": "n", "pico": "p"}
    bases = {"gram": "g", "meter": "m", "metre": "m", "liter": "L", "litre": "L", "mole": "mol", "mol": "mol",
        "molar": "M",
             "second": "s", "pascal": "Pa", "calorie": "cal", "joule": "J", "dalton": "Da"}  # fmt: skip
    text = re.sub(r"[µμ]", "u", str(text).strip()).replace("°", "").replace("²", "2").replace("³", "3")
    text = re.sub(r"\s*\bper\b\s*", "/", text).replace("^", "").replace("·", "*")
    known, parts = unit_symbols(), re.split(r"([/*]|\s+|\d+$|\d+(?=[/*\s]))", text)
    for at, part in enumerate(parts):
        word = part.strip()
        if not re.fullmatch(r"[A-Za-z%]+", word) or (word in known and word not in ("h", "d", "s")):
            continue
        lower = word.lower()
        match = re.fullmatch(rf"({'|'.join(long)})?({'|'.join(bases)})s?", lower)
        parts[at] = long.get(match[1] or "", "") + bases[match[2]] if match else names.get(lower, word)
        if parts[at] not in known and lower in known:
            parts[at] = lower
    return "".join(parts).strip()


def read_unit(text, bushel_lb=0.0):
    """Return (factor to SI, dimensions) of a unit; `C` and `F` and `K` have the dimension of a temperature.

    Dimensions are powers of kg, m, s, mol and IU (of its own); the factors are pint's.

    Raises:
        ValueError: for a unit that is not known.
    """
    import re

    known, written, units = unit_symbols(), plain_unit(text), unit_registry()
    if written in ("C", "F", "K"):
        return {"C": 1.0, "F": 5 / 9, "K": 1.0}[written], {written: 0, "temperature": 1}
    whole = units.Quantity(1.0, "dimensionless")
    for sign, symbol, power in re.findall(r"([/*]|^|\s)\s*([A-Za-z%]+|1(?=/))(-?\d+)?", written):
        if symbol not in known:
            raise ValueError(f"The unit {str(text)!r} is not known ({symbol!r} is not); write it as mg/dL, mmol/L, "
                             f"kg, lb, "
                             "cm, degrees Celsius or the like.")  # fmt: skip
        # A molecule's mass in daltons is what a mole of them weighs in grams.
        name = re.sub("Da$", "g/mol", symbol).replace("%", "percent")
        one = units.Quantity(bushel_lb, "lb") if symbol == "bu" and bushel_lb else units.Quantity(name)
        whole *= one ** (int(power or 1) * (-1 if sign == "/" else 1))
    if not written or re.sub(r"[/*]?\s*(?:[A-Za-z%]+|1(?=/))(-?\d+)?", "", written).strip():
        raise ValueError(f"The unit {str(text)!r} cannot be read; write it as mg/dL, mmol/L, kg, lb, cm or the like.")
    whole = whole.to_base_units()
    names = {"[mass]": "kg", "[length]": "m", "[time]": "s", "[substance]": "mol", "[activity]": "IU"}
    return float(whole.magnitude), {names[base]: power for base, power in whole.dimensionality.items() if power}


def conversion(from_unit, to_unit, molar_mass, bushel_lb, name):
    """Return (factor, offset) so that new = old x factor + offset, or raise ValueError that says what is missing."""
    first, second = read_unit(from_unit, bushel_lb), read_unit(to_unit, bushel_lb)
    if ("temperature" in first[1]) != ("temperature" in second[1]):
        raise ValueError(f"{from_unit} and {to_unit} measure different things; expected two units of one quantity.")
    if "temperature" in first[1]:
        units, degrees = unit_registry(), {"C": "degC", "F": "degF", "K": "kelvin"}
        ends = [units.Quantity(value, degrees[plain_unit(from_unit)]).to(degrees[plain_unit(to_unit)]).magnitude
                for value in (0.0, 100.0)]  # fmt: skip
        return float(ends[1] - ends[0]) / 100, float(ends[0])
    gap = {base: first[1].get(base, 0) - second[1].get(base, 0) for base in {*first[1], *second[1]}}
    gap = {base: power for base, power in gap.items() if power}
    if not gap:
        return first[0] / second[0], 0.0
    moles = gap.get("mol", 0)
    if set(gap) == {"mol", "kg"} and gap["kg"] == -moles and abs(moles) == 1:
        if not molar_mass:
            usual = {"glucose": 180.16, "creatinine": 113.12, "cholesterol": 386.65, "urea": 60.06, "bilirubin": 584.66,
                     "calcium": 40.08, "urate": 168.11, "lactate": 90.08, "cortisol": 362.46, "testosterone": 288.42,
                     "iron": 55.85, "25-OH-vitamin D3": 400.64}  # fmt: skip
            hint = next((f"; that of {what} is {grams} g/mol" for what, grams in usual.items()
                         if what[:5] in str(name).casefold()), "")  # fmt: skip
            if not hint and "vit" in str(name).casefold() and "d" in str(name).casefold():
                hint = "; that of 25-OH-vitamin D3 is 400.64 g/mol"
            raise ValueError(f"From {from_unit} to {to_unit} the molar mass of the substance is needed (molar_mass, in "
                             f"g/mol){hint}. Give it and ask again.")  # fmt: skip
        return first[0] / second[0] * (molar_mass / 1000) ** moles, 0.0
    if "bu" in (plain_unit(from_unit) + "/" + plain_unit(to_unit)).split("/") and not bushel_lb:
        raise ValueError("A bushel is a volume; its weight is needed (bushel_lb, in pounds): by US convention 60 for "
                         "wheat and soybeans, 56 for maize and rye, 48 for barley, 32 for oats.")  # fmt: skip
    raise ValueError(f"{from_unit} and {to_unit} measure different things; expected two units of one quantity.")


def unit_in_name(name, wanted):
    """Return the unit that a column's name ends with or has in brackets (`weight_lb`), and the rest of the name.

    A single letter counts only when it is of the dimension of the unit that is wanted, so that vitamin_d is no day.
    """
    import re

    bracket = re.search(r"[\[(]([^\])]+)[\])]\s*$", name)
    tries = [(bracket[1], name[: bracket.start()])] if bracket else []
    pieces = [(m.group(), m.start()) for m in re.finditer(r"[A-Za-zµμ°%]+\d?", name)]
    for count in (3, 2, 1):
        if len(pieces) > count:
            words = [word for word, _ in pieces[-count:]]
            text = "/".join(word for word in words if word.lower() != "per")
            tries.append((text, name[: pieces[-count][1]]))
    for text, rest in tries:
        try:
            dims = read_unit(text)[1]
        except ValueError:
            continue
        if len(text) == 1 and wanted:
            same = {key for key in dims if dims[key]} == {key for key, power in read_unit(wanted)[1].items() if power}
            if not same:
                continue
        elif len(text) == 1 and not bracket and text not in "CF":
            continue
        if plain_unit(text) != "1" and rest.strip(" _.-"):
            return text, rest.strip(" _.-")
    return "", name


def metric_unit(unit):
    """Return the metric unit in whose place an imperial one stands, or ""."""
    return {"lb": "kg", "oz": "g", "st": "kg", "in": "cm", "ft": "m", "yd": "m", "mi": "km", "gal": "L", "F": "°C",
            "acre": "ha", "psi": "kPa", "mmHg": "kPa", "mph": "km/h", "gal/min": "L/s", "bu/acre": "t/ha",
            "lb/acre": "kg/ha", "cal": "J", "kcal": "kJ", "floz": "mL"}.get(plain_unit(unit), "")  # fmt: skip


def _unit_words():
    """Return the choices of units, and how people name the unit from and the unit to in a question."""
    ends = r"(?!\s*(?:/|per\b)|[\w²])"
    part = {
        "µg": r"(?:[µμu]g|mcg|micrograms?)", "µmol": r"(?:[µμu]mol|micromol(?:es?)?)", "g": r"(?:g|grams?)",
        "dL": r"(?:dl|decilit(?:er|re)s?)", "L": r"(?:l|lit(?:er|re)s?)", "mL": r"(?:ml|millilit(?:er|re)s?)",
        "ha": r"(?:ha|hectares?)", "acre": r"(?:acres?|ac)", "bu": r"(?:bu|bushels?)", "t": r"(?:t|tonnes?)",
        "s": r"(?:s|sec|seconds?)", "h": r"(?:h|hours?)", "min": r"(?:min|minutes?)", "gal": r"(?:gal|gallons?)",
        "lb": r"(?:lbs?|pounds?)",
    }  # fmt: skip
    spelled = {
        "mmol/L": r"mmol(?:\s*(?:/|per)\s*l(?:it(?:er|re))?)?|(?-i:mM)|millimolar",
        "µmol/L": r"[µμu]mol(?:\s*(?:/|per)\s*l(?:it(?:er|re))?)?|(?-i:[µμu]M)|micromolar",
        "nmol/L": r"nmol(?:\s*(?:/|per)\s*l(?:it(?:er|re))?)?|(?-i:nM)|nanomolar", "kg": r"kg|kilos?|kilograms?",
        "g": r"g|grams?", "mg": r"mg|milligrams?", "µg": r"[µμu]g|mcg|micrograms?", "ng": r"ng|nanograms?", "t":
            r"tonnes?",
        "lb": r"lbs?|pounds?", "oz": r"oz|ounces?", "st": r"stones?", "km": r"km|kilomet(?:er|re)s?", "m":
            r"met(?:er|re)s?",
        "cm": r"cm|centimet(?:er|re)s?", "mm": r"(?-i:mm)|millimet(?:er|re)s?", "µm":
            r"(?-i:[µμu]m)|microns?|micromet(?:er|re)s?",
        "in": r"inch(?:es)?", "ft": r"ft|feet|foot", "yd": r"yards?|yd", "mi": r"miles?", "L": r"lit(?:er|re)s?",
        "mL": r"ml|millilit(?:er|re)s?", "µL": r"[µμu]l|microlit(?:er|re)s?", "gal": r"gallons?|gal", "s":
            r"sec|seconds?",
        "ms": r"ms|msec|milliseconds?", "min": r"min|minutes?", "h": r"hours?|hrs?", "d": r"days?",
        "°C": r"°\s*c|celsius|centigrade|(?-i:C)", "°F": r"°\s*f|fahrenheit|(?-i:F)", "K": r"kelvin", "kPa": r"kpa",
        "mmHg": r"mm\s*hg", "psi": r"psi", "bar": r"bar", "kJ": r"kj|kilojoules?", "kcal": r"kcal|kilocalories?",
            "ha": "hectares?",
        "acre": r"acres?", "ppm": r"ppm", "ppb": r"ppb", "mph": r"mph|miles\s*(?:/|per)\s*h(?:our)?", "mol/L":
            r"mol\s*/\s*l|(?-i:M)",
    }  # fmt: skip
    pairs = ("mg/dL mg/L mg/mL g/L g/dL µg/L µg/mL µg/dL ng/L ng/mL ng/dL pg/mL mg/kg g/kg t/ha kg/ha lb/acre bu/acre "
             "L/s L/min mL/min gal/min m/s km/h").split()  # fmt: skip
    for unit in pairs:
        above, below = unit.split("/")
        spelled[unit] = rf"{part.get(above, above)}\s*(?:/|per)\s*{part.get(below, below)}"
    arrow = r"(?:->|=>|→)"
    filler = r"(?:(?:it|them|in|all|the|this|that|everything|have|give|also|into|to)\s+){0,3}"
    to_now, to_end, from_now, from_end = [], [], [], []
    for unit, text in spelled.items():
        words = rf"(?<!/)(?<!per\s)(?:{text}){ends}"
        to_now.append(rf"{unit}: (?:(?:to|into|needs?|wants?|make|be|express|2)\s+{filler}|\w+\s*{arrow}\s*){words}")
        to_end.append(
            rf"{unit}: (?:in|as|into)\s+{words}\s*(?:[?.!]|$|for\b|instead|please|pls|rather)|"
            rf"{words}\s+(?:instead|and not|not)\b"
        )
        from_now.append(
            rf"{unit}: (?:from|instead of|and not|not|rather "
            rf"than)\s+(?:the\s+)?{words}|{words}\s*(?:(?:to|into|in|2)\s+\S|{arrow})"
        )
        from_end.append(rf"{unit}: (?:is|are|was|were|in|as|typed)\s+(?:in\s+)?{words}(?!\s*(?:\?|$|instead))")
    return ["auto", *spelled], [*from_now, *from_end], [*to_now, *to_end]


_CHOICES, _FROM, _TO = _unit_words()


def with_converted(table, column, to_unit, from_unit, molar_mass, bushel_lb, decimals):
    """Return the table with a column in another unit beside the old one, what was done, its finding and warnings."""
    import re

    import numpy as np

    old, warnings = numeric_values(table, column), []
    stated, stem = unit_in_name(column, "" if to_unit == "auto" else to_unit)
    if from_unit == "auto" and not stated:
        raise ValueError(
            f"The unit of {column!r} is not known: neither its name nor the question says it. Give from_unit."
        )
    from_unit = stated if from_unit == "auto" else from_unit
    if stated and plain_unit(stated) != plain_unit(from_unit):
        if plain_unit(stated) == plain_unit(to_unit):
            warnings.append(f"The name of {column!r} says {stated} already; it was taken to be {from_unit} as asked.")
        else:
            warnings.append(f"The name of {column!r} says {stated}, but it was taken to be {from_unit} as asked.")
    if to_unit == "auto":
        to_unit = metric_unit(from_unit)
        if not to_unit:
            raise ValueError(f"{column!r} is in {from_unit}; the unit it is wanted in is not said. Give to_unit.")
    if plain_unit(from_unit) == plain_unit(to_unit):
        raise ValueError(f"{column!r} is in {from_unit} already, which is the unit wanted; nothing is to convert. If "
                         f"it is in "
                         "another unit, give from_unit.")  # fmt: skip
    factor, offset = conversion(from_unit, to_unit, molar_mass, bushel_lb, column)
    new = old * factor + offset
    new = new.round(decimals) if decimals >= 0 else new
    suffix = re.sub(r"[^A-Za-z0-9%]+", "_", to_unit.replace("/", " per ").replace("µ", "u").replace("°", ""))
    name = f"{stem}_{suffix}"
    while name in [str(other) for other in table.columns]:
        name += "_new"
    converted = table.copy()
    converted.insert(list(table.columns).index(column) + 1, name, new)
    converted[column] = old
    gone = int(old.isna().sum())
    if gone:
        warnings.append(f"{gone} of {len(old)} values of {column} are missing and stay so.")
    known = old.dropna()
    middle, target = float(known.median()), float(known.median() * factor + offset)
    if middle > 0 and target > 0 and not 0.7 < target / middle < 1.5 and len(known) > 4 and (known > 0).any():
        near = np.log(known[known > 0])
        spread = 1.4826 * float((near - np.log(middle)).abs().median())
        odd = near[((near - np.log(target)).abs() < 0.2) & ((near - np.log(middle)).abs() > max(0.3, 4 * spread))]
        if len(odd):
            shown = ", ".join(f"row {list(table.index).index(at) + 1}: {old[at]:g}" for at in odd.index[:4])
            warnings.append(f"{len(odd)} values look as if they were in {to_unit} already ({shown}); they were "
                            f"converted like the "
                            "others. Correct them in the file if so.")  # fmt: skip
    if plain_unit(to_unit) == "K" or "temperature" not in read_unit(from_unit)[1]:
        below = int((known < 0).sum())
        if below:
            warnings.append(f"{below} values of {column} are negative; check that they are no codes.")
    how = f"times {factor:.6g}" + (f" {'plus' if offset > 0 else 'minus'} {abs(offset):.6g}" if offset else "")
    at = known.index[0]
    mass = (
        f" with a molar mass of {molar_mass:g} g/mol"
        if molar_mass and "mol" in plain_unit(from_unit + "/" + to_unit)
        else ""
    )
    text = (
        f"{name} holds {column} in {to_unit}: {len(known)} values from {from_unit}, {how}{mass}; the median "
        f"{format_number(middle)} {from_unit} becomes {format_number(float(new.median()))} {to_unit}, the range "
        f"{format_number(float(new.min()))} to {format_number(float(new.max()))} {to_unit} (first value {old[at]:g} "
        f"becomes {format_number(float(new[at]), 4)})."
    )
    row = {"column": column, "new_column": name, "from_unit": from_unit, "to_unit": to_unit, "factor": factor,
           "offset": offset, "molar_mass": molar_mass if mass else None, "n": len(known), "missing": gone}  # fmt: skip
    finding = {"text": text, "output": "conversion",
               "values": finding_values(factor=factor, offset=offset, n=len(known))}  # fmt: skip
    return converted, row, finding, warnings


@tool(
    name="convert_units",
    title="Conversion of units",
    description=(
        "Write columns in another unit into new columns: everyday units of the laboratory, clinic and field with SI "
        "prefixes (mg/dL, µmol/L, lb, in, °F, mmHg, bushels per acre). The unit it stands in is read from the column's "
        "name unless given. Between mass and amount (mg/dL to mmol/L) only with the molar mass. The old columns stay."
    ),
    domain="data handling",
    task_type="preprocessing",
    methods=(
        "factor of the two units; no test",
    ),
    inputs={"table": "table: any table with a measurement"},
    outputs={
        "converted": "table: all columns, with the new one",
        "conversion": "table: units, factor and offset",
    },
    params={
        "column": param("The measurement to convert", kind="column", of="table", role="measure"),
        "further": param("Further measurements of the same unit", kind="columns", of="table", role="measures"),
        "to_unit": param("The unit it is wanted in; auto for metric in place of imperial", choices=_CHOICES, words=_TO),
        "from_unit": param("The unit it is in; auto reads it from the column's name", choices=_CHOICES, words=_FROM),
        "molar_mass": param("Molar mass in g/mol, between mass and amount", minimum=0.5, maximum=5e6,
                            words=["molar mass", "molar", "molecular (?:weight|mass)", "molecular", "mw",
                                "g/mol", "mol\\.? wt\\.?"]),
        "bushel_lb": param("Weight of a bushel in pounds (wheat and soybeans 60, maize 56)", minimum=10, maximum=100,
                           words=["pounds? (?:per|a) bushel", "lbs? (?:per|a|/) ?bu"]),
        "decimals": param("Decimals of the new values; -1 for all", minimum=-1, maximum=12,
                          words=["decimals?", "decimal places", "digits"]),
    },
    answers=["convert_units"],
    checks=("tables_not_empty", "conversion_is_the_factor"),
    keywords=("convert units", "unit conversion", "mg/dL to mmol/L", "Fahrenheit to Celsius", "pounds to kilograms",
              "SI units", "metric", "inches to cm", "other unit", "bushels per acre"),
    citations=(
        Citation(title="Guide for the use of the International System of Units (SI), NIST Special Publication 811",
                 authors="Thompson A, Taylor BN", year=2008),
    ),
    packages=("pint", "pandas", "numpy"),
    seconds=1.0,
    example="Convert body weight from pounds to kilograms.",
)  # fmt: skip
def convert_units(
    table,
    *,
    column: str,
    further: list[str] = [],  # noqa: B006 - a plain default, never changed
    to_unit: str = "auto",
    from_unit: str = "auto",
    molar_mass: float | None = None,
    bushel_lb: float | None = None,
    decimals: int = -1,
):
    """Write columns in another unit into new columns, each beside the old one.

    Factors are pint's, which are those of NIST Special Publication 811 (2008); the calorie is 4.184 J, acre, bushel
    and gallon are those of the US.

    Raises:
        ValueError: when a unit is unknown or not given, units measure different things, or a molar mass is needed.
    """
    import pandas as pd

    table, columns = plain_table(table), list(dict.fromkeys([column, *further]))
    require_columns(table, columns)
    rows, findings, warnings = [], [], []
    for name in columns:
        table, row, finding, said = with_converted(table, name, to_unit, from_unit, molar_mass, bushel_lb, decimals)
        rows, findings, warnings = [*rows, row], [*findings, finding], [*warnings, *said]
    if len(rows) > 1:
        told = [
            f"{row['new_column']} holds {row['column']} in {row['to_unit']} ({row['n']} values)" for row in rows[:8]
        ]
        text = f"{', '.join(told[:-1])} and {told[-1]}."
        findings.insert(0, {"text": text, "output": "conversion", "values": finding_values(n_columns=len(rows))})
    return {"converted": table, "conversion": pd.DataFrame(rows), "findings": findings, "warnings": warnings}
