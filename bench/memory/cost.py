"""`python -m bench.memory.cost`: CPU time of programs that allocate much, sampled and not, in alternated rounds."""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.tool import record

_CHURN = """
#include <stdlib.h>
#include <string.h>
static char *held[1000];
int main(void) {
    unsigned seed = 1;
    for (int i = 0; i < 10000000; i++) {
        seed = seed * 1664525u + 1013904223u;
        char **at = &held[seed >> 8 & 511];
        free(*at);
        memset(*at = malloc(16 + (seed >> 20 & 255)), 1, 16);
    }
    return 0;
}
"""
_TOUCH = """
#include <sys/mman.h>
int main(void) {
    for (int i = 0; i < 60; i++) {
        volatile char *all = mmap(0, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (all == MAP_FAILED || madvise((void *)all, 64 << 20, MADV_NOHUGEPAGE)) return 1;
        for (unsigned at = 0; at < 64 << 20; at += 4096) all[at] = 1;
        munmap((void *)all, 64 << 20);
    }
    return 0;
}
"""
_PARSE = (
    "import json; text = json.dumps([{str(n): [n] * 5} for n in range(2000)]); [json.loads(text) for _ in range(60)]"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for program, text in (("churn", _CHURN), ("touch", _TOUCH)):
            (folder / f"{program}.c").write_text(text)
            source = folder / f"{program}.c"
            subprocess.run(["gcc", "-O2", "-fno-builtin", "-o", folder / program, source], check=True)
        subjects = {
            "ten million mallocs and frees": [str(folder / "churn")],
            "a million page faults": [str(folder / "touch")],
            "python parsing JSON (PYTHONMALLOC=malloc)": ["env", "PYTHONMALLOC=malloc", sys.executable, "-c", _PARSE],
        }
        for what, command in subjects.items():
            ratios: dict[str, list[float]] = {"sampling": [], "sampling and memory": []}
            for _ in range(args.rounds):
                plain = _plain(command)
                ratios["sampling"].append(_recorded(folder / "r", command, "--no-values") / plain)
                ratios["sampling and memory"].append(
                    _recorded(folder / "r", command, "--no-values", "--memory") / plain
                )
            for kind, found in ratios.items():
                low, high = min(found), max(found)
                print(f"{what}: {kind} {statistics.median(found):.3f} times ({low:.3f} to {high:.3f})", flush=True)


def _plain(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _recorded(folder: Path, command: list[str], *options: str) -> float:
    record(folder, command, *options)
    totals = json.loads((folder / "manifest.json").read_text())["totals"]
    return float(totals["cpu_user_s"] + totals["cpu_system_s"])


if __name__ == "__main__":
    main()
