"""What a table of changed genes or proteins says: its order, its first sentence and the rows that are told of."""

from __future__ import annotations

from engine.toolbox.bulk_rna.common import changed_by, format_p, gene_label, name_some
from engine.toolbox.genes import find_genes, gene_symbols


def ranked_changes(table):
    """Return the table with symbols where they are known, the smallest p-values first, and notes.

    Symbols that stand in the table are kept; those of Ensembl ids are looked up.
    """
    notes = []
    if "symbol" not in table:
        symbols, organism, note = gene_symbols(table["feature"])
        if organism and not note:
            table.insert(1, "symbol", symbols)
        notes += [note] if note else []
    # Genes of the same counts have p-values that differ in the last digit only, by the processor: they go by name.
    order = table[["p_adj", "p_value"]].map(lambda p: float(f"{p:.8e}")).assign(feature=table["feature"])
    return table.loc[order.sort_values(["p_adj", "p_value", "feature"]).index].reset_index(drop=True), notes


def error_widths(table):
    """Return how many standard errors a 95 % interval reaches: of the normal, of t where the table has its `df`."""
    from scipy import stats

    width = table["log2_fold_change"] * 0 + 1.96
    return width if "df" not in table else width * 0 + stats.t.isf(0.025, table["df"])


def detectable_change(table, alpha, noun="gene"):
    """Return which fold change would have been found where none was, as the end of a sentence; "" without errors.

    Of a gene with the median standard error: with 80 % power, at the p-value that the smallest of all genes with an
    adjusted p-value must reach for the false discovery rate (alpha / genes, Benjamini and Hochberg's first step).
    """
    from scipy import stats

    tested = table.dropna(subset=["p_adj", "lfc_se"])
    if not len(tested):
        return ""
    curve = stats.t(float(tested["df"].median())) if "df" in tested else stats.norm
    size = (curve.isf(alpha / len(tested) / 2) + curve.ppf(0.8)) * float(tested["lfc_se"].median())
    return f"; in a {noun} of median precision a change of {2**size:.3g}-fold would have been found with 80 % power"


def leading_changes(table, significant, count, direction, by_size):
    """Return the places of the features that are named, and what they are the first of, in words.

    Args:
        table: one row a feature, best first.
        significant: whether each passes.
        count: how many are named.
        direction: `up` or `down` for changes of one side, else `both`.
        by_size: whether the largest changes among those that pass are the first, not the smallest p-values.
    """
    change = table["log2_fold_change"]
    side = {"up": change > 0, "down": change < 0}.get(direction, change.notna())
    word = {"up": "increases", "down": "decreases"}.get(direction, "changes")
    if by_size and (significant & side).any():
        places = list(change[significant & side].abs().sort_values(ascending=False, kind="stable").index[:count])
        return places, f"the {len(places)} largest of these {word}"
    places = list(table.index[side][:count])
    of = f" among the {word}" if word != "changes" else ""
    return places, f"the {len(places)} with the smallest p-values{of}"


def counted_changes(n_up, n_down, n_tested, many, treated, control, level, direction):
    """Return how the first sentence begins: how many features differ, or change to the side that is asked about."""
    if direction == "both":
        return (
            f"{n_up + n_down:,} of {n_tested:,} tested {many} differ between {treated} and {control}{level}: "
            f"{n_up:,} higher and {n_down:,} lower in {treated} than in {control}"
        )
    asked, word, others, other = (
        (n_up, "higher", n_down, "lower") if direction == "up" else (n_down, "lower", n_up, "higher")
    )
    verb = "is" if asked == 1 else "are"
    return (
        f"{asked:,} of {n_tested:,} tested {many} {verb} {word} in {treated} than in {control}{level} "
        f"({others:,} {'is' if others == 1 else 'are'} {other})"
    )


