"""What each command does, through `engine.api`."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.cli import kept, plans, serve, show, tournaments
from engine.cli.know import commands as know
from engine.cli.know import written
from engine.cli.plans import changes_of, columns_of, opened
from engine.cli.say import emit, say
from engine.cli.show_plan import plan_text
from engine.domain.encoding.plain_json import json_text
from engine.errors import EngineError, NotFoundError, PlanError, WorkspaceInUse

_OURS = (EngineError.code, "storage_error", "integrity_error", "sandbox_unavailable")
"""Errors that are not the input's fault."""
EXIT_BY_STATUS = {"succeeded": 0, "partial": 1, "failed": 1, "cancelled": 4, "interrupted": 4}


def _data(options: argparse.Namespace) -> list[Path]:
    return [Path(path) for group in options.data for path in group]


# ==== question, plan, run ====


def ask(options: argparse.Namespace) -> int:
    """Plan, show the plan, run it, write the report; of a tournament see `tournaments.ask`."""
    if options.strategy == "tournament":
        return tournaments.ask(options)
    _check_out(options.out)
    paths = _data(options)
    with opened(options) as engine:
        engine.warm_in_background()
        changes = changes_of(options)
        run_id = engine.ask(
            options.question,
            paths or (engine.record(options.after).data if options.after else []),
            strategy=options.strategy,
            changes=changes,
            analysis=options.analysis,
            columns=columns_of(options),
            conversation=engine.record(options.after).conversation if options.after else "",
        )
        try:
            record = engine.wait(run_id)
        except KeyboardInterrupt:
            return _stopped(engine, run_id, options)
        if record.status == "awaiting_approval":
            view = engine.view(run_id)
            if not options.quiet:
                estimate = engine.model_estimate(view.plan, view.profiles)
                say(plan_text(view.plan, engine.briefs(view.plan, view.profiles), estimate), to=sys.stderr)
            asks = not options.yes and not options.json and sys.stdin.isatty()
            if not _code_may_run(engine, view.plan, options, asks=asks):
                return _code_waits(run_id)
            if asks and not _confirmed():
                engine.cancel(run_id)
                say(f"Not run. `biodesk show {run_id}` shows the plan.", to=sys.stderr)
                return 4
            engine.approve(run_id, further=options.yes)
        return _follow(engine, run_id, options)


def _code_may_run(engine: Any, plan: Any, options: argparse.Namespace, *, asks: bool) -> bool:
    """Show the code of a plan that a model wrote and nobody approved; say whether it may run or is asked about."""
    drafts = {record.tool.name: record for record in engine.written.records() if record.state != "approved"}
    found = [(node, drafts[node.tool]) for node in plan.nodes if node.tool in drafts]
    for node, record in found:
        say(f"Code of step {node.id} ({node.name}):\n\n{written.written_text(record)}", to=sys.stderr)
    return not found or asks or options.run_written_code


def _code_waits(run_id: str) -> int:
    way = f"`biodesk resume {run_id} --run-written-code`"
    say(f"Not run: this plan has code that a model wrote. Read it above, then {way}.", to=sys.stderr)
    return 4


