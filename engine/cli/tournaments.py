"""`biodesk hypotheses ...`: tournaments of hypotheses, through `engine.api`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from engine.cli.plans import opened
from engine.cli.say import emit, say
from engine.domain.discovery.hypotheses import Aims, Bounds, Tournament, TournamentView
from engine.domain.events import EngineEvent
from engine.errors import DataError, EngineError, UserError

_Text = Callable[[TournamentView], str]
FORMS = ("md", "json", "aims")
_BOUNDS: dict[str, tuple[type, str]] = {
    "hypotheses": (int, "how many are made in the first round (5)"),
    "iterations": (int, "rounds of rewriting (1)"),
    "evolve": (int, "how many are rewritten in each (3)"),
    "matches-each": (float, "most comparisons, as a multiple of the hypotheses (3)"),
    "stop-at": (float, "stop comparing once the best is so likely the best (0.8)"),
    "calls": (int, "most calls of judges and models, 0 for no limit (1000)"),
    "usd": (float, "most dollars, 0 for the limit of the settings (0)"),
    "same-idea": (float, "likeness from which two say the same (0.85)"),
    "alpha": (float, "error rate of all tests together (0.1)"),
    "random-seed": (int, "seed of everything drawn (0)"),
}
"""Options that are bounds of a tournament, their kind and what they are."""


def add_hypotheses(add: Callable[[str, str], Any], common: Any, parser_class: Any) -> None:
    """Add `hypotheses ...`."""
    command = add("hypotheses", "Tournaments of hypotheses: made, reviewed, compared, rewritten, tested.")
    which = command.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=parser_class)

    def sub(name: str, text: str, *places: str) -> Any:
        parser = which.add_parser(name, parents=[common], help=text, description=text)
        for place in places:
            parser.add_argument(place.lower(), metavar=place)
        return parser

    def bounds(parser: Any) -> None:
        for name, (kind, text) in _BOUNDS.items():
            parser.add_argument(f"--{name}", type=kind, default=None, metavar="N", help=text)
        parser.add_argument("--run-tests", action="store_true", default=None, help="run tests that can be planned")

    run = sub("run", "Begin a tournament and wait for its end.", "GOAL")
    run.add_argument("--preferences", default="", metavar="TEXT", help="what is preferred")
    for name, text in (
        ("attribute", "what good hypotheses have"), ("constraint", "what they must keep to"),
        ("hypothesis", "a hypothesis of yours that competes"),
    ):  # fmt: skip
        run.add_argument(f"--{name}", action="append", default=[], metavar="TEXT", help=f"{text} (repeatable)")
    run.add_argument("--literature", action="append", default=[], metavar="FILE", help="a text as background")
    run.add_argument("--data", action="append", nargs="+", default=[], metavar="PATH", help="data for tests")
    bounds(run)
    sub("list", "List tournaments, newest first.")
    sub("show", "Show the standings of a tournament.", "ID")
    sub("vote", "Vote for a hypothesis; it counts as one comparison.", "ID", "HYPOTHESIS").add_argument(
        "--value", type=int, choices=(1, 0, -1), default=1, help="1 for it, -1 against it, 0 takes the vote back"
    )
    for name, text in (("pin", "Keep a hypothesis among those rewritten."), ("veto", "Take a hypothesis out.")):
        sub(name, text, "ID", "HYPOTHESIS").add_argument("--off", action="store_true", help="take it back")
    sub("merge", "Let a hypothesis count for another.", "ID", "HYPOTHESIS", "INTO")
    sub("add", "Let a hypothesis of yours compete.", "ID", "TEXT")
    sub("test", "Run the test of a prediction.", "ID", "HYPOTHESIS").add_argument(
        "--prediction", type=int, default=1, metavar="N", help="its number, from 1"
    )
    bounds(sub("resume", "Go on with a tournament, also with new bounds.", "ID"))
    out = sub("export", "Write a tournament as a document.", "ID")
    out.add_argument("--format", choices=FORMS, default="md", help="aims: a page of specific aims")
    out.add_argument("--out", required=True, metavar="FILE")


def hypotheses(options: argparse.Namespace) -> int:
    """Do what `hypotheses ACTION` asks for."""
    return _ACTIONS[options.action](options)


def ask(options: argparse.Namespace) -> int:
    """Answer `ask --strategy tournament`: the tournament of `hypotheses run` with its usual bounds, told in short.

    Raises:
        UserError: for an option that says how a plan is made, run or written.
    """
    names = {"--out": "out", "--after": "after", "--set": "changes", "--as": "analysis", "--column": "columns"}
    if given := [option for option, name in names.items() if getattr(options, name)]:
        message = f"{given[0]} does not go with --strategy tournament: a tournament is no plan."
        raise UserError(message, advice="`biodesk hypotheses run GOAL` has its options, `hypotheses export` writes it.")
    with opened(options) as engine:
        aims = Aims(goal=options.question, files=_absolute(options.data))
        return _follow(engine, engine.hypotheses.run(aims, Bounds()), options, text=answer_text)


def _run(options: argparse.Namespace) -> int:
    aims = Aims(
        goal=options.goal,
        preferences=options.preferences,
        attributes=options.attribute,
        constraints=options.constraint,
        seeds=options.hypothesis,
        literature=[_read(name) for name in options.literature],
        files=_absolute(options.data),
    )
    with opened(options) as engine:
        return _follow(engine, engine.hypotheses.run(aims, _bounds(options)), options)


def _resume(options: argparse.Namespace) -> int:
    with opened(options) as engine:
        engine.hypotheses.resume(options.id, bounds=_given(options))
        return _follow(engine, options.id, options)


def _given(options: argparse.Namespace) -> dict[str, Any]:
    names = {name: name.replace("-", "_") for name in (*_BOUNDS, "run-tests")}
    given = {key: value for key in names.values() if (value := getattr(options, key)) is not None}
    return {("seed" if key == "random_seed" else key): value for key, value in given.items()}


def _bounds(options: argparse.Namespace) -> Bounds:
    try:
        return Bounds.model_validate(_given(options))
    except ValidationError as err:
        first = err.errors(include_url=False)[0]
        name = str(first["loc"][0]).replace("_", "-")
        raise UserError(f"--{name} does not fit: {first['msg']}.") from err


def _read(name: str) -> str:
    try:
        return Path(name).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as err:
        raise DataError(f"{name} cannot be read as text: {err}.") from err


def _absolute(groups: list[list[str]]) -> list[str]:
    return [str(Path(path).expanduser().absolute()) for group in groups for path in group]


def _follow(engine: Any, tournament_id: str, options: argparse.Namespace, *, text: _Text | None = None) -> int:
    """Tell what happens until the tournament is over, then show it; Ctrl-C pauses it."""
    after = 0
    try:
        while True:
            over = tournament_id not in engine.hypotheses.active()
            for event in engine.hypotheses.events(tournament_id, after=after):
                after = event.seq
                if not options.quiet and (line := _line(event)):
                    say(line, to=sys.stderr, flush=True)
            if over:
                break
            engine.hypotheses.wait(tournament_id, 0.2)
    except KeyboardInterrupt:
        engine.hypotheses.pause(tournament_id)
        engine.hypotheses.wait(tournament_id, 10)
        advice = f"`biodesk hypotheses resume {tournament_id}` goes on where it was."
        raise _Paused(f"Tournament {tournament_id} is paused.", advice=advice) from None
    code = _shown(engine, tournament_id, options, text)
    status = engine.hypotheses.state(tournament_id).status
    return code or {"finished": 0, "paused": 4, "cancelled": 4}.get(status, 1)


class _Paused(EngineError):
    code = "interrupted"
    exit_code = 4


def _line(event: EngineEvent) -> str:
    """Return a line on what happened, or ""."""
    if event.kind == "hypothesis_created":
        return f"{event.hypothesis} ({event.method}): {event.text}"
    if event.kind == "match_judged":
        who = event.first if event.score > 0.5 else event.second
        said = event.skipped or ("a tie" if event.score == 0.5 else f"{who} won")
        return f"{event.first} against {event.second}: {said}"
    if event.kind == "ratings_updated":
        return f"{event.leader} leads, the best with a chance of {event.chance_best:.0%} ({event.progress:.0%} done)"
    return event.message if event.kind == "error" else ""


def _list(options: argparse.Namespace) -> int:
    with opened(options) as engine:
        found = engine.hypotheses.list()
    none = "No tournament yet. `biodesk hypotheses run GOAL` begins one."
    return emit(options, [_document(one) for one in found], "\n".join(map(_row, found)) or none)


def _row(one: Tournament) -> str:
    return f"{one.id}  {one.status:<9}  {one.progress:>4.0%}  {one.aims.goal[:80]}"


def _document(one: Tournament) -> dict[str, Any]:
    return one.model_dump(mode="json")


def _show(options: argparse.Namespace) -> int:
    with opened(options) as engine:
        return _shown(engine, options.id, options)


def _shown(engine: Any, tournament_id: str, options: argparse.Namespace, text: _Text | None = None) -> int:
    view = engine.hypotheses.show(tournament_id)
    return emit(options, view.model_dump(mode="json"), (text or view_text)(view))


def answer_text(view: TournamentView) -> str:
    """Return what leads a tournament, how sure that is, and where the whole is."""
    state = view.tournament
    lines = [f"{state.id}: {state.status}", "", view.answer or f"No hypothesis was made. {state.stopped_by}".rstrip()]
    lines += ["", *(["How sure this order is:", *(f"  - {text}" for text in view.says), ""] if view.says else [])]
    return "\n".join([*lines, f"`biodesk hypotheses show {state.id}` shows all of them."])


def view_text(view: TournamentView) -> str:
    """Return the standings of a tournament as a terminal shows them."""
    state, by_id = view.tournament, {one.id: one for one in view.hypotheses}
    lines = [
        f"{state.id}: {state.aims.goal}",
        f"{state.status}, {state.calls:,} calls. {state.stopped_by}".rstrip(),
        "",
    ]
    for one in view.standings:
        note = "" if one.status == "competing" else f" [{one.status}]"
        tested = "" if one.verdict.startswith("untest") else f" [{one.verdict}]"
        lines.append(
            f"{one.group:>3}  {one.rating:>5.0f} ({one.low:.0f} to {one.high:.0f})  best {one.chance_best:>4.0%}  "
            f"{one.wins:g} of {one.matches} won  {one.hypothesis}{note}{tested}\n     {by_id[one.hypothesis].text}"
        )
    return "\n".join([*lines, "", *view.says])


def _changed(act: Callable[[Any, argparse.Namespace], object]) -> Callable[[argparse.Namespace], int]:
    """Return a command that changes something and then shows the tournament."""

    def command(options: argparse.Namespace) -> int:
        with opened(options) as engine:
            act(engine.hypotheses, options)
            return _shown(engine, options.id, options)

    return command


def _export(options: argparse.Namespace) -> int:
    with opened(options) as engine:
        path = engine.hypotheses.export(options.id, options.out, options.format)
    return emit(options, {"id": options.id, "path": str(path)}, f"Written to {path}.")


_ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {
    "run": _run,
    "list": _list,
    "show": _show,
    "resume": _resume,
    "export": _export,
    "vote": _changed(lambda calls, o: calls.vote(o.id, o.hypothesis, o.value)),
    "pin": _changed(lambda calls, o: calls.pin(o.id, o.hypothesis, on=not o.off)),
    "veto": _changed(lambda calls, o: calls.veto(o.id, o.hypothesis, on=not o.off)),
    "merge": _changed(lambda calls, o: calls.merge(o.id, o.hypothesis, o.into)),
    "add": _changed(lambda calls, o: calls.add(o.id, o.text)),
    "test": _changed(lambda calls, o: calls.test(o.id, o.hypothesis, o.prediction - 1)),
}
