from __future__ import annotations

import json
import shutil

import pytest
from reporting_run import small_registry

from engine.domain.encoding.hashing import sha256_value
from engine.errors import NotFoundError
from engine.provenance.recorder import provenance, written
from engine.provenance.verify import hash_file, verify_path, verify_run
from engine.reporting.forms.bundle import write_bundle


@pytest.fixture(scope="module")
def bundle(small_run, tmp_path_factory):
    out = tmp_path_factory.mktemp("bundle") / "out"
    write_bundle(*small_run, small_registry(), out)
    return out


@pytest.fixture
def folder(bundle, tmp_path):
    """Return a copy of the exported run, to be damaged."""
    return shutil.copytree(bundle, tmp_path / "out")


def test_record_holds_code_inputs_outputs_and_versions_of_each_step(small_run):
    view, store = small_run
    document = provenance(view, small_registry())
    step = document["steps"][2]
    assert step["inputs"]["expression"]["from"] == "n2.expression"
    assert step["inputs"]["expression"]["sha256"] == view.results["n2"].artifacts[0].sha256
    assert step["outputs"][0]["sha256"] == hash_file(store.path(step["outputs"][0]["sha256"]))
    assert step["code"]["sha256"] == hash_file(store.path(step["code"]["sha256"]))
    assert step["versions"] == view.results["n3"].versions
    assert document["steps"][0]["defaults"] == {"level": 0.95}
    assert document["datasets"][0]["sha256"] == hash_file(
        view.plan.datasets[0].path and store.path(view.plan.datasets[0].sha256)
    )
    assert document["environment"]["python"] == "3.11"
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_record_is_sealed_with_its_own_digest(small_run):
    document = provenance(small_run[0], small_registry())
    content = {key: value for key, value in document.items() if key != "digest"}
    assert document["digest"] == "sha256:" + sha256_value(content)
    assert document == provenance(small_run[0], small_registry())


def test_infinite_parameters_do_not_break_the_record(small_run):
    view, _ = small_run
    nodes = [view.plan.nodes[0].model_copy(update={"params": {"limit": float("inf")}}), *view.plan.nodes[1:]]
    document = provenance(
        view.model_copy(update={"plan": view.plan.model_copy(update={"nodes": nodes})}), small_registry()
    )
    json.dumps(document, allow_nan=False)


def test_untouched_run_verifies(small_run):
    checked = verify_run(*small_run, small_registry())
    assert checked.ok
    assert checked.differences == []
    assert checked.files == 4 + 3 + 2 * 2  # artifacts, codes, each data file kept and in place
    assert checked.findings == 3


def test_changed_and_missing_artifacts_are_named(small_run, tmp_path):
    view, store = small_run
    damaged = store.copy(tmp_path / "store")
    means, figure = view.results["n1"].artifacts
    (damaged.folder / means.sha256).write_text("group,n\n")
    (damaged.folder / figure.sha256).unlink()
    checked = verify_run(view, damaged, small_registry())
    assert not checked.ok
    assert (checked.changed, checked.missing) == (1, 1)
    assert any(text.startswith("n1_means.csv (step n1) has changed") for text in checked.differences)
    assert any(text.startswith("n1_means_plot.png (step n1) is missing") for text in checked.differences)
    assert any("selects no row" in text for text in checked.differences)


def test_changed_input_file_is_named(small_run, tmp_path):
    view, store = small_run
    changed = tmp_path / "growth.csv"
    changed.write_text("dose group,growth\nlow,1\n")
    first = view.plan.datasets[0].model_copy(update={"path": str(changed)})
    second = view.plan.datasets[1].model_copy(update={"path": str(tmp_path / "gone.csv")})
    plan = view.plan.model_copy(update={"datasets": [first, second]})
    checked = verify_run(view.model_copy(update={"plan": plan}), store, small_registry())
    assert [d for d in checked.differences if "growth.csv has changed" in d]
    assert len(checked.differences) == 1
    assert len(checked.notes) == 1
    assert "gone.csv is no longer there" in checked.notes[0]


def test_a_step_that_read_other_data_is_found(small_run):
    view, store = small_run
    swapped = view.results["n3"].model_copy(update={"inputs": {"expression": "0" * 64}})
    checked = verify_run(view.model_copy(update={"results": {**view.results, "n3": swapped}}), store, small_registry())
    assert checked.differences == [
        "Step n3 read expression with SHA-256 000000000000..., but n2.expression has "
        f"{view.results['n2'].artifacts[0].sha256[:12]}...: it ran on other data."
    ]


def test_other_parameters_than_planned_are_found_unless_repaired(small_run):
    view, store = small_run
    other = view.results["n3"].model_copy(update={"params": {"number": 3}})
    checked = verify_run(view.model_copy(update={"results": {**view.results, "n3": other}}), store, small_registry())
    assert checked.differences == ["Step n3 ran with number = 3, but the plan says 25."]
    repaired = other.model_copy(update={"attempts": 2})
    assert verify_run(view.model_copy(update={"results": {**view.results, "n3": repaired}}), store, small_registry()).ok


