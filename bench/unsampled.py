"""How much CPU time of ordinary programs no sample stands for, beside the limit from which a recording says so.

python -m bench.unsampled              every program, alone and beside a load, at 200 and 1000 Hz (some minutes)
python -m bench.unsampled --only make  programs whose name holds this word
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyarrow import parquet

from bench.cache import BENCH
from bench.load import neighbour
from bench.tool import record
from bench.watching import compiled
from whyperf.collect.setup.rate import CLOCK_EVENT
from whyperf.seal.unsampled import CpuTime, explained_s

_LOOP = "i=0; while [ $i -lt {n} ]; do i=$((i+1)); done"
_PYTHON = {
    "python, nothing": "pass",
    "python, 0.1 s": "sum(range(3_000_000))",
    "python, 1 s": "for _ in range(12): sum(range(3_000_000))",
    "python, 5 s": "for _ in range(60): sum(range(3_000_000))",
    "8 threads": "import threading as t\n"
    "ts = [t.Thread(target=sum, args=(range(3_000_000),)) for _ in range(8)]\n[x.start() for x in ts]",
    "3000 short threads": "import threading as t\n"
    "for _ in range(3000): x = t.Thread(target=sum, args=(range(3000),)); x.start(); x.join()",
    "60 threads that wake": "import threading as t, time\n"
    "def f():\n for _ in range(800): time.sleep(0.001); sum(range(500))\n"
    "ts = [t.Thread(target=f) for _ in range(60)]\n[x.start() for x in ts]",
    "one thread that wakes": "import time\nfor _ in range(2500): time.sleep(0.0005); sum(range(3000))",
    "100 forks": "import os\nfor _ in range(100):\n if os.fork() == 0: sum(range(200_000)); os._exit(0)\n os.wait()",
    "40 forks of 400 MB": "import os\nb = bytearray(400 << 20)\nfor i in range(0, len(b), 4096): b[i] = 1\n"
    "for _ in range(40):\n if os.fork() == 0: sum(range(20_000)); os._exit(0)\n os.wait()",
    "100 children": "import subprocess as s\nfor _ in range(100): s.run(['true'])",
    "1.2 GB touched": "b = bytearray(1200 << 20)\nfor i in range(0, len(b), 4096): b[i] = 1",
    "8 processes": "import multiprocessing as m\n"
    "if __name__ == '__main__':\n p = m.Pool(8)\n p.map(sum, [range(2_000_000)] * 24)\n p.close(); p.join()",
    "system calls": "import os\nfor _ in range(600_000): os.stat('/')",
    "files": "import os, pathlib\nfor p in pathlib.Path('/usr/share').rglob('*'): p.stat()",
}
_SHELL = {
    "loop in sh": _LOOP.format(n=2_000_000),
    "200 subshells": "for i in $(seq 200); do (:); done",
    "300 times true": "for i in $(seq 300); do /bin/true; done",
    "pipes": "for i in $(seq 60); do echo $i | tr 1 2 | sed s/2/3/ | wc -c; done",
    "dd": "dd if=/dev/zero of=/dev/null bs=64k count=60000",
    "gzip": "head -c 30000000 /usr/bin/git | gzip -9 | wc -c",
    "xz of two threads": "head -c 12000000 /usr/bin/git | xz -T2 -3 --block-size=2MiB | wc -c",
    "tar": "tar cf /dev/null /usr/share/doc /usr/include; tar cf - /usr/include | gzip -1 | wc -c",
    "sort": "seq 600000 | sort -R | sort -n | tail -1",
    "find and grep": "find /usr/include -name '*.h' | xargs grep -c define | wc -l",
    "git": "git -C {root} log --stat -n 60 | wc -l",
    "make -j4": "cd {scratch}/build && make -s clean && make -s -j4",
    "perl": "perl -e 'for (1..3000000) {{ $h{{$_ % 5000}} += $_ }}'",
    "sqlite": "sqlite3 :memory: 'with recursive c(x) as (select 1 union all select x + 1 from c where x < 1500000)"
    " select sum(x % 7) from c'",
    "openssl": "head -c 400000000 /dev/zero | openssl sha256",
    "node": "node -e 'let s = 0; for (let i = 0; i < 3e8; i++) s += i % 7; console.log(s)'",
    "churn": "{scratch}/churn 300",
}


@dataclass(frozen=True)
class Run:
    program: str
    loaded: bool
    used: CpuTime
    said: bool


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="WORD", help="programs whose name holds this word")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="unsampled-") as scratch:
        runs = list(_runs(Path(scratch), options.only))
    if runs:
        _print_totals(runs)
    return 0


def _runs(scratch: Path, only: str) -> Iterator[Run]:
    print("| program | Hz | beside a load | processes | threads | CPU | without samples | limit |")
    print("|---|---|---|---|---|---|---|---|")
    _prepare(scratch)
    for rate, loaded in ((200, False), (200, True), (1000, False)):
        with neighbour(3) if loaded else contextlib.nullcontext():
            for name, command in _commands(scratch):
                if only in name:
                    run = _run(name, command, rate, scratch / "recording", loaded=loaded)
                    print(_row(run), flush=True)
                    yield run


def _prepare(scratch: Path) -> None:
    """A program of a few files for make."""
    compiled("churn.c", scratch, "-pthread")
    build = scratch / "build"
    build.mkdir()
    for i in range(12):
        body = "\n".join(f"int f{i}_{j}(int x) {{ return x * {j} + x / {j + 1}; }}" for j in range(400))
        (build / f"f{i}.c").write_text(f"#include <stdio.h>\n{body}\n")
    objects = " ".join(f"f{i}.o" for i in range(12))
    (build / "Makefile").write_text(f"CFLAGS = -O2\nall: {objects}\nclean:\n\trm -f *.o\n")


def _commands(scratch: Path) -> Iterator[tuple[str, list[str]]]:
    for name, script in _PYTHON.items():
        yield name, [sys.executable, "-c", script]
    for name, script in _SHELL.items():
        yield name, ["sh", "-c", script.format(scratch=scratch, root=BENCH.parent)]


def _run(name: str, command: list[str], rate: int, folder: Path, *, loaded: bool) -> Run:
    record(folder, command, "--rate", str(rate), "--no-values")
    manifest = json.loads((folder / "manifest.json").read_text())
    samples = parquet.read_table(folder / "samples.parquet", columns=["weight"])
    totals, sampling = manifest["totals"], manifest["sampling"]
    used = CpuTime(
        user_s=totals["cpu_user_s"],
        system_s=totals["cpu_system_s"],
        sampled_s=sum(samples["weight"].to_pylist()) / 1e9,
        rate_hz=sampling["rate_hz"],
        threads=parquet.read_metadata(folder / "threads.parquet").num_rows,
        processes=parquet.read_metadata(folder / "processes.parquet").num_rows,
        started=totals["threads_started"],
        peak_bytes=totals["max_rss_bytes"],
        user_only=sampling["source"] == CLOCK_EVENT,
    )
    return Run(name, loaded, used, manifest["losses"]["unsampled_cpu_s"] > 0)


def _row(run: Run) -> str:
    used = run.used
    cells = (
        run.program,
        f"{used.rate_hz:g}",
        "yes" if run.loaded else "no",
        used.processes,
        used.threads,
        f"{used.cpu_s:.2f} s",
        f"{1e3 * used.missing_s:.0f} ms",
        f"{1e3 * explained_s(used):.0f} ms{', SAID' if run.said else ''}",
    )
    return f"| {' | '.join(map(str, cells))} |"


def _print_totals(runs: list[Run]) -> None:
    parts = sorted(run.used.missing_s / explained_s(run.used) for run in runs)
    quantiles = {share: parts[min(len(parts) - 1, len(parts) * share // 100)] for share in (50, 75, 95)}
    shown = ", ".join(f"{100 * part:.0f}% in {share}%" for share, part in quantiles.items())
    said = sorted({f"{run.program} ({run.used.rate_hz:g} Hz)" for run in runs if run.said})
    print(f"\n{len(runs)} recordings. At most so much of the limit is missing: {shown}, {100 * parts[-1]:.0f}% in all.")
    print(f"Said of: {', '.join(said) or 'none'}.")


if __name__ == "__main__":
    sys.exit(main())
