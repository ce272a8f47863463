"""Waiting threads seen from outside: right stacks, right weights, nothing disturbed, bounded cost."""

from __future__ import annotations

import contextlib
import os
import platform
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.collect.watched import Log, Names, Watched, watched
from whyperf.collect._stacks import Reader
from whyperf.collect.usage.blocked import BlockedSampler, ThreadRef
from whyperf.recording.raw_log.ringrecords import CUT_REASONS, RingRecordKind

# As the kernel numbers the call that poll() makes, and as recordings do.
POLL, RECORDED_POLL = {"x86_64": (7, 7), "aarch64": (73, 271)}[platform.machine()]
CLOCK_NANOSLEEP = 230

PROTECTED = {"x86_64": "-fcf-protection=full", "aarch64": "-mbranch-protection=standard"}
BUILDS = (
    "gcc -O0",
    "gcc -O0 -no-pie -DINDIRECT",
    "gcc -O2",
    "gcc -O2 -fno-omit-frame-pointer -fno-plt",
    f"gcc -O2 {PROTECTED[platform.machine()]} -fno-omit-frame-pointer -DINDIRECT",
    "clang -O0",
    "clang -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls",
)


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Watched]:
    with watched(tmp_path) as process:
        yield process


def waited(reader: Reader, pid: int, tid: int) -> tuple[int, list[int], int, bool]:
    for _ in range(200):
        seen = reader.blocked(pid, tid)
        if seen is not None:
            return seen
        time.sleep(0.001)
    raise AssertionError("the thread never waited")


@pytest.mark.parametrize("build", BUILDS)
def test_whole_stack_from_two_registers(build: str, tmp_path: Path) -> None:
    with watched(tmp_path, build, "6") as process:
        time.sleep(0.05)
        reader = Reader(tmp_path)
        number, pcs, cut, moved = waited(reader, process.pid, process.pid)
        names = Names(process, reader).of(pcs)
    # THEN every frame is there, though frame pointers had to be searched for
    assert (number, cut, moved) == (POLL, 0, True)
    assert names[:4] == ["libc", "wait_for_input", "call_it", "compare"]
    assert names.count("descend") == 7
    assert names[-4:] == ["main", "libc", "libc", "_start"]


