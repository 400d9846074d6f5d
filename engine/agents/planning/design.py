"""Reads the comparison a question asks for and looks for the classic traps of a design.

A contrast the wrong way round, a forgotten pairing, a batch that is the treatment under another name,
two samples taken for an experiment, cells taken for patients: each is found here, before anything runs.
"""

# The stubs of pandas and h5py give wide unions for plain indexing, which these functions narrow by what they read.
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportIndexIssue=false
# pyright: reportAssignmentType=false, reportReturnType=false, reportGeneralTypeIssues=false, reportOperatorIssue=false
from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from engine.agents.planning.columns import find_columns, find_levels, is_categorical, with_role
from engine.agents.planning.words import stem, tokens
from engine.domain.plan import OpenQuestion
from engine.domain.profile import ColumnProfile, Profile, TypeGuess
from engine.errors import PlanError

if TYPE_CHECKING:
    import pandas as pd

_CONTROL_WORDS = ("control", "ctrl", "ctl", "con", "untreated", "vehicle", "veh", "dmso", "wt", "wildtype", "wild type",
                  "wild-type", "placebo", "normal", "healthy", "mock", "baseline", "none", "no", "sham", "naive", "unt",
                  "unstimulated", "unstim", "standard", "pbs", "scramble", "scrambled", "non-targeting", "nt", "siControl",
                  "before", "pre", "negative", "neg", "resting", "0", "false", "n", "+/+", "adjacent", "reference",
                  "benign", "non-tumor", "nontumor", "parental", "day0", "0h", "d0", "t0", "uninfected", "nc")  # fmt: skip
_PAIR_WORDS = re.compile(
    r"\b(paired|pairs?|matched|same (?:donor|patient|subject|individual|animal|mouse|person|cell line)s?"
    r"|before and after|pre.? ?(?:and|vs\.?|versus) ?post|within (?:each |the same )?(?:donor|patient|subject|individual)"
    r"|each (?:donor|patient|subject|individual|cell line)|repeated measures?|donors?)\b",
    re.IGNORECASE,
)
_UNPAIRED_WORDS = re.compile(
    r"\b(unpaired|not paired|independent (?:samples|groups)|ignor\w* (?:the )?(?:pair\w*|donors?|cell lines?|batch\w*))\b",
    re.IGNORECASE,
)
_ADJUST = re.compile(
    r"(?:adjust\w*|control(?:l?ing|led)?|correct\w*|account\w*|allowing|stratif\w*) (?:also )?(?:for|by)\s+(?P<what>[^.;?!]+)"
    r"|(?:taking|take)\s+(?P<what2>[^.;?!]+?)\s+into account|\bcovariates?:?\s+(?P<what3>[^.;?!]+)"
    r"|\b(?:independent(?:ly)?) of\s+(?P<what4>[^.;?!]+)",
    re.IGNORECASE,
)


_TECHNICAL = re.compile(
    r"batch|lane|\brun\b|plate|site|cent(?:er|re)|flow.?cell|\bdate\b|seq(?:uencing)?.?day|prep", re.I
)


@dataclass(slots=True)
class Design:
    """A comparison of two groups of samples."""

    condition: str
    treated: str
    control: str
    covariates: list[str] = field(default_factory=list)
    pair: str = ""
    sizes: dict[str, int] = field(default_factory=dict)
    """Level of the condition -> samples."""
    reasons: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    questions: list[OpenQuestion] = field(default_factory=list)


def load_columns(profile: Profile, guess: TypeGuess) -> pd.DataFrame:
    """Return the sample sheet, the table or the `obs` columns of a file as texts and numbers, row names as index."""
    if profile.format == "h5ad":
        return _read_obs(Path(profile.path))
    from engine.toolbox.io import read_data

    return read_data(profile.path, guess.type.value, **guess.read)


def _read_obs(path: Path) -> pd.DataFrame:
    import h5py
    import numpy as np
    import pandas as pd

    def text(values: np.ndarray) -> list[str]:
        return [value.decode() if isinstance(value, bytes) else str(value) for value in values]

    columns: dict[str, object] = {}
    with h5py.File(path) as file:
        obs = file["obs"]
        for name in obs:
            if name in ("_index", "__categories") or name == obs.attrs.get("_index"):
                continue
            item = obs[name]
            if isinstance(item, h5py.Group) and "codes" in item and "categories" in item:
                names = np.array([*text(item["categories"][:]), ""], dtype=object)
                codes = item["codes"][:]
                columns[name] = pd.Series(names[codes]).where(codes >= 0)
            elif isinstance(item, h5py.Dataset) and item.ndim == 1:
                values = item[:]
                columns[name] = pd.Series(text(values) if values.dtype.kind in "OS" else values)
    return pd.DataFrame(columns)


