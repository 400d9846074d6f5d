"""What is written as JSON is JSON: every reader takes it, whatever numbers it holds."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.data.kind import write_table
from engine.domain.encoding.plain_json import json_text
from engine.toolbox.results import save_result

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
DOCUMENTS = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


def strict(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def expected(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: expected(item) for key, item in value.items()}
    return [expected(item) for item in value] if isinstance(value, list | tuple) else value


@given(DOCUMENTS)
def test_a_document_is_read_back_with_null_where_a_number_has_no_form(document):
    assert strict(json_text(document)) == expected(document)


def test_what_a_step_gives_is_json_too(tmp_path):
    given = {
        "facts": {"r": np.float64("nan"), "rows": [np.int64(3), math.inf]},
        "findings": [{"text": "r", "x": math.nan}],
    }
    written = save_result(given, {"facts": ("json", write_table)}, str(tmp_path))
    assert strict((tmp_path / written["outputs"]["facts"]["file"]).read_text()) == {"r": None, "rows": [3, None]}
    assert strict((tmp_path / "result.json").read_text())["findings"] == [{"text": "r", "x": None}]
