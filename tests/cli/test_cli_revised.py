"""The command line shows what a plan will ask of models, says where a revised plan waits, and runs it when told to."""

from __future__ import annotations

import json
import re

from answering import Answering
from growth_data import write_growth
from model_server import serving

from engine.cli.main import main

QUESTION = "Wachsen die Behandelten schneller, und wie gross ist das Verhaeltnis?"
FAILS = """def median_ratio(table):
    import pandas as pd

    return {"result": pd.DataFrame({"ratio": [table["no_such"].median()]}), "findings": []}
"""
WRITTEN = {
    "title": "Ratio of medians", "description": "The ratio of the median growth of treated to that of control.",
    "inputs": [{"argument": "table", "file": "growth.csv", "type": "table"}],
    "outputs": [{"name": "result", "type": "table"}], "checks": ["tables_not_empty"], "code": FAILS,
}  # fmt: skip
PARAMS = {"value": "growth", "group": "treatment", "treated": "treated", "control": "control"}
GOAL = {"analysis": "compare_groups", "tool": "compare_groups", "params": PARAMS}
CODE = [{"task": "The ratio.", "files": ["growth.csv"], "criteria": ["It is above 0."]}]


def test_a_revised_plan_is_told_of_shown_and_run_with_yes(tmp_path, capsys):
    path = write_growth(tmp_path / "growth.csv")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    with serving() as server:
        other = {**GOAL, "params": {**PARAMS, "value": "height"}}
        server.otherwise = Answering(read=[{"goals": [GOAL], "code": CODE}, {"goals": [GOAL, other]}], code=[WRITTEN])
        (workspace / "settings.toml").write_text(
            'model = "lab/m"\nembedding_model = "none"\nwarm_workers = false\nstarter_knowledge = false\n'
            f'model_repairs = false\n[model_servers.lab]\nbase_url = "{server.url}"\n'
        )
        place = ["--workspace", str(workspace)]
        assert main(["ask", QUESTION, "--data", str(path), *place]) == 4
        told = capsys.readouterr().err
        assert re.search(r"Models: about 2 calls, [\d,]+ tokens, unknown price \(lab/m\); at most \d+ calls", told)
        run_id = told.rsplit("biodesk resume ", 1)[1].split()[0]
        assert main(["resume", run_id, "--run-written-code", *place]) in (0, 1)
        told = capsys.readouterr().err
        assert "a model revised the plan, which waits" in told
        waits = re.search(r"`biodesk resume (\S+) --yes` runs it", told)[1]
        assert waits != run_id
        assert main(["show", waits, *place]) == 0
        assert main(["resume", waits, *place]) == 2
        capsys.readouterr()
        assert main(["resume", waits, "--yes", "--json", *place]) == 0
        assert json.loads(capsys.readouterr().out)["status"] == "succeeded"
        plan = ["plan", "Is growth different between treated and control?", "--data", str(path), "--json"]
        assert main([*plan, *place]) == 0
        estimate = json.loads(capsys.readouterr().out)["model_estimate"]
        assert estimate["parts"][0]["usd"] is None
        assert estimate["says"].startswith("Models: about 2 calls")
