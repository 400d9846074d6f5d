"""The search for tools: the best ones with their reasons, and what each stage let in, why and in what time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.parts.engine import attempt
from pages.parts.escape import plain
from pages.parts.frame import Tab
from pages.parts.words import counted, duration, shortened

if TYPE_CHECKING:
    from engine.api import Engine

EXAMPLES = ("Remove doublets from single-cell data", "Compare survival between two groups of patients")
QUERY = "tool_query"
TOP = "tool_top"
_STAGES = (
    ("embed", "Question to vector", "The question becomes a vector, as every tool's text did once."),
    ("search", "Search", "Words and vectors over all catalogues."),
    ("expand", "Expand", "Tools that those found need, feed or are used with, and links of the knowledge graph."),
    ("rerank", "Rerank", "A sum of visible parts: text, fit with the data, links, past success."),
)
_LINES = 62
"""Height of a row in pixels; a table breaks long texts into lines only in rows of more than four line heights."""
_METHODS = {"hybrid": "words and vectors", "lexical": "words only"}


def draw_search(engine: Engine) -> None:
    """Draw the question and what answers it."""
    left, right = st.columns([5, 1], vertical_alignment="bottom")
    with left:
        query = st.text_input(
            "What do you want to do?", key=QUERY, placeholder="Describe the task in your words, or name a tool"
        )
    with right:
        top = st.number_input("Top", 1, 200, engine.settings.search_results, key=TOP, help="Tools to list at most")
    if not query.strip():
        _empty(engine)
        return
    found: list[Any] = []
    with st.spinner("Searching all catalogues...", show_time=True):
        ok = attempt(
            lambda: found.append(
                engine.search_tools(query, top=int(top), domains=engine.domains_of(query), explain=True)
            )
        )
    if ok:
        _answer(found[0])


def _empty(engine: Engine) -> None:
    catalogues = engine.catalogue.catalogues()
    imported = sum(info.entries for info in catalogues)
    more = f" and {imported:,} of {counted(len(catalogues), 'imported catalogue')}" if catalogues else ""
    st.markdown(f"{len(engine.tools()):,} built-in tools{more} can be found. Try one of these:")
    with st.container(horizontal=True, gap="small", key="tool_examples"):
        for place, example in enumerate(EXAMPLES):
            st.button(
                example, key=f"tool_example_{place}", icon=":material/search:", on_click=_ask_for, args=(example,)
            )


def _ask_for(example: str) -> None:
    st.session_state[QUERY] = example


def _answer(found: Any) -> None:
    seconds = found.stages.seconds.get("total", 0.0)
    counts = ", ".join(f"{stage} {text}" for stage, text in _counts(found.stages).items())
    st.caption(f"{counts.capitalize()}; {_time(seconds)} in all. How and why is told below the table.")
    if found.notes:
        st.caption(plain(" ".join(found.notes).replace("`", "'")))
    if found.tools:
        _best(found.tools)
    else:
        st.markdown("No tool fits. A catalogue that has one can be imported under Catalogues.")
    _stages(found)
    if found.considered:
        _considered(found)


def _best(tools: list[Any]) -> None:
    import pandas as pd

    rows = [
        {
            "Rank": rank,
            "Tool": tool.name,
            "What it does": shortened(tool.description or tool.title, 100).replace("`", ""),
            "Why": tool.why.replace("`", ""),
            "Score": round(float(tool.score), 3),
            "Catalogue": "built in" if tool.catalogue == "biodesk" else tool.catalogue,
            "Runnable": "yes" if tool.runnable else "not here",
        }
        for rank, tool in enumerate(tools, 1)
    ]
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        height="content" if len(rows) <= 6 else 440,
        row_height=_LINES,
        key="tools_found",
        column_config={
            "Rank": st.column_config.NumberColumn(width=45),
            "Tool": st.column_config.TextColumn(width=140),
            "What it does": st.column_config.TextColumn(width=270),
            "Why": st.column_config.TextColumn(width=215),
            "Score": st.column_config.NumberColumn(
                format="%.3f", width=60, help="0 to 1, comparable within this search only"
            ),
            "Catalogue": st.column_config.TextColumn(width=80),
            "Runnable": st.column_config.TextColumn(width=72),
        },
        alt="Tools found, best first",
    )


def _stages(found: Any) -> None:
    counts, seconds = _counts(found.stages), found.stages.seconds
    base, _, model = found.method.partition("+")
    how = (_METHODS.get(base) or base) + (", ordered by the model" if model else "")
    st.markdown(f"**Stages** ({plain(how)})")
    rows = [
        {"Stage": label, "Tools": counts.get(stage, ""), "Time": _time(seconds.get(stage, 0.0)), "What it does": text}
        for stage, label, text in _STAGES
    ]
    rows.append({"Stage": "All", "Tools": "", "Time": _time(seconds.get("total", 0.0)), "What it does": ""})
    st.table(rows, border="horizontal", hide_index=True)


def _counts(stages: Any) -> dict[str, str]:
    return {
        "search": f"{stages.search:,} found",
        "expand": f"{stages.expand:,} added",
        "rerank": f"{stages.rerank:,} kept",
    }


def _time(seconds: float) -> str:
    return duration(seconds) if seconds >= 0.001 else "under 1 ms"


def _considered(found: Any) -> None:
    import pandas as pd

    names = list(dict.fromkeys(part for tool in found.considered for part in tool.parts))
    rows = [
        {
            "Tool": tool.name,
            "Listed": "yes" if place < len(found.tools) else "no",
            "Entered by": tool.entered,
            "Because of": tool.because_of,
            "Score": round(float(tool.score), 3),
            **{part.replace("_", " "): tool.parts.get(part) for part in names},
        }
        for place, tool in enumerate(found.considered)
    ]
    with st.expander(f"How each was found ({len(rows):,} considered)", icon=":material/rule:", key="tools_considered"):
        st.caption(
            "Entered by: the stage that brought it. Because of: the tool or entity, and the link, it came along."
        )
        st.dataframe(
            pd.DataFrame(rows),
            hide_index=True,
            height=400,
            key="tools_explained",
            column_config={
                "Score": st.column_config.NumberColumn(format="%.3f"),
            }
            | {part.replace("_", " "): st.column_config.NumberColumn(format="%.3f", width="small") for part in names},
            alt="How each tool was found",
        )


FIND = Tab("Find", draw_search, order=10)
