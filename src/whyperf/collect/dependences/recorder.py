"""Runs a target under the Valgrind tool: the tool writes the stream, the recorder how the run went."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from whyperf.collect.dependences.instruments import Instruments, write_instruments
from whyperf.collect.dependences.raw import MESSAGES, PLAN, STREAM, Asked, write_asked
from whyperf.collect.dependences.valgrind import Valgrind, output_name
from whyperf.collect.folder import RecordingFolder
from whyperf.collect.program import Program
from whyperf.collect.start import Start, write_start
from whyperf.errors import WhyperfError
from whyperf.recording.manifest import Totals
from whyperf.recording.rawlog import RawLogWriter

if TYPE_CHECKING:
    from whyperf.collect.blocked import BlockedSampler

_RESERVE_BYTES = 64 * 1024


class DependenceRecorder:
    """A `Recorder`."""

    def __init__(
        self, folder: RecordingFolder, start: Start, asked: Asked, valgrind: Valgrind, instruments: Instruments
    ) -> None:
        self._raw = folder.raw.absolute()
        self._valgrind = valgrind
        self._reserve = folder.raw / "reserve"
        self.disk_full = False
        try:
            write_start(folder.raw, start)
            write_instruments(folder.raw / PLAN, instruments)
            write_asked(folder.raw, asked)
            # Room to say how it ended, on a disk that the stream has filled.
            self._reserve.write_bytes(b"\0" * _RESERVE_BYTES)
            self._log = RawLogWriter(folder.raw)
        except OSError as error:
            raise WhyperfError(
                f"{folder.path} cannot be written: {error.strerror}.", f"df -h {folder.path.parent}"
            ) from None

    def started(self, program: Program) -> Program:
        options = (f"--plan={self._raw / PLAN}", f"--stream={output_name(self._raw / STREAM)}")
        return Program(self._valgrind.path, (*self._valgrind.command(self._raw / MESSAGES, *options), *program.command))

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        return self._valgrind.environment(base)

    def start(self, totals: Callable[[], Totals | None]) -> None:
        """The tool works by itself."""

    def append(self, kind: str, **fields: Any) -> None:
        self._write({"type": kind, **fields})

    def live_threads(self) -> list[tuple[int, int]]:
        return []

    def blocked_threads(self, rate_hz: float) -> BlockedSampler:  # noqa: ARG002
        raise WhyperfError("Under Valgrind times mean little: --deep and --clock wall exclude each other.", status=2)

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