def comparison(
    question: str, columns: Sequence[ColumnProfile], frame: pd.DataFrame, *, named: str = "", why: str = "the question"
) -> Design | None:
    """Return which groups a question compares, or None when no column can be the condition.

    Args:
        question: the whole question.
        columns: profiles of the sample columns.
        frame: the samples, one a row.
        named: a column already known to be the condition.
        why: where `named` comes from.

    Raises:
        PlanError: when several columns could be meant and the question names none.
    """
    column, reason = _condition(question, columns, named, why)
    if column is None:
        return None
    sizes = {str(k): int(v) for k, v in frame[column.name].astype("string").dropna().value_counts().items()}
    levels = list(sizes)
    treated, control, direction, asked = _direction(question, column, levels)
    design = Design(condition=column.name, treated=treated, control=control, sizes=sizes)
    design.reasons += [reason, direction]
    design.questions += asked
    return design


def _condition(
    question: str, columns: Sequence[ColumnProfile], named: str, why: str
) -> tuple[ColumnProfile | None, str]:
    able = [column for column in columns if is_categorical(column) and column.distinct >= 2]
    if named:
        column = next((column for column in able if column.name == named), None)
        return column, f"The groups are the levels of {named!r} ({why})."
    adjusted = set(adjustment_columns(question, columns))
    by_levels = [column for column in able if len(find_levels(question, column)) >= 2 and column.name not in adjusted]
    if by_levels:
        column = by_levels[0]
        return column, f"The question names levels of {column.name!r}."
    pair_like = {c.name for c in with_role(able, "pair")}
    matches = [m for m in find_columns(question, able) if m.name not in adjusted]
    for match in sorted(matches, key=lambda m: (m.name in pair_like, -round(m.strength, 1), m.position)):
        if match.strength >= 0.55 and match.name not in pair_like:
            column = next(column for column in able if column.name == match.name)
            return column, f"The question names {column.name!r}."
    by_level = [column for column in able if find_levels(question, column) and column.name not in adjusted]
    if by_level:
        column = by_level[0]
        return column, f"The question names a level of {column.name!r}."
    groups = [c for c in with_role(able, "group", least=0.3) if c.name not in pair_like | adjusted]
    groups = [c for c in groups if c.role("batch") < 0.6] or groups
    if not groups:
        return None, ""
    best = groups[0]
    rivals = [c for c in groups[1:] if c.role("group") > best.role("group") - 0.15]
    if rivals:
        named_levels = [f"{c.name} ({', '.join(list(c.levels)[:4])})" for c in (best, *rivals)]
        message = f"The question does not say which groups to compare: {' or '.join(named_levels)}?"
        raise PlanError(
            message,
            advice=f"Name one in the question, for example `by {best.name}`.",
            details={"choices": [c.name for c in (best, *rivals)]},
        )
    return best, f"{best.name!r} is the only column that can be the condition."


def _direction(question: str, column: ColumnProfile, levels: list[str]) -> tuple[str, str, str, list[OpenQuestion]]:
    """Return (treated, control, why, open questions) for the levels of the condition."""
    profile_levels = column.model_copy(update={"levels": dict.fromkeys(levels, 1)})
    named = [level for level, _ in find_levels(question, profile_levels)]
    explicit = _explicit(question, named)
    if explicit:
        first, second = explicit
        why = f"The question compares {first!r} with {second!r}, in this order."
        usual = control_level(levels)
        asked = [_ask_order(column, first, second)] if usual == first else []
        return first, second, why, asked
    reference = control_level(levels)
    if len(named) >= 2:
        control = reference if reference in named else named[1]
        treated = next(level for level in named if level != control)
        why = f"The question names {treated!r} and {control!r}; {control!r} is the reference."
        sure = reference in named
    elif len(named) == 1 and named[0] != reference:
        treated = named[0]
        control = reference or next(level for level in levels if level != treated)
        why = f"The question names {treated!r}; it is compared with {control!r}."
        sure = bool(reference) or len(levels) == 2
    else:
        control = reference or sorted(levels)[0]
        others = [level for level in levels if level != control]
        words = {stem(word) for word in tokens(question)}
        treated = next((level for level in others if stem(level.lower()) in words), others[0])
        why = f"{treated!r} is compared with {control!r}, which " + (
            "is named like a control." if reference else "comes first in the alphabet."
        )
        sure = bool(reference) and len(levels) == 2
    if sure:
        return treated, control, why, []
    asked = [
        OpenQuestion(
            id="control",
            text=f"Which level of {column.name!r} is the reference?",
            why="Fold changes are positive where the other group is higher, so a swap turns every sign.",
            param="control",
            choices=sorted(levels),
            proposed=control,
        )
    ]
    if len(levels) > 2:
        asked.append(
            OpenQuestion(
                id="treated",
                text=f"Which level of {column.name!r} is compared with {control!r}?",
                why=f"{column.name!r} has {len(levels)} levels and the question does not settle which two.",
                param="treated",
                choices=sorted(levels),
                proposed=treated,
            )
        )
    return treated, control, why, asked


