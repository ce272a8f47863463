"""What this machine permits: each check tries the thing itself where it can."""

from __future__ import annotations

import ctypes
import gzip
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from whyperf.collect.architecture import this_architecture
from whyperf.collect.perf_events import cpu_clock_permitted
from whyperf.collect.setup.lifecycle import Lifecycle, Measuring
from whyperf.collect.setup.rate import DEFAULT_RATE_HZ, TIMER_LIMIT_HZ
from whyperf.collect.target.program import find_program
from whyperf.errors import WhyperfError
from whyperf.optional import INSTALL_NUMBA, has_numba

_ROOM_BYTES = 1 << 30
_PERMITS_OWN = 2  # perf_event_paranoid: whoever asks may look at his own processes; Debian and Ubuntu know 3 and 4
# Busy for about a tenth of a second, in the shell that every machine has.
_BUSY = ("/bin/sh", "-c", "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done")


class CheckState(Enum):
    FINE = "fine"
    LIMITED = "limited"  # something is out of reach, recording is not
    MISSING = "missing"  # recording does not work


@dataclass(frozen=True)
class Check:
    name: str
    state: CheckState
    finding: str
    fix: str | None = None


def examine() -> list[Check]:
    checks: tuple[Callable[[], Check], ...] = (
        _architecture,
        _c_library,
        _recording,
        _timer_rate,
        _perf_events,
        _reading_processes,
        _attaching,
        _work_count,
        _counts,
        _kernel_events,
        _deep,
        _diagnosing_events,
        _cache,
        _room,
        _debug_information,
        _compiler,
    )
    return [check() for check in checks]


def _architecture() -> Check:
    system = os.uname()
    try:
        this_architecture()
    except WhyperfError as error:
        return Check("architecture", CheckState.MISSING, error.sentence.removesuffix("."))
    return Check("architecture", CheckState.FINE, f"{system.machine}, Linux {system.release}")


def _c_library() -> Check:
    try:
        version = os.confstr("CS_GNU_LIBC_VERSION")
    except (ValueError, OSError):
        version = None
    if version is None:
        return Check("C library", CheckState.MISSING, "not glibc: the sampler cannot be loaded into its programs")
    return Check("C library", CheckState.FINE, version)


def _recording() -> Check:
    """Records a busy shell and looks whether samples came out."""
    from whyperf.collect.runs.runner import record_run
    from whyperf.recording.raw_log.chunks import ChunkKind, ChunkReader

    try:
        with tempfile.TemporaryDirectory(prefix="whyperf-doctor-") as scratch:
            path = Path(scratch) / "recording"
            record_run(
                find_program(_BUSY, os.environ),
                path,
                lifecycle=Lifecycle(),
                measuring=Measuring(),
                environment=dict(os.environ),
                capture_output=True,
            )
            objects = [c.json() for c in ChunkReader().in_folder(path / "raw") if c.kind == ChunkKind.JSON]
    except WhyperfError as error:
        return Check("recording", CheckState.MISSING, error.sentence, error.next_command)
    counters: dict[str, int] = next((o["counters"] for o in objects if o.get("type") == "losses"), {})
    samples = counters.get("samples", 0)
    if not samples:
        return Check(
            "recording", CheckState.MISSING, "a busy shell gave no samples", "whyperf record -- sh -c 'seq 1000000'"
        )
    mean = counters["handler_ns"] / samples / 1e3
    return Check("recording", CheckState.FINE, f"{samples} samples of a busy shell, {mean:.1f} µs each in the target")


def _timer_rate() -> Check:
    hz = _kernel_hz()
    if hz is None:
        return Check("CPU timers", CheckState.FINE, f"the kernel does not tell its tick; {TIMER_LIMIT_HZ} Hz assumed")
    state = CheckState.FINE if hz >= DEFAULT_RATE_HZ else CheckState.LIMITED
    return Check("CPU timers", state, f"up to {hz} stacks a second and thread (the kernel's tick)")


def _kernel_hz() -> int | None:
    release = os.uname().release
    for path, opener in ((Path(f"/boot/config-{release}"), Path.read_bytes), (Path("/proc/config.gz"), _unzipped)):
        try:
            found = re.search(rb"^CONFIG_HZ=(\d+)$", opener(path), re.MULTILINE)
        except (OSError, EOFError):
            continue
        if found:
            return int(found[1])
    return None


def _unzipped(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


def _perf_events() -> Check:
    paranoid = _number(Path("/proc/sys/kernel/perf_event_paranoid"))
    if cpu_clock_permitted():
        return Check("perf events", CheckState.FINE, f"permitted (perf_event_paranoid {paranoid}): rates up to 5000 Hz")
    meaning = f"above {TIMER_LIMIT_HZ} Hz samples only get heavier"
    if paranoid is not None and paranoid <= _PERMITS_OWN:
        return Check("perf events", CheckState.LIMITED, f"forbidden here, as in a container (seccomp): {meaning}")
    return Check(
        "perf events",
        CheckState.LIMITED,
        f"not permitted (perf_event_paranoid {paranoid}): {meaning}",
        f"sudo sysctl kernel.perf_event_paranoid={_PERMITS_OWN}",
    )


def _reading_processes() -> Check:
    """What --clock wall needs of the kernel, tried on ourselves."""
    word, copy = ctypes.c_uint64(0x5EED), ctypes.c_uint64(0)
    local = (ctypes.c_void_p * 2)(ctypes.addressof(copy), 8)
    remote = (ctypes.c_void_p * 2)(ctypes.addressof(word), 8)
    reader = ctypes.CDLL(None, use_errno=True).process_vm_readv
    reader.restype = ctypes.c_ssize_t
    reader.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong]
    if reader(os.getpid(), local, 1, remote, 1, 0) != 8 or copy.value != word.value:
        return Check(
            "waiting threads", CheckState.LIMITED, "process_vm_readv is forbidden here: --clock wall sees no stacks"
        )
    if not Path("/proc/self/syscall").exists():
        return Check(
            "waiting threads", CheckState.LIMITED, "the kernel has no /proc/PID/syscall: --clock wall sees no stacks"
        )
    return Check("waiting threads", CheckState.FINE, "their stacks can be read (--clock wall)")


