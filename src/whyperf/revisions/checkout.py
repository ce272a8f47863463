"""Built checkouts, one for each commit and build command, kept in the cache.

revisions/KEY.lock      held for writing while it is built or removed, for reading while it is used
revisions/KEY/tree      the checkout, with what was built in it
revisions/KEY/log       what the build printed
revisions/KEY/finished  written when the build has succeeded: without it nothing else counts
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from whyperf.comparison.progress import Steps
from whyperf.errors import WhyperfError
from whyperf.recording.safe_files.private_folders import cache_root, private_folder
from whyperf.report.printable import printable
from whyperf.revisions.edits import Edit, apply
from whyperf.revisions.eviction import evict, size_of
from whyperf.revisions.git import Commit, Repository, commit_of, outside_of_repositories, resolve
from whyperf.revisions.tree import check_out

FINISHED, LOG, TREE = "finished", "log", "tree"
_TICK_S = 0.2
_PATIENCE_S = 3.0  # with an interrupted build, before it is killed
_LOG_TAIL = 1 << 14
# What compilers and their drivers listen to: with another of these it is another build.
_HEEDED = (
    "CC",
    "CXX",
    "CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "MAKEFLAGS",
    "RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "GOFLAGS",
)


class BuildError(WhyperfError):
    """A commit that does not build: of use to those who try another one."""


@dataclass(frozen=True)
class Built:
    """A built checkout. It is not removed as long as this object lives."""

    commit: str
    subject: str
    top: Path  # of the checkout
    folder: Path  # in it, where the user is in their own
    lock: IO[bytes] = field(repr=False, compare=False)


def revisions_cache() -> Path:
    """Where built checkouts are kept; `rm -rf` of it is safe when no whyperf runs."""
    return cache_root() / "revisions"


def built(
    repository: Repository,
    revision: str,
    build: str | None,
    *,
    cache: Path | None = None,
    shown: Steps | None = None,
    again: bool = False,
    variant: Variant | None = None,
) -> Built:
    """The checkout of `revision`, in which `build` has run once: now or before. BuildError where it does not build.

    `build` is a shell's command, run where the user is within the repository; None leaves the checkout as it is.
    `again` builds it once more. A `variant` is another checkout of its own.
    """
    commit = commit_of(repository, resolve(repository, revision))
    root = cache or revisions_cache()
    try:
        private_folder(root)
        return _Place(root, repository, commit, build, shown, variant=variant).get(again)
    except OSError as error:
        raise WhyperfError(
            f"{error.filename or root} cannot be written: {error.strerror}.",
            f"du -sh {shlex.quote(str(root))}; df -h {shlex.quote(str(root))}",
        ) from None


@dataclass(frozen=True)
class Variant:
    """A commit with changes of ours."""

    name: str  # for progress
    edits: tuple[Edit, ...] = ()


class _Place:
    """Where one commit's build is, or will be."""

    def __init__(
        self,
        root: Path,
        repository: Repository,
        commit: Commit,
        build: str | None,
        shown: Steps | None,
        *,
        variant: Variant | None = None,
    ) -> None:
        self._repository, self._commit, self._build, self._variant = repository, commit, build, variant
        self._shown = shown
        self._root = root
        heeded = [f"{name}={os.environ[name]}" for name in _HEEDED if name in os.environ]
        parts = [commit.commit, str(repository.git_folder.resolve()), str(repository.inside), build or "", *heeded]
        if variant is not None:
            parts.append(repr(variant))
        self._folder = root / hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()[:20]
        self._tree = self._folder / TREE

    def get(self, again: bool) -> Built:
        lock = self._folder.with_suffix(".lock").open("wb")
        try:
            while again or not self._use(lock):
                self._wait(lock)
                # Another process may have finished it while we waited.
                if again or not self._is_finished():
                    self._make()
                again = False  # and once more from the start: a lock for writing becomes one for reading in two steps
            return Built(
                self._commit.commit, self._commit.subject, self._tree, self._tree / self._repository.inside, lock
            )
        except BaseException:
            lock.close()
            raise

    def _use(self, lock: IO[bytes]) -> bool:
        """Whether there is a finished build, which then is ours to read."""
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        if self._is_finished():
            os.utime(self._folder / FINISHED)
            return True
        return False

    def _wait(self, lock: IO[bytes]) -> None:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._step(f"waiting for another whyperf that uses {self._commit.short}")
            fcntl.flock(lock, fcntl.LOCK_EX)

    def _is_finished(self) -> bool:
        return (self._folder / FINISHED).exists() and self._tree.is_dir()

    def _make(self) -> None:
        # The mark goes first: what is half removed or half built is never taken for finished.
        (self._folder / FINISHED).unlink(missing_ok=True)
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(mode=0o700)
        self._step(f"checking out {self._commit.short} {printable(self._commit.subject)}")
        try:
            check_out(self._repository.git_folder, self._commit.commit, self._tree)
        except WhyperfError as error:
            raise BuildError(error.sentence, error.next_command) from None
        if self._variant is not None:
            apply(self._tree, self._variant.edits)
        if self._build:
            name = f" {self._variant.name}" if self._variant is not None else ""
            self._step(f"building {self._commit.short}{name} {printable(self._commit.subject)}")
            self._run_build(self._build)
        about = {"commit": self._commit.commit, "build": self._build, "bytes": size_of(self._folder)}
        new = self._folder / f"{FINISHED}.new"
        new.write_text(json.dumps(about) + "\n")
        new.replace(self._folder / FINISHED)
        evict(self._root)

    def _run_build(self, command: str) -> None:
        folder = self._tree / self._repository.inside
        if not folder.is_dir():
            raise BuildError(
                f"{self._commit.short} has no folder {self._repository.inside}, in which you are.",
                f"cd {shlex.quote(str(self._repository.top))}",
            )
        log = self._folder / LOG
        with log.open("wb") as output:
            build = subprocess.Popen(
                ("/bin/sh", "-c", command),
                cwd=folder,
                env={**outside_of_repositories(), "PWD": str(folder)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
            status = self._end_of(build)
        if status != 0:
            shutil.rmtree(self._tree, ignore_errors=True)  # the log says enough
            how = f"with status {status}" if status > 0 else f"by signal {-status}"
            last = _last_line(log)
            said = f": {last}" if last else ""
            raise BuildError(
                f"The build of {self._commit.short} ended {how}{said} ({log}).", f"less {shlex.quote(str(log))}"
            )

    def _end_of(self, build: subprocess.Popen[bytes]) -> int:
        """Its status; whatever interrupts us ends all of it."""
        try:
            while True:
                try:
                    return build.wait(_TICK_S)
                except subprocess.TimeoutExpired:
                    self._tick()
        except BaseException:
            _end_group(build)
            raise

    def _step(self, what: str) -> None:
        if self._shown is not None:
            self._shown.step(what, 0.0, None)

    def _tick(self) -> None:
        if self._shown is not None:
            self._shown.tick()


def _end_group(build: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(build.pid, number)
            build.wait(max(deadline - time.monotonic(), 0.0) if number == signal.SIGTERM else None)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def _last_line(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(log.stat().st_size - _LOG_TAIL, 0))
        lines = [line.strip() for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else ""
