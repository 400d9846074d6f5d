"""What the tools of communities share: how a table of taxa is read, summed at a rank, and put beside its samples."""

from __future__ import annotations

from engine.toolbox.bulk_rna.common import match_samples, name_some
from engine.toolbox.tables.columns import (
    in_a_row,
    known_reference,
    level_labels,
    likely_control,
    order_levels,
    require_columns,
)


def lineage_names(text):
    """Return rank -> name of a lineage such as `k__Bacteria;p__Firmicutes;g__Blautia`, without what has no name.

    Without marks of ranks (`Bacteria;Firmicutes;...`) the places tell them.
    """
    import re

    ranks = ("kingdom", "phylum", "class", "order", "family", "genus", "species")
    by_letter = {"d": "kingdom", "t": "strain"} | {rank[0]: rank for rank in ranks}
    found = {}
    for place, part in enumerate(re.split(r"\s*[;|]\s*", str(text).strip())):
        marked = re.match(r"([a-z])_{1,2}(.*)$", part)
        rank = by_letter.get(marked[1], "") if marked else ranks[place] if place < len(ranks) else ""
        name = (marked[2] if marked else part).strip()
        if (
            rank
            and name
            and not re.fullmatch(r"(na|nan|none|unclassified|unassigned|uncultured|unknown|_+)", name, re.I)
        ):
            found[rank] = name
    return found


def taxa_called(header, rank):
    """Return what the rows of a table of taxa are called in the plural: `genera`, `OTUs`, `taxa`."""
    import re

    many = {
        "kingdom": "kingdoms", "phylum": "phyla", "class": "classes", "order": "orders", "family": "families",
        "genus": "genera", "genera": "genera", "species": "species", "phyla": "phyla", "otu": "OTUs", "zotu": "OTUs",
        "asv": "ASVs",
    }  # fmt: skip
    word = re.sub(r"[^a-z]+(ids?|names?)?$", "", str(header).strip(" #").lower()) if rank == "as_given" else rank
    return many.get(word, "taxa")


def nested_rows(names, rank):
    """Return which rows of a table that lists every rank in turn are of one rank, and that rank; None for other tables.

    MetaPhlAn lists `k__Bacteria`, `k__Bacteria|p__Firmicutes` and so on: their shares contain each other.
    """
    parents = {name.rpartition("|")[0] for name in names if "|" in name}
    if not parents & set(names):
        return None
    own = [list(lineage_names(name)) for name in names]
    depth = [name.count("|") for name in names]
    ranks = [ranked[-1] if ranked else "" for ranked in own]
    wanted = rank if rank != "as_given" else "species" if "species" in ranks else ranks[depth.index(max(depth))]
    kept = [of == wanted and deep == len(ranked) - 1 for of, deep, ranked in zip(ranks, depth, own, strict=True)]
    if not any(kept):
        raise ValueError(
            f"No row of the table is of the rank {wanted}; it has {name_some(sorted({*ranks} - {''}), 8)}."
        )
    return kept, wanted


