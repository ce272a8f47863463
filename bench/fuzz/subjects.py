"""What is mutated: small whole inputs of every kind, made without a recorder."""

from __future__ import annotations

import gzip
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

import numpy as np
from tests.collect.counts.machine import counting_machine
from tests.collect.dependences.made_stream import open_deep_recording
from tests.collect.open_recording import OpenRecording
from tests.collect.tracer.made_trace import TracedRecording, event, stack, thread
from tests.collect.tracer.made_trace import name as named
from tests.engines.call_counts.counted_recordings import counted
from tests.engines.contexts.traced import Thread, ran, slept, traced, waited
from tests.engines.made import Made, recording
from tests.engines.relations.stored import stored_sketch, stored_zoom
from tests.engines.values.made import Read, with_values
from tests.importers.made import Event, PerfFile, comm, fork, mmap2, plain_sample
from tests.report import verdicts
from tests.seal.test_damage import record_something
from tests.seal.test_memory import SYMBOLS, introduced, say

from bench.fuzz.running import THEN, run_here
from whyperf.collect.counts import counter_files
from whyperf.collect.counts.raw import COUNTERS, PLANS
from whyperf.collect.tracer.facts import FollowedProcess, KernelCode
from whyperf.collect.tracer.traced import (
    KernelSymbol,
    TracedMapping,
    TracedMappings,
    TracedProcess,
    TracedThread,
)
from whyperf.debuginfo.probes.plan_cache import load_plan
from whyperf.diagnose.verdict import Verdict
from whyperf.recording.raw_log.ringrecords import MemoryEvent
from whyperf.recording.safe_files.limits import MOST_ROWS
from whyperf.recording.schemas.events import EventKind
from whyperf.recording.schemas.tables import TABLES
from whyperf.recording.sealed.latency import Latency, SlowRequest
from whyperf.recording.sealed.manifest import Counting, TraceSummary
from whyperf.recording.sealed.writer import write_recording
from whyperf.report.kept_verdict import keep_verdict
from whyperf.wire import field, nested


class Kind(Enum):
    SEALED = "sealed"
    OPEN = "open"
    FILE = "file"
    KEPT = "kept"


@dataclass(frozen=True)
class Subject:
    """`good` and `bad` lie in one folder; of a file of another tool there is only one."""

    name: str
    kind: Kind
    make: Callable[[Path], None]
    commands: Sequence[Sequence[str]]  # words that begin with @ are paths within the folder


_READ = (("info", "@bad"), ("info", "--json", "@bad"), ("scrub", "@bad", "-o", "@scrubbed"))
_COMPARE = (
    ("diagnose", "@good", "@bad"),
    ("diagnose", "@good", "@bad", "--method", "paper"),
    ("diagnose", "@good", "@bad", "--json", "-", "--explain", "main"),
)
_EXPORT = tuple(
    ("export", "@bad", "--format", name, "-o", "@exported")
    for name in ("collapsed", "speedscope", "pprof", "chrome", "firefox")
)
_WITH_COUNTS = ("diagnose", "--good", "@sampled/good", "@good", "--bad", "@sampled/bad", "@bad")
_STALLED = (("diagnose", "@bad"), ("diagnose", "@bad", "--at", "10ms"))
_IMPORT = ("import", "@bad", "-o", "@imported")
_IMPORTED = (_IMPORT, (*_IMPORT, THEN, "diagnose", "@good", "@imported"))
_KEPT = (("diagnose", "@bad"), ("diagnose", "@bad", "--json", "-"), ("diagnose", "@bad", "--html", "@page.html"))


def _write(path: Path, made: Made) -> None:
    kept = {name: table for name, table in made.tables.items() if table.num_rows or not _is_optional(name)}
    write_recording(path, made.manifest, kept)


def _is_optional(name: str) -> bool:
    return next(table.optional for table in TABLES if table.name == name)


