"""Whether perf recorded a program from its start to its end: then the file is a run of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from whyperf.importers.perf_data.bookkeeping import Exited, Happening, Renamed

_NAME_CHARACTERS = 15  # that the kernel keeps of a thread's name


@dataclass(frozen=True)
class WholeProgram:
    """The process that perf started."""

    name: str  # of the thread, as the kernel has it
    begin: int
    end: int


def whole_program(happenings: Sequence[Happening], scope: str) -> WholeProgram | None:
    """None where others were watched too, or its end was not seen."""
    started = next((one for one in happenings if isinstance(one, Renamed) and one.by_exec and one.time), None)
    if scope != "tree" or started is None:
        return None
    pid = started.pid
    ended = [one.time for one in happenings if isinstance(one, Exited) and one.pid == one.tid == pid]
    return WholeProgram(started.name, started.time, ended[-1]) if ended else None


def command_of(words: Sequence[str], program: WholeProgram | None) -> tuple[str, ...]:
    """The recorded command, without perf's own words before it."""
    if "--" in words:
        return tuple(words[words.index("--") + 1 :])
    if program is not None:
        for at, word in enumerate(words[1:], 1):
            if PurePosixPath(word).name[:_NAME_CHARACTERS] == program.name:
                return tuple(words[at:])
    return tuple(words)
