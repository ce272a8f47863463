"""Servers that do not end by themselves: ready, drive, for, skip, stop."""

from __future__ import annotations

import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.collect.runs.conftest import Compile, Recorder, said
from whyperf.seal.opening import open_recording

PYTHON = sys.executable
# Listens after a while, burns a known share of CPU, and stops kindly.
SERVER = """
import signal, socket, sys, time
port, delay = int(sys.argv[1]), float(sys.argv[2])
def stop(number, _):
    print("stopped by", number, flush=True); raise SystemExit(0)
signal.signal(signal.SIGTERM, stop); signal.signal(signal.SIGINT, stop)
time.sleep(delay)
s = socket.create_server(("127.0.0.1", port)); s.settimeout(0.01)
while True:
    end = time.monotonic() + 0.01
    while time.monotonic() < end: pass
    try: s.accept()[0].close()
    except TimeoutError: pass
"""


STARTS_S = 0.3  # before the server listens


@pytest.fixture
def server(tmp_path: Path, port: int) -> list[str]:
    (tmp_path / "server.py").write_text(SERVER)
    return [PYTHON, str(tmp_path / "server.py"), str(port), str(STARTS_S)]


def test_window_runs_from_ready_to_the_drivers_end(record: Recorder, server: list[str], port: int) -> None:
    began = time.monotonic()
    done = record("--ready", f"tcp:{port}", "--drive", "sleep 0.7", "--", *server)
    most_s = time.monotonic() - began - STARTS_S
    assert done.returncode == 0, said(done)
    raw = record.raw
    stop, ready = raw.only("stop"), raw.only("ready")
    assert stop["stopped_by"] == "driver"
    assert 0.6e9 < stop["time"] - ready["time"] < most_s * 1e9
    totals = raw.objects("totals")[-1]["totals"]
    assert 0.6 < totals["wall_s"] < most_s
    # About half of the time is spent busy; starting Python is not part of the window.
    assert 0.05 < totals["cpu_user_s"] + totals["cpu_system_s"] < totals["wall_s"]
    assert b"stopped by 15" in done.stdout


def test_work_lines_are_counted_and_passed_through(record: Recorder, server: list[str], port: int) -> None:
    load = "sh -c 'echo first; echo work=40; sleep 0.2; echo work=2.5; echo homework=9; printf work=1'"
    done = record("--ready", f"tcp:{port}", "--drive", load, "--unit", "request", "--", *server)
    assert done.returncode == 0, said(done)
    work = record.raw.objects("work")
    assert {one["unit"] for one in work} == {"request"}
    # Lines that have come by the time somebody looks are noted together.
    *earlier, last = (one["count"] for one in work)
    assert set(earlier) <= {40.0, 42.5} and earlier == sorted(set(earlier)) and last == 43.5
    assert b"first\nwork=40\nwork=2.5\nhomework=9\nwork=1" in done.stdout


def test_skipped_warm_up_is_not_counted(record: Recorder, server: list[str], port: int) -> None:
    load = "sh -c 'echo work=1000; sleep 1; echo work=5'"
    began = time.monotonic()
    done = record("--ready", f"tcp:{port}", "--skip", "500ms", "--drive", load, "--", *server)
    most_s = time.monotonic() - began - STARTS_S - 0.5
    assert done.returncode == 0, said(done)
    (work,) = record.raw.objects("work")
    totals = record.raw.objects("totals")[-1]["totals"]
    assert work["count"] == 5.0
    assert 0.3 < totals["wall_s"] < most_s


def test_for_stops_it_with_the_chosen_signal(record: Recorder, server: list[str], port: int) -> None:
    done = record("--ready", f"tcp:{port}", "--for", "400ms", "--stop", "INT", "--", *server)
    assert (done.returncode, record.raw.only("stop")["stopped_by"]) == (0, "for")
    assert b"stopped by 2" in done.stdout


def test_for_ends_a_driver_that_would_go_on(record: Recorder, server: list[str], port: int) -> None:
    done = record("--ready", f"tcp:{port}", "--for", "300ms", "--drive", "sleep 50", "--", *server)
    assert (done.returncode, record.raw.only("stop")["stopped_by"]) == (0, "for"), said(done)


def test_for_without_ready_counts_from_the_start(record: Recorder) -> None:
    done = record("--for", "300ms", "--", "sleep", "50")
    assert done.returncode == 0
    assert record.raw.only("stop")["exit_signal"] == signal.SIGTERM