def _attaching() -> Check:
    scope = _number(Path("/proc/sys/kernel/yama/ptrace_scope")) or 0
    if os.geteuid() == 0 and scope < 3:
        return Check("running processes", CheckState.FINE, "any can be recorded (--pid)")
    if scope == 0:
        return Check("running processes", CheckState.FINE, "your own can be recorded (--pid)")
    return Check(
        "running processes",
        CheckState.LIMITED,
        f"--pid needs root (yama/ptrace_scope {scope}); programs started by whyperf do not",
        "sudo sysctl kernel.yama.ptrace_scope=0" if scope < 3 else None,
    )


def _work_count() -> Check:
    if not Path("/sys/bus/event_source/devices/uprobe/type").exists():
        return Check("--work-count", CheckState.LIMITED, "the kernel has no uprobe events; a driver can print work=N")
    if os.geteuid() != 0:
        return Check(
            "--work-count", CheckState.LIMITED, "needs root; a driver can print work=N", "sudo whyperf record ..."
        )
    return Check("--work-count", CheckState.FINE, "calls can be counted")


def _counts() -> Check:
    from whyperf.collect.counts.run import check_counts_here

    try:
        check_counts_here()
    except WhyperfError as error:
        return Check("--counts", CheckState.LIMITED, error.sentence.removesuffix("."))
    return Check("--counts", CheckState.FINE, "every call of a program can be counted")


def _kernel_events() -> Check:
    from whyperf.collect.tracer.backends import Backend, choose

    choice = choose()
    if choice.means is Backend.BPF:
        state = CheckState.LIMITED if choice.limits else CheckState.FINE
        return Check("--trace", state, "; ".join(("kernel events by BPF", *choice.limits)))
    if choice.means is Backend.PERF:
        finding = f"kernel events by perf, without a flight recorder: {choice.reason}"
    else:
        finding = f"no kernel events, only where your own programs run and wait: {choice.reason}"
    return Check("--trace", CheckState.LIMITED, finding, choice.fix)


def _deep() -> Check:
    from whyperf.collect.dependences.valgrind import find_valgrind

    try:
        valgrind = find_valgrind(os.environ)
    except WhyperfError as error:
        return Check("--deep", CheckState.LIMITED, error.sentence.removesuffix("."), error.next_command)
    first = "" if valgrind.parts is None else "; its tool is compiled at the first use, in seconds"
    return Check("--deep", CheckState.FINE, f"by Valgrind {valgrind.version}{first}")


def _diagnosing_events() -> Check:
    if not has_numba():
        finding = "numba is not installed: recordings made with --trace or --deep cannot be diagnosed here"
        return Check("diagnosing events", CheckState.LIMITED, finding, INSTALL_NUMBA)
    return Check("diagnosing events", CheckState.FINE, "recordings made with --trace or --deep can be diagnosed")


def _cache() -> Check:
    from whyperf.collect.sampling.sampler import tables_folder

    try:
        folder = tables_folder()
    except WhyperfError as error:
        return Check("cache", CheckState.MISSING, error.sentence, error.next_command)
    if not os.access(folder, os.W_OK):
        return Check("cache", CheckState.MISSING, f"{folder} is not writable", "export XDG_CACHE_HOME=$(mktemp -d)")
    return Check("cache", CheckState.FINE, str(folder.parent))


def _room() -> Check:
    free = shutil.disk_usage(Path.cwd()).free
    state = CheckState.FINE if free >= _ROOM_BYTES else CheckState.LIMITED
    return Check("disk", state, f"{free / 1e9:.1f} GB free here", None if state is CheckState.FINE else "df -h .")


def _debug_information() -> Check:
    if os.environ.get("DEBUGINFOD_URLS"):
        return Check("debug information", CheckState.FINE, "from debuginfod where a file has none")
    if Path("/usr/lib/debug/.build-id").is_dir():
        return Check("debug information", CheckState.FINE, "/usr/lib/debug")
    return Check(
        "debug information",
        CheckState.LIMITED,
        "none for system libraries; your own programs need only be built with -g",
        "sudo apt-get install libc6-dbg",
    )


def _compiler() -> Check:
    found = next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)
    if found is None:
        return Check(
            "compiler", CheckState.LIMITED, "none: whyperf demo needs one", "sudo apt-get install gcc libc6-dev"
        )
    return Check("compiler", CheckState.FINE, f"{found}, for whyperf demo")


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
