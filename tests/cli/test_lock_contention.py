"""A lock that is held for too long: hardly any CPU time more, and several times the wall time."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Whyperf

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")


def compared(whyperf: Whyperf, folder: Path, *options: str) -> dict[str, Any]:
    program = folder / "sessions"
    source = Path(__file__).parent / "programs" / "sessions.c"
    subprocess.run(["gcc", "-g", "-O2", "-pthread", source, "-o", program], check=True)
    sides = ("--good", f"{program} fine 800", "--bad", f"{program} held 800")
    done = whyperf("compare", *options, *sides, "--json", "-")
    assert done.returncode == 0, done.stderr
    verdict: dict[str, Any] = json.loads(done.stdout)
    return verdict


def test_samples_of_cpu_time_say_that_it_waits_and_what_to_type(whyperf: Whyperf, tmp_path: Path) -> None:
    verdict = compared(whyperf, tmp_path, "--quick")
    assert verdict["symptom"]["kind"] == "wait"
    assert verdict["symptom"]["measure"] in ("wall_s", "own_s")  # on a busy machine without the run queue
    assert "--trace" in verdict["next_command"] or "--clock wall" in verdict["next_command"]


def test_samples_of_waiting_threads_name_who_waits_for_the_lock(whyperf: Whyperf, tmp_path: Path) -> None:
    verdict = compared(whyperf, tmp_path, "--clock", "wall")
    # THEN main, which waits for its threads, is not named
    assert [suspect["function"] for suspect in verdict["suspects"]] == ["serve"]
    assert any("waits for locks" in note for note in verdict["notes"])


def test_waiting_is_looked_into_without_being_asked_for(whyperf: Whyperf, tmp_path: Path) -> None:
    verdict = compared(whyperf, tmp_path, "--budget", "5m")
    assert verdict["symptom"]["kind"] == "wait"
    assert verdict["symptom"]["measure"] in ("wall_s", "own_s")  # on a busy machine without the run queue
    assert verdict["suspects"][0]["function"] in ("serve", "ask_backend")
    assert verdict["suspects"][0]["pattern"] == "long-wait"
