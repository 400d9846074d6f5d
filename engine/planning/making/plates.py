"""A plate with its wells in columns and the file that says what is in them: what is asked of the table that both make."""

# Most methods of pandas carry no types of what they return, which is all that these rules would find here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re
from typing import NamedTuple

from engine.data.catalogue import KINDS
from engine.data.structure.rows import look
from engine.domain.datatypes import DataType
from engine.domain.plan import TaskDag, texts_of
from engine.domain.profile import TypeGuess
from engine.domain.toolspec import ToolSpec
from engine.planning.choosing.catalogue import Catalogue
from engine.planning.making.assemble import Making
from engine.planning.making.joined import seen_made
from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import Data, Sheet

LEAST = 6
"""So many columns must be wells that the layout names, and nine tenths of those that it names must be columns."""
_MEASURED = re.compile(r"OD(?:[ _-]?\d{3})?|RFU|RLU|absorbance|fluorescence|luminescence|turbidity", re.IGNORECASE)


class Plate(NamedTuple):
    """A plate with wells in columns, its layout, and the column of the layout that names the wells."""

    plate: Sheet
    layout: Sheet
    well: str

    @property
    def value(self) -> str:
        """What its readings are called in the table that is made."""
        said = _MEASURED.search(self.plate.name)
        return said[0] if said else "reading"

    def is_read_by(self, plan: TaskDag) -> bool:
        """Say whether a step of a plan uses readings or what stands beside them on the plate."""
        own = {self.value, *(column.name for column in self.plate.columns)}
        after = plan.nodes[1:]  # the first puts plate and layout together
        return bool(own & {text for node in after for value in node.params.values() for text in texts_of(value)})

    @property
    def told(self) -> str:
        """What the table is that both files make, in a sentence."""
        columns = [c.name for c in self.layout.columns if c.name != self.well]
        return (
            f"{self.plate.name} and {self.layout.name} are put together first: one row a reading, {self.value!r} (the "
            f"blanks that the layout names taken off), its well in {self.well!r}, and beside it the other columns of "
            f"{self.plate.name} and {', '.join(map(repr, columns))}. A goal may name these columns of that one table."
        )


def plate_of(data: Data) -> Plate | None:
    """Return the plate and its layout, None where two files are none."""
    sheets = [sheet for sheet in data.sheets if not sheet.made and KINDS[sheet.profile.types[0].type].records]
    if len(sheets) != 2 or len(data.sheets) != 2:
        return None
    for plate, layout in (sheets, sheets[::-1]):
        names = {column.name for column in plate.columns}
        if len(names) < LEAST:
            continue
        for column in layout.columns[:3]:
            if column.distinct + column.missing != layout.profile.rows or column.distinct < LEAST:
                continue
            wells = set(layout.frame()[column.name].dropna().astype(str).str.strip())
            if len(wells & names) >= max(LEAST, 0.9 * len(wells)):
                return Plate(plate, layout, column.name)
    return None


def unfolds(spec: ToolSpec) -> bool:
    """Say whether a step puts wells in columns and their layout together."""
    return any(p.role == "well" for p in spec.params)


def unfolded(catalogue: Catalogue, found: Plate, made: Making) -> tuple[Reading, Data]:
    """Plan the step that unfolds a plate; returns the question as read on the table that this makes, and that."""
    spec = next(tool for tool in catalogue.registry if unfolds(tool))
    param = next(p for p in spec.params if p.role == "well")
    own = next(port.name for port in spec.inputs if port.name == param.of)
    other = next(port.name for port in spec.inputs if port.name != own)
    inputs = {other: made.builder.use(found.plate, DataType.TABLE), own: made.builder.use(found.layout, DataType.TABLE)}
    free, value = next(p.name for p in spec.params if not p.role), found.value
    why = f"{found.layout.name} says what is in the wells that are columns of {found.plate.name}."
    node = made.builder.add(spec, {param.name: found.well, free: value}, inputs=inputs, reasons=[why])
    frames = [sheet.frame() for sheet in (found.plate, found.layout)]
    wells = [name for name in frames[0].columns if str(name) in set(frames[1][found.well].astype(str).str.strip())]
    kept = [name for name in frames[0].columns if name not in wells]
    long = frames[0].melt(id_vars=kept, value_vars=wells, var_name=found.well, value_name=value)
    layout = frames[1].assign(**{found.well: frames[1][found.well].astype(str).str.strip()})
    frame = long.merge(layout.drop(columns=[c for c in layout if c in kept]), on=found.well, how="left")
    columns, structure = look(frame)
    update = {"column_profiles": columns, "structure": structure, "rows": len(frame),
              "types": [TypeGuess(type=DataType.TABLE, confidence=1.0)]}  # fmt: skip
    output = next(out.name for out in spec.outputs if out.type is DataType.TABLE)
    seen, step = found.plate.profile.model_copy(update=update), f"{node}.{output}"
    sheet = Sheet(seen, step=step, rows=frame, files=(found.layout.name,))
    return seen_made(catalogue, Data([sheet]), made)
