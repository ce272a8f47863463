"""Runs a target that observes itself; the recorder arms its sites again and reads who writes to memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from whyperf.collect import _session
from whyperf.collect.architecture import this_architecture
from whyperf.collect.observation.arming import Arming
from whyperf.collect.observation.sites import ObservationLimits, ObservedSite
from whyperf.collect.observation.tally import Tally
from whyperf.collect.observation.watching import Watching
from whyperf.collect.runs.unrecorded_run import UnrecordedRun
from whyperf.recording.sealed.manifest import Totals

_ROOM, _ROOM_WHERE_FORCED = 2048, 1024  # records of a site
MOST_ROOM = 32768

LIBRARY = Path(_session.__file__).parent / "libwhyperf_observation.so"


class ObservingRecorder(UnrecordedRun):
    """A `Recorder`."""

    def __init__(
        self,
        plans: Path,
        records: Path,
        sites: Sequence[ObservedSite],
        watching: Watching,
        limits: ObservationLimits,
        *,
        tally: Tally,
        transplants: dict[str, str],
    ) -> None:
        self._plans, self._records, self._sites, self._transplants = plans, records, len(sites), transplants
        self._room = _room(sites, limits.records)
        self._watching, self._limits = watching, limits
        self._arming = Arming(records, len(sites), this_architecture().name, limits.hits_again, tally)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, name="observe", daemon=True)

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        if not self._sites and not self._transplants:
            return dict(base)
        loaded = {**base, "LD_PRELOAD": " ".join(filter(None, (str(LIBRARY), base.get("LD_PRELOAD"))))}
        if self._sites:
            loaded |= {
                "WHYPERF_OBSERVE_PLANS": str(self._plans),
                "WHYPERF_OBSERVE_OUT": str(self._records),
                # As long for every number: what is on the stack must not move.
                "WHYPERF_OBSERVE_ROOM": f"{self._room:06}",
            }
        return loaded | self._transplants

    def start(self, totals: Callable[[], Totals | None]) -> None:  # noqa: ARG002 - asked for at the end only
        self._thread.start()

    def finish(self, notes: list[str], totals: Totals, *, time: int, **stop: Any) -> None:  # noqa: ARG002
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._watching.drain()
        self._arming.close()

    def _look(self) -> None:
        while not self._ended.wait(self._limits.again_s):
            self._watching.drain()
            self._arming.look()


def _room(sites: Sequence[ObservedSite], records: int) -> int:
    """Disk space for it is taken when the program starts, and costs time then."""
    return min(MOST_ROOM, sum(max(_ROOM, records) if site.forced is None else _ROOM_WHERE_FORCED for site in sites))
