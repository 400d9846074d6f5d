"""Three questions with real data, so that a new user sees a result before preparing a file.

The data ships inside packages Biodesk needs anyway: nothing is downloaded, and the same files can be made
on any machine. Each example names its package, its data set and the work it was published in.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.domain.base import Value
from engine.errors import NotFoundError, StorageError


class Example(Value):
    """A question that can be run at one click."""

    id: str
    title: str
    question: str
    description: str
    """What the data is, in a sentence a biologist can judge."""
    source: str
    """Package, data set and publication."""


_EXAMPLES = (
    Example(
        id="blood_cells",
        title="Cell types in blood",
        question="Which cell types are in these blood cells and what are their marker genes?",
        description="700 peripheral blood mononuclear cells of one donor, 765 genes, normalised expression.",
        source=(
            "scanpy, pbmc68k_reduced: a sample of the 68,000 blood cells of Zheng et al. 2017, "
            "Nature Communications 8, 14049"
        ),
    ),
    Example(
        id="breast_cancer_survival",
        title="Survival after hormone therapy",
        question=(
            "Does hormone therapy (horTh) prolong survival of breast cancer patients, "
            "adjusted for age, tumour size and grade?"
        ),
        description="686 women with node-positive breast cancer; recurrence-free time in days, 299 events.",
        source=(
            "lifelines, gbsg2: German Breast Cancer Study Group 2, Schumacher et al. 1994, "
            "Journal of Clinical Oncology 12, 2086-2093"
        ),
    ),
    Example(
        id="tumour_nuclei",
        title="Nuclei of malignant tumours",
        question="Is the mean radius of cell nuclei larger in malignant than in benign breast tumours (diagnosis)?",
        description="569 breast tumours, 30 measurements of cell nuclei from images of fine-needle aspirates.",
        source=(
            "scikit-learn, breast_cancer: Wisconsin Diagnostic Breast Cancer, Street, Wolberg and Mangasarian 1993, "
            "IS&T/SPIE Electronic Imaging 1905, 861-870"
        ),
    ),
)


def examples() -> list[Example]:
    """Return the examples, in the order they are offered."""
    return list(_EXAMPLES)


def example_files(example_id: str, folder: Path) -> list[Path]:
    """Write an example's data into a folder, unless it is there, and return the files.

    Raises:
        NotFoundError: when there is no example of this id.
        StorageError: when the folder cannot be written.
    """
    if example_id not in _WRITERS:
        known = ", ".join(example.id for example in _EXAMPLES)
        raise NotFoundError(f"There is no example {example_id!r}.", advice=f"The examples are: {known}.")
    name, write = _WRITERS[example_id]
    path = Path(folder) / name
    if path.is_file():
        return [path]
    # Written beside and moved into place: a killed write must not leave half a file that looks whole.
    part = path.with_name(f".{uuid.uuid4().hex[:12]}-{name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(part)
        part.replace(path)
    except OSError as err:
        message = f"The example's data cannot be written to {folder}: {err.strerror or err}."
        raise StorageError(message, advice="Free some space or choose another workspace.") from err
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
    return [path]


def _write_blood_cells(path: Path) -> None:
    import scanpy

    scanpy.datasets.pbmc68k_reduced().write_h5ad(path)


def _write_survival(path: Path) -> None:
    from lifelines.datasets import load_gbsg2

    load_gbsg2().to_csv(path, index=False)


def _write_nuclei(path: Path) -> None:
    from sklearn.datasets import load_breast_cancer

    bunch: Any = load_breast_cancer(as_frame=True)
    table = bunch.data
    # The package codes the diagnosis as 0 and 1; words cannot be read the wrong way round.
    table.insert(0, "diagnosis", [str(bunch.target_names[code]) for code in bunch.target])
    table.to_csv(path, index=False)


_WRITERS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "blood_cells": ("pbmc68k_reduced.h5ad", _write_blood_cells),
    "breast_cancer_survival": ("gbsg2.csv", _write_survival),
    "tumour_nuclei": ("breast_cancer_nuclei.csv", _write_nuclei),
}
