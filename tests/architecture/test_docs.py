"""What the documentation must name: every setting, event, error, command and make target."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import get_args

import pytest

from engine import errors
from engine.cli.commands import COMMANDS
from engine.domain.events import EngineEvent
from engine.settings import Settings

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference.md"


@pytest.fixture(scope="module")
def documentation() -> str:
    paths = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths if path.is_file())


def missing(names: list[str], text: str) -> list[str]:
    return [name for name in names if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)]


def event_kinds() -> list[str]:
    union = get_args(EngineEvent)[0]
    return [event.model_fields["kind"].default for event in get_args(union)]


def error_classes() -> list[type[errors.EngineError]]:
    found = [item for _, item in inspect.getmembers(errors, inspect.isclass)]
    return [item for item in found if issubclass(item, errors.EngineError)]


def make_targets() -> list[str]:
    return re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def test_there_is_a_reference():
    assert REFERENCE.is_file()


def test_every_setting_is_named(documentation):
    assert missing(list(Settings.model_fields), documentation) == []


def test_every_event_is_named(documentation):
    assert len(event_kinds()) > 20
    assert missing(event_kinds(), documentation) == []


def test_every_error_and_its_code_is_named(documentation):
    classes = error_classes()
    assert len(classes) > 8
    assert missing([item.__name__ for item in classes], documentation) == []
    assert missing([item.code for item in classes], documentation) == []


def test_every_command_is_named(documentation):
    unnamed = [name for name in COMMANDS if not re.search(rf"(?:biodesk |`){name}[ `\n]", documentation)]
    assert unnamed == []


def test_every_make_target_is_named(documentation):
    targets = make_targets()
    assert {"run", "test", "demo", "bench", "help"} <= set(targets)
    assert missing([f"make {name}" for name in targets], documentation) == []


def test_no_link_between_documents_leads_nowhere():
    for path in [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]:
        if not path.is_file():
            continue
        for target in re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8")):
            if not re.match(r"[a-z]+:", target):
                assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_error_codes_are_unique():
    codes = [item.code for item in error_classes()]
    assert len(set(codes)) == len(codes)


def test_every_file_that_the_docs_name_is_there():
    # The example of the page on adding a tool is a tool that is not there; decisions tell of what was.
    pages = [path for path in (ROOT / "docs").glob("*.md") if not path.name.startswith("add-")]
    named = {
        (page.name, file)
        for page in [*pages, ROOT / "README.md"]
        for file in re.findall(
            r"\b(?:engine|storage|pages|scripts|tests)/[\w/]+\.\w+", page.read_text(encoding="utf-8")
        )
    }
    assert len(named) > 60
    assert [(page, file) for page, file in sorted(named) if "FIELD" not in file and not (ROOT / file).is_file()] == []
