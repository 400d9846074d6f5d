"""The documentation is checked like code: its examples run, and its reference leaves nothing out."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from engine import errors
from engine.cli.main import FORMATS, build_parser
from engine.data.profiler import profile_files
from engine.domain.events import EngineEvent
from engine.domain.plan import Alternative, Chosen, Dataset, OpenQuestion, Span, Taken, TaskDag, TaskNode
from engine.domain.profile import Structure
from engine.planning import planner
from engine.planning.binding.slots import SLOTS
from engine.planning.choosing import catalogue
from engine.planning.guards.case import GUARDS
from engine.settings import Settings
from engine.toolbox.analyses import Analysis, Practice, load_analyses, read_examples
from engine.toolbox.checks import CHECKS
from engine.toolbox.registry import builtin_tools, field_modules, param, tool
from engine.toolbox.typecheck import check_plan

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("adr/*.md"))]
MODULE = "engine.toolbox.variants.population_genetics"
ANALYSIS = "hardy_weinberg"


def blocks(path: Path, language: str = "python") -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def load(name: str, source: str, folder: Path):
    """Import a piece of the documentation from a file, because a tool's source is read from its file."""
    path = folder / f"{name.rpartition('.')[2]}.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """The example tool and its tests, imported as the documentation says they would lie in the project."""
    assert MODULE not in field_modules(), "the example became a tool: choose another example"
    tool_code, test_code = blocks(DOCS / "add-a-tool.md")
    folder = tmp_path_factory.mktemp("example")
    sys.path.insert(0, str(ROOT / "tests" / "toolbox"))
    try:
        tools = load(MODULE, tool_code, folder)
        yield tools, load("documented_tests", test_code, folder)
    finally:
        sys.path.remove(str(ROOT / "tests" / "toolbox"))
        for name in (MODULE, "documented_tests"):
            sys.modules.pop(name, None)
        # Only its own: the tools imported meanwhile stay imported, and would never declare their checks again.
        for name in [name for name, function in CHECKS.items() if function.__module__ == MODULE]:
            del CHECKS[name]


@pytest.mark.parametrize(
    "name",
    [
        "test_fords_moths_are_in_equilibrium",
        "test_missing_heterozygotes_are_found",
        "test_a_third_allele_is_refused_by_name",
    ],
)
def test_the_example_tool_passes_its_own_documented_tests(example, name, tmp_path):
    test = getattr(example[1], name)
    test(*[tmp_path for parameter in inspect.signature(test).parameters if parameter == "tmp_path"])


def test_every_documented_test_is_run_here(example):
    documented = {name for name in vars(example[1]) if name.startswith("test_")}
    (mark,) = [m for m in test_the_example_tool_passes_its_own_documented_tests.pytestmark if m.name == "parametrize"]
    assert documented == set(mark.args[1])


@pytest.fixture(scope="module")
def declaration(example):
    """The shipped analysis with what the documented tool declares of it."""
    shipped, told = load_analyses()[ANALYSIS], example[0].hardy_weinberg.tool_spec.declares
    assert list(told) == [ANALYSIS]
    assert not [name for name in told[ANALYSIS] if getattr(shipped, name)]
    return Analysis(**{**shipped.model_dump(), **told[ANALYSIS]})


def test_the_example_answers_the_analysis_it_declares(example, declaration):
    assert example[0].hardy_weinberg.tool_spec.answers == [declaration.id]
    assert MODULE.split(".")[2] == declaration.field


def test_the_documented_new_analysis_is_new_and_complete():
    (source,) = blocks(DOCS / "add-a-tool.md", "toml")
    ((name, facts),) = tomllib.loads(source).items()
    new = Analysis(id=name, field="variants", **facts)
    assert new.id not in load_analyses()
    assert new.title
    assert set(new.guards) <= set(GUARDS)
    assert new.practice or new.alone


def test_the_declaration_keeps_the_contract_of_an_analysis_that_can_be_done(declaration):
    assert declaration.title
    assert declaration.guards
    assert set(declaration.guards) <= set(GUARDS)
    assert declaration.practice or declaration.alone
    assert len(set(declaration.examples)) >= 10


def test_the_example_tool_is_planned_without_touching_the_planner(example, declaration, tmp_path, monkeypatch):
    tools, tests = example
    spec = tools.hardy_weinberg.tool_spec
    documented = (DOCS / "add-a-tool.md").read_text(encoding="utf-8")
    assert f'biodesk plan "{spec.example}"' in documented
    registry = builtin_tools()
    registry.add(spec)
    monkeypatch.setattr(catalogue, "load_analyses", lambda: {**load_analyses(), ANALYSIS: declaration})
    tests.moths(1469, 138, 5).to_csv(tmp_path / "moths.csv", index=False)
    profiles = profile_files([tmp_path / "moths.csv"])
    plan = planner.Planner(registry).plan(spec.example, profiles).plan
    assert [node.tool for node in plan.nodes] == [spec.name]
    assert plan.nodes[0].inputs == {"table": "data:moths.csv"}
    assert plan.nodes[0].params["genotype"] == "genotype"
    assert [chosen.id for chosen in plan.analysis] == [ANALYSIS]
    assert check_plan(plan, registry) == []  # no question blocks it: the wording is sure enough without an embedder


def test_without_the_tool_its_question_is_refused_by_the_name_of_the_analysis(example, tmp_path):
    tools, tests = example
    tests.moths(50, 20, 5).to_csv(tmp_path / "moths.csv", index=False)
    with pytest.raises(errors.PlanError) as caught:
        planner.Planner(builtin_tools()).plan(
            tools.hardy_weinberg.tool_spec.example, profile_files([tmp_path / "moths.csv"])
        )
    assert caught.value.details["analysis"] == ANALYSIS


def test_the_documented_questions_can_be_read(tmp_path):
    (source,) = blocks(DOCS / "add-a-tool.md", "text")
    path = tmp_path / "questions.txt"
    path.write_text(source, encoding="utf-8")
    found = list(read_examples(path))
    assert {example.writer for example, _ in found} == {1, 2}
    assert [example.analysis for example, miss in found if miss] == [ANALYSIS]
    (new,) = {example.analysis for example, miss in found if not miss}
    assert new not in load_analyses(), "the documented analysis exists by now: choose another"
    assert not [example.text for example, _ in found if "{" in example.plain]


def section(page: str, heading: str) -> str:
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    assert found, f"docs/{page} has no section {heading!r}"
    return found.group(1)


def first_cells(text: str) -> set[str]:
    rows = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def test_every_role_of_a_column_is_explained_and_no_other():
    assert first_cells(section("add-a-tool.md", "Roles")) == set(SLOTS) - {""}


def test_every_key_of_a_parameter_is_explained_and_no_other():
    keys = set(inspect.signature(param).parameters) - {"description"}
    assert first_cells(section("add-a-tool.md", "What a parameter can say")) == keys


def test_every_key_of_a_tool_is_in_the_example_or_explained():
    (code, _), explained = blocks(DOCS / "add-a-tool.md"), first_cells(section("add-a-tool.md", "What a tool can say"))
    keys = set(inspect.signature(tool).parameters)
    used = set(re.findall(r"^    (\w+)=", code, re.MULTILINE))
    assert explained <= keys
    assert keys - explained <= used


def test_every_key_of_a_declaration_is_explained():
    text = section("add-a-tool.md", r"2\. Only for a new analysis: [^\n]*")
    given = {"id", "field"}
    assert set(Analysis.model_fields) - given - {"practice"} <= first_cells(text)
    assert not [name for name in Practice.model_fields if f"`{name}`" not in text]


def test_the_page_on_planning_names_every_module_that_decides():
    page = (DOCS / "planner.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(?:engine/planning/)?(?:\w+/)?(\w+\.py)`", page))
    own = {path.name for path in (ROOT / "engine" / "planning").rglob("*.py")}
    assert {name for name in named if name not in own} <= {"typecheck.py", "structure.py", "recall.py"}
    assert {"read.py", "choose.py", "score.py", "bind.py", "designs.py", "coverage.py", "planner.py"} <= named


def test_the_documented_code_passes_the_projects_linter(tmp_path):
    places = re.findall(r"^## .*`([\w/]+\.py)`", (DOCS / "add-a-tool.md").read_text(encoding="utf-8"), re.MULTILINE)
    for place, code in zip(places, blocks(DOCS / "add-a-tool.md"), strict=True):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(code, encoding="utf-8")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for command in (["check", "--no-cache", "."], ["format", "--no-cache", "--check", "."]):
        ruff = [sys.executable, "-m", "ruff", *command]
        done = subprocess.run(ruff, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_the_example_check_notices_lost_individuals(example, tmp_path):
    from table_steps import check_issues

    lost = pd.DataFrame({"genotype": ["AA"], "observed": [10], "expected": [9.0]})
    assert check_issues(["genotypes_add_up"], {"genotypes": lost}, tmp_path) == ["genotypes_lost"]


def test_the_documented_importer_is_one_file(tmp_path):
    """A newcomer's way by the page alone: the file is found, listed, recognised, and survives what all formats do."""
    (source,) = blocks(DOCS / "add-an-importer.md")
    (tmp_path / "trrust.py").write_text(source, encoding="utf-8")
    code = f"""
import sys, pytest
from engine.knowledge import importers
importers.__path__.append({str(tmp_path)!r})
from engine.knowledge.importers.read import FORMATS, preview
(open("pairs.tsv", "w")).write(FORMATS["trrust"].sample)
seen = preview("auto", ["pairs.tsv"])
print(seen.format, seen.nodes_read, [(edge.source, edge.type.value, edge.target) for edge in seen.edges])
tests = {str(ROOT / "tests/knowledge/test_importers_malformed.py")!r}
sys.exit(pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", "-k", "trrust", tests]))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    edges = [("symbol:AATF", "inhibits", "symbol:BAX"), ("symbol:ABL1", "activates", "symbol:BAX")]
    assert done.stdout.startswith(f"trrust 3 {edges}\n")


def test_the_documented_tab_is_one_file(tmp_path, monkeypatch):
    (source,) = blocks(DOCS / "add-a-page-part.md")
    (tmp_path / "rooms").mkdir()
    (tmp_path / "rooms" / "terms.py").write_text(source, encoding="utf-8")
    (tmp_path / "rooms" / "first.py").write_text(
        "import streamlit as st\nfrom pages.parts.frame import Tab\n"
        "FIRST = Tab('First', lambda engine: st.caption('the first tab'), order=10)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    def page(tab):
        from types import SimpleNamespace

        import rooms
        import streamlit as st

        from pages.parts.frame import draw_tabs

        st.session_state["doc_tabs"] = tab
        stats = SimpleNamespace(sources=[SimpleNamespace(name="HPO", license="attribution")])
        draw_tabs(rooms, SimpleNamespace(knowledge=SimpleNamespace(stats=lambda: stats)), key="doc_tabs")

    at_first, at_terms = (AppTest.from_function(page, args=(tab,)).run() for tab in ("First", "Terms"))
    assert [tab.label for tab in at_first.tabs] == ["First", "Terms"]
    assert at_first.caption
    assert not at_first.table
    assert at_terms.table[0].value.iloc[0].tolist() == ["HPO", "attribution"]


def documented_codes(section: str) -> set[str]:
    """Return what stands in code marks at the start of table rows or list items under a heading of the reference."""
    text = (DOCS / "reference.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {section}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    assert found, f"docs/reference.md has no section {section!r}"
    return set(re.findall(r"^(?:\| |- )`([^`]+)`", found.group(1), re.MULTILINE))


def test_reference_lists_every_command_and_no_other():
    parser = build_parser()
    commands = next(action for action in parser._actions if action.dest == "command").choices
    assert {code.split()[0] for code in documented_codes("Commands")} == set(commands)


@pytest.mark.parametrize("command", ["ask", "plan", "run", "resume", "runs", "events", "export", "serve", "demo"])
def test_reference_lists_every_option_of_a_command(command):
    text = (DOCS / "reference.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| `{command}[ `].*$", text, re.MULTILINE)
    assert row
    parsers = next(action for action in build_parser()._actions if action.dest == "command").choices
    options = {option for action in parsers[command]._actions for option in action.option_strings}
    everywhere = {"--workspace", "--user", "--model", "--json", "--quiet", "--help", "-h"}
    assert all(f"`{option}" in text for option in everywhere - {"-h"})
    assert options - everywhere == set(re.findall(r"--[a-z][a-z-]*", row.group(0))) - everywhere


@pytest.mark.parametrize("command", ["memory", "kg", "tools", "hypotheses"])
def test_reference_lists_every_action_of_a_command_with_its_options(command):
    text = (DOCS / "reference.md").read_text(encoding="utf-8")
    rows = "\n".join(re.findall(rf"^\| `{command} .*$", text, re.MULTILINE))
    spans = [span.removeprefix(f"{command} ") for span in re.findall(r"`([^`]+)`", rows)]
    parsers = next(action for action in build_parser()._actions if action.dest == "command").choices
    actions = next(action for action in parsers[command]._actions if isinstance(action.choices, dict)).choices
    for name, parser in actions.items():
        options = {option for action in parser._actions for option in action.option_strings if option.startswith("--")}
        options -= {"--workspace", "--user", "--model", "--json", "--quiet", "--help"}
        documented = [span for span in spans if span.split()[0] == name]
        assert documented, f"{command} {name}"
        assert options == set(re.findall(r"--[a-z-]+", " ".join(documented))), f"{command} {name}"


def test_reference_lists_every_setting_with_its_default():
    text = (DOCS / "reference.md").read_text(encoding="utf-8")
    assert documented_codes("Settings") == set(Settings.model_fields)
    for name, field in Settings.model_fields.items():
        if field.default_factory is None:
            default = str(field.default).lower() if isinstance(field.default, bool) else f"{field.default}"
            assert re.search(rf"^\| `{name}` \| `{re.escape(default)}` \|", text, re.MULTILINE), (name, default)


def test_reference_lists_every_event_with_its_fields():
    text = (DOCS / "reference.md").read_text(encoding="utf-8")
    classes = get_args(get_args(EngineEvent)[0])
    assert documented_codes("Events") == {cls.model_fields["kind"].default for cls in classes}
    for cls in classes:
        own = [name for name in cls.model_fields if name not in ("run_id", "seq", "at", "kind")]
        row = re.search(rf"^\| `{cls.model_fields['kind'].default}` \| (.*?) \|", text, re.MULTILINE)
        assert row, cls
        assert re.findall(r"`(\w+)`", row.group(1)) == own, cls


def test_reference_lists_every_error_with_its_code_and_exit_code():
    text = (DOCS / "reference.md").read_text(encoding="utf-8")
    classes = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.EngineError)]
    assert documented_codes("Errors") == {cls.__name__ for cls in classes}
    for cls in classes:
        assert f"| `{cls.__name__}` | `{cls.code}` | {cls.exit_code} |" in text


@pytest.mark.parametrize("value", [TaskDag, Dataset, TaskNode, OpenQuestion, Span, Chosen, Alternative, Structure])
def test_reference_names_every_field_of_a_plan(value):
    text = (DOCS / "reference.md").read_text(encoding="utf-8")
    section = text[text.index("## Plan files") :]
    names = [field.serialization_alias or name for name, field in value.model_fields.items()]
    assert not [name for name in names if f"`{name}`" not in section]


def test_reference_names_everything_that_words_can_be_taken_for():
    (row,) = re.findall(r"^\| `as` \| (.*) \|$", (DOCS / "reference.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", row)) == set(get_args(Taken))


def test_reference_names_every_export_format():
    text = (DOCS / "reference.md").read_text(encoding="utf-8")
    assert not [name for name in FORMATS if f"`{name}`" not in text]


def test_the_documented_plan_is_one_that_fits(tmp_path):
    (source,) = blocks(DOCS / "reference.md", "json")
    plan = TaskDag.model_validate_json(source)
    assert check_plan(plan, builtin_tools()) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_of_a_page_lead_somewhere(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if not target.startswith(("http://", "https://", "#")) and "docs/images/" not in target:
            assert (page.parent / target.partition("#")[0]).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_paths_a_page_names_exist(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    folder = "engine/toolbox/variants/"
    example = {f"{folder}population_genetics.py", f"{folder}test_population_genetics.py", "engine/toolbox/FIELD/"}
    example |= {"engine/toolbox/FIELD/questions.txt", "engine/data/kinds/plate.py"}
    example |= {"engine/knowledge/importers/trrust.py", "pages/graph/terms.py"}
    named = (
        set(re.findall(r"`((?:engine|storage|pages|benchmarks|docs|scripts|tests|\.streamlit)/[\w./-]+)`", text))
        - example
    )
    assert not [path for path in named if not (ROOT / path).exists() and path != "benchmarks/results/"]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_make_targets_a_page_names_exist(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z][a-z-]*)", page.read_text(encoding="utf-8"), re.MULTILINE))
    assert named <= targets


def readme_commands() -> list[str]:
    lines = [line for block in blocks(ROOT / "README.md", "") for line in block.splitlines()]
    lines = [line.split("  #")[0].strip() for line in lines]
    return [line.removeprefix(".venv/bin/biodesk ") for line in lines if line.startswith(".venv/bin/biodesk ")]


def test_readme_shows_biodesk_commands():
    assert len(readme_commands()) >= 5


@pytest.mark.parametrize("command", readme_commands())
def test_a_command_of_the_readme_is_one_the_parser_knows(command):
    assert build_parser().parse_args(shlex.split(command)).command
