"""Tests that other jobs on the machine can still disturb: they are tried up to twice more when they fail, no others.

The list is to shrink. `python -m bench.passes` tells which tests fail on a starved machine, none tried again.
"""

from __future__ import annotations

_DISTURBED = (
    "cli/test_commands.py",  # the demo: its proof compares times
    "cli/test_lifted.py",  # a wait of half a second beside a program's start
    "collect/tracer/cases/",  # waits of known causes, beside those for a CPU
    "collect/tracer/test_flight_recorder.py",  # programs that must be seen while they run
    # They pass on busy machines, and failed on one that its host stopped for some hundred milliseconds again and again.
    "collect/tracer/test_kernel_limits.py",
    # An interrupt between a call's end and the return to the program may remember a stack for the next call: 1 of 18.
    "collect/tracer/test_storms.py",
    "collect/usage/",
    "native/memory/test_recorded.py",
    "native/unwind/test_against_libunwind.py",
    "seal/value_tables/test_redaction.py",
    "transparency/test_sanitizers.py",
    # Proofs compare times.
    "investigation/test_commands.py",
    "investigation/test_dead_ends.py",
    "investigation/test_proving.py",
    "investigation/test_spreading.py",
    "proof/test_by_",
    "proof/test_devices.py",
    "proof/test_in_order.py",
    "proof/test_servers.py",
)


def may_be_tried_again(inside: str) -> bool:
    """`inside`: a file's path in tests."""
    return inside.startswith(_DISTURBED)
