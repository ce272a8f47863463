"""Real recordings of real programs, by the real command line, apart from whoever else traces on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.warm_interpreter import run_whyperf
from whyperf.collect.tracer.backends import Backend, choose
from whyperf.recording.schemas.events import EventKind
from whyperf.recording.sealed.reader import Recording

needs_bpf = pytest.mark.skipif(choose().means is not Backend.BPF, reason=f"kernel events: {choose().reason}")


@dataclass(frozen=True)
class Command:
    """`whyperf ...` with a state folder of its own."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "WHYPERF_TRACE_FOLDER": str(self.folder / f"state-{os.getpid()}-{self.folder.name}")}

    def __call__(self, *words: str, status: int | None = 0) -> subprocess.CompletedProcess[str]:
        done = run_whyperf(*words, cwd=self.folder, environment=self.environment)
        if status is not None:
            assert done.returncode == status, done.stderr + done.stdout
        assert "Traceback" not in done.stderr
        assert "mistake in whyperf" not in done.stderr
        return done

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "whyperf", *words],
            cwd=self.folder,
            env=self.environment,
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def recording(self, name: str) -> Recording:
        return Recording(self.folder / name)


def kinds(recording: Recording) -> set[EventKind]:
    return {EventKind(kind) for kind in set(recording.table("events").column("kind").to_pylist())}


def names(recording: Recording) -> set[str]:
    """What the traced processes were called as."""
    commands = recording.table("processes").column("command").to_pylist()
    return {Path(command[0]).name for command in commands if command}


def functions_on_stacks(recording: Recording, rows: list[int]) -> list[list[str]]:
    """Of events by row: the functions on their stacks, innermost first."""
    function = recording.table("functions").column("name").to_pylist()
    frame = recording.table("frames").column("function").to_pylist()
    nodes = recording.table("stacks").to_pylist()
    stack = recording.table("events").column("stack").to_pylist()
    found = []
    for row in rows:
        path, at = [], stack[row]
        while at >= 0:
            number = frame[nodes[at]["frame"]]
            path.append(function[number] if number >= 0 else "?")
            at = nodes[at]["parent"]
        found.append(path)
    return found
