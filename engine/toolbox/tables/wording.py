"""How sentences say what many tools say: per what a number changes, and the values of groups from high to low."""

from __future__ import annotations

from engine.toolbox.tables.columns import called_level, format_number, format_p, in_a_row


def named_unit(name):
    """Return the unit that a column's name says and what is measured in it: `kg/ha` and `N` of `N kg/ha`.

    Units of time are given in English, without anything measured where the name says only that time is meant (`Woche`,
    `time_h`, `day post infection`). ("", name) where the name says none: then nothing is guessed.
    """
    import re

    times = {
        "second": "sec|secs|seconds?|sekunden?|secondes?|segundos?",
        "minute": "mins?|minutes?|minuten?|minutos?",
        "hour": "hrs?|hours?|stunden?|std|heures?|horas?|hp[ifta]",
        "day": "days?|tage?|jours?|d[ií]as?|dp[ifta]|da[pi]",
        "week": "wks?|weeks?|wo|wochen?|semaines?|semanas?|wp[ift]",
        "month": "mon?|mths?|mnths?|months?|monate?|mois|mes|meses",
        "year": "yrs?|years?|jahre?|ans?|ann[eé]es?|a[nñ]os?",
    }
    every = "|".join(times.values())

    def english(word):
        return {"h": "hour", "d": "day", "j": "day", "c": "°C"}.get(word.lower()) or next(
            (unit for unit, words in times.items() if re.fullmatch(words, word, re.IGNORECASE)), word
        )

    text = re.sub(r"\s+", " ", str(name)).strip()
    span = "time|timepoint|zeit|zeitpunkt|temps|tiempo|t"
    since = r"(?:no|nr|num|number|index|post|since|after|of|nach|seit|apr[eè]s|depuis|desde|despu[eé]s)"
    first = re.fullmatch(rf"({every}|[hdj])(?:[ _.-]+{since}(?![^\W_]).*)?", text, re.IGNORECASE)
    moment = re.fullmatch(rf"(?:{span}|study|trial|exp|culture)[ _.-]+[(\[]?({every}|[hdj])[)\]]?", text, re.IGNORECASE)
    if first or moment:
        return english((first or moment)[1]), ""
    amount = r"(?:[kmunpµμ]?g|[munpµμ]?mol|mEq|m?I?U|kcal|cal|kJ|lbs?|t)"
    whole = rf"(?:[dmunµμ]?l|k?g|ha|acre|[cdm]?m[23²³]?|s|h|d|{every})"
    alone = (
        "kg|mg|mcg|[uµμ]g|ng|[mck]m|[uµμ]m|nm|m[lL]|d[lL]|[uµμ]l|[uµμ]L|k[pP]a|mm ?[hH]g|[munpµμ]?mol|[mnuµμ]M|kcal|kJ|"
        "bpm|ppm|ppb|ha|lbs?|IU|°C|%|[mck]m[23²³]"
    )
    rate = rf"{amount}(?: ?/ ?| per |[_.]per[_.]|[_.]){whole}"
    single = (r"(?<=mass.)g|(?<=weight.)g|(?<=wt.)g|(?<=gewicht.)g|(?<=poids.)g|(?<=peso.)g|(?<=temp.)C|"
              r"(?<=depth.)m|(?<=height.)m|(?<=length.)m|(?<=distance.)m|(?<=elevation.)m")  # fmt: skip
    # `pack_years` and `per_week` are no years and weeks of anything.
    aged = r"(?i:(age|alter|edad|[aâ]ge|duration|dauer|dur[eé]e|duraci[oó]n|lag|stay|los|survival|follow[ _-]?up)"
    found = (
        re.fullmatch(rf"(.+?) ?[(\[] ?((?i:{rate}|{every})|{alone}|[gmLltshdCUMVWAJK]) ?[)\]]", text)
        or re.fullmatch(rf"{aged}[ _.-]({every}))", text)
        or re.fullmatch(rf"(.*?[^\W_])[ _.-]((?i:{rate})|{alone}|(?i:{single}))", text)
    )
    if found is None or re.match(r"(?:log|ln|sqrt|z)(?:\d*[ _(.-])", text, re.IGNORECASE):
        return "", text
    above, *below = re.split(r" ?/ ?| per |[_.]per[_.]|[_.]", found[2])
    return "/".join([above, *map(english, below)]) if below else english(above), found[1].strip(" _.-")


def per_step(name, step=1.0):
    """Return per what an effect of a number is told: `per day`, `per 10 years of age`, `per unit of score`."""
    import re

    unit, what = named_unit(name)
    unit, many = unit or "unit", f"{step:g} " if step != 1 else ""
    if many and re.fullmatch("unit|second|minute|hour|day|week|month|year", unit):
        unit += "s"
    return f"per {many}{unit}{f' of {what}' if what else ''}"


