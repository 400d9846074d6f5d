"""Why a mapping is checked before it is used: an id that is lost, doubled or merged changes every count after it."""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import finding_values, level_labels, plain_table, require_columns
from engine.toolbox.tables.joins import folded_key


@check("mapped_ids_counted")
def mapped_ids_counted(step: StepOutputs) -> Iterator[Issue]:
    """Rows with a new id are as many as the finding says, and ids with and without one add up to all."""
    import pandas as pd

    summary = step.table("mapping_summary").iloc[0]
    # As text: an id may read NA, which is no gap.
    mapped = pd.read_csv(step.files["mapped"], dtype=str, keep_default_na=False)[str(summary["new_column"])]
    if int((mapped != "").sum()) != summary["rows_mapped"]:
        message = f"{int((mapped != '').sum())} rows have a new id, but {summary['rows_mapped']} are reported."
        yield Issue(code="mapped_differs", severity="error", message=message, where="mapped")
    if summary["ids_mapped"] + summary["ids_not_mapped"] != summary["ids"]:
        message = f"Ids with and without a new one do not add up to the {summary['ids']} there are."
        yield Issue(code="mapped_differs", severity="error", message=message, where="mapping_summary")


def mapping_columns(mapping, keys, old, new):
    """Return the columns of a mapping that hold the old and the new ids; what is not named is told by the values."""
    names = [str(name) for name in mapping.columns]
    if not old:
        shared = {name: level_labels(mapping[name]).isin(keys).sum() for name in names if name != new}
        old = max(shared, key=shared.get) if shared and max(shared.values()) else ""
    if not old:
        shown = ", ".join(sorted(keys)[:3])
        raise ValueError(f"No column of the mapping ({', '.join(names[:8])}) holds any of the ids to translate, such "
                         f"as {shown}; expected one with the old and one with the new ids. Is their spelling the "
                         "same?")  # fmt: skip
    rest = [name for name in names if name != old]
    if not new and len(rest) != 1:
        raise ValueError(f"The mapping has {len(rest)} columns beside {old!r}: {', '.join(rest[:8]) or 'none'}; name "
                         "the one with the new ids (new).")  # fmt: skip
    new = new or rest[0]
    if new == old:
        raise ValueError(f"Old and new ids are both taken from {old!r}; expected two columns of the mapping.")
    return old, new


def id_problems(ids, targets):
    """Return one row for every id that is not translated one to one: what is wrong and how many rows it has."""
    rows = ids.value_counts(sort=False)
    spelt = {folded_key(key): key for key in targets}
    back = {}
    for key, found in targets.items():
        for target in found:
            back.setdefault(target, []).append(key)
    problems = []
    for key, count in rows.items():
        found, near = targets.get(key, []), spelt.get(folded_key(key), "")
        if not found:
            what = "has no new id in the mapping" if key in targets else "not in the mapping"
            hint = f"the mapping has {near}" if near and near != key else ""
            problems.append({"id": key, "rows": int(count), "problem": what, "new_ids": hint})
        elif len(found) > 1:
            problems.append({"id": key, "rows": int(count), "problem": "several new ids", "new_ids": ", ".join(found)})
        others = [other for target in found for other in back[target] if other != key and other in rows.index]
        if others:
            problems.append({"id": key, "rows": int(count), "problem": "shares its new id",
                             "new_ids": f"{', '.join(found)} with {', '.join(dict.fromkeys(others))}"})  # fmt: skip
    return problems


