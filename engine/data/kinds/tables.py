"""Decides what a table can serve as: matrix, sample sheet, survival data, results of a test, or just a table."""

from __future__ import annotations

import re
from typing import Any

from engine.data.columns.column import MAX_COLUMNS, Cleaned, clean, is_numeric, profile_column
from engine.data.columns.genes import GENE_HEADER, GeneIds, describe, identify
from engine.data.kinds.matrices import Matrix, find_matrix, id_warnings
from engine.data.source import Column, Frame, TableSource, UnusableFile, plural, some
from engine.data.structure.problems import column_problems, none_problems
from engine.data.structure.roles import words
from engine.data.structure.rows import BLOCK, look
from engine.data.structure.unit_columns import unit_problems
from engine.domain.datatypes import DataType
from engine.domain.profile import ColumnProfile, Structure, TypeGuess
from engine.domain.schemas import SCHEMAS


class TableFacts:
    """Everything a table's profile needs, filled step by step."""

    def __init__(self, name: str, source: TableSource) -> None:
        self.name = name
        self.source = source
        self.read = dict(source.read)
        self.warnings = list(source.warnings)
        self.types: list[TypeGuess] = []
        self.columns: list[ColumnProfile] = []
        self.head: dict[str, list[str]] = {}
        self.structure = Structure()
        self.details: dict[str, Any] = dict(source.details)
        self.sample_ids: list[str] = []
        self.feature_ids: list[str] = []
        self.genes = GeneIds(None)
        self.summary = ""
        self.shape: tuple[int, int] = (source.rows, 0)


def examine(name: str, source: TableSource) -> TableFacts:
    """Decide what the table is.

    Raises:
        UnusableFile: when nothing in it can be used.
    """
    facts = TableFacts(name, source)
    cleaned = _cleaned(facts)
    frame = cleaned.frame
    _keep_marks(facts, cleaned, frame)
    facts.warnings += cleaned.warnings
    _header_warnings(facts)
    facts.warnings += none_problems(name, facts.details.pop("none_words", {}))
    if frame.shape[1] == 0 or len(frame) == 0:
        message = f"{name} has a header but no rows; export it again with its data."
        raise UnusableFile(message)
    facts.head = _head(frame)
    matrix = None if _result_columns(frame) else find_matrix(name, frame, source.rows, facts.read, _first(facts, frame))
    if matrix is not None:
        _use_matrix(facts, matrix, frame, cleaned.mixed)
    else:
        _use_records(facts, frame)
    _tell_cells(facts, cleaned)
    if source.sampled:
        facts.warnings.append(
            f"{name} is large: values were checked in the first {len(frame):,} of about {source.rows:,} rows."
        )
    return facts


def _head(frame: Frame) -> dict[str, list[str]]:
    """Return the first rows of the first columns as texts."""

    def text(cell: Any) -> str:
        whole = isinstance(cell, float) and cell.is_integer()  # read as 1.0 because others in the column are missing
        return "" if cell is None or cell != cell else str(int(cell) if whole else cell)[:60]

    columns = {str(name): frame.iloc[:6, place] for place, name in enumerate(frame.columns[:30])}
    return {name: [text(cell) for cell in column.astype(object).where(column.notna(), None)]
            for name, column in columns.items()}  # fmt: skip


def rows_of(name: str, source: TableSource) -> Frame:
    """Return the rows of a table as its profile was made from: rows named, marks of missing values read."""
    return _cleaned(TableFacts(name, source)).frame


def _cleaned(facts: TableFacts) -> Cleaned:
    frame = _named_rows(facts, facts.source.frame)
    decimal = facts.read.get("decimal", ".")
    return clean(frame, facts.name, decimal=decimal, marks_count=facts.source.format != "json")


def _first(facts: TableFacts, frame: Frame) -> list[str] | None:
    text = facts.source.first_column
    return text if text is not None and len(text) == len(frame) else None


