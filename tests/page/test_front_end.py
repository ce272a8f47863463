"""The front end's own tests, run by the Node that builds it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

WEB = Path(__file__).resolve().parents[2] / "web"


def test_of_the_front_end_hold() -> None:
    beside = Path(sys.executable).parent / "node"
    node = str(beside) if beside.exists() else shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed: make page")
    done = subprocess.run([node, "--test"], cwd=WEB, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "pass 0" not in done.stdout, done.stdout + done.stderr