def _ask_order(column: ColumnProfile, first: str, second: str) -> OpenQuestion:
    return OpenQuestion(
        id="control",
        text=f"Fold changes are {first!r} relative to {second!r}, as the question is worded: is that meant?",
        why=f"{first!r} looks like the control, so positive values mean higher in the control, the reverse of the custom.",
        param="control",
        choices=sorted(column.levels),
        proposed=second,
    )


def _explicit(question: str, named: list[str]) -> tuple[str, str] | None:
    """Return (first, second) of a phrase such as `A versus B`, `higher in A than in B`, `from B to A`."""
    if len(named) < 2:
        return None
    text = question.lower()
    pairs = [(a, b) for a in named for b in named if a != b]
    gap = r"[\w\s,()'-]{0,40}?"
    between = (
        rf"(?:{gap})\b(?:vs\.?|versus|against|compared (?:to|with)|relative to|over|than|rather than|minus)\b(?:{gap})"
    )
    for first, second in pairs:
        a, b = (rf"(?<!\w){re.escape(level.lower())}(?!\w)" for level in (first, second))
        if re.search(a + between + b, text):
            return first, second
    for first, second in pairs:
        a, b = (rf"(?<!\w){re.escape(level.lower())}(?!\w)" for level in (first, second))
        if re.search(rf"\bfrom\b{gap}{b}{gap}\bto\b{gap}{a}", text):
            return first, second
    return None


def control_level(levels: Sequence[str]) -> str:
    """Return the level that is named like a control, or ""."""
    plain = {re.sub(r"[\s_-]+", " ", level.lower()).strip(): level for level in levels}
    for word in _CONTROL_WORDS:
        if word.lower() in plain:
            return plain[word.lower()]
    starting = [
        level for level in levels if re.match(r"(control|ctrl|untreated|vehicle|wild.?type|healthy)", level, re.I)
    ]
    return starting[0] if len(starting) == 1 else ""


def adjustment_columns(question: str, columns: Sequence[ColumnProfile]) -> list[str]:
    """Return the columns a question asks to adjust for."""
    named: list[str] = []
    for match in _ADJUST.finditer(question):
        what = next(group for group in match.groups() if group)
        named += [found.name for found in find_columns(what, columns) if found.strength >= 0.55]
    return list(dict.fromkeys(named))


