"""Walking other processes' stacks from outside: nothing is stopped, signalled or changed."""

from os import PathLike
from typing import TypeAlias

_Path: TypeAlias = str | bytes | PathLike[str] | PathLike[bytes]

# The system call (-1: a page fault), the stack, the cut reason, and whether the thread ran since it was last looked at.
# Program counters come innermost first; callers' are return addresses.
_Wait: TypeAlias = tuple[int, list[int], int, bool]

# start, end, file offset of an executable mapping; bias; build-id in hexadecimal ("" if none); path; inode
_Module: TypeAlias = tuple[int, int, int, int, str, str, int]

class Reader:
    """Keeps unwind tables (in the folder `tables`, by build-id) and what each watched process has mapped.

    Methods raise ProcessLookupError when process or thread is gone, PermissionError where it may not be read. They
    release the interpreter's lock; one reader serves one thread at a time.
    """

    def __init__(self, tables: _Path) -> None: ...
    def refresh(self, pid: int) -> None:
        """Reads the mappings of a process anew. Happens by itself when a walk meets an address in no module."""

    def forget(self, pid: int) -> None:
        """Drops what is known of a process and its threads."""

    def modules(self, pid: int) -> list[_Module]: ...
    def blocked(self, pid: int, tid: int) -> _Wait | None:
        """None if the thread runs."""

    def look(self, threads: list[tuple[int, int]], moment: int, wake: int) -> tuple[int, list[_Wait | int | None]]:
        """Sleeps until `moment` (CLOCK_MONOTONIC, nanoseconds) and looks at all threads (pid, tid) at once.

        When it looked, and for each thread what `blocked` returns, or errno where that would raise an error. Nothing
        for any of them if the descriptor `wake` has something to read before that.
        """

    def unwind(self, pid: int, registers: bytes, stack: bytes, stack_address: int) -> tuple[list[int], int]:
        """The stack and the cut reason from 17 registers in DWARF's order and a dump of stack memory.

        Words outside the dump count as unreadable.
        """

def compile_file(path: _Path) -> bytes:
    """An ELF file's unwind rows: an array of `struct unwind_row`, sorted by address."""