def test_a_finding_that_differs_from_its_row_is_found(small_run):
    view, store = small_run
    first = view.results["n1"]
    value = first.findings[1].values[0].model_copy(update={"value": 2.9})
    finding = first.findings[1].model_copy(update={"values": [value]})
    results = {**view.results, "n1": first.model_copy(update={"findings": [finding]})}
    checked = verify_run(view.model_copy(update={"results": results, "report": None}), store, small_registry())
    assert len(checked.differences) == 1
    assert "says mean = 2.9, but its row in n1_means.csv says 2.52" in checked.differences[0]


def test_a_report_with_an_invented_number_is_found(small_run):
    view, store = small_run
    finding = view.report.findings[1].model_copy(update={"text": "Mean growth in high is 9.99."})
    report = view.report.model_copy(update={"findings": [finding]})
    checked = verify_run(view.model_copy(update={"report": report}), store, small_registry())
    assert checked.differences == ["The report words finding n1_f2 differently from the step that found it."]


def test_untouched_folder_verifies_wherever_it_lies(folder, tmp_path):
    moved = folder.rename(tmp_path / "elsewhere")
    for place in (moved, moved / "provenance.json"):
        checked = verify_path(place)
        assert checked.ok
        assert checked.findings == 3
        assert checked.files == len([p for p in moved.rglob("*") if p.is_file()]) - 1


@pytest.mark.parametrize("name", ["report.html", "report.md", "run.json", "plan.json", "notebook.ipynb",
                                  "artifacts/n1_means.csv", "data/counts.csv", "code/n2.py"])  # fmt: skip
def test_one_changed_byte_in_any_file_is_named(folder, name):
    with (folder / name).open("ab") as handle:
        handle.write(b" ")
    checked = verify_path(folder)
    assert not checked.ok
    assert checked.changed == 1
    assert checked.differences[0].startswith(f"{name} has changed")


def test_missing_and_added_files_are_named(folder):
    (folder / "artifacts" / "n3_top.csv").unlink()
    (folder / "artifacts" / "fake.csv").write_text("x\n")
    (folder / "notes.txt").write_text("x\n")
    (folder / "results").mkdir()
    (folder / "results" / "x.csv").write_text("x\n")
    checked = verify_path(folder)
    assert (checked.missing, checked.extra) == (1, 2)
    assert checked.differences[0].startswith("artifacts/n3_top.csv is missing")
    assert checked.differences[1] == "artifacts/fake.csv is not in the record: it was added later."
    assert checked.notes == ["notes.txt is not part of the export."]


def _tamper(folder, change, *, reseal=False):
    record = folder / "provenance.json"
    document = json.loads(record.read_text())
    change(document)
    if reseal:
        content = {key: value for key, value in document.items() if key != "digest"}
        document["digest"] = f"sha256:{sha256_value(content)}"
    record.write_text(written(document), encoding="utf-8", newline="\n")


def test_a_tampered_record_is_found(folder):
    _tamper(folder, lambda d: d["run"].update(status="failed"))
    assert verify_path(folder).differences == [
        "provenance.json was changed after it was written: its digest does not fit its content."
    ]


def test_a_resealed_record_still_contradicts_itself(folder):
    def swap(document):
        document["steps"][2]["inputs"]["expression"]["sha256"] = "f" * 64

    _tamper(folder, swap, reseal=True)
    assert "it ran on other data" in verify_path(folder).differences[0]


def test_a_record_that_reaches_outside_its_folder_is_refused(folder):
    _tamper(folder, lambda d: d["files"].update({"../x": {"sha256": "0" * 64, "bytes": 1}}), reseal=True)
    assert any("outside its folder" in text for text in verify_path(folder).differences)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "other"}'])
def test_a_damaged_record_is_said_to_be_damaged(folder, text):
    (folder / "provenance.json").write_text(text)
    checked = verify_path(folder)
    assert not checked.ok
    assert "is not a provenance record" in checked.differences[0]


def test_a_record_with_a_broken_structure_is_a_difference_not_a_crash(folder):
    _tamper(folder, lambda d: d.update(steps=None), reseal=True)
    assert "structure" in verify_path(folder).differences[0]


def test_a_place_without_a_record_is_an_error_in_words(tmp_path):
    with pytest.raises(NotFoundError, match=r"no provenance\.json"):
        verify_path(tmp_path)
    with pytest.raises(NotFoundError, match="no file"):
        verify_path(tmp_path / "nothing.json")


def test_a_step_taken_out_of_the_plan_is_no_difference(small_run):
    view, store = small_run
    plan = view.plan.model_copy(update={"version": 2, "nodes": view.plan.nodes[1:]})
    shorter = view.model_copy(update={"plan": plan, "report": None})
    assert verify_run(shorter, store, small_registry()).differences == []
    assert {f["node"] for f in provenance(shorter, small_registry())["findings"]} == {"n2", "n3"}
