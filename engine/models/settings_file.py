"""Changes of a workspace's `settings.toml` that leave the rest of the file as its owner wrote it.

Only settings of models, servers and budgets are changed here, and only values that stand on a line of their own. What
comes out is read again and compared with what was meant before anything is written, so a file written in a way that is
not understood is refused, never damaged.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from engine.domain.models import ModelServer
from engine.errors import StorageError, UserError
from engine.models.keys import key_for, secrets_around
from engine.models.roster import targets
from engine.settings import MODEL_SETTINGS, Settings

Plain = str | int | float | bool
EDITABLE = (
    *MODEL_SETTINGS,
    *(name for name in Settings.model_fields if name.startswith(("budget_", "model_")) and name not in MODEL_SETTINGS),
)
"""Settings that may be changed so; those of servers and facts are tables: servers have their own way."""
SERVER_FIELDS = ("base_url", "key_env", "through")
"""What of a server is changed so; its `options` are written by hand."""
NAME = "settings.toml"


def require_settings(values: Mapping[str, Plain | None], kept: Mapping[str, object] | None = None) -> None:
    """Refuse values that a start would refuse.

    Args:
        values: setting -> its new value, None for the default.
        kept: what stands in the file besides.

    Raises:
        UserError: for a setting that is not changed here, a value that does not fit, or a key in the place of a name.
    """
    for name, value in values.items():
        if name not in EDITABLE or name in ("model_servers", "model_facts"):
            raise UserError(f"The setting {name!r} is not changed here.", advice=f"Write it into {NAME}.")
        if isinstance(value, str) and any(secret in value for secret in secrets_around()):
            raise UserError(
                f"{name} holds a key, which does not belong into the settings.",
                advice="Put it into the environment, the keyring or the file of keys; docs/models.md says how.",
            )
    together = {**(kept or {}), **{name: value for name, value in values.items() if value is not None}}
    try:
        settings = Settings.model_validate({name: value for name, value in together.items() if name != "workspace"})
        targets(settings, dict)
    except ValidationError as err:
        first = err.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise UserError(f"{name} cannot be {first.get('input')!r}: {first['msg'].lower()}.") from err


def require_server(name: str, fields: Mapping[str, str]) -> None:
    """Refuse a server whose key would come to stand in the file; what is refused is not repeated, it may be the key.

    Args:
        name: the name before the slash.
        fields: what of `SERVER_FIELDS` it is to have.

    Raises:
        UserError: for a name that no model can have, or a field that holds something else than its name or address.
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name):
        raise UserError("The name of a server has letters, digits, `_` and `-`, a letter first.")
    key_env = fields.get("key_env", "")
    # Some keys are capitals and digits alone, so a name must have a stroke or be set.
    named = re.fullmatch(r"[A-Z][A-Z0-9_]*", key_env) and ("_" in key_env or key_env in os.environ)
    if key_env and not named:
        raise UserError(
            "The key comes from a variable of the environment, in capitals like LAB_KEY; a key itself is not kept.",
            advice="Put the key into that variable, the keyring or the file of keys; docs/models.md says how.",
        )
    try:
        ModelServer.model_validate(fields)
    except ValidationError as err:
        raise UserError(f"The server cannot be written: {err.errors()[0]['msg'].lower()}.") from None
    held = [*secrets_around(), key_for(name, fields.get("key_env", "")).value]
    if any(secret and secret in value for secret in held for value in (name, *fields.values())):
        raise UserError(
            f"What is written for the server holds a key, which does not belong into {NAME}.",
            advice="Put it into the environment, the keyring or the file of keys; docs/models.md says how.",
        )


def with_values(text: str, values: Mapping[str, Plain | None], table: tuple[str, ...] = ()) -> str:
    """Return the text of a settings file with these values; None takes a setting out, so that its default holds.

    Args:
        text: the file.
        values: name -> value.
        table: the table that they stand in, made at the end where it is not there; the top without.

    Raises:
        UserError: when the file cannot be read, or is written in a way that is not understood here.
    """
    wanted = inside = _parsed(text)
    for part in table:
        inside = inside.setdefault(part, {})
    for name, value in values.items():
        inside.pop(name, None)
        inside |= {} if value is None else {name: value}
    lines = text.splitlines()
    if table and not _headers(lines, table):
        lines += ["", f"[{'.'.join(table)}]"]
    start = _headers(lines, table)[0] + 1 if table else 0
    end = next((at for at in range(start, len(lines)) if re.match(r"\s*\[", lines[at])), len(lines))
    own, rest = lines[start:end], lines[end:]
    for name, value in values.items():
        line = re.compile(rf"\s*{re.escape(name)}\s*=")
        at = next((at for at, said in enumerate(own) if line.match(said)), None)
        written = [] if value is None else [f"{name} = {_toml(value)}"]
        if at is not None:
            own[at : at + 1] = written
        elif written:
            while own and not own[-1].strip():
                own.pop()
            own += written
    return _understood([*lines[:start], *own, *([""] if own and rest and own[-1].strip() else []), *rest], wanted)


