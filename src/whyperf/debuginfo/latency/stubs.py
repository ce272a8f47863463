"""What stubs of timed functions have in common on all machines."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Protocol

from whyperf.debuginfo.control_flow.flow_instructions import FlowInstruction
from whyperf.debuginfo.probes.plan_file import PatchPlan
from whyperf.debuginfo.probes.survey import SurveyedFunction


class LatencySlot(IntEnum):
    """What the target fills in: the same numbers as in `native/latency/latency.c`."""

    BEGIN = 0
    END = 1
    STUBS = 2


class LatencyStubs(Protocol):
    """Raises NotPatched where instructions cannot be replaced."""

    @property
    def functions(self) -> Sequence[SurveyedFunction]:
        """What was understood of the file's code, by address."""

    def begin(self, address: int) -> None:
        """At a function's first instructions."""

    def end(self, instruction: FlowInstruction) -> None:
        """At one of its last: a return, or a jump into another function."""

    def plan_of_slots(self, build_id: str) -> PatchPlan: ...
