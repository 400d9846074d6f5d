"""Guesses what part each column could play in an analysis, from its name, its values and the design.

A guess always says why, because a wrong one changes a result: the planner proposes, the user decides.
"""

from __future__ import annotations

import re

from engine.domain.profile import ColumnProfile, Role, RoleGuess
from engine.profiling.genes import GENE_HEADER
from engine.profiling.source import Frame

_GROUP = {
    "condition", "conditions", "treatment", "treat", "treated", "trt", "dex", "group", "groups", "genotype",
    "arm", "stage", "sex", "gender", "species", "strain", "tissue", "disease", "diagnosis", "phenotype",
    "class", "cluster", "state", "supp", "diet", "drug", "therapy", "phase", "response", "responder", "subtype",
    "celltype", "label", "labels", "louvain", "leiden", "timepoint", "island", "target", "horth", "menostat",
    "ecog", "infection", "knockout", "mutation", "status", "medium", "stimulus", "stimulation", "compound",
    "variety", "race",
}  # fmt: skip
_BATCH = {
    "batch", "run", "lane", "plate", "center", "centre", "site", "flowcell", "chip", "inst", "institution",
    "hospital", "library", "operator", "slide", "chemistry", "lot",
}  # fmt: skip
_PAIR = {
    "donor", "patient", "subject", "mouse", "individual", "pair", "animal", "participant", "cellline",
    "celltype", "litter", "twin", "block", "person", "case", "rat", "replicate", "family",
}  # fmt: skip
_TIME = {
    "time", "times", "days", "months", "years", "week", "weeks", "os", "pfs", "dfs", "rfs", "efs", "ttp",
    "futime", "duration", "t", "followup", "survtime", "survival", "rectime", "stime", "ttime", "lifetime",
    "tte",
}  # fmt: skip
_NOT_TIME = {
    "status", "event", "point", "cens", "code", "group", "indicator", "survived", "type",
}  # fmt: skip
_EVENT = {
    "status", "event", "events", "death", "dead", "died", "cens", "censor", "censored", "censoring", "delta",
    "fustat", "arrest", "e", "observed", "relapse", "recurrence", "vital", "progression", "failure", "deceased",
    "dth",
}  # fmt: skip
_COVARIATE = {
    "age", "sex", "gender", "bmi", "weight", "height", "smoking", "smoker", "race", "ethnicity", "rin", "grade",
    "karno", "wt", "fin", "prio", "mar", "bp", "dose", "year", "diagyr", "size", "tsize", "passage", "purity",
}  # fmt: skip
_COUNT = {
    "count", "counts", "n", "num", "number", "reads", "ncounts", "ngenes", "umi", "umis", "nnodes", "pnodes",
}  # fmt: skip
_ID = {
    "id", "ids", "sample", "samples", "sampleid", "samplename", "name", "rownames", "run", "accession",
    "barcode", "library", "geo", "srr", "gsm", "patientid", "key", "cell", "index",
}  # fmt: skip
_EVENT_WORDS = {
    "dead", "alive", "deceased", "living", "event", "censored", "died", "yes", "no", "true", "false", "relapse",
    "0:living", "1:deceased", "progressed", "none",
}  # fmt: skip


def words(name: str) -> set[str]:
    """Return the lower-case words of a column name, with the whole of it written together."""
    spaced = re.sub(r"([a-z])([A-Z])", r"\1 \2", name)
    parts = {part for part in re.split(r"[^A-Za-z]+", spaced.lower()) if part}
    return parts | {re.sub(r"[^a-z]", "", name.lower())}


def assign_roles(columns: list[ColumnProfile], frame: Frame) -> list[ColumnProfile]:
    """Return the columns with their guessed roles, most likely first."""
    rows = len(frame)
    guesses = {column.name: _by_name_and_values(column, rows) for column in columns}
    for name, pair in _pairs(columns, frame, guesses).items():
        # A column that pairs the samples is the second factor, not the one that is compared.
        guesses[name] = [
            g.model_copy(update={"confidence": min(g.confidence, 0.45)}) if g.role == "group" else g
            for g in guesses[name] if g.role != "pair"
        ] + [pair]  # fmt: skip
    for name in guesses:
        guesses[name].sort(key=lambda guess: -guess.confidence)
    return [column.model_copy(update={"roles": guesses[column.name]}) for column in columns]


def _by_name_and_values(column: ColumnProfile, rows: int) -> list[RoleGuess]:
    named = words(column.name)
    found = [
        _id(column, named, rows), _group(column, named, rows), _batch(column, named, rows),
        _pair_name(column, named, rows), _time(column, named), _event(column, named), _gene(column),
        _quantity(column, named, rows),
    ]  # fmt: skip
    return [guess for guess in found if guess is not None]


def _guess(role: Role, confidence: float, why: str) -> RoleGuess:
    return RoleGuess(role=role, confidence=round(confidence, 2), why=why)


def _id(column: ColumnProfile, named: set[str], rows: int) -> RoleGuess | None:
    if column.distinct < rows or column.missing or rows < 2:
        return None
    called = bool(named & _ID) or column.name == "" or column.name.startswith("Unnamed")
    if column.kind == "identifier":
        return _guess("id", 0.95 if called else 0.8, "every row has a different text")
    if called and column.kind in ("integer", "category", "text"):
        return _guess("id", 0.85, f"every row has a different value and the name is {column.name!r}")
    return None