def without_table(text: str, table: tuple[str, ...]) -> str:
    """Return the text of a settings file without a table and what lies in it.

    Raises:
        UserError: when the file cannot be read, or is written in a way that is not understood here.
    """
    wanted = inside = _parsed(text)
    for part in table[:-1]:
        inside = inside.get(part, {})
    inside.pop(table[-1], None)
    lines = text.splitlines()
    for start in reversed(_headers(lines, table, within=True)):
        end = next((at for at in range(start + 1, len(lines)) if re.match(r"\s*\[", lines[at])), len(lines))
        del lines[start:end]
    if not inside and table[:-1]:
        wanted.pop(table[0], None)
    return _understood(lines, wanted)


def _headers(lines: Sequence[str], table: tuple[str, ...], *, within: bool = False) -> list[int]:
    """Return the lines that begin a table, also those of the tables within it where these are wanted."""
    path = r"\s*\.\s*".join(rf"(?:{name}|\"{name}\"|'{name}')" for name in map(re.escape, table))
    more = r"(?:\..*)?" if within else ""
    header = re.compile(rf"\s*\[\s*{path}\s*{more}\]\s*(?:#.*)?$")
    return [at for at, line in enumerate(lines) if header.match(line)]


def _understood(lines: Sequence[str], wanted: Mapping[str, object]) -> str:
    """Return lines as a text that reads as it is meant; refuse it otherwise."""
    made = "\n".join(lines).strip("\n") + "\n"
    try:
        fits = _parsed(made) == wanted
    except UserError:
        fits = False
    if not fits:
        raise UserError(
            f"{NAME} is written in a way that cannot be changed from here.", advice="Change it in an editor."
        )
    return made


def save_settings(workspace: Path, values: Mapping[str, Plain | None]) -> Path:
    """Write settings into a workspace's file and return it; the file is whole at every moment.

    Raises:
        UserError: when a value does not fit, or the file cannot be changed from here.
        StorageError: when it cannot be written.
    """
    path, text = _read(workspace)
    require_settings(values, {name: value for name, value in _parsed(text).items() if name not in values})
    return _written(path, with_values(text, values))


def save_server(workspace: Path, name: str, fields: Mapping[str, str] | None) -> Path:
    """Write a server of models into a workspace's file and return it; None takes the server out.

    Args:
        workspace: the folder.
        name: the name before the slash of its models.
        fields: `base_url`, `key_env` and `through`, empty for none; what else the server has stays.

    Raises:
        UserError: when something does not fit, or the file cannot be changed from here.
        StorageError: when it cannot be written.
    """
    path, text = _read(workspace)
    table = ("model_servers", name)
    if fields is None:
        made = without_table(text, table)
    else:
        require_server(name, fields)
        made = with_values(text, {field: fields.get(field) or None for field in SERVER_FIELDS}, table)
    require_settings({}, _parsed(made))
    return _written(path, made)


def _read(workspace: Path) -> tuple[Path, str]:
    path = workspace / NAME
    try:
        return path, path.read_text(encoding="utf-8") if path.is_file() else ""
    except (OSError, UnicodeDecodeError) as err:
        raise StorageError(f"{path} cannot be read: {err}.") from err


def _written(path: Path, made: str) -> Path:
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{NAME}.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(made)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(path.stat().st_mode & 0o777 if path.is_file() else 0o600)
        Path(name).replace(path)
    except OSError as err:
        raise StorageError(f"{path} cannot be written: {err.strerror}.") from err
    return path


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as err:
        raise UserError(f"{NAME} cannot be read: {err}.", advice="Correct it in an editor.") from err


def _toml(value: Plain) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