def _named_rows(facts: TableFacts, frame: Frame) -> Frame:
    """Give unnamed row names a name, leave out what a spreadsheet or a plain row number added."""
    import pandas as pd

    short_header = not isinstance(frame.index, pd.RangeIndex)
    if isinstance(frame.index, pd.MultiIndex):
        message = f"{facts.name}: the header has fewer names than the rows have fields; give every column a name."
        raise UnusableFile(message)
    frame = frame.copy(deep=False)
    frame.columns = [str(column).strip() for column in frame.columns]
    texts = facts.source.first_column
    if not short_header:
        blank = frame.isna().all(axis=1)
        if blank.any():
            frame = frame[~blank].reset_index(drop=True)
            facts.source.rows -= int(blank.sum())
            texts = (
                [t for t, skip in zip(texts, blank, strict=True) if not skip]
                if texts and len(texts) == len(blank)
                else None
            )
            facts.source.first_column = texts
            frame = _whole_again(frame)
    empty = [c for c in frame.columns if (c.startswith("Unnamed: ") or c == "empty") and frame[c].isna().all()]
    if empty:
        facts.read["drop"] = list(dict.fromkeys([*facts.read.get("drop", []), *empty]))
        if frame.columns[0] in empty:
            facts.source.first_column = texts = None
        frame = frame.drop(columns=empty)
    if texts and len(texts) == len(frame) and any(re.match(r"0\d+$", text) for text in texts[:1000]):
        frame.isetitem(0, texts)  # 001 is a name, not the number 1
    if short_header or (len(frame.columns) and frame.columns[0] == "Unnamed: 0"):
        ids = frame.index.astype(str).str.strip() if short_header else frame.iloc[:, 0]
        if _row_numbers(ids):
            if not short_header:
                frame = frame.iloc[:, 1:]
                facts.read["drop"] = [*facts.read.get("drop", []), "Unnamed: 0"]
                facts.source.first_column = None
            else:
                frame = frame.reset_index(drop=True)
                facts.source.first_column = None
            return frame
        label = "gene" if identify([str(i) for i in ids]).feature_like else "row"
        while label in frame.columns:
            label += "_name"
        facts.read["row_names"] = label
        if short_header:
            frame = frame.reset_index(drop=True)
            frame.insert(0, label, list(ids))
        else:
            frame = frame.rename(columns={"Unnamed: 0": label})
    return frame


def _whole_again(frame: Frame) -> Frame:
    for column in frame.select_dtypes("float").columns:
        if frame[column].notna().all() and (frame[column] % 1 == 0).all():
            frame[column] = frame[column].astype("int64")
    return frame


def _row_numbers(ids: Any) -> bool:
    import pandas as pd

    numbers: Column = pd.to_numeric(pd.Series(list(ids)), errors="coerce")
    if numbers.isna().any() or len(numbers) == 0:
        return False
    return bool((numbers.diff().dropna() == 1).all()) and numbers.iloc[0] in (0, 1)


def _keep_marks(facts: TableFacts, cleaned: Cleaned, frame: Frame) -> None:
    """Put the marks of missing values into the read options, for their columns only where others use them."""
    if cleaned.numbers:
        facts.read["numbers"] = cleaned.numbers
    if cleaned.same:
        facts.read["same"] = cleaned.same
    if not any(cleaned.marks.values()):
        return
    every = sorted({mark for marks in cleaned.marks.values() for mark in marks})
    elsewhere = [c for c in frame.columns if frame[c].dtype == object]
    shared = bool(cleaned.coded) or any(frame[c].astype(str).str.strip().isin(every).any() for c in elsewhere)
    raw = {str(c).strip(): str(c) for c in facts.source.frame.columns}
    facts.read["na"] = {raw.get(c, c): marks for c, marks in cleaned.marks.items()} if shared else every


def _tell_cells(facts: TableFacts, cleaned: Cleaned) -> None:
    """Put what was found in the cells, and the units of the row below the header, into the columns' profiles."""
    units = facts.details.pop("units", {}) | cleaned.units
    facts.columns = [
        column.model_copy(
            update={
                "notes": [*cleaned.notes.get(column.name, []), *column.notes],
                "unit": units.get(column.name) or column.unit,
                # With few distinct values the words may be levels: a dose of 0 called `control`.
                **(_AMONG_NUMBERS if column.name in cleaned.mixed and column.scale == "identifier" else {}),
            }
        )
        for column in facts.columns
    ]


_AMONG_NUMBERS = {"words_among_numbers": True, "kind": "text", "scale": "text"}


def _header_warnings(facts: TableFacts) -> None:
    headers = [h for h in facts.source.headers if h and not h.startswith("Unnamed: ")]
    twice = sorted({h for h in headers if headers.count(h) > 1}) if len(headers) < 5000 else []
    if twice:
        facts.warnings.append(
            f"{facts.name}: {plural(len(twice), 'column name')} used more than once ({some(twice)}); the "
            f"later ones are read as "
            f"{twice[0] + '.1'!r}: give each column its own name."
        )


