"""The target must not notice that it is recorded, and the caller must not notice that whyperf is in between."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import resource
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.collect.runs.conftest import Compile, Recorder, said
from tests.patience import PATIENCE_S

PYTHON = sys.executable
EVERY_BYTE = bytes(range(256)) * 1000


@pytest.mark.parametrize("status", [0, 1, 42, 255])
def test_exit_status_is_the_targets(record: Recorder, status: int) -> None:
    assert record("--", "sh", "-c", f"exit {status}").returncode == status
    assert record.raw.only("stop")["exit_status"] == status


def test_death_by_signal_is_reported_as_a_shell_does(record: Recorder) -> None:
    done = record("--", "sh", "-c", "kill -SEGV $$")
    stop = record.raw.only("stop")
    assert done.returncode == 128 + signal.SIGSEGV
    assert (stop["exit_status"], stop["exit_signal"], stop["stopped_by"]) == (None, signal.SIGSEGV, "signal")


def test_streams_pass_byte_for_byte(record: Recorder, tmp_path: Path) -> None:
    # GIVEN input with every byte in it
    (tmp_path / "input").write_bytes(EVERY_BYTE)
    # WHEN it goes through a recorded cat
    with (tmp_path / "input").open("rb") as stdin:
        done = record("--", "sh", "-c", "tee /dev/stderr", stdin=stdin)
    # THEN both outputs have it, and nothing else: the test's recorder says nothing itself
    assert done.stdout == EVERY_BYTE
    assert done.stderr == EVERY_BYTE


def test_target_sees_what_a_shell_would_have_given_it(record: Recorder, tmp_path: Path) -> None:
    # GIVEN a program that prints everything it inherits
    looks = (
        "import os, resource, json\n"
        "signals = [line.split() for line in open('/proc/self/status') if line.startswith(('SigIgn', 'SigBlk'))]\n"
        "print(json.dumps({'environment': dict(os.environ), 'cwd': os.getcwd(), 'umask': os.umask(0),"
        " 'files': resource.getrlimit(resource.RLIMIT_NOFILE), 'fds': sorted(os.listdir('/proc/self/fd')),"
        # Signals 32 and 33 are the C library's own: whoever starts programs by posix_spawn has them ignored.
        " 'signals': {name: hex(int(mask, 16) & ~(3 << 31)) for name, mask in signals}}))"
    )
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    read, write = os.pipe()

    def run(command: list[str]) -> str:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            cwd=tmp_path,
            env=record.environment,
            pass_fds=(read,),
            preexec_fn=lambda: (os.umask(0o27), resource.setrlimit(resource.RLIMIT_NOFILE, (200, limits[1]))),
            process_group=0,
            check=True,
        )
        return done.stdout.decode()

    # WHEN it runs alone and recorded
    alone = run(["sh", "-c", f'exec {PYTHON} -S -c "$0"', looks])
    recorded = run(record.command("--", "sh", "-c", f'exec {PYTHON} -S -c "$0"', looks))
    os.close(read)
    os.close(write)
    # THEN both see the same, down to the descriptor that was handed to them
    assert json.loads(recorded) == json.loads(alone)
    assert str(read) in json.loads(recorded)["fds"]


def test_target_shares_the_process_group(record: Recorder) -> None:
    started = record.start("--", "sh", "-c", "ps -o pgid= -p $$", process_group=0)
    output, _ = started.communicate(timeout=PATIENCE_S)
    assert int(output) == started.pid


def test_broken_pipe_kills_the_target_as_usual(record: Recorder) -> None:
    # Python ignores SIGPIPE; a target that inherited that would run for ever here.
    done = record("--", "sh", "-c", "(yes; echo $? >&2) | head -1")
    assert done.stdout == b"y\n"
    assert done.stderr.strip() in (b"141", b"")


def test_terminal_is_the_targets_own(record: Recorder) -> None:
    # GIVEN a terminal of 31 lines
    terminal, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 31, 77, 0, 0))
    # WHEN the target asks for it, and reads a line typed there
    started = record.start(
        "--", "sh", "-c", "tty >/dev/null && stty size && read a && echo got $a", **_in_terminal(side)
    )
    os.close(side)
    os.write(terminal, b"hello\n")
    shown = _read_all(terminal)
    # THEN it is that terminal
    assert started.wait(PATIENCE_S) == 0
    assert b"31 77" in shown and b"got hello" in shown


def test_ctrl_c_reaches_the_target_once_and_leaves_a_recording(record: Recorder) -> None:
    # GIVEN a target in a terminal that counts how often it is interrupted
    counts = (
        "import signal, time; n = [0]\n"
        "def hit(*_): n[0] += 1\n"
        "signal.signal(signal.SIGINT, hit); print('up', flush=True)\n"
        "end = time.monotonic() + 30\n"
        "while not n[0] and time.monotonic() < end: pass\n"
        "time.sleep(0.3); print('interrupts', n[0], flush=True); raise SystemExit(7)"
    )
    terminal, side = pty.openpty()
    started = record.start("--", PYTHON, "-c", counts, **_in_terminal(side))
    os.close(side)
    shown = _read_until(terminal, b"up")
    # WHEN Ctrl-C is typed
    os.write(terminal, b"\x03")
    shown += _read_all(terminal)
    # THEN the target decides what it means
    assert started.wait(PATIENCE_S) == 7
    assert b"interrupts 1" in shown
    stop = record.raw.only("stop")
    assert (stop["exit_status"], stop["stopped_by"]) == (7, "interrupt")
    assert record.raw.samples > 0


def test_second_ctrl_c_kills_a_target_that_ignores_it(record: Recorder) -> None:
    terminal, side = pty.openpty()
    started = record.start("--", "sh", "-c", "trap '' INT; echo up; sleep 60 & wait", **_in_terminal(side))
    os.close(side)
    _read_until(terminal, b"up")
    os.write(terminal, b"\x03")
    time.sleep(0.3)
    os.write(terminal, b"\x03")
    assert started.wait(PATIENCE_S) == 128 + signal.SIGKILL
    os.close(terminal)
    assert record.raw.only("stop")["exit_signal"] == signal.SIGKILL


def test_ctrl_z_stops_both_and_both_go_on(record: Recorder, tmp_path: Path) -> None:
    # GIVEN recorder and target in a process group of their own. The target starts nothing: a shell whose child is
    # stopped between vfork and exec cannot stop itself.
    script = f"echo $$; while [ ! -e {tmp_path}/go ]; do :; done; exit 5"
    started = record.start("--", "sh", "-c", script, process_group=0)
    assert started.stdout is not None
    target = int(started.stdout.readline())
    # WHEN the group is stopped, as the terminal does on Ctrl-Z
    os.killpg(started.pid, signal.SIGTSTP)
    _wait_for(lambda: _state(started.pid) == "T" and _state(target) == "T")
    # THEN both go on when continued
    (tmp_path / "go").touch()
    os.killpg(started.pid, signal.SIGCONT)
    _, said = started.communicate(timeout=PATIENCE_S)
    assert started.returncode == 5, said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1])
def test_signals_for_the_recorder_are_passed_on(record: Recorder, number: signal.Signals) -> None:
    script = f"trap 'echo caught; exit 9' {number.name[3:]}; echo up; while :; do sleep 0.05; done"
    started = record.start("--", "sh", "-c", script, start_new_session=True)
    assert started.stdout is not None and started.stdout.readline() == b"up\n"
    os.kill(started.pid, number)
    output, _ = started.communicate(timeout=PATIENCE_S)
    assert (output, started.returncode) == (b"caught\n", 9)


def test_what_the_caller_ignores_stays_ignored(record: Recorder) -> None:
    # GIVEN a recorder started by nohup
    done = subprocess.run(
        ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *record.command("--", "sh", "-c", "kill -HUP $$; echo alive")],
        capture_output=True,
        env=dict(record.environment),
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.stdout == b"alive\n"


def test_killed_recorder_leaves_target_and_log(record: Recorder, tmp_path: Path) -> None:
    # GIVEN a target that works for a while
    script = f"i=0; while [ $i -lt 900000 ]; do i=$((i+1)); done; echo done > {tmp_path}/finished"
    started = record.start("--", "sh", "-c", script)
    raw = record.folder / "raw"
    _wait_for(lambda: any(file.stat().st_size > 0 for file in raw.glob("log-*")), seconds=60)
    # WHEN the recorder is killed
    started.kill()
    started.wait()
    # THEN the target finishes, and what was recorded is readable
    _wait_for((tmp_path / "finished").exists, seconds=120)
    assert (raw / "start.json").exists()


def test_users_own_preload_stays(record: Recorder, compiled: Compile) -> None:
    source = '#include <unistd.h>\n__attribute__((constructor)) static void hi(void) { (void)!write(1, "mine\\n", 5); }'
    library = compiled("mine", source, "-shared", "-fPIC")
    record.environment = {**record.environment, "LD_PRELOAD": str(library)}
    done = record("--", "/bin/true")
    # Once in the recorder itself, once in the target.
    assert done.stdout.count(b"mine") >= 2
    assert record.raw.only("losses")["counters"]["processes_started"] == 1
    assert said(done) == ""


def _in_terminal(side: int) -> dict[str, object]:
    def become_leader() -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    return {"stdin": side, "stdout": side, "stderr": side, "start_new_session": True, "preexec_fn": become_leader}


def _read_until(terminal: int, wanted: bytes) -> bytes:
    shown = b""
    while wanted not in shown:
        shown += os.read(terminal, 4096)
    return shown


def _read_all(terminal: int) -> bytes:
    shown = b""
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # the last process has closed the terminal
            piece = b""
        if not piece:
            os.close(terminal)
            return shown
        shown += piece


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def _wait_for(condition: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)
