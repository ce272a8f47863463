"""Tasks of programs' own queues, recorded from real programs."""

from __future__ import annotations

import ctypes.util
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.architecture import HERE
from tests.collect.tracer.recording import Command, functions_on_stacks, needs_bpf
from tests.collect.tracer.tracing import compiled
from tests.patience import PATIENCE_S
from whyperf.collect.architecture import X86_64
from whyperf.collect.tracer.queue_rules import parse_queues
from whyperf.collect.tracer.task_probes import Module, TaskProbes
from whyperf.recording.rules_file import MORE_RULES
from whyperf.recording.schemas.events import EventKind
from whyperf.recording.sealed.reader import Recording

BREAKPOINT = b"\xcc" if HERE is X86_64 else bytes.fromhex("a00020d4")  # as the kernel writes it
PLAIN = {"name": "plain", "files": ["tasks"], "put": "put_plain", "task": "arg2", "run": "run_plain"}
OWN = {"name": "own", "files": ["tasks"], "put": "put_with_function", "task": "arg2", "function": "*(arg1+8)"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tasks")
    compiled("tasks.c", folder)
    return folder


@pytest.fixture
def rules(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def write(*queues: dict[str, object]) -> None:
        sections = ["\n".join(f"{key} = {value!r}" for key, value in one.items()) for one in queues]
        (folder / "rules.toml").write_text("".join(f"[[queue]]\n{one}\n" for one in sections))
        monkeypatch.setenv(MORE_RULES, str(folder / "rules.toml"))

    return write


def recorded(folder: Path, *words: str) -> Recording:
    command = Command(folder)
    command("record", "--trace", "--force", "-o", "out", "--", *words)
    return command.recording("out")


def recorded_until(enough: Callable[[Recording], bool], folder: Path) -> tuple[Recording, int]:
    """With how many turns: the program goes on for ever longer, until it was known for long enough before its end."""
    for turns in (600, 6000, 60000):
        recording = recorded(folder, "./tasks", str(turns), "4000")
        if enough(recording):
            break
    return recording, turns


def rows_of(recording: Recording, kind: EventKind) -> list[int]:
    kinds = recording.table("events").column("kind").to_pylist()
    return [row for row, one in enumerate(kinds) if one == kind]


def tasks(recording: Recording, kind: EventKind, queue: str) -> list[int]:
    """Identities, in the order of time."""
    trace = recording.manifest.trace
    assert trace is not None
    events = recording.table("events")
    numbers, objects = events.column("detail").to_pylist(), events.column("object").to_pylist()
    return [objects[row] for row in rows_of(recording, kind) if trace.queues[numbers[row]].name == queue]


@needs_bpf
def test_tasks_are_seen_being_put_and_run(folder: Path, rules: Callable[..., None]) -> None:
    # GIVEN a program with a queue that has one function for all tasks, and one whose tasks bring their own
    rules(PLAIN, OWN)
    # WHEN
    recording, turns = recorded_until(_has_many, folder)
    # THEN all but those of the first moments, before the program was known, are there, by their identity
    for queue, last in (("plain", 2**64 - turns), ("own", turns)):
        put, run = tasks(recording, EventKind.TASK_PUT, queue), tasks(recording, EventKind.TASK_RUN, queue)
        both = min(len(put), len(run))  # either may have been known first
        assert both > 75 and run[-1] == put[-1] == last
        assert run[-both:] == put[-both:]
    # AND who put them, by name
    found = {tuple(one) for one in functions_on_stacks(recording, rows_of(recording, EventKind.TASK_PUT))}
    assert found == {("put_plain", "main"), ("put_with_function", "main")}
    found = {tuple(one) for one in functions_on_stacks(recording, rows_of(recording, EventKind.TASK_RUN))}
    assert found == {("run_plain", "main"), ("work_on", "main")}


def _has_many(recording: Recording) -> bool:
    kinds = (EventKind.TASK_PUT, EventKind.TASK_RUN)
    return all(len(tasks(recording, kind, queue)) > 75 for kind in kinds for queue in ("plain", "own"))


@needs_bpf
def test_where_there_is_no_such_function_nothing_is_recorded(folder: Path, rules: Callable[..., None]) -> None:
    rules({**PLAIN, "put": "put_nowhere", "run": "run_nowhere"}, {**PLAIN, "name": "other", "files": ["another"]})
    command = Command(folder)
    said = command("record", "--trace", "--force", "-o", "nowhere", "--", "./tasks").stderr
    assert not rows_of(command.recording("nowhere"), EventKind.TASK_PUT)
    # AND whoever wrote the rules is told
    assert "No traced program has put_nowhere or run_nowhere in tasks" in said
    assert "No traced program has put_plain or run_plain in another" in said


@needs_bpf
def test_a_rule_that_names_the_wrong_argument_does_not_harm_the_program(
    folder: Path, rules: Callable[..., None]
) -> None:
    names = ("arg2", "arg1", "*(arg1+0)")
    rules(*({**OWN, "name": wrong, "function": wrong} for wrong in names))
    recording, _ = recorded_until(lambda one: all(tasks(one, EventKind.TASK_PUT, name) for name in names), folder)
    for wrong in names:
        assert tasks(recording, EventKind.TASK_PUT, wrong)
    assert not rows_of(recording, EventKind.TASK_RUN)


@needs_bpf
def test_no_queues_records_none(folder: Path, rules: Callable[..., None]) -> None:
    rules(PLAIN)
    command = Command(folder)
    command("record", "--trace", "--no-queues", "--force", "-o", "without", "--", "./tasks")
    recording = command.recording("without")
    assert recording.manifest.trace is not None and not recording.manifest.trace.queues
    assert not rows_of(recording, EventKind.TASK_PUT)


@dataclass(frozen=True)
class Running:
    pid: int
    put: int  # where these functions are
    run: int

    def has_breakpoint(self) -> bool:
        return self._has_one_at(self.put)

    def has_both(self) -> bool:
        return self._has_one_at(self.put) and self._has_one_at(self.run)

    def _has_one_at(self, address: int) -> bool:
        with Path(f"/proc/{self.pid}/mem").open("rb") as memory:
            memory.seek(address)
            return memory.read(len(BREAKPOINT)) == BREAKPOINT

    def turns(self) -> int:
        """How often it has slept."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        (count,) = re.findall(r"^voluntary_ctxt_switches:\s+(\d+)$", status, re.MULTILINE)
        return int(count)


@pytest.fixture(params=[1000])
def running(folder: Path, request: pytest.FixtureRequest) -> Iterator[Running]:
    """A program that puts tasks until it is killed, with so many microseconds between them."""
    process = subprocess.Popen([str(folder / "tasks"), "2000000000", str(request.param)], stdout=subprocess.DEVNULL)
    listed = subprocess.run(["nm", str(folder / "tasks")], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^([0-9a-f]+) T (\w+)$", listed, re.MULTILINE)
    symbols = {name: int(address, 16) for address, name in found}
    while "tasks" not in (maps := Path(f"/proc/{process.pid}/maps").read_text()):
        time.sleep(0.01)
    (first,) = re.findall(r"^([0-9a-f]+)-\S+ r\S+ 00000000 .*/tasks$", maps, re.MULTILINE)
    yield Running(process.pid, int(first, 16) + symbols["put_plain"], int(first, 16) + symbols["run_plain"])
    process.kill()
    process.wait()


def until(condition: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@needs_bpf
def test_a_killed_recorder_leaves_no_probe_behind(folder: Path, rules: Callable[..., None], running: Running) -> None:
    # GIVEN
    rules(PLAIN)
    recorder = Command(folder).start("record", "--trace", "--force", "-o", "killed", "--pid", str(running.pid))
    try:
        until(running.has_breakpoint)
        # WHEN
        recorder.kill()
        recorder.wait()
        # THEN
        until(lambda: not running.has_breakpoint())
    finally:
        recorder.kill()
        recorder.communicate()


@needs_bpf
def test_a_killed_target_leaves_a_recording(folder: Path, rules: Callable[..., None], running: Running) -> None:
    rules(PLAIN)
    command = Command(folder)
    recorder = command.start("record", "--trace", "--force", "-o", "ended", "--pid", str(running.pid))
    until(running.has_both)
    before = running.turns()
    until(lambda: running.turns() > before + 20)
    os.kill(running.pid, 9)
    _, said = recorder.communicate(timeout=PATIENCE_S)
    assert "Traceback" not in said
    assert tasks(command.recording("ended"), EventKind.TASK_RUN, "plain")


@needs_bpf
@pytest.mark.parametrize("running", [0], indirect=True)
def test_a_queue_that_is_used_too_often_is_let_go_and_that_is_said(
    folder: Path, rules: Callable[..., None], running: Running
) -> None:
    # GIVEN a program that does nothing but put tasks
    rules(PLAIN)
    command = Command(folder)
    recorder = command.start("record", "--trace", "--force", "-o", "hot", "--pid", str(running.pid))
    # WHEN
    until(running.has_breakpoint)
    # THEN it is not bothered for long
    until(lambda: not running.has_breakpoint())
    os.kill(running.pid, 9)
    _, said = recorder.communicate(timeout=PATIENCE_S)
    assert "Tasks of plain came too often" in said
    trace = command.recording("hot").manifest.trace
    assert trace is not None
    assert [one.what for one in trace.shed if one.what.startswith("tasks")] == ["tasks of plain"]


@needs_bpf
@pytest.mark.skipif(ctypes.util.find_library("glib-2.0") is None, reason="needs GLib")
def test_glib_as_it_is_installed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN
    monkeypatch.delenv(MORE_RULES, raising=False)
    program = compiled("idle.c", folder, "-l:libglib-2.0.so.0")
    # WHEN
    recording = recorded(folder, str(program))
    # THEN tasks whose function lies in a file are seen when they are run
    put, run = (tasks(recording, kind, "GLib main loop") for kind in (EventKind.TASK_PUT, EventKind.TASK_RUN))
    loops = [one for one in put if one]  # the others have no data
    assert len(run) > 30 and len(put) > 60
    assert run == loops[len(loops) - len(run) :]


@dataclass
class FakeTracer:
    """Places whatever it is asked to."""

    placed: list[tuple[int, int]] = field(default_factory=list)  # process, offset

    def probe(self, pid: int, path: str, offset: int, cookie: int) -> int:
        assert path and cookie >= 0
        self.placed.append((pid, offset))
        return os.open(os.devnull, os.O_RDONLY)


def module_of(program: Path) -> Module:
    return 0x10000, 0x20000, 0, 0x10000, "abc", str(program), 1


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_children_are_probed_too_and_probes_go_with_their_process(folder: Path) -> None:
    # GIVEN
    tracer, before = FakeTracer(), open_descriptors()
    probes = TaskProbes(parse_queues({"queue": [PLAIN]}, "rules"), everywhere=False)
    probes.met(tracer, 10, [module_of(folder / "tasks")])  # type: ignore[arg-type]
    probes.met(tracer, 10, [module_of(folder / "tasks")])  # type: ignore[arg-type]  # once is enough
    # WHEN
    probes.forked(tracer, 10, 11)  # type: ignore[arg-type]
    # THEN
    until(lambda: open_descriptors() == before + 4)
    assert sorted(pid for pid, _ in tracer.placed) == [10, 10, 11, 11]
    probes.ended(10)
    until(lambda: open_descriptors() == before + 2)
    probes.close()
    assert open_descriptors() == before


def test_with_all_processes_traced_a_file_is_probed_once(folder: Path) -> None:
    tracer = FakeTracer()
    probes = TaskProbes(parse_queues({"queue": [PLAIN]}, "rules"), everywhere=True)
    for pid in (10, 11):
        probes.met(tracer, pid, [module_of(folder / "tasks")])  # type: ignore[arg-type]
    probes.close()
    assert [pid for pid, _ in tracer.placed] == [-1, -1]
