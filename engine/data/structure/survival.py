"""Whether a table holds times to an event: which column is the clock, which says that it came, what began between.

What rows without the event say (all of them watched to the end) tips the balance where names do not.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from engine.data.structure.scales import (
    FEW,
    HINTS,
    Col,
    View,
    at_an_occasion,
    date_like,
    is_stay,
    median,
    tokens,
    two_states,
    unit_is_time,
    unit_of,
)
from engine.domain.profile import Repeated, WideMeasure
from engine.text import letters
from engine.text.negation import NEGATORS
from engine.text.times import DAYS

_MOST = 40
"""At most so many columns are compared in pairs."""
BLOCK = 0.6
"""Repeats not surer than this may be a block (a centre, a plate) rather than a subject."""
_EVENT_LEVELS, _NO_EVENT_LEVELS = HINTS["event_level"], HINTS["open_level"]


def time_to_event(
    table: View, times: list[str], repeated: list[Repeated], measured: Collection[str] = ()
) -> dict[str, str]:
    """Return `time`, `event`, `event_value` (and `start` of start-stop data), or nothing; see `Structure.survival`.

    What is `measured` at occasions that stand beside each other (`crp_d0`, `crp_d3`) is no time to an event.
    """
    if table.rows < 5:
        return {}
    interval = _interval(table, repeated)
    clock = {c.name for c in table.cols if _clock_score(c, times) >= 0.6}
    each = any(c.size == table.rows and c.hint("subject") and not c.hint("cluster") for c in table.cols)
    if not interval and not each and any(set(r.within) - clock and r.confidence > BLOCK for r in repeated):
        return {}  # rows are occasions; what differs only in how long it was watched are teeth, or mice of a cage
    events = _events(table, times)
    if not events or (interval and events[0][0] < 0.5):
        return {}
    score, value, event = events[0]
    if interval:
        return {"start": interval[0], "time": interval[1], "event": event.name, "event_value": value}
    clocks = _clocks(View([c for c in table.cols if c.name not in measured], table.rows), times, events)
    if not clocks:
        return {}
    fit, clock = clocks[0]
    if score < 0.5:  # nothing in its name
        ends = _ends_at(clock, events) if fit >= 0.4 else []
        if len(ends) != 1:
            return {}
        _, value, event = ends[0]
    elif score + fit < 1.0:
        return {}
    told = next((col for col in table.cols if event.numbers is not None and _says_the_same(event, col)), None)
    if told is not None:  # a column of words for the codes
        event, value = told, _event_value(told)
    return {"time": clock.name, "event": event.name, "event_value": value}


_CLOCKS = frozenset("mo mos month months mth d day days wk wks week weeks yr yrs year years time t tage monate".split())
_ENDED = frozenset("ev evt event events status stat ereignis".split())


def of_one_beginning(table: View) -> dict[str, str]:
    """Return the first time and end that share their beginning: `PFS_mo` and `PFS_ev`; nothing where none do."""
    parts = [(col, tokens(letters.plain(col.name))) for col in table.cols]
    ends = {
        words[0]: col for col, words in reversed(parts)
        if len(words) == 2 and words[1] in _ENDED and col.profile.scale == "binary"
    }  # fmt: skip
    for clock, words in parts:
        event = ends.get(words[0]) if len(words) == 2 and words[1] in _CLOCKS else None
        if event and clock.numbers is not None and clock.size >= FEW and (clock.profile.minimum or 0) >= 0:
            return {"time": clock.name, "event": event.name, "event_value": _event_value(event)}
    return {}


def until_what(table: View, repeated: Sequence[Repeated]) -> dict[str, str]:
    """Return the time until what another column says yes or no to, by names alone: `Tage_bis_Dialyse` and `Dialyse`."""
    states = [c for c in table.cols if c.profile.scale == "binary"]
    said = {col.name: {*tokens(letters.plain(col.name))} for col in table.cols}
    found = [
        (col, state)
        for col in (() if repeated else table.cols)
        if col.numbers is not None
        and (col.profile.minimum or 0) >= 0
        and said[col.name] & _UNTIL
        and (col.hint("time", "duration") or unit_is_time(col.name))  # how far it is to the road is no time
        for state in states
        if state is not col and said[state.name] and said[state.name] <= said[col.name]
    ]
    clock, ended = found[0] if len(found) == 1 else (None, None)
    return {"time": clock.name, "event": ended.name, "event_value": _event_value(ended)} if clock and ended else {}


_UNTIL = frozenset("to until till bis hasta jusqu ate fino tot".split())

_Event = tuple[float, str, Col]
"""How surely a column is an event, the value that says that it happened, the column."""


def _events(table: View, times: list[str]) -> list[_Event]:
    """Return the columns that may be the event, the surest first."""
    events = [(score, value, col) for col in table.cols if (score := _event_score(col, value := _event_value(col)))]
    # Of two events that are named equally well, the one whose others were all watched to the end goes with the time.
    watched = {
        c.name for _, _, c in events if any(_ends_with_study(c, k) for k in table.cols if _clock_score(k, times))
    }
    return sorted(events, key=lambda found: (-found[0], found[2].name not in watched))


def _clocks(table: View, times: list[str], events: list[_Event]) -> list[tuple[float, Col]]:
    """Return (how surely, column) of what may hold the time until the first of the events, the surest first."""
    (_, value, event), *rest = events
    others = [col for _, _, col in rest]
    fitting = [
        (fit + _belongs(col, event, value, others), col)
        for col in table.cols
        if (fit := _clock_score(col, times) + ENDS * _ends_with_study(event, col)) > 0
    ]
    # What many lack is the wait until something that they never got.
    clocks = [(fit - float((col.codes < 0).mean()), col) for fit, col in fitting if fit > 0]
    return sorted(clocks, key=lambda found: -found[0])


def _ends_at(clock: Col, events: list[_Event]) -> list[_Event]:
    """Return the events whose rows without them were all watched to the end of the study."""
    ends = [found for found in events if _ends_with_study(found[2], clock)]
    if not ends and _until_an_event(clock.name):
        ends = [found for found in events if _outlasts(found[2], clock)]
    return ends


_ENTRY = re.compile(
    r"diagnos|dx|entr[yae]|enter|enrol|inclu|start|begin|beginn|debut|random|baseline|surg|operat|implant|admi|recruit|"
    r"treat|adopt|onset|inicio|ingreso|aufnahme|first|index|from|regist|transplant|put.?in|insert|placed|place(?:ment)?\b|einsetz|eingesetzt"
)
_EXIT = re.compile(
    r"last|exit|end|fin\b|final|follow|fu\b|fup|lfu|censor|contact|death|dead|died|dod|deces|tod|discharge|out\b|alta|austritt|"
    r"entlass|ultim|letzt|dernier|event|relapse|recur|progress|until|lost|fail|remov|revis|visit|seen|stop"
)
_BORN = re.compile(r"birth|born|dob\b|geburt|naissance|nacim")


def between_dates(table: View, times: list[str]) -> dict[str, str]:
    """Return the dates between which subjects were watched and the event, or nothing; see `Structure.dated`.

    Names tell entry from exit, else the order of the two columns; a column that counts time itself goes first.
    """
    every = [c for c in table.cols if c.profile.scale == "date" and not _BORN.search(letters.plain(c.name))]
    # What many never came to (a transplant) is neither where watching began nor where it ended.
    dates = [c for c in every if _lacks(c) <= RARE or (_EXIT.search(letters.plain(c.name)) and len(every) < 3)]
    if len(dates) > 2:
        exits = [c for c in dates if _EXIT.search(letters.plain(c.name))]
        entries = [c for c in dates if c not in exits and _ENTRY.search(letters.plain(c.name))]
        dates = [*entries, *exits] if len(entries) == len(exits) == 1 else []
    if len(dates) != 2 or table.rows < 5 or any(_clock_score(col, times) >= 0.4 for col in table.cols):
        return {}
    ends = [bool(_EXIT.search(letters.plain(c.name))) for c in dates]
    starts = [bool(_ENTRY.search(letters.plain(c.name))) for c in dates]
    entry, exit_ = dates[::-1] if (ends[0], starts[1]) == (True, True) and not (ends[1] and starts[0]) else dates
    events = [(score, value, col) for col in table.cols
              if (score := _event_score(col, value := _event_value(col))) >= 0.5]  # fmt: skip
    if not events:
        came = [c for c in every if c not in dates and _COMES.search(letters.plain(c.name)) and RARE < _lacks(c) < 1]
        sure = (ends[1] or ends[0]) and (starts[0] or starts[1]) and len(came) == 1
        return {"entry": entry.name, "exit": exit_.name, "came": came[0].name} if sure else {}
    _, value, event = max(events, key=lambda found: found[0])
    if _lacking_without_event(event, exit_):
        return {}  # a date of death alone does not say how long the living were watched
    return {"entry": entry.name, "exit": exit_.name, "event": event.name, "event_value": value}


def until_the_last(table: View, families: Iterable[WideMeasure]) -> dict[str, str]:
    """Return the day of what many rows never came to, and the last day of measurements (see `Structure.dated`).

    `death_dpi` of 6, 9 and blanks beside weights of days 0 to 14: who has none was seen until day 14.
    """
    ends = [DAYS.get(re.sub(r"[^a-z]", "", one.labels[-1]), 0) * float(number[0])
            for one in families if one.ordered and (number := re.findall(r"\d+", one.labels[-1]))]  # fmt: skip
    taken = {name for one in families for name in one.columns}
    for col in table.cols:
        unit = next((DAYS[part] for part in tokens(col.name) if part in DAYS), 0)
        if col.numbers is None or col.name in taken or not unit or not _COMES.search(letters.plain(col.name)):
            continue
        until = max(ends, default=0) / unit
        if (
            RARE < _lacks(col) < 1
            and len(col.present) > 2
            and float(col.present.min()) > 0
            and col.present.max() <= until
        ):
            return {"came": col.name, "until": f"{until:g}"}
    return {}


_COMES = re.compile(
    r"loss|lost|verlust|remov|explant|fail|versag|relapse|rezidiv|recur|progress|death|dead|died|deces|\btod|todes|muerte|event|"
    r"ereignis|reoperat|revision|infect"
)
"""What the date of an end is called that most rows never came to."""


def _lacks(col: Col) -> float:
    """Return the share of rows without a value."""
    return float((col.codes < 0).mean())


def _lacking_without_event(event: Col, end: Col) -> bool:
    """Say whether a date is there in nearly all rows of one state of the event, and lacks in most of another."""
    missing = [float((end.codes[event.codes == code] < 0).mean()) for code in set(event.codes[event.codes >= 0])]
    return min(missing) <= RARE and max(missing) > 1 / 2


RARE = 0.1
"""So large a share of rows may lack a date."""


def begins(table: View, survival: dict[str, str]) -> dict[str, str]:
    """Return columns of two states of which one comes with a time before the end; see `Structure.begins`."""
    import numpy as np

    clock = next((col for col in table.cols if col.name == survival.get("time")), None)
    if clock is None or survival.get("start"):
        return {}
    found = {}
    for when in table.cols:
        if when is clock or when.numbers is None or not _clock_score(when, []):
            continue
        given = np.isfinite(when.numbers)
        early = when.numbers[given] <= clock.numbers[given]
        if not (5 <= given.sum() <= len(given) - 5 and early.mean() > 0.95):
            continue
        states = [col for col in table.cols if col.size == 2 and col.name not in survival.values()]
        found |= {col.name: when.name for col in states if _tells(col, given)}
    return found


def _tells(state: Col, given: Any) -> bool:
    """Say whether one of two states goes with a time that is given, and the other with one that is missing."""
    import numpy as np

    known = state.codes >= 0
    return any(np.mean((state.codes == at)[known] == given[known]) > 0.98 for at in (0, 1))


def _says_the_same(code: Col, col: Col) -> bool:
    """Say whether words stand in a column for the codes of another."""
    same = col.numbers is None and col.size == code.size > 2
    return same and code.determines(col) and col.determines(code)


ENDS = 0.8
"""What speaks for a clock that those without the event ran to its end."""


def _ends_with_study(event: Col, clock: Col) -> bool:
    """Say whether the rows of state 0 have the longest time and those of state 1 less: watched to the end."""
    if event.numbers is None or clock.profile.maximum is None:
        return False
    last = clock.numbers >= clock.profile.maximum
    without, those_with = event.numbers == 0, event.numbers == 1
    return bool(
        without.sum() >= 5 and last[without].mean() > 0.9 and those_with.sum() >= 5 and last[those_with].mean() < 0.2
    )


def _until_an_event(name: str) -> bool:
    """Say whether a name says how long it took until something: `days_to_relapse`, `dias_hasta_caida`."""
    said = [part for part in tokens(name) if not part.isdigit()]
    timed = HINTS["time"] | HINTS["time_unit"]
    return any(a in timed and b in _UNTIL for a, b in itertools.pairwise(said))


_UNTIL = frozenset("to until till before hasta bis jusqu ate fino".split())


def _outlasts(event: Col, clock: Col) -> bool:
    """Say whether a row of state 0 was nearly always watched for longer than one of state 1."""
    import numpy as np

    if event.numbers is None:
        return False
    there = np.isfinite(clock.numbers) & np.isfinite(event.numbers)
    without, those_with = clock.numbers[there & (event.numbers == 0)], clock.numbers[there & (event.numbers == 1)]
    if min(len(without), len(those_with)) < 5:
        return False
    apart = without[:500, None] - those_with[None, :500]
    return bool((apart > 0).mean() + (apart == 0).mean() / 2 > 0.85)


def event_words(col: Col) -> bool:
    """Say whether a level says that something ended or has not ended yet."""
    levels = _told(col).values()
    return any(_happened(level) or _OPEN_END.search(level) for level in levels) or any(
        letters.plain(level).strip() in _NO_EVENT_LEVELS - {"none"} for level in levels
    )


_OPEN_END = re.compile(
    r"\b(?:end of (?:the )?(?:study|follow[ -]?up|trial|experiment)|study end|censored|lost to follow[ -]?up)\b",
    re.IGNORECASE,
)
"""What a legend says of those whose end was not seen."""


def _told(col: Col) -> dict[str, str]:
    """Return level -> what a legend says that it stands for, as the file writes it where none does."""
    return {level: col.profile.codes.get(level, level) for level in col.profile.levels}


def _happened(level: str) -> bool:
    """Say whether a level says that the event came: `dead`, `died in ICU`, not `alive` or `lost to follow-up`."""
    plain = letters.plain(level).strip()
    words = set(re.findall(r"[a-z-]+", plain))
    return plain in _EVENT_LEVELS or bool(words & _EVENT_LEVELS and not words & (_NO_EVENT_LEVELS | _NEVER))


_NEVER = NEGATORS | {"other", "free"}


def _ends(col: Col) -> bool:
    """Say whether a name speaks of death, relapse or of being censored, in any of its forms."""
    return col.hint("strong_event") or any(re.match(r"cens(?!us)|zens(?!us)", word) for word in col.named)


def _letters(col: Col) -> str:
    """Return the level D of a column of ends whose levels are D and A or L: dead, alive or living."""
    plain = {letters.plain(level).strip(): level for level in col.profile.levels}
    return plain["d"] if _ends(col) and set(plain) in ({"d", "a"}, {"d", "l"}) else ""


def _event_score(col: Col, value: str) -> float:
    """Return how surely a column says whether the event came: a name, or levels such as dead and alive."""
    column = col.profile
    if not 2 <= col.size <= 4 or column.scale not in ("binary", "category", "code", "count", "ordered"):
        return 0.0
    plain = {letters.plain(level).strip() for level in column.levels}
    coded = (
        plain <= {"0", "1", "2", "3", "8", "9"}
        or bool(two_states(list(column.levels)))
        or event_words(col)
        or column.kind == "boolean"
        or _letters(col)
    )
    if not coded or (col.hint("time", "subject") and not _ends(col) and not event_words(col)):
        return 0.0
    worded = event_words(col) and (col.numbers is None or bool(col.profile.codes))
    if _ends(col) or (worded and col.hint("event")):
        return 0.8 if col.size == 2 else 0.7
    if worded:  # a deceased donor is no end: whose name speaks of ends goes before
        return 0.65
    if col.hint("event"):
        return 0.6 if col.size == 2 else 0.5
    return 0.2 if col.size == 2 and plain == {"0", "1"} else 0.0


def _clock_score(col: Col, times: list[str]) -> float:
    """Return how surely a column is the time from a start to an event or to the last look."""
    column = col.profile
    if (
        col.numbers is None
        or column.minimum is None
        or column.minimum < 0
        or col.size < 4
        or column.scale in ("code", "share")
    ):
        return 0.0
    if date_like(column.minimum, column.maximum, whole=column.kind == "integer") or col.hint("age"):
        return 0.0
    # A stay ends with going home: those who lived were not watched until then only, and a longer one is not better.
    if is_stay(col.name):
        return 0.0
    if col.named & (HINTS["event"] | {"year", "jahr", "annee", "ano", "diagnosis"}) and not col.hint("duration"):
        return 0.0
    spread = float(col.present.mean()) > median(col.present)
    if col.hint("duration") or _until_an_event(col.name):
        return 0.9
    if col.name in times or col.hint("time") or unit_is_time(col.name):
        return 0.6 if col.size > FEW or col.size > 0.4 * len(col.codes) else 0.4
    if col.hint("month", "occasion_first", "occasion_last") or at_an_occasion(col.name):
        return 0.0  # what was counted in August is no time, nor a length in mm at 5 dpf
    plain = not unit_of(col.name) and not {*tokens(col.name)} & _VITAL and (column.maximum or 0) > _LONGEST_SHARE
    return 0.25 if spread and col.size > FEW and plain and column.scale == "number" else 0.0


_LONGEST_SHARE = 2
"""What goes no further than this and is not called a time is a rate or a share."""
_VITAL = frozenset(
    "hr sbp dbp bp map bmi rr pulse temp temperature weight height glucose crp hb hgb creat creatinine lactate".split()
)
"""What is measured of patients: a heart rate is no time, whatever ends beside it."""


_OF_DEATH = frozenset("os overall death dead died dies mortality deceased surv survival".split())
_OF_OTHER = frozenset(
    "pfs dfs rfs efs ttp ttr progression progress relapse recurrence free failure response remission dfi pfi".split()
)
"""What the time to the end of life is called, and that to an end before it (progression-free survival counts both)."""


def _belongs(clock: Col, event: Col, value: str, others: list[Col]) -> float:
    """Return what the name of a time says for or against its being that of an event: `OS months` of `Status = dead`."""
    named = {*clock.named, *tokens(letters.plain(clock.name))}
    told = {*event.named, *tokens(letters.plain(f"{event.name} {value}"))}
    if named & told - _GENERAL:
        return OWN
    if any(named & {*other.named, *tokens(letters.plain(other.name))} - told - _GENERAL for other in others):
        return -OWN
    of_death = bool(told & _OF_DEATH)
    if named & _OF_OTHER:
        return -OWN if of_death else 0.0
    return OWN if of_death and named & _OF_DEATH else 0.0


OWN = 0.3
"""What a name shared by time and event counts, beside a clock that is called so."""
_GENERAL = frozenset(
    "time months month days day weeks years year follow up fu status event to of until in free m d".split()
)


def _event_value(col: Col) -> str:
    """Return the level that means the event came, "" when the coding does not say."""
    levels = list(col.profile.levels)
    plain: dict[str, str] = {letters.plain(level).strip(): level for level in levels}
    happened = [level for level, said in _told(col).items() if _happened(said)]
    if len(happened) == 1:
        return happened[0]
    if _letters(col):
        return _letters(col)
    open_end = [level for text, level in plain.items() if text in _NO_EVENT_LEVELS]
    if len(open_end) == 1 and len(levels) == 2:
        return next(level for level in levels if level != open_end[0])
    still = bool(col.named & {"alive", "lebt", "vivant", "vivo", "survived", "living"})
    censored = any(re.match(r"cens|zens", word) for word in col.named)
    states = two_states(levels)
    if states and col.numbers is None:
        return states[0] if still or censored else states[1]
    if set(plain) == {"0", "1"} and not censored:
        return plain["0" if still else "1"]
    return ""


def _interval(table: View, repeated: list[Repeated]) -> tuple[str, str] | None:
    """Return two columns of which the first is below the second in every row: the ends of a span of time."""
    import numpy as np

    first = {"start", "tstart", "begin", "enter", "entry", "beginn", "debut", "inicio", "von", "from"}
    last = {"stop", "tstop", "end", "exit", "ende", "fin", "bis", "until"}
    subject = next((r.subject for r in repeated), "")
    numbers = [c for c in table.cols if c.numbers is not None and c.profile.scale not in ("binary", "share")][:_MOST]
    for one in numbers:
        for other in numbers:
            named = bool(one.named & first and other.named & last)
            if one is other or not (named or subject) or (one.codes < 0).any() or (other.codes < 0).any():
                continue
            if not all(bool((one.numbers[rows] < other.numbers[rows]).all()) for rows in (slice(500), slice(None))):
                continue
            if named:
                return one.name, other.name
            order = np.lexsort((one.numbers, table[subject].codes))
            same = np.diff(table[subject].codes[order]) == 0
            if same.sum() >= 5 and bool((one.numbers[order][1:] == other.numbers[order][:-1])[same].mean() > 0.9):
                return one.name, other.name
    return None