def taxa_table(table, rank):
    """Return taxa x samples as numbers of 0 or more, what the taxa are called in the plural, and what was changed.

    Args:
        table: counts or shares of taxa, one row a taxon.
        rank: the rank at which rows are summed, `as_given` for the rows as they stand.
    """
    import numpy as np
    import pandas as pd

    if table.shape[0] < 1 or table.shape[1] < 1:
        raise ValueError(
            f"The table of taxa has {table.shape[0]} rows and {table.shape[1]} samples: expected taxa in rows and "
            "samples in columns; check how the file was read."
        )
    doubled = table.columns[table.columns.duplicated()].unique()
    if len(doubled):
        raise ValueError(
            f"The table of taxa has more than one column for sample {name_some(doubled)}: expected one column a "
            "sample; rename or merge them."
        )
    try:
        values = table.to_numpy(dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The table of taxa holds text ({error}): expected counts or shares only; correct those cells."
        ) from error
    notes, empty = [], int(np.isnan(values).sum())
    if empty:
        notes.append(f"{empty} empty cells of the table of taxa are read as 0: not found.")
    values = np.nan_to_num(values, nan=0.0, posinf=np.inf, neginf=-np.inf)
    for mask, what in ((~np.isfinite(values), "infinite"), (values < 0, "negative")):
        if mask.any():
            row, column = np.argwhere(mask)[0]
            raise ValueError(
                f"The table of taxa has {int(mask.sum())} {what} values (first of {table.index[row]!r} in sample "
                f"{table.columns[column]!r}): expected counts or relative abundances of 0 or more, before any "
                "logarithm or centring."
            )
    names, header = [str(name).strip() for name in table.index], table.index.name
    frame = pd.DataFrame(values, index=names, columns=[str(name) for name in table.columns])
    given = table.attrs.get("lineages", {})
    lineages = [
        str(given.get(name, "")) or (name if ";" in name or "|" in name or "__" in name else "") for name in names
    ]
    nested = nested_rows(names, rank)
    if nested is not None:
        kept, rank = nested
        frame, lineages = frame[kept], [text for text, keep in zip(lineages, kept, strict=True) if keep]
        notes.append(
            f"The table lists every rank, and these contain each other: only the {len(frame)} rows of the rank {rank} "
            "are used."
        )
    noun = taxa_called(header, rank)
    if rank != "as_given" and not any(lineages) and noun != taxa_called(header, "as_given"):
        own = taxa_called(header, "as_given")
        if own != "taxa":
            raise ValueError(
                f"The rows of the table are {own} without lineages, so they cannot be summed to {noun}; give a table "
                "with a column of lineages, or of the rank asked for."
            )
        notes.append(f"The table has no lineages: its rows are taken as the {noun} they are named after.")
    labels = []
    for name, text in zip(frame.index, lineages, strict=True):
        known = lineage_names(text) if text else {}
        last = next(reversed(known.values()), "")
        if text and rank != "as_given":
            labels.append(known.get(rank, f"unclassified {last}".strip()))
        elif text == name or len(name) > 20:
            labels.append(f"{last} ({name[:6]})" if text != name and last else last or name)
        else:
            labels.append(name)
    if rank == "as_given":
        seen = pd.Series(labels)
        twice = seen.duplicated(keep=False) & ~pd.Series(list(frame.index)).duplicated(keep=False)
        labels = [
            f"{label} ({at + 1})" if more else label for at, (label, more) in enumerate(zip(labels, twice, strict=True))
        ]
    frame.index = pd.Index(labels, name="taxon")
    if frame.index.has_duplicates:
        if rank == "as_given":
            repeated = frame.index[frame.index.duplicated()].unique()
            notes.append(f"{len(repeated)} taxa stand on several rows ({name_some(repeated)}); these were added up.")
        frame = frame.groupby(level=0, sort=False).sum()
    return frame, noun, notes


def with_reads(frame):
    """Return the samples in which something was found, and a note on the others."""
    total = frame.sum(axis=0)
    empty = list(total.index[total == 0])
    if len(empty) == len(total):
        raise ValueError("No sample has any taxon: every value is 0; check how the file was read.")
    notes = [f"Samples in which nothing was found are left out: {name_some(empty)}."] if empty else []
    return frame.drop(columns=empty), notes


def shares_of(frame):
    """Return the share of each taxon in the total of its sample."""
    return frame / frame.sum(axis=0)


def are_counts(frame):
    """Say whether all values are whole numbers, and not only presence."""
    values = frame.to_numpy()
    return bool((values % 1 == 0).all()) and float(values.max(initial=0.0)) > 1


def small_samples(frame):
    """Return a warning on samples with far fewer reads than the others, [] where there are none."""
    total = frame.sum(axis=0)
    usual = float(total.median())
    small = total[total < 0.1 * usual]
    if not are_counts(frame) or not len(small):
        return []
    named = name_some([f"{name} ({int(reads):,})" for name, reads in small.items()])
    return [
        f"Fewer than a tenth of the usual {usual:,.0f} reads: {named}; what is rare is missed there, so the richness "
        "of such samples is too low. They can be left out by name."
    ]


