"""Memory bugs: releases of Python extensions (`cases.toml`) and folders of `bench/cases` with a table `[memory]`."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from bench.cache import SubjectError, kept
from bench.cases.case import Commands, Scenario, Side, commands, folders, scenario, told
from bench.cases.ranks import rank

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Case:
    name: str
    kind: str
    truth: tuple[str, ...]
    origin: str
    make: Callable[[], Commands]

    @cached_property
    def commands(self) -> Commands:
        return self.make()

    def means(self, function: str) -> bool:
        """Whether that is the true function, with whatever it is qualified, parametrised and cloned."""
        return rank([function.split("<", maxsplit=1)[0]], self.truth) is not None


def cases() -> list[Case]:
    with (HERE / "cases.toml").open("rb") as file:
        extensions = [_of_extension(one) for one in tomllib.load(file)["case"]]
    return [*extensions, *(_of_folder(folder, told(folder)) for folder in folders("memory"))]


def _of_folder(folder: Path, text: dict[str, Any]) -> Case:
    make = partial(commands, Scenario(**scenario(folder, text)))
    return Case(folder.name, text["memory"]["kind"], tuple(text["memory"]["cause"]), text["origin"], make)


def _of_extension(text: dict[str, Any]) -> Case:
    def side(version: str) -> Side:
        """Python's own allocator, which keeps small objects together, is left out: for all tools alike."""
        folder, load = built(text["distribution"], version), HERE / "loads" / f"{text['name']}.py"
        return Side(["env", "PYTHONMALLOC=malloc", f"PYTHONPATH={folder}", sys.executable, str(load)], [])

    def make() -> Commands:
        return Commands(side(text["good"]), side(text["bad"]), ready="")

    return Case(text["name"], text.get("kind", "leak"), tuple(text["truth"]), text["origin"], make)


def built(distribution: str, version: str) -> Path:
    """The folder that holds the importable package, with debug information."""

    def make(folder: Path) -> None:
        wheel = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--no-cache-dir",
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
