"""What the report says to type next: always something, and it works when it is pasted."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import FEW, MANY, Whyperf
from tests.patience import PATIENCE_S
from tests.shared_cache import SHARED_CACHE
from whyperf.recording.compared import COMPARED

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")


def _next(report: str) -> str:
    found = re.search(r"^Next: (.*)$", report, re.MULTILINE)
    assert found is not None, report
    return found[1]


def _pasted(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run as a user would who pasted it into a shell."""
    here = shlex.join([sys.executable, "-m", "whyperf"])
    return subprocess.run(
        ["/bin/sh", "-c", re.sub(r"\bwhyperf(?= )", lambda _: here, command, count=1)],
        cwd=folder,
        env={**os.environ, "XDG_CACHE_HOME": SHARED_CACHE},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def test_of_a_program_that_fails_no_more_runs_are_asked_for(whyperf: Whyperf, tmp_path: Path) -> None:
    done = whyperf("compare", "true", "false 'a b'", "--runs", "2", "-o", str(tmp_path / "failing"))
    assert done.returncode in (3, 4), done.stderr
    assert _next(done.stdout) == "false 'a b'"
    # AND the report says why
    assert "No bad run ended with status 0: run the command alone to see why." in done.stdout


def test_commands_with_redirections_come_back_as_they_were_typed(whyperf: Whyperf, batches: Path) -> None:
    sides = ("./batches < few", "./batches < many")
    first = whyperf("compare", "--quick", "--runs", "1", "-o", "first", *sides)
    assert first.returncode == 0, first.stderr
    command = _next(first.stdout)
    assert shlex.split(command)[-4:] == ["--good", sides[0], "--bad", sides[1]]
    # WHEN it is pasted, THEN it is the same comparison with more runs, and again something comes next
    again = _pasted(command.replace("whyperf compare", "whyperf compare --quick -o again"), batches)
    assert again.returncode == 0, again.stderr
    assert "(3+3 runs)" in again.stdout
    assert _next(again.stdout) == "whyperf prove again"
    # AND from elsewhere it begins with the way back
    (batches / "elsewhere").mkdir()
    seen = whyperf("diagnose", "../first", "--json", "-", cwd=batches / "elsewhere")
    assert json.loads(seen.stdout)["next_command"] == f"cd {batches} && {command}"


def test_calls_behind_redirections_are_counted(whyperf: Whyperf, batches: Path) -> None:
    sides = ("./batches < few", "./batches < many")
    done = whyperf("compare", "--counts", "--quick", "-o", "out", *sides, "--json", "-")
    counts = json.loads(done.stdout)["call_counts"]
    called = {(one["function"], one["callee"]): one for one in counts["changes"]}
    assert called["plan", "mix"]["bad"] == MANY and called["plan", "mix"]["good"] == FEW
    assert json.loads(done.stdout)["next_command"] == "whyperf prove out"


def test_an_interrupted_further_pass_leaves_the_verdict_of_the_runs_before(batches: Path) -> None:
    # GIVEN a comparison whose counting runs never end
    sides = ("./batches out/good-4 < few", "./batches out/good-4 < many")
    command = [sys.executable, "-m", "whyperf", "compare", "--budget", "5m", "-o", "out", *sides]
    environment = {**os.environ, "XDG_CACHE_HOME": SHARED_CACHE}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=batches, env=environment, start_new_session=True, text=True, **pipes) as started:
        until = time.monotonic() + PATIENCE_S
        while not (batches / "out" / "good-4" / "stdout").exists():
            assert time.monotonic() < until and started.poll() is None
            time.sleep(0.05)
        time.sleep(0.5)
        # WHEN the user presses Ctrl-C
        os.killpg(started.pid, signal.SIGINT)
        shown, said = started.communicate(timeout=PATIENCE_S)
    # THEN the first runs' verdict is shown, and their recordings are kept
    assert started.returncode == 0, said
    assert "interrupted; the verdict is of the runs before that" in said
    assert "CPU time" in shown and "(3+3 runs)" in shown and "batches.c" in shown
    assert "the recordings are in out" in said
    kept = sorted(path.name for path in (batches / "out").iterdir())
    assert kept == sorted([COMPARED, *(f"{side}-{number}" for side in ("good", "bad") for number in (1, 2, 3))])
    assert _next(shown) == "whyperf prove out"


def test_an_investigation_that_ran_out_of_runs_goes_on_as_it_says(whyperf: Whyperf, batches: Path) -> None:
    whyperf("compare", "--quick", "./batches < few", "./batches < many", "--runs", "2", "-o", "out")
    done = whyperf("prove", "out", "--most-runs", "1", "--output-file", "many")
    assert "`whyperf prove out --output-file many --most-runs 3` tries more" in " ".join(done.stdout.split())
