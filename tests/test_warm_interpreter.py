"""A command in a child of the loaded interpreter is what it is in an interpreter of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.warm_interpreter import run_whyperf

pytestmark = pytest.mark.process
_RECORD = ("record", "-q", "--force", "-o", "rec", "--", "sh", "-c")


@pytest.mark.parametrize(
    "words",
    [
        ("--version",),
        ("info", "nothing"),
        ("record", "--no-such-option"),
        (*_RECORD, "pwd; echo $GIVEN; cat; ls /proc/self/fd >&2; exit 7"),
        (*_RECORD, "trap; ulimit -a; umask"),
    ],
    ids=lambda words: " ".join(words[:1]),
)
def test_status_streams_folder_and_environment(tmp_path: Path, words: tuple[str, ...]) -> None:
    environment = {**os.environ, "GIVEN": "a word"}
    command = [sys.executable, "-m", "whyperf", *words]
    alone = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, input="", check=False
    )
    done = run_whyperf(*words, cwd=tmp_path, environment=environment)
    assert (done.returncode, done.stdout, done.stderr) == (alone.returncode, alone.stdout, alone.stderr)


def test_several_at_once_end_each_with_its_own(tmp_path: Path) -> None:
    def status(number: int) -> int:
        words = ("record", "-q", "-o", f"rec-{number}", "--", "sh", "-c", f"exit {number}")
        return run_whyperf(*words, cwd=tmp_path).returncode

    with ThreadPoolExecutor(5) as at_once:
        assert list(at_once.map(status, range(10, 15))) == list(range(10, 15))


def test_one_that_is_killed(tmp_path: Path) -> None:
    done = run_whyperf(*_RECORD, "kill -KILL $PPID; sleep 0.1", cwd=tmp_path)
    assert done.returncode == -signal.SIGKILL
    assert run_whyperf("--version").returncode == 0


def test_what_is_read_at_the_start_takes_an_interpreter_of_its_own(tmp_path: Path) -> None:
    done = run_whyperf("--version", cwd=tmp_path, environment={**os.environ, "PYTHONVERBOSE": "1"})
    assert "import 'site'" in done.stderr
