"""The raw log of a run that something else than the sampler records: how it began, went and ended."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from whyperf.collect.setup.folder import RecordingFolder
from whyperf.collect.setup.start import Start, write_start
from whyperf.errors import WhyperfError
from whyperf.recording.raw_log.log_writer import RawLogWriter
from whyperf.recording.sealed.manifest import Totals

_RESERVE_BYTES = 64 * 1024


class RunLog:
    """Once the disk is full nothing more is written, but for the end."""

    def __init__(self, folder: RecordingFolder, start: Start) -> None:
        self._reserve = folder.raw / "reserve"
        self.disk_full = False
        try:
            write_start(folder.raw, start)
            # Room to say how it ended, on a disk that the recording itself has filled.
            self._reserve.write_bytes(b"\0" * _RESERVE_BYTES)
            self._log = RawLogWriter(folder.raw)
        except OSError as error:
            raise cannot_be_written(folder, error) from None

    def append(self, kind: str, **fields: Any) -> None:
        self._write({"type": kind, **fields})

    def finish(self, notes: list[str], totals: Totals, *, time: int, **stop: Any) -> None:
        self._reserve.unlink(missing_ok=True)
        self._write({"type": "totals", "time": time, "at": "stop", "totals": asdict(totals)})
        self._write({"type": "losses", "notes": notes, "counters": {}})
        self._write({"type": "stop", "time": time, **stop})
        with contextlib.suppress(OSError):
            self._log.sync()
        self._log.close()

    def _write(self, value: Mapping[str, Any]) -> None:
        try:
            self._log.append_json(value)
        except OSError:
            self.disk_full = True


def cannot_be_written(folder: RecordingFolder, error: OSError) -> WhyperfError:
    return WhyperfError(f"{folder.path} cannot be written: {error.strerror}.", f"df -h {folder.path.parent}")
