"""A binary's memory as it will be once loaded: its bytes, its pointers to itself, and whose functions it imports."""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from whyperf.debuginfo.elf_files.elf import SYMBOL, ElfFile, Segment, symbols_in
from whyperf.debuginfo.machines import machine_of
from whyperf.debuginfo.machines.machine import Relocations

_DT_PLTRELSZ, _DT_STRTAB, _DT_SYMTAB, _DT_RELA, _DT_RELASZ, _DT_STRSZ, _DT_JMPREL = 2, 5, 6, 7, 8, 10, 23
_DT_RELR = 36
_RELOCATION = np.dtype([("offset", "<u8"), ("kind", "<u4"), ("symbol", "<u4"), ("addend", "<i8")])
_SYMBOLS_MAX = 1 << 20
_NO_RELOCATIONS = Relocations(-1, -1, -1, -1, -1, -1)
_FUNCTION_TYPES = (2, 10)  # those that are chosen when loaded (ifunc) too


@dataclass(frozen=True)
class RelocationSlot:
    kind: int
    """As the machine's relocations are numbered."""
    symbol: str
    """Empty: none."""
    addend: int


class Image:
    """Reads what the file holds; where it holds nothing, nothing is read."""

    def __init__(self, elf: ElfFile) -> None:
        self._elf = elf
        machine = machine_of(elf)
        self._kinds = machine.relocations if machine is not None else _NO_RELOCATIONS
        try:
            with elf.path.open("rb") as file:
                self._file: mmap.mmap | bytes = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        except (OSError, ValueError):
            self._file = b""

    def read(self, address: int, size: int) -> bytes:
        """At most `size` bytes: fewer where the segment ends."""
        segment = self._segment(address)
        if segment is None:
            return b""
        start = address - segment.address + segment.file_offset
        end = segment.file_offset + segment.file_size
        return bytes(self._file[start : min(start + max(size, 0), end)])

    def holds_code(self, address: int) -> bool:
        segment = self._segment(address)
        return segment is not None and segment.executable

    def is_constant(self, address: int) -> bool:
        segment = self._segment(address)
        return segment is not None and not segment.writable

    def pointer(self, address: int) -> int:
        """What the dynamic linker leaves in the 8 bytes there; 0 when it is not known."""
        if address in self._relative:
            return self._relative[address]
        content = self.read(address, 8)
        return int.from_bytes(content, "little") if len(content) == 8 else 0

    @cached_property
    def imports(self) -> dict[int, str]:
        """Addresses of the slots that will point to other files' functions, with those functions' symbols."""
        wanted = np.concatenate([self._relocations, self._linkage])
        wanted = wanted[np.isin(wanted["kind"], (self._kinds.global_data, self._kinds.jump_slot))]
        symbols = self._symbols(int(wanted["symbol"].max(initial=0)) + 1)
        wanted = wanted[wanted["symbol"] < len(symbols)]
        pairs = zip(wanted["offset"].tolist(), symbols["name"][wanted["symbol"]].tolist(), strict=True)
        return {slot: name for slot, at in pairs if (name := self._text(at))}

    @cached_property
    def exports(self) -> dict[str, int]:
        """Addresses of the functions that other files may call, by symbol: one function may have several."""
        table, names = self._dynamic.get(_DT_SYMTAB, 0), self._dynamic.get(_DT_STRTAB, 0)
        # Linkers put the strings right behind the symbols; the format itself does not tell how many there are.
        symbols = self._symbols((names - table) // SYMBOL.itemsize)
        functions = symbols[np.isin(symbols["info"] & 15, _FUNCTION_TYPES) & (symbols["section"] != 0)]
        pairs = zip(functions["name"].tolist(), functions["value"].tolist(), strict=True)
        return {self._text(at): address for at, address in pairs}

    @cached_property
    def relocated(self) -> npt.NDArray[np.uint64]:
        """Addresses in this file that the dynamic linker writes somewhere, or that choose a function when loaded."""
        kinds = self._kinds
        wanted = (kinds.relative, kinds.chosen_when_loaded, kinds.absolute)
        found = self._relocations[np.isin(self._relocations["kind"], wanted)]
        linked = self._linkage[self._linkage["kind"] == kinds.chosen_when_loaded]
        values = np.concatenate([found["addend"], linked["addend"]])
        symbols = found[found["kind"] == kinds.absolute]
        named = self._symbols(int(symbols["symbol"].max(initial=0)) + 1)
        symbols = symbols[symbols["symbol"] < len(named)]
        own = named["value"][symbols["symbol"]].astype(np.int64) + symbols["addend"]
        return np.unique(np.concatenate([values, own])).astype(np.uint64)

    @property
    def has_packed_relocations(self) -> bool:
        """Of which nothing is known here."""
        return _DT_RELR in self._dynamic

    @cached_property
    def slots(self) -> dict[int, RelocationSlot]:
        """What the dynamic linker fills in, by address."""
        every = np.concatenate([self._relocations, self._linkage])
        symbols = self._symbols(int(every["symbol"].max(initial=0)) + 1)
        found = {}
        for offset, kind, symbol, addend in every.tolist():
            name = self._text(int(symbols["name"][symbol])) if 0 < symbol < len(symbols) else ""
            found[offset] = RelocationSlot(kind, name, addend)
        return found

    def _segment(self, address: int) -> Segment | None:
        return next((s for s in self._elf.segments if s.address <= address < s.address + s.file_size), None)

    @cached_property
    def _dynamic(self) -> dict[int, int]:
        content = self.read(*self._elf.dynamic)
        return dict(struct.iter_unpack("<QQ", content[: len(content) // 16 * 16]))

    @cached_property
    def _relocations(self) -> npt.NDArray[np.void]:
        return self._table(_DT_RELA, _DT_RELASZ)

    @cached_property
    def _linkage(self) -> npt.NDArray[np.void]:
        return self._table(_DT_JMPREL, _DT_PLTRELSZ)

    def _table(self, address: int, size: int) -> npt.NDArray[np.void]:
        content = self.read(self._dynamic.get(address, 0), self._dynamic.get(size, 0))
        return np.frombuffer(content[: len(content) // _RELOCATION.itemsize * _RELOCATION.itemsize], _RELOCATION)

    @cached_property
    def _relative(self) -> dict[int, int]:
        """Addresses of the slots that will point into this file, with where to."""
        found = self._relocations[self._relocations["kind"] == self._kinds.relative]
        return dict(zip(found["offset"].tolist(), found["addend"].tolist(), strict=True))

    def _symbols(self, count: int) -> npt.NDArray[np.void]:
        """The first so many symbols: fewer where the file holds no more."""
        content = self.read(self._dynamic.get(_DT_SYMTAB, 0), SYMBOL.itemsize * min(count, _SYMBOLS_MAX))
        return symbols_in(content)

    @cached_property
    def _texts(self) -> bytes:
        return self.read(self._dynamic.get(_DT_STRTAB, 0), self._dynamic.get(_DT_STRSZ, 0))

    def _text(self, at: int) -> str:
        return self._texts[at : self._texts.find(b"\0", at)].decode(errors="replace")
