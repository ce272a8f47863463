"""The command line as users meet it: in processes of its own, or in this one where it only refuses."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.shared_cache import SHARED_CACHE
from tests.warm_interpreter import Done, run_whyperf
from whyperf.cli.main import main

Whyperf = Callable[..., Done]
_BATCHES = Path(__file__).parent / "programs" / "batches.c"
MANY, FEW = 60_000, 8_000  # batches


@pytest.fixture
def whyperf(tmp_path: Path) -> Whyperf:
    def run(*arguments: str, environment: dict[str, str] | None = None, cwd: Path | None = None) -> Done:
        whole = {**os.environ, "XDG_CACHE_HOME": SHARED_CACHE, **(environment or {})}
        return run_whyperf(*arguments, cwd=cwd or tmp_path, environment=whole)

    return run


@pytest.fixture
def batches(tmp_path: Path) -> Path:
    """A folder with a program, and inputs of which one is much work."""
    subprocess.run(["gcc", "-g", "-O2", _BATCHES, "-o", tmp_path / "batches"], check=True)
    (tmp_path / "few").write_text(f"{FEW}\n")
    (tmp_path / "many").write_text(f"{MANY}\n")
    return tmp_path


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Whyperf:
    """`whyperf` in this very process: for what is refused before anything is started."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def run(*arguments: str) -> Done:
        capfd.readouterr()
        status = main(arguments)
        assert status != 0
        return Done(arguments, status, *capfd.readouterr())

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
