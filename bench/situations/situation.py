"""A folder of `bench/situations`: a program, its good and its bad command, and the truth about them."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cache import SubjectError, cache_folder
from bench.cpu_quota import ROOT, cpu_quota

FOLDER = Path(__file__).parent
_FLAGS = ("-O2", "-g", "-pthread", "-fno-omit-frame-pointer")


@dataclass(frozen=True)
class Situation:
    name: str
    title: str
    kind: tuple[str, ...]  # of the symptom; any of them is right
    cause: tuple[str, ...]  # functions, modules or processes, any of which is right
    says: str  # a word that the verdict must hold, where there is no function to blame
    good: str
    bad: str
    ready: str
    drive: str
    beside: str  # runs beside the commands, as a part of neither; prints a line when it is ready
    cpu_quota: float  # of the group {quota}; 0: none is needed

    @property
    def folder(self) -> Path:
        return FOLDER / self.name


def situations(names: list[str]) -> list[Situation]:
    found = sorted(path.parent for path in FOLDER.glob("*/truth.toml"))
    chosen = [path for path in found if not names or path.name in names]
    if unknown := set(names) - {path.name for path in chosen}:
        raise SubjectError(f"There is no situation {', '.join(sorted(unknown))}.")
    return [_read(path) for path in chosen]


def _read(folder: Path) -> Situation:
    truth: Mapping[str, Any] = tomllib.loads((folder / "truth.toml").read_text())
    return Situation(
        folder.name,
        truth["title"],
        tuple(truth["kind"]),
        tuple(truth.get("cause", ())),
        truth.get("says", ""),
        truth["good"],
        truth["bad"],
        truth.get("ready", ""),
        truth.get("drive", ""),
        truth.get("beside", ""),
        float(truth.get("cpu_quota", 0.0)),
    )


@dataclass(frozen=True)
class Commands:
    """What is typed, with every place filled in."""

    good: str
    bad: str
    ready: str
    drive: str


@contextlib.contextmanager
def prepared(situation: Situation, scratch: Path) -> Iterator[Commands]:
    """Builds the program and makes what the commands need; `scratch` is a folder that any user may write to."""
    words = {
        "program": str(_built(situation)),
        "folder": str(situation.folder),
        "scratch": str(scratch),
        "python": shutil.which("python3", path="/usr/bin:/bin") or sys.executable,  # which any user may run
        "port": str(_free_port()),
    }
    with cpu_quota(situation.cpu_quota) if situation.cpu_quota else contextlib.nullcontext(ROOT) as group:
        words["quota"] = str(group)
        texts = (situation.good, situation.bad, situation.ready, situation.drive)
        with _beside(_filled(situation.beside, words)):
            yield Commands(*(_filled(text, words) for text in texts))


@contextlib.contextmanager
def _beside(command: str) -> Iterator[None]:
    """Keeps a process running that is a child of neither command."""
    if not command:
        yield
        return
    with subprocess.Popen(split(command), stdout=subprocess.PIPE) as process:
        try:
            if process.stdout is None or not process.stdout.readline():
                raise SubjectError(f"What must run beside the commands does not start: {command}")
            yield
        finally:
            process.kill()


def _filled(text: str, words: Mapping[str, str]) -> str:
    for name, value in words.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _built(situation: Situation) -> Path:
    """The program; a script is its own."""
    folder = cache_folder() / "situations"
    folder.mkdir(parents=True, exist_ok=True)
    for source, compiler in ((situation.folder / "program.c", "cc"), (situation.folder / "program.cc", "c++")):
        if source.exists():
            program = folder / situation.name
            subprocess.run([compiler, *_FLAGS, str(source), "-o", str(program)], check=True)
            return program
    return situation.folder / "program.py"


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def split(command: str) -> list[str]:
    return shlex.split(command)
