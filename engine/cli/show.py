"""What the command line prints for people: short, aligned, no decoration that a screen reader would spell out."""

from __future__ import annotations

from typing import Any

from engine.cli.show_words import counted, short
from engine.domain.events import EngineEvent

_CELL = 32

_LINES = {
    "run_started": lambda e: f"running {e.nodes} steps",
    "node_started": lambda e: f"  {e.node} started" + (f" (attempt {e.attempt})" if e.attempt > 1 else ""),
    "node_retried": lambda e: f"  {e.node} again: {e.why}",
    "node_finished": lambda e: (
        f"  {e.node} {'reused an earlier result' if e.status == 'cached' else f'done in {e.seconds:.1f} s'}"
    ),
    "node_failed": lambda e: f"  {e.node} FAILED: {e.error}",
    "node_skipped": lambda e: f"  {e.node} skipped, it needs {e.because}",
    "node_progress": lambda e: f"  {e.node} {e.message}",
    "agent_started": lambda e: f"  asking a model to {e.agent}",
    "model_call": lambda e: _model_call_line(e),
    "warning": lambda e: f"  {e.node} note: {e.message}",
    "error": lambda e: f"  error: {e.message} {e.advice}".rstrip(),
    "plan_revised": lambda e: _revised_line(e),
    "talk_shortened": lambda e: f"  {e.says}",
    "report_revised": lambda e: f"  the plain words are written anew: {' '.join(e.why)}",
    "run_cancelled": lambda e: "stopping",
    "run_interrupted": lambda e: f"interrupted: {e.message}",
    "run_resumed": lambda e: f"resuming; kept {', '.join(e.kept) or 'nothing'}",
}


def _model_call_line(event: Any) -> str:
    """Return a line on a call of a model: what for, how much, and what was wrong."""
    cost = "" if event.usd is None else f", ${event.usd:.4f}"
    how = "from an earlier call" if event.cached else f"{event.tokens:,} tokens{cost}, {event.seconds:.1f} s"
    wrong = "" if event.outcome == "answered" else f", {event.outcome}"
    return "; ".join([f"  {event.model}, to {event.purpose}: {how}{wrong}", *event.notes])


def _revised_line(event: Any) -> str:
    """Return why a plan was revised, and where it waits."""
    why = " ".join(event.why)
    if event.run == event.run_id:
        return f"  a model revised the plan, which goes on: {why}"
    way = f"`biodesk show {event.run}` shows it, `biodesk resume {event.run} --yes` runs it"
    return f"  a model revised the plan, which waits: {way}. {why}"


def event_line(event: EngineEvent) -> str:
    """Return a line of progress for an event, or "" for one that people need not see."""
    make = _LINES.get(event.kind)
    return make(event) if make else ""


def outcome_text(view: Any, out: str | None) -> str:
    """Return the report's summary and where its files are."""
    report = view.report
    lines = [f"{view.record.run_id}: {view.record.status}", ""]
    if report is not None:
        told = {answer.said: answer for answer in report.answers}
        for sentence in report.summary:
            lines += [sentence, ""]
            if sentence in told:
                lines += [line for table in told[sentence].tables for line in _table_lines(table)]
                lines += _figure_lines(told[sentence].figure)
        lines += [report.in_words.line, ""] if report.in_words else []
        if report.caveats:
            lines += ["What limits this answer:", *(f"  - {text}" for text in report.caveats), ""]
        rest = len(report.findings) - len(told), len(report.limitations) - len(report.caveats)
        if max(rest) > 0:
            more = f"{counted(max(0, rest[0]), 'more finding')} and {counted(max(0, rest[1]), 'more limitation')}"
            lines += [f"In the report, too: {more}.", ""]
    if out:
        lines.append(f"Report, notebook, tables and provenance are in {out}")
    else:
        lines.append(f"`biodesk export {view.record.run_id} --format html --out report.html` writes the report.")
    return "\n".join(lines)


