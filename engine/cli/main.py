"""Parses the command line and turns every outcome into an exit code.

0 done; 1 the analysis failed; 2 bad usage or input; 3 workspace in use; 4 interrupted and resumable.
"""

from __future__ import annotations

import _thread
import argparse
import re
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import FrameType
from typing import NoReturn

from engine.cli.know import arguments as know
from engine.cli.say import say
from engine.cli.tournaments import add_hypotheses
from engine.domain.encoding.plain_json import json_text
from engine.errors import EngineError, UserError

FORMATS = ("md", "html", "pdf", "notebook", "json")


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors are Biodesk's: a sentence, or JSON when asked."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message[:1].upper()}{message[1:]}.", advice=f"See `{self.prog} --help`.")


@cache
def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    common = _Parser(add_help=False)
    group = common.add_argument_group("everywhere")
    group.add_argument(
        "--workspace", metavar="DIR", default=argparse.SUPPRESS, help="folder that holds runs and results"
    )
    group.add_argument("--user", metavar="NAME", default=argparse.SUPPRESS, help="who the run is attributed to")
    group.add_argument(
        "--model", default=argparse.SUPPRESS, help="offline (the built-in rules) or PROVIDER/MODEL, for every role"
    )
    group.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="one JSON document on stdout")
    group.add_argument("--quiet", action="store_true", default=argparse.SUPPRESS, help="no progress on stderr")
    parser = _Parser(prog="biodesk", description="Ask questions about biological data.", parents=[common])
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)

    def add(name: str, text: str) -> _Parser:
        return commands.add_parser(name, help=text, description=text, parents=[common])

    def data(command: argparse.ArgumentParser) -> None:
        command.add_argument(
            "--data", metavar="PATH", action="append", nargs="+", default=[], help="a data file (repeatable)"
        )

    def changes(command: argparse.ArgumentParser) -> None:
        command.add_argument(
            "--set",
            metavar="NODE.PARAM=VALUE",
            action="append",
            default=[],
            dest="changes",
            help="change a parameter; with --as, PART=COLUMN says what an analysis takes (see `analyses show`)",
        )

    def follows(command: argparse.ArgumentParser) -> None:
        command.add_argument(
            "--after", metavar="RUN_ID", default="", help="go on from this run, with its files where none are given"
        )

    def reading(command: argparse.ArgumentParser) -> None:
        command.add_argument(
            "--as",
            metavar="ANALYSIS",
            default="",
            dest="analysis",
            help="plan as this analysis (see `analyses`); A+B for each part of the question, - leaves one aside",
        )
        command.add_argument(
            "--column",
            metavar="NAME=ROLE",
            action="append",
            default=[],
            dest="columns",
            help="what a column is: a role, a scale, unit:mg or ignore; remembered for the file, empty takes it back",
        )

    def code(parser: argparse.ArgumentParser) -> None:
        text = "run also code that a model wrote for this question; without it, it is shown and waits"
        parser.add_argument("--run-written-code", action="store_true", help=text)

    ask = add("ask", "Answer a question about data: plan, run, report.")
    ask.add_argument("question")
    data(ask)
    strategies = ("auto", "react", "dag", "mcts", "panel", "tournament")
    way = "how it is answered; tournament has hypotheses compete for the goal"
    ask.add_argument("--strategy", choices=strategies, default="auto", help=way)
    ask.add_argument("--out", metavar="DIR", help="write reports, notebook, tables and provenance here")
    ask.add_argument("--yes", action="store_true", help="run the plan without asking")
    code(ask)
    follows(ask)
    changes(ask)
    reading(ask)
    plan = add("plan", "Make the plan only, with its open questions.")
    plan.add_argument("question", nargs="?")
    data(plan)
    plan.add_argument("--out", metavar="PLAN.json")
    follows(plan)
    changes(plan)
    reading(plan)
    plan.add_argument(
        "--batch", metavar="FILE.jsonl", help='plan every line {"question", "data": [...]}; one JSON a line on stdout'
    )
    route = add("route", "Say which strategy answers a task, and why.")
    route.add_argument("task")
    data(route)
    analyses = add("analyses", "What can be asked.")
    asked = analyses.add_subparsers(dest="action", metavar="ACTION", parser_class=_Parser)
    asked.add_parser("list", parents=[common], help="list what can be asked, by field")
    asked.add_parser("show", parents=[common], help="describe one analysis").add_argument("id", metavar="ID")
    run = add("run", "Run a plan as edited.")
    run.add_argument("plan", metavar="PLAN.json")
    data(run)
    run.add_argument("--out", metavar="DIR")
    changes(run)
    resume = add("resume", "Go on with an interrupted, cancelled or failed run.")
    resume.add_argument("run_id", metavar="RUN_ID")
    code(resume)
    resume.add_argument("--yes", action="store_true", help="approve the plan that waits")
    resume.add_argument("--out", metavar="DIR")
    rerun = add("rerun", "Run a run's plan again, as a new run.")
    rerun.add_argument("run_id", metavar="RUN_ID")
    rerun.add_argument("--fresh", action="store_true", help="compute every step, take nothing from earlier runs")
    rerun.add_argument("--out", metavar="DIR")
    for name, text in (("cancel", "Stop a run."), ("show", "Show a run.")):
        add(name, text).add_argument("run_id", metavar="RUN_ID")
    runs = add("runs", "List runs, newest first, or delete some.")
    runs.add_argument("--limit", type=int, default=50)
    which_runs = runs.add_subparsers(dest="action", metavar="ACTION", parser_class=_Parser)
    removed = which_runs.add_parser("delete", parents=[common], help="delete runs with what belongs to no other run")
    removed.add_argument("run_ids", metavar="RUN_ID", nargs="+")
    removed.add_argument("--yes", action="store_true", help="delete without asking")
    searched = which_runs.add_parser("tree", parents=[common], help="show what a run searched, choice by choice")
    searched.add_argument("run_id", metavar="RUN_ID")
    searched.add_argument("--all", action="store_true", help="every choice that is kept, not only along the best way")
    talks = add("conversations", "Conversations: questions that followed each other.")
    which_talk = talks.add_subparsers(dest="action", metavar="ACTION", parser_class=_Parser)
    listed = which_talk.add_parser("list", parents=[common], help="list them, newest first")
    listed.add_argument("text", nargs="?", default="", help="only those whose name, questions or files hold this")
    named = which_talk.add_parser("rename", parents=[common], help="give one a name")
    named.add_argument("id", metavar="ID", help="its id, or that of one of its runs")
    named.add_argument("title", metavar="NAME", help="empty to call it by its first question again")
    gone = which_talk.add_parser("delete", parents=[common], help="delete one with all its runs")
    gone.add_argument("id", metavar="ID", help="its id, or that of one of its runs")
    gone.add_argument("--yes", action="store_true", help="delete without asking")
    events = add("events", "Print a run's events, one JSON object a line.")
    events.add_argument("run_id", metavar="RUN_ID")
    events.add_argument("--after", type=int, default=0, metavar="SEQ")
    events.add_argument("--follow", action="store_true", help="keep printing until the run is over")
    export = add("export", "Write a run as a report, notebook or provenance record.")
    export.add_argument("run_id", metavar="RUN_ID")
    export.add_argument("--format", required=True, choices=(*FORMATS, "ro-crate", "prov"))
    export.add_argument("--out", required=True, metavar="PATH")
    add("verify", "Re-hash every artifact and record and say what differs.").add_argument(
        "target", metavar="RUN_ID|PATH"
    )
    profile = add("profile", "Say what files can serve as.")
    profile.add_argument("paths", metavar="PATH", nargs="+")
    tools = add("tools", "The catalogue of tools.")
    which = tools.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=_Parser)
    which.add_parser("list", parents=[common], help="list the built-in tools")
    which.add_parser("show", parents=[common], help="describe one tool").add_argument("name")
    know.add_tools(which, common)
    know.add_memory(add, common, _Parser)
    know.add_kg(add, common, _Parser)
    add_hypotheses(add, common, _Parser)
    doctor = add("doctor", "Say what works on this machine.")
    doctor.add_argument("--test-models", action="store_true", help="ask every configured model for one word")
    dev = add("dev", "For those who work on Biodesk or try it without a provider.")
    tried = dev.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=_Parser)
    mailbox = tried.add_parser("mailbox-model", parents=[common], help="be a model whose answers are put into a folder")
    mailbox.add_argument("--folder", required=True, metavar="DIR", help="where questions are written and answers read")
    mailbox.add_argument("--port", type=int, default=8900, help="0 takes a free one")
    serve = add("serve", "Start the app.")
    serve.add_argument("--port", type=int, default=8501, help="0 takes a free one")
    serve.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="127.0.0.1: this computer only")
    serve.add_argument("--token", action="store_true", help="ask for the token of the link also on this computer")
    add("demo", "Answer a built-in question on data that ships inside a dependency.").add_argument(
        "--out", metavar="DIR", default="demo-output"
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in arguments
    interruption = Interruption()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, interruption)
    # A closed terminal; under nohup it is ignored, and Windows has none.
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:
        signal.signal(signal.SIGHUP, interruption)
    doing = ""
    try:
        _require_text(arguments)
        options = build_parser().parse_args(arguments)
        doing = " ".join(filter(None, (options.command, getattr(options, "action", ""))))
        options.workspace = getattr(options, "workspace", None)
        options.user = getattr(options, "user", None)
        options.model = getattr(options, "model", None)
        options.json = getattr(options, "json", False)
        options.quiet = getattr(options, "quiet", False)
        from engine.cli.commands import COMMANDS

        return COMMANDS[options.command](options)
    except BrokenPipeError:
        # The reader of our output went away (`biodesk runs | head`): nothing is wrong.
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        failure: EngineError = _Interrupted(doing)
    except EngineError as err:
        failure = err
    except Exception as err:  # noqa: BLE001 - the last border: a person gets a sentence, a program a document
        failure = _Defect(err)
    # A library may turn the interruption into an error of its own, as DuckDB does in the midst of a query.
    if interruption.raised and failure.exit_code != _Interrupted.exit_code:
        failure = _Interrupted(doing)
    return _report(failure, as_json=as_json)


