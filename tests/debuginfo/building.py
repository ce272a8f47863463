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
    folder: Path

    def c(self, name: str, *flags: str, compiler: str = "gcc") -> Path:
        """mill.c and other.c, in a folder of its own."""
        return self._build(name, compiler, [PROGRAMS / "mill.c", PROGRAMS / "other.c"], flags)

    def cxx(self, name: str, *flags: str, compiler: str = "g++") -> Path:
        return self._build(name, compiler, [PROGRAMS / "shop.cpp"], flags)

    def rust(self, name: str, *flags: str) -> Path:
        return self._build(name, "rustc", [PROGRAMS / "shop.rs"], flags)

    def _build(self, name: str, compiler: str, sources: list[Path], flags: tuple[str, ...]) -> Path:
        return _built(self.folder / name, compiler, tuple(sources), flags)


@cache
def _built(folder: Path, compiler: str, sources: tuple[Path, ...], flags: tuple[str, ...]) -> Path:
    folder.mkdir()
    # Split debug files and relative file names are found through the folder of the compilation.
    program = folder / "program"
    run(compiler, *flags, *sources, "-o", program, cwd=folder)
    return program
