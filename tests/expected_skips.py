"""Why a test may be skipped after `make test` has installed all that tests need: the machine, its kernel, or the user's
rights. Every other skip is a test that silently no longer runs."""

from __future__ import annotations

import os
import re

_MACHINE = (
    r"x86-64|64-bit ARM|this machine's programs only",
    r"kernel (does not|permits no|maps no|has no)|of this kernel|this kernel has",
    r"no hardware breakpoints here|perf events are not permitted here|io_uring",
    r"is in memory|is on a disk|lies on no block device|no direct I/O in",
    r"has no run-time library here|has no libraries here|no 32-bit C library|no shell that knows ulimit",
)
_LEFT_TO_BENCHMARKS = (r"built from a registry's source|has been built for the benchmarks",)
_MOMENT = (r"this machine is too busy|cannot be fetched",)
_RIGHTS = (r"root|is not permitted|are not permitted|kernel events: |mounts a small file system|ordinary user",)


def is_expected(reason: str) -> bool:
    patterns = [*_MACHINE, *_LEFT_TO_BENCHMARKS, *_MOMENT, *(_RIGHTS if os.geteuid() != 0 else ())]
    return any(re.search(pattern, reason) for pattern in patterns)
