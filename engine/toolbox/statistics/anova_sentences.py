"""Sentences of an analysis of variance: means of what is asked about, then what differs and what depends on what."""

from __future__ import annotations

from engine.toolbox.statistics.marginal import (
    describe_change,
    describe_contrasts,
)
from engine.toolbox.tables.columns import (
    called_level,
    finding_values,
    format_number,
    format_p,
    in_a_row,
    which_differ,
)
from engine.toolbox.tables.wording import high_to_low, in_size


def asked_findings(asked, grid, value, names):
    """Return how many of the contrasts asked for are clear, and each of the clearest of them."""
    if not asked:
        return []
    clear = [row for row in asked if row["p_adj"] < 0.05]
    cells, how = "factors" in asked[0], asked[0]["adjustment"].split(" (")[0]
    corrected = "" if how == "none" else f" after {how}'s correction" if how != "Bonferroni" else " after Bonferroni's"
    first = min(asked, key=lambda row: row["p_adj"])
    what = f"pairs of combinations of {' and '.join(names[:2])}" if cells else "comparisons within levels"
    text = (
        f"{len(clear) or 'None'} of the {len(asked)} {what} {'differs' if len(clear) == 1 else 'differ'} in mean "
        f"{value}{corrected} at 0.05; the smallest p-value is that of {first['group_1']} and {first['group_2']}"
        f"{' where ' + first['within'] if first['within'] else ''} ({format_p(first['p_adj'])})."
    )
    count = {"text": text, "values": finding_values(p_adj=first["p_adj"]), "output": "contrasts",
             "row": {"comparison": first["comparison"]}}  # fmt: skip
    return [count, *describe_contrasts(asked, grid, f"mean {value}", 6)]


def level_findings(contrasts, pairs, grid, value, crossed):
    """Return the findings to begin with, and those that follow the tests of the terms.

    A difference in differences begins where it is clear or over time. Where a significant interaction makes averages
    mislead, the contrasts within levels follow in place of those of averages.
    """
    changes = [row for row in contrasts if "of" in row]
    first = [row["p_value"] < 0.05 or row["within"].startswith("change") for row in changes]
    said = [describe_change(row, value) for row in changes]
    if crossed and changes and first[0]:
        return said, []
    if crossed:
        simple = [row for row in contrasts if row["within"] and "of" not in row]
        return [], describe_contrasts(simple, grid, f"mean {value}")
    findings = []
    for row in sorted(pairs, key=lambda row: row["p_adj"])[:3]:
        size = f"{format_number(abs(row['difference']))} {'higher' if row['difference'] > 0 else 'lower'}"
        relation = f"is {size}" if row["p_adj"] < 0.05 else f"was {size}, which is not significant,"
        adjusted = "" if row["test"].startswith("none") else f"{row['test'].split(' (')[0]}-adjusted "
        findings.append(
            {"text": f"Adjusted mean {value} {relation} in {row['factor']} "
                     f"{row['group_1']} (n = {row['n_1']}) than in {row['factor']} {row['group_2']} "
                     f"(n = {row['n_2']}): difference {format_number(row['difference'])}, 95 % CI "
                     f"{format_number(row['lower_95'])} to {format_number(row['upper_95'])}, {adjusted}"
                     f"{format_p(row['p_adj'])}.",
             "values": finding_values(difference=(row["difference"], row["lower_95"], row["upper_95"]),
                                      p_adj=row["p_adj"]),
             "output": "post_hoc", "row": {"comparison": row["comparison"]}}
        )  # fmt: skip
    return (said, findings) if changes and first[0] else ([], [*findings, *said])


def only_held(name, adjusted):
    """Say whether a factor is there to be held constant and not asked about: a block, a repetition."""
    import re

    return name in adjusted or re.fullmatch(
        r"(?:block|blk|bloc|bloque|rep|replicate|replication|repetition|wiederholung)s?(?:[ _.-]?(?:no|nr|id|\d+))?",
        str(name).casefold(),
    ) is not None  # fmt: skip


def describe_levels_of(row, contrasts):
    """Return one factor of several levels, its means from high to low, its p and which differ; and the means."""
    pairs = [one | {"difference": one["effect"]} for one in contrasts]
    means = {pair[f"group_{key}"]: pair[f"mean_{key}"] for pair in pairs for key in ("1", "2")}
    apart = which_differ(pairs, row["term"]).rpartition(" (")[0] or which_differ(pairs, row["term"])
    apart = "all differ" if all(pair["p_adj"] < 0.05 for pair in pairs) else apart
    apart = f"; {apart}" if row["p_value"] < 0.05 else ""
    return f"{high_to_low(means, row['term'])} ({format_p(row['p_value'])}{apart})", means


