"""Ask: a question and files in; a plan to agree to, then an answer with everything needed to doubt it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.asking.answer import draw_answer, draw_told_figures
from pages.asking.approval import draw_goals, draw_not_answered, load_style
from pages.asking.by_hand import Use, draw_by_hand
from pages.asking.profile_card import draw_card, profile_of
from pages.asking.thread import (
    DELETING,
    draw_name,
    draw_name_tools,
    draw_past,
    draw_refusal,
    draw_reused,
    draw_suggestions,
    draw_taken_over,
    draw_turns,
)
from pages.asking.understood import draw_alternatives, draw_understood, must_choose, titles_of
from pages.ideas.form import draw_offer
from pages.parts.engine import attempt, run_page, show_message
from pages.parts.escape import plain
from pages.parts.frame import inside_frame
from pages.parts.session import focus, run_in_focus, unfocus
from pages.parts.uploads import save_upload, uploads_of_session, with_own_name
from pages.parts.words import STRATEGIES, counted
from pages.running.live import activity_of, follow, is_working
from pages.running.plan import (
    draw_problems,
    draw_questions,
    draw_run,
    draw_steps,
    draw_warnings,
    draw_written_code,
    not_in_plan,
    run_it,
    use_picked,
)
from pages.running.runs import draw_state, draw_trust, is_refused, say_wrong
from pages.trust.downloads import draw_downloads

if TYPE_CHECKING:
    from engine.api import Engine, Profile, RunRecord, RunView, Setup, TaskDag, WayOn

# Session keys: paths of the files the next question comes with, from the question's field and from the field for files;
# whether plans run at once.
ATTACHED = "attached"
UPLOADED = "uploaded"
BOXED = "boxed"
"""Session key: id -> path of the files in the question's field that were not sent yet."""
SENT = "sent_files"
"""Session key: ids of files that were asked about or removed; the server keeps them as long as the session."""
LOOK_SECONDS = 1.0
"""How often it is looked whether a file was put into the question's field, which says so only when it is sent."""
AUTO = "auto_approve"
ASKED = "asked"
"""Session key: a message with its files that waits for the engine."""
PAST_SHOWN = 6


def draw(engine: Engine) -> None:
    """Draw the conversation on the run in focus, or a fresh start."""
    if message := st.session_state.pop(ASKED, None):
        _take(engine, message)
    if run_id:
        _conversation(engine, run_id)
    else:
        _start(engine)


def _question_field(placeholder: str) -> Any:
    # Inside a container it stands where it is written. At the foot of the page it would keep the page scrolled
    # to its end, and the first thing seen of an answer would be its last line.
    with st.container(key="question_box"):
        return st.chat_input(placeholder, key="question", accept_file="multiple", max_chars=4000)


def _take(engine: Engine, message: Any) -> None:
    """Keep the files of a message and ask what it says; files alone are shown before anything is asked of them."""
    given = [_keep(engine, file) for file in message.files]
    st.session_state[ATTACHED] = _unique([*st.session_state.get(ATTACHED, []), *given])
    if message.text.strip():
        _ask(engine, message.text, _all_files(engine))
        return
    st.rerun()


def _all_files(engine: Engine) -> list[str]:
    """Return the files of the next question: a follow-up keeps those it follows, but for a new one of the same name."""
    data = _attached()
    names = {Path(path).name for path in data}
    old = [path for path in engine.record(run_id).data if Path(path).name not in names] if run_id else []
    return [*(path for path in old if Path(path).is_file()), *data]


def _ask(engine: Engine, question: str, data: list[str], **more: Any) -> None:
    """Ask and show the run; `more` is as in `Engine.ask`."""
    auto = bool(st.session_state.get(f"{AUTO}_kept", False))
    talk = engine.record(run_id).conversation if run_id else ""
    started: list[str] = []
    if attempt(lambda: started.append(engine.ask(question, data, auto_approve=auto, conversation=talk, **more))):
        _forget_files()
        focus(started[0])
        st.rerun()


