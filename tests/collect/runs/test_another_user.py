"""Recording as root a program that becomes another user before it does its work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from whyperf.recording.sealed.reader import Recording

_BUSY = "sum(number for number in range(3_000_000))"
_AS_NOBODY = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")

_SAMPLED = ("sh", "-c", 'i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; exec "$@"', "sh")


def _record(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "whyperf", "record", "--no-values", "-o", str(folder), "--", *command],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        stdin=subprocess.DEVNULL,
        check=False,
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("before", [(), _SAMPLED], ids=["first", "after a program that is sampled"])
def test_a_program_out_of_reach_is_told_of_with_what_to_do_instead(before: tuple[str, ...], tmp_path: Path) -> None:
    # GIVEN a program that setpriv starts as a user who cannot open the recording, with capabilities until it starts it
    done = _record(tmp_path / "run", *before, *_AS_NOBODY, "/usr/bin/python3", "-c", f"for i in range(6): {_BUSY}")
    # THEN it ran as ever
    assert done.returncode == 0, done.stderr
    # AND the recording holds nothing of it and says why
    made = Recording(tmp_path / "run")
    recorded = {Path(path).name for path in made.table("processes")["executable"].to_pylist()}
    assert "setpriv" in recorded and not any(name.startswith("python3") for name in recorded)
    assert len(made.table("samples")) or not before
    (unfollowed,) = made.manifest.losses.unfollowed
    assert Path(unfollowed.path).name.startswith("python3")
    assert "out of its reach" in unfollowed.reason
    # AND so does whyperf, at once
    assert "whyperf record -o" in done.stderr
    assert "another user" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_who_may_open_everything_is_followed(tmp_path: Path) -> None:
    # GIVEN a program that is started as another user, but with the capability to pass over permissions
    able = ("--inh-caps=+dac_override", "--ambient-caps=+dac_override")
    done = _record(tmp_path / "run", *_AS_NOBODY, *able, "/usr/bin/python3", "-c", _BUSY)
    assert done.returncode == 0, done.stderr
    made = Recording(tmp_path / "run")
    assert len(made.table("samples"))
    assert not made.manifest.losses.unfollowed


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_program_that_stays_root_is_followed_through_setpriv(tmp_path: Path) -> None:
    done = _record(tmp_path / "run", "setpriv", "--no-new-privs", "/usr/bin/python3", "-c", _BUSY)
    assert done.returncode == 0, done.stderr
    made = Recording(tmp_path / "run")
    assert len(made.table("samples"))
    assert not made.manifest.losses.unfollowed
    assert "another user" not in done.stderr