def describe_factors(tests, contrasts, levels, value, adjusted=()):
    """Return the leading finding where effects add up: what each factor does, then whether they depend on each other.

    The means of the factors that are asked about come first, in the order they were named; of one that is only held
    constant (a block) it is only said whether it shows. [] where a term is no factor, or an interaction is clear and
    averages would mislead.
    """
    alone = [row for row in tests if ":" not in row["term"]]
    crossed = [row for row in tests if ":" in row["term"]]
    if any(row["term"] not in levels for row in alone) or any(row["p_value"] < 0.05 for row in crossed):
        return []
    ranked, open_, held, values = [], [], [], {}
    for row in alone:
        name = row["term"]
        pairs = [one for one in contrasts if one["factor"] == name and not one["within"]]
        if only_held(name, adjusted):
            held.append(f"{name} ({format_p(row['p_value'])})")
        elif len(pairs) == 1:
            pair = pairs[0]
            first, second = (called_level(pair[key], name) for key in ("group_1", "group_2"))
            ends = f"{format_number(pair['mean_1'])} against {format_number(pair['mean_2'])}"
            size, interval = in_size(pair["effect"], pair["lower_95"], pair["upper_95"])
            values |= {f"mean {pair[f'group_{key}']}": pair[f"mean_{key}"] for key in ("1", "2")}
            values[f"difference {name}"] = (pair["effect"], pair["lower_95"], pair["upper_95"])
            if pair["p_adj"] < 0.05:
                more = "higher" if pair["effect"] > 0 else "lower"
                ranked.append(f"{'it ' if ranked else ''}is {size} {more} with {first} than with {second} ({ends}; "
                              f"{interval}, {format_p(pair['p_adj'])})")  # fmt: skip
            else:
                interval = f"95 % CI {format_number(pair['lower_95'])} to {format_number(pair['upper_95'])}"
                open_.append(f"{name} ({ends}; {interval}, {format_p(pair['p_adj'])})")
        elif pairs:
            told, means = describe_levels_of(row, pairs)
            values |= {f"mean {level}": mean for level, mean in means.items()}
            clear = row["p_value"] < 0.05
            (ranked if clear else open_).append(f"by {name}: {told}" if clear else f"{name}: {told}")
        else:
            (ranked if row["p_value"] < 0.05 else open_).append(f"{name} ({format_p(row['p_value'])})")
    unseen = f"not shown to change with {in_a_row(open_)}" if open_ else ""
    text = f"Mean {value} " + "; ".join([*ranked, *([unseen if ranked else f"is {unseen}"] if unseen else [])])
    text += f"; held constant: {in_a_row(held)}" if held else ""
    for row in crossed[:1]:
        change = next((one for one in contrasts if "of" in one), None)
        seen = ""
        if change:
            low, high = (format_number(change[key]) for key in ("lower_95", "upper_95"))
            seen = f"difference of effects {format_number(change['effect'])}, 95 % CI {low} to {high}, "
            values["effect"] = (change["effect"], change["lower_95"], change["upper_95"])
        pair = row["term"].replace(":", " and ")
        text += f"; an interaction of {pair} is not shown ({seen}{format_p(row['p_value'])})"
    values |= {f"p {row['term']}": row["p_value"] for row in tests}
    return [{"text": f"{text}.", "values": finding_values(**values), "output": "anova_table", "row": {}}]


def describe_crossed(tests, means, contrasts, value):
    """Return the finding on a clear interaction: within each level of the second factor the levels of the first.

    [] where it is none of two factors whose levels were compared within each other.
    """
    row = min((row for row in tests if row["p_value"] < 0.05 and row["term"].count(":") == 1),
              key=lambda row: row["p_value"], default=None)  # fmt: skip
    within = {}
    for mean in means:
        if row is not None and mean["within"] and f"{mean['factor']}:" == row["term"][: len(mean["factor"]) + 1]:
            within.setdefault(mean["within"], {})[mean["level"]] = mean["mean"]
    if not 2 <= len(within) <= 4:
        return []
    first, second = row["term"].split(":")
    places = {where: called_level(where.removeprefix(f"{second} = "), second) for where in within}
    told = "; ".join(f"at {places[where]} {high_to_low(found, first, 4)}" for where, found in within.items())
    values = {f"mean {level} ({where})": mean for where, found in within.items() for level, mean in found.items()}
    text = (
        f"How {value} changes with {first} depends on {second} (interaction {format_p(row['p_value'])}): mean {told}."
    )
    values = finding_values(p_value=row["p_value"], **values)
    return [{"text": text, "values": values, "output": "marginal_means", "row": {}}]
