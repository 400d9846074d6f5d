"""Starts the app: on this computer for everybody on it, elsewhere for those who have the link."""

from __future__ import annotations

import argparse
import ipaddress
import json
import os
import secrets
import socket
import sys
from pathlib import Path

from engine.cli.say import say
from engine.errors import UserError

TOKEN = "BIODESK_SERVE_TOKEN"  # noqa: S105 - the name of a variable
"""Where the app finds the token; not on its command line, which everybody on this computer may read. The environment
a process began with can be read by the processes of the same user and by the administrator."""


def serve(options: argparse.Namespace) -> int:
    """Start the app; this process becomes the server, so that ending it, in whatever way, leaves none behind."""
    from engine.api import try_workspace
    from engine.settings import MODEL_SETTINGS, load_settings

    root = Path(__file__).resolve().parents[2]
    if not (root / "app.py").is_file():
        raise UserError(
            "The app's files are not beside the engine.", advice="Start it with `make run` from the project's folder."
        )
    settings, _ = load_settings(workspace=options.workspace, user=options.user, model=options.model)
    address = _address(options.host)
    port = _free_port(address, options.port)
    try_workspace(settings)
    local = address.is_loopback
    token = secrets.token_urlsafe(32) if options.token or not local else ""
    # The address may be given in a setting that is relative to where we are now.
    environment = {**os.environ, "BIODESK_WORKSPACE": str(settings.workspace.expanduser().absolute()), TOKEN: token}
    if options.user:
        environment["BIODESK_USER"] = options.user
    if options.model:
        environment |= {f"BIODESK_{name.upper()}": getattr(settings, name) for name in MODEL_SETTINGS}
    config = {
        "server.address": str(address),
        "server.port": port,
        # Away from this computer names are as they are, and the cookie is what keeps foreign pages out.
        "server.allowedHosts": ["127.0.0.1", "localhost", str(address)] if local else ["*"],
        # Its own words name addresses without the token, and it asks another host for this one's.
        "logger.hideWelcomeMessage": True,
    }
    say(_words(_link(address, port, token), local=local, token=bool(token)))
    sys.stdout.flush()
    sys.stderr.flush()
    os.chdir(root)
    os.execve(sys.executable, [sys.executable, str(root / "app.py"), json.dumps(config)], environment)  # noqa: S606


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return the address to listen on.

    Raises:
        UserError: when the host is none.
    """
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        pass
    try:
        return ipaddress.ip_address(socket.getaddrinfo(host, None, socket.AF_INET, socket.SOCK_STREAM)[0][4][0])
    except (OSError, UnicodeError, ValueError) as err:
        advice = "127.0.0.1 serves this computer only, 0.0.0.0 every network it is in."
        raise UserError(f"--host {host!r} is no address of this computer.", advice=advice) from err


def _free_port(address: ipaddress.IPv4Address | ipaddress.IPv6Address, port: int) -> int:
    """Return the port, or any free one for 0.

    Raises:
        UserError: when it cannot be listened on.
    """
    if not 0 <= port <= 65535:
        raise UserError(f"--port {port} is no port.", advice="A port is a number from 1 to 65535; 0 takes a free one.")
    with socket.socket(socket.AF_INET6 if address.version == 6 else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((str(address), port))
            probe.listen()
        except OSError as err:
            reason = err.strerror or type(err).__name__
            message = f"The app cannot listen on {address} port {port}: {reason[:1].lower()}{reason[1:]}."
            advice = "Another Biodesk may be running there; --port 0 takes a free port."
            raise UserError(message, advice=advice) from err
        return probe.getsockname()[1]


def _link(address: ipaddress.IPv4Address | ipaddress.IPv6Address, port: int, token: str) -> str:
    name = socket.gethostname() if address.is_unspecified else f"[{address}]" if address.version == 6 else str(address)
    return f"http://{name}:{port}/" + (f"?token={token}" if token else "")


def _words(link: str, *, local: bool, token: bool) -> str:
    if not token:
        return f"Biodesk is at {link} (this computer only; Ctrl-C ends it)"
    lines = [
        f"Biodesk is at {link}",
        "Whoever has this link, or the cookie a browser gets for it, can use the app as you. Ctrl-C ends it.",
    ]
    if not local:
        lines.append("The way to it is not encrypted: use it in a network you trust, or through an SSH tunnel.")
    return "\n".join(lines)
