"""An odd program: how it is built, how it is run, and why it cannot be had on a machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from bench.cache import BENCH
from bench.watching import PROGRAMS as TEST_PROGRAMS

OWN_PROGRAMS = BENCH / "odd_targets" / "programs"


class AbsentError(Exception):
    """This machine does not have what the target needs; the sentence says what."""


@dataclass(frozen=True)
class Target:
    name: str
    command: Callable[[Path], list[str]]  # builds in that folder what it needs
    environment: dict[str, str] = field(default_factory=dict)
    as_root: bool = False
    known: dict[str, str] = field(default_factory=dict)  # way -> a difference that docs/usage.md tells of


def program(source: str, *arguments: str, flags: str = "", compiler: str = "gcc") -> Callable[[Path], list[str]]:
    """A C program of ours with its arguments; {folder} stands for where programs are built."""

    def command(folder: Path) -> list[str]:
        return [str(built(source, folder, flags, compiler)), *(word.format(folder=folder) for word in arguments)]

    return command


def built(source: str, folder: Path, flags: str = "", compiler: str = "gcc", name: str = "") -> Path:
    needed(compiler)
    made = folder / (name or "-".join([Path(source).stem, compiler, *flags.replace("=", "").replace("-", "").split()]))
    if not made.exists():
        own = OWN_PROGRAMS / source
        file = own if own.exists() else TEST_PROGRAMS / source
        usual = ["-O2", "-g", "-D_GNU_SOURCE", "-pthread", f"-I{TEST_PROGRAMS}"]
        words = [compiler, *usual, "-o", str(made), str(file), *flags.split()]
        done = subprocess.run(words, capture_output=True, text=True, env=os.environ | {"LC_ALL": "C"}, check=False)
        if done.returncode:
            raise AbsentError(f"{compiler} {flags} does not build {source}: {first_line(done.stderr)}")
    return made


def needed(command: str) -> str:
    found = shutil.which(command)
    if found is None:
        raise AbsentError(f"{command} is not installed")
    return found


def library(name: str) -> str:
    """The path of a shared library by its file name, as the linker's cache has it."""
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    for line in listed.splitlines():
        if line.split(" ", 1)[0].strip() == name:
            return line.rsplit("=> ", 1)[1]
    raise AbsentError(f"{name} is not installed")


def first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