def _forget_files() -> None:
    st.session_state.setdefault(SENT, set()).update(file.file_id for file in uploads_of_session())
    for key in (ATTACHED, UPLOADED, BOXED):
        st.session_state.pop(key, None)
    st.session_state["uploader_round"] = st.session_state.get("uploader_round", 0) + 1


# ==== a fresh start ====


def _start(engine: Engine) -> None:
    left, right = st.columns([3, 2], gap="medium")
    with left:
        _file_field(engine)
    with right:
        auto = st.toggle(
            "Run plans without asking me first",
            value=st.session_state.get(f"{AUTO}_kept", False),
            key=AUTO,
            help="A plan with a question that only you can answer still waits for you.",
        )
        st.session_state[f"{AUTO}_kept"] = auto
        st.caption("Otherwise you see the plan first and can change every step of it.")
    st.fragment(_look_into_box, run_every=LOOK_SECONDS)(engine)
    if _attached():
        _cards(engine)
        return
    _examples(engine)
    draw_past(engine, shown=PAST_SHOWN)


def _file_field(engine: Engine) -> None:
    key = f"uploader_{st.session_state.get('uploader_round', 0)}"

    def changed() -> None:  # not what the field holds: after another page was open it holds nothing
        # A browser that still shows the field of a question that was asked tells of its files once more.
        new = [file for file in st.session_state[key] if file.file_id not in st.session_state.get(SENT, ())]
        st.session_state[UPLOADED] = [_keep(engine, file) for file in new]

    st.file_uploader(
        "Data files",
        accept_multiple_files=True,
        key=key,
        on_change=changed,
        help="Tables (CSV, TSV, Excel), count matrices with their sample sheet, single-cell data (h5ad), "
        "gene sets (GMT). Files stay on this machine.",
    )


def _keep(engine: Engine, file: Any) -> str:
    """Store an upload once a session and return its path."""
    kept: dict[str, str] = st.session_state.setdefault("kept_uploads", {})
    if file.file_id not in kept:
        path = save_upload(file, file.name, engine.settings.workspace / "uploads")
        taken = {Path(other).name for other in _attached() if Path(other) != path}
        kept[file.file_id] = str(with_own_name(path, taken))
    return kept[file.file_id]


def _look_into_box(engine: Engine) -> None:
    """Keep the files that were put into the question's field, and draw the page with what is in them."""
    boxed: dict[str, str] = st.session_state.get(BOXED, {})
    others = {*st.session_state.get("kept_uploads", {}), *st.session_state.get(SENT, ())} - {*boxed}
    there = [file for file in uploads_of_session() if file.file_id not in others]
    if {file.file_id for file in there} != {*boxed}:
        st.session_state[BOXED] = {file.file_id: _keep(engine, file) for file in there}
        st.rerun()


def _attached() -> list[str]:
    boxed = st.session_state.get(BOXED, {}).values()
    paths = [*st.session_state.get(ATTACHED, []), *st.session_state.get(UPLOADED, []), *boxed]
    return [path for path in _unique(paths) if Path(path).is_file()]


def _unique(paths: list[str]) -> list[str]:
    return list(dict.fromkeys(paths))


def _cards(engine: Engine) -> None:
    data = _all_files(engine)
    draw_suggestions(
        engine,
        lambda question: _ask(engine, question, data),
        key="attached",
        data=data,
        title="Ask one of these, or write your own question above",
    )
    profiles = []
    for number, path in enumerate(_attached()):
        profile = _profile(engine, Path(path))
        if profile is not None:
            profiles.append(profile)
            draw_card(profile, key=f"attached_{number}", expanded=len(_attached()) == 1, engine=engine)
    for problem in engine.cross_check(profiles) if len(profiles) > 1 else []:
        st.markdown(f":orange[:material/warning:] {plain(problem)}")
    if st.button("Remove files", key="remove_files", icon=":material/close:", type="tertiary"):
        _forget_files()
        st.rerun()
    st.caption("Naming a column, a group or a gene makes the plan more exact.")


