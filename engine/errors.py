"""What can go wrong, by who can do something about it.

EngineError
  UserError              fix your input or settings
    DataError            a file cannot be used for what was asked
    PlanError            a plan does not fit the catalogue or the data
    NotFoundError        no such run, tool, artifact
  ModelUnavailable       a model (embedding or language) cannot be used here
    ModelRateLimited     too many calls for now; `wait` says for how long
    ModelQuotaSpent      the account has nothing left
    ModelOverloaded      the server cannot answer now
    ModelUnreachable     nothing answers at the address of the server
    ModelTimedOut        no whole answer in time
    ContextTooLong       the question is longer than the model reads
    ModelRefused         the model or its provider declines this question
    ModelRejected        the server does not take the request as it is
    ModelAuthentication  the key is missing or not accepted
    ModelNotFound        the server has no model of that name
    BrokenAnswer         an answer came that is cut off or no answer at all
    AnswerInvalid        the answer does not fit what was asked, also after it was sent back
    BudgetSpent          a limit of tokens or dollars was reached
    ModelCancelled       somebody stopped it
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
    usual_advice: ClassVar[str] = ""
    """What helps against this kind of fault where nothing better is known."""

    def __init__(
        self,
        message: str,
        *,
        advice: str = "",
        details: dict[str, Any] | None = None,
        wait: float | None = None,
        partial: str = "",
        reached: bool = True,
    ) -> None:
        super().__init__(message, advice=advice or self.usual_advice, details=details)
        self.wait = wait
        """Seconds after which the server wants to be asked again, where it said so."""
        self.partial = partial
        """What had come of the answer."""
        self.reached = reached
        """False when the request never got to a server."""


class ModelRateLimited(ModelUnavailable):
    """The server wants fewer calls or fewer tokens a minute."""

    code = "model_rate_limited"
    retryable = True
    usual_advice = "Wait a moment, or name a second model for this role in the settings."


class ModelQuotaSpent(ModelUnavailable):
    """The account at the provider has no credit or quota left."""

    code = "model_quota_spent"
    usual_advice = "Look at billing at the provider, or name another model in the settings."


class ModelOverloaded(ModelUnavailable):
    """The server is too busy or broken."""

    code = "model_overloaded"
    retryable = True
    usual_advice = "Try again later; `biodesk doctor --test-models` asks every model once."


class ModelUnreachable(ModelUnavailable):
    """Nothing answers at the address of the server: it is not running, the address is wrong or there is no network."""

    code = "model_unreachable"
    retryable = True
    usual_advice = "Start the server, or correct its address (`base_url`); `biodesk doctor --test-models` tries it."


class ModelTimedOut(ModelUnavailable):
    """No whole answer came in time."""

    code = "model_timed_out"
    usual_advice = "Allow more time with `model_seconds` and `model_idle_seconds`, or take a faster model."


class ContextTooLong(ModelUnavailable):
    """What is to be read does not fit into the model."""

    code = "model_context_too_long"
    usual_advice = "Ask about less at once, or name a model that reads more."


class ModelRefused(ModelUnavailable):
    """The model, or its provider, declines to answer this."""

    code = "model_refused"
    usual_advice = "Put the question differently, or name another model."


class ModelRejected(ModelUnavailable):
    """The server does not take the request as it is."""

    code = "model_rejected"
    usual_advice = "The model may lack something that is needed here, such as tool calls; name another model."


class ModelAuthentication(ModelUnavailable):
    """The key is missing or is not accepted."""

    code = "model_authentication"
    usual_advice = "Check the key; `biodesk doctor` says which key is used and where it comes from."


class ModelNotFound(ModelUnavailable):
    """The server has no such model, or the address is wrong."""

    code = "model_not_found"
    usual_advice = "Check the model's name and the server's address in the settings."


class BrokenAnswer(ModelUnavailable):
    """An answer came that is cut off, empty or not in the protocol's form."""

    code = "model_broken_answer"
    retryable = True
    usual_advice = "Try again; if it comes again, the server does not keep to the OpenAI protocol."


class AnswerInvalid(ModelUnavailable):
    """The answer does not fit what was asked, although it was sent back; `details["problems"]` says why."""

    code = "model_answer_invalid"
    usual_advice = "The built-in rules take over; a stronger model may do better."


class BudgetSpent(ModelUnavailable):
    """A limit of tokens or dollars was reached; `details` has kind, value and limit."""

    code = "model_budget_spent"
    usual_advice = "Raise the limit in the settings (`budget_...`), or go on without a model."


class ModelCancelled(ModelUnavailable):
    """Somebody stopped the call; `partial` holds what had come."""

    code = "model_cancelled"


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
