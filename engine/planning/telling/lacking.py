"""What an input lacks: what is needed, and why no file does."""

from __future__ import annotations

from collections.abc import Sequence

from engine.data.catalogue import KINDS
from engine.domain.datatypes import MATRICES, DataType
from engine.domain.profile import Profile
from engine.domain.toolspec import ToolSpec
from engine.errors import PlanError


def in_words(kind: DataType | str) -> str:
    """Return a data type as a person calls it."""
    return KINDS[DataType(kind)].called


def missing(profiles: Sequence[Profile], spec: ToolSpec, wanted: DataType) -> PlanError:
    """Return the error for an input no file can serve as: what is needed and why each file does not do."""
    message = f"{spec.title} needs {in_words(wanted)}, which the files do not hold."
    said = [(profile.name, why_not(profile)) for profile in profiles]
    reasons = [text if text.startswith(name) else f"{name}: {text}" for name, text in said]
    advice = " ".join(reasons) if reasons else "No data file was given; add one with the question."
    return PlanError(message, advice=advice, details={"missing": wanted.value})


def why_not(profile: Profile) -> str:
    """Return one sentence on what a file is, or why it is nothing usable."""
    if not profile.types or profile.best is None:
        return profile.warnings[0] if profile.warnings else f"{profile.name} cannot be read."
    if profile.best.type in MATRICES and profile.warnings:
        return profile.warnings[0]
    return profile.summary.rstrip(".") + "."
