"""What an ordinary user may not read or write is a sentence that names it, whichever command meets it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import sentence
from tests.collect.tracer.ordinary_user import OrdinaryUser, ordinary_user


@pytest.fixture(scope="module")
def user() -> Iterator[OrdinaryUser]:
    with ordinary_user() as found:
        yield found


@pytest.fixture(scope="module")
def roots(user: OrdinaryUser) -> Iterator[Path]:
    """A folder of root's with a recording in it, and a comparison of it that can be entered but not listed."""
    folder = user.home / "roots"
    folder.mkdir(mode=0o755)
    command = [sys.executable, "-m", "whyperf", "record", "-q", "-o", folder / "rec", "--", "true"]
    subprocess.run(command, check=True)
    (folder / "both").mkdir()
    for side in ("good", "bad"):
        shutil.copytree(folder / "rec", folder / "both" / f"{side}-1")
    (folder / "both").chmod(0o711)
    (folder / "closed").mkdir(mode=0o700)
    yield folder


@pytest.mark.parametrize(
    ("command", "named", "denying"),
    [
        ("info {}/rec", "rec", "rec"),
        ("info {}/closed/rec", "closed/rec", "closed"),
        ("diagnose {}/rec", "rec", "rec"),
        ("diagnose {}/both", "both", "both"),
        ("diagnose {0}/closed/good {0}/closed/bad", "closed/good", "closed"),
        ("prove {}/both", "both", "both"),
        ("view {}/rec", "rec", "rec"),
        ("origin {}/rec --line a.c:1", "rec", "rec"),
        ("export {}/rec --format collapsed", "rec", "rec"),
        ("scrub {}/rec", "rec", "rec"),
        ("import {}/closed/perf.data", "closed/perf.data", "closed"),
        ("record -o {}/closed/x -- true", "closed/x", "closed"),
        ("record -o {}/x -- true", "x", ""),
        ("compare -o {}/closed/x true true", "closed/x", "closed"),
        ("compare -o {}/x true true", "x", ""),
    ],
)
def test_what_may_not_be_used_is_named(user: OrdinaryUser, roots: Path, command: str, named: str, denying: str) -> None:
    done = user.whyperf(*command.format(roots).split())
    said = sentence(done, 1)
    assert str(roots / named) in said and "Permission denied" in said
    assert f"{roots / denying} belongs to root" in said
    assert done.stderr.splitlines()[1] == f"  try: ls -ld {roots / denying}"


def test_a_folder_without_a_place_for_recordings(user: OrdinaryUser, roots: Path) -> None:
    # GIVEN a current folder that the user may enter but not write to
    done = user.run("sh", "-c", f'cd {roots} && "$0" -m whyperf compare true true', user.python)
    assert "belongs to root: name a path that you may use" in sentence(done, 1)
    assert done.stderr.splitlines()[1] == f"  try: ls -ld {roots}"


def test_what_the_user_has_closed_himself(user: OrdinaryUser) -> None:
    own = user.home / "own"
    assert user.run("mkdir", "-m", "000", own).returncode == 0
    done = user.whyperf("info", own / "rec")
    assert f"{own} is yours, but its mode forbids it." in sentence(done, 1)
    assert done.stderr.splitlines()[1] == f"  try: chmod u+rwX {own}"


def test_what_may_not_be_read_looks_like_no_bad_commit(user: OrdinaryUser, roots: Path) -> None:
    done = user.whyperf("compare", "--bisect-exit", "-o", roots / "closed" / "x", "true", "true")
    assert done.returncode in (125, 128)


@pytest.mark.parametrize("command", ["diagnose a b --html page.html", "record -- true", "compare true true"])
def test_a_current_folder_that_was_removed(user: OrdinaryUser, command: str) -> None:
    script = f'mkdir gone && cd gone && rmdir ../gone && "$0" -m whyperf {command}'
    done = user.run("sh", "-c", script, user.python)
    assert "The current folder does not exist any more" in sentence(done, 1)
