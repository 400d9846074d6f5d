"""States that began while subjects were watched: the time before counts as without; nobody is credited with waiting.

Who lived long enough to be transplanted lived longer than who did not, whatever the transplant does; compared from the
start, the state looks better than it is (immortal time: Suissa 2008, doi 10.1093/aje/kwm324).
"""

from __future__ import annotations

from engine.toolbox.tables.columns import level_labels, order_levels


def told_states(data, state, since):
    """Return (the state not yet, the state since then, whose state changed, of whom it is not known when)."""
    labels = level_labels(data[f"x:{state}"])
    levels = order_levels(labels)
    if len(levels) != 2:
        raise ValueError(
            f"{state!r} has {len(levels)} states ({', '.join(levels[:6])}), and {since!r} says when one of two began; "
            "expected two states, not yet and since then."
        )
    began = data["began"]
    shares = {level: began[labels == level].notna().mean() for level in levels}
    after, before = sorted(levels, key=lambda level: -shares[level])
    if shares[after] < 0.5 or shares[before] > 0.2:
        raise ValueError(
            f"{since!r} is given for {shares[after]:.0%} of those with {state} = {after} and {shares[before]:.0%} "
            f"of those with {before}; expected the time at which it began for those only in whom it did."
        )
    changed = labels == after
    return before, after, changed, changed & began.isna()


def split_at_change(data, state, since, time):
    """Return rows as spans with `start`, where `state` is what it was in each span, and warnings.

    A subject whose state began at w (`began`), between 0 and the end of watching, becomes two rows: (0, w] without it
    and without the event, (w, end] with it. Times are in the unit of the clock.
    """
    import pandas as pd

    column, began = f"x:{state}", data["began"]
    before, after, changed, unknown = told_states(data, state, since)
    late = changed & (began >= data["time"])
    split = changed & ~unknown & ~late & (began > 0)
    warnings = [
        f"{state} = {after} began at {since}: the time before it counts as {before} for {int(split.sum())} subjects. "
        "From the start, those who lived to get there would look better off than they were (immortal time)."
    ]
    if unknown.any():
        warnings.append(f"{int(unknown.sum())} with {state} = {after} have no {since} and were left out.")
    if late.any():
        warnings.append(f"In {int(late.sum())} {state} began no sooner than {time} ended: they count as {before}.")
    first, second = data[split].copy(), data[~unknown].copy()
    first["start"], first["time"], first["event"], first[column] = 0.0, began[split], 0, before
    second["start"] = began.where(split, 0.0)[~unknown]
    second[column] = second[column].astype(object).where(~late[~unknown], before)
    spans = pd.concat([first, second]).sort_index(kind="stable")
    spans["time"], spans[column] = spans["time"].astype(float), spans[column].astype(str)
    return spans.reset_index(drop=True), warnings


def states_at(data, state, since, moment):
    """Return the rows with `state` as it was at the landmark, one row a subject, and warnings."""
    before, after, changed, unknown = told_states(data, state, since)
    later = changed & (data["began"] > moment)
    kept = data[~unknown].copy()
    kept[f"x:{state}"] = kept[f"x:{state}"].astype(object).where(~later, before).astype(str)
    if kept[f"x:{state}"].nunique() < 2:
        raise ValueError(
            f"At the landmark everybody still followed has {state} = {kept[f'x:{state}'].iloc[0]}, so there is nothing "
            f"to compare; {since} is {data['began'].min():g} at the earliest. Choose a later landmark."
        )
    warnings = [
        f"{state} is taken as it was at the landmark: {int((changed & ~later & ~unknown).sum())} had {after} by then, "
        f"and {int(later.sum())} in whom it began later count as {before}."
    ]
    if unknown.any():
        warnings.append(f"{int(unknown.sum())} with {state} = {after} have no {since} and were left out.")
    return kept.reset_index(drop=True), warnings