def _sampled(folder: Path, latencies: Mapping[str, Latency] | None = None) -> None:
    rounds = {("plan", 21): 20, ("plan", 22): 20}
    for name, scan in (("good", 0.5), ("bad", 4.0)):
        stacks = [
            (("main", "other"), 1.0),
            (("main", "serve", "plan@21*", "scan*", "probe", "libc:memcmp"), scan),
            (("main", "serve", "plan@22*", "seal"), 0.3),
        ]
        made = recording(
            stacks,
            blocked=[(("main", "read@7", "kernel:futex"), 0.2)],
            decided=rounds,
            every_round=rounds,
            units=100,
            source={"/src/tool.c": (1, "int main() {\n}\n")},
            code={"scan": 5, "plan": 6},
            passed=[("main", "serve")],
            threads=2,
        )
        totals = replace(made.manifest.totals, latency=(latencies or {}).get(name))
        made = replace(made, manifest=replace(made.manifest, totals=totals))
        held = np.arange(1000) * (1 if name == "good" else 50)
        _write(folder / name, with_values(made, Read("scan", "n", held), Read("", "limit", held, scope="global")))


def _kept(verdict: Verdict) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        """What `compare` leaves: recordings in a folder, and its verdict."""
        (folder / "bad").mkdir()
        _sampled(folder / "bad")
        sides = [(folder / "bad" / side).rename(folder / "bad" / f"{side}-1") for side in ("good", "bad")]
        keep_verdict(folder / "bad", ([sides[0]], [sides[1]]), verdict, max_rows=MOST_ROWS)

    return make


def _traced(folder: Path) -> None:
    for name, wait in (("good", 5.0), ("bad", 60.0)):
        main = [ran("main work", 20), waited("main fetch libc:read kernel:schedule", wait, "read", waker=1)] * 3
        helper = [slept("main", 4), ran("main serve", 6)] * 4
        _write(folder / name, traced([Thread(main, main=True), Thread(helper)]))


def _counted(folder: Path) -> None:
    (folder / "sampled").mkdir()
    _sampled(folder / "sampled")
    for name, searches in (("good", 50), ("bad", 200)):
        calls = {("main", "restore"): 10, ("restore@7", "search"): searches, ("main@9", "*"): 3, ("search", "loop"): 9}
        made = counted(calls, {"search": searches})
        _write(folder / name, replace(made, manifest=replace(made.manifest, counting=Counting(sites=4, counted=4))))


def _latency(folder: Path) -> None:
    """Of calls that were timed."""

    def of(cells: dict[str, int], slowest: float) -> Latency:
        calls = tuple(SlowRequest(slowest / number, 0.1 * number, 7, 7) for number in range(1, 5))
        return Latency("calls", 100, cells, function="serve", slowest=calls, lost=1, unfinished=1, nested=2)

    _sampled(folder, {"good": of({"740": 90, "745": 10}, 0.002), "bad": of({"780": 60, "800": 40}, 0.004)})


def _memory(folder: Path) -> None:
    for name, size in (("good", 50_000), ("bad", 900_000)):
        with tempfile.TemporaryDirectory() as raw:
            open_one = OpenRecording(Path(raw) / "rec")
            _allocate(open_one, size)
            open_one.sealed(SYMBOLS)
            shutil.copytree(open_one.path, folder / name)


def _raw_memory(folder: Path) -> None:
    _allocate(OpenRecording(folder / "bad"), 50_000)


def _allocate(into: OpenRecording, size: int) -> None:
    thread = introduced(into)
    for at in range(20):
        say(thread, 200 + 10 * at, MemoryEvent.ALLOCATED, 0x5000 + 0x100000 * at, size)
        say(thread, 205 + 10 * at, MemoryEvent.FAULTED, 0x5000 + 0x100000 * at, 4096, interval=64)
    say(thread, 900, MemoryEvent.FREED, 0x5000)
    say(thread, 910, MemoryEvent.FREED_BEFORE, 0x105000, 905, interval=1)
    into.stop()


_COUNTED = """#include <stdio.h>
__attribute__((noipa)) int leaf(int n) { return n * 3 + 1; }
__attribute__((noipa)) int middle(int n) { return leaf(n) + leaf(n + 1); }
static int (*volatile pointer)(int) = middle;
int main(void) { return middle(3) + pointer(4) > 100; }
"""


