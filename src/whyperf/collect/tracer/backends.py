"""By what kernel events can be recorded here, and what would have to change for more."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from whyperf.collect.perf_events import open_event
from whyperf.recording.names.call_numbering import own_number

_BPF = own_number("bpf")
_MAP_CREATE, _MAP_ARRAY = 0, 2
_BTF = Path("/sys/kernel/btf/vmlinux")
_CAPABILITIES = {"CAP_SYSLOG": 34, "CAP_SYS_PTRACE": 19, "CAP_SYS_ADMIN": 21, "CAP_PERFMON": 38, "CAP_BPF": 39}
_SOFTWARE, _CPU_CLOCK = 1, 0


class Backend(Enum):
    BPF = "bpf"
    PERF = "perf"  # root, on a kernel without usable BPF
    SAMPLER = "sampler"  # own programs, their CPU time and where they wait


@dataclass(frozen=True)
class BackendChoice:
    means: Backend
    reason: str  # why not more; empty where BPF works
    fix: str | None = None
    limits: tuple[str, ...] = ()  # what is missing though it works


def choose() -> BackendChoice:
    """Tries the thing itself: what capabilities promise, containers and lockdown may forbid."""
    why, fix = _why_not_bpf()
    if not why:
        return BackendChoice(Backend.BPF, "", None, tuple(_limits()))
    if _may_trace_by_perf():
        return BackendChoice(Backend.PERF, why, fix)
    return BackendChoice(Backend.SAMPLER, why, fix)


def has_capability(name: str) -> bool:
    """Whether it is in effect for this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> _CAPABILITIES[name] & 1)
    return False


def _why_not_bpf() -> tuple[str, str | None]:
    try:
        from whyperf.collect import _tracer  # noqa: F401
    except ImportError as error:
        return f"this whyperf was built without its tracer ({error})", "pip install --force-reinstall whyperf"
    if not _BTF.exists():
        return "the kernel does not describe its types (no /sys/kernel/btf/vmlinux, CONFIG_DEBUG_INFO_BTF)", None
    number = _bpf_error()
    if number:
        return f"BPF is not permitted here ({os.strerror(number)})", "sudo whyperf record --trace ..."
    number = _perf_error()
    if number:
        return (
            f"perf events of all processes are not permitted ({os.strerror(number)})",
            "sudo whyperf record --trace ...",
        )
    return "", None


def _bpf_error() -> int:
    """Of making the smallest map there is; 0 when it can be made."""
    attributes = (ctypes.c_uint32 * 18)(_MAP_ARRAY, 4, 4, 1)
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor: int = libc.syscall(_BPF, _MAP_CREATE, ctypes.byref(attributes), ctypes.sizeof(attributes))
    if descriptor < 0:
        return ctypes.get_errno()
    os.close(descriptor)
    # Maps may be made by anybody on some kernels; loading tracing programs needs both of these.
    permitted = has_capability("CAP_SYS_ADMIN") or (has_capability("CAP_BPF") and has_capability("CAP_PERFMON"))
    return 0 if permitted else 1


def _perf_error() -> int:
    try:
        os.close(open_event(_SOFTWARE, _CPU_CLOCK, pid=-1, cpu=0, flags=1, period=100_000_000))
    except OSError as error:
        return error.errno or 1
    return 0


def _may_trace_by_perf() -> bool:
    return os.geteuid() == 0 and not _perf_error()


def _limits() -> list[str]:
    limits = []
    if not (has_capability("CAP_SYSLOG") or has_capability("CAP_SYS_ADMIN")):
        limits.append("kernel functions have no names without CAP_SYSLOG")
    if not (has_capability("CAP_SYS_PTRACE") or has_capability("CAP_SYS_ADMIN")):
        limits.append("other users' programs have no stacks without CAP_SYS_PTRACE")
    return limits
