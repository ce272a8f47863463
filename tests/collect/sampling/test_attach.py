"""Recording a process that already runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture import LINKER
from tests.collect.watched import Log, Names, Said, Watched, watched
from whyperf.collect import _session
from whyperf.collect._stacks import Reader
from whyperf.collect.sampling import attach
from whyperf.collect.sampling.attach import AttachedSampler
from whyperf.collect.sampling.perf_samples import ThreadEvents
from whyperf.errors import WhyperfError
from whyperf.recording.raw_log.chunks import ChunkKind
from whyperf.recording.raw_log.ringrecords import MODULE, OWNER, PROCESS, ProcessOrigin, RingRecordKind


def perf_events_permitted() -> bool:
    try:
        ThreadEvents(os.getpid(), 1_000_000, with_kernel=False).close()
    except OSError:
        return False
    return True


needs_perf_events = pytest.mark.skipif(not perf_events_permitted(), reason="perf events are not permitted here")


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Watched]:
    with watched(tmp_path, "gcc -O2") as process:
        yield process


def record(sampler: AttachedSampler, seconds: float) -> None:
    sampler.start()
    time.sleep(seconds)
    sampler.stop()


def text_after(said: Said, size: int) -> list[str]:
    return said.payload[size:].decode().split("\0")


@needs_perf_events
def test_running_threads_are_sampled_at_the_rate(process: Watched, tmp_path: Path) -> None:
    log = Log()
    began = time.monotonic_ns()
    sampler = AttachedSampler(process.pid, tmp_path, log.append, rate_hz=200)
    used = _cpu_s(process, "spinning")
    record(sampler, 1.5)
    used = _cpu_s(process, "spinning") - used
    names = Names(process, Reader(tmp_path))
    samples = log.records(RingRecordKind.SAMPLE)
    spinning = [said for said in samples if said.tid == process.threads()["spinning"]]
    # THEN there is a sample for every period of CPU time that the thread used
    assert len(spinning) == pytest.approx(200 * used, rel=0.1, abs=8)
    assert {said.detail & 0xFFFFFF for said in samples} == {1}
    assert all(began < said.time < time.monotonic_ns() for said in samples)
    # AND their stacks are whole
    whole = [names.of(said.pcs) for said in spinning if said.detail >> 24 == 0]
    assert len(whole) > 0.98 * len(spinning)
    assert all(stack[0] == "spin" and stack[1:] == ["libc", "libc"] for stack in whole)
    losses = sampler.losses()
    assert (losses.samples, losses.dropped, losses.perf_events) == (len(samples), 0, True)
    assert sum(losses.cut) == losses.samples
    assert losses.blocked is None


@needs_perf_events
def test_code_without_unwind_information_is_walked_by_its_frame_pointer(tmp_path: Path) -> None:
    build = "gcc -O2 -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-omit-frame-pointer"
    with watched(tmp_path, build) as process:
        log = Log()
        record(AttachedSampler(process.pid, tmp_path, log.append, rate_hz=200), 1.0)
        names = Names(process, Reader(tmp_path))
        samples = [said for said in log.records(RingRecordKind.SAMPLE) if said.tid == process.threads()["spinning"]]
        whole = [names.of(said.pcs) for said in samples if said.detail >> 24 == 0]
    assert samples and len(whole) > 0.98 * len(samples)
    assert all(stack == ["spin", "libc", "libc"] for stack in whole)


def _cpu_s(process: Watched, thread: str) -> float:
    tid = process.threads()[thread]
    return int(Path(f"/proc/{process.pid}/task/{tid}/schedstat").read_text().split()[0]) / 1e9


def test_process_modules_and_names_are_introduced(process: Watched, tmp_path: Path) -> None:
    log = Log()
    sampler = AttachedSampler(process.pid, tmp_path, log.append)
    record(sampler, 0.2)
    # THEN the process looks like any other, and says that it was attached to
    (introduced,) = log.records(RingRecordKind.PROCESS)
    pid, parent, origin, argc = PROCESS.unpack_from(introduced.payload)
    assert (pid, parent, origin, argc) == (process.pid, os.getpid(), ProcessOrigin.ATTACHED, 1)
    assert text_after(introduced, PROCESS.size)[:2] == [str(process.path)] * 2
    modules = {
        text_after(said, MODULE.size)[0]: MODULE.unpack_from(said.payload)
        for said in log.records(RingRecordKind.MODULE)
    }
    assert {Path(path).name.split(".")[0] for path in modules} >= {"waiting", "libc", "[vdso]", LINKER.split(".")[0]}
    listed = {module[5]: module for module in Reader(tmp_path).modules(process.pid)}
    start, end, offset, bias, size, build_id, _ = modules[str(process.path)]
    assert (start, end, offset, bias, build_id[:size].hex()) == listed[str(process.path)][:5]
    said = [json.loads(payload) for kind, payload in log.chunks if kind == ChunkKind.JSON]
    assert {(one["type"], one["tid"]): one["name"] for one in said} == {
        ("thread-name", tid): name for name, tid in process.threads().items()
    }
    # AND what the raw log's decoder makes of it
    decoder = _session.Decoder()
    for kind, payload in log.chunks:
        if kind == ChunkKind.RING:
            decoder.add(0, payload[OWNER.size :])
    assert decoder.damaged_bytes == 0
    # AND a new file of the log can be read alone
    before = len(log.records(RingRecordKind.MODULE))
    sampler.new_log_file()
    assert len(log.records(RingRecordKind.MODULE)) == 2 * before
    assert len(set(log.records(RingRecordKind.MODULE))) == before


def test_wall_clock_adds_those_who_wait(process: Watched, tmp_path: Path) -> None:
    log = Log()
    record(AttachedSampler(process.pid, tmp_path, log.append, clock="wall"), 0.5)
    waiting = [said for said in log.records(RingRecordKind.BLOCKED) if said.tid == process.pid]
    assert sum(said.weight_ns for said in waiting) > 0.35e9
    # AND under the same name as everything else of that thread
    assert {said.sequence for said in waiting} == {log.records(RingRecordKind.PROCESS)[0].sequence}


@needs_perf_events
def test_threads_that_start_later(tmp_path: Path) -> None:
    program = (
        "import threading, time\n"
        "print('ready', flush=True)\n"
        "time.sleep(0.3)\n"
        "def work():\n"
        "    end = time.monotonic() + 0.4\n"
        "    while time.monotonic() < end: sum(range(1000))\n"
        "threads = [threading.Thread(target=work) for _ in range(3)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
    )
    python = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert python.stdout is not None and python.stdout.readline() == b"ready\n"
    log = Log()
    sampler = AttachedSampler(python.pid, tmp_path, log.append, rate_hz=500)
    sampler.start()
    # THEN its end is noticed, and every thread has samples of its own
    assert not sampler.ended()
    assert sampler.ended(timeout_s=20)
    sampler.stop()
    python.wait()
    python.stdout.close()
    samples = log.records(RingRecordKind.SAMPLE)
    busy = {said.tid for said in samples} - {python.pid}
    assert len(busy) == 3
    assert len({said.sequence for said in samples}) == len({said.tid for said in samples})
    assert sum(said.detail >> 24 == 0 for said in samples) > 0.8 * len(samples)
    assert sampler.losses().threads_missed == 0


def test_without_perf_events_what_waits_is_still_seen(
    process: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(attach, "ThreadEvents", refuse)
    log = Log()
    sampler = AttachedSampler(process.pid, tmp_path, log.append)
    record(sampler, 0.5)
    assert log.records(RingRecordKind.BLOCKED) and not log.records(RingRecordKind.SAMPLE)
    losses = sampler.losses()
    assert not losses.perf_events
    assert losses.running_unseen > 5
    assert "perf_event_paranoid" in losses.notes()[0]


def test_processes_that_cannot_be_recorded(process: Watched, tmp_path: Path) -> None:
    def sentence(pid: int) -> str:
        with pytest.raises(WhyperfError) as caught:
            AttachedSampler(pid, tmp_path, Log().append)
        assert caught.value.next_command
        return caught.value.sentence

    gone = subprocess.Popen(["true"])
    gone.wait()
    assert sentence(gone.pid) == f"There is no process {gone.pid}."
    zombie = subprocess.Popen(["true"])
    time.sleep(0.1)
    assert "has ended" in sentence(zombie.pid)
    zombie.wait()
    thread = process.threads()["napping"]
    assert sentence(thread) == f"{thread} is a thread of process {process.pid}."


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_somebody_else_s_process(process: Watched, tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            AttachedSampler(process.pid, tmp_path, Log().append)
        except WhyperfError as error:
            status = 0 if "may not be read" in error.sentence and "sudo" in (error.next_command or "") else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
