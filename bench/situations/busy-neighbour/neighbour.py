"""Four processes for every CPU, which are busy while somebody holds the lock of the file, and sleep otherwise."""

import fcntl
import os
import sys
import time
from pathlib import Path


def is_wanted(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(file, fcntl.LOCK_UN)
    return False


def be_busy(path: str, parent: int) -> None:
    os.setsid()  # where sessions share the CPUs evenly, each counts
    file = os.open(path, os.O_RDONLY)
    while os.getppid() == parent:
        if is_wanted(file):
            sum(range(200_000))
        else:
            time.sleep(0.01)


def main() -> None:
    noise = Path(sys.argv[1])
    noise.touch()
    noise.chmod(0o666)
    parent = os.getpid()
    for _ in range(4 * (os.cpu_count() or 1)):
        if os.fork() == 0:
            be_busy(sys.argv[1], parent)
            os._exit(0)
    print("ready", flush=True)
    while True:
        time.sleep(60)


main()
