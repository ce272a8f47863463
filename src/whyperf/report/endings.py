"""How recordings ended, in words."""

from __future__ import annotations

import signal

from whyperf.recording.sealed.manifest import Manifest

_ENDINGS = {
    "exit": "the program ended",
    "signal": "the program was killed",
    "for": "the time given with --for was over",
    "driver": "the driver ended",
    "interrupt": "interrupted",
    "recorder-killed": "the recorder was killed",
    "attached-end": "the watched process ended, or watching did",
    "disk-full": "the disk was full",
    "dump": "dumped from the flight recorder, which went on",
    "imported": "not known: imported from another tool's recording",
}


def ending(manifest: Manifest) -> str:
    how = _ENDINGS.get(manifest.stopped_by, manifest.stopped_by)
    if manifest.exit_signal is not None:
        return f"{how} ({signal_name(manifest.exit_signal)})"
    return how if manifest.exit_status is None else f"{how} (status {manifest.exit_status})"


def signal_name(number: int) -> str:
    """SIGTERM, or the number of one that has no name."""
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
