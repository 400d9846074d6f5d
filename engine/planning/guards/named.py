"""Guards of what must be named or given: rows, formulas, genes, cells, samples."""

from __future__ import annotations

import re

from engine.domain.datatypes import DataType
from engine.errors import PlanError
from engine.planning.binding.bound import Bound
from engine.planning.binding.ordering import fill_order
from engine.planning.formulas.formula import propose
from engine.planning.guards.case import Case, guard
from engine.planning.reading.reading import Reading, Restriction
from engine.planning.tables.samples import sample_sheet
from engine.planning.tables.sheets import is_number


@guard
def rows_named(case: Case) -> None:
    """Settle the order of rows, and refuse to choose rows when the words do not say which."""
    fill_order(case.bound, case.reading, case.data)
    ordered = case.bound.of_role("sort")
    told = any(case.bound.params.get(param.name) for param in case.bound.spec.params if param.role == "rows")
    if not case.bound.rows and not ordered and not told:
        names = ", ".join(c.name for c in case.data.columns()[:12])
        raise PlanError(
            "The question does not say which rows to keep.",
            advice=f"Name a column and a value; the columns are {names}.",
        )


@guard
def formula_named(case: Case) -> None:
    """Settle the formula of a new column, and refuse to compute one when the words do not say how."""
    params = {p.role: p.name for p in case.bound.spec.params if p.role in ("formula", "new_name")}
    if case.bound.params.get(params["formula"]):
        return
    found, problem = propose(case.reading, case.data)
    if found is None:
        message = "The question asks for a new column but does not say how it is computed."
        advice = problem or "Write the formula with the columns' names, for example `weight / height ** 2`."
        raise PlanError(message, advice=advice)
    case.bound.params |= {params["new_name"]: found[0], params["formula"]: found[1]}
    if re.search(r"[<>]", found[1]):  # a mark for each row, which is about all rows
        case.bound.rows = [item for item in case.bound.rows if f"`{item.column}`" not in found[1]]


@guard
def genes_are_named(case: Case) -> None:
    """Refuse to show genes when none is named."""
    if not case.reading.genes:
        message = "The question names no gene that these data have."
        raise PlanError(message, advice="Write gene symbols or ids as they stand in the file.")


_FEATURES = re.compile(
    r"\b(?:which|what|any|all|each|every|are there|how many|find|list|show)\s+(?:of\s+)?(?:(?:the|my|our)\s+)?(?:\w+\s+)?"
    r"(genes?|proteins?|transcripts?|peptides?|metabolites?|mirnas?|probes?|features?)\b",
    re.IGNORECASE,
)


_OF_FEATURES = frozenset({DataType.COUNT_MATRIX, DataType.EXPRESSION_MATRIX})


@guard
def one_feature(case: Case) -> None:
    """Refuse to relate the columns of a sample sheet where each gene or protein of another file is to be related to one of them.

    A second column of the sheet, or the groups of a comparison that no word names, are not what was asked.
    """
    said = _FEATURES.search(case.reading.question)
    files = [s for s in case.data.sheets if s.profile.best and s.profile.best.type in _OF_FEATURES]
    if said is None or not files or case.reading.genes:
        return
    groups = case.bound.of_role("condition", "group")
    sheet = case.bound.sheet
    named = [c for n in case.reading.named() if sheet and (c := sheet.column(n)) and is_number(c)]
    numbers = [c.name for c in named if sheet and c.distinct > 2 and 2 * c.distinct > (sheet.profile.rows or 0)]
    related = [n for n in numbers if not case.reading.is_a(n, "adjust")]
    if related and (case.bound.missing or (groups and not any(case.reading.strength(n) for n in groups))):
        one = said[1].lower().removesuffix("s")
        raise PlanError(
            f"No tool of this version relates each {one} of {files[0].name} to {related[0]!r}, a number of each sample.",
            advice=f"Groups of samples can be compared for every {one}: name a column of groups, or one with {related[0]!r} cut in two. "
            f"One {one} can be related to {related[0]!r} when it is a column of the samples.",
        )


