"""What counts as the same number in a sentence and in its table."""

from __future__ import annotations

import pytest

from engine.toolbox.large_tables import close_enough


@pytest.mark.parametrize(
    ("cell", "stated", "same"),
    [
        ("5e-07", 1e-12, False),
        ("3.20000001e-40", 3.2e-40, True),
        ("3.2001e-40", 3.2e-40, False),
        ("12.3456789", 12.345679, True),
        ("12.3456", 12.3457, False),
        ("0.0", 4e-17, True),
        ("-3e-16", 0.0, True),
        ("0", 1e-9, False),
        ("", 0.0, False),
        ("n/a", 1.0, False),
    ],
)
def test_a_number_is_compared_with_its_cell_by_its_own_size(cell, stated, same):
    assert close_enough(cell, stated) is same
