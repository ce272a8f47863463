"""Opening the kernel's perf events: whether they are permitted, and counting with them."""

from __future__ import annotations

import ctypes
import os
import struct

from whyperf.collect.architecture import this_architecture

_ATTRIBUTE_BYTES = 112
_CLOSE_ON_EXEC = 8
_TYPE_SOFTWARE = 1
_CPU_CLOCK = 0
_DISABLED = 1 << 0
_EXCLUDE_KERNEL = 1 << 5
_EXCLUDE_HYPERVISOR = 1 << 6


def open_event(
    kind: int, config: int, *, pid: int, cpu: int, flags: int, period: int = 0, config1: int = 0, config2: int = 0
) -> int:
    """A descriptor, or OSError."""
    attributes = struct.pack(
        "<IIQQQQQIIQQ", kind, _ATTRIBUTE_BYTES, config, period, 0, 0, flags, 0, 0, config1, config2
    )
    return open_described(attributes.ljust(_ATTRIBUTE_BYTES, b"\0"), pid=pid, cpu=cpu)


def open_described(attributes: bytes, *, pid: int, cpu: int) -> int:
    """The event that `attributes` (struct perf_event_attr) describe: a descriptor, or OSError."""
    held = ctypes.create_string_buffer(attributes, len(attributes))
    libc = ctypes.CDLL(None, use_errno=True)
    number, address = this_architecture().perf_event_open, ctypes.c_void_p(ctypes.addressof(held))
    descriptor: int = libc.syscall(number, address, pid, cpu, -1, ctypes.c_ulong(_CLOSE_ON_EXEC))
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return descriptor


def cpu_clock_permitted() -> bool:
    """Whether a process may have itself signalled by a software cpu-clock event."""
    try:
        flags = _DISABLED | _EXCLUDE_KERNEL | _EXCLUDE_HYPERVISOR
        os.close(open_event(_TYPE_SOFTWARE, _CPU_CLOCK, pid=0, cpu=-1, flags=flags, period=1_000_000))
    except OSError:
        return False
    return True
