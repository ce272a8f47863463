"""What the causes engine says of a stall, for reports. Times are in seconds since the recording began."""

from __future__ import annotations

from dataclasses import dataclass

from whyperf.engines.causes.path import Certainty
from whyperf.engines.finding import Detail, Finding


@dataclass(frozen=True)
class OwnPlace:
    """Where in the program's own code a thread was."""

    function: str
    module: str
    file: str
    line: int
    path: tuple[str, ...]  # outermost first


@dataclass(frozen=True)
class ShownLink:
    """Why a thread's waiting leads to the next."""

    mechanism: str
    certainty: str  # strong, weak, inferred, guess
    why: str


@dataclass(frozen=True, kw_only=True)
class ShownThread:
    """None where it is outside of the recording."""

    process: str | None = None
    thread: str | None = None
    pid: int | None = None
    tid: int | None = None


@dataclass(frozen=True, kw_only=True)
class ShownRung(ShownThread):
    """What a thread on the causal path did, and for how long."""

    time_s: float
    for_s: float
    did: str
    own: OwnPlace | None  # None: in no code of the program's own
    stack: tuple[str, ...]  # innermost first
    link: ShownLink | None  # to the next; the last has none


@dataclass(frozen=True, kw_only=True)
class ShownStall(ShownThread):
    time_s: float
    for_s: float
    what: str
    normal_s: float  # how long such a wait or turn lasts at most
    normal_instances: int
    usual: str  # that in words


@dataclass(frozen=True, kw_only=True)
class WaitedAlong(ShownThread):
    for_s: float


@dataclass(frozen=True, kw_only=True)
class CulpritDetail(Detail):
    culprit_process: str | None
    culprit_thread: str | None
    certainty: str = Certainty.WEAK.value  # of the path's least certain link; unknown where it ends in the dark


@dataclass(frozen=True, kw_only=True)
class CausesDetail(CulpritDetail):
    culprit_pid: int | None
    culprit_tid: int | None
    ending: str
    stall: ShownStall
    ladder: tuple[ShownRung, ...]  # from the stalled thread up to the culprit
    stack: tuple[str, ...]  # the culprit's, innermost first
    asked_by: tuple[ShownThread, ...]
    skipped: tuple[str, ...]
    added: tuple[str, ...]
    along: tuple[WaitedAlong, ...]  # who waited for the same


@dataclass(frozen=True, kw_only=True)
class PaperCausesDetail(CulpritDetail):
    method: str = "paper"
    penalty: int
    missing: bool


def culprit_detail(finding: Finding) -> CulpritDetail:
    """Of a finding of this engine."""
    assert isinstance(finding.detail, CulpritDetail)
    return finding.detail