def _table_lines(table: Any) -> list[str]:
    """Return the rows that show an answer, in columns; a star stands before those the sentence is about."""
    from engine.api import shown_cells

    numeric, cells = shown_cells(table.columns, list(table.rows.values()))
    rows = [[short(text, _CELL) for text in row] for row in (table.columns, *cells)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(table.columns))]
    marks = [" ", *("*" if number in table.marked else " " for number in table.rows)]
    lines = [
        f"{mark} {'  '.join(_filled(*cell) for cell in zip(row, widths, numeric, strict=True))}".rstrip()
        for mark, row in zip(marks, rows, strict=True)
    ]
    shown = f"{len(table.rows):,} of {table.total:,} rows" if len(table.rows) < table.total else "all rows"
    return [*lines, f"  ({shown} of {table.name})", ""]


def _filled(text: str, width: int, numeric: bool) -> str:  # noqa: FBT001 - one cell of a zip
    return text.rjust(width) if numeric else text.ljust(width)


def _figure_lines(figure: str) -> list[str]:
    return [f"  Figure: {figure}", ""] if figure else []


def runs_text(records: list[Any]) -> str:
    """Return one line a run."""
    if not records:
        return "No runs yet. `biodesk ask QUESTION --data FILE` starts one."
    return "\n".join(f"{r.run_id}  {r.status:<18} {r.created_at[:16]}  {r.question[:80]}" for r in records)


def trees_text(trees: list[Any]) -> str:
    """Return search trees, a line a choice; a star stands before those that lead to the best end."""
    if not trees:
        return "This run searched nothing. `biodesk ask QUESTION --strategy mcts` does."
    lines: list[str] = []
    for tree in trees:
        lines += [tree.title, tree.told, "", "  visits  mean  best  prior"]
        for row in tree.rows():
            seen, mark = row.state, "*" if row.leads and row.place else " "
            numbers = f"{seen.visits:>7,}  {seen.value:.2f}  {seen.best:.2f}   {seen.prior:.2f}"
            more = f" (+{seen.hidden:,})" if seen.hidden else ""
            named = f"{row.place} {row.choice}".lstrip()
            lines.append(f"{mark}{numbers}  {'  ' * row.depth}{named}{more}")
        lines += ["", "* leads to the best end; (+n) more choices, not shown.", ""]
    return "\n".join(lines).rstrip()


def run_text(view: Any) -> str:
    """Return a run: status, plan, steps and findings."""
    record = view.record
    lines = [f"{record.run_id}  {record.status}  {record.created_at}", record.question, ""]
    if record.error:
        lines += [f"Error: {record.error}", ""]
    for node in view.plan.nodes if view.plan else []:
        result = view.results.get(node.id)
        state = f"{result.status} in {result.seconds:.1f} s" if result else "not run"
        lines.append(f"  {node.id}  {node.name}: {state}")
        if result and result.error:
            lines.append(f"      {result.error}")
        for finding in result.findings if result else []:
            lines.append(f"      - {finding.text}")
    lines += ["", *[f"Note: {warning}" for warning in view.warnings]]
    return "\n".join(lines).rstrip()


def profiles_text(profiles: list[Any]) -> str:
    """Return what each file can serve as."""
    blocks = []
    for profile in profiles:
        types = ", ".join(f"{guess.type.value} ({guess.confidence:.2f})" for guess in profile.types) or "nothing usable"
        lines = [f"{profile.path}", f"  {profile.summary}", f"  serves as: {types}"]
        for column in profile.column_profiles[:40]:
            roles = ", ".join(guess.role for guess in column.roles)
            levels = f" levels {', '.join(list(column.levels)[:6])}" if column.levels else ""
            missing = f" {column.missing} missing" if column.missing else ""
            lines.append(f"  - {column.name}: {column.kind}{levels}{missing}" + (f" [{roles}]" if roles else ""))
        if profile.extent and profile.column_profiles:
            lines.append(f"  (levels and missing values are {profile.extent})")
        lines += [f"  note: {warning}" for warning in profile.warnings]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def tools_text(specs: list[Any]) -> str:
    """Return the catalogue by domain."""
    lines: list[str] = []
    for domain in dict.fromkeys(spec.domain for spec in specs):
        lines.append(domain)
        lines += [f"  {spec.name:<26} {spec.title}" for spec in specs if spec.domain == domain]
    return "\n".join(lines)


