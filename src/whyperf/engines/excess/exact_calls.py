"""What counting runs say of a call that samples only suggest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from whyperf.recording.names.identity import FunctionKey

_MOSTLY = 0.5  # no choice: more than half is what "most" means


@dataclass(frozen=True)
class ExactCalls:
    """Of one function by another."""

    good: float  # per unit of work
    bad: float
    per_call: float  # of the calling function, in bad runs

    @property
    def are_repeated(self) -> bool:
        """A call in a loop is made more than once for each call of the function around it."""
        return self.per_call > 1.0

    @property
    def are_new(self) -> bool:
        """Most of the bad runs' calls are more than the good runs make."""
        return self.bad - self.good > _MOSTLY * self.bad

    def explain(self, good_s: float, bad_s: float) -> bool:
        """Whether more calls at the cost of a good one take most of the added time."""
        return self.good == 0 or (self.bad / self.good - 1) * good_s > _MOSTLY * (bad_s - good_s)


ExactCallCounts = Mapping[tuple[FunctionKey, FunctionKey], ExactCalls]
"""By caller and callee."""
