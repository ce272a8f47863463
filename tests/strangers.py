"""Processes that are not descendants of the tests."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def stranger(command: Sequence[str | Path]) -> Iterator[int]:
    """Its process number, once it has printed a line; its parent has gone."""
    with subprocess.Popen(["sh", "-c", '"$@" & echo $!', "sh", *command], stdout=subprocess.PIPE, text=True) as shell:
        assert shell.stdout is not None
        said = {shell.stdout.readline().strip() for _ in range(2)}  # in any order
        assert "ready" in said
        (pid,) = map(int, said - {"ready"})
        try:
            shell.wait()
            yield pid
        finally:
            os.kill(pid, signal.SIGKILL)
