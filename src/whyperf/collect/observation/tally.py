"""What all processes of a run recorded, added up as they end: there may be thousands of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from whyperf.collect.observation.record_files import RecordingProcess
from whyperf.collect.observation.sites import RECORD, ObservedSite, Rows

_ALL = (1 << 64) - 1
_NOT_PLACED = {
    1: "the file has no build-id",
    2: "its plan was not found",
    5: "its code in memory is not that of the file",
    6: "there is no room for stubs near it",
    9: "the system does not let code be changed",
    10: "the dynamic linker writes into its code",
}
_NOT_OBSERVED = {
    "traced": "whyperf did not observe {} process(es) while a debugger traced them.",
    "sandboxed": "whyperf did not observe {} process(es) after they sandboxed themselves.",
    "children": "whyperf did not observe {} child process(es): there was no room for their records.",
}


class Tally:
    def __init__(self, sites: Sequence[ObservedSite]) -> None:
        self._sites = sites
        self._room = np.array([_hits_forced(site) for site in sites], np.uint64)
        self._rows: list[Rows] = [np.zeros(0, RECORD)]
        self._reasons: dict[Path, int] = {}
        self._not_observed = dict.fromkeys(_NOT_OBSERVED, 0)
        self._first: int | None = None  # when the earliest process started
        self.hits, self.beyond = np.zeros(len(sites), np.uint64), np.zeros(len(sites), np.uint64)
        self.complete, self.placed = np.ones(len(sites), bool), np.zeros(len(sites), bool)
        self.lost = 0
        self.modules: tuple[tuple[str, int], ...] = ()
        """Path and bias of what the first process loaded."""

    def add(self, process: RecordingProcess) -> None:
        """Once it has ended, or is of no interest any more."""
        states = process.sites[: len(self._sites)]
        there = states["address"] != 0
        self.placed |= there
        self.hits[there] += states["hits"][there]
        self.beyond[there] += (states["hits"] - np.minimum(states["hits"], self._room))[there]
        self.complete &= ~there | ((states["disarmed"] == 0) & (states["is_trap"] == 1))
        found, without_room = process.records()
        self._rows.append(found[found["site"] < len(self._sites)])
        self.lost += without_room
        not_observed = process.not_observed()
        for name, count in not_observed.items():
            self._not_observed[name] += count
        if not_observed["traced"] or not_observed["children"]:
            self.complete[:] = False
        modules = list(process.modules())
        if self._first is None or process.start_ns < self._first:
            self._first, self.modules = process.start_ns, tuple((path, bias) for path, bias, _ in modules)
        self._reasons |= {Path(path).resolve(): reason for path, _, reason in modules if reason}

    def records(self) -> Rows:
        """In order of time."""
        records = np.concatenate(self._rows)
        return records[np.argsort(records["order"], kind="stable")]

    def why_not_placed(self, site: ObservedSite) -> str:
        if self._first is None:
            return "nothing was loaded into the program"
        reason = self._reasons.get(site.module.resolve())
        if reason is None:
            return "a debugger traces the program" if self._not_observed["traced"] else "the file was not loaded"
        return _NOT_PLACED.get(reason, "its plan was not understood")

    def unseen(self) -> tuple[str, ...]:
        """What was not observed, and why."""
        told = ((text, self._not_observed[name]) for name, text in _NOT_OBSERVED.items())
        return tuple(text.format(count) for text, count in told if count)


def _hits_forced(site: ObservedSite) -> int:
    """In each process."""
    values = () if site.forced is None else site.forced.values or ()
    return len(values) if len(values) > 1 else _ALL
