"""Which instructions last wrote what one instruction reads, and how often: counted in one run under the tool."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from whyperf.collect.dependences.instruments import Instruments, WatchedModule, WatchedReader
from whyperf.collect.dependences.raw import STREAM, WRITERS, Asked
from whyperf.collect.dependences.run import Tooling, run_under_tool
from whyperf.collect.dependences.stream import Stream, read_stream
from whyperf.collect.dependences.valgrind import find_valgrind
from whyperf.collect.setup.lifecycle import Lifecycle, RunOutcome
from whyperf.collect.target.program import Program
from whyperf.debuginfo.elf_files.elf import read_elf
from whyperf.errors import WhyperfError
from whyperf.recording.layout import RAW

_NOBODY = 0


@dataclass(frozen=True)
class Reader:
    """Of what an instruction loads, some bytes; of a call, what the called library loads for it."""

    path: Path
    address: int
    """As the ELF file counts."""
    offset: int
    size: int


@dataclass(frozen=True)
class LastWriters:
    loads: Mapping[tuple[Path, int], int]
    """How often the reader read what an instruction wrote last. A library's stores count as its caller's, and so does
    what system calls write."""
    unwritten: int
    """Loads of what nobody is known to have written."""


def last_writers(
    program: Program,
    reader: Reader,
    modules: Sequence[Path],
    *,
    lifecycle: Lifecycle,
    environment: Mapping[str, str],
    seconds: float,
) -> LastWriters:
    """`modules`: the program's own files, in the name of which all others act. WhyperfError where the program does not
    come to its end in time, or not at all."""
    elves = [(path, read_elf(path)) for path in modules]
    watched = tuple(WatchedModule(path.name, "" if elf is None else elf.build_id) for path, elf in elves)
    readers = (WatchedReader(list(modules).index(reader.path), reader.address, reader.offset, reader.size),)
    valgrind = find_valgrind(environment)
    tooling = Tooling(valgrind, Instruments(watched, (), readers=readers), Asked(WRITERS, valgrind.version))
    bounded = replace(lifecycle, for_s=min(seconds, lifecycle.for_s or seconds))
    with tempfile.TemporaryDirectory(prefix="whyperf-writers-") as name:
        folder = Path(name) / "run"
        outcome = run_under_tool(
            program, folder, tooling, lifecycle=bounded, environment=environment, capture_output=True
        )
        if outcome.stopped_by == "interrupt":
            raise KeyboardInterrupt
        _check(outcome, is_cut=outcome.stopped_by == "for" and bounded.for_s != lifecycle.for_s, seconds=seconds)
        return _counted(read_stream(folder / RAW / STREAM))


def _check(outcome: RunOutcome, *, is_cut: bool, seconds: float) -> None:
    if outcome.failure is not None:
        raise outcome.failure
    if is_cut:
        raise WhyperfError(
            f"Under Valgrind a run did not end within {seconds:.0f} s.", "whyperf origin --budget 30m ..."
        )
    if outcome.stopped_by == "signal":
        raise WhyperfError(f"Under Valgrind a run was ended by signal {outcome.signal}.", "valgrind COMMAND")


def _counted(stream: Stream) -> LastWriters:
    if stream.ending != "exit":
        raise WhyperfError("Under Valgrind a run was not recorded to its end.", "df -h /tmp")
    loads: dict[tuple[Path, int], int] = {}
    for writer in np.unique(stream.pairs["writer"]).tolist():
        count = int(stream.pairs["loads"][stream.pairs["writer"] == writer].sum())
        site = stream.sites[writer]
        key = Path(stream.modules[int(site["module"])].path), int(site["address"])
        if writer != _NOBODY:
            loads[key] = loads.get(key, 0) + count
    nobody = stream.pairs["writer"] == _NOBODY
    return LastWriters(loads, int(stream.pairs["loads"][nobody].sum()))
