"""What a group is called that others are compared with."""

from __future__ import annotations

import pytest

from engine.planning.reading.contrast import control_level
from engine.toolbox.tables.columns import likely_control


@pytest.mark.parametrize(
    ("control", "others"),
    [("siCtrl", ["siTP53+Nutlin", "siTP53"]), ("sh-scramble", ["shMYC_1", "shMYC_2"]), ("sgNT", ["sgKRAS", "sgEGFR"])],
)
def test_the_control_of_a_knock_down_is_recognised(control: str, others: list[str]) -> None:
    levels = [*others, control]
    assert (likely_control(levels), control_level(levels)) == (control, control)


def test_a_gene_that_begins_so_is_none() -> None:
    levels = ["siNTRK1", "siSCRIB", "siCTLA4"]
    assert (likely_control(levels), control_level(levels)) == (None, "")
