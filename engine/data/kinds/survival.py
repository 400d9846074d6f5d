"""Times to an event."""

from __future__ import annotations

from engine.data.found import TableFound, best
from engine.data.kind import Kind
from engine.data.kinds.table import read_table
from engine.data.schema import Field, Schema
from engine.data.source import Frame, plural, some
from engine.data.structure.survival import BLOCK
from engine.domain.datatypes import DataType
from engine.domain.profile import TypeGuess

_SCHEMA = Schema(fields=(
    # Time and event are found by their values, too: `engine.data.structure` assigns these roles.
    Field(name="time", meaning="time to the event or to the end of observation", kind="number", needed=True,
          pattern=r"times?|days|months|years|weeks?|[op]s|pfs|dfs|rfs|efs|ttp|futime|duration|t|followup|survtime|"
                  r"survival|stime|lifetime|tte"),
    Field(name="event", meaning="whether the event was seen", kind="text", needed=True,
          pattern=r"status|events?|death|dead|died|cens(or(ed|ing)?)?|delta|fustat|observed|relapse|recurrence|"
                  r"vital(status)?|progression|failure|deceased"),
    Field(name="subject", meaning="who was observed", kind="text",
          pattern=r"id|patient(id)?|subject(id)?|participant(id)?"),
))  # fmt: skip


def _survival(table: TableFound, frame: Frame) -> list[TypeGuess]:
    found = table.structure.survival  # which clock is the event's is decided there
    # What is measured at occasions is no clock (`crp_d3`).
    at_occasions = {name for wide in table.structure.wide if wide.ordered for name in wide.columns}
    clocks = [c for c in table.column_profiles if found or c.name not in at_occasions]
    known = {column.name: column for column in table.column_profiles}
    time = known.get(found.get("time", "")) or best(clocks, "time")
    event = known.get(found.get("event", "")) or best(table.column_profiles, "event")
    if time is None or event is None or table.source.rows < 5 or table.structure.dated:
        return []  # of two dates the planner makes a time
    if not table.structure.survival and any(
        time.name in item.within and item.confidence > BLOCK for item in table.structure.repeated
    ):
        return []  # the time tells the rows of a subject apart: visits, not the ends of watching
    table.details["survival"] = {"time": time.name, "event": event.name}
    times = [c.name for c in clocks if c.role("time")]
    if len(times) > 1:
        table.warnings.append(
            f"{table.name}: {len(times)} columns could be the time ({some(times)}); {time.name!r} is taken unless you "
            "say another."
        )
    events = [c.name for c in table.column_profiles if c.role("event")]
    if len(events) > 1:
        table.warnings.append(
            f"{table.name}: {len(events)} columns could be the event ({some(events)}); {event.name!r} is taken "
            "unless you say another."
        )
    subject = next((c for c in table.column_profiles if _SCHEMA.field("subject").called(c.name)), None)
    if subject is not None and subject.distinct < len(table.source.frame) - subject.missing:
        table.warnings.append(
            f"{table.name}: {subject.name!r} has {subject.distinct:,} values in "
            f"{plural(len(table.source.frame), 'row')}, so subjects have "
            "several rows each; most survival methods need one row a subject."
        )
    if event.distinct == 3:
        table.warnings.append(
            f"{table.name}: {event.name!r} has three codes ({', '.join(sorted(event.levels))}), so there are two kinds "
            "of end; say which code is the event."
        )
    elif event.name.lower().startswith("cens") and event.kind in ("integer", "boolean"):
        table.warnings.append(
            f"{table.name}: {event.name!r} may mean by its 1 either “censored” or “the event was seen” "
            f"({event.levels.get('1', 0):,} rows); say which before believing a result."
        )
    return [
        TypeGuess(type=DataType.SURVIVAL_TABLE, confidence=0.95 if event.role("event") > 0.8 else 0.8, read=table.read)
    ]


def _summary(table: TableFound) -> str:
    parts = table.details["survival"]
    what = f"time {parts['time']!r}, event {parts['event']!r}"
    return f"Survival data, {table.count('row')} ({what}), {table.columns} columns"


SURVIVAL_TABLE = Kind(
    type=DataType.SURVIVAL_TABLE, words="a table with a time column and an event column", records=True,
    takes=(DataType.TABLE,),  # of which a step kept some rows
    schema=_SCHEMA, read=read_table, in_table=_survival, summary=_summary,
)  # fmt: skip