def test_a_target_that_will_not_stop_is_killed(record: Recorder, tmp_path: Path) -> None:
    stubborn = f"trap '' TERM; touch {tmp_path}/up; while :; do sleep 0.1; done"
    ready = ["--ready", f"file:{tmp_path}/up"]
    done = record(*ready, "--for", "100ms", "--stop-timeout", "500ms", "--", "sh", "-c", stubborn)
    assert done.returncode == 128 + signal.SIGKILL


def test_descendants_of_a_stopped_target_are_stopped_too(record: Recorder, tmp_path: Path) -> None:
    # GIVEN a shell that starts the real server and does not pass signals on
    script = f"sleep 77 & echo $! > {tmp_path}/pid; wait; exit 0"
    # WHEN it is stopped
    record("--for", "300ms", "--stop-timeout", "3s", "--", "sh", "-c", script)
    # THEN the server is gone as well
    pid = int((tmp_path / "pid").read_text())
    stat = Path(f"/proc/{pid}/stat")
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


def test_ready_by_file_and_by_command(record: Recorder, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    script = f"sleep 0.3; touch {flag}; sleep 50"
    for condition in (f"file:{flag}", f"cmd:test -e {flag}"):
        flag.unlink(missing_ok=True)
        done = record("--force", "--ready", condition, "--for", "100ms", "--", "sh", "-c", script)
        assert done.returncode == 0, said(done)
        start = record.raw.only("ready")["time"]
        assert record.raw.only("stop")["time"] - start < 1e9


def test_never_ready_is_a_sentence(record: Recorder, port: int) -> None:
    done = record("--ready", f"tcp:{port}", "--ready-timeout", "500ms", "--", "sleep", "50")
    assert done.returncode == 1
    assert "sleep was not ready within 0.5 s" in said(done)
    assert record.raw.only("stop")["exit_signal"] == signal.SIGTERM


def test_death_before_ready_is_noticed_at_once(record: Recorder, port: int) -> None:
    done = record("--ready", f"tcp:{port}", "--", "sh", "-c", "exit 3")
    assert "ended by itself before it was ready" in said(done)
    assert record.raw.only("stop")["exit_status"] == 3


def test_going_to_the_background_is_explained(record: Recorder, port: int) -> None:
    # Holds no stream open, as daemons do not.
    daemon = f"{PYTHON} -c 'import time; time.sleep(3)' >/dev/null 2>&1 </dev/null & sleep 0.3"
    done = record("--ready", f"tcp:{port}", "--", "sh", "-c", daemon)
    assert "went to the background before it was ready" in said(done)


def test_something_else_in_its_place_is_refused(record: Recorder, tmp_path: Path) -> None:
    (tmp_path / "flag").touch()
    done = record("--ready", f"file:{tmp_path}/flag", "--", "sleep", "50")
    assert done.returncode == 1
    assert "something else is in its place" in said(done)


def test_failing_driver_is_a_sentence(record: Recorder, server: list[str], port: int) -> None:
    done = record("--ready", f"tcp:{port}", "--drive", "sh -c 'exit 4'", "--", *server)
    assert done.returncode == 1
    assert "failed with status 4" in said(done)


def test_driver_is_not_recorded(record: Recorder, server: list[str], port: int) -> None:
    done = record("--ready", f"tcp:{port}", "--drive", "env", "--", *server)
    assert b"WHYPERF_SESSION" not in done.stdout
    assert record.raw.only("losses")["counters"]["processes_started"] == 1


def test_target_that_dies_under_load_is_a_sentence(record: Recorder) -> None:
    done = record("--drive", "sleep 30", "--", "sh", "-c", "sleep 0.3; exit 6")
    assert "ended by itself while its driver was still running" in said(done)


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server")
def test_a_real_server_under_a_real_load(record: Recorder, port: int) -> None:
    load = f"redis-benchmark -p {port} -n 60000 -q -t set,get"
    target = ["redis-server", "--port", str(port), "--save", "", "--daemonize", "no"]
    done = record("--ready", f"tcp:{port}", "--drive", load, "--", *target)
    assert done.returncode == 0, said(done)
    stop = record.raw.only("stop")
    assert (stop["stopped_by"], stop["exit_status"]) == ("driver", 0)
    assert record.raw.samples >= 10


def test_calls_of_a_function_are_units_of_work(record: Recorder, compiled: Compile) -> None:
    source = """
    #include <sys/wait.h>
    #include <unistd.h>
    __attribute__((noinline)) int handle(int n) { __asm__ volatile(""); return n + 1; }
    int main(void) {
        for (int i = 0; i < 1000; i++) handle(i);
        if (fork() == 0) { for (int i = 0; i < 234; i++) handle(i); _exit(0); }
        wait(0);
        return 0;
    }"""
    program = compiled("counted", source)
    done = record("--work-count", "handle", "--unit", "order", "--", str(program))
    if "needs the privilege" in said(done):
        pytest.skip("uprobes are not permitted here")
    assert done.returncode == 0, said(done)
    work = record.raw.only("work")
    assert (work["unit"], work["count"]) == ("order", 1234.0)


def test_totals_are_those_of_the_whole_tree(record: Recorder, compiled: Compile) -> None:
    # GIVEN a program whose child does the work: a third of a second of CPU and 64 MB of memory
    source = """
    #include <stdlib.h>
    #include <string.h>
    #include <sys/wait.h>
    #include <time.h>
    #include <unistd.h>
    int main(void) {
        if (fork() == 0) {
            char *memory = malloc(64 << 20);
            memset(memory, 1, 64 << 20);
            volatile unsigned n = 0;
            while (clock() < CLOCKS_PER_SEC / 3) n += memory[n % 4096];
            _exit(0);
        }
        int status;
        wait(&status);
        return status != 0;
    }"""
    done = record("--", str(compiled("parent", source)))
    totals = record.raw.objects("totals")[-1]["totals"]
    assert done.returncode == 0
    assert 0.3 < totals["cpu_user_s"] + totals["cpu_system_s"] < 0.6
    # The kernel's own count of pages was once 8% short.
    assert 50e6 < totals["max_rss_bytes"] < 90e6


CROWDED = """
    #define _GNU_SOURCE
    #include <pthread.h>
    #include <sched.h>
    #include <stdlib.h>
    #include <time.h>
    #include <unistd.h>
    static void *burn(void *nothing) {
        struct timespec used;
        do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
        while (used.tv_sec == 0 && used.tv_nsec < 600000000);
        return nothing;
    }
    int main(int argc, char **argv) {
        pthread_t threads[2];
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(sched_getcpu(), &one);
        sched_setaffinity(0, sizeof one, &one);
        for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, burn, 0);
        for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
        usleep(argc > 1 ? atoi(argv[1]) : 0);
        return 0;
    }"""


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="this kernel does not count waits for a CPU")
@pytest.mark.parametrize("microseconds_afterwards", ["0", "500000"])
def test_waits_for_a_cpu_are_those_of_every_thread(
    record: Recorder, compiled: Compile, microseconds_afterwards: str
) -> None:
    # GIVEN two threads of 0.6 s each that have one CPU, and a first thread that only waits for their end
    program = str(compiled("crowded", CROWDED))
    # WHEN the program ends with them, or some time after them
    done = record("--", program, microseconds_afterwards)
    totals = record.raw.objects("totals")[-1]["totals"]
    # THEN that one ran while the other was ready is seen, but not twice
    assert done.returncode == 0
    assert 0.3 < totals["cpu_wait_s"] < totals["wall_s"]


def test_memory_is_the_targets_and_not_the_recorders(record: Recorder) -> None:
    # The recorder, which is Python, has some 20 MB when it starts the target: Linux lets a child inherit that peak.
    record("--", "sleep", "0.4")
    assert 0.5e6 < record.raw.objects("totals")[-1]["totals"]["max_rss_bytes"] < 8e6


def test_memory_of_a_program_that_is_over_too_soon_is_not_the_recorders_either(record: Recorder) -> None:
    record("--", "true")
    assert record.raw.objects("totals")[-1]["totals"]["max_rss_bytes"] < 8e6


def test_what_was_asked_of_a_run_is_kept_so_that_it_can_be_made_again(
    record: Recorder, server: list[str], port: int
) -> None:
    done = record("--ready", f"tcp:{port}", "--drive", "sleep 0.2", "--stop-timeout", "3s", "--", *server)
    assert done.returncode == 0, said(done)
    options = open_recording(record.folder).manifest.options
    assert options is not None
    assert (options.ready, options.drive, options.stop_timeout_s) == (f"tcp:{port}", "sleep 0.2", 3.0)
    assert (options.for_s, options.stop_signal, options.unit) == (None, None, "")
    assert options.folder == str(Path.cwd())
