"""Allocators whose functions are known by name, and how users name others."""

from __future__ import annotations

import re

from whyperf.allocators.functions import Allocator, AllocatorFunction, AllocatorRole, Arguments
from whyperf.errors import WhyperfError

_SIZE = Arguments(size=0)
_POINTER = Arguments(pointer=0)
_ALIGNED = Arguments(size=1)
_MALLOC: dict[str, tuple[AllocatorRole, Arguments]] = {
    "malloc": (AllocatorRole.ALLOCATE, _SIZE),
    "calloc": (AllocatorRole.ALLOCATE_MANY, Arguments(count=0, size=1)),
    "realloc": (AllocatorRole.REALLOCATE, Arguments(pointer=0, size=1)),
    "free": (AllocatorRole.FREE, _POINTER),
    "cfree": (AllocatorRole.FREE, _POINTER),
    "posix_memalign": (AllocatorRole.ALLOCATE_INTO, Arguments(size=2)),
    "aligned_alloc": (AllocatorRole.ALLOCATE, _ALIGNED),
    "memalign": (AllocatorRole.ALLOCATE, _ALIGNED),
    "valloc": (AllocatorRole.ALLOCATE, _SIZE),
    "pvalloc": (AllocatorRole.ALLOCATE, _SIZE),
    "mallocx": (AllocatorRole.ALLOCATE, _SIZE),
    "rallocx": (AllocatorRole.REALLOCATE, Arguments(pointer=0, size=1)),
    "dallocx": (AllocatorRole.FREE, _POINTER),
    "sdallocx": (AllocatorRole.FREE, _POINTER),
    "free_sized": (AllocatorRole.FREE, _POINTER),
}
_NEW = ("_Znwm", "_Znam", "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t", "_ZnwmSt11align_val_t", "_ZnamSt11align_val_t")
_DELETE = ("_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm", "_ZdlPvSt11align_val_t", "_ZdaPvSt11align_val_t")


def _prefixed(*prefixes: str) -> tuple[AllocatorFunction, ...]:
    named = tuple(AllocatorFunction(f"{prefix}{name}", *what) for prefix in prefixes for name, what in _MALLOC.items())
    operators = (
        *(AllocatorFunction(name, AllocatorRole.ALLOCATE, _SIZE) for name in _NEW),
        *(AllocatorFunction(name, AllocatorRole.FREE, _POINTER) for name in _DELETE),
    )
    return (*named, *operators) if "" in prefixes else named


def _pool(allocate: tuple[str, ...], free: tuple[str, ...], reset: tuple[str, ...]) -> tuple[AllocatorFunction, ...]:
    """Of which versions differ in their parameters."""
    return (
        *(AllocatorFunction(name, AllocatorRole.ALLOCATE) for name in allocate),
        *(AllocatorFunction(name, AllocatorRole.FREE) for name in free),
        *(AllocatorFunction(name, AllocatorRole.RESET) for name in reset),
    )


INTERPOSED = frozenset(one.name for one in _prefixed(""))
"""Names that programs may define themselves; where they do not, whyperf stands before them anyway."""

KNOWN = {
    "malloc": _prefixed(""),
    "jemalloc": _prefixed("", "je_"),
    "tcmalloc": _prefixed("", "tc_"),
    "mimalloc": _prefixed("", "mi_"),
    "zmalloc": (
        AllocatorFunction("zmalloc", AllocatorRole.ALLOCATE, _SIZE),
        AllocatorFunction("zcalloc", AllocatorRole.ALLOCATE, _SIZE),
        AllocatorFunction("ztrymalloc", AllocatorRole.ALLOCATE, _SIZE),
        AllocatorFunction("zrealloc", AllocatorRole.REALLOCATE, Arguments(pointer=0, size=1)),
        AllocatorFunction("zfree", AllocatorRole.FREE, _POINTER),
    ),
    "palloc": (
        *_pool(("AllocSetAlloc",), ("AllocSetFree",), ("AllocSetReset", "AllocSetDelete")),
        AllocatorFunction("AllocSetRealloc", AllocatorRole.REALLOCATE),
    ),
    "apr_palloc": _pool(("apr_palloc",), (), ("apr_pool_clear", "apr_pool_destroy")),
    "ngx_palloc": _pool(("ngx_palloc", "ngx_pnalloc"), ("ngx_pfree",), ("ngx_reset_pool", "ngx_destroy_pool")),
    "g_slice_alloc": (
        AllocatorFunction("g_slice_alloc", AllocatorRole.ALLOCATE, _SIZE),
        AllocatorFunction("g_slice_free1", AllocatorRole.FREE, Arguments(pointer=1)),
    ),
}

_PART = re.compile(r"(?:(free|realloc|reset)=)?([A-Za-z_.$][\w.$]*)(?::([1-9]))?")
_ROLES = {
    "": AllocatorRole.ALLOCATE,
    "free": AllocatorRole.FREE,
    "realloc": AllocatorRole.REALLOCATE,
    "reset": AllocatorRole.RESET,
}
EXAMPLE = "--allocator arena_alloc:2,reset=arena_clear"


def parse_allocator(text: str) -> Allocator:
    """One of the known, or functions that the user names."""
    if text in KNOWN:
        return Allocator(text, KNOWN[text])
    functions = tuple(_function(part, text) for part in text.split(","))
    if not any(one.role is AllocatorRole.ALLOCATE for one in functions):
        raise WhyperfError(f"--allocator {text} names no function that allocates.", EXAMPLE, status=2)
    return Allocator(functions[0].name, functions)


def _function(part: str, text: str) -> AllocatorFunction:
    found = _PART.fullmatch(part)
    if found is None:
        raise WhyperfError(
            f"--allocator {text}: `{part}` is not NAME, NAME:ARGUMENT, free=NAME, realloc=NAME or reset=NAME.",
            EXAMPLE,
            status=2,
        )
    role, name, argument = found.groups()
    return AllocatorFunction(name, _ROLES[role or ""], asked=int(argument) - 1 if argument else None)
