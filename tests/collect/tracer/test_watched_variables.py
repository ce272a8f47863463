"""`record --trace --watch VARIABLE`: what is said of variables that were watched in vain."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from tests.collect.tracer.recording import Command, kinds, needs_bpf
from whyperf.collect.tracer import watched_variables
from whyperf.collect.tracer.watched_variables import WatchedFlags
from whyperf.debuginfo.elf_files.named_symbols import NamedSymbol
from whyperf.recording.schemas.events import EventKind

if TYPE_CHECKING:
    from whyperf.collect._tracer import Tracer

UNKNOWN = (
    "No variable {} was found, so nobody was seen writing it: static ones of stripped files have no names, and a "
    "program that ends at once is not looked into."
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("flags") / "flags"
    subprocess.run(["cc", "-O2", "-o", built, Path(__file__).parent / "programs" / "flags.c"], check=True)
    return built


class _Breakpoints:
    """As many as anybody wants."""

    def watch(self, _thread: int, _address: int, _length: int) -> None:
        pass


class _NoBreakpoints:
    """A machine whose breakpoints are all in use."""

    def watch(self, _thread: int, _address: int, _length: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _notes_of(program: Path, pid: int, *names: str) -> list[str]:
    watched = WatchedFlags(names)
    watched.met(cast("Tracer", _NoBreakpoints()), pid, [(0, 0, 0, 0, "", str(program), 0)])
    return watched.notes()


def test_variables_are_told_of_one_by_one(program: Path) -> None:
    # WHEN one of two cannot be watched and the other does not exist, THEN both are said
    refused = f"written could not be watched: {os.strerror(errno.ENOSPC)}."
    assert _notes_of(program, os.getpid(), "written", "no_such") == [UNKNOWN.format("no_such"), refused]


def test_a_process_that_ended_too_soon_is_not_said_to_lack_the_variable(program: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    (note,) = _notes_of(program, ended.pid, "written")
    assert note == "written was not watched: the processes that have it had ended before it could be."


def test_variables_of_two_processes_may_lie_at_one_address(monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN files that define a variable each
    monkeypatch.setattr(watched_variables, "data_symbols", lambda path, _names: [NamedSymbol(path.name, 4096, 4)])
    watched = WatchedFlags(["one", "other"])
    # WHEN different processes have them at the same address
    for pid, path in ((os.getpid(), "/one"), (os.getppid(), "/other")):
        watched.met(cast("Tracer", _Breakpoints()), pid, [(0, 0, 0, 0, "", path, 0)])
    # THEN both are known to be watched
    assert watched.notes() == [f"{name} was watched, and no write to it was seen." for name in ("one", "other")]


@needs_bpf
def test_what_was_never_seen_is_said_and_kept(program: Path, tmp_path: Path) -> None:
    # GIVEN a running program that writes one variable and only reads another
    asked, answered = tmp_path / "asked", tmp_path / "answered"
    os.mkfifo(asked)
    os.mkfifo(answered)
    ends = [os.open(path, os.O_RDWR) for path in (asked, answered)]
    running = subprocess.Popen([program], stdin=ends[0], stdout=ends[1])
    # WHEN it is recorded while it does so
    watched = [word for name in ("written", "only_read", "no_such") for word in ("--watch", name)]
    drive = f"sh -c 'echo > {asked}; read answer < {answered}'"
    whyperf = Command(tmp_path)
    try:
        done = whyperf("record", "--trace", *watched, "-q", "--pid", str(running.pid), "--drive", drive, "-o", "rec")
    finally:
        running.kill()
        running.wait()
        for end in ends:
            os.close(end)
    if "could not be watched" in done.stderr:
        pytest.skip(f"no hardware breakpoints here: {done.stderr}")
    # THEN the recording and the terminal say who was not seen, and nothing of the one that was
    recording = whyperf.recording("rec")
    assert EventKind.FLAG_ACCESS in kinds(recording)
    expected = [UNKNOWN.format("no_such"), "only_read was watched, and no write to it was seen."]
    assert [line.removeprefix("whyperf: ") for line in done.stderr.splitlines()] == expected
    assert list(recording.manifest.losses.notes) == expected
