"""`biodesk hypotheses ...` from a command line to a stored tournament."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.cli.main import main
from engine.domain.discovery.hypotheses import Bounds

IDEAS = ("Treatment raises insulin signalling", "Treatment lowers stress of cells", "Light drives growth")


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    for name, value in (("EMBEDDING_MODEL", "none"), ("STARTER_KNOWLEDGE", "false"), ("WARM_WORKERS", "false")):
        monkeypatch.setenv(f"BIODESK_{name}", value)
    return ["--workspace", str(tmp_path / "ws"), "--user", "ann"]


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["hypotheses", *words])
    out, err = capsys.readouterr()
    return code, out, err


def begun(capsys: pytest.CaptureFixture[str], workspace: list[str]) -> dict:
    given = [part for text in IDEAS for part in ("--hypothesis", text)]
    code, out, _ = asked(capsys, "run", "Why does treatment raise growth?", *given, "--json", *workspace)
    assert code == 0
    return json.loads(out)


def test_own_hypotheses_are_voted_on_added_to_and_exported(
    workspace: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    view = begun(capsys, workspace)
    found = view["tournament"]["id"]
    assert [one["text"] for one in view["hypotheses"]] == list(IDEAS)
    last = view["standings"][-1]["hypothesis"]
    code, out, _ = asked(capsys, "vote", found, last[:6], "--json", *workspace)
    assert (code, json.loads(out)["standings"][0]["hypothesis"]) == (0, last)
    code, out, _ = asked(capsys, "add", found, "Roots | take more up", *workspace)
    assert "Roots | take more up" in out
    code, out, _ = asked(capsys, "resume", found, "--iterations", "0", "--calls", "50", "--json", *workspace)
    state = json.loads(out)["tournament"]
    assert (code, state["bounds"]["calls"], state["status"]) == (0, 50, "finished")
    path = tmp_path / "out.md"
    assert asked(capsys, "export", found, "--format", "aims", "--out", str(path), *workspace)[0] == 0
    assert path.read_text(encoding="utf-8").startswith("# Specific aims")
    code, out, _ = asked(capsys, "list", *workspace)
    assert found in out
    assert "No tournament yet" in asked(capsys, "list", *workspace[:2], "--user", "bob")[1]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["run", "x"], "is a word and no goal"),
        (["run", "Why is it so?", "--stop-at", "7"], "--stop-at does not fit"),
        (["run", "Why is it so?", "--literature", "/nowhere.txt"], "cannot be read as text"),
        (["run", "Why is it so?"], "names nothing that the knowledge graph knows"),
        (["show", "tournament_1"], "There is no tournament"),
        (["vote", "tournament_1", "h"], "There is no tournament"),
        (["export", "tournament_1", "--out", "x.md"], "There is no tournament"),
    ],
)
def test_what_cannot_be_done_is_said(
    words: list[str], why: str, workspace: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = asked(capsys, *words, *workspace)
    assert code == 2
    assert why in err
    assert out == ""


def test_a_goal_asked_by_the_name_of_the_strategy_is_answered_by_the_same_tournament(
    workspace: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BIODESK_STARTER_KNOWLEDGE", "true")
    goal = "find drugs that could be repurposed for multiple sclerosis"
    table = tmp_path / "patients.csv"
    table.write_text("patient,weight\np1,60\np2,71\n")
    assert main(["ask", goal, "--data", str(table), "--strategy", "tournament", "--quiet", *workspace]) == 0
    out = capsys.readouterr().out
    view = json.loads(asked(capsys, "list", "--json", *workspace)[1])[0]
    assert view["aims"]["files"] == [str(table)]
    assert (view["aims"]["goal"], view["bounds"], view["status"]) == (
        goal,
        Bounds().model_dump(mode="json"),
        "finished",
    )
    shown = json.loads(asked(capsys, "show", view["id"], "--json", *workspace)[1])
    leader = shown["standings"][0]["hypothesis"]
    text = next(one["text"] for one in shown["hypotheses"] if one["id"] == leader)
    assert text.rstrip(".") in shown["answer"]
    assert f"{shown['standings'][0]['chance_best']:.0%}" in shown["answer"]
    assert shown["answer"] in out
    assert f"`biodesk hypotheses show {view['id']}`" in out


@pytest.mark.parametrize("option", [["--out", "x"], ["--set", "n1.alpha=0.1"], ["--as", "trend_test"]])
def test_what_is_for_plans_is_refused_beside_a_tournament(
    option: list[str], workspace: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ask", "Why is it so?", "--strategy", "tournament", *option, *workspace]) == 2
    assert f"{option[0]} does not go with --strategy tournament" in capsys.readouterr().err


def test_events_of_a_tournament_are_told_while_it_goes_on(
    workspace: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    given = [part for text in IDEAS for part in ("--hypothesis", text)]
    code, out, err = asked(capsys, "run", "Why does treatment raise growth?", *given, *workspace)
    assert code == 0
    assert all(text in err for text in IDEAS)
    assert "against" in err
    assert "cannot be told apart" in out
