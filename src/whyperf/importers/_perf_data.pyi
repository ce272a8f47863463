"""What of reading perf.data is done for every sample."""

from os import PathLike

from typing_extensions import Buffer

def find_records(data: Buffer, start: int, end: int, /) -> tuple[bytes, bytes, int]:
    """Offsets (u64) of samples and of all other records, and where the last whole record ends."""

def fields(data: Buffer, samples: Buffer, rows: Buffer, offset: int, size: int, signed: bool, /) -> bytes:
    """One field (i64) of the raw data of the samples at `rows` (i64); 0 where a sample is too short for it."""

class Decoder:
    """Samples of the events whose layouts (`struct sample_layout`) are given; `ids` rise, `events` numbers layouts.

    Stacks are numbered from 1 on, over everything that one decoder decodes and unwinds.
    """

    def __init__(self, layouts: Buffer, ids: Buffer, events: Buffer, tables: str | PathLike[str], /) -> None: ...
    def decode(self, data: Buffer, offsets: Buffer, /) -> tuple[bytearray, int, int]:
        """An array of `struct perf_sample`; how many samples were of no known event, and how many were damaged."""

    def add_module(self, path: str | PathLike[str], /) -> int:
        """The number of an ELF file's unwind table; OSError where it has none. "[vdso]" is the running kernel's."""

    def add_space(self, mappings: list[tuple[int, int, int, int]], /) -> int:
        """An address space from (start, end, bias, module), sorted and disjoint: its number."""

    def unwind(self, data: Buffer, samples: Buffer, spaces: Buffer, /) -> None:
        """Fills the user stacks of samples (in place) with copied registers and memory; space -1: not that one."""

    def stacks(self) -> tuple[bytes, bytes]:
        """Addresses (u64) of all stacks, innermost first, and where each stack ends (i64)."""