def test_unmoved_running_and_gone(process: Watched, tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    threads = process.threads()
    time.sleep(0.05)
    first = waited(reader, process.pid, process.pid)
    # WHEN it has not run since THEN nothing but that is different
    again = waited(reader, process.pid, process.pid)
    assert again == (*first[:3], False)
    # A thread that comes back to the same place has moved all the same
    waited(reader, process.pid, threads["napping"])
    time.sleep(0.02)
    assert waited(reader, process.pid, threads["napping"])[3]
    # A running thread has no stack to see
    assert [reader.blocked(process.pid, threads["spinning"]) for _ in range(3)].count(None) >= 2
    with pytest.raises(ProcessLookupError):
        reader.blocked(process.pid, os.getpid())


def test_table_files_are_private_and_damage_is_mended(process: Watched, tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    whole = waited(reader, process.pid, process.pid)[1]
    files = sorted(tmp_path.glob("*.rows"))
    assert len(files) >= 3
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert {module[4] + ".rows" for module in reader.modules(process.pid)} == {file.name for file in files}
    sizes = [file.stat().st_size for file in files]
    # WHEN files are cut short, overwritten or empty
    for number, file in enumerate(files):
        content = bytearray(file.read_bytes())
        damaged = (content[: len(content) // 2], bytes(len(content)), b"")[number % 3]
        file.unlink()  # as any program that replaces a mapped file would
        file.write_bytes(damaged)
    # THEN they are refused and made anew
    assert waited(Reader(tmp_path), process.pid, process.pid)[1] == whole
    assert [file.stat().st_size for file in files] == sizes


def test_tables_folder_that_cannot_be_written(process: Watched) -> None:
    assert waited(Reader("/proc/nowhere"), process.pid, process.pid)[2] == 0


def test_weights_add_up_to_the_time_watched(process: Watched, tmp_path: Path) -> None:
    # GIVEN a sampler that watches three threads for a while
    threads = process.threads()
    refs = [ThreadRef(process.pid, tid, 10 + tid, 5) for tid in threads.values()]
    log = Log()
    sampler = BlockedSampler(tmp_path, lambda: refs, log.append, 50)
    began = time.monotonic_ns()
    sampler.start()
    time.sleep(2.3)
    sampler.stop()
    lasted = time.monotonic_ns() - began
    names = Names(process, Reader(tmp_path))
    records = log.records(RingRecordKind.BLOCKED)
    # THEN the one that never moved has all of the time, in few records
    still = [said for said in records if said.tid == process.pid]
    assert 0.9 * lasted < sum(said.weight_ns for said in still) <= 1.02 * lasted
    assert len(still) <= 5
    assert {said.detail for said in still} == {RECORDED_POLL}
    assert {said.sequence for said in records} <= {ref.sequence for ref in refs}
    # AND the one that naps is seen in both places, about equally
    napping = [said for said in records if said.tid == threads["napping"]]
    assert 0.6 * lasted < sum(said.weight_ns for said in napping) <= 1.05 * lasted
    places = Counter()  # type: ignore[var-annotated]
    for said in napping:
        assert said.detail == CLOCK_NANOSLEEP
        places[names.of(said.pcs)[2]] += said.weight_ns
    assert places.keys() == {"nap_here", "nap_there"}
    assert min(places.values()) > 0.2 * max(places.values())
    # AND the busy one nearly nothing
    assert sum(said.weight_ns for said in records if said.tid == threads["spinning"]) < 0.2 * lasted
    losses = sampler.losses()
    assert losses.looks == losses.blocked + losses.running
    assert losses.cut[0] == losses.blocked


@contextlib.contextmanager
def on_cpus(pid: int, *, same: bool) -> Iterator[None]:
    """The process on one, and this thread with all that it starts on the same one or on the others."""
    usual = os.sched_getaffinity(0)
    one = {min(usual)}
    os.sched_setaffinity(pid, one)
    os.sched_setaffinity(0, one if same else usual - one or one)
    try:
        yield
    finally:
        os.sched_setaffinity(0, usual)


def idle_ns(cpu: int) -> float:
    """Time in which nobody used it."""
    ticks = next(line.split() for line in Path("/proc/stat").read_text().splitlines() if line.startswith(f"cpu{cpu} "))
    return int(ticks[4]) * 1e9 / os.sysconf("SC_CLK_TCK")


def used_ns(pid: int) -> int:
    """Time in which the thread ran, or was ready to run."""
    running, queued, _ = Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()
    return int(running) + int(queued)


@pytest.mark.parametrize("same", [False, True], ids=["beside it", "in its way"])
def test_waits_of_some_microseconds_are_not_missed(tmp_path: Path, same: bool) -> None:
    log = Log()
    with watched(tmp_path, "gcc -O2 -fno-omit-frame-pointer", source="brief_waits.c") as process:
        ref = ThreadRef(process.pid, process.pid)
        sampler = BlockedSampler(tmp_path, lambda: [ref], log.append, 200)
        with on_cpus(process.pid, same=same):
            cpu = min(os.sched_getaffinity(process.pid))
            began, used, idle = time.monotonic_ns(), used_ns(process.pid), idle_ns(cpu)
            sampler.start()
            time.sleep(2)
            sampler.stop()
            lasted, used, idle = time.monotonic_ns() - began, used_ns(process.pid) - used, idle_ns(cpu) - idle
        names = Names(process, Reader(tmp_path))
    records = log.records(RingRecordKind.BLOCKED)
    # THEN looks that come while it waits find it waiting, though it soon goes on; if others use its CPU meanwhile, a
    # look may come when it waits no longer
    losses = sampler.losses()
    waited_alone = min(lasted - used, idle)
    assert losses.blocked >= 0.5 * waited_alone / lasted * losses.looks and losses.blocked > 0
    # AND where it waits; who called that, unless it went on before that could be read, which is counted
    assert {names.of(said.pcs)[0] for said in records} == {"libc"}
    whole = [said for said in records if len(said.pcs) > 1]
    assert {names.of(said.pcs)[2] for said in whole} <= {"wait_briefly"}
    assert losses.cut[CUT_REASONS.index("the thread went on before its stack could be read")] == len(records) - len(
        whole
    )


def test_times_are_in_order_and_within_the_run(process: Watched, tmp_path: Path) -> None:
    log = Log()
    sampler = BlockedSampler(tmp_path, lambda: [ThreadRef(process.pid, process.pid)], log.append, 50)
    began = time.monotonic_ns()
    sampler.start()
    time.sleep(1.5)
    sampler.stop()
    times = [said.time for said in log.records(RingRecordKind.BLOCKED)]
    assert times == sorted(times)
    assert began < times[0] and times[-1] < time.monotonic_ns()


def test_many_threads_cost_no_more(process: Watched, tmp_path: Path) -> None:
    # GIVEN the same threads hundreds of times over: more than fifty looks a second can afford
    refs = [ThreadRef(process.pid, tid, n) for n in range(300) for tid in process.threads().values()]
    log = Log()
    sampler = BlockedSampler(tmp_path, lambda: refs, log.append, 50)
    before = time.process_time()
    sampler.start()
    time.sleep(3)
    sampler.stop()
    # THEN looks become rarer, and each stands for more time
    losses = sampler.losses()
    assert losses.longest_period_ns > 40_000_000
    assert time.process_time() - before < 0.6  # ten times what is meant: a busy machine counts more
    weights = Counter()  # type: ignore[var-annotated]
    for said in log.records(RingRecordKind.BLOCKED):
        weights[said.tid, said.sequence] += said.weight_ns
    assert 1.5e9 < weights[process.pid, 7] < 3.2e9


def test_threads_that_go_are_written_and_counted(tmp_path: Path) -> None:
    log = Log()
    with watched(tmp_path) as process:
        refs = [ThreadRef(process.pid, process.pid, 3, 4)]
        sampler = BlockedSampler(tmp_path, lambda: refs, log.append, 50)
        sampler.start()
        time.sleep(0.4)
    time.sleep(0.2)
    sampler.stop()
    assert sum(said.weight_ns for said in log.records(RingRecordKind.BLOCKED)) > 0.2e9
    assert sampler.losses().gone > 0


def test_a_log_that_takes_nothing_more_ends_it_quietly(process: Watched, tmp_path: Path) -> None:
    def refuse(kind: int, payload: bytes) -> None:
        raise OSError(28, "No space left on device")

    sampler = BlockedSampler(tmp_path, lambda: [ThreadRef(process.pid, process.pid)], refuse, 50)
    sampler.start()
    time.sleep(0.1)
    sampler.stop()
    assert sampler.losses().looks > 0
