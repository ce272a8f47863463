"""What remains of a recording when something goes wrong: always a readable prefix, and how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.architecture import HERE
from tests.collect.dependences.producers import producers_of
from tests.collect.dependences.tool_run import functions_of, plan_text, record, tools
from tests.patience import PATIENCE_S
from whyperf.collect import _dependences
from whyperf.collect.architecture import X86_64
from whyperf.collect.dependences.stream import read_stream
from whyperf.collect.dependences.valgrind import TOOL_OPTIONS
from whyperf.errors import WhyperfError
from whyperf.recording.schemas.deep_tables import RegionKind

SPIN = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
#define APART __attribute__((noipa, noinline))
volatile long counter;
APART void step(long n) { for (long i = 0; i < n; i++) counter += i; }
#ifdef __aarch64__
APART void odd(void) { __asm__ volatile(".inst 0x25b8c000"); } /* dup z0.s, #0 */
#else
APART void odd(void) { __asm__ volatile(".byte 0x62, 0xf1, 0x7c, 0x48, 0x28, 0xc1"); }
#endif
int main(int count, char **words) {
    if (count > 2) odd();
    if (count > 1) { step(atol(words[1])); return 0; }
    step(10);
    if (!fork()) { step(1000); _exit(0); }
    wait(0);
    step(10);
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spin")
    (folder / "spin.c").write_text(SPIN)
    subprocess.run(["gcc", "-O1", "-no-pie", "spin.c", "-o", "spin"], cwd=folder, check=True)
    return folder / "spin"


def started(program: Path, plan: str, stream: Path, *arguments: str) -> subprocess.Popen[str]:
    plan_file = program.with_suffix(".plan")
    plan_file.write_text(plan)
    command = ["valgrind", *TOOL_OPTIONS, f"--plan={plan_file}", f"--stream={stream}", str(program), *arguments]
    environment = {**os.environ, "VALGRIND_LIB": str(tools())}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def test_a_killed_run_leaves_what_was_written(program: Path, tmp_path: Path) -> None:
    stream = tmp_path / "stream"
    running = started(program, plan_text(program, {"step": "zoom"}), stream, "2000000000")
    # WHEN the tool is killed without warning in the middle of its work
    while running.poll() is None and (not stream.exists() or stream.stat().st_size < 1_000_000):
        time.sleep(0.05)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    # THEN all that it had written is read, and it is said that it was cut
    read = read_stream(stream)
    assert read.ending == "cut" and not read.complete
    assert read.events > 200_000
    assert len(read.decode().site) == read.events + 1


def test_a_limit_ends_the_recording_not_the_program(program: Path) -> None:
    stream = record(program, plan_text(program, {"step": "zoom"}, "limit 3e8"), "100000")
    # The function's entry counts too.
    assert stream.ending == "limit" and stream.events == 999


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system")
def test_a_full_disk_ends_the_recording_not_the_program(program: Path, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", small], check=False).returncode:
        pytest.skip("mounting is not permitted")
    try:
        running = started(program, plan_text(program, {"step": "zoom"}), small / "stream", "1000000")
        _, said = running.communicate(timeout=PATIENCE_S)
        assert running.returncode == 0
        assert "cannot write the stream" in said
        stream = read_stream(small / "stream")
        assert stream.ending == "disk" and stream.events > 100_000
    finally:
        subprocess.run(["umount", small], check=True)


def test_a_forked_child_does_not_write(program: Path) -> None:
    stream = record(program, plan_text(program, {"step": "zoom"}))
    decoded = stream.decode()
    assert stream.complete and stream.forks == 1
    assert int((decoded.regions["kind"] == RegionKind.ACTIVATION).sum()) == 2
    assert stream.events < 300


def test_an_instruction_that_valgrind_cannot_execute_is_named(program: Path) -> None:
    stream = record(program, plan_text(program, {"main": "entries"}), "1", "2", check=False)
    (found,) = stream.unsupported
    odd = functions_of(program)["odd"]
    assert odd.entry <= found.address < odd.entry + odd.size
    assert found.code.startswith(bytes.fromhex("62f1" if HERE is X86_64 else "00c0b825"))
    assert stream.modules[found.module].path == str(program)


@pytest.mark.parametrize("line", ["functions", "function xyz zoom", "range 1", "outside maybe", "function 10 fast"])
def test_a_plan_that_is_not_understood_stops_before_the_program(program: Path, tmp_path: Path, line: str) -> None:
    running = started(program, f"whyperf-plan 1\nmodule spin -\n{line}\n", tmp_path / "stream")
    _, said = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 1
    assert "line 3 of the plan is not understood" in said


def test_what_exists_is_not_overwritten(program: Path, tmp_path: Path) -> None:
    (tmp_path / "stream").write_text("precious")
    started(program, plan_text(program, {"step": "zoom"}), tmp_path / "stream", "10").communicate(timeout=PATIENCE_S)
    assert (tmp_path / "stream").read_text() == "precious"
    assert read_stream(tmp_path / "stream.1").complete


def test_no_stream(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"something else")
    with pytest.raises(WhyperfError, match="not a stream"):
        read_stream(tmp_path / "other")
    with pytest.raises(WhyperfError, match="cannot be read"):
        read_stream(tmp_path / "missing")


@pytest.fixture(scope="module")
def whole_stream(program: Path) -> bytes:
    return record(program, plan_text(program, {"step": "zoom", "main": "zoom"}), "200").path.read_bytes()


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_damage_is_survived(whole_stream: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    # GIVEN a stream with bytes changed, and checks that agree with the damage
    damaged = bytearray(whole_stream)
    start = len(b"whyperf dependences stream 1\n") + 8
    for _ in range(data.draw(st.integers(1, 6))):
        damaged[data.draw(st.integers(start, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    damaged = damaged[: data.draw(st.integers(start, len(damaged)))]
    path = tmp_path_factory.getbasetemp() / "damaged"
    path.write_bytes(_sealed_again(bytes(damaged)))
    # THEN it is read up to the damage, and every number leads somewhere
    stream = read_stream(path)
    decoded = stream.decode()
    assert (decoded.site < len(stream.sites)).all()
    assert (decoded.region < len(decoded.regions)).all()
    numbers = range(1, stream.events + 1)
    assert all((producers_of(decoded, e) < e).all() for e in numbers)


def _sealed_again(stream: bytes) -> bytes:
    """The first chunk with a length and a check that fit what is left of it."""
    magic = len(b"whyperf dependences stream 1\n")
    payload = stream[magic + 8 :]
    header = len(payload).to_bytes(4, "little") + _dependences.check(payload).to_bytes(4, "little")
    return stream[:magic] + header + payload
