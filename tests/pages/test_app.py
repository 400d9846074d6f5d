"""Every page against the real engine: launch, nothing there yet, workspace taken, and a question answered."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("pages/ask.py", "pages/plan_run.py", "pages/provenance.py")
QUESTION = "Is the value higher in treated than in control (group)?"
TABLE = "sample,group,value\n" + "".join(
    f"s{k},{'treated' if k % 2 else 'control'},{10 + (k % 2) * 4 + (k * 7 % 5) * 0.3:.2f}\n" for k in range(24)
)


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """Return a workspace of this test alone."""
    monkeypatch.setenv("BIODESK_WORKSPACE", str(tmp_path / "workspace"))
    monkeypatch.setenv("BIODESK_WARM_WORKERS", "false")
    yield tmp_path / "workspace"
    release(tmp_path / "workspace")


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """Return a workspace and the id of a finished run in it, shared by tests that only look."""
    folder = tmp_path_factory.mktemp("answered")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BIODESK_WORKSPACE", str(folder / "workspace"))
        patch.setenv("BIODESK_WARM_WORKERS", "false")
        yield folder / "workspace", asked(folder / "workspace", folder)
    release(folder / "workspace")


@pytest.fixture
def finished(answered, monkeypatch):
    """Point the pages to the shared workspace and return the id of its finished run."""
    monkeypatch.setenv("BIODESK_WORKSPACE", str(answered[0]))
    monkeypatch.setenv("BIODESK_WARM_WORKERS", "false")
    return answered[1]


def release(folder: Path) -> None:
    """Close the engine of a workspace, so that the next test can open another."""
    from pages.parts.engine import _opened

    _opened.clear(str(folder))
    st.cache_data.clear()


def app() -> AppTest:
    return AppTest.from_file(str(ROOT / "desk.py"), default_timeout=60)


def opened(workspace: Path):
    """Return the engine the pages use."""
    from pages.parts.engine import _opened

    return _opened(str(workspace))


def shown(at: AppTest) -> str:
    """Return all text on the screen."""
    groups = (at.markdown, at.caption, at.warning, at.error, at.title, at.subheader)
    return "\n".join(str(element.value) for group in groups for element in group)


def asked(workspace: Path, tmp_path: Path, *, auto_approve: bool = True) -> str:
    """Ask a question outside the pages and wait for it; return the run's id."""
    table = tmp_path / "values.csv"
    table.write_text(TABLE)
    engine = opened(workspace)
    run_id = engine.ask(QUESTION, [table], auto_approve=auto_approve)
    engine.wait(run_id, timeout=60)
    return run_id


# ==== nothing there yet ====


@pytest.mark.parametrize("page", PAGES)
def test_page_launches_on_an_empty_workspace(workspace, page):
    at = app().run()
    at = at.switch_page(page).run()
    assert not at.exception
    assert not at.warning
    assert at.title[0].value in ("Ask", "Plan & Run", "Provenance")


def test_ask_offers_three_examples_and_says_what_is_kept(workspace):
    at = app().run()
    assert [button.key for button in at.button if button.label == "Ask this"] == [
        "example_blood_cells",
        "example_breast_cancer_survival",
        "example_tumour_nuclei",
    ]
    assert "Questions you ask are kept here" in shown(at)


def test_sidebar_foot_names_workspace_and_planner(workspace):
    at = app().run()
    captions = " ".join(str(caption.value) for caption in at.sidebar.caption)
    assert "Built-in planner, no model" in captions
    assert "workspace" in captions


# ==== what can go wrong ====


