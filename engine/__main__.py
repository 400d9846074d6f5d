"""`biodesk` and `python -m engine`."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading


def main() -> int:
    """Run the command and return its exit code."""
    code: list[int] = []
    atexit.register(_leave, code)  # registered first, so it comes last
    try:
        from engine.cli.main import main as run
    except KeyboardInterrupt:  # from here on the command says itself what an interruption left behind
        print("Interrupted.", file=sys.stderr)
        return 4
    code.append(run())
    return code[0]


def _leave(code: list[int]) -> None:
    """End at once when a thread still works, as after a second Ctrl-C: all that counts is stored by now.

    A thread inside a database while Python takes itself apart would end the process with `terminate called`.
    """
    if code and any(thread.daemon and thread.is_alive() for thread in threading.enumerate()):
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):  # whoever read it may be gone
                stream.flush()
        os._exit(code[0])


if __name__ == "__main__":
    sys.exit(main())