def _raw_counts(folder: Path) -> None:
    """The plan of a real program, and counters as it would leave them."""
    open_one = OpenRecording(folder / "bad")
    (open_one.raw / COUNTERS).mkdir()
    with counting_machine() as machine:
        program = machine.compiled(_COUNTED)
        shutil.copytree(machine.plans, open_one.raw / PLANS)
        (build_id,) = (file.stem for file in machine.plans.iterdir())
        plan = load_plan(machine.plans, build_id)
        assert plan is not None
        header = counter_files._HEADER.pack(
            *(counter_files._MAGIC, counter_files._VERSION, 0, 7, 1, 150, counter_files._BLOCK_BYTES, 1, 1, 0, 0, 0)
        )
        row = counter_files._ROW.pack(
            *(bytes.fromhex(build_id), len(build_id) // 2, 0, plan.counters, 64, plan.checksum, 0x5000),
            str(program).encode(),
        )
        counts = np.arange(1, plan.counters + 1, dtype="<u8").tobytes()
        with (open_one.raw / COUNTERS / f"7{counter_files.SUFFIX}").open("wb") as file:
            places = (0, counter_files._HEADER_BYTES, counter_files._BLOCKS_FROM + 64)
            for at, content in zip(places, (header, row, counts), strict=True):
                file.seek(at)
                file.write(content)
            file.truncate(counter_files._BLOCKS_FROM + counter_files._BLOCK_BYTES)
    open_one.stop()


def _raw_trace(folder: Path) -> None:
    """Kernel events of a program and its child, and what is known of them."""
    made = TracedRecording(folder / "bad")
    read, entry = 0xFFFFFFFF81000100, 0xFFFFFFFF81000200
    kernel = KernelCode.of({read: KernelSymbol("vfs_read"), entry: KernelSymbol("do_syscall_64", "x")}, read - 0x100)
    mapped = TracedMappings(5, 7, (TracedMapping(0x5000, 0x6000, 0x5000, "/opt/tool"),))
    tool = TracedProcess(5, 7, 1, "tool", "/opt/tool", ("./tool", "x"), "/box")
    made.fact(
        TraceSummary("bpf", "tree", 49.0), FollowedProcess(7), kernel, mapped, tool, TracedThread(7, 71, "reader")
    )
    made.stacks(stack(1, [0x5210, 0x5110]), stack(2, [read, entry], flags=1), stack(3, [0x5110], flags=2 << 8))
    made.events(
        event(EventKind.EXEC, 10, 7, argument=named("tool")),
        event(EventKind.FORK, 12, 7, other=thread(8), argument=named("tool")),
        event(EventKind.FORK, 13, 7, other=thread(7, 71), argument=named("tool")),
        *(event(EventKind.SYSCALL, 20 + n, 7, stack=1, kernel_stack=2, extra=n) for n in range(9)),
        event(EventKind.RENAME, 40, 7, 71, argument=named("writer")),
    )
    made.events(
        *(event(EventKind.SWITCH, 20 + 2 * n, 8, stack=3, other=thread(7)) for n in range(9)),
        *(event(EventKind.WAKING, 21 + 2 * n, 7, other=thread(8)) for n in range(9)),
        *(event(EventKind.SAMPLE, 50 + n, 8, stack=1, argument=(10_101_010, 0, 0)) for n in range(4)),
        event(EventKind.EXIT, 90, 8),
        cpu=1,
    )
    made.rec.stop()


def _sketch(folder: Path) -> None:
    stored_sketch(folder / "good", 60)
    stored_sketch(folder / "bad", 240)


def _zoom(folder: Path) -> None:
    stored_zoom(folder / "good", 1)
    stored_zoom(folder / "bad", 2)


def _raw(folder: Path) -> None:
    rec = record_something(folder / "bad")
    rec.log = type(rec.log)(rec.raw)
    for said in (
        {"type": "totals", "at": "stop", "totals": {"wall_s": 1.0, "cpu_user_s": 1.0}},
        {"type": "work", "time": 300, "unit": "request", "count": 5},
        {"type": "thread-name", "pid": 7, "tid": 7, "name": "tool"},
        {"type": "traced-process", "time": 110, "pid": 7, "parent": 1, "name": "tool"},
        {"type": "trace", "source": "bpf", "scope": "tree", "sample_hz": 49.0},
    ):
        rec.log.append_json(said)
    rec.log.append(4, bytes(128 * 2))
    rec.log.append(5, (2 << 32 | 1).to_bytes(8, "little") + bytes(16))
    rec.log.close()


def _perf(pipe: bool) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        event = Event()
        records = [
            comm(event, 1, 1, "tool", by_exec=True),
            mmap2(event, 2, 1, "/no/such/tool", 0x400000, 0x10000),
            fork(event, 3, 2, 2, 1, 1),
            *(plain_sample(event, 1000 * n, ip=0x401000 + 16 * (n % 5)) for n in range(1, 40)),
        ]
        file = PerfFile([event, Event(identity=9, name="cycles", type=0)], records)
        (folder / "bad").write_bytes(file.to_pipe() if pipe else file.to_bytes())

    return make


def _pprof(folder: Path) -> None:
    texts = ["", "cpu", "nanoseconds", "main", "work", "/src/tool.c", "tool", "thread"]
    content = nested(1, field(1, 1) + field(2, 2))
    content += b"".join(nested(2, field(1, [2, 1]) + field(2, [5_000_000 * n])) for n in range(1, 9))
    content += nested(3, field(1, 1) + field(5, 6))
    for number in (1, 2):
        line = nested(4, field(1, number) + field(2, 10 + number))
        content += nested(4, field(1, number) + field(2, 1) + field(3, 4096 * number) + line)
        content += nested(5, field(1, number) + field(2, 2 + number) + field(4, 5) + field(5, number))
    content += b"".join(nested(6, text.encode()) for text in texts)
    content += field(9, 1_700_000_000_000_000_000) + field(10, 1_000_000_000) + field(12, 10_000_000)
    (folder / "bad").write_bytes(gzip.compress(content, mtime=0))


def _collapsed(folder: Path) -> None:
    (folder / "bad").write_text("".join(f"main;work{n};leaf_[k] {n}\n" for n in range(1, 30)))


def _imported(make: Callable[[Path], None]) -> Callable[[Path], None]:
    """With what is imported from the whole file to compare with."""

    def both(folder: Path) -> None:
        make(folder)
        run_here(["import", str(folder / "bad"), "-o", str(folder / "good")])

    return both


def _open_deep(phase: str) -> Callable[[Path], None]:
    return lambda folder: (open_deep_recording(folder / "bad", phase), None)[1]


SUBJECTS = (
    Subject("sampled", Kind.SEALED, _sampled, (*_READ, *_COMPARE, *_EXPORT)),
    Subject("traced", Kind.SEALED, _traced, (*_READ, *_COMPARE, *_STALLED)),
    Subject("kept-proof", Kind.KEPT, _kept(verdicts.proven()), _KEPT),
    Subject("kept-waits", Kind.KEPT, _kept(verdicts.waiting()), _KEPT),
    Subject("kept-two-builds", Kind.KEPT, _kept(verdicts.two_builds()), _KEPT),
    Subject("latency", Kind.SEALED, _latency, (*_READ[:2], *_COMPARE)),
    Subject("counted", Kind.SEALED, _counted, (*_READ, _WITH_COUNTS)),
    Subject("memory", Kind.SEALED, _memory, (*_READ, *_COMPARE[:1])),
    Subject("sketch", Kind.SEALED, _sketch, (*_READ[:2], *_COMPARE[:2])),
    Subject("zoom", Kind.SEALED, _zoom, (*_READ[:2], *_COMPARE[:2])),
    Subject("raw", Kind.OPEN, _raw, _READ[:2]),
    Subject("raw-memory", Kind.OPEN, _raw_memory, _READ[:2]),
    Subject("raw-counts", Kind.OPEN, _raw_counts, _READ[:1]),
    Subject("raw-trace", Kind.OPEN, _raw_trace, (*_READ[:1], ("diagnose", "@bad"))),
    Subject("raw-sketch", Kind.OPEN, _open_deep("sketch"), _READ[:1]),
    Subject("raw-zoom", Kind.OPEN, _open_deep("zoom"), _READ[:1]),
    Subject("perf.data", Kind.FILE, _imported(_perf(pipe=False)), _IMPORTED),
    Subject("perf-pipe", Kind.FILE, _imported(_perf(pipe=True)), _IMPORTED),
    Subject("pprof", Kind.FILE, _imported(_pprof), _IMPORTED),
    Subject("collapsed", Kind.FILE, _imported(_collapsed), (*_IMPORTED, (*_IMPORT, "--weights", "ns"))),
)