def beside_samples(frame, samples, columns):
    """Return the taxa and the sheet of the samples that are in both and have a value in `columns`, and notes.

    Labels of `columns` are text; 1 and 1.0 are one level.
    """
    sheet, notes = match_samples(frame.columns, samples)
    columns = [column for column in columns if column]
    require_columns(sheet, columns)
    sheet = sheet.copy()
    for column in columns:
        sheet[column] = level_labels(sheet[column])
        missing = sheet.index[sheet[column].isna()]
        if len(missing):
            notes.append(f"Left out, having no value of {column}: {name_some(missing)}.")
            sheet = sheet.drop(index=missing)
    return frame[list(sheet.index)], sheet, notes


def reference_like(levels):
    """Return the level that reads like a control, or ""; standard food is the control of a diet."""
    usual = [level for level in levels if level.casefold() in ("chow", "standard", "nd", "ncd", "lfd")]
    return likely_control(levels) or (usual[0] if len(usual) == 1 else "")


def levels_shown(labels):
    """Return the levels of groups that are described, the one that reads like a control first."""
    levels = order_levels(labels)
    first = reference_like(levels)
    return [*([first] if first else []), *(level for level in levels if level != first)]


def levels_compared(labels, group, interest, reference):
    """Return the levels that are compared, the reference last, and a note on those left out.

    Of all levels where none is named; the one that reads like a control is the reference.
    """
    from_data = order_levels(labels)
    chosen = []
    for level in (interest, reference):
        if level:
            chosen.append(known_reference(str(level).strip().removesuffix(".0"), from_data, group))
    if len(chosen) == 2 and chosen[0] == chosen[1]:
        raise ValueError(f"Both sides of the comparison are {chosen[0]!r}; expected two different levels of {group!r}.")
    if len(chosen) == 2:
        left = [level for level in from_data if level not in chosen]
        return chosen, [f"Samples of other levels of {group} are left out: {name_some(left)}."] if left else []
    if chosen:  # one side is told, the others are compared with it
        rest = [level for level in from_data if level not in chosen]
        return ([*chosen, *rest] if interest else [*rest, *chosen]), []
    usual = reference_like(from_data)
    return [level for level in from_data if level != usual] + ([usual] if usual else []), []


def clr_of(frame, pseudocount):
    """Return centred log ratios (base 2) of the taxa of each sample, after adding the pseudocount to every value."""
    import numpy as np

    logs = np.log2(frame + pseudocount)
    return logs - logs.mean(axis=0)


def pseudocount_of(frame, chosen):
    """Return what is added before logarithms, and how that is told: 0.5 read of counts, of shares half the smallest."""
    import numpy as np

    if chosen > 0:
        return float(chosen), f"{chosen:g} added to every value"
    if are_counts(frame):
        return 0.5, "0.5 added to every count"
    values = frame.to_numpy()
    least = float(np.min(values[values > 0])) / 2
    return least, f"half the smallest share above 0 ({least:.2g}) added to every share"


def samples_and_groups(taxa, samples, group, unit, rank):
    """Return a table of taxa with reads in every sample, its list of samples or None, what a row is, and warnings.

    Raises:
        ValueError: where groups are asked for and no list says them.
    """
    frame, noun, warnings = taxa_table(taxa, rank)
    if group and samples is None:
        raise ValueError(f"Groups are asked for ({group!r}), and there is no list of the samples; add one.")
    sheet = None
    if samples is not None:
        frame, sheet, notes = beside_samples(frame, samples, [group, unit])
        warnings += notes
    frame, notes = with_reads(frame)
    return frame, sheet, noun, [*warnings, *notes, *small_samples(frame)]


def samples_compared(taxa, samples, group, unit, treated, control, rank):
    """Return a table of taxa of the groups that are compared, its list of samples, the groups, what a row is, warnings.

    Raises:
        ValueError: where all samples are of one group.
    """
    frame, noun, warnings = taxa_table(taxa, rank)
    frame, sheet, notes = beside_samples(frame, samples, [group, unit])
    warnings += notes
    levels, notes = levels_compared(sheet[group], group, treated, control)
    warnings += notes
    if len(levels) < 2:
        raise ValueError(f"All samples have one value of {group!r} ({in_a_row(levels)}): nothing to compare.")
    sheet = sheet[sheet[group].isin(levels)]
    frame, notes = with_reads(frame[list(sheet.index)])
    warnings += [*notes, *small_samples(frame)]
    return frame, sheet.loc[list(frame.columns)], levels, noun, warnings
