"""System calls by what a thread waits for in them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from whyperf.recording.system_calls import NUMBERS

# Calls that serve whatever comes next: a thread that waits in them has nothing to do.
READY = (
    "epoll_wait epoll_pwait epoll_pwait2 accept accept4 select pselect6 poll ppoll io_uring_enter pause rt_sigsuspend "
    "rt_sigtimedwait"
)
SLEEPS = "nanosleep clock_nanosleep"
# As looks at threads name them: `read:file` is a read from a file.
STORAGE = (
    "fsync fdatasync sync syncfs sync_file_range msync open openat pread64 pwrite64 preadv pwritev read:file "
    "write:file readv:file writev:file getdents64 rename renameat unlink unlinkat ftruncate fallocate flock"
)
LOCKS = "futex"
CHILDREN = "wait4 waitid"
SOCKETS = "read:socket recvfrom recvmsg connect sendto sendmsg write:socket"
# Whether a thread rests in them or is kept waiting is told by what comes of it, not by the call.
EITHER = f"{SLEEPS} futex read readv recvfrom recvmsg recvmmsg wait4 waitid"


def numbers(names: str) -> npt.NDArray[np.int64]:
    return np.array([NUMBERS[name] for name in names.split()])