def _profile(engine: Engine, path: Path) -> Profile | None:
    found: list[Profile] = []
    seen = path.stat()
    attempt(lambda: found.append(profile_of(str(path), (seen.st_size, seen.st_mtime_ns), engine)))
    return found[0] if found else None


def _examples(engine: Engine) -> None:
    from engine.api import examples

    st.markdown("**Or start with an example on real data**")
    offered = examples()
    for column, example in zip(st.columns(len(offered)), offered, strict=True):
        with (
            column,
            st.container(
                border=True, height="stretch", vertical_alignment="distribute", key=f"example_card_{example.id}"
            ),
        ):
            st.markdown(f"**{plain(example.title)}**")
            st.markdown(plain(example.question))
            st.caption(plain(example.description), help=plain(example.source))
            if st.button("Ask this", key=f"example_{example.id}", icon=":material/play_arrow:"):
                _ask_example(engine, example)


def _ask_example(engine: Engine, example: Any) -> None:
    files: list[Path] = []
    with st.spinner("Writing the example's data..."):
        ready = attempt(lambda: files.extend(engine.example_files(example.id)))
    if ready:
        _ask(engine, example.question, [str(path) for path in files])


# ==== the conversation on one run ====


def _conversation(engine: Engine, run_id: str) -> None:
    working = is_working(engine, run_id)
    view = engine.view(run_id)
    talk = engine.conversation(run_id)
    place = next(at for at, record in enumerate(talk.runs) if record.run_id == run_id)
    with st.container(horizontal=True, vertical_alignment="center", key="ask_bar"):
        _bar(run_id)
        draw_name_tools(engine, talk)
    draw_name(engine, talk, run_id, _left)
    draw_turns(engine, talk.runs[:place])
    with st.chat_message("user", avatar=":material/person:"):
        st.markdown(plain(view.record.question))
        _files(engine, view)
    with st.chat_message("assistant", avatar=":material/biotech:"):
        _reply(engine, view, working=working, follows=place > 0)
    draw_turns(engine, talk.runs[place + 1 :])
    if working and view.plan is not None:  # looked for meanwhile, so that they are there with the answer
        engine.suggestions(run_id=run_id)
    if view.plan is not None and view.record.status in ("succeeded", "partial"):
        data = view.record.data
        draw_suggestions(
            engine, lambda question: _ask(engine, question, data), key=run_id, run_id=run_id, title="Next you could ask"
        )
    elif view.plan is not None and view.record.status == "failed" and not working:
        _ask_otherwise(engine, view)
    message = _question_field("Ask on: other rows, a setting, what comes next, a picture, or why something is missing")
    if message:
        _take(engine, message)
    if working:
        return
    _file_field(engine)
    st.fragment(_look_into_box, run_every=LOOK_SECONDS)(engine)
    if _attached():
        _cards(engine)


def _left() -> None:
    """Leave a run that is gone."""
    st.session_state.pop(DELETING, None)
    unfocus()
    st.rerun()


def _bar(run_id: str) -> None:
    if st.button("New question", key="new_question", icon=":material/add:"):
        unfocus()
        _forget_files()
        st.rerun()
    link = {"run": run_id}
    st.page_link("pages/plan_run.py", label="Open in Plan & Run", icon=":material/account_tree:", query_params=link)
    st.page_link("pages/provenance.py", label="Provenance", icon=":material/fact_check:", query_params=link)


def _files(engine: Engine, view: RunView) -> None:
    if not view.record.data:
        st.caption("No files")
        return
    names = ", ".join(Path(path).name for path in view.record.data)
    if not view.profiles:
        st.caption(f":material/attach_file: {plain(names)}")
        return
    run_id, waits = view.record.run_id, view.record.status == "awaiting_approval"

    def planned_again() -> bool:
        return attempt(lambda: engine.replan(run_id))

    with st.expander(plain(names), icon=":material/attach_file:", type="compact", key="question_files"):
        for number, profile in enumerate(view.profiles):
            draw_card(profile, key=f"asked_{number}", engine=engine if waits else None, changed=planned_again)


