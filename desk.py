"""The app's frame: navigation and what stands at the foot of the sidebar.

It runs before every page, so it imports nothing but Streamlit; the engine is opened by the page, after its
title is on the screen.
"""

import streamlit as st

# An emoji is drawn by the browser: a named symbol would be asked of another host, an image file loads NumPy first.
st.set_page_config(page_title="Biodesk", page_icon="\N{DNA DOUBLE HELIX}", layout="wide", initial_sidebar_state=240)

page = st.navigation(
    {
        "Work": [
            st.Page("pages/ask.py", title="Ask", icon=":material/forum:", default=True),
            st.Page("pages/plan_run.py", title="Plan & Run", icon=":material/account_tree:", url_path="plan_run"),
            st.Page("pages/hypotheses.py", title="Hypotheses", icon=":material/emoji_objects:", url_path="hypotheses"),
        ],
        "Know": [
            st.Page("pages/memory.py", title="Memory", icon=":material/psychology:", url_path="memory"),
            st.Page(
                "pages/knowledge_graph.py", title="Knowledge Graph", icon=":material/hub:", url_path="knowledge_graph"
            ),
            st.Page("pages/tools.py", title="Tools", icon=":material/construction:", url_path="tools"),
        ],
        "Trust": [
            st.Page("pages/provenance.py", title="Provenance", icon=":material/fact_check:", url_path="provenance"),
        ],
        "Settings": [
            st.Page("pages/settings.py", title="Settings", icon=":material/settings:", url_path="settings"),
        ],
    }
)
st.session_state["framed"] = True
# A page that is opened anew may fill its address from what this session remembers; see `pages/parts/focus.py`.
st.session_state["arrived"] = st.session_state.get("page_shown") != page.url_path
st.session_state["page_shown"] = page.url_path
page.run()

from pages.parts.sidebar import draw_foot  # noqa: E402 - after the page: the page must be on the screen first

draw_foot()
