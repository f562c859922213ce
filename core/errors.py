"""Every error Turntree raises, so that a caller can ask "what can be done about it?".

    TurntreeError
    ├── UserError            the person can put it right
    │   ├── MissingKey       no key for this provider
    │   ├── UnknownModel     the provider does not know the model
    │   ├── Unsupported      this provider or model cannot do that
    │   ├── BadFile          a file that cannot be read
    │   ├── NameTaken        the name is in use
    │   ├── NotFound         no such session, node, branch or run
    │   └── LocalModelError  the embedded model is not there or does not start
    ├── ProviderError        the provider, or the way to it, failed
    │   ├── AuthFailed       the key was refused
    │   ├── NoPermission     the key may not do this
    │   ├── RateLimited      too many requests for now
    │   ├── QuotaExhausted   no credit left
    │   ├── Overloaded       the provider is too busy
    │   ├── ContextTooLong   more was sent than the model's window holds
    │   ├── BadRequest       the provider refuses what was sent
    │   ├── Timeout          no answer in time
    │   ├── Unreachable      no connection
    │   └── BadReply         the answer makes no sense
    └── StoreError           the database
        ├── SchemaTooNew     written by a newer Turntree
        ├── Damaged          not a readable database
        ├── Busy             locked by another program
        ├── ReadOnly         may not be written
        └── DiskFull         no space left

Every message says what happened; every ``hint`` says what the person can do next. Neither
ever holds a key or a header.
"""

from core.types import Failure


class TurntreeError(Exception):
    """The root. ``message`` is one sentence; ``hint`` is the next step."""

    hint = ""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if hint is not None:
            self.hint = hint

    def failure(self) -> Failure:
        """The error as a value that the ledger keeps and pages draw."""
        return Failure(kind=type(self).__name__, message=self.message, hint=self.hint)


class UserError(TurntreeError):
    """Something the person asked for cannot be done as asked."""


class MissingKey(UserError):
    """No key for this provider."""

    hint = "Set a key in Settings, then retry."


class UnknownModel(UserError):
    """The provider does not know the model."""

    hint = "Choose another model in Settings, then retry."


class Unsupported(UserError):
    """This provider or model cannot do that."""


class BadFile(UserError):
    """A file that cannot be read."""


class NameTaken(UserError):
    """The name is in use."""

    hint = "Choose another name."


class NotFound(UserError):
    """No such session, node, branch or run."""

    hint = "It may have been deleted for good. Open another session from the list."


class LocalModelError(UserError):
    """The embedded model is not there or does not start."""

    hint = "Run `make run` again to fetch it, or choose another model in Settings."


class ProviderError(TurntreeError):
    """The provider, or the way to it, failed.

    ``retry_after`` is seconds; ``retryable`` says that the same request may succeed later.
    """

    retryable = False

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        provider: str = "",
        model: str = "",
        status: int | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
        parameter: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.provider = provider
        self.model = model
        self.status = status
        self.request_id = request_id
        self.retry_after = retry_after
        self.parameter = parameter

    def failure(self) -> Failure:
        """As :meth:`TurntreeError.failure`, with what the provider told."""
        return Failure(
            kind=type(self).__name__,
            message=self.message,
            hint=self.hint,
            status=self.status,
            request_id=self.request_id,
            retryable=self.retryable,
            parameter=self.parameter,
        )


class AuthFailed(ProviderError):
    """The key was refused."""

    hint = "Check the key in Settings, then retry."


class NoPermission(ProviderError):
    """The key may not do this."""

    hint = "Ask the owner of the account for access, or choose another model."


class RateLimited(ProviderError):
    """Too many requests for now."""

    hint = "Wait a little, then retry."
    retryable = True


class QuotaExhausted(ProviderError):
    """No credit left."""

    hint = "Add credit at the provider, or choose another model."


class Overloaded(ProviderError):
    """The provider is too busy."""

    hint = "Retry in a moment, or choose another model."
    retryable = True


class ContextTooLong(ProviderError):
    """More was sent than the model's window holds."""

    hint = "Fork from an earlier turn, or choose a model with a larger window."


class BadRequest(ProviderError):
    """The provider refuses what was sent."""

    hint = "Change the setting that the message names, then retry."


class Timeout(ProviderError):
    """No answer in time."""

    hint = "Retry; if it happens again, choose another model."
    retryable = True


class Unreachable(ProviderError):
    """No connection."""

    hint = "Check the network and the server's address, then retry."
    retryable = True


class BadReply(ProviderError):
    """The answer makes no sense."""

    hint = "Retry; if it happens again, choose another model."


class StoreError(TurntreeError):
    """The database cannot be used."""


class SchemaTooNew(StoreError):
    """Written by a newer Turntree."""

    hint = "Update Turntree, or name another file with TURNTREE_DB. Nothing was changed."


class Damaged(StoreError):
    """Not a readable database."""

    hint = "Put a copy back in its place, or name another file with TURNTREE_DB."


class Busy(StoreError):
    """Locked by another program."""

    hint = "Close the other program that has the file open, then reload."


class ReadOnly(StoreError):
    """May not be written."""

    hint = "Give yourself write access to the file and its folder, then reload."


class DiskFull(StoreError):
    """No space left."""

    hint = "Free some space, then try again. Nothing that was saved is lost."
