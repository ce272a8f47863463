"""What the analysis of code must know about a machine: how its instructions read, and how they are used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from whyperf.debuginfo.machines.operations import Operation
from whyperf.recording.schemas.deep_tables import MemoryUse

Row = tuple[int, int, str, str]
"""Address, size, mnemonic without prefixes that change nothing here, operands of an instruction."""
Read = Callable[[int, int], bytes]
"""So many bytes of a file's memory from an address on; fewer where it ends."""


class FlowStep(Enum):
    """How the flow goes on."""

    NEXT = 0
    JUMP = 1
    BRANCH = 2
    CALL = 3
    STOP = 4


@dataclass(frozen=True)
class TableJump:
    """A jump through a table, as far as the code before it tells."""

    entry_bytes: int
    is_signed: bool
    shift: int
    """By which an entry is shifted to become a distance."""
    base: int | None
    """From where distances are counted; None: from the table. Entries of 8 bytes are addresses."""
    table: int | None
    entries: int | None

    def targets(self, table: int, content: bytes) -> Iterator[int]:
        """Where distances lead that this holds."""
        base = table if self.base is None else self.base
        for at in range(0, len(content) - self.entry_bytes + 1, self.entry_bytes):
            distance = int.from_bytes(content[at : at + self.entry_bytes], "little", signed=self.is_signed)
            yield base + (distance << self.shift)


@dataclass(frozen=True)
class DecodedCode:
    rows: Iterable[Row]
    table_jumps: Mapping[int, TableJump]
    """By address; complete for all rows that were read."""


class Decode(Protocol):
    def __call__(self, content: bytes, address: int, read: Read | None = None, /) -> DecodedCode:
        """`read`: what else the file holds, such as tables."""


@dataclass(frozen=True)
class Relocations:
    """Numbers of the dynamic linker's relocations."""

    absolute: int
    copy: int
    global_data: int
    jump_slot: int
    relative: int
    chosen_when_loaded: int


@dataclass(frozen=True)
class MachineWords:
    """How instructions become words that two builds of the same source share."""

    plain: Callable[[str, str], str | None]
    """Of mnemonic and operands: empty for what does not count, None where what is referred to decides."""
    condition: Callable[[str, str], str]
    """Of a conditional jump; the same for both ways of writing it."""
    bytes_referred_to: Callable[[str, str], int | None]
    """None where only the address is taken."""
    referring: Callable[[str, str, str], str]
    """Of mnemonic, operands and what they refer to."""


@dataclass(frozen=True)
class Registers:
    """By DWARF's numbers for general registers; vector registers are counted from `VECTOR` on."""

    frame: int
    stack: int
    arguments: tuple[tuple[int, ...], ...]
    """In which calls pass arguments: whole numbers and pointers, and floating-point numbers."""
    lost_in_calls: frozenset[int]
    results: tuple[int, ...]
    """In which calls return."""
    indirect_result: int | None
    """In which calls are told where a structure that they return goes, where that is no argument."""
    depth_at_entry: int
    """Bytes between the stack pointer and the CFA."""
    depth_of_frame: int | None
    """Bytes between the frame pointer and the CFA; None: as many as there are on the stack when it is set."""


@dataclass(frozen=True, eq=False)
class Machine:
    name: str
    elf_number: int
    """`e_machine` of its files."""
    rows: Callable[[bytes, int], Iterator[Row]]
    """Of code and its address, as each instruction alone reads; bytes that are no instructions are passed over."""
    decoded: Decode
    """The same with addresses that take several instructions put together."""
    step: Callable[[str], FlowStep]
    is_trap: Callable[[str], bool]
    """Whether a mnemonic that stops ends the program rather than return."""
    direct_target: Callable[[str], int | None]
    """Where operands of a jump or call lead."""
    call_before: Callable[[bytes, int], int | None]
    """Where the direct call leads with which code ends, of the code's last bytes and the address after them."""
    fixed_address: Callable[[str, int], int | None]
    """What operands refer to, if its address is fixed, of the instruction that ends there."""
    indexed: Callable[[str], tuple[int, int | None] | None]
    """By how much operands scale an index into a table, and where that is if it is fixed; only where that is how
    jumps through tables look."""
    memory_use: Callable[[str, str], MemoryUse]
    """Without telling whose memory; what the stack's own instructions do counts."""
    uses_stack: Callable[[str, str, bool], bool]
    """Whether memory is the stack's; the last argument: there is a frame pointer."""
    sets_frame: Callable[[str, str], bool]
    operation: Callable[[str, str, int], Operation]
    """Of mnemonic, operands and the address after them."""
    words: MachineWords
    registers: Registers
    relocations: Relocations
    watches_stop_behind: bool
    """Whether its processors tell of a write to a watched address by the next instruction's address."""
    stub_bytes: int
    """Within which a linkage stub finds its target's slot and jumps."""
