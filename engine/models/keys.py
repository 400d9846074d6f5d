"""Where keys come from: the environment, the keyring of the operating system, or a file that only you may read.

A key is looked up by the name of the server it is for, and never stored, shown or passed on but to that server.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from platformdirs import user_config_path

from engine.errors import UserError
from engine.text.redaction import masked

SERVICE = "biodesk"
"""Under this name the operating system's keyring holds keys, with the server's name as the account."""

_SECRET = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$", re.IGNORECASE)
_LONG = 16
"""A shorter value may be an ordinary word, which must not vanish from prompts."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key and where it was found; `value` is "" when there is none."""

    value: str = field(default="", repr=False)
    origin: str = ""

    def __str__(self) -> str:
        """Return what a person may see of it."""
        return f"{masked(self.value)} (from {self.origin})" if self.value else "none"


def secrets_path() -> Path:
    """Return where the file of keys is looked for, outside every workspace: a workspace may be passed on."""
    return user_config_path(SERVICE, appauthor=False) / "secrets.toml"


def key_for(server: str, key_env: str = "") -> Key:
    """Return the key for a server: the first that environment, keyring and secrets file have.

    Raises:
        UserError: when the secrets file can be read by others, or not at all.
    """
    variable = key_env or re.sub(r"\W+", "_", server).upper() + "_API_KEY"
    if value := os.environ.get(variable, "").strip():
        return Key(value, f"the environment, {variable}")
    if value := _from_keyring(server):
        return Key(value, f"the keyring, {SERVICE}/{server}")
    path = secrets_path()
    if value := _from_file(path).get(server, ""):
        return Key(value, str(path))
    return Key()


def secrets_around() -> list[str]:
    """Return the values of the environment that are called keys, tokens, secrets or passwords.

    LiteLLM finds some by itself, and none of them has a place in a prompt or a message.
    """
    found = [value.strip() for name, value in os.environ.items() if _SECRET.search(name)]
    return [value for value in found if len(value) >= _LONG]


def _from_keyring(server: str) -> str:
    try:
        import keyring  # pyright: ignore[reportMissingImports] - an extra that need not be installed
        import keyring.errors  # pyright: ignore[reportMissingImports]
    except ImportError:
        return ""
    try:
        return keyring.get_password(SERVICE, server) or ""
    except (keyring.errors.KeyringError, OSError, RuntimeError):
        return ""  # a machine without a keyring of its own, as most servers are


def _from_file(path: Path) -> dict[str, str]:
    try:
        mode = path.stat().st_mode
        if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
            message = f"The file of keys {path} can be read by others, so none is taken from it."
            raise UserError(message, advice=f"Make it yours alone: `chmod 600 {path}`.")
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as err:
        # What is wrong with the file is not repeated: the sentence of the library may quote a line with a key.
        message = f"The file of keys {path} cannot be read ({type(err).__name__})."
        raise UserError(message, advice='It holds lines like `openai = "sk-..."`.') from None
    return {name: value for name, value in found.items() if isinstance(value, str)}