@guard
def cells_given(case: Case) -> None:
    """Refuse to leave out cells silently: no step cuts single-cell data down; a kind of cells is shown among all kinds."""
    param = next((p for p in case.bound.spec.params if p.role == "label" and p.made_by), None)
    for item in list(case.bound.rows):
        if param is not None and item.op == "in" and case.bound.params.get(param.name, item.column) == item.column:
            case.bound.params[param.name] = item.column
            case.bound.rows.remove(item)
            case.notes.append(
                f"{', '.join(item.values)} is one of the groups of {item.column!r}; all of them are shown."
            )
    rows_of_samples(case)


@guard
def rows_of_samples(case: Case) -> None:
    """Refuse to leave out samples or cells silently, where no step cuts the data down to some of them."""
    if case.bound.rows:
        raise rows_refused(case.bound.rows[0], case.reading)
    out = re.search(r"\b(?:excluding|exclude|except(?: for)?|without|leav\w+ out|omit\w*|drop\w*)\s+(?:the\s+)?(?:sample|cell|donor|patient)s?\s+\S+", case.reading.question, re.IGNORECASE)  # fmt: skip
    words, done = case.reading.words, [r for r in case.reading.restrictions if r.op == "not in"]
    if out and not any(out.start() < words[r.last].end and words[r.first].start < out.end() for r in done):
        message = f"The question leaves out part of the data ({out.group(0)!r}), which this kind of analysis cannot do by itself."
        raise PlanError(
            message, advice="Leave it out of the file (of both files, where there are two) and ask about what is left."
        )


_EFFECT = r"(?:response|effect|induction|reaction|change|benefit|impact)s?"
_OF_WHAT = re.compile(
    rf"\b{_EFFECT}\s+(?:(?:of|to|by|upon|on|after|with)\s+)?(?:the\s+)?(?:treatment\s+)?$", re.IGNORECASE
)
_WHOSE = re.compile(rf"^(?:'s)?[\s-]+(?:treatment\s+)?{_EFFECT}\b", re.IGNORECASE)


def require_no_effect_kept(bound: Bound, reading: Reading) -> None:
    """Refuse to keep the treated samples only where it is asked whether their response differs: the untreated belong to it.

    `is the SA response different in npr1 than in Col` sets two differences against each other, feature by feature.

    Raises:
        PlanError: when the words speak of the effect of the level that samples would be kept of.
    """
    groups = bound.of_role("group", "condition")
    for item in bound.rows:
        if item.sure or item.op != "in" or item.last < item.first or item.column in groups or len(item.values) != 1:
            continue
        before = reading.question[: reading.words[item.first].start]
        after = reading.question[reading.words[item.last].end :]
        if _OF_WHAT.search(before) or _WHOSE.match(after):
            groups_said = groups[0] if groups else "groups"
            raise PlanError(
                f"The question asks whether the effect of {item.values[0]!r} differs between levels of {groups_said!r}, for each "
                "feature: no tool of this version sets two differences against each other.",
                advice=f"Ask for the effect of {item.values[0]!r} in each level of {groups_said!r} by itself.",
            )


def rows_refused(rows: Restriction, reading: Reading) -> PlanError:
    """Return the error for a question about some of the samples or cells of data that no step cuts down."""
    told = rows.last < rows.first  # by a reader, who names no words of the question
    said = f"{rows.column} {rows.op} {', '.join(map(str, rows.values))}" if told else ""
    said = said or reading.question[reading.words[rows.first].start : reading.words[rows.last].end]
    message = f"The question leaves out part of the data ({said!r}), which this kind of analysis cannot do by itself."
    advice = "Leave the others out of the file (of both files, where there are two) and ask about what is left."
    return PlanError(message, advice=advice)


@guard
def samples_match(case: Case) -> None:
    """Find out early when no sample of the matrix is in the sheet."""
    sample_sheet(case.data)


@guard
def markers_circular(case: Case) -> None:
    """Say that the same cells made the groups and are compared."""
    case.warnings.append(
        "P-values of markers are too small to be taken literally: the same cells defined the groups and are compared here."
    )