def _require_text(arguments: Sequence[str]) -> None:
    """Refuse what cannot be stored, reported or printed: bytes that are no UTF-8, in a name or a question.

    Raises:
        UserError: for the first such word.
    """
    for word in arguments:
        try:
            word.encode()
        except UnicodeEncodeError as err:
            message = f"{word[:100]!a} holds bytes that are not UTF-8, so it cannot be stored or reported."
            raise UserError(message, advice="Rename the file or folder, or write the word anew.") from err


class _Defect(EngineError):
    code = "defect"

    def __init__(self, err: Exception) -> None:
        where = traceback.extract_tb(err.__traceback__)[-1]
        super().__init__(
            f"Biodesk itself failed ({type(err).__name__}: {err}; {Path(where.filename).name}, line {where.lineno}).",
            advice="This is a defect of the program; with --json the error holds the details.",
            details={"traceback": "".join(traceback.format_exception(err))},
        )


class _Interrupted(EngineError):
    code = "interrupted"
    exit_code = 4

    def __init__(self, doing: str) -> None:
        message, advice = _AFTER.get(doing, _AFTER[""])
        super().__init__(message, advice=advice)


_NOTHING = "Interrupted. Nothing of the file was stored."
_RUN = ("Interrupted. Steps that finished are kept.", "`biodesk resume RUN_ID` goes on; `biodesk runs` lists the runs.")
_AFTER: dict[str, tuple[str, str]] = {
    "": ("Interrupted. What was stored before is as it was.", "Give the command again."),
    **dict.fromkeys(("ask", "run", "resume", "rerun", "demo"), _RUN),
    "kg import": (_NOTHING, "Import it again."),
    "tools import": (_NOTHING, "Import it again; descriptions that were embedded already are not embedded twice."),
    "memory import": (
        "Interrupted. Some of the file may have been stored.",
        "Import it again: what is there already is passed over.",
    ),
    "kg fetch": ("Interrupted. What came is kept.", "The same command goes on from there."),
    "dev mailbox-model": ("The mailbox was closed.", "Its folder stays; the same command goes on counting."),
    "serve": ("Biodesk was stopped.", "Runs that were going on can be resumed: `biodesk runs` lists them."),
}
"""Command -> what an interruption left behind, and what to do next."""


