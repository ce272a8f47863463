"""What a page is made from: the recordings, and what the engines made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from whyperf.engines.excess.compare import Excess
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.recording_protocol import Recorded
from whyperf.engines.run import ONE_RUN, Run
from whyperf.engines.values.compare import Values


@dataclass(frozen=True)
class Examined:
    good: Sequence[Recorded]
    bad: Sequence[Recorded]  # all of them where nothing is compared
    excess: Excess | None = None
    values: Values | None = None

    @cached_property
    def good_runs(self) -> tuple[Run, ...]:
        return self.index.good

    @cached_property
    def bad_runs(self) -> tuple[Run, ...]:
        return self.index.bad

    @cached_property
    def index(self) -> FunctionIndex:
        if self.excess is not None:
            return self.excess.index
        return FunctionIndex([Run(one) for one in self.good], [Run(one) for one in self.bad])

    def units(self, unit: str) -> dict[Run, float]:
        """How many units of work each run did: what its times are divided by."""
        if self.excess is not None:
            return self.excess.units
        return {run: run.work.count if unit != ONE_RUN else 1.0 for run in (*self.good_runs, *self.bad_runs)}
