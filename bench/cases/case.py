"""One case as its folder tells it (`case.toml`), and the commands that it becomes on this machine."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cache import SubjectError, kept
from bench.carried import driven
from bench.packages import PACKAGES, package
from bench.server import free_port
from bench.subjects import SUBJECTS, own
from bench.tool import whyperf_argument

CASES = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Truth:
    """`cause` is where the mistake is, `spent` where the excess time goes; names as in the source."""

    cause: tuple[str, ...]
    spent: tuple[str, ...]
    file: str
    line: int
    pattern: str
    also: tuple[str, ...]  # patterns that are right as well
    variables: tuple[str, ...]  # whose values tell; any of them is an answer
    in_child: bool = False  # in a process that the command's own one starts


@dataclass(frozen=True)
class Build:
    subject: str
    flags: str = ""
    patch: str = ""  # a file in the case's folder that makes another release of one of our programs or of a package
    driver: str = ""  # a file in the case's folder, the program that uses the subject, which is a library


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """What runs, good and bad; what is to be found is for the kinds of cases to add."""

    id: str
    title: str
    builds: Mapping[str, Build]
    prepare: str  # makes what the commands read, once, in {scratch}
    good: str
    bad: str
    ready: str
    good_drive: str
    bad_drive: str


@dataclass(frozen=True, kw_only=True)
class Case(Scenario):
    truth: Truth


@dataclass(frozen=True)
class Side:
    """What one side runs: no shell is involved."""

    command: list[str]
    drive: list[str]


@dataclass(frozen=True)
class Commands:
    good: Side
    bad: Side
    ready: str  # "tcp:PORT", or empty for programs that end

    def words(self) -> list[str]:
        """As `whyperf compare` takes them."""
        sides = ["--good", whyperf_argument(self.good.command), "--bad", whyperf_argument(self.bad.command)]
        if self.ready:
            sides += ["--ready", self.ready]
            sides += ["--good-drive", whyperf_argument(self.good.drive)]
            sides += ["--bad-drive", whyperf_argument(self.bad.drive)]
        return sides


def told(folder: Path) -> dict[str, Any]:
    with (folder / "case.toml").open("rb") as file:
        return tomllib.load(file)


def scenario(folder: Path, told: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a `Scenario`."""
    return {
        "id": folder.name,
        "title": told["title"],
        "builds": {name: Build(**build) for name, build in told["build"].items()},
        "prepare": told.get("prepare", ""),
        "good": told["good"],
        "bad": told["bad"],
        "ready": told.get("ready", ""),
        "good_drive": told.get("good_drive", ""),
        "bad_drive": told.get("bad_drive", ""),
    }


def load(folder: Path) -> Case:
    text = told(folder)
    truth = text["truth"]
    return Case(
        **scenario(folder, text),
        truth=Truth(
            cause=tuple(truth["cause"]),
            spent=tuple(truth["spent"]),
            file=truth["file"],
            line=truth["line"],
            pattern=truth["pattern"],
            also=tuple(truth.get("also", ())),
            variables=tuple(truth.get("variables", ())),
            in_child=truth.get("in_child", False),
        ),
    )


def folders(kind: str) -> list[Path]:
    """Of the cases that have a table of that name."""
    return [path.parent for path in sorted(CASES.glob("*/case.toml")) if kind in told(path.parent)]


def all_cases() -> list[Case]:
    return [load(folder) for folder in folders("truth")]


@dataclass(frozen=True)
class Compiling:
    """For our own programs, for drivers and for packages: the others are built in one way only."""

    flags: str = ""  # beyond those of all builds and of the case
    compilers: tuple[str, str] = ("gcc", "g++")


AS_USUAL = Compiling()


def commands(case: Scenario, compiling: Compiling = AS_USUAL) -> Commands:
    """Builds and prepares what the case needs, then fills the placeholders of its commands."""
    places = {"python": sys.executable, "case": str(CASES / case.id)}
    places |= {name: str(built(case, build, compiling)) for name, build in case.builds.items()}
    if case.prepare:
        places["scratch"] = str(_prepared(case, places))
    if "{port}" in case.ready:
        places["port"] = str(free_port())

    def filled(text: str) -> list[str]:
        return [word.format_map(places) for word in shlex.split(text)]

    return Commands(
        good=Side(filled(case.good), filled(case.good_drive)),
        bad=Side(filled(case.bad), filled(case.bad_drive)),
        ready=case.ready.format_map(places),
    )


def can_be_rebuilt(case: Scenario) -> bool:
    """Whether other flags and compilers make a difference."""
    return not any(build.subject in SUBJECTS for build in case.builds.values())


def built(case: Scenario, build: Build, compiling: Compiling = AS_USUAL) -> Path:
    """Where the program is: its folder, or of our own ones the program itself."""
    if build.subject in SUBJECTS and not build.patch:
        return SUBJECTS[build.subject]()
    flags = f"{build.flags} {compiling.flags}".strip()
    if build.driver:
        return driven(build.subject, CASES / case.id / build.driver, flags, compiling.compilers, patch_of(case, build))
    if build.subject in PACKAGES:
        return package(build.subject, patch_of(case, build), flags, compiling.compilers[0])
    return own(build.subject, flags, patch_of(case, build), compiling.compilers)


def patch_of(case: Scenario, build: Build) -> Path | None:
    return CASES / case.id / build.patch if build.patch else None


def _prepared(case: Scenario, places: Mapping[str, str]) -> Path:
    scripts = sorted((CASES / case.id).glob("*.py"))

    def make(folder: Path) -> None:
        words = [word.format_map({**places, "scratch": str(folder)}) for word in shlex.split(case.prepare)]
        if subprocess.run(words, check=False).returncode:
            raise SubjectError(f"{case.id}: `{shlex.join(words)}` failed.")

    return kept(f"scratch-{case.id}", [case.prepare, *scripts], make)
