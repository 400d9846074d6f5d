"""Changes of a workspace's `settings.toml` that leave the rest of the file as its owner wrote it.

Only settings of models and budgets are changed here, and only values that stand on a line of their own. What comes out
is read again and compared with what was meant before anything is written, so a file written in a way that is not
understood is refused, never damaged.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from engine.errors import StorageError, UserError
from engine.models.keys import secrets_around
from engine.models.roster import targets
from engine.settings import MODEL_SETTINGS, Settings

Plain = str | int | float | bool
EDITABLE = (
    *MODEL_SETTINGS,
    *(name for name in Settings.model_fields if name.startswith(("budget_", "model_")) and name not in MODEL_SETTINGS),
)
"""Settings that may be changed so; those of servers and facts are tables and are written by hand."""
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


def with_values(text: str, values: Mapping[str, Plain | None]) -> str:
    """Return the text of a settings file with these values; None takes a setting out, so that its default holds.

    Raises:
        UserError: when the file cannot be read, or is written in a way that is not understood here.
    """
    before = _parsed(text)
    lines = text.splitlines()
    end = next((at for at, line in enumerate(lines) if re.match(r"\s*\[", line)), len(lines))
    top, tables = lines[:end], lines[end:]
    for name, value in values.items():
        own = re.compile(rf"\s*{re.escape(name)}\s*=")
        at = next((at for at, line in enumerate(top) if own.match(line)), None)
        written = [] if value is None else [f"{name} = {_toml(value)}"]
        if at is not None:
            top[at : at + 1] = written
        elif written:
            while top and not top[-1].strip():
                top.pop()
            top += written
    made = "\n".join([*top, *([""] if top and tables and top[-1].strip() else []), *tables]).rstrip("\n") + "\n"
    wanted = {name: value for name, value in {**before, **values}.items() if value is not None}
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
    path = workspace / NAME
    try:
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
    except (OSError, UnicodeDecodeError) as err:
        raise StorageError(f"{path} cannot be read: {err}.") from err
    kept = {name: value for name, value in _parsed(text).items() if name not in values}
    require_settings(values, kept)
    made = with_values(text, values)
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


def _parsed(text: str) -> dict[str, object]:
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
