"""The files that were mapped: which build they are, where their code lies, and whether they are still to be had."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from whyperf.collect.tracer.traced import TracedMapping
from whyperf.debuginfo.describe import VDSO, same_build
from whyperf.debuginfo.elf_files.elf import ElfFile, read_elf
from whyperf.debuginfo.elf_files.perf_cache import cached_files
from whyperf.importers.perf_data.bookkeeping import MappedRange

_GONE = " (deleted)"


@dataclass(frozen=True)
class MappedFile:
    """What is known of a mapped file."""

    path: str
    build_id: str
    elf: ElfFile | None  # the file itself, where one of that build is to be had


class Binaries:
    """`build_ids` are those that perf wrote down by path; `recorded_ns` says when (real time)."""

    def __init__(self, build_ids: dict[str, str], recorded_ns: int) -> None:
        self._build_ids = build_ids
        self._recorded_ns = recorded_ns
        self.replaced: set[str] = set()  # files that have changed since, of which perf kept no build-id
        self.of = cache(self._of)

    def mapping(self, mapped: MappedRange) -> TracedMapping | None:
        """None where no file was mapped: anonymous memory, into which compilers write code."""
        if mapped.path == VDSO:
            build_id = mapped.build_id or self._build_ids.get(VDSO, "")
            return TracedMapping(mapped.start, mapped.end, mapped.start - mapped.file_offset, VDSO, build_id)
        if not mapped.path.startswith("/") or mapped.path.startswith("//anon"):
            return None
        binary = self.of(mapped.path, mapped.build_id)
        address = mapped.file_offset if binary.elf is None else _address_at(binary.elf, mapped.file_offset)
        bias = (mapped.start - address) % (1 << 64)
        return TracedMapping(mapped.start, mapped.end, bias, binary.path, binary.build_id, mapped.inode)

    def _of(self, path: str, build_id: str) -> MappedFile:
        build_id = build_id or self._build_ids.get(path, "")
        elf = read_elf(Path(path))
        if build_id:
            fits = elf if elf is not None and elf.build_id and same_build(elf.build_id, build_id) else None
            return MappedFile(path, build_id, fits or _cached(build_id))
        if elf is not None and elf.modified_ns > self._recorded_ns:
            self.replaced.add(path)
            return MappedFile(path + _GONE, "", None)
        return MappedFile(path, elf.build_id if elf else "", elf)


def _cached(build_id: str) -> ElfFile | None:
    found = (read_elf(path) for path in cached_files(build_id) if path.name == "elf")
    return next((elf for elf in found if elf is not None), None)


def _address_at(elf: ElfFile, file_offset: int) -> int:
    """The ELF virtual address of what lies there. Mappings begin at pages, segments anywhere within their first."""
    for segment in elf.segments:
        first = segment.file_offset & ~0xFFF
        if segment.executable and first <= file_offset < segment.file_offset + segment.file_size:
            return segment.address - segment.file_offset + file_offset
    return file_offset
