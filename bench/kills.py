"""`python -m bench.kills`: SIGKILL of the target or of the recorder at random moments; what is left must open."""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pyarrow import parquet

from bench import subjects
from bench.server import innermost_child
from bench.tool import whyperf_command

LOSS_ALLOWED_S = 5.0
_EARLIEST_S = 0.15
_AT_ONCE = 4
_TARGET = "pool"


@dataclass(frozen=True)
class Kill:
    victim: str  # target or recorder
    after_s: float  # since the recorder was started
    opened: bool
    samples: int
    lost_s: float  # from the last sample to the kill; 0 when the target had not begun to work
    said: str


def kill_once(victim: str, after_s: float, folder: Path) -> Kill | None:
    """One recording cut short; None when the moment came before the recording existed."""
    recording = folder / "recording"
    target = [str(subjects.own(_TARGET)), "2", "2000000000", "60", "64"]
    recorder = subprocess.Popen(
        [*whyperf_command(), "record", "-o", str(recording), "--", *target],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(after_s)
    child = innermost_child(recorder.pid)
    has_target = child != recorder.pid
    started = _program_of(child) == _TARGET
    killed = child if victim == "target" and has_target else recorder.pid
    moment = time.monotonic_ns()
    os.kill(killed, signal.SIGKILL)
    if killed == recorder.pid and has_target:
        time.sleep(0.2)  # the target lives on for a moment without its recorder
        os.kill(child, signal.SIGKILL)
    _end(recorder)
    if not (recording / "raw").exists() and not (recording / "manifest.json").exists():
        return None
    kill = _opened(victim, after_s, recording, moment if started else None)
    # Before there was a program there is nothing to open; a sentence that says so is all that can be asked for.
    return None if not has_target and "before the program started" in kill.said else kill


def _end(recorder: subprocess.Popen[bytes]) -> None:
    """What was killed may have been a helper of the recorder's, which then starts a target that never ends."""
    while recorder.poll() is None:
        target = innermost_child(recorder.pid)
        if _program_of(target) == _TARGET:
            with contextlib.suppress(ProcessLookupError):
                os.kill(target, signal.SIGKILL)
        time.sleep(0.05)


def _opened(victim: str, after_s: float, recording: Path, moment: int | None) -> Kill:
    info = subprocess.run([*whyperf_command(), "info", str(recording)], capture_output=True, text=True, check=False)
    if info.returncode:
        return Kill(victim, after_s, False, 0, float("inf"), info.stderr.strip())
    times = parquet.read_table(recording / "samples.parquet", columns=["time"])["time"].to_numpy()
    before = times[times <= moment] if moment is not None else times
    lost = 0.0
    if moment is not None:
        # A kill right after the start may come before the first tick; then all of that moment is what was lost.
        lost = (moment - int(before.max())) / 1e9 if before.size else after_s
    return Kill(victim, after_s, True, int(times.size), lost, info.stderr.strip())


def _program_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/exe").readlink().name
    except OSError:
        return ""


def random_kills(count: int, seed: int, longest_s: float = 6.0) -> list[Kill]:
    """Kills at moments of which as many are early as late; a few at a time, for most of it is waiting."""
    chance = random.Random(seed)

    def kill(victim: str, after_s: float) -> Kill | None:
        with tempfile.TemporaryDirectory() as folder:
            return kill_once(victim, after_s, Path(folder))

    kills: list[Kill] = []
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as workers:
        while len(kills) < count:
            victims = [chance.choice(["target", "recorder"]) for _ in range(min(count - len(kills), 4 * _AT_ONCE))]
            moments = [_EARLIEST_S * (longest_s / _EARLIEST_S) ** chance.random() for _ in victims]
            kills += [one for one in workers.map(kill, victims, moments) if one]
            print(f"\r{len(kills)}/{count} ", end="", file=sys.stderr, flush=True)
    print("\r", end="", file=sys.stderr)
    return kills


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    kills = random_kills(options.kills, options.seed)
    failed = [kill for kill in kills if not kill.opened]
    for victim in ("target", "recorder"):
        chosen = [kill for kill in kills if kill.victim == victim]
        # Without any sample before the kill, `lost_s` runs from the recorder's start: shown apart from real losses.
        lost = sorted(kill.lost_s for kill in chosen if kill.opened and kill.samples)
        empty = [kill.lost_s for kill in chosen if kill.opened and not kill.samples]
        print(f"{victim}: {len(chosen)} kills, {sum(kill.opened for kill in chosen)} recordings open")
        if lost:
            print(f"  lost before the kill: median {lost[len(lost) // 2]:.3f} s, most {lost[-1]:.3f} s")
        if empty:
            print(f"  {len(empty)} without a sample, killed at most {max(empty):.2f} s after the recorder was started")
    for kill in failed:
        print(f"did not open: {kill}")
    return 1 if failed or any(kill.lost_s > LOSS_ALLOWED_S for kill in kills) else 0


if __name__ == "__main__":
    sys.exit(main())
