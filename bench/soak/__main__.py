"""`python -m bench.soak`: hours of recording, storms and kills; each part checks itself and what it leaves behind."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable

from bench.soak.cluster_kills import cluster_kills
from bench.soak.flight import flight
from bench.soak.recordings import long_recording, many_recordings, many_threads, whole_build
from bench.soak.result import Result
from bench.soak.surroundings import Surroundings, surroundings

PARTS: dict[str, Callable[[Surroundings, float], Result]] = {
    "flight": flight,
    "long": long_recording,
    "recordings": many_recordings,
    "build": whole_build,
    "threads": many_threads,
    "kills": cluster_kills,
}
_UNTIL_GONE_S = 5.0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.soak",
        description=__doc__,
        epilog="An hour, half an hour, 100 recordings, 50 kills at --scale 1; about 5 minutes in all at --scale 0.02.",
    )
    parser.add_argument("--scale", type=float, default=1.0, help="of the full lengths and numbers (default 1)")
    parser.add_argument("--only", action="append", default=[], choices=list(PARTS))
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is ended
    good = True
    for name in options.only or PARTS:
        begun = time.monotonic()
        with surroundings() as around:
            result = PARTS[name](around, options.scale)
            left = _left(around)
        good &= result.good and not left
        print(
            f"{name} ({time.monotonic() - begun:.0f} s)"
            + (f": skipped: {result.why_skipped}" if result.why_skipped else "")
        )
        for fine, sentence in result.checks:
            print(f"  {'ok ' if fine else 'BAD'} {sentence}")
        print(f"  {'BAD' if left else 'ok '} left behind: {'; '.join(left) or 'nothing'}", flush=True)
    return 0 if good else 1


def _left(around: Surroundings) -> list[str]:
    """What ends on its own may take a moment."""
    until = time.monotonic() + _UNTIL_GONE_S
    while (left := around.leftovers()) and time.monotonic() < until:
        time.sleep(0.2)
    return left


if __name__ == "__main__":
    sys.exit(main())