def _use_matrix(facts: TableFacts, matrix: Matrix, frame: Frame, mixed: list[str]) -> None:
    facts.types = matrix.guesses
    table = TypeGuess(type=DataType.TABLE, confidence=0.3, read=facts.read)
    facts.sample_ids, facts.feature_ids, facts.genes = matrix.sample_ids, matrix.feature_ids, matrix.genes
    facts.summary = matrix.summary
    facts.warnings += matrix.warnings
    lost = [column for column in matrix.annotation if column in mixed]
    if lost:
        # A sample that vanishes unseen changes every result; the file is doubtful until it is repaired.
        facts.types = [g.model_copy(update={"confidence": min(g.confidence, 0.5)}) for g in facts.types]
        facts.warnings.append(
            f"{facts.name}: {plural(len(lost), 'column')} ({some(lost)}) left out of the matrix because of "
            f"cells that are no "
            "numbers; repair the cells if these are samples."
        )
    facts.details |= matrix.details
    facts.shape = (facts.source.rows, len(frame.columns))
    doubtful = matrix.guesses[0].confidence < 0.7 and frame.shape[1] <= 30  # may as well be a table of records
    other = frame if doubtful else frame[matrix.annotation[:MAX_COLUMNS]]
    facts.columns, facts.structure = look(other)
    if matrix.guesses[0].read.get("transpose"):
        sheet = _sample_sheet(
            facts, frame[[c for c in frame.columns[:1] if c not in matrix.annotation] + matrix.annotation]
        )
        facts.types = [*facts.types, *sheet]
    facts.types.append(table)


def _result_columns(frame: Frame) -> dict[str, str]:
    """Return the columns of a differential expression result: log2 fold change, p and adjusted p."""
    schema = SCHEMAS[DataType.DE_TABLE]
    names = schema.find([str(column) for column in frame.columns if is_numeric(frame[column])])
    found = {role: names[role] for role in ("log2_fold_change", "p_value", "p_adj") if role in names}
    return found if "log2_fold_change" in found and len(found) > 1 else {}


def _use_records(facts: TableFacts, frame: Frame) -> None:
    shown = frame.iloc[:, :MAX_COLUMNS]
    facts.columns, facts.structure = look(shown, [profile_column(c, shown[c]) for c in _unique(shown)])
    facts.shape = (facts.source.rows, frame.shape[1])
    _remember_ids(facts, frame)
    facts.types = [
        *_gene_list(facts, frame), *_results(facts, frame), *_enrichment(frame, facts.read), *_ranked(facts, frame),
        *_survival(facts), *_sample_sheet(facts, frame),
        TypeGuess(type=DataType.TABLE, confidence=0.7, read=facts.read),
    ]  # fmt: skip
    facts.types.sort(key=lambda guess: -guess.confidence)
    facts.warnings += column_problems(facts.name, facts.columns, frame)
    facts.warnings += unit_problems(facts.name, facts.structure, frame)
    facts.summary = _summary(facts, frame)


def _unique(frame: Frame) -> list[str]:
    return list(dict.fromkeys(frame.columns[~frame.columns.duplicated(keep=False)]))


def _remember_ids(facts: TableFacts, frame: Frame) -> None:
    """Keep the values of the columns that could name samples, to be matched with a matrix."""
    ids: dict[str, list[str]] = {}
    first = _first(facts, frame)
    for column in facts.columns:
        if column.role("id") and len(ids) < 6:
            texts = (
                first
                if column.name == frame.columns[0] and first
                else frame[column.name].astype(str).str.strip().tolist()
            )
            ids[column.name] = texts[:5000]
    if ids:
        facts.details["ids"] = ids


def _gene_list(facts: TableFacts, frame: Frame) -> list[TypeGuess]:
    if frame.shape[1] != 1 or is_numeric(frame.iloc[:, 0]) or facts.source.format == "json":
        return []
    values = frame.iloc[:, 0].dropna().astype(str).tolist()
    genes = identify(values, header=str(frame.columns[0]))
    read = {"header": not facts.source.headerless} | {
        k: facts.read[k] for k in ("sheet", "encoding") if k in facts.read
    }
    if "sheet" in read and facts.read.get("skip"):
        read["skip"] = facts.read["skip"]
    facts.genes, facts.feature_ids = genes, values[:200]
    facts.warnings += id_warnings(facts.name, values)
    return [TypeGuess(type=DataType.GENE_LIST, confidence=0.95 if genes.feature_like else 0.5, read=read)]


