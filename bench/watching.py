"""Runs a command as it is and under the sampler, and tells what the outside world saw of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.cache import BENCH
from bench.tool import whyperf_command
from bench.ways import WAYS

RATE = 1000
PROGRAMS = BENCH.parent / "tests" / "transparency" / "programs"
_OWN_WORDS = re.compile(r"^(whyperf:|  try:).*\n?", re.MULTILINE)


@dataclass(frozen=True)
class Seen:
    """What a caller of the command gets."""

    status: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Watched:
    seen: Seen
    samples: int
    sampled_s: float  # CPU time that samples stand for
    cpu_s: float  # CPU time that was used
    unsampled_s: float  # of it, what the recording says no sample stands for
    unfollowed: dict[str, str]  # program's file name -> reason
    programs: tuple[str, ...]  # file names of the programs that were watched


def unwatched(command: list[str], cwd: Path, env: dict[str, str] | None = None, timeout: float = 120) -> Seen:
    done = subprocess.run(
        command,
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return Seen(done.returncode, done.stdout, done.stderr)


def watched(
    command: list[str],
    cwd: Path,
    folder: Path,
    env: dict[str, str] | None = None,
    timeout: float = 240,
    *,
    options: tuple[str, ...] = (),
) -> Watched:
    """The command under `whyperf record` at 1000 Hz; whyperf's own lines are taken out of stderr."""
    recorder = [*whyperf_command(), "record", "--rate", str(RATE), *options, "--force", "-o", str(folder), "--"]
    seen = unwatched(recorder + command, cwd, env, timeout)
    seen = Seen(seen.status, seen.stdout, _OWN_WORDS.sub("", seen.stderr))
    return _told(seen, folder)


def watched_by(
    way: str, command: list[str], cwd: Path, said: Path, *, programs: Sequence[Path] = (), timeout: float = 240
) -> tuple[Seen, str]:
    """The command watched in one of `WAYS`, which leaves what it saw at `said`; and why it was not watched, if so.
    `programs` are those that the command starts, and that probes go into."""
    seen = unwatched(WAYS[way].words(said, command, programs), cwd, timeout=timeout)
    return Seen(seen.status, seen.stdout, _OWN_WORDS.sub("", seen.stderr)), WAYS[way].missing(said)


def _told(seen: Seen, folder: Path) -> Watched:
    from pyarrow import parquet

    manifest = json.loads((folder / "manifest.json").read_text())
    programs = parquet.read_table(folder / "processes.parquet")["executable"].to_pylist()
    samples = parquet.read_table(folder / "samples.parquet", columns=["weight"])
    totals = manifest["totals"]
    return Watched(
        seen=seen,
        samples=samples.num_rows,
        sampled_s=sum(samples["weight"].to_pylist()) / 1e9,
        unsampled_s=manifest["losses"].get("unsampled_cpu_s", 0.0),
        cpu_s=totals["cpu_user_s"] + totals["cpu_system_s"],
        unfollowed={Path(one["path"]).name: one["reason"] for one in manifest["losses"]["unfollowed"]},
        programs=tuple(sorted({Path(str(program)).name for program in programs})),
    )


def compiled(source: str, folder: Path, *flags: str, compiler: str = "gcc", name: str | None = None) -> Path:
    """Compiles one of the programs that tests/transparency holds."""
    path = folder / (name or Path(source).stem)
    if not path.exists():
        command = [compiler, "-O2", "-g", "-D_GNU_SOURCE", "-o", str(path), str(PROGRAMS / source), *flags]
        subprocess.run(command, check=True, capture_output=True, env=os.environ | {"LC_ALL": "C"})
    return path
