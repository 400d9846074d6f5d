"""What others wrote, in files that are written and on a terminal: shown as it is, and without doing anything."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from engine.cli.main import main
from engine.domain.encoding.escaping import in_html, in_markdown, visible

ROOT = Path(__file__).parents[2]
MARKED = st.text(alphabet="ab1 .-+=#*_~`[]()<>!|&;:/\\$@w\n", max_size=30)
DANGEROUS = "\x1b[31m\x07\r\b\x9b\u202e\u2028\ufeff"


def shown(document: str) -> str:
    """Return the text a Markdown program shows of a paragraph; anything but text is named."""
    parts = []
    for block in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(document):
        if block.type == "inline":
            parts += [leaf.content if leaf.type == "text" else leaf.type for leaf in block.children or []]
        elif block.type not in ("paragraph_open", "paragraph_close"):
            parts.append(block.type)
    return "".join(parts)


@given(MARKED)
@example("![x](http://a.b/c.png)")
@example("<img src=x onerror=alert(1)>")
@example("1. a")
@example("12) a")
@example("---")
@example("# a")
@example("a&lt;b&#33;")
@example("_a_ b_c __d__")
def test_markdown_files_show_names_as_typed(text):
    assert shown(in_markdown(text)) == " ".join(text.split())


@pytest.mark.parametrize("address", ["http://a.b", "HTTPS://a.b", "www.a.b", "a@b.org"])
def test_addresses_in_names_are_broken_for_programs_that_look_for_them(address):
    assert address not in in_markdown(f"see {address}")


@given(st.text())
def test_nothing_that_moves_a_cursor_or_turns_text_is_left(text):
    for made in (visible(text + DANGEROUS), in_html(text + DANGEROUS), in_markdown(text + DANGEROUS)):
        assert not set(made) & set(DANGEROUS.replace("[31m", ""))


@given(st.text())
def test_a_json_document_says_the_same(text):
    document = json.dumps({"name": text}, ensure_ascii=False)
    assert json.loads(visible(document)) == {"name": text}


def test_html_is_text_within_tags_and_quotes():
    assert in_html("<b a='1' c=\"2\">&\x1b") == "&lt;b a=&#x27;1&#x27; c=&quot;2&quot;&gt;&amp;\\u001b"


# ==== a terminal ====


def test_commands_print_in_one_place():
    for path in (ROOT / "engine" / "cli").glob("*.py"):
        calls = [
            node
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Call)
            and ast.unparse(node.func) in ("print", "sys.stdout.write", "sys.stderr.write")
        ]
        assert path.name == "say.py" or not calls, f"{path.name} prints past `say`"


@pytest.mark.parametrize("form", [(), ("--json",)])
@pytest.mark.parametrize(
    "words",
    [("profile", "{file}"), ("plan", "Is {column} higher in a than in b?\x07", "--data", "{file}"),
     ("tools", "show", "\x1b]0;x\x07"), ("\x1b[2J",), ("verify", "\x9b31m\u202e")],
)  # fmt: skip
def test_no_command_hands_control_characters_to_the_terminal(tmp_path, capsys, words, form, monkeypatch):
    monkeypatch.setenv("BIODESK_WARM_WORKERS", "false")
    column = "gro\x1b[31mwth\u202e"
    file = tmp_path / "ta\x1b[2Jble\x07.csv"
    file.write_text(f"group,{column}\n" + "".join(f"{'ab'[k % 2]},{k % 7}.5\n" for k in range(20)))
    filled = [word.replace("{file}", str(file)).replace("{column}", column) for word in words]
    main([*filled, "--workspace", str(tmp_path / "w"), *form])
    said = "".join(capsys.readouterr())
    assert said.strip()
    assert {mark for mark in said if not mark.isprintable()} <= {"\n"}
