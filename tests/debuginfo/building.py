"""Compiles the test programs, each way once a session."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"


def needed(tool: str) -> str:
    found = shutil.which(tool)
    if not found:
        pytest.skip(f"{tool} is not installed")
    return found


def run(*command: str | Path, cwd: Path | None = None, stdin: str | None = None) -> str:
    needed(str(command[0]))
    parts = [str(part) for part in command]
    done = subprocess.run(parts, cwd=cwd, input=stdin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


@dataclass(frozen=True)
class Builder:
    """Every way of building is done once and shared: what a test changes it must copy first."""

    folder: Path

    def c(self, *flags: str, compiler: str = "gcc") -> Path:
        return _built(self.folder, compiler, (PROGRAMS / "mill.c", PROGRAMS / "other.c"), flags)

    def rounds(self, *flags: str, compiler: str = "gcc") -> Path:
        return _built(self.folder, compiler, (PROGRAMS / "rounds.c",), flags)

    def choices(self, *flags: str, compiler: str = "gcc") -> Path:
        return _built(self.folder, compiler, (PROGRAMS / "choices.c",), flags)

    def handlers(self, *flags: str, compiler: str = "g++") -> Path:
        return _built(self.folder, compiler, (PROGRAMS / "handlers.cpp",), flags)

    def ways(self, *flags: str, compiler: str = "gcc") -> Path:
        return _built(self.folder, compiler, (PROGRAMS / "ways.c",), flags)

    def jumps(self, *flags: str, compiler: str = "gcc") -> Path:
        return _built(self.folder, compiler, (PROGRAMS / "jumps.c",), flags)

    def cxx(self, *flags: str, compiler: str = "g++") -> Path:
        return _built(self.folder, compiler, (PROGRAMS / "shop.cpp",), flags)

    def rust(self, *flags: str) -> Path:
        return _built(self.folder, "rustc", (PROGRAMS / "shop.rs",), flags)


@cache
def _built(root: Path, compiler: str, sources: tuple[Path, ...], flags: tuple[str, ...]) -> Path:
    folder = root / "".join([sources[0].stem, compiler, *flags]).replace("/", "-")
    folder.mkdir(exist_ok=True)
    # Split debug files and relative file names are found through the folder of the compilation.
    program = folder / "program"
    run(compiler, *flags, *sources, "-o", program, cwd=folder)
    return program
