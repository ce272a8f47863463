"""Addresses that are the same in every run: programs started meanwhile get them without randomization."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator

_ASK = 0xFFFFFFFF
_NOT_RANDOM = 0x0040000


@contextlib.contextmanager
def same_addresses() -> Iterator[bool]:
    """Of what this thread starts. False where the system forbids it."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.personality.argtypes = [ctypes.c_ulong]
    before = libc.personality(_ASK)
    if before < 0 or libc.personality(before | _NOT_RANDOM) < 0:
        yield False
        return
    try:
        yield bool(libc.personality(_ASK) & _NOT_RANDOM)
    finally:
        libc.personality(before)