def _group(column: ColumnProfile, named: set[str], rows: int) -> RoleGuess | None:
    few = 2 <= column.distinct <= 12 and column.distinct <= max(2, rows / 2)
    if not few and not (
        2 <= column.distinct <= 40 and named & {"louvain", "leiden", "cluster", "label", "labels", "celltype"}
    ):
        return None
    if column.distinct + column.missing >= rows:
        return None
    if column.kind == "number" and (column.distinct > 6 or rows < 4 * column.distinct):
        return None
    called = bool(named & _GROUP)
    if column.kind == "integer" and not called and (column.distinct > 6 or rows < 3 * column.distinct):
        return None
    confidence = {"category": 0.65, "boolean": 0.5, "integer": 0.35, "number": 0.3}.get(column.kind, 0.4)
    if called:
        confidence = 0.9 if column.kind in ("category", "boolean", "identifier", "text") else 0.6
    if named & _EVENT and column.kind in ("integer", "boolean"):
        confidence = 0.3
    if named & (_COVARIATE - {"dose"}):
        confidence = min(confidence, 0.7)
    if named & _BATCH:
        confidence = min(confidence, 0.3)
    if min(column.levels.values(), default=0) < 2:
        confidence -= 0.15
    why = f"{column.distinct} levels" + (" and the name of a group" if called else "")
    return _guess("group", max(0.1, confidence), why)


def _batch(column: ColumnProfile, named: set[str], rows: int) -> RoleGuess | None:
    if named & _BATCH and 2 <= column.distinct <= max(2, rows / 2) and column.kind != "number":
        return _guess("batch", 0.85, f"{column.distinct} levels and the name of a technical batch")
    return None


def _pair_name(column: ColumnProfile, named: set[str], rows: int) -> RoleGuess | None:
    if not named & _PAIR or column.kind == "number" or not 2 <= column.distinct < rows:
        return None
    strong = named & (_PAIR - {"celltype", "replicate", "block", "family", "case"})
    return _guess("pair", 0.55 if strong else 0.3, "the name of a donor or subject, but not each occurs in every group")


def _time(column: ColumnProfile, named: set[str]) -> RoleGuess | None:
    if column.kind not in ("integer", "number") or column.minimum is None or column.minimum < 0 or column.distinct < 4:
        return None
    if not named & _TIME or named & _NOT_TIME:
        return None
    return _guess("time", 0.9, "positive numbers and the name of a follow-up time")


def _event(column: ColumnProfile, named: set[str]) -> RoleGuess | None:
    if not named & _EVENT or named & (_TIME - {"os", "pfs", "dfs", "rfs", "efs", "survival"}):
        return None
    levels = set(column.levels)
    if levels <= {"0", "1"} and len(levels) == 2:
        return _guess("event", 0.95, "0/1 and the name of an event")
    if levels == {"1", "2"}:
        return _guess("event", 0.85, "1/2 as R's survival data sets code it (2 is the event) and the name of an event")
    if levels <= {"0", "1", "2"} and len(levels) == 3:
        return _guess("event", 0.7, "codes 0, 1, 2: two kinds of end besides censoring")
    lowered = {level.lower() for level in levels}
    if len(levels) == 2 and (column.kind == "boolean" or lowered & _EVENT_WORDS):
        return _guess("event", 0.85, f"two states ({', '.join(sorted(levels))}) and the name of an event")
    return None


def _gene(column: ColumnProfile) -> RoleGuess | None:
    if column.kind in ("identifier", "category", "text") and GENE_HEADER.match(column.name.strip()):
        weak = column.name.strip().lower() in ("names", "feature", "features", "protein")
        return _guess("gene", 0.6 if weak else 0.9, "the name of a gene column")
    return None


def _quantity(column: ColumnProfile, named: set[str], rows: int) -> RoleGuess | None:
    if named & _COVARIATE:
        return _guess("covariate", 0.8, "the name of a usual covariate")
    if column.kind == "integer" and _id(column, named, rows):
        return None
    if column.kind == "integer" and (column.minimum or 0) >= 0 and column.distinct > 2 and named & _COUNT:
        return _guess("count", 0.7, "whole numbers and the name of a count")
    if column.kind == "number" or (column.kind == "integer" and column.distinct > 12):
        return _guess("measure", 0.7 if column.kind == "number" else 0.5, "numbers with many different values")
    return None


def _pairs(columns: list[ColumnProfile], frame: Frame, guesses: dict[str, list[RoleGuess]]) -> dict[str, RoleGuess]:
    """Find columns of which each level occurs equally often in every level of a group column."""
    import pandas as pd

    rows = len(frame)
    if rows < 4 or rows > 20_000:
        return {}

    def strength(name: str) -> float:
        return max((g.confidence for g in guesses[name] if g.role == "group"), default=0.0)

    found: dict[str, RoleGuess] = {}
    genes = {name for name, found in guesses.items() if any(g.role == "gene" for g in found)}
    candidates = [
        c
        for c in columns
        if c.name not in genes and c.kind != "number" and c.kind != "date" and 2 <= c.distinct <= rows / 2
    ][:40]
    groups = [c for c in candidates if strength(c.name) >= 0.3 and c.distinct <= 6]
    for column in candidates:
        named = bool(words(column.name) & _PAIR)
        technical = bool(words(column.name) & _BATCH)
        for group in groups:
            stronger = column.distinct > group.distinct or (named and not words(group.name) & _PAIR)
            if group.name == column.name or not stronger or words(group.name) & _BATCH:
                continue
            table = pd.crosstab(frame[column.name], frame[group.name]).to_numpy()
            once = bool((table == 1).all())
            if not (once or (named and (table == table.flat[0]).all())):
                continue
            why = (
                f"each of its {column.distinct} levels occurs {'once' if once else 'equally often'} in every "
                f"level of {group.name}"
            )
            confidence = 0.4 if technical else 0.95 if named else 0.75 if column.distinct > 2 else 0.4
            if column.kind == "integer" and not named:
                confidence -= 0.25
            if column.name not in found or found[column.name].confidence < confidence:
                found[column.name] = _guess("pair", confidence, why)
    return found
