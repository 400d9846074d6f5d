"""What can go wrong, by who can do something about it.

EngineError
  UserError              fix your input or settings
    DataError            a file cannot be used for what was asked
    PlanError            a plan does not fit the catalogue or the data
    NotFoundError        no such run, tool, artifact
  ModelUnavailable       a model (embedding or language) cannot be used here
  FetchError             a download failed; what came is kept for resuming
  SandboxUnavailable     this machine cannot run code now; never the user's code's fault
  Interrupted            Biodesk was closed in the middle of a run, which can be resumed
  LimitExceeded          a limit (queue, quota) was reached
  StorageError           the workspace cannot be read or written
    WorkspaceInUse       another process holds it
    SchemaTooNew         a newer Biodesk wrote it
    IntegrityError       what is stored is not what was written

Code that a step runs and that fails is not here: that is an `ExecResult` (engine.domain.results).
"""

from __future__ import annotations

from typing import Any, ClassVar


class EngineError(Exception):
    """The base: a message for a person, advice on what to do next, and a code for programs."""

    code: ClassVar[str] = "engine_error"
    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, advice: str = "", details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice
        self.details = details or {}


class UserError(EngineError):
    """Something the user gave cannot be used as it is."""

    code = "bad_input"
    exit_code = 2


class DataError(UserError):
    """A file cannot be used for what was asked of it."""

    code = "bad_data"


class PlanError(UserError):
    """A plan does not fit the catalogue or the data. `details["issues"]` lists every misfit."""

    code = "bad_plan"


class NotFoundError(UserError):
    """There is no such thing."""

    code = "not_found"


class SandboxUnavailable(EngineError):
    """The machinery that runs code is broken; the code itself was not judged."""

    code = "sandbox_unavailable"
    retryable = True


class ModelUnavailable(EngineError):
    """A model's files, package or service are missing; Biodesk goes on without it where it can."""

    code = "model_unavailable"


class FetchError(EngineError):
    """A download failed for reasons outside this machine or for lack of space; what came is kept for resuming."""

    code = "fetch_failed"
    retryable = True


class Interrupted(EngineError):
    """Biodesk was closed in the middle of a run; what finished is kept."""

    code = "interrupted"
    exit_code = 4


class LimitExceeded(EngineError):
    """A limit was reached; `details` has kind, value and limit."""

    code = "limit_exceeded"
    retryable = True


class StorageError(EngineError):
    """The workspace cannot be read or written."""

    code = "storage_error"


class WorkspaceInUse(StorageError):
    """Another process holds the workspace."""

    code = "workspace_in_use"
    exit_code = 3


class SchemaTooNew(StorageError):
    """The workspace was written by a newer Biodesk."""

    code = "schema_too_new"


class IntegrityError(StorageError):
    """What is stored is not what was written."""

    code = "integrity_error"
