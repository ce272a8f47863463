"""Two builds of each case's extension, with debug information."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from bench.cache import SubjectError, kept

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Case:
    name: str
    distribution: str
    good: str
    bad: str
    truth: tuple[str, ...]
    origin: str

    @property
    def load(self) -> Path:
        return HERE / "loads" / f"{self.name}.py"

    def command(self, side: str) -> list[str]:
        """Python's own allocator, which keeps small objects together, is left out: for all tools alike."""
        version = self.good if side == "good" else self.bad
        folder = built(self.distribution, version)
        return ["env", "PYTHONMALLOC=malloc", f"PYTHONPATH={folder}", sys.executable, str(self.load)]


def cases() -> list[Case]:
    with (HERE / "cases.toml").open("rb") as file:
        found = tomllib.load(file)["case"]
    return [Case(**{**one, "truth": tuple(one["truth"])}) for one in found]


def built(distribution: str, version: str) -> Path:
    def make(folder: Path) -> None:
        wheel = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--no-deps",
            "--no-build-isolation",
            "--no-binary",
            ":all:",
        ]
        flags = {"CFLAGS": "-g -O2 -fno-omit-frame-pointer -w", "CXXFLAGS": "-g -O2 -w", "MULTIDICT_DEBUG_BUILD": ""}
        done = subprocess.run(
            [*wheel, "--target", str(folder), f"{distribution}=={version}"],
            env={**os.environ, **flags},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SubjectError(f"{distribution} {version} cannot be built: {done.stderr.strip()[-1500:]}")

    return kept(f"memory-{distribution}-{version}", [distribution, version], make)
