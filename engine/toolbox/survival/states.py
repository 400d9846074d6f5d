"""How each subject's follow-up ended, from one column of states or a yes/no column beside one of causes.

What is still without an event must be told from what ended otherwise: the level that means censored is recognised by
its words, and a code that could be either is asked for.
"""

from __future__ import annotations

from engine.toolbox.survival.intervals import row_warnings
from engine.toolbox.tables.columns import (
    complete_rows,
    level_labels,
    numeric_values,
    order_levels,
    pick_level,
    plain_table,
    require_columns,
)


def censored_levels(labels, given, column):
    """Return (levels that mean still followed, warnings); a level is recognised by its words, or a lone 0."""
    levels = order_levels(labels)
    if given:
        return [pick_level(given, levels, column)], []
    words = {"0", "0.0", "censored", "censor", "cens", "alive", "living", "none", "no", "no event", "event free",
             "event-free", "lost to follow-up", "lost", "ongoing", "still alive", "no relapse", "false", "withdrawn",
             "under observation", "still at risk", "end of study", "disease free"}  # fmt: skip
    found = [level for level in levels if level.casefold().replace("_", " ").partition(":")[0].strip() in words]
    if found:
        return found, []
    if all(level.replace(".", "", 1).isdigit() for level in levels):
        raise ValueError(
            f"The codes of {column!r} are {', '.join(levels)} and none of them is 0, so it is not known which means "
            "still without any event; set censored to that code."
        )
    return [], [f"No level of {column} reads as censored, so every row is taken to have ended in one of: "
                f"{', '.join(levels)}; set censored if one of them means still without an event."]  # fmt: skip


def end_name(cause, column):
    """Return what a kind of end is called in a sentence: a code gets the name of its column."""
    return f"{column} {cause}" if cause.replace(".", "", 1).isdigit() else cause


def state_rows(table, time, event, event_value, cause_column, cause_value, censored, others):
    """Return (rows with time, state ("" where censored) and the others, causes, the one asked for, warnings)."""
    import pandas as pd

    table = plain_table(table)
    chosen = [time, event, *([cause_column] if cause_column else []), *others]
    require_columns(table, chosen)
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"The same column serves twice ({', '.join(chosen)}); expected different columns.")
    spans = row_warnings(table, time, chosen)
    labels = level_labels(table[event])
    if cause_column:
        levels = order_levels(labels)
        open_levels = [level for level in levels if level != event_value] if event_value in levels else []
        open_levels = open_levels or censored_levels(labels, censored, event)[0]
        if not open_levels:
            raise ValueError(f"The levels of {event!r} ({', '.join(levels)}) do not say which means that no event came "
                             "yet; set censored to it.")  # fmt: skip
        states = level_labels(table[cause_column]).where(~labels.isin(open_levels), "")
        states = states.where(labels.notna(), None)
        warnings, asked, where = [], cause_value, cause_column
    else:
        open_levels, warnings = censored_levels(labels, censored, event)
        states = labels.where(~labels.isin(open_levels), "")
        asked, where = event_value, event
    causes = order_levels(state for state in states if state)
    if len(causes) > 8:
        raise ValueError(
            f"Column {where!r} names {len(causes)} kinds of end ({', '.join(causes[:8])}, ...); expected at most 8. "
            "Is it a time or an id?"
        )
    frame = pd.DataFrame({"time": table[time], "state": states})
    known = complete_rows(frame.assign(state=states.where(states != "", "-")).rename(columns={"state": where}), [where])
    kept = table.assign(**{"state of the row": states})[states.notna()].reset_index(drop=True)
    kept, notes = complete_rows(kept, [time, *others])
    times = numeric_values(kept, time)
    if (times < 0).any():
        raise ValueError(f"Column {time!r} holds {int((times < 0).sum())} negative times; expected the time since the "
                         "start of follow-up.")  # fmt: skip
    data = pd.DataFrame({"time": times.astype(float), "state": kept["state of the row"]})
    data = pd.concat([data, kept[list(others)].add_prefix("x:")], axis=1)
    causes = [cause for cause in causes if (data["state"] == cause).any()]
    if len(causes) < 2:
        only = f" ({causes[0]})" if causes else ""
        raise ValueError(
            f"Column {where!r} has {len(causes)} kind of end{only} beside censored, so nothing competes; use "
            "kaplan_meier, or name the column that says of what each subject's follow-up ended."
        )
    asked = pick_level(asked, causes, where) if asked and asked not in open_levels else ""
    return data.reset_index(drop=True), causes, asked, spans + warnings + known[1] + notes
