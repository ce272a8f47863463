"""The command line as users meet it: in processes of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Done = subprocess.CompletedProcess[str]
Whyperf = Callable[..., Done]


@pytest.fixture
def whyperf(tmp_path: Path) -> Whyperf:
    def run(*arguments: str, environment: dict[str, str] | None = None, cwd: Path | None = None) -> Done:
        return subprocess.run(
            [sys.executable, "-m", "whyperf", *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=cwd or tmp_path,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), **(environment or {})},
            stdin=subprocess.DEVNULL,
            check=False,
        )

    return run


def sentence(done: Done, status: int) -> str:
    """The one sentence of a refusal: no traceback, one line of what and one of what to type."""
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) <= 2, done.stderr
    assert lines[0].startswith("whyperf: ") and lines[0].endswith((".", ".)"))
    if len(lines) == 2:
        assert lines[1].startswith("  try: ")
    return lines[0].removeprefix("whyperf: ")