class Interruption:
    """What Ctrl-C does: raise `KeyboardInterrupt`, but never where a module is just being imported.

    DuckDB's binding makes Python classes while it is imported and aborts the process when one of them is not made.
    """

    WAIT_S = 0.05

    def __init__(self) -> None:
        self.raised = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Interrupt what `frame` does, or try again after `WAIT_S` seconds."""
        while frame is not None:
            if frame.f_code.co_filename.startswith("<frozen importlib"):
                again = threading.Timer(self.WAIT_S, _send, (number,))
                again.daemon = True
                again.start()
                return
            frame = frame.f_back
        self.raised = True
        raise KeyboardInterrupt


def _send(number: int) -> None:
    if hasattr(signal, "pthread_kill"):  # this one also wakes a main thread that waits
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        _thread.interrupt_main(signal.Signals(number))


_ENDLESS = re.compile(r"(\S{100})\S{300,}")
"""What was typed or read, in a message: no word, id or path that means something is as long."""


_BY_HAND = "Any analysis by its columns: --as ANALYSIS --set PART=COLUMN (`biodesk analyses list`, `show`)."


def _report(err: EngineError, *, as_json: bool) -> int:
    message, advice = (_ENDLESS.sub(r"\1...", text) for text in (err.message, err.advice))
    if as_json:
        error = {"code": err.code, "message": message, "advice": advice, "details": err.details}
        say(json_text({"error": error}))
    else:
        from engine.cli.show_plan import ways_told

        ways = ways_told(err.details.get("ways_on", []))
        by_hand = _BY_HAND if "ways_on" in err.details else ""
        say(" ".join(part for part in (message, advice, ways, by_hand) if part), to=sys.stderr)
        for issue in err.details.get("issues", [])[1:]:
            say(f"- {issue['message']}", to=sys.stderr)
    return err.exit_code
