"""Coverage and error of inferred latencies, against what programs logged of themselves in the same run."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.contexts.entries import read_entries
from bench.contexts.held import Accuracy, Held, held_against
from bench.contexts.instrumented import TruthRun
from bench.contexts.latencies import infer
from bench.contexts.recorded import TRACED, record
from whyperf.engines.contexts.settings import Sources
from whyperf.recording.sealed.reader import Recording

# The paper's names: system calls; with context switches; it simulated more of those where we take clock samples.
# Without system calls: what is left when their stacks are shed.
EVERYTHING = "HCTX"
SOURCES = {
    "SYS": Sources.SYSTEM_CALLS,
    "LCTX": Sources.SYSTEM_CALLS | Sources.SWITCHES,
    EVERYTHING: Sources.ALL,
    "no calls": Sources.SWITCHES | Sources.SAMPLES,
}


@dataclass(frozen=True)
class TruthResult:
    name: str
    title: str
    functions: int
    calls: int
    by_source: dict[str, Held]


def truth_of(run: TruthRun) -> TruthResult:
    scratch = Path(tempfile.mkdtemp(prefix="whyperf-truth-"))
    try:
        log, path = scratch / "log", scratch / "recording"
        log.mkdir()
        side, ready = run.side(scratch, log)
        record(side, ready, path, *TRACED)
        recording = Recording(path)
        times, tids = recording.column("events", "time"), recording.column("threads", "tid")
        window = recording.manifest.window  # from when it was ready: nothing before is looked at
        truth = read_entries(log).within(max(int(times[0]), window.start), min(int(times[-1]), window.end))
        held = {name: held_against(truth, infer(recording, sources), tids) for name, sources in SOURCES.items()}
        return TruthResult(run.name, run.title, len(truth.names), truth.node.size, held)
    finally:
        shutil.rmtree(scratch)


def markdown(results: Sequence[TruthResult]) -> str:
    head = (
        "program", "sources", "contexts covered", "slowest 1%", "error of their time", "slowest 1% by call",
        "error of their calls", "instances covered", "slowest 1%", "error", "conservative", "aggressive", "wrong paths",
    )  # fmt: skip
    rows = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for result in results:
        for source, held in result.by_source.items():
            slow = held.slowest_instances
            cells = (
                result.name,
                source,
                _coverage(held.contexts),
                _coverage(held.slowest_contexts),
                _percent(held.slowest_contexts.expected),
                _coverage(held.slowest_calls),
                _percent(held.slowest_calls.expected),
                _coverage(held.instances),
                _coverage(slow),
                *(_percent(error) for error in (slow.expected, slow.conservative, slow.aggressive)),
                _percent(held.unmatched),
            )
            rows.append(f"| {' | '.join(cells)} |")
    told = (f"{one.name}: {one.title}; {one.calls:,} calls of {one.functions} functions." for one in results)
    return "\n".join([*rows, "", *told])


def _coverage(accuracy: Accuracy) -> str:
    return f"{_percent(accuracy.coverage)} of {accuracy.count:,}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}%"
