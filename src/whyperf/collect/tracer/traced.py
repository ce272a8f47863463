"""What a tracer gathered, whichever it was: the middle between those who record kernel events and sealing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from whyperf.recording.safe_files.dataclass_json import Address, Moment, Number
from whyperf.recording.sealed.manifest import TraceSummary

# `struct trace_record` of native/tracer/record.h.
RECORD = np.dtype(
    [
        ("time", "<u8"),
        ("tid", "<u4"),
        ("pid", "<u4"),
        ("kind", "u1"),
        ("context", "u1"),
        ("cpu", "<u2"),
        ("detail", "<i4"),
        ("stack", "<u4"),
        ("kernel_stack", "<u4"),
        ("other", "<u8"),
        ("object", "<u8"),
        ("peer", "<u8"),
        ("argument", "<u8", (3,)),
        ("result", "<i8"),
        ("extra", "<u8"),
    ]
)
assert RECORD.itemsize == 96

# `Sampling.source` of recordings whose samples are the tracer's.
TRACED_SAMPLES = "trace"
# The command of a recording of the whole machine.
EVERYBODY = ("[all processes]",)

# The upper half of the address space: the kernel's, the same in all processes.
KERNEL_FIRST = np.uint64(1 << 63)

Records = npt.NDArray[np.void]


@dataclass(frozen=True)
class TracedProcess:
    """What /proc said of a process at a moment; from then on, and back to the fork or exec before it."""

    time: Moment
    pid: Number
    parent: Number
    name: str
    executable: str = ""  # empty: a thread of the kernel, or gone before it could be asked
    command: tuple[str, ...] = ()
    cgroup: str = ""


@dataclass(frozen=True)
class TracedThread:
    """A thread that lived when tracing began, or whose name was read from /proc."""

    pid: Number
    tid: Number
    name: str


@dataclass(frozen=True)
class TracedMapping:
    """An executable mapping of a file."""

    start: Address
    end: Address
    bias: Address  # address minus ELF virtual address
    path: str
    build_id: str = ""
    inode: Address = 0


@dataclass(frozen=True)
class TracedMappings:
    """What a process had mapped at a moment; what was read earlier and is not among it may still be there."""

    time: Moment
    pid: Number
    rows: tuple[TracedMapping, ...]


@dataclass(frozen=True)
class KernelSymbol:
    name: str
    module: str = ""  # empty: built in


@dataclass(frozen=True)
class TracedStacks:
    """Stack `number[i]` has the addresses `pcs[ends[i - 1]:ends[i]]`, innermost first; of callers return addresses."""

    number: npt.NDArray[np.uint32]
    ends: npt.NDArray[np.int64]
    pcs: npt.NDArray[np.uint64]
    flags: npt.NDArray[np.uint16]  # as `struct traced_stack` has them


@dataclass(frozen=True)
class Traced:
    """Kernel events with all that is needed to understand them."""

    records: Records  # of `RECORD`; sealing puts them in the order of their times
    stacks: TracedStacks
    trace: TraceSummary  # for the manifest; sealing adds what it finds missing
    processes: tuple[TracedProcess, ...] = ()
    threads: tuple[TracedThread, ...] = ()
    mappings: tuple[TracedMappings, ...] = ()
    kernel_symbols: Mapping[int, KernelSymbol] = field(default_factory=dict)  # by address, as in stacks
    followed: tuple[int, ...] = ()  # whose descendants were traced; others were only met. Empty: everybody was
    kernel_base: int = 0  # address of _text, which differs from boot to boot; 0: unknown
    kernel_build_id: str = ""
    damaged_bytes: int = 0
