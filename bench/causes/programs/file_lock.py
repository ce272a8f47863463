"""Jobs that take turns by flock on one file; stalled: one of them computes while it has the lock."""

import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path


def locked(path: str, seconds: float) -> None:
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(file, fcntl.LOCK_EX)
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        sum(range(20_000))  # looks at the clock are system calls
    os.close(file)


def job(path: str, first: bool, stalled: bool) -> None:
    for turn in range(30):
        locked(path, 1.2 if first and stalled and turn == 15 else 0.001)
        time.sleep(0.01)


def main() -> None:
    stalled = sys.argv[1] == "stalled"
    if len(sys.argv) > 3:
        job(sys.argv[3], sys.argv[2] == "first", stalled)
        return
    path = f"/tmp/whyperf-lock-{os.getpid()}"
    jobs = [
        subprocess.Popen([sys.executable, __file__, sys.argv[1], which, path]) for which in ("first", "second", "third")
    ]
    for one in jobs:
        one.wait()
    Path(path).unlink()


main()
