"""For whom a model is asked: the run, the conversation and the user that a call is counted to, and who hears of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.domain.events import EngineEvent
from engine.errors import ModelCancelled
from engine.ports.cancel import CancelToken


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whom a call belongs to."""

    run_id: str = ""
    conversation: str = ""
    user: str = ""
    """The settings' user when empty."""
    emit: Callable[[EngineEvent], object] | None = field(default=None, repr=False)
    """Takes the events of the run."""
    cancel: CancelToken | None = field(default=None, repr=False)

    def tell(self, event: EngineEvent) -> None:
        """Put an event into the run, where there is one."""
        if self.emit is not None and self.run_id:
            self.emit(event)

    def require_wanted(self) -> None:
        """Stop where somebody stopped it.

        Raises:
            ModelCancelled: when the scope's work was cancelled.
        """
        if self.cancel is not None and self.cancel.cancelled:
            raise ModelCancelled("The work was stopped before the model was asked.", reached=False)

    def pause(self, seconds: float) -> None:
        """Wait, but not for longer than the work is wanted.

        Raises:
            ModelCancelled: when it was cancelled meanwhile.
        """
        woken = threading.Event()
        unregister = self.cancel.on_cancel(woken.set) if self.cancel is not None else lambda: None
        try:
            woken.wait(seconds)
        finally:
            unregister()
        self.require_wanted()
