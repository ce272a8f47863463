"""Real targets, started by the real command line in processes of their own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE_S
from tests.shared_cache import SHARED_CACHE
from whyperf.recording.raw_log.chunks import ChunkKind, ChunkReader

RECORD = """
import os, sys
from pathlib import Path
from whyperf.cli import main, record

# What these tests look at is the raw log: sealing has its own.
def say_only(outcome, *, quiet):
    if outcome.failure is not None:
        raise outcome.failure
    return outcome.shell_status

record.conclude = say_only
sys.exit(main.main(sys.argv[1:]))
"""


@dataclass(frozen=True)
class Raw:
    """An unsealed recording's chunks."""

    path: Path

    def objects(self, kind: str) -> list[dict[str, Any]]:
        chunks = ChunkReader().in_folder(self.path / "raw")
        found = [chunk.json() for chunk in chunks if chunk.kind == ChunkKind.JSON]
        return [each for each in found if each.get("type") == kind]

    def only(self, kind: str) -> dict[str, Any]:
        (found,) = self.objects(kind)
        return found

    @property
    def samples(self) -> int:
        count = self.only("losses")["counters"]["samples"]
        assert isinstance(count, int)
        return count


@dataclass
class Recorder:
    """Runs `whyperf record -o FOLDER ...`."""

    folder: Path
    environment: Mapping[str, str]

    @property
    def raw(self) -> Raw:
        return Raw(self.folder)

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-c", RECORD, "record", "-o", str(self.folder), *arguments]

    def __call__(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
        options.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run(
            self.command(*arguments),
            capture_output=True,
            timeout=PATIENCE_S,
            env=dict(self.environment),
            check=False,
            **options,
        )

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.command(*arguments),
            env=dict(self.environment),
            stdin=options.pop("stdin", subprocess.DEVNULL),
            stdout=options.pop("stdout", subprocess.PIPE),
            stderr=options.pop("stderr", subprocess.PIPE),
            **options,
        )


@pytest.fixture
def record(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path / "rec", {**os.environ, "XDG_CACHE_HOME": SHARED_CACHE})


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number = probe.getsockname()[1]
    assert isinstance(number, int)
    return number


Compile = Callable[..., Path]


@pytest.fixture
def compiled(tmp_path: Path) -> Compile:
    def build(name: str, source: str, *flags: str) -> Path:
        (tmp_path / f"{name}.c").write_text(source)
        program = tmp_path / name
        subprocess.run(["cc", "-g", "-O1", *flags, "-o", program, tmp_path / f"{name}.c"], check=True)
        return program

    return build


def said(done: subprocess.CompletedProcess[bytes]) -> str:
    """What it said on stderr: never a traceback."""
    text = done.stderr.decode()
    assert "Traceback" not in text
    return text
