"""A real Dask cluster on this machine: a scheduler, and workers to be killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.patience import PATIENCE_S

_ROOT = Path(__file__).resolve().parents[2]


class OwnCluster:
    """Workers find the tests' functions as this process does."""

    def __init__(self, folder: Path) -> None:
        self._environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH")))),
            "DASK_TEMPORARY_DIRECTORY": str(folder),
        }
        facts = folder / "scheduler.json"
        self._scheduler = self._start("scheduler", "--host=127.0.0.1", "--port=0", f"--scheduler-file={facts}")
        eventually(lambda: _is_whole(facts))
        self.address: str = json.loads(facts.read_text())["address"]
        self._workers: list[subprocess.Popen[bytes]] = []
        self.complete()

    def complete(self) -> None:
        """Two workers, whatever became of those before: one with one thread, one with two, as users have them."""
        alive = [worker for worker in self._workers if worker.poll() is None]
        new = [
            self._start("worker", self.address, f"--nthreads={threads}", "--no-nanny", "--memory-limit=0")
            for threads in (1, 2)[len(alive) :]
        ]
        self._workers = alive + new

    @property
    def worker_pids(self) -> list[int]:
        return [worker.pid for worker in self._workers if worker.poll() is None]

    @property
    def alive(self) -> int:
        return len(self.worker_pids)

    def kill_scheduler(self) -> None:
        self._scheduler.kill()

    def stop(self) -> None:
        for process in (*self._workers, self._scheduler):
            process.kill()
            process.wait()

    def _start(self, what: str, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *words, "--no-dashboard"]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(command, env=self._environment, stdout=quiet, stderr=quiet)


def _is_whole(facts: Path) -> bool:
    try:
        json.loads(facts.read_text())
    except (OSError, ValueError):
        return False
    return True


def eventually(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < until, "it never did"
        time.sleep(0.05)
