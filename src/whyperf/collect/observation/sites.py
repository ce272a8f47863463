"""What is asked of an observed run, and what came of it.

Registers have DWARF's numbers (aarch64: 0 to 30 are x0 to x30, 31 is sp; x86-64: rax rdx rcx rbx rsi rdi rbp rsp r8 to
r15). Vector registers follow from 32 on.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whyperf.errors import WhyperfError
from whyperf.recording.sealed.manifest import Totals

Rows = npt.NDArray[np.void]

REGISTERS = 32
MOST_IN_ORDER = 4096
"""Values that one place is forced to, one after the other."""

RECORD = np.dtype(
    [
        ("site", "<u4"),
        ("thread", "<u4"),
        ("order", "<u8"),  # CLOCK_MONOTONIC in ns, as in `WRITE`
        ("hit", "<u8"),  # of this site in its process, from 0
        ("registers", "<u8", REGISTERS),
        ("flags", "<u8"),
        ("memory_address", "<u8"),
        ("memory", "<u8"),
        ("after", "<u8"),
        ("memory_after", "<u8"),
        ("caller", "<u8"),
        ("vector", "<u8"),
    ]
)


def file_named(record: Rows) -> str:
    """What `/proc/PID/fd` called the file, by the record of a site with `file`. Beyond 255 bytes it is cut, and ends
    with "…"; empty: unknown."""
    text = np.ascontiguousarray(record["registers"]).tobytes().partition(b"\0")[0]
    return text.decode(errors="replace")


WRITE = np.dtype(
    [
        ("watch", "<u4"),
        ("thread", "<u4"),
        ("order", "<u8"),
        ("address", "<u8"),
        ("registers", "<u8", REGISTERS),
    ]
)
"""A write to a watched address. On aarch64 `address` is the writing instruction's, and registers are from before it; on
x86-64 it is the next one's, and registers are from after the write."""


@dataclass(frozen=True)
class ObservedMemory:
    """What an instruction reads or writes."""

    base: int | None  # None: `displacement` is an address of the ELF file
    index: int | None
    scale: int
    displacement: int
    size: int  # bytes, at most 8 are recorded


@dataclass(frozen=True)
class OpenFile:
    """A file that a call is given."""

    register: int
    is_stream: bool = False  # the register holds a `FILE *`, else a descriptor


@dataclass(frozen=True)
class Forced:
    register: int
    size: int  # bytes: 1, 2, 4, 8; on both machines 4 clears the upper half
    # None: its own value is written back. One: it is forced every time. Several: the n-th time the n-th, and nothing
    # from then on, which `Observed.beyond` counts.
    values: tuple[int, ...] | None
    by_jump: bool = False  # where it can be and there is one value: far cheaper, but nothing is recorded


@dataclass(frozen=True)
class Spread:
    """A register's own value is spread evenly, by a jump: equal ones stay equal. Nothing is recorded."""

    register: int  # a general or a vector register
    size: int  # bytes: 4 or 8
    bits: int | None  # that are left of it; None: it is written back as it is


@dataclass(frozen=True)
class Decided:
    """A conditional jump goes one way, whatever its condition says. Nothing is recorded."""

    taken: bool | None  # it is always or never taken; None: it is written again as it is


@dataclass(frozen=True)
class ObservedSite:
    """An instruction at which something is recorded or forced."""

    module: Path  # the ELF file that holds it
    address: int  # of the instruction, as the ELF file counts
    after: bool = False  # its result is recorded too (never for calls, jumps, returns); forcing happens after it then
    register: int | None = None  # whose value afterwards is recorded
    memory: ObservedMemory | None = None
    is_entry: bool = False  # first instruction of a function: the caller's return address is recorded
    forced: Forced | None = None
    spread: Spread | None = None  # if nothing else is asked of the instruction
    decided: Decided | None = None  # likewise
    vector: int | None = None  # vector register whose value before the instruction is recorded: its lowest 8 bytes
    file: OpenFile | None = None  # its path is recorded in place of registers: `file_named`


@dataclass(frozen=True)
class Watch:
    """Who writes there."""

    address: int  # in the running program
    size: int  # 1, 2, 4, 8


@dataclass(frozen=True)
class ObservationLimits:
    """Of each site: how much is recorded, and how often it stops the program."""

    records: int = 256  # the first so many hits, then so many of every second, fourth, ...
    traps: int = 2000  # before the site is left alone
    hits_again: int = 8  # for which it is armed again
    again_s: float = 0.002  # so often; of many sites, a few at a time
    writes: int = 20_000  # of each watch
    seconds: float | None = None  # of the run, which is stopped then


@dataclass(frozen=True, eq=False)
class Observed:
    status: int  # as the shell counts; a signal's is 128 + n
    totals: Totals  # of the window; children included
    output: str  # digest of what it and its driver printed, without what the driver reports
    hits: tuple[int, ...]  # of each site; a lower bound where not `complete`
    complete: tuple[bool, ...]
    placed: tuple[bool, ...]  # the site was put into a running process
    records: Rows  # `RECORD`, in order of time
    writes: Rows  # `WRITE`, in order of time
    modules: tuple[tuple[str, int], ...]  # path and bias of what the first process loaded
    lost: int  # records and writes for which there was no room
    output_shape: str = ""  # digest of it with every number taken out
    stopped_by: str = "exit"  # as `Outcome` has it; "for": the time was up
    signal: int | None = None  # by which it ended, be it ours
    work: float | None = None
    failure: WhyperfError | None = None  # why it did not get its whole load
    refused: tuple[str, ...] = ()  # of each site, why it was not placed; empty: it was
    notes: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()  # sentences: which processes were not observed, and why
    beyond: tuple[int, ...] = ()  # of each site, hits for which it had no value left to force; a lower bound too
    open_elsewhere: str = ""  # a file that it can write to and a process outside of the run has open, and which
    not_transplanted: str = ""  # why functions of another build did not run; empty: they did, or none were asked for

    def of(self, site: int) -> Rows:
        """Its records."""
        found: Rows = self.records[self.records["site"] == site]
        return found