def counted(number, noun):
    """Return a number with its noun, which gets an s unless there is one."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


@tool(
    name="map_ids",
    title="Translate ids by a mapping table",
    description=(
        "Translate a column of identifiers by a table of your own that has the old ids in one column and the new ones "
        "in another (old sample number -> new one, plate well -> strain, any id -> any other). Ids are compared as "
        "text without surrounding blanks, so 1, 1.0 and '1' match. Every row is kept; ids that are not in the mapping, "
        "have several new ids or share one are named. Of several new ids all are written, or none, the first, or a row "
        "each."
    ),
    domain="data handling",
    task_type="annotation",
    methods=(
        "look-up in the table of ids; no test",
    ),
    inputs={
        "table": "table: the table whose ids are translated",
        "mapping": "table: old ids and new ids, a row a pair",
    },
    input_words={"mapping": ["mapping", "map", "translation", "look.?up", "conversion", "key table", "cross.?walk"]},
    outputs={
        "mapped": "table: the same rows with the new ids beside the old ones",
        "mapping_summary": "table: how many rows and ids were translated",
        "problems": "table: ids without, with several or with a shared new id",
    },
    optional_outputs=("problems",),
    params={
        "column": param("Column with the ids to translate", kind="column", of="table", role="key"),
        "old": param("Column of the mapping with these ids; empty: the one whose values occur there", kind="column",
                     of="mapping", role="key", required=False),
        "new": param("Column of the mapping with the new ids; empty: the other one", kind="column", of="mapping",
                     role=""),
        "name": param("Name of the new column; empty: that of the mapping", role=""),
        "several": param("What an id with several new ids gets", choices=["all", "none", "first", "rows"],
                         words=["rows: row (?:each|for each|per)", "first: first one",
                                "none: leave (?:it|them) empty"]),
    },
    answers=["map_identifiers"],
    when=["said:\\b(?:mapping|look.?up|translation|conversion|cross.?walk|key)[ _-](?:table|file|sheet|list)\\b"],
    checks=("tables_not_empty", "findings_match_tables", "mapped_ids_counted"),
    keywords=("mapping table", "lookup table", "translate ids", "rename samples", "old id to new id", "recode ids",
              "identifier mapping", "cross-walk", "conversion table", "vlookup ids"),
    packages=("pandas",),
    seconds=1.0,
    example="Replace the old sample numbers by the new ones with the mapping table.",
)  # fmt: skip
def map_ids(table, mapping, *, column: str, old: str = "", new: str = "", name: str = "", several: str = "all"):
    """Translate the ids of a column by a mapping table.

    Raises:
        ValueError: when no id is in the mapping, its columns cannot be told apart, or the new column exists already.
    """
    import pandas as pd

    table, mapping = plain_table(table).copy(), plain_table(mapping)
    require_columns(table, [column])
    require_columns(mapping, [part for part in (old, new) if part])
    if several not in ("all", "none", "first", "rows"):
        raise ValueError(f"There is no way {several!r} for several new ids; expected all, none, first or rows.")
    ids = level_labels(table[column])
    if ids.notna().sum() == 0:
        raise ValueError(f"Column {column!r} has no values at all; expected ids to translate. Choose another column.")
    old, new = mapping_columns(mapping, set(ids.dropna()), old, new)
    name = str(name).strip() or (new if new not in table.columns else f"{new}_mapped")
    if name in table.columns:
        raise ValueError(f"The table already has a column {name!r}; choose another name so that no data is replaced.")
    targets = {}
    for key, target in zip(level_labels(mapping[old]), level_labels(mapping[new]), strict=True):
        if key is not None:
            found = targets.setdefault(key, [])
            if target is not None and target not in found:
                found.append(target)
    if not any(targets.get(key) for key in ids.dropna().unique()):
        spelt = {folded_key(key): key for key in targets}
        twin = next(((key, spelt[folded_key(key)]) for key in ids.dropna() if folded_key(key) in spelt), None)
        hint = f" {twin[0]} and {twin[1]} differ only in their spelling; make it the same." if twin else ""
        raise ValueError(f"None of the ids of {column!r} (for example {', '.join(ids.dropna().unique()[:3])}) has a "
                         f"new id in {old!r} (for example {', '.join(list(targets)[:3])}).{hint} Check both "
                         "columns.")  # fmt: skip
    chosen = {key: {"all": found, "rows": found, "first": found[:1], "none": found if len(found) == 1 else []}[several]
              for key, found in targets.items()}  # fmt: skip
    place, before = list(table.columns).index(column) + 1, len(table)
    if several == "rows":
        new_ids = pd.Series([chosen.get(key) or [None] for key in ids], index=table.index, dtype=object)
        table.insert(place, name, new_ids)
        table = table.explode(name, ignore_index=True)
    else:
        table.insert(place, name, [" / ".join(chosen.get(key, [])) or None for key in ids])
    problems = id_problems(ids, targets)
    lost, many, shared = ([row for row in problems if row["problem"] in names] for names in (
        ("not in the mapping", "has no new id in the mapping"), ("several new ids",),
        ("shares its new id",)))  # fmt: skip
    mapped, unique = int(table[name].notna().sum()), ids.dropna().nunique()
    warnings = []
    if lost:
        spelt = [row for row in lost if row["new_ids"]]
        warnings.append(f"{counted(len(lost), 'id')} ({counted(sum(row['rows'] for row in lost), 'row')}) without a "
                        f"new id stay empty: "
                        f"{', '.join(row['id'] for row in lost[:8])}{' ...' if len(lost) > 8 else ''}." + (
                            f" {len(spelt)} of them differ from one of the mapping only in their spelling "
                            f"({spelt[0]['id']}: {spelt[0]['new_ids']})." if spelt else ""))  # fmt: skip
    if ids.isna().any():
        warnings.append(f"{int(ids.isna().sum())} of {before} rows have no {column} and got no new id.")
    if many:
        row = many[0]
        fate = {"all": "all are written, parted by ' / '", "none": "they stay empty", "first": "the first was taken",
                "rows": f"a row was made for each, {len(table) - before} more rows in all"}[several]  # fmt: skip
        warnings.append(f"{counted(len(many), 'id')} with several new ids: {fate} (for example {row['id']}: "
                        f"{row['new_ids']}).")  # fmt: skip
    if shared:
        row = shared[0]
        warnings.append(f"{len(shared)} ids share a new id with another, so rows of different old ids now have one "
                        f"name (for example {row['id']}: {row['new_ids']}).")  # fmt: skip
    summary = {"column": column, "new_column": name, "rows": len(table), "rows_mapped": mapped, "ids": unique,
               "ids_mapped": unique - len(lost), "ids_not_mapped": len(lost),
               "ids_with_several": len(many), "ids_sharing": len(shared)}  # fmt: skip
    finding = {
        "text": f"{unique - len(lost)} of {unique} ids of {column} got a new id from {new} (in {mapped} of "
                f"{len(table)} rows); {len(lost)} have none, {len(many)} have several and {len(shared)} share one with "
                "another id.",
        "values": finding_values(**{key: summary[key] for key in ("ids", "ids_mapped", "ids_not_mapped", "rows_mapped",
                                                                  "ids_with_several", "ids_sharing")}),
        "output": "mapping_summary", "row": {"new_column": name},
    }  # fmt: skip
    return {
        "mapped": table,
        "mapping_summary": pd.DataFrame([summary]),
        "problems": pd.DataFrame(problems) if problems else None,
        "findings": [finding],
        "warnings": warnings,
    }
