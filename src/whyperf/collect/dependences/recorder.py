"""Runs a target under the Valgrind tool: the tool writes the stream, the recorder how the run went."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from whyperf.collect.dependences.instruments import Instruments, write_instruments
from whyperf.collect.dependences.raw import MESSAGES, PLAN, STREAM, Asked, write_asked
from whyperf.collect.dependences.valgrind import Valgrind, output_name
from whyperf.collect.folder import RecordingFolder
from whyperf.collect.program import Program
from whyperf.collect.run_log import RunLog, cannot_be_written
from whyperf.collect.start import Start
from whyperf.errors import WhyperfError
from whyperf.recording.manifest import Totals

if TYPE_CHECKING:
    from whyperf.collect.blocked import BlockedSampler


class DependenceRecorder:
    """A `Recorder`."""

    def __init__(
        self, folder: RecordingFolder, start: Start, asked: Asked, valgrind: Valgrind, instruments: Instruments
    ) -> None:
        self._raw = folder.raw.absolute()
        self._valgrind = valgrind
        self._log = RunLog(folder, start)
        try:
            write_instruments(folder.raw / PLAN, instruments)
            write_asked(folder.raw, asked)
        except OSError as error:
            raise cannot_be_written(folder, error) from None

    @property
    def disk_full(self) -> bool:
        return self._log.disk_full

    def started(self, program: Program) -> Program:
        options = (f"--plan={self._raw / PLAN}", f"--stream={output_name(self._raw / STREAM)}")
        return Program(self._valgrind.path, (*self._valgrind.command(self._raw / MESSAGES, *options), *program.command))

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        return self._valgrind.environment(base)

    def start(self, totals: Callable[[], Totals | None]) -> None:
        """The tool works by itself."""

    def append(self, kind: str, **fields: Any) -> None:
        self._log.append(kind, **fields)

    def live_threads(self) -> list[tuple[int, int]]:
        return []

    def blocked_threads(self, rate_hz: float) -> BlockedSampler:  # noqa: ARG002
        raise WhyperfError("Under Valgrind times mean little: --deep and --clock wall exclude each other.", status=2)

    def finish(self, notes: list[str], totals: Totals, *, time: int, **stop: Any) -> None:
        self._log.finish(notes, totals, time=time, **stop)
