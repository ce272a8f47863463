"""A skip that this machine does not explain is a failure where that is asked for, as `make test` does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.expected_skips import is_expected

_HERE = Path(__file__).parent
_SKIPS = """
import pytest

def test_machine():
    pytest.skip("the kernel has no such call")

def test_forgotten():
    pytest.skip("not written yet")

@pytest.mark.skipif(True, reason="perhaps another day")
def test_marked():
    pass

@pytest.mark.xfail(reason="a known mistake")
def test_known():
    raise AssertionError
"""


@pytest.mark.parametrize(
    "reason",
    [
        "x86-64 only",
        "this kernel has no BTF",
        "no hardware breakpoints here",
        "musl-gcc has no libraries here",
        "redis has been built for the benchmarks only",
        "this machine is too busy",
    ],
)
def test_the_machine_explains_a_skip(reason: str) -> None:
    assert is_expected(reason)


@pytest.mark.parametrize("reason", ["", "not written yet", "gdb is not installed", "valgrind is not installed", "slow"])
def test_what_setup_installs_is_no_reason(reason: str) -> None:
    assert not is_expected(reason)


@pytest.mark.parametrize("reason", ["chroot and setuid need root", "mounting is not permitted here"])
def test_rights_are_a_reason_for_ordinary_users_only(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert is_expected(reason)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert not is_expected(reason)


@pytest.mark.process
@pytest.mark.parametrize(
    ("options", "outcome", "failed"),
    [
        ([], "3 skipped, 1 xfailed", []),
        (["--no-unexpected-skips"], "1 failed, 1 skipped, 1 xfailed, 1 error", ["forgotten", "marked"]),
    ],
)
def test_unexpected_skips_fail_a_run(tmp_path: Path, options: list[str], outcome: str, failed: list[str]) -> None:
    # GIVEN a folder of tests with this one's conftest.py, of which some are skipped
    tests = tmp_path / "tests"
    tests.mkdir()
    for name in ("__init__.py", "conftest.py", "expected_skips.py", "tried_again.py"):
        shutil.copy(_HERE / name, tests)
    (tests / "test_skips.py").write_text(_SKIPS)
    # WHEN they run
    words = [sys.executable, "-m", "pytest", "-q", "-rf", "-p", "no:cacheprovider", *options, "tests"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    # THEN those fail for which there is no reason, each with its name and what it said
    assert outcome in done.stdout, done.stdout + done.stderr
    assert done.returncode == bool(failed)
    for name in failed:
        assert f"test_{name} was not expected to be skipped." in done.stdout
    assert ("not written yet" in done.stdout) == bool(failed)
