"""Rings to raw log: everything that was produced, once, whatever state the producers are in."""

from __future__ import annotations

import errno
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.collect import ring_producer
from tests.collect.log_twin import as_put, decode, decode_file
from tests.collect.ring_producer import CLAIMED, DONE, FREE, RING_BYTES, SLOTS, TAKEN, Rings
from whyperf.collect._session import Drainer, create
from whyperf.recording.raw_log import ringrecords as records
from whyperf.recording.raw_log.ringrecords import ProcessOrigin, RingRecordKind


@pytest.fixture
def rings(tmp_path: Path) -> Rings:
    return Rings(tmp_path / "rings")


@pytest.fixture
def log(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path / "log", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    yield descriptor
    os.close(descriptor)


def emptied(folder: Path) -> Path:
    """For each example anew: rings files are large."""
    for path in folder.iterdir():
        path.unlink()
    return folder


def logged(log: int) -> bytes:
    return os.pread(log, 1 << 30, 0)


def test_only_the_owner_can_read_the_rings_file_and_it_is_never_replaced(rings: Rings) -> None:
    assert rings.path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        create(rings.path, 200, False, "/t", "/l")


def test_names_the_library_and_the_rate(rings: Rings) -> None:
    drainer = Drainer(rings.path)
    assert drainer.library == "/opt/libwhyperf_sampler.so"
    assert drainer.rate_hz == 200


@pytest.mark.parametrize("content", [b"", b"short", bytes(300 << 20)], ids=["empty", "short", "zeros"])
def test_refuses_what_is_not_a_rings_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "odd").write_bytes(content[:64])
    os.truncate(tmp_path / "odd", len(content))
    with pytest.raises(ValueError, match="not a rings file"):
        Drainer(tmp_path / "odd")
    with pytest.raises(FileNotFoundError):
        Drainer(tmp_path / "absent")


def test_a_rings_file_cut_short_while_mapped_is_an_error_and_not_a_crash(rings: Rings, log: int) -> None:
    drainer = Drainer(rings.path)
    os.truncate(rings.path, 4096)
    with pytest.raises(ValueError, match="cut short"):
        drainer.drain(log)


_records = st.one_of(
    st.builds(
        records.sample,
        st.integers(1, 2**62),
        st.lists(st.integers(1, 2**64 - 1), max_size=40) | st.just([7, 8, 9]),
        st.integers(0, 2**24 - 1),
        st.integers(0, 8),
    ),
    st.builds(
        lambda t, p: records.process(t, 5, 1, ProcessOrigin.EXEC, executable=p),
        st.integers(1, 2**62),
        st.text("ab", max_size=90),
    ),
    st.builds(lambda t, n: ring_producer.thread_end(t, n, "worker"), st.integers(1, 2**62), st.integers(0, 2**40)),
    st.builds(ring_producer.module_gone, st.integers(1, 2**62), st.integers(0, 2**63)),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 2), _records, st.booleans()), max_size=400), st.booleans())
