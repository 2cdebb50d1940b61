"""What can go wrong when a role thinks: one tree for the model it calls, one error for the role itself."""

from __future__ import annotations


class ModelError(Exception):
    """A model could not be had or did not answer; never the role's or the environment's fault."""


class ModelSpecError(ModelError):
    """The model string names nothing that can be called: says what forms are understood."""


class ModelUnavailableError(ModelError):
    """Rate limit, server error, time-out or lost connection that outlasted every retry.

    Attributes:
        retry_after: Seconds the server asked to wait, `None` when it did not say.
    """

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ModelAccessError(ModelError):
    """The provider refused the credentials or the account: trying again does not help."""


class ModelRequestError(ModelError):
    """The provider refused the request as it stands (an unknown model, a parameter it does not take)."""


class ContextOverflowError(ModelError):
    """The conversation no longer fits into the model's context."""


class ContentPolicyError(ModelError):
    """The provider's content policy refused the conversation."""


class BudgetExceededError(ModelError):
    """A limit of the budget would be passed; the call was not made."""


class DrainedError(ModelError):
    """The run is being drained, so the call was not made; a later start makes it."""


class PromptError(Exception):
    """A prompt file and the fields given to it do not fit together."""


class RoleFailedError(Exception):
    """A role did not hand in what it was asked for; counts as a failed attempt, never as an outage.

    Attributes:
        role: The role's name.
        reason: What went wrong, and which limit was met.
        turns: Model turns used.
        last_said: The beginning of the model's last message.
    """

    def __init__(self, role: str, reason: str, *, turns: int, last_said: str = "") -> None:
        said = f"; it last said: {last_said!r}" if last_said else ""
        super().__init__(f"the {role} failed after {turns} turn(s): {reason}{said}")
        self.role = role
        self.reason = reason
        self.turns = turns
        self.last_said = last_said


class RoleDeclinedError(RoleFailedError):
    """A role says that its work cannot be done; asking it again would bring the same answer."""