def told_changes(
    table, sizes, condition, treated, control, held, *,
    alpha, min_abs_lfc, named, direction, by_size, genes, threshold, n_tested, noun="gene", unit="normalised reads",
    apart="",
):  # fmt: skip
    """Return the findings on a table of changes and warnings: how many differ, then the clearest and those asked for.

    Args:
        table: one row a feature, best first, as `ranked_changes` gives it.
        sizes: level -> its number of samples.
        condition: the column that is compared by.
        treated: the level of interest.
        control: the level it is compared with.
        held: the columns adjusted for.
        alpha: the false discovery rate.
        min_abs_lfc: log2 fold change by which features are counted; the test itself is of any difference.
        named: how many features the first sentence names; 0: the clearest three each way.
        direction: `up` or `down` where one side is asked about, else `both`.
        by_size: whether the named are the largest changes, not those of the smallest p-values.
        genes: features to tell of whatever their rank.
        threshold: what the test asks beyond a difference, in words.
        n_tested: number of features tested.
        noun: what a feature is.
        unit: the unit of `base_mean`.
        apart: what no fold change can tell, as the end of the first sentence.
    """
    import numpy as np

    warnings, many = [], f"{noun}s"
    significant = table["p_adj"] < alpha
    up = int((significant & (table["log2_fold_change"] > 0)).sum())
    down = int((significant & (table["log2_fold_change"] < 0)).sum())
    adjusted = f", adjusted for {name_some(held)}" if held else ""
    # The clearest both ways: by p alone all of them may be on one side.
    change, symbols = table["log2_fold_change"], table.get("symbol", table["feature"])
    names = symbols.mask(symbols == "").fillna(table["feature"])
    sides = {"higher": table.index[significant & (change > 0)], "lower": table.index[significant & (change < 0)]}
    if direction != "both":
        word = "higher" if direction == "up" else "lower"
        sides = {word: sides[word]}
    clearest = "".join(
        f"; most clearly {word} {', '.join(names[at] for at in places[:3])}"
        for word, places in sides.items()
        if len(places)
    )
    # The first rows of the table are not those that are asked about.
    aside = direction != "both" or (named > 0 and by_size)
    told = sorted(place for places in sides.values() for place in places[: 10 // len(sides)])
    if named:
        leading, first_of = leading_changes(table, significant, named, direction, by_size)
        clearest = (
            f"; {first_of}, with log2 fold change: {', '.join(f'{names[at]} {change[at]:+.2f}' for at in leading)}"
        )
        told = leading if aside else told
    large = significant & (change.abs() >= min_abs_lfc)
    n_large_up, n_large_down = int((large & (change > 0)).sum()), int((large & (change < 0)).sum())
    level = f"{threshold} at a false discovery rate of {100 * alpha:g} %"
    counted = counted_changes(up, down, n_tested, many, treated, control, level, direction)
    larger = []
    if min_abs_lfc > 0:
        counted = (
            f"{up + down:,} of {n_tested:,} tested {many} differ between {treated} and {control}{level}: "
            f"{n_large_up + n_large_down:,} of them by at least {2**min_abs_lfc:.3g}-fold, {n_large_up:,} higher and "
            f"{n_large_down:,} lower in {treated} than in {control}"
        )
        larger = [
            {"name": "n_large_up", "value": n_large_up, "unit": many},
            {"name": "n_large_down", "value": n_large_down, "unit": many},
        ]
    unseen = "" if up + down else detectable_change(table, alpha, noun)
    findings = [
        {
            "text": f"{counted}{clearest} "
            f"({condition}: n = {sizes[treated]} {treated}, n = {sizes[control]} {control}{adjusted}){unseen}{apart}.",
            "values": [
                {"name": "n_significant", "value": up + down, "unit": many},
                {"name": "n_up", "value": up, "unit": many},
                {"name": "n_down", "value": down, "unit": many},
                *larger,
                {"name": "n_tested", "value": n_tested, "unit": many},
                {"name": "n_treated", "value": int(sizes[treated]), "unit": "samples"},
                {"name": "n_control", "value": int(sizes[control]), "unit": "samples"},
                {"name": "alpha", "value": float(alpha)},
            ],
            "output": "de_table",
            "first": len(leading) if named and not aside else 0,
            "told_only": aside and bool(told),
        }
    ]
    found, lost = find_genes(table["feature"], table.get("symbol", table["feature"]), genes)
    if lost:
        warnings.append(f"Not among the tested {many}: {name_some(lost, 10)}.")
    widths = error_widths(table)
    for position in [*(position for position in told if position not in found), *list(found)[:4]]:
        row = table.loc[position]
        lfc, p_adj = float(row["log2_fold_change"]), float(row["p_adj"])
        if not np.isfinite(lfc):
            continue
        low, high = lfc - widths[position] * row["lfc_se"], lfc + widths[position] * row["lfc_se"]
        side = f"is {'higher' if lfc > 0 else 'lower'} in {treated} than in {control}"
        judged = f"adjusted p {format_p(p_adj)}"
        if np.isfinite(p_adj) and not p_adj < alpha:
            side = f"is not shown to differ between {treated} and {control}"
            judged = f"95 % CI {low:+.2f} to {high:+.2f}; {judged}"
        if not p_adj < alpha:
            judged += ", not significant" if np.isfinite(p_adj) else ": no judgement possible"
        values = [
            {"name": "log2_fold_change", "value": lfc, "unit": "log2", "low": float(low), "high": float(high)},
            {"name": "base_mean", "value": float(row["base_mean"]), "unit": unit},
        ]
        if np.isfinite(p_adj):
            values.append({"name": "p_adj", "value": p_adj})
        findings.append(
            {
                "text": f"{gene_label(row)} {side}: log2 fold change {lfc:+.2f} ({judged}).",
                "values": values,
                "output": "de_table",
                "row": {"feature": row["feature"]},
                "asserts": changed_by(treated, row) if p_adj < alpha else None,
            }
        )
    if not (up + down):
        warnings.append(f"No {noun} passes: with few replicates this does not show that nothing changes.")
    return findings, warnings