def _confirmed() -> bool:
    say("Run this plan? [Y/n] ", end="", to=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("", "y", "yes")


def run(options: argparse.Namespace) -> int:
    """Run a plan file."""
    from engine.api import read_plan

    _check_out(options.out)
    with opened(options) as engine:
        edited = read_plan(options.plan)
        changes = changes_of(options)
        if changes:
            edited = engine.set_params(edited, changes)
        engine.warm_in_background()
        return _follow(engine, engine.run_plan(edited, _data(options)), options)


def resume(options: argparse.Namespace) -> int:
    """Go on with a run."""
    _check_out(options.out)
    with opened(options) as engine:
        told = options.run_written_code or options.yes
        waits = told and engine.record(options.run_id).status == "awaiting_approval"
        if not waits:  # for somebody who has read it, and now lets it run
            engine.resume(options.run_id)
        record = engine.wait(options.run_id)
        if record.status == "awaiting_approval":
            if not _code_may_run(engine, engine.view(options.run_id).plan, options, asks=False):
                return _code_waits(options.run_id)
            engine.approve(options.run_id)
        return _follow(engine, options.run_id, options)


def rerun(options: argparse.Namespace) -> int:
    """Run a plan again as a new run."""
    _check_out(options.out)
    with opened(options) as engine:
        return _follow(engine, engine.rerun(options.run_id, fresh=options.fresh), options)


def _follow(engine: Any, run_id: str, options: argparse.Namespace) -> int:
    """Show progress until the run is over, write its folder and print the result."""
    after = 0
    try:
        while True:
            over = run_id not in engine.active()
            for event in engine.events(run_id, after=after):
                after = event.seq
                if not options.quiet and (line := show.event_line(event)):
                    say(line, to=sys.stderr, flush=True)
            if over:
                break
            engine.wait(run_id, 0.1)
    except KeyboardInterrupt:
        return _stopped(engine, run_id, options)
    view = engine.view(run_id)
    if (view.plan is None and view.report is None) or view.record.status == "interrupted":
        return _failed_before_running(view.record)
    if options.out:
        engine.bundle(run_id, options.out)
    emit(options, engine.run_json(run_id), show.outcome_text(view, options.out))
    return EXIT_BY_STATUS.get(view.record.status, 1)


def _stopped(engine: Any, run_id: str, options: argparse.Namespace) -> int:
    """Stop a run after Ctrl-C; it may have ended in the same moment."""
    with contextlib.suppress(PlanError):
        engine.cancel(run_id)
    engine.wait(run_id, 5)
    if engine.record(run_id).status in ("succeeded", "partial", "failed"):
        say(f"It was over already; `biodesk show {run_id}` shows the result.", to=sys.stderr)
        return 4
    message = f"Run {run_id} was stopped. Steps that finished are kept."
    raise _Stopped(message, advice=f"`biodesk resume {run_id}` goes on where it was.", details={"run_id": run_id})


class _Stopped(EngineError):
    code = "interrupted"
    exit_code = 4


def _failed_before_running(record: Any) -> int:
    class Failed(EngineError):
        code = record.error_code or "failed"
        exit_code = 4 if record.status in ("interrupted", "cancelled") else 1 if record.error_code in _OURS else 2

    advice = f"`biodesk resume {record.run_id}` goes on." if record.status == "interrupted" else record.advice
    details = {"run_id": record.run_id, "ways_on": [way.model_dump() for way in record.ways_on]}
    raise Failed(record.error or f"The run is {record.status}.", advice=advice, details=details)


def _check_out(out: str | None) -> None:
    """Find out before an hour of work that the result has no place to go."""
    from engine.reporting.forms.bundle import refuse_foreign

    if out is None:
        return
    refuse_foreign(Path(os.path.expanduser(out)))  # noqa: PTH111 - ~NAME of nobody here is a name like any other


def cancel(options: argparse.Namespace) -> int:
    """Stop a run, also one that another process works on."""
    from engine.api import request_cancel

    try:
        with opened(options) as engine:
            engine.cancel(options.run_id)
            document = {"run_id": options.run_id, "status": engine.record(options.run_id).status}
    except WorkspaceInUse:
        from engine.settings import load_settings

        settings, _ = load_settings(workspace=options.workspace)
        answered = request_cancel(settings.workspace, options.run_id)
        document = {"run_id": options.run_id, "status": "cancel requested" if answered else "cancel not yet answered"}
    return emit(options, document, f"{options.run_id}: {document['status']}")


def show_run(options: argparse.Namespace) -> int:
    """Show a run."""
    with opened(options) as engine:
        view = engine.view(options.run_id)
        document = engine.run_json(options.run_id)
    return emit(options, document, show.run_text(view))


def events(options: argparse.Namespace) -> int:
    """Print events, one JSON object a line (with --json: one array)."""
    from engine.api import event_json

    with opened(options) as engine:
        found = engine.events(options.run_id, after=options.after)
        if options.json and not options.follow:
            say(json_text([json.loads(event_json(event)) for event in found]))
            return 0
        after = options.after
        while True:
            for event in found:
                after = event.seq
                say(event_json(event), flush=True)
            if not options.follow or options.run_id not in engine.active():
                return 0
            time.sleep(0.2)
            found = engine.events(options.run_id, after=after)


def export(options: argparse.Namespace) -> int:
    """Write one export."""
    with opened(options) as engine:
        path = engine.export(options.run_id, options.format, options.out)
    return emit(options, {"run_id": options.run_id, "format": options.format, "path": str(path)}, str(path))


def verify(options: argparse.Namespace) -> int:
    """Verify a run or an exported folder; exit 1 when something differs."""
    if os.path.exists(options.target):  # noqa: PTH110 - what can be no path is none
        from engine.api import verify_path

        result = verify_path(Path(options.target))
    else:
        with opened(options) as engine:
            result = engine.verify(options.target)
    emit(options, result.model_dump(mode="json"), show.verification_text(result))
    return 0 if result.ok else 1


# ==== data, tools, machine ====


def profile(options: argparse.Namespace) -> int:
    """Profile files."""
    from engine.api import profile_paths

    profiles = profile_paths(options.paths)
    return emit(options, [p.model_dump(mode="json") for p in profiles], show.profiles_text(profiles))


def tools(options: argparse.Namespace) -> int:
    """List the built-in tools, show one, or work with the imported catalogues."""
    from engine.api import builtin_tool_specs

    if options.action in _CATALOGUE_ACTIONS:
        return _CATALOGUE_ACTIONS[options.action](options)

    specs = builtin_tool_specs()
    if options.action == "list":
        listed = [
            {"name": s.name, "title": s.title, "domain": s.domain, "description": s.description, "runnable": s.runnable}
            for s in specs
        ]
        return emit(options, listed, show.tools_text(specs))
    spec = next((s for s in specs if s.name == options.name), None)
    if spec is None:
        return _imported_tool(options, [s.name for s in specs])
    return emit(options, spec.model_dump(mode="json"), show.tool_text(spec))


def _imported_tool(options: argparse.Namespace, built_in: list[str]) -> int:
    """Show a tool of an imported catalogue."""
    import difflib

    from engine.cli.know.output import open_with

    with open_with(options) as engine:
        for record in engine.written.records():
            if record.tool.name == options.name:
                return emit(options, record.model_dump(mode="json"), written.written_text(record))
        entries = {entry.name: entry for entry in engine.catalogue.entries()}
    if options.name in entries:
        entry = entries[options.name]
        return emit(options, entry.model_dump(mode="json"), show.entry_text(entry))
    names = dict.fromkeys([*built_in, *entries])  # a built-in tool is an entry too
    close = ", ".join(difflib.get_close_matches(options.name[:200], names, n=3, cutoff=0.4))
    advice = f"Did you mean {close}?" if close else "See `biodesk tools list` and `biodesk tools search`."
    raise NotFoundError(f"There is no tool called {options.name[:100]!r}.", advice=advice)


_CATALOGUE_ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {
    "search": know.tools_search,
    "import": know.tools_import,
    "catalogues": know.tools_catalogues,
    "remove": know.tools_remove,
    "written": written.tools_written,
    "approve": written.tools_approve,
    "retire": written.tools_retire,
    "export": written.tools_export,
}


def doctor(options: argparse.Namespace) -> int:
    """Say what works here."""
    from engine.cli.doctor import examine

    report = examine(
        test_models=options.test_models, workspace=options.workspace, user=options.user, model=options.model
    )
    return emit(options, report, show.doctor_text(report))


def dev(options: argparse.Namespace) -> int:
    """Be a model for those who try Biodesk without a provider, until interrupted."""
    from engine.api import serve_mailbox

    # A program that starts it reads the address from its output, so each line goes out at once.
    serve_mailbox(Path(options.folder).expanduser(), options.port, lambda line: say(line, flush=True))
    return 0


def demo(options: argparse.Namespace) -> int:
    """Answer a built-in question end to end."""
    from engine.api import examples

    _check_out(options.out)
    example = examples()[0]
    with opened(options) as engine:
        engine.warm_in_background()
        files = engine.example_files(example.id)
        say(f"{example.question}\nData: {example.source}", to=sys.stderr)
        code = _follow(engine, engine.ask(example.question, files, auto_approve=True), options)
    out = Path(options.out)
    if not options.json:
        say(f"Report:   {out / 'report.html'}\nNotebook: {out / 'notebook.ipynb'}")
    return code


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "ask": ask,
    "plan": plans.plan,
    "route": plans.route,
    "analyses": plans.analyses,
    "run": run,
    "resume": resume,
    "rerun": rerun,
    "cancel": cancel,
    "runs": kept.runs,
    "conversations": kept.conversations,
    "show": show_run,
    "events": events,
    "export": export,
    "verify": verify,
    "profile": profile,
    "tools": tools,
    "memory": know.memory,
    "kg": know.kg,
    "hypotheses": tournaments.hypotheses,
    "doctor": doctor,
    "dev": dev,
    "serve": serve.serve,
    "demo": demo,
}
