"""What `biodesk serve` and `streamlit run app.py` start: the frame, who may see it, what a browser may do with it.

`biodesk serve` gives Streamlit's settings as JSON, and the token of the link in the environment.
"""

import atexit
import json
import os
import signal
import sys

if __name__ == "__main__":  # before Streamlit is imported: a signal may come during that
    ended = [1]  # the exit code is the last: that of a server that failed, unless a signal ended it

    @atexit.register  # first, so it comes last: after the engine was closed
    def leave() -> None:
        """End at once: a thread that still lives, or holds a database, would make libraries write of leaks or abort."""
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended[-1])

    for number in (signal.SIGTERM, signal.SIGINT):
        # The server ends in order, then sends itself the signal again: Python then ends in order too.
        signal.signal(number, lambda *_: (ended.append(0), sys.exit(0)))
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:  # under nohup it is ignored
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))

from starlette.middleware import Middleware
from streamlit.starlette import App

from pages.serving.gate import Gate
from pages.serving.policy import Policy

# Taken out of the environment that is handed on: what is started from here has no use for it.
token = os.environ.pop("BIODESK_SERVE_TOKEN", "")
os.environ["BIODESK_SERVE_SHARED"] = "yes" if token else ""  # pages that change what holds for all ask for it
app = App("desk.py", middleware=[Middleware(Policy), Middleware(Gate, token=token)])

if __name__ == "__main__":
    app.run(config=json.loads(sys.argv[1]) if len(sys.argv) > 1 else None)
