"""What is not counted: time within the kernel."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.cli.conftest import Whyperf
from tests.cli.deep.conftest import PROGRAMS

UNCOUNTED = "Instructions within system calls are not counted"


def notes(whyperf: Whyperf, program: Path, good: str, bad: str) -> str:
    for name, amount in (("good", good), ("bad", bad)):
        done = whyperf("record", "-q", "--force", "--deep", "-o", name, "--", str(program), *amount.split())
        assert done.returncode == 0, done.stderr
    return " ".join(json.loads(whyperf("diagnose", "good", "bad", "--json", "-").stdout)["notes"])


def test_system_calls_that_take_the_time_are_said_not_to_be_counted(
    whyperf: Whyperf, shelf: Path, tmp_path: Path
) -> None:
    program = tmp_path / "copying"
    subprocess.run(["gcc", "-O1", "-g", PROGRAMS / "copying.c", "-o", program], check=True)
    assert UNCOUNTED in notes(whyperf, program, "10", "6000")
    # AND nothing is said where the program itself computes
    assert UNCOUNTED not in notes(whyperf, shelf, "100 50", "1000 50")
