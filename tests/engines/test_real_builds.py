"""Two builds of a real program, recorded and diagnosed: whatever was renamed, moved, split or inlined between them is
no difference by itself, and is found where it is the cause."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.shared_cache import SHARED_CACHE
from tests.warm_interpreter import run_whyperf

pytestmark = pytest.mark.process

_RUNS = 3
# In each round six functions do about the same amount of work; `wanted` tells one of them to do more.
_SHARED = """
#include <stdlib.h>
#define NOINLINE __attribute__((noinline, noclone))
extern volatile long sink;
extern int culprit;
long wanted(int number, long rows);
"""
_BEFORE = {
    "main.c": """
#include "shared.h"
volatile long sink;
int culprit;
long moved(long rows);
NOINLINE long unchanged(long rows) {
    long limit = wanted(1, rows);
    for (long i = 0; i < limit; i++) sink += i;
    return limit;
}
NOINLINE long scan_rows(long rows) {
    long limit = wanted(2, rows);
    for (long i = 0; i < limit; i++) sink ^= i;
    return limit;
}
NOINLINE long spend(long rows) {
    long budget = wanted(3, rows);
    for (long i = 0; i < budget; i++) sink -= i;
    return budget;
}
NOINLINE long settle(long rows) {
    long first = rows / 8;
    for (long i = 0; i < first; i++) sink ^= i;
    long pending = wanted(4, rows) - first;
    for (long i = 0; i < pending; i++) sink |= i;
    return pending + first;
}
NOINLINE long mix(long rows) {
    long quota = wanted(5, rows);
    for (long i = 0; i < quota; i++) sink -= i;
    return quota;
}
int main(int count, char **words) {
    culprit = count > 1 ? atoi(words[1]) : 0;
    long total = 0;
    for (int round = 0; round < 1050; round++) {
        long rows = 40000 + round % 64 * 100;
        total += unchanged(rows) + scan_rows(rows) + spend(rows) + settle(rows) + mix(rows) + moved(rows);
    }
    return total == 1;
}
""",
    "other.c": """
#include "shared.h"
NOINLINE long wanted(int number, long rows) { return culprit == number ? rows * 6 : rows; }
NOINLINE long moved(long rows) {
    long share = wanted(6, rows);
    for (long i = 0; i < share; i++) sink |= i;
    return share;
}
""",
}
_MOVED = _BEFORE["other.c"][_BEFORE["other.c"].index("NOINLINE long moved") :]
_REST = """NOINLINE long settle_rest(long rows, long first) {
    long pending = wanted(4, rows) - first;
    for (long i = 0; i < pending; i++) sink |= i;
    return pending + first;
}
"""


def _replaced(text: str, *changes: tuple[str, str]) -> str:
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    return text


_AFTER = {
    "main.c": _replaced(
        _BEFORE["main.c"],
        ("long moved(long rows);", _MOVED),
        ("scan_rows", "walk_rows"),
        ("budget", "allowance"),
        (_REST[_REST.index("    long pending") :], "    return settle_rest(rows, first) + sink;\n}\n"),
        ("NOINLINE long settle(", _REST + "NOINLINE long settle("),
        ("NOINLINE long mix(", "static inline __attribute__((always_inline)) long mix("),
    ),
    "other.c": _replaced(_BEFORE["other.c"], (_MOVED, "")),
}

_CULPRITS = {
    2: ("walk_rows", "limit"),
    3: ("spend", "allowance"),
    4: ("settle_rest", "pending"),
    5: ("mix", "quota"),
    6: ("moved", "share"),
}
_IDS = ("renamed-function", "renamed-variable", "split", "newly-inlined", "moved")
_ENVIRONMENT = {**os.environ, "XDG_CACHE_HOME": SHARED_CACHE}
Diagnose = Callable[[int], dict[str, Any]]


@pytest.fixture(scope="module")
def diagnosed(tmp_path_factory: pytest.TempPathFactory) -> Diagnose:
    """The verdict on the old build against the new one with that culprit. All are recorded at once: the machine is as
    fast for good runs as for bad ones."""
    folder = tmp_path_factory.mktemp("builds")
    before, after = (_built(folder / name, files) for name, files in (("before", _BEFORE), ("after", _AFTER)))
    sides = {"good": (before, 0)} | {f"bad-{culprit}": (after, culprit) for culprit in (0, *_CULPRITS)}

    def recorded(side: str, number: int) -> None:
        build, culprit = sides[side]
        words = ("--rate", "500", "-o", str(folder / f"{side}-{number}"), "--", str(build / "tool"), str(culprit))
        done = run_whyperf("record", *words, environment=_ENVIRONMENT)
        assert done.returncode == 0, done.stderr

    runs = list(product(sides, range(_RUNS)))
    with ThreadPoolExecutor(len(runs)) as at_once:
        list(at_once.map(recorded, *zip(*runs, strict=True)))

    def diagnose(culprit: int) -> dict[str, Any]:
        good, bad = ([str(folder / f"{side}-{run}") for run in range(_RUNS)] for side in ("good", f"bad-{culprit}"))
        done = run_whyperf("diagnose", "--json", "-", "--good", *good, "--bad", *bad, environment=_ENVIRONMENT)
        assert done.returncode in (0, 3, 4), done.stderr
        return dict(json.loads(done.stdout))

    return diagnose


def _built(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir()
    (folder / "shared.h").write_text(_SHARED)
    for name, text in files.items():
        (folder / name).write_text(text)
    sources = [folder / name for name in files]
    subprocess.run(["gcc", "-O2", "-g", "-o", folder / "tool", *sources], check=True, cwd=folder)
    return folder


def test_another_build_that_behaves_the_same_has_no_suspect(diagnosed: Diagnose) -> None:
    assert diagnosed(0)["suspects"] == []


@pytest.mark.parametrize("culprit", _CULPRITS, ids=_IDS)
def test_what_was_changed_is_found_where_it_is_the_cause(diagnosed: Diagnose, culprit: int) -> None:
    function, variable = _CULPRITS[culprit]
    first = diagnosed(culprit)["suspects"][0]
    assert first["function"] == function
    # What was split off is new code; everything else only has another name or place.
    assert first["pattern"] in (("scalability", "new-path") if function == "settle_rest" else ("scalability",))
    told = {one["name"]: one for one in first["variables"]}
    assert variable in told, told
    assert told[variable]["good"] and told[variable]["bad"]