@pytest.mark.parametrize("page", PAGES)
def test_workspace_in_use_is_a_calm_sentence(workspace, page):
    code = (
        "import sys; from engine.api import open_engine; e = open_engine(workspace=sys.argv[1]);"
        "print('open', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(workspace)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == "open"
        at = app().run().switch_page(page).run()
        assert not at.exception
        assert len(at.warning) == 1
        assert "Traceback" not in at.warning[0].value
        assert "already using this workspace" in at.warning[0].value
        assert at.button(key="try_again")
        assert "goes on by itself" in shown(at)
        if page == PAGES[0]:
            at.chat_input(key="question").upload("values.csv", TABLE.encode(), "text/csv").set_value(QUESTION).run()
            assert len(at.warning) == 1
    finally:
        holder.communicate("")
    again = at.button(key="try_again").click().run()
    assert not again.warning
    if page == PAGES[0]:  # what was asked and given meanwhile is not lost
        (record,) = opened(workspace).runs()
        assert record.question == QUESTION
        assert Path(record.data[0]).read_text() == TABLE


@pytest.mark.parametrize("page", PAGES)
def test_unknown_run_in_the_address_is_a_sentence(workspace, page, tmp_path):
    asked(workspace, tmp_path, auto_approve=False)
    at = app()
    at.query_params["run"] = "run_never"
    at.run()
    at.switch_page(page).run()
    assert not at.exception
    assert "run\\_never" in at.warning[0].value


def test_question_that_cannot_be_planned_says_what_is_missing(workspace):
    engine = opened(workspace)
    run_id = engine.ask("Which genes change with treatment?", [])
    engine.wait(run_id, timeout=60)
    at = app()
    at.query_params["run"] = run_id
    at.run()
    assert not at.exception
    assert engine.record(run_id).error
    assert not at.warning
    assert "This cannot be answered as it stands" in shown(at)
    assert "No data file came with the question" in shown(at)


# ==== from question to answer ====


def test_question_is_planned_approved_and_answered(workspace, tmp_path):
    run_id = asked(workspace, tmp_path, auto_approve=False)
    engine = opened(workspace)
    at = app()
    at.query_params["run"] = run_id
    at.run()
    assert not at.exception
    assert "Nothing has been computed yet" in shown(at)
    assert "Plan of steps" in shown(at)
    assert "% sure" not in shown(at)  # the route's confidence would be read as the plan's
    at.button(key="run_plan").click().run()
    engine.wait(run_id, timeout=90)
    at.run()
    assert not at.exception
    assert engine.record(run_id).status == "succeeded"
    text = shown(at)
    report = engine.view(run_id).report
    from pages.parts.escape import plain

    assert report.findings
    for finding in report.findings[:3]:
        assert plain(finding.text) in text
    assert "Postconditions of the" in text
    assert "Score" not in text
    told = [element.value for element in at.markdown]
    assert report.summary == [f"Yes: {answer.text}" for answer in report.answers]
    sentence = told.index(f"**{plain(report.answers[0].said)}**")  # before everything else there is to say
    assert all(told.index(plain(text.text)) > sentence for text in report.findings if plain(text.text) in told)
    assert [expander.label for expander in at.expander if expander.label == "Details"]
    assert at.dataframe  # the rows that show it
    at.button(key=f"check_answer_{run_id}_0_{report.answers[0].finding}").click().run()  # opens its cell over the page
    assert not at.exception
    assert len(at.get("dialog")) == 1
    assert "What limits this answer" in text or not report.caveats
    downloads = {element.label for element in at.get("download_button")}
    assert {"Report (HTML)", "Report (PDF)", "Notebook", "Everything (ZIP)"} <= downloads


def test_question_with_an_uploaded_file_becomes_a_run(workspace):
    at = app().run()
    at.file_uploader(key="uploader_0").upload("va lues.csv", TABLE.encode(), "text/csv").run()
    assert not at.exception
    assert "va lues.csv" in shown(at)
    at.chat_input(key="question").set_value(QUESTION).run()
    assert not at.exception
    (record,) = opened(workspace).runs()
    assert record.question == QUESTION
    assert [Path(path).name for path in record.data] == ["va lues.csv"]
    assert Path(record.data[0]).read_text() == TABLE


def test_a_file_that_was_asked_about_is_attached_no_more_though_the_browser_tells_of_it_again(workspace, monkeypatch):
    import streamlit as st

    from pages.parts.uploads import Upload

    told, field = {}, st.file_uploader

    def twice(*args, key, on_change, **more):
        told[key] = on_change
        if key == "uploader_1":  # the field before is gone here, and in the browser not yet
            (file_id,) = st.session_state["kept_uploads"]
            st.session_state["uploader_0"] = [Upload(file_id, "values.csv", TABLE.encode())]
            told["uploader_0"]()
        return field(*args, key=key, on_change=on_change, **more)

    monkeypatch.setattr(st, "file_uploader", twice)
    at = app().run()
    at.file_uploader(key="uploader_0").upload("values.csv", TABLE.encode(), "text/csv").run()
    at.chat_input(key="question").set_value(QUESTION).run()
    (record,) = opened(workspace).runs()
    opened(workspace).wait(record.run_id, 60)
    at.run()
    assert not at.exception
    assert "uploader_1" in told
    assert not [button for button in at.button if button.key == "remove_files"]


def test_files_given_alone_are_shown_before_anything_is_asked(workspace):
    at = app().run()
    at.chat_input(key="question").upload("values.csv", TABLE.encode(), "text/csv").set_value("").run()
    assert not at.exception
    assert opened(workspace).runs() == []
    assert "values.csv" in shown(at)
    at.chat_input(key="question").set_value(QUESTION).run()
    (record,) = opened(workspace).runs()
    assert [Path(path).name for path in record.data] == ["values.csv"]


def test_each_of_several_files_has_its_first_rows_folded(workspace):
    at = app().run()
    counts = "gene,s0,s1,s2,s3\n" + "".join(f"g{n},{n},{2 * n},{n + 3},{n % 5}\n" for n in range(60))
    field = at.chat_input(key="question")
    field.upload("counts.csv", counts.encode(), "text/csv").upload("values.csv", TABLE.encode(), "text/csv")
    field.set_value("").run()
    assert not at.exception
    assert "**counts.csv**" in shown(at)
    titles = [expander.label for expander in at.expander]
    assert "First rows" in titles  # of the matrix, whose columns are samples
    assert "First rows and 3 columns" in titles
    assert len([frame for frame in at.dataframe if " " in frame.value]) == 2


def test_a_file_in_the_question_box_is_shown_before_it_is_sent(workspace, monkeypatch):
    from pages.parts import uploads

    there = [uploads.Upload("f1", "values.csv", TABLE.encode())]
    monkeypatch.setattr(uploads, "uploads_of_session", lambda: list(there))
    at = app().run()
    assert not at.exception
    assert "**values.csv**" in shown(at)
    there.clear()  # taken out of the box again
    assert "**values.csv**" not in shown(at.run())
    there.append(uploads.Upload("f2", "values.csv", TABLE.encode()))
    at.run().chat_input(key="question").set_value(QUESTION).run()
    (record,) = opened(workspace).runs()
    assert [Path(path).read_text() for path in record.data] == [TABLE]
    at.button(key="new_question").click().run()
    assert "**values.csv**" not in shown(at)  # asked about, though the server still has it


def test_files_given_with_the_words_are_shown_beside_the_plan(workspace):
    at = app().run()
    at.chat_input(key="question").upload("values.csv", TABLE.encode(), "text/csv").set_value(QUESTION).run()
    assert not at.exception
    (record,) = opened(workspace).runs()
    assert [Path(path).name for path in record.data] == ["values.csv"]
    assert "values.csv" in shown(at)


def test_a_file_taken_out_of_the_field_has_no_card_and_no_part_in_the_question(workspace):
    at = app().run()
    at.file_uploader(key="uploader_0").upload("values.csv", TABLE.encode(), "text/csv").run()
    at.file_uploader(key="uploader_0").set_value([]).run()
    assert not at.exception
    assert "values.csv" not in shown(at)


def test_a_new_file_in_a_conversation_is_shown_and_goes_with_those_before(workspace, tmp_path):
    run_id = asked(workspace, tmp_path, auto_approve=False)
    at = app()
    at.query_params["run"] = run_id
    at.run()
    at.file_uploader(key="uploader_0").upload("more.csv", TABLE.encode(), "text/csv").run()
    assert "**more.csv**" in shown(at)
    at.chat_input(key="question").set_value("Summarise the value by group.").run()
    assert not at.exception
    names = [Path(path).name for path in opened(workspace).runs()[0].data]
    assert names == [Path(path).name for path in opened(workspace).record(run_id).data] + ["more.csv"]


def test_follow_up_question_keeps_the_files(workspace, tmp_path):
    run_id = asked(workspace, tmp_path, auto_approve=False)
    at = app()
    at.query_params["run"] = run_id
    at.run()
    at.chat_input(key="question").set_value("Summarise the value by group.").run()
    assert not at.exception
    newest = opened(workspace).runs()[0]
    assert newest.run_id != run_id
    assert newest.data == opened(workspace).record(run_id).data


def test_unreadable_upload_is_shown_as_unusable(workspace):
    at = app().run()
    at.file_uploader(key="uploader_0").upload("noise.xlsx", b"\x00\x01not a workbook" * 50, "application/x").run()
    assert not at.exception
    assert "noise.xlsx" in shown(at)
    assert "Cannot be used" in shown(at) or at.warning


def test_plan_can_be_changed_before_it_runs(workspace, tmp_path):
    run_id = asked(workspace, tmp_path, auto_approve=False)
    engine = opened(workspace)
    at = app()
    at.query_params["run"] = run_id
    at.run()
    at.switch_page("pages/plan_run.py").run()
    assert not at.exception
    plan = engine.view(run_id).plan
    (step,) = [node for node in plan.nodes if node.tool == "compare_groups"]
    assert at.button(key="editor_save").disabled
    at.selectbox(key=f"edit_{run_id}_0_{step.id}_test").set_value("mann_whitney").run()
    assert not at.exception
    at.button(key="editor_save").click().run()
    assert engine.view(run_id).plan.version == 2
    assert engine.view(run_id).plan.node(step.id).params["test"] == "mann_whitney"


def test_a_setting_said_in_words_is_changed_where_it_is_told(workspace, tmp_path):
    (tmp_path / "values.csv").write_text(TABLE)
    engine = opened(workspace)
    run_id = engine.ask(f"{QUESTION} Use Welch's test.", [tmp_path / "values.csv"])
    engine.wait(run_id, 60)
    at = app()
    at.query_params["run"] = run_id
    at.run()
    at.selectbox(key=f"pick_{run_id}_1_0_test").set_value("mann_whitney").run()
    assert not at.exception
    plan = engine.view(run_id).plan
    assert (plan.version, [node.params.get("test") for node in plan.nodes]) == (2, ["mann_whitney"])
    (goal,) = engine.briefs(plan)
    assert (goal.choice.words, goal.choice.by_hand) == ("Mann-Whitney test", True)


def test_what_must_be_answered_stands_above_the_button_that_runs(workspace, tmp_path):
    table = "mouse,arm,healed\n" + "".join(f"m{k},{'drug' if k % 2 else 'sham'},{1 + (k % 3 > 0)}\n" for k in range(40))
    (tmp_path / "mice.csv").write_text(table)
    engine = opened(workspace)
    run_id = engine.ask("Does the share of healed differ between drug and sham?", [tmp_path / "mice.csv"])
    engine.wait(run_id, 60)
    at = app()
    at.query_params["run"] = run_id
    at.run()
    (field,) = [one for one in at.selectbox if "means that it happened" in one.label]
    assert field.value is None
    assert at.button(key="run_plan").disabled
    widgets = [one.key for one in (*at.selectbox, *at.button)]
    tree = [one.key for one in at.main if getattr(one, "key", None) in widgets]
    assert tree.index(field.key) < tree.index("run_plan")
    field.set_value("1").run()
    assert not at.button(key="run_plan").disabled


def test_columns_that_a_refusal_names_are_chosen_on_its_card(workspace, tmp_path):
    table = "leaf,length,width,mass\n" + "".join(f"l{k},{k % 7},{k * 3 % 11},{k * 5 % 13}\n" for k in range(40))
    (tmp_path / "leaves.csv").write_text(table)
    engine = opened(workspace)
    run_id = engine.ask("Show correlations", [tmp_path / "leaves.csv"])
    engine.wait(run_id, 60)
    at = app()
    at.query_params["run"] = run_id
    at.run()
    at.multiselect(key=f"way_columns_{run_id}_0").set_value(["length", "mass"]).run()
    at.button(key=f"way_use_{run_id}_0").click().run()
    assert not at.exception
    newest = engine.runs()[0]
    assert (newest.question, newest.analysis) == ("Show correlations", "correlation")
    engine.wait(newest.run_id, 60)
    assert [node.params["columns"] for node in engine.view(newest.run_id).plan.nodes] == [["length", "mass"]]


def test_step_that_does_not_fit_is_said_at_once_and_blocks_the_run(workspace, tmp_path):
    run_id = asked(workspace, tmp_path, auto_approve=False)
    at = app()
    at.query_params["run"] = run_id
    at.run()
    at.switch_page("pages/plan_run.py").run()
    assert not at.button(key="editor_run").disabled
    choice = at.selectbox(key="add_tool_0")
    volcano = next(option for option in choice.options if "olcano" in option)
    choice.select(volcano).run()
    at.button(key="add_step_now").click().run()
    assert not at.exception
    assert "is not connected" in shown(at)
    assert at.button(key="editor_run").disabled
    at.button(key="editor_drop").click().run()
    assert not at.button(key="editor_run").disabled


def test_inputs_offer_what_fits_and_never_a_circle(workspace, tmp_path):
    run_id = asked(workspace, tmp_path, auto_approve=False)
    engine = opened(workspace)
    plan = engine.add_step(engine.view(run_id).plan, "filter_rows")
    first, added = plan.nodes[0].id, plan.nodes[-1].id
    sources = engine.sources(plan, added, "table")
    assert "data:values.csv" in sources
    assert any(ref.startswith(f"{first}.") for ref in sources)
    assert not any(ref.startswith(f"{added}.") for ref in sources)
    wired = plan.nodes[-1].model_copy(update={"inputs": {"table": f"{first}.comparison"}})
    plan = plan.model_copy(update={"nodes": [*plan.nodes[:-1], wired]})
    assert not any(ref.startswith(f"{added}.") for ref in engine.sources(plan, first, "table"))


def test_a_run_that_was_stopped_without_an_answer_says_once_what_stopped(finished, monkeypatch):
    from engine.api import Engine

    whole, said = Engine.view, ["The run was cancelled before its end.", "Step 'Compare' (n1) was cancelled."]

    def stopped(self, run_id):
        view = whole(self, run_id)
        report = view.report.model_copy(update={"answers": [], "summary": said, "caveats": said[1:]})
        record = view.record.model_copy(update={"status": "cancelled"})
        return view.model_copy(update={"record": record, "report": report})

    monkeypatch.setattr(Engine, "view", stopped)
    at = app()
    at.query_params["run"] = finished
    at.run()
    assert not at.exception
    assert "What limits this answer" not in shown(at)
    assert len([text for text in at.markdown if "was cancelled" in text.value]) == 2  # the sentences of `said`


@pytest.mark.slow
def test_finished_run_can_be_rerun_and_compared(workspace, tmp_path):
    run_id = asked(workspace, tmp_path)
    engine = opened(workspace)
    at = app()
    at.query_params["run"] = run_id
    at.run()
    at.switch_page("pages/plan_run.py").run()
    at.button(key="rerun").click().run()
    assert not at.exception
    records = engine.runs()
    assert len(records) == 2
    assert records[0].parent == run_id
    assert at.query_params["run"] == records[0].run_id
    engine.wait(records[0].run_id, timeout=60)
    at.switch_page("pages/provenance.py").run()
    assert "Both runs used the same data, steps, settings, code and versions" in shown(at)
    assert "Every number of the findings is the same" in shown(at)


@pytest.mark.slow
def test_a_run_can_be_computed_anew(workspace, tmp_path):
    run_id = asked(workspace, tmp_path)
    engine = opened(workspace)
    at = app()
    at.query_params["run"] = run_id
    at.run()
    at.switch_page("pages/plan_run.py").run()
    at.button(key="rerun_fresh").click().run()
    assert not at.exception
    again = engine.runs()[0].run_id
    engine.wait(again, timeout=60)
    assert {result.status for result in engine.view(again).results.values()} == {"succeeded"}
    reused = engine.rerun(run_id)
    engine.wait(reused, timeout=60)
    assert {result.status for result in engine.view(reused).results.values()} == {"cached"}


def test_runs_are_listed_and_searched(workspace, tmp_path):
    run_id = asked(workspace, tmp_path, auto_approve=False)
    at = app().run().switch_page("pages/plan_run.py").run()
    assert at.button(key=f"open_plan_run_{run_id}").label == QUESTION
    at.text_input(key="search_plan_run").set_value("nothing like it").run()
    assert "No run matches" in shown(at)


def test_provenance_verifies_a_run_and_names_a_changed_file(workspace, tmp_path):
    run_id = asked(workspace, tmp_path)
    engine = opened(workspace)
    at = app()
    at.query_params["run"] = run_id
    at.run()
    at.switch_page("pages/provenance.py").run()
    assert not at.exception
    at.button(key="verify").click().run()
    assert "As recorded" in shown(at)
    artifact = next(a for r in engine.view(run_id).results.values() for a in r.artifacts if a.name.endswith(".csv"))
    stored = engine.artifact(artifact.sha256)
    stored.chmod(0o644)
    stored.write_bytes(stored.read_bytes() + b"tampered,1\n")
    at.button(key="verify").click().run()
    assert "As recorded" not in shown(at)
    assert artifact.name.replace("_", "\\_") in shown(at)


@pytest.mark.slow
def test_provenance_compares_two_runs(workspace, tmp_path):
    first = asked(workspace, tmp_path)
    engine = opened(workspace)
    plan = engine.view(first).plan
    step = next(node for node in plan.nodes if node.tool == "compare_groups")
    changed = step.model_copy(update={"params": {**step.params, "test": "mann_whitney"}})
    nodes = [changed if node.id == step.id else node for node in plan.nodes]
    second = engine.run_plan(plan.model_copy(update={"nodes": nodes}))
    engine.wait(second, timeout=60)
    at = app()
    at.query_params["run"] = second
    at.run()
    at.switch_page("pages/provenance.py").run()
    assert not at.exception
    tables = [table.value for table in at.table]
    settings = [t for t in tables if "What" in t.columns and "First run" in t.columns]
    assert any(cell == "mann\\_whitney" for table in settings for row in table.values.tolist() for cell in row)


def test_downloads_hold_the_run(answered, finished):
    from pages.trust.downloads import exported

    engine = opened(answered[0])
    starts = {"html": b"<!", "pdf": b"%PDF", "md": b"#", "notebook": b"{", "json": b"{"}
    for name, start in starts.items():
        data = exported(engine, finished, name)
        assert data.lstrip().startswith(start), name
        assert len(data) > 500


def test_bundle_is_a_zip_with_report_notebook_and_proof(answered, finished):
    from pages.trust.downloads import bundle_zip

    with zipfile.ZipFile(io.BytesIO(bundle_zip(opened(answered[0]), finished))) as archive:
        names = {name.split("/", 1)[1] for name in archive.namelist()}
    assert {"report.html", "report.md", "notebook.ipynb", "plan.json", "provenance.json"} <= names


def test_each_step_shows_results_checks_code_and_settings(finished):
    at = app()
    at.query_params["run"] = finished
    at.run()
    at.switch_page("pages/plan_run.py").run()
    assert not at.exception
    assert [tab.label for tab in at.tabs][:6] == ["Results", "Checks", "Settings", "Inputs", "Code", "Output"]
    assert any("def compare_groups" in str(block.value) for block in at.code)
    assert "What was checked" in shown(at)