def _reply(engine: Engine, view: RunView, *, working: bool, follows: bool) -> None:
    record = view.record

    def ask_alone(question: str, data: list[str]) -> None:
        _ask(engine, question, data, alone=True)

    route = record.route
    if not working and route is not None and "tournament" in (route.strategy, route.worded_as):
        draw_offer(record.question, record.data)
    if is_refused(record) and not working:
        advice = activity_of(engine, record.run_id).advice or record.advice
        again, by_hand = _again(engine, record)
        draw_refusal(engine, record, advice, ask_alone, again, by_hand, follows=follows and not record.alone)
        return
    draw_taken_over(engine, view, ask_alone)
    with st.container(horizontal=True, vertical_alignment="center"):
        _route_chip(view)
        draw_state(engine, record, working=working, key="ask")
    waits = not working and record.status == "awaiting_approval" and view.plan is not None
    if waits:
        _proposal(engine, view)
    follow(engine, record, working=working)
    if working or waits:
        return
    if record.error:
        show_message(record.error, activity_of(engine, record.run_id).advice)
    draw_reused(view)
    if view.plan is None and view.report is not None:
        _told(view)
        draw_told_figures(engine, view)
    elif view.report is not None:
        _answer(engine, view)


def _again(engine: Engine, record: RunRecord) -> tuple[Callable[[WayOn, list[str]], None], Use]:
    """Return what asks a question once more: in one of the ways it could be meant, or as was chosen by hand."""

    def ask_again(way: WayOn, named: list[str]) -> None:
        picked = {way.tool: {way.param: named if way.several else named[0]}} if way.columns else {}
        kept = {tool: values for tool, values in record.chosen.items() if record.analysis in ("", way.analysis)}
        _ask(
            engine, record.question, record.data, alone=record.alone, analysis=way.analysis,
            columns=dict(zip(named, way.said, strict=True)) if way.said else None,
            chosen={tool: {**kept.get(tool, {}), **picked.get(tool, {})} for tool in {*kept, *picked}},
        )  # fmt: skip

    def ask_by_hand(setup: Setup, named: dict[str, list[str]]) -> None:
        chosen = setup.chosen(named)
        _ask(engine, record.question, record.data, alone=record.alone, analysis=setup.analysis, chosen=chosen)

    return ask_again, ask_by_hand


def _ask_otherwise(engine: Engine, view: RunView) -> None:
    """Offer what else a question that failed could mean, and what these files can be asked instead."""
    assert view.plan is not None
    record = view.record
    again, _ = _again(engine, record)
    others = view.plan.alternatives[:3]
    if others:
        st.markdown("**Ask it as**")
        with st.container(horizontal=True, gap="small", key=f"otherwise_{record.run_id}"):
            for other in others:
                label = plain(other.says or titles_of(engine).get(other.id, other.id))
                if st.button(label, key=f"otherwise_{record.run_id}_{other.id}", icon=":material/alt_route:"):
                    again(WayOn(says=label, analysis=other.id), [])
    draw_suggestions(
        engine,
        lambda question: _ask(engine, question, record.data),
        key=f"instead_{record.run_id}",
        data=record.data,
        title="Or ask one of these",
    )


def _answer(engine: Engine, view: RunView) -> None:
    run_id = view.record.run_id
    draw_answer(engine, view)
    draw_downloads(engine, run_id, ("html", "pdf", "notebook", "bundle"), key="ask")
    if draw_trust(engine, run_id, type="tertiary"):
        say_wrong()


def _told(view: RunView) -> None:
    """Draw an answer that needed no plan: each sentence says where it is from."""
    assert view.report is not None
    first, *rest = view.report.summary
    st.markdown(plain(first))
    st.markdown("\n".join(f"- {plain(sentence)}" for sentence in rest))
    for sentence in view.report.limitations:
        st.caption(plain(sentence))


