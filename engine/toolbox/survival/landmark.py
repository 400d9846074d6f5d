"""Landmark analysis: groups that form during follow-up are compared among those who lived to see a fixed day.

Responders must have lived until they responded. Counting that time as theirs makes any response look life-saving, so
follow-up before the landmark is left out for everybody, and groups are taken as they were then.
"""

from __future__ import annotations

from engine.toolbox.registry import param
from engine.toolbox.survival.horizon import TIME_UNITS, horizon_in_unit

LANDMARK = param(
    "landmark: only subjects still followed without the event at this time are analysed",
    minimum=0,
    words=[
        r"landmark(?:\s+(?:analysis|time|point|set|at|of|on|day|week|month|year))*",
        r"(?:days?|weeks?|months?|years?)[\s-]+landmark",
    ],
)
LANDMARK_UNIT = param(
    "unit of the landmark, where it is not the column's",
    choices=TIME_UNITS,
    words=[
        rf"{unit}s: landmark[^\d.?]{{0,25}}\d[\d.,]*[\s-]*(?:{unit}s?|{short})\b"
        rf"|landmark[^\d.?]{{0,15}}{unit}\s+\d|\d[\d.,]*[\s-]*(?:{unit}s?|{short})[\s-]+landmark"
        for unit, short in (("day", "d"), ("week", "wks?"), ("month", "mo|mths?"), ("year", "yrs?|y"))
    ],
)


def from_landmark(data, landmark, said, time, unit):
    """Return (rows still followed after the landmark, the landmark in the unit of the times, warnings).

    Times are kept as they are: those of the rows that stay count from the start of follow-up.
    """
    if landmark is None:
        return data, None, []
    if said and not unit:
        message = (
            f"The landmark is at {landmark:g} {said}, but the unit of {time!r} is not known; give the landmark in the "
            "unit of that column and leave landmark_unit empty."
        )
        raise ValueError(message)
    moment, warnings = horizon_in_unit(landmark, said, unit, time)
    late = data["time"] > moment
    kept, gone = data[late].reset_index(drop=True), data[~late]
    name = f"{moment:g} {unit}".strip()
    if not kept["event"].any():
        message = (
            f"Nobody has the event after the landmark at {name}; {len(kept)} of {len(data)} subjects are still "
            "followed then. Choose an earlier landmark."
        )
        raise ValueError(message)
    warnings.append(
        f"Landmark at {name}: {len(gone)} of {len(data)} subjects had the event ({int(gone['event'].sum())}) or were "
        f"lost to follow-up ({int((1 - gone['event']).sum())}) by then and are left out; times still count from the "
        "start of follow-up. Groups must be those known at the landmark: whoever joins one by something that happens "
        "later had to live until then, and such immortal time makes that group look better than it is."
    )
    return kept, moment, warnings
