"""One execution: a subject, some mutations, a command, all of them decided by one number."""

from __future__ import annotations

import random
import shutil
import subprocess
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.fuzz.mutations import misplace, mutate
from bench.fuzz.running import Outcome, run, run_here
from bench.fuzz.subjects import SUBJECTS, Subject

_UNCHANGEABLE = (OSError, ValueError, KeyError, TypeError, OverflowError, AttributeError, EOFError, zlib.error)
_MISPLACED = 0.08  # of all executions
LIMIT_S = 20.0  # of one command: whole inputs take a second at most


@dataclass(frozen=True)
class Execution:
    seed: str
    subject: str
    mutations: tuple[str, ...]
    command: str
    outcome: Outcome


class Fuzzer:
    """Whole inputs are made once, and read once so that everything is loaded before children are forked."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._whole = folder / "whole"
        for subject in SUBJECTS:
            (self._whole / subject.name).mkdir(parents=True)
            subject.make(self._whole / subject.name)

    def warm_up(self) -> None:
        """Runs every command on whole inputs in this very process; what fails there is no mutation's fault."""
        for subject in SUBJECTS:
            for words in subject.commands:
                run_here(self._words(words, self._copied(subject)))

    def execute(self, seed: str) -> Execution:
        rng = random.Random(seed)
        subject = rng.choice(SUBJECTS)
        copy = self._copied(subject)
        done = tuple(self._mutations(rng, subject, copy))
        words = rng.choice(subject.commands)
        return Execution(seed, subject.name, done, " ".join(words), run(self._words(words, copy), LIMIT_S))

    def _mutations(self, rng: random.Random, subject: Subject, copy: Path) -> Iterator[str]:
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            try:
                yield mutate(rng, subject.kind, copy / "bad")
            except _UNCHANGEABLE:
                break  # the mutation before has left nothing that this one could change
        if rng.random() < _MISPLACED:
            yield misplace(rng, copy / "bad")

    def _copied(self, subject: Subject) -> Path:
        copy = self._folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        # Rings are mostly holes, which Python's own copies would fill.
        subprocess.run(["cp", "-r", "--sparse=always", self._whole / subject.name, copy], check=True)
        return copy

    def _words(self, words: Sequence[str], copy: Path) -> list[str]:
        return [str(copy / word[1:]) if word.startswith("@") else word for word in words]


@contextmanager
def fuzzer() -> Iterator[Fuzzer]:
    with tempfile.TemporaryDirectory(prefix="whyperf-fuzz-") as folder:
        yield Fuzzer(Path(folder))
