"""The recorder's side of the rings file (native/session)."""

from os import PathLike
from typing import TypedDict

from typing_extensions import Buffer

class Counters(TypedDict):
    samples: int
    weight: int
    dropped: int
    records_lost: int
    busy: int
    handler_ns: int
    handler_ns_max: int
    handler_ns_median: int
    cut: tuple[int, ...]  # by enum whyperf_cut
    overruns: int
    values: int  # samples
    values_others: int  # of those, with what lies behind pointers
    values_unreadable: int  # pieces of memory
    values_forbidden: int  # pieces of memory
    values_dropped: int  # samples
    threads_without_slot: int
    threads_limited: int  # sampled only until the program limited queued signals
    processes_started: int
    allocations_lost: int  # sampled, and not written
    frees_lost: int  # of sampled allocations
    modules_not_patched: int  # whose allocators were to be
    threads_without_faults: int
    rings_damaged: int
    bytes_damaged: int

class Columns(TypedDict):
    """The bytes of arrays, a sample each: int64, int32, int32, int64, uint8, uint8, int16."""

    time: bytes
    owner: bytes
    stack: bytes
    weight: bytes
    cut: bytes
    clock: bytes
    wait: bytes
    stack_ends: bytes  # int64, a stack each
    pcs: bytes  # uint64
    values_sample: bytes  # int32, a packed entry each
    values_ends: bytes  # int64
    values: bytes
    memory_sample: bytes  # int32, an event of memory each
    memory: bytes  # four uint64 each: address, bytes, interval, kind

class UnpackedValues(TypedDict):
    """The bytes of arrays, a value each: int32 but for depth (int16) and value (int64)."""

    damaged: int  # samples whose values made no sense
    table: bytes
    variable: bytes
    sample: bytes
    place: bytes
    depth: bytes
    value: bytes

def create(
    path: str | PathLike[str],
    rate_hz: int,
    use_perf_events: bool,
    tables: str | PathLike[str],
    library: str | PathLike[str],
    values_depth: int = 0,
    memory_interval: int = 0,
    fault_interval: int = 0,
    /,
) -> None:
    """Make a rings file. OSError when it exists, or when the disk is full."""

def ticks() -> tuple[int, int]:
    """The processor's counter, by which the target times calls, and CLOCK_MONOTONIC in ns at the same moment."""

def unpack_values(
    samples: Buffer,
    ends: Buffer,
    packed: Buffer,
    sample_stack: Buffer,
    stack_ends: Buffer,
    stack_places: Buffer,
    place_table: Buffer,
    place_address: Buffer,
    tables: list[Buffer],
    /,
) -> UnpackedValues:
    """Rows of values: packed entries (int32 sample or -1, int64 ends, bytes), stacks (int64 row of each sample or -1,
    ends and places) and places (int32 table or -1, uint64 ELF address). ValueError when they do not fit each other.
    """

def intern_contexts(frames: Buffer, ends: Buffer, /) -> tuple[bytes, bytes, bytes]:
    """The calling-context tree of stacks given as int32 frames, innermost first, and int64 ends.

    Returns the int32 arrays of the nodes' parents, the nodes' frames and each stack's innermost node. Negative frames
    are passed over; a stack without any has node -1.
    """

def number_distinct(keys: Buffer, /) -> tuple[bytes, bytes]:
    """int32 numbers of uint64 keys, equal for equal ones and in the order of first appearance, and int64 rows of those
    first appearances.
    """

def values_at(
    time: Buffer,
    key: Buffer,
    change_time: Buffer,
    change_key: Buffer,
    change_value: Buffer,
    before: Buffer,
    /,
) -> bytes:
    """int32 values of keys (int32; negative ones have the value -1) at moments (int64), where each key has a value
    `before` (int32, by key) and others from given moments on. Moments and changes rise.

    ValueError when columns differ in length or a key has no value.
    """

class Drainer:
    """The recorder's end of a rings file. With `copy`, nothing it does changes the file.

    ValueError when the file is not a rings file of this version, or was cut short.
    """

    def __new__(cls, path: str | PathLike[str], *, copy: bool = False) -> Drainer: ...
    @property
    def library(self) -> str: ...
    @property
    def tables(self) -> str: ...
    @property
    def rate_hz(self) -> int: ...
    def drain(self, fd: int, /) -> int:
        """Append what threads have produced to a raw log; how many records that were.

        After an OSError (disk full) the log is as it was and everything is still in the rings.
        """

    def new_log_file(self) -> None:
        """The next drain goes to a new file, which must be readable alone."""

    def live(self) -> list[tuple[int, int, int, int]]:
        """(pid, tid, sequence, start) of every thread that has a ring."""

    def retire_dead(self) -> int:
        """Free the drained rings of threads that are gone; how many those were. Costs a system call a thread."""

    def counters(self) -> Counters:
        """What all threads so far have counted."""

    def modules(self) -> list[tuple[str, bytes]]:
        """(path, build-id) of everything mapped in living processes, with repetitions."""

    def announce_tables(self) -> None:
        """Tell watched processes that there are new variables tables."""

    def stop(self) -> None:
        """Tell every watched process to write nothing more."""

    def close(self) -> None:
        """Unmap the rings; any later use is a ValueError."""

class Decoder:
    """Turns the raw log's ring records into columns."""

    def __new__(cls) -> Decoder: ...
    @property
    def damaged_bytes(self) -> int: ...
    @property
    def stacks_missing(self) -> int: ...
    def new_file(self) -> None:
        """Stack ids begin anew."""

    def add(self, owner: int, records: Buffer, /) -> list[tuple[int, int, int, bytes]]:
        """Decode one chunk's records; returns (kind, detail, time, payload) of those neither stack nor sample."""

    def columns(self) -> Columns:
        """The samples and stacks decoded so far."""