def add_covariates(design: Design, question: str, columns: Sequence[ColumnProfile], frame: pd.DataFrame) -> None:
    """Put pairing, batches and asked-for covariates into the design, and say what cannot be separated."""
    used = frame[frame[design.condition].astype("string").isin([design.treated, design.control])]
    condition = used[design.condition].astype("string")
    others = [column for column in columns if column.name != design.condition and column.name in used]
    asked = adjustment_columns(question, others)
    unpaired = bool(_UNPAIRED_WORDS.search(question))
    pair = "" if unpaired else _pair_column(question, others, used, condition)
    if pair:
        design.pair = pair
        design.covariates.append(pair)
        design.reasons.append(
            f"{pair!r} occurs in both groups, so it pairs the samples and the design must use it: "
            f"differences between its {used[pair].nunique()} levels would otherwise hide the effect."
        )
    elif _PAIR_WORDS.search(question) and not unpaired:
        design.warnings.append(
            "The question says the samples are paired, but no column of the sample sheet says which samples belong "
            "together, so they are compared as independent samples."
        )
    for column in others:
        if column.name == pair:
            continue
        wanted = column.name in asked
        levels = used[column.name].nunique()
        batch = column.role("batch") >= 0.7 and is_categorical(column)
        if batch and not wanted and levels > max(2, len(used) // 4):
            design.warnings.append(
                f"The design does not adjust for {column.name!r}: with {levels} levels in {len(used)} samples it would "
                "take up most of the information. Name it in the question to adjust for it."
            )
            continue
        if not (wanted or batch) or used[column.name].nunique() < 2:
            continue
        if is_categorical(column) and confounded(used[column.name].astype("string"), condition):
            design.warnings.append(
                f"{column.name!r} and {design.condition!r} change together (each {column.name} holds only one "
                f"{design.condition}), so their effects cannot be told apart and any difference may be due to "
                f"{column.name!r}."
            )
            continue
        if pair and _nested(used, column.name, pair):
            design.reasons.append(f"{column.name!r} is constant within {pair!r}, which already accounts for it.")
            continue
        design.covariates.append(column.name)
        design.reasons.append(
            f"The design adjusts for {column.name!r} ({'asked for' if wanted else 'a batch column'})."
        )
    for name in _hidden_confounders(others, used, condition, design):
        design.warnings.append(
            f"Every {design.condition} group has its own value of {name!r}: their effects cannot be told apart."
        )


def _hidden_confounders(
    others: Sequence[ColumnProfile], used: pd.DataFrame, condition: pd.Series, design: Design
) -> list[str]:
    said = " ".join(design.warnings)
    found: list[str] = []
    for column in others:
        values = used[column.name].astype("string")
        technical = (
            column.role("batch") >= 0.5 or column.role("covariate") >= 0.5 or bool(_TECHNICAL.search(column.name))
        )
        few = 2 <= values.nunique() < len(values)
        if (
            technical
            and few
            and is_categorical(column)
            and confounded(values, condition)
            and f"{column.name!r}" not in said
        ):
            found.append(column.name)
    return found


def confounded(column: pd.Series, condition: pd.Series) -> bool:
    """Say whether every level of `column` lies within one level of the condition, with replicates to show it."""
    both = column.notna() & condition.notna()
    column, condition = column[both], condition[both]
    levels = column.nunique()
    if levels < 2 or levels == len(column):
        return False
    per_level = condition.groupby(column).nunique()
    return bool((per_level == 1).all())


def _nested(used: pd.DataFrame, inner: str, outer: str) -> bool:
    return bool((used.groupby(outer, observed=True)[inner].nunique() <= 1).all())


def _pair_column(question: str, columns: Sequence[ColumnProfile], used: pd.DataFrame, condition: pd.Series) -> str:
    """Return the column whose levels each occur in both groups: the donors of a paired design."""
    said = bool(_PAIR_WORDS.search(question))
    candidates: list[tuple[float, str]] = []
    for column in columns:
        values = used[column.name].astype("string")
        if values.isna().any() or not 2 <= values.nunique() <= len(values) // 2:
            continue
        table = used.groupby([values, condition]).size().unstack(fill_value=0)
        complete = bool((table > 0).all().all())
        if not complete or table.shape[1] < 2:
            continue
        once = bool((table == 1).all().all())
        named = any(m.strength >= 0.6 for m in find_columns(question, [column]))
        score = column.role("pair") + (0.3 if said else 0) + (0.3 if once else 0) + (0.3 if named and said else 0)
        if column.role("batch") >= 0.7 and column.role("pair") < 0.5:
            continue
        if score >= 0.6 and (once or column.role("pair") >= 0.6 or (said and named)):
            candidates.append((score, column.name))
    return max(candidates)[1] if candidates else ""


def require_replicates(design: Design, unit: str = "samples") -> None:
    """Refuse a comparison without replicates and warn of one with few.

    Raises:
        PlanError: when a group has fewer than two samples.
    """
    sizes = {level: design.sizes.get(level, 0) for level in (design.control, design.treated)}
    text = ", ".join(f"{level!r} has {count}" for level, count in sizes.items())
    if min(sizes.values()) < 2:
        message = (
            f"Each group needs at least 2 {unit} to tell a difference from chance, and 3 or more to find most of them: "
            f"in {design.condition!r}, {text}."
        )
        raise PlanError(message, advice="Add replicates or choose another comparison.")
    if min(sizes.values()) == 2:
        design.warnings.append(f"A group has only 2 {unit} ({text}): expect missed genes and unsure fold changes.")
    left_out = [level for level in design.sizes if level not in sizes]
    if left_out:
        design.reasons.append(f"Samples of {', '.join(map(repr, left_out))} take no part in this comparison.")