def with_term(term, meaning, name=""):
    """Return how a sentence goes on with one coefficient: `per day`, `in enr than in ctl`, else `with` its meaning.

    Args:
        term: the coefficient, `group[enr vs ctl]` of a level.
        meaning: what it means, for all that is neither.
        name: the column that it belongs to.
    """
    first, apart, second = term.removeprefix(f"{name}[").removesuffix("]").partition(" vs ")
    if name and apart and term == f"{name}[{first} vs {second}]" and " vs " not in second:
        return f"in {called_level(first, name)} than in {called_level(second, name)}"
    return meaning if meaning.startswith("per ") and "[" not in term else f"with {meaning}"


def high_to_low(means, column, most=6, scale=1, unit=""):
    """Return groups with their values, highest first: `INTA-7 7.87, Chaco 7.18 and Local 6.31`; of many only the ends.

    Args:
        means: group -> value.
        column: whose groups these are.
        most: so many are all named.
        scale: the values are told as so many times (100: in percent).
        unit: what stands behind each, with its blank.
    """
    order = sorted(means, key=lambda level: -means[level])
    told = [f"{called_level(level, column)} {format_number(scale * means[level])}{unit}" for level in order]
    return in_a_row(told) if len(told) <= most else f"{told[0]} highest and {told[-1]} lowest of {len(told)}"


def between(name):
    """Return between what something differs: `between species`, and of a name that is no plural `by variety`."""
    import re

    return f"{'between' if re.search('[^isu]s$', str(name).casefold()) else 'by'} {name}"


def in_size(value, low, high):
    """Return a difference and its interval for a sentence whose verb says the direction: 9.31 of -9.31, 8 to 10.

    The interval is turned with it, so that an end below 0 lies on the other side.
    """
    low, high = (-high, -low) if value < 0 else (low, high)
    return format_number(abs(value)), f"95 % CI {format_number(low)} to {format_number(high)}"


def rate_base(rates):
    """Return per how many units rates are told: 1, or where all are below 0.1 so many that the highest is 1 or more."""
    highest = max(rates)
    if not 0 < highest < 0.1:
        return 1
    return next((10**n for n in (2, 3, 4) if highest * 10**n >= 1), 100_000)


def rate_unit(per, base=1):
    """Return what stands behind a rate: ` per hour`, ` per 1,000 years`, "" where it is per nothing."""
    if base > 1:
        return f" per {base:,} {per}"
    unit, of = named_unit(per)
    return f" per {per if of or not unit else unit}" if per else ""


def several_told(parts, subject, verb="is", most=5, held=()):
    """Return the sentence on several predictors of one model: what is clear with its size, and what is not shown.

    Args:
        parts: for each predictor a dict: `name`, `p`, and `size` with `where` and `interval` (`0.6 higher`, `per year
            of age`, `95 % CI 0.4 to 0.9`), or no size where several levels are only tested together; these may have
            `ends`, the highest level and the lowest.
        subject: what is explained, as a sentence begins with it.
        verb: how it goes on.
        most: of so many at most the size is told, the clearest first; of two the first comes first.
        held: what all are adjusted for besides.
    """
    clear = sorted((part for part in parts if part["p"] < 0.05), key=lambda part: part["p"])
    open_ = [part for part in parts if part["p"] >= 0.05]
    sized = [part for part in clear[:most] if part.get("size")]
    sizes = [f"{part['size']} {part['where']} ({part['interval']}, {format_p(part['p'])})" for part in sized]
    clauses = [f"{verb} {in_a_row(sizes)}"] if sizes else []
    differ, it = {"is": ("differs", "it"), "are": ("differ", "they"), "was": ("differed", "it")}[verb]
    for part in (part for part in clear[:most] if not part.get("size")):
        ends = ": highest in {}, lowest in {}".format(*part["ends"]) if part.get("ends") else ""
        # Groups that are clearer than any number come before them.
        place = len(clauses) - bool(sizes and part["p"] < sized[0]["p"])
        clauses.insert(place, f"{differ} {between(part['name'])} ({format_p(part['p'])}){ends}")
    ranges = [f"{part['interval']}, " if part.get("size") else "" for part in open_]
    left = [f"{part['name']} ({seen}{format_p(part['p'])})" for part, seen in zip(open_, ranges, strict=True)]
    unseen = f"not shown to change with {in_a_row(left if len(left) <= most else [part['name'] for part in open_])}"
    others = "the other" if len(parts) == 2 else "the others"
    adjusted = f"each is adjusted for {in_a_row([others, *held[:4]])}" + (" and more" if len(held) > 4 else "")
    if not clear:
        return f"{subject} {verb} {unseen}; {adjusted}."
    more = f", and also changes with {in_a_row([part['name'] for part in clear[most:]])}" if clear[most:] else ""
    told = f"; {it} ".join(clauses)
    if len(parts) == 2 and open_ == parts[:1]:
        return f"{subject} {verb} {unseen}; {it} {told}; {adjusted}."
    return f"{subject} {told}{more}{f'; {unseen}' if left else ''}; {adjusted}."
