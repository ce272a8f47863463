"""Runs a target under the Valgrind tool: the tool writes the stream, the recorder how the run went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from whyperf.collect.dependences.instruments import Instruments, write_instruments
from whyperf.collect.dependences.raw import MESSAGES, PLAN, STREAM, Asked, write_asked
from whyperf.collect.dependences.valgrind import Valgrind, output_name
from whyperf.collect.runs.unsampled_run import UnsampledRun
from whyperf.collect.setup.folder import RecordingFolder
from whyperf.collect.setup.run_log import cannot_be_written
from whyperf.collect.setup.start import Start
from whyperf.collect.target.program import Program


class DependenceRecorder(UnsampledRun):
    """A `Recorder`."""

    def __init__(
        self, folder: RecordingFolder, start: Start, asked: Asked, valgrind: Valgrind, instruments: Instruments
    ) -> None:
        super().__init__(folder, start, "Under Valgrind times mean little: --deep and --clock wall exclude each other.")
        self._valgrind = valgrind
        try:
            write_instruments(folder.raw / PLAN, instruments)
            write_asked(folder.raw, asked)
        except OSError as error:
            raise cannot_be_written(folder, error) from None

    def started(self, program: Program) -> Program:
        options = (f"--plan={self._raw / PLAN}", f"--stream={output_name(self._raw / STREAM)}")
        command = (*self._valgrind.command(self._raw / MESSAGES, *options), *program.command)
        return replace(program, path=self._valgrind.path, command=command)

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        return self._valgrind.environment(base)