def _route_chip(view: RunView) -> None:
    if view.route is None or view.plan is None:
        return
    route = view.route
    name = STRATEGIES.get(route.strategy, route.strategy)
    reasons = " ".join(route.reasons)
    fields = f" Fields: {', '.join(name.replace('_', ' ') for name in route.domains)}." if route.domains else ""
    chosen = {"heuristic": "Chosen by rule.", "model": "Chosen by a model.", "forced": "Chosen by you."}[route.method]
    st.badge(
        name,  # without the route's confidence, which says nothing of whether the plan is right
        icon=":material/route:",
        color="gray",
        help=plain(f"{chosen} {reasons}{fields}"),
    )


def _proposal(engine: Engine, view: RunView) -> None:
    assert view.plan is not None
    stored, run_id = view.plan, view.record.run_id
    key = f"{run_id}_{stored.version}"  # a plan that was made again asks its own questions

    def choose(tool: str, param: str, column: Any) -> None:
        with st.spinner("Planning again..."):
            done = attempt(lambda: engine.replan(run_id, chosen={tool: {param: column}}))
        if done:
            st.rerun()

    draw_not_answered(stored)
    first = must_choose(stored)
    again = first and _meant(engine, run_id, stored)
    plan = draw_questions(engine, stored, choose, key=key, blocking=True)
    # Before what it depends on, so that a keyboard is there in a few steps; it is filled when that is known.
    buttons = st.container(horizontal=True, vertical_alignment="center", key="proposal_buttons")
    problems = st.container()
    goals, others = st.container(key="proposal_goals"), st.container(key="proposal_others")
    plan = engine.as_edited(stored, draw_questions(engine, plan, choose, key=key, blocking=False))
    # What is answered below counts: the groups must not be told the other way round. Pickers begin anew with it.
    answers = [f"{node.id}_{name}_{value}" for node in plan.nodes for name, value in node.params.items()
               if (before := stored.node(node.id)) and before.params.get(name) != value]  # fmt: skip
    with goals:
        choices = draw_goals(engine, run_id, plan, view.profiles, key="_".join([key, *answers]))
    with others:
        again |= not first and _meant(engine, run_id, stored)
    if again or choices.planned:
        st.rerun()
    draw_warnings(plan.warnings)
    if (estimate := engine.model_estimate(plan, view.profiles)) is not None:
        st.caption(plain(estimate.says))
    with problems:
        runnable = draw_problems(engine, plan, asked=True)
    with buttons:
        told = f"This is the plan, {counted(len(stored.nodes), 'step')}. Nothing has been computed yet."
        st.markdown(plain(not_in_plan(choices.waiting, told)), width="stretch")
        run_now = draw_run(choices.waiting, key="run_plan", disabled=not runnable)
        if run_now and attempt(lambda: run_it(engine, run_id, stored, plan)):
            st.rerun()
        if st.button("Edit in Plan & Run", key="edit_plan", icon=":material/edit:") and use_picked(choices.waiting):
            if plan != stored and not choices.waiting:
                attempt(lambda: engine.edit_plan(run_id, plan))
            st.switch_page("pages/plan_run.py", query_params={"run": run_id})
    draw_written_code(engine, plan, key=key)
    draw_steps(plan, key=key, told=True)
    draw_understood(engine, stored, key=key)


def _meant(engine: Engine, run_id: str, stored: TaskDag) -> bool:
    """Draw what else a question could mean, by words and by hand; say whether it was planned as one of the first."""

    def plan_so(setup: Setup, named: dict[str, list[str]]) -> None:
        with st.spinner("Planning again..."):
            done = attempt(lambda: engine.replan(run_id, analysis=setup.analysis, chosen=setup.chosen(named)))
        if done:
            st.rerun()

    again = draw_alternatives(engine, run_id, stored)
    if stored.datasets:
        draw_by_hand(engine, run_id, plan_so)
    return again


if inside_frame():
    run_id = run_in_focus()
    st.title("Ask")
    load_style()
    if not run_id:
        st.markdown(
            "**Biodesk** answers questions about your data: first a checked plan, then a report, a notebook and a "
            "record of how."
        )
        if message := _question_field("What do you want to know of your data?"):
            st.session_state[ASKED] = message  # until there is an engine: another process may hold the workspace
    run_page(draw)
