"""What may import what, beyond the import contracts: the app's frame, lone modules, quick starts, no vendor."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = ("scanpy", "anndata", "pydeseq2", "torch", "matplotlib", "lancedb", "streamlit", "sentence_transformers",
         "gseapy", "lifelines", "sklearn", "statsmodels", "scipy", "httpx2", "litellm", "keyring")  # fmt: skip
VENDORS = ("openai", "anthropic", "google", "cohere", "mistralai", "litellm", "langchain", "langgraph", "ollama",
           "groq", "boto3", "azure")  # fmt: skip
BLANK = (tokenize.COMMENT, tokenize.NL)


def imports_of(path: Path) -> set[str]:
    """Return the full names of the modules a file imports, at any depth."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


def loaded_by(code: str) -> set[str]:
    """Run code in a new interpreter and return the top-level modules it loaded."""
    script = f"{code}\nimport sys\nprint(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


def test_the_app_is_a_short_frame_that_imports_only_streamlit_and_its_sidebar():
    text = (ROOT / "desk.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    assert {name.split(".")[0] for name in imports_of(ROOT / "desk.py")} <= {"streamlit", "pages"}
    before_pages = [
        name for name in imports_of(ROOT / "desk.py") if name.startswith("pages") and name != "pages.parts.sidebar"
    ]
    assert before_pages == []


def test_every_page_the_app_names_is_there():
    named = re.findall(r'"(pages/\w+\.py)"', (ROOT / "desk.py").read_text(encoding="utf-8"))
    assert named
    assert [name for name in named if not (ROOT / name).is_file()] == []


LONE = ("storage.runs.store", "storage.workspace", "engine.domain.plan", "engine.errors", "engine.ports.runs",
        "engine.adapters.process_sandbox", "engine.toolbox.registry", "engine.api")  # fmt: skip


@pytest.mark.parametrize("module", LONE)
def test_a_module_can_be_imported_alone_in_a_new_process(module):
    done = subprocess.run([sys.executable, "-c", f"import {module}"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_importing_the_engine_loads_no_heavy_library():
    assert not loaded_by("import engine.api") & set(HEAVY)


def test_asking_for_help_loads_neither_heavy_libraries_nor_the_databases():
    code = "from engine.cli.main import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass"
    assert not loaded_by(code) & {*HEAVY, "duckdb", "pandas", "numpy"}


def test_the_domain_loads_neither_files_nor_processes_of_ours():
    loaded = loaded_by(
        "import engine.domain.events, engine.domain.plan, engine.domain.results, engine.domain.encoding.hashing"
    )
    assert not loaded & {*HEAVY, "duckdb", "pandas", "numpy", "storage"}


def test_the_facade_lists_what_it_offers_in_order_and_all_of_it_is_there():
    api = importlib.import_module("engine.api")
    assert api.__all__ == sorted(api.__all__)
    assert len(set(api.__all__)) == len(api.__all__)
    assert [name for name in api.__all__ if not hasattr(api, name)] == []


def test_pages_and_commands_take_only_what_the_facade_offers():
    from engine import api

    for path in [*(ROOT / "pages").rglob("*.py"), ROOT / "engine" / "cli" / "commands.py"]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "engine.api":
                missing = {alias.name for alias in node.names} - {name for name in dir(api) if not name.startswith("_")}
                assert not missing, f"{path.name} imports {missing} from engine.api"


def test_vendors_of_models_are_reached_through_one_adapter_only():
    only = ROOT / "engine" / "adapters" / "models" / "litellm_chat.py"
    for path in [*(ROOT / "engine").rglob("*.py"), *(ROOT / "storage").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]:
        if not any(name in path.read_text(encoding="utf-8") for name in VENDORS):
            continue  # parsing every file takes seconds
        found = {name.split(".")[0] for name in imports_of(path)} & set(VENDORS)
        assert found <= ({"litellm"} if path == only else set()), path


def test_no_file_names_a_folder_of_the_machine_it_was_written_on():
    # Two words, so that this file does not name one itself.
    patterns = ["/" + "work/", "/" + "home/", "/" + "Users/", "/" + "root/"]
    for folder in ("engine", "storage", "pages", "scripts"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            assert [p for p in patterns if p in text] == [], path


def test_every_module_begins_with_why_it_is_there():
    for folder in ("engine", "storage", "pages"):
        for path in (ROOT / folder).rglob("*.py"):
            with path.open(encoding="utf-8") as lines:
                code = (one for one in tokenize.generate_tokens(lines.readline) if one.type not in BLANK)
                text, end = next(code), next(code)
            assert (text.type, end.type) == (tokenize.STRING, tokenize.NEWLINE), path
            assert ast.literal_eval(text.string).strip(), path


def test_no_two_classes_have_one_name():
    """A field of tools may have its own: its files are read one at a time."""
    places: dict[str, list[str]] = {}
    for path in sorted(path for room in ("engine", "storage", "pages") for path in (ROOT / room).rglob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        text = path.read_text(encoding="utf-8")
        if "class " in text and not re.match(r"engine/toolbox/\w+/", place):
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ClassDef):
                    places.setdefault(node.name, []).append(place)
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_no_folder_holds_more_than_a_newcomer_can_take_in():
    """Fields of tools may: each of their files is a tool of its own."""
    full = {}
    for room in ("engine", "storage", "pages"):
        for folder in [ROOT / room, *(path for path in (ROOT / room).rglob("*") if path.is_dir())]:
            place = folder.relative_to(ROOT).as_posix()
            files = [path.name for path in folder.glob("*.py") if path.name != "__init__.py"]
            if len(files) > 15 and not re.fullmatch(r"engine/toolbox/\w+", place):
                full[place] = len(files)
    assert full == {}
