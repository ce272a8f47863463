"""Whose code a module is: what blame can be folded into, and what is only passed through."""

from __future__ import annotations

import re
from collections.abc import Collection

_SYSTEM = re.compile(r"/(usr/(local/)?)?lib(32|64|x32|exec)?/")
_LIBC = re.compile(
    r"(ld-linux[-.\w]*|ld-musl[-.\w]*|ld|lib(c|m|mvec|pthread|dl|rt|resolv|nsl|anl|util))(-[\d.]+)?\.so(\.\d+)*"
)
_SAMPLER = re.compile(r"libwhyperf_.*\.so")
_DELETED = " (deleted)"


def file_name(path: str) -> str:
    return path.removesuffix(_DELETED).rpartition("/")[2]


def is_system_library(path: str) -> bool:
    # Local installations are the user's own, though they lie under /usr.
    return _SYSTEM.match(path) is not None and not path.startswith("/usr/local/")


def origin_of(path: str, programs: Collection[str], sampler: str) -> str:
    """As in the table `modules`. `programs` are the executables of all processes, `sampler` the preloaded library, if
    there is one."""
    name = file_name(path)
    if (sampler and path == sampler) or _SAMPLER.fullmatch(name):
        return "sampler"
    if name in ("[vdso]", "linux-vdso.so.1", "linux-gate.so.1"):
        return "vdso"
    # Before programs: ldd starts the dynamic linker as one.
    if path.startswith("/") and _LIBC.fullmatch(name):
        return "libc"
    if path.removesuffix(_DELETED) in programs:
        return "program"
    if not path.startswith("/"):
        return "unknown"
    return "system-library" if is_system_library(path) else "library"
