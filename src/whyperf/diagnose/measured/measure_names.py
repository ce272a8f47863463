"""What reports call a measure."""

from __future__ import annotations

from whyperf.diagnose.measured.latency import PREFIX
from whyperf.diagnose.verdict import PEAK_BYTES

_NAMES = {
    "cpu_s": "CPU time",
    "sampled_cpu_s": "sampled CPU time",
    "wall_s": "elapsed time",
    "own_s": "elapsed time without the run queue",
    PEAK_BYTES: "peak memory",
    "run_queue_s": "time in the run queue",
    "lock_wait_s": "waiting for locks and conditions",
    "storage_wait_s": "waiting for storage",
    "child_wait_s": "waiting for child processes",
    "sleep_s": "sleeping",
    "socket_wait_s": "waiting for sockets",
    "major_faults": "major page faults",
    "context_switches": "context switches",
    "read_bytes": "bytes read from storage",
    "written_bytes": "bytes written to storage",
}


def measure_name(measure: str) -> str:
    """`CPU time` of `cpu_s`, `p99 latency` of `latency_p99_s`."""
    if measure.startswith(PREFIX):
        return f"p{measure.removeprefix(PREFIX).removesuffix('_s')} latency"
    return _NAMES[measure]
