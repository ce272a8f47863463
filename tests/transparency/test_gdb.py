"""gdb stops at whyperf's signal, unless it knows the line that the manual has for it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from bench.watching import compiled, watched

_MANUAL = Path(__file__).parents[2] / "docs" / "usage.md"
_STOPPED = "received signal SIG58"


def line_of_the_manual() -> str:
    [line] = re.findall(r"^handle SIG\d+ .*$", _MANUAL.read_text(), re.MULTILINE)
    return str(line)


@pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
@pytest.mark.parametrize("told", [False, True], ids=["without the line", "with the line"])
def test_a_program_in_gdb_is_sampled(told: bool, programs: Path, tmp_path: Path, recording: Path) -> None:
    leaf = compiled("leaf.c", programs)
    said = ["-ex", line_of_the_manual()] if told else []
    command = ["gdb", "-q", "-batch", "-nx", *said, "-ex", "run", "--args", str(leaf)]
    under = watched(command, tmp_path, recording)
    assert ("exited with code 07" in under.seen.stdout, _STOPPED in under.seen.stdout) == (told, not told), under.seen
    assert under.seen.status == 0
    assert "leaf" in under.programs
