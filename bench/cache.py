"""Where subjects are kept, and how each is built at most once."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

BENCH = Path(__file__).resolve().parent


class SubjectError(Exception):
    """A subject cannot be had on this machine: the sentence says what to install or allow."""


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/whyperf/bench`, or `.cache/bench` in the checkout."""
    home = os.environ.get("XDG_CACHE_HOME")
    folder = Path(home) / "whyperf" / "bench" if home else BENCH.parent / ".cache" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def kept(name: str, recipe: Iterable[str | Path], make: Callable[[Path], None]) -> Path:
    """The folder that `make` filled; made again only when the recipe (texts and files) has changed."""
    digest = hashlib.sha256()
    for part in recipe:
        digest.update(part.read_bytes() if isinstance(part, Path) else part.encode())
        digest.update(b"\0")
    folder = cache_folder() / f"{name}-{digest.hexdigest()[:12]}"
    with locked(folder.with_suffix(".lock")):
        if not (folder / ".done").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            print(f"building {name} ...", file=sys.stderr, flush=True)
            make(folder)
            (folder / ".done").touch()
    return folder


def run(command: Sequence[str | Path], folder: Path, extra_environment: dict[str, str] | None = None) -> None:
    """Runs one build step; its output is shown only when it fails."""
    environment = os.environ | {"LC_ALL": "C"} | (extra_environment or {})
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise SubjectError(f"{command[0]} is not installed: {error}") from error
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines()[-15:]
        raise SubjectError(f"`{' '.join(map(str, command))}` failed:\n" + "\n".join(said))


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Waits until no other runner has it."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
