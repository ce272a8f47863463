"""Finding a binary, what belongs to it, and what is already known about it."""

from __future__ import annotations

import ctypes
import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.code_maps import cache as code_maps
from whyperf.debuginfo.code_maps.builder import assemble
from whyperf.debuginfo.code_maps.code_map import empty_code_map
from whyperf.debuginfo.code_maps.extraction import Extraction, ReadingEnd, extract
from whyperf.debuginfo.code_maps.unnamed_functions import with_nameless
from whyperf.debuginfo.code_maps.unwind_index import unwind_ranges
from whyperf.debuginfo.elf_files.elf import ElfFile, read_elf
from whyperf.debuginfo.elf_files.perf_cache import cached_files

VDSO = "[vdso]"
DEBUG_FOLDERS = (Path("/usr/lib/debug"),)
_RECORDED_BUILD_ID = 40
"""Recordings keep the first 20 bytes of a build-id, in hexadecimal."""


def describe(
    path: str, build_id: str = "", *, cache: Path | None = None, debug_folders: Sequence[Path] = DEBUG_FOLDERS
) -> Binary:
    """What the binary at `path` says, if it still is the one with `build_id`; never raises for odd files."""
    binary = _described(path, build_id, cache if cache is not None else code_maps.default_folder(), debug_folders)
    if binary.elf is None:
        return binary
    # Not kept in the cache: it goes by build-id, and these names by the file's name.
    return replace(binary, code=with_nameless(binary.code, unwind_ranges(binary.elf), Path(path).name))


def _described(path: str, build_id: str, folder: Path, debug_folders: Sequence[Path]) -> Binary:
    if path == VDSO:
        return _from_extraction(path, build_id, None, extract(VDSO, 0, ()))
    elf = read_elf(Path(path))
    if elf is not None and same_build(elf.build_id, build_id):
        return _describe_file(path, elf, folder, debug_folders)
    if not build_id:
        return _nothing(path, "", f"{path} is not a readable 64-bit ELF file." if elf is None else "")
    return _describe_absent(path, build_id, elf, folder, debug_folders)


def same_build(found: str, wanted: str) -> bool:
    if len(wanted) == _RECORDED_BUILD_ID:
        return found[:_RECORDED_BUILD_ID] == wanted
    return not wanted or found == wanted


def _describe_file(path: str, elf: ElfFile, folder: Path, debug_folders: Sequence[Path]) -> Binary:
    key = cache_key(elf)
    known = code_maps.load(folder, key)
    if known is not None:
        return Binary(path, elf.build_id, "full", "", known, elf)
    extraction = extract(path, elf.size, debug_folders)
    note = ""
    if extraction.end in (ReadingEnd.CRASHED, ReadingEnd.TIMEOUT):
        note = f"The debug information of {path} is damaged: only its symbols are used."
        extraction = extract(path, elf.size, debug_folders, symbols_only=True)
    binary = _from_extraction(path, elf.build_id, elf, extraction, note)
    # What is incomplete may be completed any time by installing a package: only what is whole is kept.
    if binary.debug == "full" and not binary.note:
        code_maps.store(folder, key, binary.code)
    return binary


def _describe_absent(
    path: str, build_id: str, elf: ElfFile | None, folder: Path, debug_folders: Sequence[Path]
) -> Binary:
    """The file is gone or was replaced; its debug information may still be had by build-id."""
    known = code_maps.load_any(folder, f"{build_id}-")
    if known is not None:
        return Binary(path, build_id, "full", "", known, None)
    for candidate in (*_by_build_id(build_id, debug_folders), *cached_files(build_id), fetch_debug_file(build_id)):
        found = read_elf(candidate) if candidate is not None else None
        if found is not None:
            whole = found if found.build_id == build_id else None
            extraction = extract(str(found.path), found.size, debug_folders)
            return _from_extraction(path, build_id, whole if _holds_code(found) else None, extraction)
    state = "is gone" if elf is None else "was replaced by another build"
    return _nothing(path, build_id, f"{path} {state} since it ran, and no debug file with its build-id was found.")


def _by_build_id(build_id: str, debug_folders: Sequence[Path]) -> list[Path]:
    links = [folder / ".build-id" / build_id[:2] / build_id[2:] for folder in debug_folders]
    return [*links, *(Path(f"{link}.debug") for link in links)]


def _holds_code(elf: ElfFile) -> bool:
    """False for separate debug files, whose segments are empty."""
    return any(segment.executable and segment.file_size for segment in elf.segments)


def cache_key(elf: ElfFile) -> str:
    """What is kept of a file is kept under this name."""
    if elf.build_id:
        return f"{elf.build_id}-{elf.layout:08x}"
    state = f"{elf.path.absolute()}\0{elf.size}\0{elf.modified_ns}"
    return f"path-{hashlib.sha256(state.encode('utf-8', 'surrogateescape')).hexdigest()[:40]}-{elf.layout:08x}"


def _from_extraction(path: str, build_id: str, elf: ElfFile | None, extraction: Extraction, note: str = "") -> Binary:
    if extraction.end is not ReadingEnd.DONE:
        return _nothing(path, build_id, note or f"{path} could not be read as an ELF file.", elf)
    code = assemble(extraction)
    missing = extraction.missing_split_units
    if missing:
        note = f"{missing} split debug files (.dwo) of {path} were not found."
    if not len(code.function_line):
        return Binary(path, build_id, "none", note, code, elf)
    return Binary(path, build_id, "full" if extraction.has_dwarf else "symbols", note, code, elf)


def _nothing(path: str, build_id: str, note: str, elf: ElfFile | None = None) -> Binary:
    return Binary(path, build_id, "none", note, empty_code_map(), elf)


def fetch_debug_file(build_id: str) -> Path | None:
    """The debug file of a binary that is no longer here, from the servers in DEBUGINFOD_URLS; nobody is asked without
    it. libdebuginfod keeps its own cache."""
    if not os.environ.get("DEBUGINFOD_URLS", "").strip():
        return None
    try:
        library = ctypes.CDLL("libdebuginfod.so.1")
    except OSError:
        return None
    library.debuginfod_begin.restype = ctypes.c_void_p
    library.debuginfod_find_debuginfo.argtypes = [
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.POINTER(ctypes.c_char_p),
    ]
    library.debuginfod_end.argtypes = [ctypes.c_void_p]
    client = library.debuginfod_begin()
    if not client:
        return None
    # A length of 0 says that the build-id is a hexadecimal string.
    path = ctypes.c_char_p()
    descriptor = library.debuginfod_find_debuginfo(client, build_id.encode(), 0, ctypes.byref(path))
    library.debuginfod_end(client)
    if descriptor < 0:
        return None
    os.close(descriptor)
    return Path(os.fsdecode(path.value)) if path.value else None
