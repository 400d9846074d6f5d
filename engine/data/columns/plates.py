"""Plates that stand in a workbook as on the bench: rows A to H by columns 1 to 12, with a layout on another sheet.

One row a well is what every analysis of a plate needs. The layout is a grid of the same form, or a list such as
`col 3 | drug 30 uM`.
"""

from __future__ import annotations


def unfolded(frame, path, plate):
    """Return one row a well of a plate: well, row, column, reading, and what its contents say.

    `plate` holds the sheet of the `layout` and what the readings are called (`value`). Contents such as `Std 62.5` give
    a column `standard`, such as `drug 30 uM` a column `dose_uM` with 0 for what is called a vehicle; what is neither is
    a `sample`. Numbers of standards that only count (1, 2, 3 ...) are no amounts.
    """
    import re

    import pandas as pd

    said = wells_said(pd.read_excel(path, sheet_name=plate["layout"], header=None, dtype=str))
    value, rows = plate["value"], []
    for cells in frame.itertuples(index=False):
        letter = str(cells[0]).strip().upper()
        for name, cell in zip(frame.columns[1:], cells[1:], strict=True):
            number = str(name).strip().removesuffix(".0")
            well, empty = f"{letter}{number}", cell != cell or cell is None
            if re.fullmatch(r"[A-P]\d+", well) and not (empty and well not in said):
                what = {value: None if empty else cell, "content": said.get(well)}
                rows.append({"well": well, "row": letter, "column": int(number), **what})
    made = pd.DataFrame(rows)
    both = made["content"].fillna("").astype(str).str.partition(" | ")
    if (both[2] != "").any():  # what whole columns and whole rows hold
        made["content"], made["group"] = both[0], both[2]
    return with_contents(made)


def wells_said(rows):
    """Return well -> what the rows of a layout say is in it; a list names whole columns and rows (`what | whose`)."""
    import re

    letters, said, heads = "ABCDEFGHIJKLMNOP", {}, []
    for cells in rows.itertuples(index=False):
        texts = ["" if cell != cell or cell is None else str(cell).strip() for cell in cells]
        numbers = [text.removesuffix(".0") for text in texts[1:]]
        given = [n for n in numbers if n]
        place = re.fullmatch(r"(cols?|columns?|rows?)\.?\s*([A-P]|\d{1,2})(?:\s*(?:-|–|to|bis)\s*([A-P]|\d{1,2}))?",
                             texts[0], re.IGNORECASE)  # fmt: skip
        if given and given == [str(k + 1) for k in range(len(given))] and numbers[0] == "1":
            heads = numbers
        elif heads and re.fullmatch("[A-P]", texts[0].upper()):
            own = zip(heads, texts[1:], strict=True)
            said.update({f"{texts[0].upper()}{n}": text for n, text in own if n and text})
        elif place and len(texts) > 1 and texts[1]:
            kind, first, last = place[1].lower(), place[2].upper(), (place[3] or place[2]).upper()
            if kind.startswith("c") and first.isdigit() and last.isdigit():
                wells = [f"{a}{n}" for a in letters for n in range(int(first), int(last) + 1)]
                said.update({well: f"{texts[1]} | {said[well]}" if well in said else texts[1] for well in wells})
            elif kind.startswith("r") and first in letters and last in letters:
                span = letters[letters.index(first) : letters.index(last) + 1]
                wells = [f"{a}{n}" for a in span for n in range(1, 25)]
                said.update({well: f"{said[well]} | {texts[1]}" if well in said else texts[1] for well in wells})
    return said


def with_contents(made):
    """Return the wells of a plate with the amounts that their contents name in columns of their own."""
    import re

    texts = made["content"].fillna("").astype(str)
    standard = texts.str.extract(r"(?i)^(?:std|standard|cal|calibrator)s?\.?[\s_-]*(\d+(?:[.,]\d+)?)", expand=False)
    amounts = standard.dropna().str.replace(",", ".").astype(float)
    kinds = sorted(set(amounts))
    if len(kinds) >= 3 and kinds != [float(k) for k in range(int(kinds[0]), int(kinds[0]) + len(kinds))]:
        made["standard"] = amounts.reindex(made.index)
    doses = texts.str.extract(r"^(.*?)[\s_]*(\d+(?:[.,]\d+)?)\s*([pnuµmμ]?M|[pnuµmμ]?g/[mu]?[lL])\b")
    doses = doses[doses[2].notna() & standard.isna()]
    unit = doses[2].mode()
    known = doses[doses[2] == unit.iloc[0]] if len(unit) else doses
    if known[1].nunique() >= 3 and known[1].nunique() < len(known):
        name = "dose_" + re.sub(r"[µμ]", "u", unit.iloc[0])
        made[name] = known[1].str.replace(",", ".").astype(float).reindex(made.index)
        none = texts.str.contains(r"(?i)\b(?:dmso|vehicle|veh|untreated|solvent|no drug)\b") & made[name].isna()
        made.loc[none, name] = 0.0
        if known[0].nunique() > 1:
            made["treatment"] = known[0].str.strip().reindex(made.index)
    counted = made[[name for name in made if name == "standard" or name.startswith("dose_")]].notna().any(axis=1)
    made["sample"] = made.pop("content").where(~counted & (texts != ""))
    return made if made["sample"].notna().any() else made.drop(columns="sample")
