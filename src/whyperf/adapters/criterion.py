"""Criterion.rs: `sample.json` has the iterations of every sample. Its warm-up, whose iterations nobody counts, is cut
off: the window opens when it says that it collects samples. Resampling, which takes as long, is reduced to nothing."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from whyperf.adapters.adapted_benchmark import Adapted
from whyperf.adapters.reports import read_report
from whyperf.errors import WhyperfError

MARKS = (b"CRITERION_HOME",)
_COLLECTS = "Collecting"
_BRIEFLY = ("--noplot", "--warm-up-time", "1", "--nresamples", "2")
# Its output and its results go to the folder $0.
_RUN = 'export CRITERION_HOME="$0/results"; exec "$@" > "$0/output"'


def adapt(words: Sequence[str], name: str, scratch: Path) -> Adapted:
    """`scratch`: a folder for the runs of this command, one at a time."""
    run = (*words, *(() if "--bench" in words else ("--bench",)), *_BRIEFLY, f"^{re.escape(name)}$")
    output = shlex.quote(str(scratch / "output"))
    return Adapted(
        ("/bin/sh", "-c", _RUN, str(scratch), *run),
        WhyperfError(f"{words[0]} has no benchmark {name}.", shlex.join([*words, "--bench", "--list"])),
        lambda _recording: _taken(scratch, name),
        ready=f"cmd:grep -qs {_COLLECTS} {output}",
    )


def _taken(scratch: Path, name: str) -> float | None:
    """The iterations, once: the next run must not find them."""
    found = iterations_under(scratch / "results", name)
    shutil.rmtree(scratch / "results", ignore_errors=True)
    (scratch / "output").unlink(missing_ok=True)
    return found


def iterations_under(results: Path, name: str) -> float | None:
    for described in sorted(results.rglob("new/benchmark.json")):
        about, samples = read_report(described), read_report(described.with_name("sample.json"))
        if isinstance(about, dict) and isinstance(samples, dict) and about.get("full_id") == name:
            counts = samples.get("iters")
            if isinstance(counts, list) and all(isinstance(one, int | float) for one in counts):
                return float(sum(counts)) or None
    return None