def test_what_comes_out_is_what_went_in(tmp_path: Path, steps: list[tuple[int, bytes, bool]], new_files: bool) -> None:
    folder = emptied(tmp_path)
    rings = Rings(folder / "rings")
    drainer = Drainer(rings.path)
    threads = [rings.take(i * 100, 10 + i, 20 + i) for i in range(3)]
    put: list[list[object]] = [[], [], []]
    files = [folder / "log-1"]
    log = os.open(files[-1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for which, record, drain in steps:
        if threads[which].put(record):
            put[which].append(as_put(threads[which].sequence, record))
        if drain:
            drainer.drain(log)
            if new_files:
                os.close(log)
                drainer.new_log_file()
                files.append(folder / f"log-{len(files) + 1}")
                log = os.open(files[-1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    drainer.drain(log)
    os.close(log)

    # Every file is readable alone, so stacks are resolved file by file; what is repeated is only what is known.
    out = [record for file in files for record in decode_file(file)]
    for thread, expected in zip(threads, put, strict=True):
        mine = [record for record in out if record[0] == thread.sequence]
        if not new_files:
            assert mine == expected
        else:
            assert [r for r in mine if r[1] != RingRecordKind.PROCESS] == [
                r for r in expected if r[1] != RingRecordKind.PROCESS
            ]
            assert {r for r in mine if r[1] == RingRecordKind.PROCESS} == {
                r for r in expected if r[1] == RingRecordKind.PROCESS
            }
        assert thread.tail == thread.head


def test_a_stack_is_written_once_a_file(rings: Rings, log: int) -> None:
    thread = rings.take(0, 1, 1)
    for at in range(40):
        thread.put(records.sample(at + 1, list(range(1, 200))))
    drainer = Drainer(rings.path)
    assert drainer.drain(log) == 40
    assert len(logged(log)) < 2 * 200 * 8 + 40 * 24


def test_a_new_file_repeats_living_processes_and_what_forked_ones_inherited(rings: Rings, log: int) -> None:
    # GIVEN a process with a module, its fork, and a module that has gone again
    parent, child = rings.take(0, 100, 100), rings.take(1, 101, 101)
    parent.put(records.process(10, 100, 1, ProcessOrigin.EXEC, executable="/bin/server"))
    parent.put(records.module(11, 0x1000, 0x2000, bias=0x1000, path="/bin/server"))
    parent.put(records.module(12, 0x8000, 0x9000, bias=0x8000, path="/lib/plugin.so"))
    parent.put(ring_producer.module_gone(13, 0x8000))
    child.put(records.process(20, 101, 100, ProcessOrigin.FORK, executable="/bin/server"))
    drainer = Drainer(rings.path)
    drainer.drain(log)
    before = len(logged(log))
    # WHEN a new log file begins
    drainer.new_log_file()
    drainer.drain(log)
    # THEN it introduces both, each with the one module that is still mapped, the child's from its beginning on
    again = decode(logged(log)[before:])
    assert [(sequence, kind, time) for sequence, kind, _, time, _ in again] == [
        (parent.sequence, RingRecordKind.PROCESS, 10),
        (parent.sequence, RingRecordKind.MODULE, 11),
        (child.sequence, RingRecordKind.PROCESS, 20),
        (child.sequence, RingRecordKind.MODULE, 20),
    ]
    # AND the next drain does not
    before = len(logged(log))
    drainer.drain(log)
    assert len(logged(log)) == before


def test_threads_are_retired_when_done_dead_or_replaced_by_an_exec(rings: Rings, log: int) -> None:
    # GIVEN a thread that ended, one that was killed, one that exec replaced, one that lives and one being taken
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    own = os.getpid()
    done, dead = rings.take(0, own, own), rings.take(1, gone.pid, gone.pid)
    replaced, living, claimed = rings.take(2, own, own), rings.take(3, own, own), rings.take(4, gone.pid, gone.pid)
    done.set_state(DONE)
    claimed.set_state(CLAIMED)
    living.put(records.process(5, own, 1, ProcessOrigin.EXEC, executable="/bin/new"))
    for i, thread in enumerate((done, dead, replaced, living)):
        thread.count(samples=10 + i, handler_ns_max=100 * i, dropped=1)
        thread.put(records.sample(1, [1, 2]))
    drainer = Drainer(rings.path)
    assert sorted(row[2] for row in drainer.live()) == [dead.sequence, replaced.sequence, living.sequence]
    # WHEN they are retired before being drained: THEN nothing happens
    assert drainer.retire_dead() == 0
    # AND once drained, those that are over are free, and what they counted is kept
    drainer.drain(log)
    assert drainer.retire_dead() == 3
    assert [t.state for t in (done, dead, replaced, living, claimed)] == [FREE, FREE, FREE, TAKEN, CLAIMED]
    counters = drainer.counters()
    assert (counters["samples"], counters["dropped"], counters["handler_ns_max"]) == (10 + 11 + 12 + 13, 4, 300)
    # AND a recorder that comes after a killed one knows the same
    assert Drainer(rings.path, copy=True).counters() == counters


def test_a_copy_leaves_the_rings_alone(rings: Rings, log: int) -> None:
    thread = rings.take(0, 1, 1)
    thread.put(records.sample(1, [1]))
    before = rings.memory[: 1 << 20]
    for _ in range(2):
        assert Drainer(rings.path, copy=True).drain(log) == 1
    assert rings.memory[: 1 << 20] == before


def test_slots_get_disk_blocks_before_they_run_out(rings: Rings, log: int) -> None:
    backed = int.from_bytes(rings.memory[12:16], "little")
    for slot in range(backed // 2):
        rings.take(slot, os.getpid(), os.getpid())
    Drainer(rings.path).retire_dead()
    assert int.from_bytes(rings.memory[12:16], "little") == 2 * backed


def test_a_closed_drainer_says_so(rings: Rings, log: int) -> None:
    drainer = Drainer(rings.path)
    drainer.close()
    with pytest.raises(ValueError, match="closed"):
        drainer.drain(log)


class TestHostileProducers:
    @pytest.mark.parametrize("head", [8, 24, RING_BYTES + 16, 2**63, 2**64 - 16, 4])
    def test_heads_that_make_no_sense(self, rings: Rings, log: int, head: int) -> None:
        bad, good = rings.take(0, 1, 1), rings.take(1, 2, 2)
        bad.poke(0, b"\xff" * 4096)
        bad.set_head(head)
        good.put(records.sample(1, [5]))
        drainer = Drainer(rings.path)
        assert drainer.drain(log) == 1
        assert drainer.counters()["rings_damaged"] == 1
        assert 0 < drainer.counters()["bytes_damaged"] <= RING_BYTES
        assert bad.tail == head

    @settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.randoms(use_true_random=False), st.binary(min_size=16, max_size=512), st.integers(0, RING_BYTES // 8))
    def test_noise(self, tmp_path: Path, rng: random.Random, noise: bytes, at: int) -> None:
        folder = emptied(tmp_path)
        rings = Rings(folder / "rings")
        thread = rings.take(0, 1, 1)
        thread.set_head(at * 8)
        drainer = Drainer(rings.path)
        log = os.open(folder / "log", os.O_RDWR | os.O_CREAT | os.O_APPEND)
        drainer.drain(log)
        # Valid kinds with invalid insides are likelier to be believed than plain noise.
        for _ in range(20):
            thread.put(
                records.record(
                    RingRecordKind(rng.choice([1, 2, 3, 4, 5, 6])), 1, bytes(rng.choices(noise, k=rng.randrange(200)))
                )
            )
        thread.poke(thread.head - 16 * rng.randrange(1, 10), noise[: 16 * rng.randrange(1, 3)])
        drainer.drain(log)
        os.lseek(log, 0, os.SEEK_SET)
        decode(os.read(log, 1 << 24))
        drainer.new_log_file()
        drainer.drain(log)
        os.close(log)
        assert thread.tail == thread.head


_FILL_A_SMALL_FILE = """
import os, resource, signal, sys
from whyperf.collect._session import Drainer
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
log = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
drainer = Drainer(sys.argv[1])
try:
    drainer.drain(log)
except OSError as error:
    sys.exit(error.errno)
"""


def test_when_the_log_cannot_grow_nothing_is_consumed(rings: Rings, tmp_path: Path) -> None:
    # GIVEN more than the log may hold
    thread = rings.take(0, 1, 1)
    for i in range(100):
        thread.put(records.sample(i + 1, [i + 1] * 50))
    log = tmp_path / "log"
    # WHEN it is drained by a process that may write only a little
    arguments = [sys.executable, "-c", _FILL_A_SMALL_FILE, str(rings.path), str(log), "10000"]
    outcome = subprocess.run(arguments, check=False)
    # THEN the log is as it was, the ring still full, and the next drain takes everything
    assert outcome.returncode == errno.EFBIG
    assert log.stat().st_size == 0
    assert thread.tail == 0
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND)
    assert Drainer(rings.path).drain(descriptor) == 100
    os.close(descriptor)
    assert len(decode_file(log)) == 100


def test_draining_a_hundred_busy_rings_costs_next_to_nothing(rings: Rings, log: int) -> None:
    threads = [rings.take(slot * (SLOTS // 100), 1, slot + 1) for slot in range(100)]
    drainer = Drainer(rings.path)
    spent = 0.0
    rounds = 20
    for now in range(rounds):
        for thread in threads:
            for i in range(20):  # 200 Hz, drained every 100 ms
                thread.put(records.sample(now * 100 + i + 1, [0x1000 + (i * now) % 50, *range(1, 30)]))
        before = time.thread_time()
        assert drainer.drain(log) == 2000
        spent += time.thread_time() - before
    assert spent / (rounds * 0.1) < 0.01


def test_draining_beside_other_threads(rings: Rings, log: int) -> None:
    """The interpreter's lock is free while a drain writes: nothing may change under it."""
    import threading

    drainer = Drainer(rings.path)
    thread = rings.take(0, os.getpid(), os.getpid())
    stop = threading.Event()

    def disturb() -> None:
        while not stop.is_set():
            drainer.live()
            drainer.retire_dead()
            drainer.new_log_file()

    disturber = threading.Thread(target=disturb)
    disturber.start()
    try:
        drained = 0
        put = 0
        deadline = time.monotonic() + 0.5
        while time.monotonic() < deadline:
            put += thread.put(records.sample(put + 1, [1, 2, 3]))
            drained += drainer.drain(log)
        drained += drainer.drain(log)
    finally:
        stop.set()
        disturber.join()
    assert drained == put


def test_memory_of_the_recorder_stays_bounded(rings: Rings, tmp_path: Path) -> None:
    """Stacks that never repeat must be forgotten again."""
    drainer = Drainer(rings.path)
    thread = rings.take(0, 1, 1)
    log = os.open(os.devnull, os.O_WRONLY)
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    number = 1
    for _ in range(400):
        while thread.put(records.sample(1, range(number, number + 1000))):
            number += 1000
        drainer.drain(log)
    os.close(log)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) < 150_000
