"""Kernel events by BPF programs: loading them, reading what they write, telling them what processes have mapped."""

from collections.abc import Iterable
from os import PathLike
from typing import TypeAlias

_Path: TypeAlias = str | bytes | PathLike[str] | PathLike[bytes]

# As in `_stacks`: start, end, file offset of an executable mapping; bias; build-id in hexadecimal; path; inode
_Module: TypeAlias = tuple[int, int, int, int, str, str, int]

# What is left out at each level of shedding, besides what those before leave out; the first is "".
SHED_LEVELS: tuple[str, ...]

class Tracer:
    """Records from the moment it is made until it is closed; pinned, until it is unpinned.

    Methods may be called from several threads; one waits for the other. They raise ValueError once it is closed.
    """

    def __new__(
        cls,
        ring_bytes: int,
        sample_hz: float,
        scope: str,
        kinds: Iterable[int] | None,
        tables: _Path,
        syscall_enter: bool = False,
        syscall_stacks: bool = True,
        kernel_stacks: bool = False,
        stack_bytes: int = 0,
        shed_budget: float = 0.05,
        met_limit: int = 256,
        paused: bool = False,
        shed_floor: int = 0,
        without: Iterable[str] = (),
        shed_burst: float = 0.0,
        read_cost: float = 0.0,
    ) -> Tracer:
        """Loads and attaches whatever this kernel allows; `absent` then tells the rest.

        `ring_bytes` and `stack_bytes` (by default a fourth of it) are for all CPUs together. `scope` is "all", "tree"
        or "process"; with the latter two nobody is recorded before `follow`. `kinds` are of `EventKind`, None is all
        but entries of system calls. `tables` is a folder for unwind tables. `shed_budget` is the share of a CPU's time
        above which the governor sheds, 0 for never, `shed_burst` the seconds that may be spent beyond it before it
        does, `read_cost` those that reading a record takes, which count too; `shed_floor` is a level that is shed from
        the start. `without` names tracepoints, and functions for programs, to be taken for missing, as they are on
        older kernels.

        PermissionError without the right to do so; OSError, with a text, where BPF or BTF is missing.
        """

    @classmethod
    def pinned(cls, folder: _Path, tables: _Path) -> Tracer:
        """A tracer that another process pinned. Closing it does not end it: `unpin` does."""

    @property
    def absent(self) -> dict[str, str]:
        """What this kernel does not give, by name of `EventKind` or in words, and why."""

    def drain(self) -> list[tuple[int, bytes]]:
        """By CPU all `struct trace_record` since the last time, in order of time, also across calls."""

    def new_stacks(self) -> bytes:
        """Every `struct traced_stack` that has not been returned yet; ask after draining."""

    def snapshot(self, since: int) -> tuple[list[tuple[int, bytes]], bytes]:
        """Records from that time (CLOCK_MONOTONIC, ns) on and all stacks still kept, without draining either."""

    def oldest(self) -> list[int]:
        """When each CPU's oldest record that is still kept was made; without CPUs that have none."""

    def counters(self) -> dict[str, int]:
        """Events, losses, and stacks by why they were cut; see `native/tracer/counters.c`."""

    def sheds(self) -> list[tuple[int, int, int, int]]:
        """Changes of the level of shedding: time, CPU, level before, level after; the last thousand."""

    def serve(self, timeout_ms: int) -> list[tuple[str, int, int, int, list[_Module] | None]]:
        """Waits for what processes do and gives the programs the unwind tables that they need from then on.

        Each: "exec", "map", "unknown" (a stack led into no known module), "fork", "exit" or "met" (recorded from now
        on because it woke a followed thread or was woken by one); time; process; a fork's child; the process' modules
        if they were read. Of several about one process the last has its modules.
        """

    def learn(self, pid: int) -> list[_Module]:
        """Does so for a process that nothing was heard of yet. ProcessLookupError when it is gone."""

    def follow(self, pid: int, children_only: bool = False) -> None:
        """Records this process, with scope "tree" also those that it starts from now on.

        With `children_only` not the process itself, but what it starts, from its very fork on, until `unfollow`.
        """

    def unfollow(self, pid: int) -> None: ...
    def watch(self, tid: int, address: int, length: int = 4, reads: bool = False) -> None:
        """Records every write (and read) of a variable by a thread, with a hardware breakpoint; a CPU has four."""

    def probe(self, pid: int, path: _Path, offset: int, cookie: int) -> int:
        """Records tasks at a place in a file, in one process or (-1) in all; `struct trace_task_probe` says how.

        Returns a descriptor: closed, the probe is gone. What comes is given by `tasks`, after `serve`.
        """

    def tasks(self) -> bytes:
        """`struct trace_record` of tasks put and begun, since the last time."""

    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def pin(self, folder: _Path) -> None:
        """Lets it live on in a folder of bpffs, which is mounted at /sys/fs/bpf if need be, until `unpin`."""

    def close(self) -> None: ...

def unpin(folder: _Path) -> None:
    """Ends what was pinned, as soon as nobody has it open."""

def unknown_processes(records: bytes, known: bytearray) -> list[int]:
    """Processes that `struct trace_record`s are about and whose flag in `known` is not set; it then is.

    One that becomes another program is named again; the flag of one that ends is cleared.
    """
