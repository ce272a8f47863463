"""How long debug information takes to read: cold (empty cache) and warm, on redis and on a large binary.

    python -m bench.debuginfo                    redis-server, and a Debian -dbg package with about 150 MB of DWARF
    python -m bench.debuginfo --large FILE       another large binary or debug file
    python -m bench.debuginfo --without-large    redis only: no download

Every figure is the best of some rounds, each in a fresh process and so with cold imports; those are timed apart.
Goals: redis cold in 2 s and warm in 0.1 s (describing it and resolving 5,000 addresses), 100 MB of it cold in 20 s.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.cache import SubjectError, kept, run
from bench.subjects import redis

LARGE_PACKAGE = "ceph-mgr-dbg"
ADDRESSES = 5000

_MEASURE = """
import json, sys, time
started = time.perf_counter()
import numpy as np
from pathlib import Path
from whyperf.debuginfo.describe import describe
imported = time.perf_counter()
binary = describe(sys.argv[1], cache=Path(sys.argv[2]))
described = time.perf_counter()
low, high = binary.code.body_low, binary.code.body_high
random = np.random.default_rng(1)
body = random.integers(0, len(low), int(sys.argv[3]))
addresses = low[body] + (random.random(len(body)) * (high[body] - low[body])).astype(np.uint64)
chosen = time.perf_counter()
places = binary.resolve(addresses)
resolved = time.perf_counter()
print(json.dumps({"debug": binary.debug, "functions": len(binary.functions), "levels": len(places.function),
                  "import_s": imported - started, "describe_s": described - imported, "resolve_s": resolved - chosen}))
"""


@dataclass(frozen=True)
class Timing:
    debug: str
    functions: int
    levels: int
    import_s: float
    describe_s: float
    resolve_s: float

    @property
    def seconds(self) -> float:
        return self.describe_s + self.resolve_s


def measure(binary: Path, cache: Path) -> Timing:
    """One fresh process."""
    command = [sys.executable, "-c", _MEASURE, str(binary), str(cache), str(ADDRESSES)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Timing(**json.loads(done.stdout))


def cold_and_warm(binary: Path, rounds: int) -> tuple[Timing, Timing]:
    """The best of each."""
    cold, warm = [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(measure(binary, Path(cache)))
            warm.append(measure(binary, Path(cache)))
    return min(cold, key=lambda t: t.seconds), min(warm, key=lambda t: t.seconds)


def debug_megabytes(binary: Path) -> float:
    """All .debug_* sections, as they are once decompressed."""
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "plain"
        run(["objcopy", "--decompress-debug-sections", binary, plain], Path(folder))
        listed = subprocess.run(["readelf", "-SW", plain], capture_output=True, text=True, check=False).stdout
    rows = (line.partition("]")[2].split() for line in listed.splitlines() if " .debug_" in line)
    return sum(int(row[4], 16) for row in rows) / 1e6


def large_debug_file() -> Path:
    """The largest file of a Debian package of debug symbols."""

    def make(folder: Path) -> None:
        run(["apt-get", "download", "-q", LARGE_PACKAGE], folder)
        [package] = folder.glob("*.deb")
        run(["dpkg", "-x", package, folder / "root"], folder)

    root = kept(LARGE_PACKAGE, [LARGE_PACKAGE], make) / "root"
    return max(root.rglob("*.debug"), key=lambda path: path.stat().st_size)


def report(name: str, binary: Path, rounds: int) -> None:
    cold, warm = cold_and_warm(binary, rounds)
    print(f"{name}: {debug_megabytes(binary):.1f} MB of debug information, {cold.functions} functions ({cold.debug})")
    print(
        f"  cold {cold.seconds:7.3f} s   (describe {cold.describe_s:.3f}, {ADDRESSES} addresses {cold.resolve_s:.4f})"
    )
    print(
        f"  warm {warm.seconds:7.3f} s   (describe {warm.describe_s:.3f}, {ADDRESSES} addresses {warm.resolve_s:.4f})"
    )
    print(f"  levels of inlining per address {cold.levels / ADDRESSES:.2f}; imports {warm.import_s:.2f} s on top")


def main() -> int:
    parser = argparse.ArgumentParser(description="Times the reading of debug information.")
    parser.add_argument("--rounds", type=int, default=3, help="fresh processes per figure (default 3)")
    parser.add_argument("--large", type=Path, help="a large binary or debug file to use instead of a Debian package's")
    parser.add_argument("--without-large", action="store_true", help="redis only")
    options = parser.parse_args()
    try:
        report("redis-server", redis() / "src" / "redis-server", options.rounds)
        if not options.without_large:
            large = options.large or large_debug_file()
            report(large.name, large, options.rounds)
    except SubjectError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
