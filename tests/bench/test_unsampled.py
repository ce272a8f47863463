"""The limit that `bench.unsampled` prints is the one by which a recording says that CPU time has no samples."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from bench.unsampled import _run

from whyperf.seal.unsampled import unsampled_cpu_s

pytestmark = pytest.mark.process

_SHORT = """
import threading
for _ in range(600):
    thread = threading.Thread(target=sum, args=(range(3000),))
    thread.start()
    thread.join()
"""


def test_threads_too_short_to_be_sampled_are_part_of_the_limit(tmp_path: Path) -> None:
    run = _run("short", [sys.executable, "-c", _SHORT], 200, tmp_path / "rec", loaded=False)
    assert run.used.started > 500 > run.used.threads
    assert run.said == (unsampled_cpu_s(run.used) > 0)
