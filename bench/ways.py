"""The ways in which whyperf watches a program, as words before its command."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.cache import BENCH
from bench.tool import whyperf_command


@dataclass(frozen=True)
class Way:
    options: tuple[str, ...] = ()  # of `whyperf record`
    probes: str = ""  # how `bench.probed` does the same where it is told in which files; without options, everywhere

    def words(self, said: Path, command: Sequence[str], files: Sequence[Path] = ()) -> list[str]:
        """The whole command, which leaves what it saw at `said`. `files` are those that the command's children run."""
        if self.probes and (files or not self.options):
            where = [word for file in files for word in ("--in", str(file))]
            probed = [sys.executable, "-P", str(BENCH / "probed.py"), "--by", self.probes, "--said", str(said)]
            return [*probed, *where, "--", *command]
        return [*whyperf_command(), "record", *self.options, "--quiet", "-o", str(said), "--", *command]

    def missing(self, said: Path) -> str:
        """What a run without any difference did not leave; empty: it was watched."""
        if said.is_dir():
            return "" if (said / "manifest.json").exists() else "but there is no recording"
        if not said.exists():
            return "but nothing was said"
        passed = int(json.loads(said.read_text())["passed"])
        return "" if passed else f"but no probe was passed: {said.read_text()}"


WAYS = {
    "record": Way(("--rate", "1000")),
    "counts": Way(("--counts",), probes="counting"),
    "trace": Way(("--trace",)),
    "memory": Way(("--memory", "--memory-interval", "16K")),
    "observed": Way(probes="observing"),
    "blocks": Way(probes="noting"),
}
