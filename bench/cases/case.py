"""One case as its folder tells it (`case.toml`), and the commands that it becomes on this machine."""

from __future__ import annotations

import shlex
import socket
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cache import SubjectError, kept
from bench.subjects import SUBJECTS, own

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


@dataclass(frozen=True)
class Build:
    subject: str
    flags: str


@dataclass(frozen=True)
class Case:
    id: str
    title: str
    builds: Mapping[str, Build]
    prepare: str  # makes what the commands read, once, in {scratch}
    good: str
    bad: str
    ready: str
    good_drive: str
    bad_drive: str
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


def load(folder: Path) -> Case:
    with (folder / "case.toml").open("rb") as file:
        told: dict[str, Any] = tomllib.load(file)
    truth = told["truth"]
    return Case(
        id=folder.name,
        title=told["title"],
        builds={name: Build(build["subject"], build.get("flags", "")) for name, build in told["build"].items()},
        prepare=told.get("prepare", ""),
        good=told["good"],
        bad=told["bad"],
        ready=told.get("ready", ""),
        good_drive=told.get("good_drive", ""),
        bad_drive=told.get("bad_drive", ""),
        truth=Truth(
            cause=tuple(truth["cause"]),
            spent=tuple(truth["spent"]),
            file=truth["file"],
            line=truth["line"],
            pattern=truth["pattern"],
            also=tuple(truth.get("also", ())),
            variables=tuple(truth.get("variables", ())),
        ),
    )


def all_cases() -> list[Case]:
    return [load(path.parent) for path in sorted(CASES.glob("*/case.toml"))]


def commands(case: Case, more_flags: str = "") -> Commands:
    """Builds and prepares what the case needs, then fills the placeholders of its commands.

    `more_flags` is for our own programs only: others have build systems of their own.
    """
    places = {"python": sys.executable, "case": str(CASES / case.id)}
    places |= {name: str(_built(build, more_flags)) for name, build in case.builds.items()}
    if case.prepare:
        places["scratch"] = str(_prepared(case, places))
    if "{port}" in case.ready:
        places["port"] = str(_free_port())

    def filled(text: str) -> list[str]:
        return [word.format_map(places) for word in shlex.split(text)]

    return Commands(
        good=Side(filled(case.good), filled(case.good_drive)),
        bad=Side(filled(case.bad), filled(case.bad_drive)),
        ready=case.ready.format_map(places),
    )


def is_ours(case: Case) -> bool:
    return not any(build.subject in SUBJECTS for build in case.builds.values())


def _built(build: Build, more_flags: str) -> Path:
    if build.subject in SUBJECTS:
        return SUBJECTS[build.subject]()
    return own(build.subject, f"{build.flags} {more_flags}".strip())


def _prepared(case: Case, places: Mapping[str, str]) -> Path:
    scripts = sorted((CASES / case.id).glob("*.py"))

    def make(folder: Path) -> None:
        words = [word.format_map({**places, "scratch": str(folder)}) for word in shlex.split(case.prepare)]
        if subprocess.run(words, check=False).returncode:
            raise SubjectError(f"{case.id}: `{shlex.join(words)}` failed.")

    return kept(f"scratch-{case.id}", [case.prepare, *scripts], make)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
