"""What stands between a visit and the first words on the screen: the title comes before everything that takes long.

How long it takes is measured by `benchmarks/bench_first_paint.py`, beside an empty app.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    "pages/ask.py": "Ask",
    "pages/plan_run.py": "Plan & Run",
    "pages/memory.py": "Memory",
    "pages/knowledge_graph.py": "Knowledge Graph",
    "pages/tools.py": "Tools",
    "pages/provenance.py": "Provenance",
    "pages/settings.py": "Settings",
}
VISIT = """
import json, sys
import streamlit
from streamlit.testing.v1 import AppTest

AppTest.from_string("import streamlit as st; st.title('Empty'); st.caption('x')").run()
before, titles, seen = set(sys.modules), [], {}
title = streamlit.title

def shown(text, *rest, **more):
    titles.append(text)
    return title(text, *rest, **more)

def opened(_):
    seen[page] = [titles[-1:], sorted({name.split(".")[0] for name in set(sys.modules) - before if name[0] != "_"})]
    streamlit.stop()  # what follows the first paint is no matter here

streamlit.title = shown
import pages.parts.engine
pages.parts.engine._opened = opened
for page in sys.argv[1:]:
    titles.clear()
    at = AppTest.from_file("desk.py", default_timeout=120).run()
    at.switch_page(page).run()
print(json.dumps(seen))
"""
MAY_BE_LOADED = {*sys.stdlib_module_names, "pages", "streamlit", "<run_path>"}


def test_the_title_is_on_the_screen_before_the_engine_and_anything_heavy_is_loaded():
    done = subprocess.run([sys.executable, "-c", VISIT, *PAGES], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    seen = json.loads(done.stdout.splitlines()[-1])
    assert {page: title for page, (title, _) in seen.items()} == {page: [title] for page, title in PAGES.items()}
    assert {page: set(loaded) - MAY_BE_LOADED for page, (_, loaded) in seen.items()} == {page: set() for page in PAGES}