def _results(facts: TableFacts, frame: Frame) -> list[TypeGuess]:
    found = _result_columns(frame)
    if not found:
        return []
    gene = next((str(c) for c in frame.columns if GENE_HEADER.match(str(c).strip()) and frame[c].dtype == object), None)
    gene = gene or next((str(c) for c in frame.columns[:3] if frame[c].dtype == object), None)
    if gene is None:
        facts.warnings.append(f"{facts.name} has fold changes and p-values but no column of gene names.")
    else:
        values = frame[gene].dropna().astype(str).tolist()
        facts.genes, facts.feature_ids = identify(values, header=gene), values[:200]
        facts.warnings += id_warnings(facts.name, values)
        found = {"gene": gene} | found
    facts.details["result_columns"] = found
    return [TypeGuess(type=DataType.DE_TABLE, confidence=0.95 if gene else 0.6, read=facts.read)]


def _enrichment(frame: Frame, read: dict[str, Any]) -> list[TypeGuess]:
    schema = SCHEMAS[DataType.ENRICHMENT_TABLE]
    found = schema.find([str(column) for column in frame.columns])
    term = any(schema.field("term").called(str(c)) and frame[c].dtype == object for c in frame.columns)
    tested, evidence = "p_value" in found or "p_adj" in found, "evidence" in found
    if not (term and tested and evidence) or _result_columns(frame):
        return []
    return [TypeGuess(type=DataType.ENRICHMENT_TABLE, confidence=0.9, read=read)]


def _ranked(facts: TableFacts, frame: Frame) -> list[TypeGuess]:
    if frame.shape[1] != 2 or frame.iloc[:, 0].dtype != object or not is_numeric(frame.iloc[:, 1]):
        return []
    genes = identify(frame.iloc[:, 0].astype(str).tolist(), header=str(frame.columns[0]))
    is_rank_file = facts.name.lower().endswith((".rnk", ".rnk.gz"))
    if not genes.feature_like and not is_rank_file:
        return []
    facts.genes, facts.feature_ids = genes, frame.iloc[:, 0].astype(str).head(200).tolist()
    scores = frame.iloc[:, 1].dropna()
    counts = bool(len(scores)) and bool((scores % 1 == 0).all()) and bool((scores >= 0).all())
    facts.warnings += id_warnings(facts.name, frame.iloc[:, 0].astype(str).str.strip().tolist())
    if counts and not is_rank_file:
        facts.warnings.append(
            f"{facts.name} has counts of one sample only; a comparison needs a file with all samples."
        )
    return [
        TypeGuess(type=DataType.RANKED_GENES, confidence=0.4 if counts and not is_rank_file else 0.92, read=facts.read)
    ]


def _best(columns: list[ColumnProfile], role: Any) -> ColumnProfile | None:
    found = [c for c in columns if c.role(role) > 0]
    return max(found, key=lambda c: c.role(role)) if found else None


def _survival(facts: TableFacts) -> list[TypeGuess]:
    time, event = _best(facts.columns, "time"), _best(facts.columns, "event")
    if time is None or event is None or facts.source.rows < 5 or facts.structure.dated:
        return []  # of two dates the planner makes a time
    if not facts.structure.survival and any(
        time.name in item.within and item.confidence > BLOCK for item in facts.structure.repeated
    ):
        return []  # the time tells the rows of a subject apart: visits, not the ends of watching
    known = {column.name: column for column in facts.columns}
    found = facts.structure.survival  # which clock is the event's is decided there
    time, event = known.get(found.get("time", ""), time), known.get(found.get("event", ""), event)
    facts.details["survival"] = {"time": time.name, "event": event.name}
    times = [c.name for c in facts.columns if c.role("time")]
    if len(times) > 1:
        facts.warnings.append(
            f"{facts.name}: {len(times)} columns could be the time ({some(times)}); {time.name!r} is taken unless you "
            "say another."
        )
    events = [c.name for c in facts.columns if c.role("event")]
    if len(events) > 1:
        facts.warnings.append(
            f"{facts.name}: {len(events)} columns could be the event ({some(events)}); {event.name!r} is taken "
            "unless you say another."
        )
    who = SCHEMAS[DataType.SURVIVAL_TABLE].field("subject")
    subject = next((c for c in facts.columns if who.called(c.name)), None)
    if subject is not None and subject.distinct < len(facts.source.frame) - subject.missing:
        facts.warnings.append(
            f"{facts.name}: {subject.name!r} has {subject.distinct:,} values in "
            f"{plural(len(facts.source.frame), 'row')}, so subjects have "
            "several rows each; most survival methods need one row a subject."
        )
    if event.distinct == 3:
        facts.warnings.append(
            f"{facts.name}: {event.name!r} has three codes ({', '.join(sorted(event.levels))}), so there are "
            f"two kinds of end; say "
            "which code is the event."
        )
    elif event.name.lower().startswith("cens") and event.kind in ("integer", "boolean"):
        facts.warnings.append(
            f"{facts.name}: {event.name!r} may mean `censored` or `the event was seen` by its 1 "
            f"({event.levels.get('1', 0):,} rows); "
            "say which before believing a result."
        )
    return [
        TypeGuess(type=DataType.SURVIVAL_TABLE, confidence=0.95 if event.role("event") > 0.8 else 0.8, read=facts.read)
    ]