def tool_text(spec: Any) -> str:
    """Return everything a tool says of itself."""
    lines = [f"{spec.name}: {spec.title}", "", spec.description, "", "Inputs"]
    lines += [f"  {p.name}: {p.type.value}{' (optional)' if p.optional else ''} {p.description}" for p in spec.inputs]
    lines += ["Parameters"]
    for param in spec.params:
        need = "required" if param.required else f"default {param.default!r}"
        bounds = "".join(
            f", {word} {bound:g}"
            for word, bound in (("at least", param.minimum), ("at most", param.maximum))
            if bound is not None
        )
        choices = f", one of {', '.join(param.choices)}" if param.choices else ""
        unit = f" [{param.unit}]" if param.unit else ""
        lines.append(f"  {param.name}{unit}: {param.kind}, {need}{bounds}{choices}. {param.description}")
    lines += ["Outputs"] + [f"  {p.name}: {p.type.value} {p.description}" for p in spec.outputs]
    lines += ["Method"] + [f"  {c.authors} ({c.year}). {c.title}. {c.doi}" for c in spec.citations]
    return "\n".join(lines)


def entry_text(entry: Any) -> str:
    """Return what an imported catalogue says of a tool."""
    state = f"can be called as {entry.call}" if entry.call else "a description; it does not run here"
    lines = [f"{entry.name}: {entry.title or entry.name}", f"From {entry.catalogue}; {state}.", "", entry.description]
    for label, values in (
        ("Keywords", entry.keywords),
        ("Operations", entry.operations),
        ("Takes", entry.inputs),
        ("Gives", entry.outputs),
        ("Parameters", entry.params),
    ):
        if values:
            lines.append(f"{label}: {', '.join(values[:30])}")
    return "\n".join([*lines, entry.url] if entry.url else lines)


def verification_text(result: Any) -> str:
    """Return what was checked and every difference."""
    head = "Verified: nothing differs." if result.ok else "NOT verified:"
    lines = [head, *[f"  - {text}" for text in result.differences], *[f"  note: {text}" for text in result.notes]]
    return "\n".join(
        [*lines, f"{result.files} files were hashed again, {result.findings} findings compared with their rows."]
    )


def _leftover(workspace: dict[str, Any]) -> list[str]:
    """Say what steps left that could not be deleted."""
    place = f"{workspace['path']}/runs/leftover"
    number = workspace["leftover"]
    return [f"  Folders of steps that could not be deleted: {number}, in {place}"] if number else []


def _model_lines(models: dict[str, Any]) -> list[str]:
    """Return the models of each role, what those said that were asked, and which LiteLLM is here."""
    lines = []
    for role, chain in models["roles"].items():
        for one in chain:
            assumed = ", assumed" if one["assumed"] else ""
            price = one["usd_per_million"]
            costs = f"{price[0]:g} and {price[1]:g} dollars a million tokens" if price else "price not known"
            lines.append(f"  {role}: {one['model']} at {one['address']}, key {one['key']}")
            lines.append(f"    reads {one['reads']:,} tokens{assumed}, {costs}")
        for told in models["tests"].get(role, ()):
            says = "answers" if told["works"] else "DOES NOT ANSWER"
            lines.append(
                f"    {told['model']} {says} ({told['seconds']:.1f} s): {told['says']} {told['advice']}".rstrip()
            )
    found = models["litellm"]
    version = found["version"] or "not installed; only servers of the OpenAI protocol can be asked"
    return [*lines, f"  LiteLLM: {version}", *(f"  WARNING: {text}" for text in found["warnings"])]


def doctor_text(report: dict[str, Any]) -> str:
    """Return what works on this machine."""
    lines = [f"Biodesk {report['version']}, Python {report['python']}, {report['platform']}", ""]
    sandbox = report["sandbox"]
    lines.append(f"Sandbox: {sandbox['kind']}")
    lines += [f"  {name}: {'isolated' if yes else 'NOT isolated'}" for name, yes in sandbox["isolation"].items()]
    lines += [f"  {text}" for text in sandbox["missing"]]
    lines += ["", "Packages"] + [f"  {name} {version or 'MISSING'}" for name, version in report["packages"].items()]
    lines += [
        "",
        f"Model: {report['model']}",
        *_model_lines(report["models"]),
        f"Vectors: {report['embedding']}",
        f"Workspace: {report['workspace']['path']} ({report['workspace']['state']})",
        *_leftover(report["workspace"]),
        "",
        "Settings",
    ]
    lines += [f"  {name} = {item['value']}  ({item['from']})" for name, item in report["settings"].items()]
    return "\n".join(lines)
