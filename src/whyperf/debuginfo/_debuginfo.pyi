"""The native reader (native/debuginfo)."""

import os

def extract(
    path: str | bytes | os.PathLike[str],
    debug_folders: str,
    symbols_only: bool,
    cpu_seconds: int,
    wall_seconds: int,
) -> tuple[int, int]:
    """How reading ended (0: done, 1: not an ELF file, 2: crashed, 3: too slow, 4: no process) and the memory file."""

def extract_variables(
    path: str | bytes | os.PathLike[str], debug_folders: str, cpu_seconds: int, wall_seconds: int
) -> tuple[int, int]:
    """The same for the variables table."""

def extract_layouts(
    path: str | bytes | os.PathLike[str], debug_folders: str, entries: bytes, cpu_seconds: int, wall_seconds: int
) -> tuple[int, int]:
    """The same for the functions at these addresses of 8 bytes: text, as `native/debuginfo/layouts.h` says."""

def table_hash(content: bytes | memoryview, /) -> int:
    """The hash of a variables table: of the bytes after its header."""
