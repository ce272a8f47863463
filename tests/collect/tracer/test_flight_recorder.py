"""`whyperf trace`: rings in the kernel, dumped while tracing goes on, gone after stop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.collect.tracer.recording import Command, functions_on_stacks, kinds, names, needs_bpf
from tests.collect.tracer.tracing import compiled
from tests.patience import PATIENCE_S
from whyperf.collect.tracer.facts import Fact, from_json
from whyperf.collect.tracer.facts_file import stack_parts
from whyperf.collect.tracer.flight import daemon
from whyperf.collect.tracer.flight.memory import FactsMemory
from whyperf.collect.tracer.flight.starting import _bytes_for
from whyperf.collect.tracer.traced import TracedMapping, TracedMappings, TracedProcess
from whyperf.errors import WhyperfError
from whyperf.recording.raw_log.chunks import ChunkReader
from whyperf.recording.schemas.events import EventKind
from whyperf.recording.sealed.reader import Recording


@pytest.fixture
def whyperf(tmp_path: Path) -> Iterator[Command]:
    command = Command(tmp_path)
    yield command
    command("trace", "stop", status=None)
    assert not _pins(command).exists()


def _pins(command: Command) -> Path:
    return Path("/sys/fs/bpf") / f"whyperf-{Path(command.environment['WHYPERF_TRACE_FOLDER']).name}"


def _status(whyperf: Command) -> dict[str, object]:
    found = json.loads(whyperf("trace", "status", "--json").stdout)
    assert isinstance(found, dict)
    return found


@needs_bpf
def test_a_dump_holds_what_just_happened_and_tracing_goes_on(whyperf: Command, tmp_path: Path) -> None:
    # GIVEN a flight recorder, and something that happened after it was started
    assert "the flight recorder runs" in whyperf("trace", "start", "--size", "128M").stdout
    subprocess.run(["sh", "-c", "for i in 1 2 3; do sleep 0.2; done"], check=True)
    # WHEN it is dumped, and again later
    first = whyperf("trace", "dump", "-o", "first").stderr
    second = _dumped_with_stacks(whyperf, compiled("sleeper.c", tmp_path))
    # THEN both are recordings of their time
    assert "events of the last" in first
    recording = whyperf.recording("first")
    assert recording.manifest.stopped_by == "dump"
    assert {"sleep", "sh"} <= names(recording)
    assert {EventKind.SWITCH, EventKind.SYSCALL, EventKind.EXEC, EventKind.FORK, EventKind.EXIT} <= kinds(recording)
    assert recording.manifest.totals.cpu_s > 0  # by samples
    window = second.manifest.window
    assert (window.end - window.start) / 1e9 <= 0.25
    assert second.column("events", "time")[-1] > recording.column("events", "time")[-1]
    # and nobody who already ran has no name
    commands = recording.table("processes").column("command").to_pylist()
    assert sum(not command for command in commands) <= len(commands) // 10


def _dumped_with_stacks(whyperf: Command, program: Path) -> Recording:
    """A dump of the last moments of a program that sleeps deep in its stack: the daemon has to learn of it first, which
    takes longer on a busy machine."""
    until = time.monotonic() + PATIENCE_S / 2
    with subprocess.Popen([program], stdout=subprocess.DEVNULL) as sleeper:
        try:
            while True:
                time.sleep(1.0)
                whyperf("trace", "dump", "-o", "second", "--force", "--last", "200ms")
                recording = whyperf.recording("second")
                kind, detail = recording.column("events", "kind"), recording.column("events", "detail")
                asleep = ((kind == EventKind.SWITCH) & (detail == 230)).nonzero()[0].tolist()
                if any({"main", "deep"} <= set(path) for path in functions_on_stacks(recording, asleep)):
                    return recording
                assert time.monotonic() < until, "programs that started later have no stacks"
        finally:
            sleeper.kill()


@needs_bpf
def test_a_killed_daemon_costs_only_stacks_of_what_starts_later(whyperf: Command) -> None:
    whyperf("trace", "start", "--size", "128M")
    daemon = _status(whyperf)["daemon"]
    assert isinstance(daemon, int)
    os.kill(daemon, signal.SIGKILL)
    _wait_until(lambda: _status(whyperf)["daemon"] is None)
    assert "HAS DIED" in whyperf("trace", "status").stdout
    subprocess.run(["sleep", "0.2"], check=True)
    done = whyperf("trace", "dump", "-o", "rec", "--last", "200ms")
    assert "daemon has died" in done.stderr
    assert EventKind.SWITCH in kinds(whyperf.recording("rec"))
    # Another tracer is still refused, with what to do about it
    refused = whyperf("record", "--trace", "-o", "other", "--", "true", status=1)
    assert "whyperf trace stop" in refused.stderr
    # and a new daemon takes over.
    assert "serves it from now on" in whyperf("trace", "start").stdout
    assert _status(whyperf)["daemon"] is not None


@needs_bpf
def test_nobody_traces_beside_it(whyperf: Command) -> None:
    whyperf("trace", "start", "--size", "4M")
    daemon = _status(whyperf)["daemon"]
    for words in (("record", "--trace", "-o", "rec", "--", "true"), ("trace", "start")):
        refused = whyperf(*words, status=1)
        assert f"whyperf trace start (process {daemon}) is tracing already" in refused.stderr
        assert "try: whyperf trace dump -o before && whyperf trace stop" in refused.stderr
    whyperf("trace", "stop")
    assert whyperf("trace", "status", status=3).stderr.startswith("whyperf: No flight recorder is running.")
    assert whyperf("trace", "stop", status=3)
    with pytest.raises(ProcessLookupError):
        os.kill(int(str(daemon)), 0)


@needs_bpf
def test_rings_too_small_for_what_is_asked_say_how_large_they_must_be(whyperf: Command) -> None:
    whyperf("trace", "start", "--size", "1M")
    storm = "import os\nfor i in range(100_000): os.getppid()"
    subprocess.run(["python3", "-c", storm], check=True)
    time.sleep(0.5)
    done = whyperf("trace", "dump", "-o", "rec", "--last", "10m")
    held = whyperf.recording("rec").manifest
    assert 0 < held.tables["events"].rows < 2 * (1 << 20) // 96
    if (held.window.end - held.window.start) / 1e9 < 1.0:
        assert "not the 600 s asked for" in done.stderr
        assert "whyperf trace start --size" in done.stderr


@needs_bpf
def test_a_size_can_be_given_in_seconds(whyperf: Command) -> None:
    assert "events a second" in whyperf("trace", "start", "--seconds", "5s").stdout


def test_more_seconds_than_memory_are_refused_with_how_many_fit() -> None:
    with pytest.raises(WhyperfError, match="more than a quarter of the free memory") as refused:
        _bytes_for(1e6, 1e6)
    assert refused.value.next_command is not None
    assert refused.value.next_command.startswith("whyperf trace start --seconds ")


def test_the_daemon_forgets_processes_that_ended_long_ago(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN thousands of processes that came and went, and one that lives
    monkeypatch.setattr("whyperf.collect.tracer.flight.memory._ROOM", 100_000)
    monkeypatch.setattr("whyperf.collect.tracer.flight.memory._KEPT_AFTER_END_S", -1.0)
    memory = FactsMemory(tmp_path / "facts")
    memory.add([TracedProcess(1, 7, 1, "lives", "/bin/lives", ("lives",))])
    _come_and_go(memory, 3000)
    memory.close()
    # THEN the file stays small, and the living one is in it
    assert (tmp_path / "facts").stat().st_size < 1_000_000
    assert TracedProcess(1, 7, 1, "lives", "/bin/lives", ("lives",)) in _facts_in(tmp_path / "facts")


def test_the_daemon_remembers_no_longer_than_rings_reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN rings that a storm overwrites at once, and news that come in time
    monkeypatch.setattr("whyperf.collect.tracer.flight.memory._ROOM", 100_000)
    monkeypatch.setattr("whyperf.collect.tracer.flight.memory._LATE_S", 0.0)
    memory = FactsMemory(tmp_path / "facts", lambda: 0.0)
    # WHEN thousands of processes come and go
    for pid in range(1000, 8000):
        memory.add([TracedProcess(2, pid, 1, "short", "/bin/short", ("short",))])
        memory.ended(pid)
    memory.close()
    # THEN those whose events are gone are forgotten
    assert (tmp_path / "facts").stat().st_size < 300_000


def test_who_starts_and_ends_between_two_looks_is_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN processes of which start and end are heard of at once, by a daemon that is late
    monkeypatch.setattr("whyperf.collect.tracer.flight.memory._ROOM", 100_000)
    monkeypatch.setattr("whyperf.collect.tracer.flight.memory._LATE_S", 0.0)
    monkeypatch.setattr(daemon, "read_process", lambda pid: TracedProcess(2, pid, 1, "short", "/bin/short"))
    monkeypatch.setattr(daemon, "read_threads", lambda pid: [])
    module = (1 << 12, 2 << 12, 0, 0, "", "/lib/x.so", 1)
    memory = FactsMemory(tmp_path / "facts", lambda: 0.0)
    for first in range(1 << 30, (1 << 30) + 7000, 100):
        pids = range(first, first + 100)
        heard = [(kind, 2, pid, 0, [module] if kind == "exec" else None) for pid in pids for kind in ("exec", "exit")]
        daemon._serve(SimpleNamespace(serve=lambda _, heard=heard: heard), memory)
    memory.close()
    # THEN they are forgotten as all are that ended
    assert (tmp_path / "facts").stat().st_size < 300_000


def test_what_was_known_before_the_daemon_came_is_not_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # GIVEN facts that others wrote: of somebody who lives on, and of somebody who is gone by now
    living, gone = os.getpid(), _pid_of_nobody()
    lives = TracedProcess(1, living, 1, "lives", "/bin/lives", ("lives",))
    mapped = TracedMappings(1, living, (TracedMapping(1 << 12, 2 << 12, 0, "/bin/lives"),))
    before = FactsMemory(tmp_path / "facts")
    before.add([lives, mapped, TracedProcess(1, gone, 1, "gone")])
    before.close()
    # WHEN a daemon takes over, and thousands of processes come and go
    monkeypatch.setattr("whyperf.collect.tracer.flight.memory._ROOM", 100_000)
    monkeypatch.setattr("whyperf.collect.tracer.flight.memory._KEPT_AFTER_END_S", -1.0)
    memory = FactsMemory(tmp_path / "facts")
    _come_and_go(memory, 3000)
    memory.close()
    # THEN who lives is still known, with its mappings; who is gone is not
    facts = _facts_in(tmp_path / "facts")
    assert {lives, mapped} <= set(facts)
    assert not any(fact.pid == gone for fact in facts if isinstance(fact, TracedProcess))


def test_who_maps_all_day_keeps_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whyperf.collect.tracer.flight.memory._ROOM", 100_000)
    memory = FactsMemory(tmp_path / "facts")
    named = TracedProcess(1, 7, 1, "maps", "/bin/maps", ("maps",))
    memory.add([named])
    for moment in range(2000):
        memory.add([TracedMappings(moment, 7, (TracedMapping(1 << 12, 2 << 12, 0, f"/lib/{moment}.so"),))])
    memory.close()
    facts = _facts_in(tmp_path / "facts")
    assert named in facts
    assert any(isinstance(fact, TracedMappings) and fact.time == 1999 for fact in facts)
    assert len(facts) < 1500


def test_only_new_mappings_of_a_program_are_written(tmp_path: Path) -> None:
    # GIVEN somebody who maps one file after the other, and each time all of them are read
    rows = tuple(TracedMapping(at << 12, (at + 1) << 12, 0, f"/lib/{at}.so") for at in range(300))
    memory = FactsMemory(tmp_path / "facts")
    memory.add([TracedProcess(0, 7, 1, "maps")])
    for count in range(1, 301):
        memory.add([TracedMappings(count, 7, rows[:count])])
    # AND then becomes another program that has some of them at the same places
    memory.add([TracedProcess(400, 7, 1, "other"), TracedMappings(400, 7, rows[:2])])
    memory.close()
    # THEN each is written a few times, not 300 times; whoever reads knows all of them, and those of the new program
    written = [fact for fact in _facts_in(tmp_path / "facts") if isinstance(fact, TracedMappings)]
    assert {row for fact in written if fact.time < 400 for row in fact.rows} == set(rows)
    assert sum(len(fact.rows) for fact in written) < 5 * len(rows)
    assert written[-1] == TracedMappings(400, 7, rows[:2])


def test_what_is_mapped_after_many_files_is_kept_with_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whyperf.collect.tracer.flight.memory._ROOM", 10_000)
    rows = tuple(TracedMapping(at << 12, (at + 1) << 12, 0, f"/lib/{at}.so") for at in range(200))
    memory = FactsMemory(tmp_path / "facts")
    for count in range(1, 201):
        memory.add([TracedMappings(count, 7, rows[:count])])
    memory.close()
    kept = [fact for fact in _facts_in(tmp_path / "facts") if isinstance(fact, TracedMappings)]
    assert {row for fact in kept for row in fact.rows} == set(rows)
    assert len(kept) < 200  # written anew since


def _come_and_go(memory: FactsMemory, count: int) -> None:
    for pid in range(1 << 30, (1 << 30) + count):
        rows = tuple(TracedMapping(at << 12, (at + 1) << 12, 0, "/lib/x.so") for at in range(5))
        memory.add([TracedProcess(2, pid, 1, "short"), TracedMappings(2, pid, rows)])
        memory.ended(pid)


def _facts_in(path: Path) -> list[Fact]:
    read = [from_json(chunk.json()) for chunk in ChunkReader().in_bytes(path.read_bytes())]
    return [fact for fact in read if fact is not None]


def _pid_of_nobody() -> int:
    done = subprocess.Popen(["true"])
    done.wait()
    return done.pid


def test_stacks_are_split_between_whole_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whyperf.collect.tracer.facts_file._STACKS_AT_ONCE", 100)
    packed = b"".join(i.to_bytes(4, "little") + (3).to_bytes(2, "little") + bytes(2 + 24) for i in range(10))
    parts = list(stack_parts(packed))
    assert b"".join(parts) == packed
    assert all(len(part) % 32 == 0 and len(part) <= 100 for part in parts)


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)
