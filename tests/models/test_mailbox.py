"""The mailbox is a model to whoever asks, and a folder of questions to whoever answers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from model_room import HELLO, Heard, served
from pydantic import BaseModel
from waiting import until

from engine.adapters.models.mailbox import Mailbox
from engine.errors import ModelCancelled, ModelRateLimited, UserError
from engine.models.answers import Wish
from engine.ports.models.chat import ToolOffer
from engine.runs.cancel import CancelSource

TOOL = ToolOffer(name="look", description="Look.", parameters={"type": "object", "properties": {"gene": {}}})


class Gene(BaseModel):
    gene: bool


@pytest.fixture
def mailbox(tmp_path: Path) -> Iterator[Mailbox]:
    box = Mailbox(tmp_path / "box", 0, lambda line: None)
    thread = threading.Thread(target=lambda: box.serve_forever(poll_interval=0.01), daemon=True)
    thread.start()
    yield box
    box.shutdown()
    box.server_close()
    thread.join()


def seen(path: Path) -> Path:
    until(path.exists)
    return path


def written(path: Path, text: str) -> None:
    """Write an answer long enough ago to be taken as whole."""
    path.write_text(text, encoding="utf-8")
    os.utime(path, (time.time() - 5,) * 2)


def answering(folder: Path, number: int, name: str, text: str) -> threading.Thread:
    def answer() -> None:
        seen(folder / f"{number:06d}.request.json")
        written(folder / f"{number:06d}.answer.{name}", text)

    thread = threading.Thread(target=answer)
    thread.start()
    return thread


@pytest.fixture
def ask(mailbox: Mailbox) -> Iterator[Callable]:
    with served([f"http://127.0.0.1:{mailbox.port}/v1"], key="sk-canary-0123456789") as models:
        yield lambda **more: models.ask("fast", HELLO, purpose="t", **more)


def test_a_question_is_written_down_and_a_text_beside_it_is_its_answer(mailbox, ask):
    thread = answering(mailbox.folder, 1, "txt", "Yes, it is a gene; and a long answer comes in several pieces.\n")
    heard = Heard()
    answer = ask(scope=heard.scope, shown=True)
    thread.join()
    assert answer.text == "Yes, it is a gene; and a long answer comes in several pieces."
    assert answer.counted_by == "provider"
    request = json.loads((mailbox.folder / "000001.request.json").read_text())
    assert request["messages"][1]["content"] == "Is TP53 a gene?"
    assert "## user\n\nIs TP53 a gene?" in (mailbox.folder / "000001.request.md").read_text()
    assert not [path for path in mailbox.folder.iterdir() if "canary" in path.read_text()]


def test_json_beside_it_gives_data_wishes_and_errors(mailbox, ask):
    threads = [answering(mailbox.folder, 1, "json", '{"gene": true}')]
    assert ask(schema=Gene).data == Gene(gene=True)
    calls = '{"tool_calls": [{"name": "look", "arguments": {"gene": "TP53"}}, {"name": "look", "arguments": "{}"}]}'
    threads += [answering(mailbox.folder, 2, "json", calls)]
    assert ask(tools=[TOOL]).wishes == (Wish("call_1", "look", {"gene": "TP53"}), Wish("call_2", "look", {}))
    busy = '{"error": {"status": 429, "message": "busy", "retry_after": 3600}}'
    threads += [answering(mailbox.folder, 3, "json", busy)]
    with pytest.raises(ModelRateLimited):
        ask(variety=1)
    counted = '{"content": "Yes.", "usage": {"prompt_tokens": 5, "completion_tokens": 2}}'
    threads += [answering(mailbox.folder, 4, "json", counted)]
    assert ask(variety=2).prompt_tokens == 5
    for thread in threads:
        thread.join()


def test_an_answer_that_is_still_being_written_is_waited_for(mailbox, ask):
    folder = mailbox.folder

    def answer() -> None:
        seen(folder / "000001.request.json")
        written(folder / "000001.answer.json", '{"gene": tr')
        written(folder / "000001.answer.json", '{"gene": true}')

    thread = threading.Thread(target=answer)
    thread.start()
    assert ask(schema=Gene).data == Gene(gene=True)
    thread.join()


def test_who_left_is_said(mailbox, ask):
    cancel = CancelSource()
    stopper = threading.Thread(target=lambda: (seen(mailbox.folder / "000001.request.json"), cancel.cancel()))
    stopper.start()
    with pytest.raises(ModelCancelled):
        ask(scope=Heard(cancel=cancel).scope)
    stopper.join()
    seen(mailbox.folder / "000001.gone")


def test_it_goes_on_counting_where_it_was(tmp_path):
    (tmp_path / "000041.request.json").write_text("{}")
    box = Mailbox(tmp_path, 0, lambda line: None)
    assert box.write_down({"messages": []}).name == "000042"
    box.server_close()


def test_a_port_that_is_taken_or_a_folder_that_is_none_is_refused(mailbox, tmp_path):
    (tmp_path / "file").write_text("")
    for folder, port in ((tmp_path / "other", mailbox.port), (tmp_path / "file", 0), (tmp_path, 99999)):
        with pytest.raises(UserError):
            Mailbox(folder, port, lambda line: None)


def test_the_command_serves_until_it_is_interrupted(tmp_path):
    command = [sys.executable, "-m", "engine", "dev", "mailbox-model", "--folder", str(tmp_path / "box"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        url = line.split()[4].rstrip(";")
        thread = answering(tmp_path / "box", 1, "txt", "Yes.")
        with served([url]) as models:
            assert models.ask("fast", HELLO, purpose="t").text == "Yes."
        thread.join()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 4
