"""Plans without running them: one, or many from a file; and what can be asked at all."""

from __future__ import annotations

import argparse
import difflib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.cli import show_plan
from engine.cli.say import emit, say
from engine.domain.encoding.plain_json import json_text
from engine.errors import EngineError, NotFoundError, PlanError, UserError


def opened(options: argparse.Namespace) -> Any:
    """Open the engine on the workspace that the command line names."""
    from engine.api import open_engine

    return open_engine(workspace=options.workspace, user=options.user, model=options.model)


def changes_of(options: argparse.Namespace) -> dict[str, str]:
    """Return what `--set` says: `NODE.PARAM` -> value as text, with `--as` also `PART` -> column.

    Raises:
        UserError: for one that is not of that form.
    """
    changes: dict[str, str] = {}
    for text in options.changes:
        key, equals, value = text.partition("=")
        if not equals or ("." not in key and not getattr(options, "analysis", "")):
            message = f"--set {text!r} is not of the form NODE.PARAM=VALUE."
            raise UserError(message, advice="For example: --set n4.alpha=0.01")
        changes[key.strip()] = value
    return changes


def columns_of(options: argparse.Namespace) -> dict[str, str]:
    """Return what `--column` says: column -> what it is, empty to take a correction back.

    Raises:
        UserError: for one that is not of the form NAME=ROLE.
    """
    columns: dict[str, str] = {}
    for text in options.columns:
        name, equals, value = text.rpartition("=")  # the last: a name may hold one, a role does not
        if not equals or not name:
            message = f"--column {text!r} is not of the form NAME=ROLE."
            raise UserError(message, advice="For example: --column centre=batch; --column centre= takes it back.")
        columns[name] = value.strip()
    return columns


def plan(options: argparse.Namespace) -> int:
    """Make a plan, or one for each line of a file, and print or write it."""
    from engine.api import plan_document

    if options.batch is not None:
        return _batch(options)
    if options.question is None:
        raise UserError("There is no question.", advice="Give one in quotes, or many with --batch FILE.jsonl.")
    with opened(options) as engine:
        before = engine.record(options.after) if options.after else None
        paths = [Path(path) for group in options.data for path in group]
        made, profiles = engine.draft(
            options.question,
            paths or (before.data if before else []),
            changes_of(options),
            analysis=options.analysis,
            columns=columns_of(options),
            conversation=before.conversation if before else "",
        )
        goals = engine.briefs(made, profiles)
        estimate = engine.model_estimate(made, profiles)
    document = plan_document(made, profiles, goals, estimate)
    if options.out:
        write(Path(options.out), json_text(document, indent=2) + "\n")
        say(f"Plan written to {options.out}; `biodesk run {options.out}` runs it.", to=sys.stderr)
    return emit(options, document, show_plan.plan_text(made, goals, estimate))


def write(path: Path, text: str) -> None:
    """Write a text file.

    Raises:
        PlanError: when it cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as err:
        raise PlanError(f"{path} cannot be written: {err.strerror}.") from err


# ==== many plans ====

_LINE = 'A line holds {"question": "...", "data": ["file.csv"]}.'


def _batch(options: argparse.Namespace) -> int:
    """Plan every line of a file in this one process; a line that cannot be planned never stops the rest."""
    names = {"--out": "out", "--set": "changes", "--as": "analysis", "--column": "columns", "--data": "data"}
    given = [option for option, name in names.items() if getattr(options, name)]
    if options.question is not None or given:
        what = "a question" if options.question is not None else given[0]
        raise UserError(f"--batch does not go with {what}.", advice="Questions and files stand in its lines.")
    lines = _lines(Path(options.batch))
    with opened(options) as engine:
        for number, line in enumerate(lines, start=1):
            say(json_text(_planned(engine, line, Path(options.batch).parent)), flush=True)
            if not options.quiet:
                say(f"{number} of {len(lines)}", to=sys.stderr, flush=True)
    return 0


def _lines(path: Path) -> list[bytes]:
    """Return the lines of a file that hold anything, as bytes: one with a broken character spoils no other."""
    try:
        content = path.read_bytes()
    except OSError as err:
        raise UserError(f"{path} cannot be read: {err.strerror}.", advice=_LINE) from err
    return [line for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]


def _planned(engine: Any, line: bytes, folder: Path) -> dict[str, Any]:
    """Return a line's question with its plan, or with what stands in the way of one."""
    from engine.api import plan_document

    answer: dict[str, Any] = {"question": None, "plan": None, "error": None}
    try:
        asked = _asked(line)
        answer["question"] = asked["question"]
        made = engine.draft(asked["question"], [folder / path for path in _files(asked)])
        document = plan_document(*made)
        json_text(document).encode()  # half characters of a file have no place on stdout
        answer["plan"] = document
    except EngineError as err:
        answer["error"] = {"code": err.code, "message": err.message, "advice": err.advice}
    except Exception as err:  # noqa: BLE001 - the border of one line: a defect there must not cost the others
        message = f"Biodesk itself failed ({type(err).__name__}: {err})."
        answer["error"] = {"code": "defect", "message": message, "advice": "This is a defect of the program."}
    return answer


def _asked(line: bytes) -> dict[str, Any]:
    """Read a line.

    Raises:
        UserError: when it is not an object with a question.
    """
    try:
        asked = json.loads(line.decode())
        json.dumps(asked, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as err:
        raise UserError("The line is not JSON in UTF-8.", advice=_LINE) from err
    if not isinstance(asked, dict) or not isinstance(asked.get("question"), str):
        raise UserError("The line holds no question.", advice=_LINE)
    return asked


def _files(asked: dict[str, Any]) -> list[str]:
    data = asked.get("data", [])
    if not isinstance(data, list) or not all(isinstance(path, str) for path in data):
        raise UserError("`data` is not a list of files.", advice=_LINE)
    return data


# ==== which way, and what can be asked ====


def route(options: argparse.Namespace) -> int:
    """Say which strategy answers a task; opens no workspace."""
    from engine.api import route_of

    paths = [Path(path) for group in options.data for path in group]
    chosen = route_of(options.task, paths, workspace=options.workspace)
    return emit(options, chosen.model_dump(mode="json"), show_plan.route_text(chosen))


def analyses(options: argparse.Namespace) -> int:
    """List what can be asked, or describe one analysis; opens no workspace."""
    found = list(_documents())
    if options.action != "show":
        return emit(options, found, show_plan.analyses_text(found))
    one = next((document for document in found if document["id"] == options.id), None)
    if one is None:
        close = ", ".join(difflib.get_close_matches(options.id[:200], [d["id"] for d in found], n=3, cutoff=0.4))
        advice = f"Did you mean {close}?" if close else "See `biodesk analyses`."
        raise NotFoundError(f"There is no analysis called {options.id[:100]!r}.", advice=advice)
    return emit(options, one, show_plan.analysis_text(one))


def _documents() -> Iterator[dict[str, Any]]:
    """Yield every analysis as plain data, with the tools that answer it."""
    from engine.api import builtin_analyses, builtin_tool_specs

    specs = builtin_tool_specs()
    for analysis in builtin_analyses():
        able = [spec for spec in specs if spec.runnable and analysis.id in spec.answers]
        parts = {p.name: p.description for spec in able for p in spec.params if p.kind in ("column", "columns")}
        keys = ("id", "field", "title", "asks", "family", "slots", "data", "examples")
        facts = {key: getattr(analysis, key) for key in keys}
        yield {**facts, "title": analysis.name, "tools": [spec.name for spec in able], "parts": parts}
