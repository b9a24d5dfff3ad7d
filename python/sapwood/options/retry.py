"""How failed requests are repeated: ``retry=``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import _core
from ..errors import ArgumentTypeError, UsageError


@dataclass(frozen=True)
class RetryPolicy:
    """How often a call repeats requests that failed for a reason that may pass, for every protocol.

    Before retry *n*, a call waits for a random part of ``backoff`` · 2ⁿ⁻¹ seconds, and for as long as the
    server asks. No retry begins after the deadline of the call. None stands for the default.

    Attributes:
        tries: most times that one call tries, the first included. Default: 4.
        backoff: longest random pause before the first retry, in seconds. Default: 0.25.
        longest_pause: longest pause that is accepted from a server, in seconds. Default: 60.
        budget: seconds after the first failure within which retries begin. Default: an hour.
    """

    tries: int | None = None
    backoff: float | None = None
    longest_pause: float | None = None
    budget: float | None = None

    def __post_init__(self) -> None:
        if self.tries is not None:
            if isinstance(self.tries, bool) or not isinstance(self.tries, int):
                raise ArgumentTypeError(f"'tries' must be a whole number, not {self.tries!r}")
            if not 1 <= self.tries < 1 << 32:
                raise UsageError(f"'tries' must be at least 1, not {self.tries}")
        for name in ("backoff", "longest_pause", "budget"):
            _check_seconds(name, getattr(self, name))

    def for_core(self) -> _core.RetryPolicy:
        """This policy, as the core takes it."""
        return _core.RetryPolicy(
            tries=self.tries, backoff=self.backoff, longest_pause=self.longest_pause, budget=self.budget
        )


def check_retry(retry: Any) -> RetryPolicy:
    """Checks the argument ``retry=``."""
    if not isinstance(retry, RetryPolicy):
        raise ArgumentTypeError(f"'retry' must be a sapwood.RetryPolicy, not {retry!r}")
    return retry


def _check_seconds(name: str, seconds: Any) -> None:
    if seconds is None:
        return
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise ArgumentTypeError(f"{name!r} must be a number of seconds, not {seconds!r}")
    if not seconds >= 0:
        raise UsageError(f"{name!r} must be a number of seconds, at least 0, not {seconds!r}")
