"""Two builds of one small program, and runs of one with functions of the other."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from whyperf.collect.observation.recorder import LIBRARY
from whyperf.collect.observation.run import observe
from whyperf.collect.observation.sites import Observed
from whyperf.collect.observation.transplants import Transplants
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import find_program
from whyperf.debuginfo.transplants.module import TransplantModule
from whyperf.debuginfo.transplants.planner import plan_transplant


@dataclass(frozen=True)
class Builds:
    good: Path
    bad: Path


def built(folder: Path, source: str, *flags: str, language: str = "c", compiler: str = "") -> Builds:
    """The source knows by GOOD which of them it is for."""
    file = folder / f"program.{language}"
    file.write_text(source)
    made = Builds(folder / "good", folder / "bad")
    compiler = compiler or ("gcc" if language == "c" else "g++")
    for program, defined in ((made.good, ["-DGOOD"]), (made.bad, [])):
        command = [compiler, "-O2", "-g", "-Wl,--build-id", *defined, str(file), *flags, "-o", str(program)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return made


@dataclass(frozen=True)
class Ran:
    status: int
    lines: list[str]


def ran(program: Path, *arguments: str) -> Ran:
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    return Ran(done.returncode, (done.stdout + done.stderr).splitlines())


def ran_with(
    folder: Path, giver: Path, receiver: Path, functions: Sequence[str], *arguments: str, program: Path | None = None
) -> Ran:
    """`program`, if not the receiver itself, loads it."""
    plan = plan_transplant(TransplantModule(giver), TransplantModule(receiver), functions)
    moved = Transplants(folder / f"plans-{len(list(folder.iterdir()))}", [plan])
    environment = {**os.environ, "LD_PRELOAD": str(LIBRARY), **moved.environment()}
    done = subprocess.run(
        [program or receiver, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    assert moved.why_not() == ""
    return Ran(done.returncode, (done.stdout + done.stderr).splitlines())


def observed_with(giver: Path, receiver: Path, functions: Sequence[str], *arguments: str) -> Observed:
    plan = plan_transplant(TransplantModule(giver), TransplantModule(receiver), functions)
    program = find_program([str(receiver), *arguments], os.environ)
    return observe(program, (), transplants=[plan], lifecycle=Lifecycle(), environment=dict(os.environ))
