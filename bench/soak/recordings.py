"""Long and large recordings: half an hour, a whole build, 500 threads, and a hundred of them diagnosed."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path

from pyarrow import parquet

from bench import subjects
from bench.cache import BENCH, SubjectError, run
from bench.fleet import make_fleet, measured, record_runs
from bench.packages import PACKAGES, USUAL
from bench.registries import debian_source
from bench.soak.account import account_of
from bench.soak.memory import MemoryWatch
from bench.soak.result import Result
from bench.soak.surroundings import POLITELY, Surroundings
from bench.tool import whyperf_command
from whyperf.recording.compared import compared_in

_HALF_AN_HOUR_S = 1800.0
_RECORDINGS, _FEWEST = 100, 8
_THREADS, _THREAD_RATE = 500, 1000
_PROJECT = "dnsmasq"


def long_recording(around: Surroundings, scale: float) -> Result:
    """A pool of threads that never ends, stopped after half an hour."""
    seconds, out = _HALF_AN_HOUR_S * scale, around.folder / "long"
    target = [*POLITELY, str(subjects.own("pool")), "2", "2000000000", "60", "64"]
    options = ["--for", f"{seconds:.0f}s", "--stop", "KILL", "--quiet", "-o", str(out)]
    recorder = subprocess.Popen([*whyperf_command(), "record", *options, "--", *target], stdout=subprocess.DEVNULL)
    watch = MemoryWatch(recorder.pid)
    time.sleep(seconds)
    growth = watch.growth()  # before it is sealed
    recorder.wait()
    account = account_of(out)
    size = sum(file.stat().st_size for file in out.iterdir())
    return Result.of(
        [
            (growth.is_flat, f"recorder's memory during {seconds:.0f} s: {growth}"),
            (account.holds, str(account)),
            (True, f"{size / 1e6:.1f} MB of recording"),
        ]
    )


def many_recordings(around: Surroundings, scale: float) -> Result:
    """As many good as bad ones, diagnosed at once."""
    size = max(round(_RECORDINGS * scale), _FEWEST)
    runs = compared_in(record_runs(around.folder / "recorded"))
    fleet = make_fleet(around.folder, runs, size)
    verdict = around.folder / "verdict.json"
    cost = measured(fleet, verdict)
    return Result.of(
        [(verdict.exists(), f"{size} recordings in {cost.wall_s:.1f} s, {cost.peak_bytes / 1e6:.0f} MB at most")]
    )


def whole_build(around: Surroundings, scale: float) -> Result:
    """`make -j4` of a Debian source package; only the last step of its recipe is recorded."""
    del scale  # a build is as long as it is
    recipe = PACKAGES[_PROJECT]
    tree, out = around.folder / "tree", around.folder / "build"
    try:
        shutil.copytree(debian_source(recipe.package), tree, symlinks=True)
    except SubjectError as error:
        return Result.skipped(str(error))
    filled = {"flags": USUAL, "compiler": "gcc", "jobs": "-j4"}
    *before, last = ([word.format_map(filled) for word in step] for step in recipe.steps)
    for step in before:
        run(step, tree)
    command = [*whyperf_command(), "record", "--quiet", "-o", str(out), "--", *last]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    account = account_of(out)
    processes = parquet.read_metadata(out / "processes.parquet").num_rows
    return Result.of(
        [
            (done.returncode == 0, f"`{' '.join(last)}` of {recipe.package} ended with {done.returncode}"),
            (processes > 10, f"{processes:,} programs and forks recorded"),
            (account.holds, str(account)),
        ]
    )


def many_threads(around: Surroundings, scale: float) -> Result:
    """500 threads that work side by side, each sampled 1000 times a CPU second."""
    program, out = around.folder / "crowd", around.folder / "threads"
    subprocess.run(["gcc", "-O2", "-g", "-pthread", "-o", program, BENCH / "soak" / "crowd.c"], check=True)
    seconds = max(600.0 * scale, 10.0)  # of CPU, all threads together
    command = [*whyperf_command(), "record", "--rate", str(_THREAD_RATE), "--quiet", "-o", str(out), "--"]
    done = subprocess.run(
        [*command, *POLITELY, str(program), str(_THREADS), str(seconds)], capture_output=True, text=True, check=False
    )
    account, sampled, unsampled = account_of(out), _threads_of(out), _unsampled_threads_of(out)
    return Result.of(
        [
            (done.stdout == f"{_THREADS} threads\n", f"ended with {done.returncode}, printed {done.stdout.strip()!r}"),
            (sampled + unsampled >= _THREADS, f"{sampled} threads recorded, {unsampled} said to be left out"),
            (account.holds, str(account)),
        ]
    )


def _threads_of(recording: Path) -> int:
    rows: int = parquet.read_metadata(recording / "threads.parquet").num_rows
    return rows


def _unsampled_threads_of(recording: Path) -> int:
    losses = json.loads((recording / "manifest.json").read_text())["losses"]
    left_out: int = losses["threads_unsampled"]
    return left_out