def _sample_sheet(facts: TableFacts, frame: Frame) -> list[TypeGuess]:
    """Offer the table as a sample sheet: a column that names the rows and one that groups them."""
    columns = facts.columns
    first = str(frame.columns[0]) if len(frame.columns) else ""
    if columns and first not in {c.name for c in columns} and first:
        columns = look(frame, [profile_column(first, frame[first]), *columns])[0]
    group, identity = _best(columns, "group"), _best(columns, "id")
    if group is None or identity is None or len(frame) < 2 or len(frame) > 20_000 or len(columns) > 80:
        return []
    leading = [c for c in columns if c.role("id") >= 0.8]
    identity = leading[0] if leading else identity
    if (identity.kind == "integer" or _row_numbers(frame[identity.name])) and not any(
        map(SCHEMAS[DataType.SAMPLE_SHEET].field("sample").called, words(identity.name))
    ):
        confidence = 0.35
    else:
        measures = sum(c.kind == "number" for c in columns)
        confidence = 0.5 + 0.45 * group.role("group") - 0.05 * max(0, measures - 3)
    if any(c.role("gene") > 0.8 for c in columns) or facts.genes.kind:
        confidence = min(confidence, 0.3)
    if confidence < 0.2:
        return []
    if not facts.sample_ids:
        first_texts = _first(facts, frame) if identity.name == frame.columns[0] else None
        facts.sample_ids = (first_texts or frame[identity.name].astype(str).str.strip().tolist())[:5000]
    read = facts.read | {"index_col": identity.name}
    return [TypeGuess(type=DataType.SAMPLE_SHEET, confidence=round(confidence, 2), read=read)]


def _summary(facts: TableFacts, frame: Frame) -> str:
    rows, columns = facts.shape
    many = "about " if facts.source.sampled else ""
    best = facts.types[0].type
    note = describe(facts.genes)
    size = f"{many}{plural(rows, 'row')} x {plural(columns, 'column')}"
    if best is DataType.GENE_LIST:
        return f"A list of {many}{plural(rows, 'gene')}" + (f" ({note})" if note else "")
    if best is DataType.DE_TABLE:
        return f"Differential expression results for {many}{plural(rows, 'gene')}" + (f" ({note})" if note else "")
    if best is DataType.RANKED_GENES:
        return f"{many.capitalize()}{plural(rows, 'gene')} with a score" + (f" ({note})" if note else "")
    if best is DataType.ENRICHMENT_TABLE:
        return f"Enrichment results for {many}{plural(rows, 'gene set')}"
    if best is DataType.SURVIVAL_TABLE:
        parts = facts.details["survival"]
        return (
            f"Survival data, {many}{plural(rows, 'row')} (time {parts['time']!r}, event {parts['event']!r}), "
            f"{columns} columns"
        )
    if best is DataType.SAMPLE_SHEET:
        group = _best(facts.columns, "group")
        levels = ", ".join(f"{level} {count}" for level, count in list(group.levels.items())[:6]) if group else ""
        return f"A sample sheet of {many}{plural(rows, 'sample')}" + (
            f", grouped by {group.name!r} ({levels})" if group else ""
        )
    return f"A table of {size}"
