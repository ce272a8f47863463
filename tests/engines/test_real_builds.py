"""Two builds of a real program, recorded and diagnosed: whatever was renamed, moved, split or inlined between them is
no difference by itself, and is found where it is the cause."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE_S
from tests.shared_cache import SHARED_CACHE

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
    for (int round = 0; round < 2100; round++) {
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

Diagnose = Callable[[int], dict[str, Any]]


@pytest.fixture(scope="module")
def diagnosed(tmp_path_factory: pytest.TempPathFactory) -> Diagnose:
    """The verdict on the old build against the new one with that culprit."""
    folder = tmp_path_factory.mktemp("builds")
    environment = {**os.environ, "XDG_CACHE_HOME": SHARED_CACHE}

    def whyperf(*words: str | Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "whyperf", *map(str, words)]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment)

    builds = [_built(folder / name, files) for name, files in (("before", _BEFORE), ("after", _AFTER))]

    def recorded(culprit: int) -> tuple[list[Path], list[Path]]:
        """All at once: the machine is as fast for good runs as for bad ones."""
        told = [(build, 0 if build is builds[0] else culprit) for build in builds * _RUNS]
        runs = [folder / f"{build.name}-{culprit}-{number}" for number, (build, _) in enumerate(told)]
        options = ("--force", "--rate", "250")
        recorders = [
            whyperf("record", *options, "-o", run, "--", build / "tool", str(which))
            for run, (build, which) in zip(runs, told, strict=True)
        ]
        for recorder in recorders:
            _, said = recorder.communicate(timeout=PATIENCE_S)
            assert recorder.returncode == 0, said
        return runs[::2], runs[1::2]

    def diagnose(culprit: int) -> dict[str, Any]:
        good, bad = recorded(culprit)
        diagnosis = whyperf("diagnose", "--json", "-", "--good", *good, "--bad", *bad)
        verdict, said = diagnosis.communicate(timeout=PATIENCE_S)
        assert diagnosis.returncode in (0, 3, 4), said
        return dict(json.loads(verdict))

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


@pytest.mark.parametrize(
    ("culprit", "function", "variable"),
    [
        (2, "walk_rows", "limit"),
        (3, "spend", "allowance"),
        (4, "settle_rest", "pending"),
        (5, "mix", "quota"),
        (6, "moved", "share"),
    ],
    ids=["renamed-function", "renamed-variable", "split", "newly-inlined", "moved"],
)
def test_what_was_changed_is_found_where_it_is_the_cause(
    diagnosed: Diagnose, culprit: int, function: str, variable: str
) -> None:
    first = diagnosed(culprit)["suspects"][0]
    assert first["function"] == function
    # What was split off is new code; everything else only has another name or place.
    assert first["pattern"] in (("scalability", "new-path") if function == "settle_rest" else ("scalability",))
    told = {one["name"]: one for one in first["variables"]}
    assert variable in told, told
    assert told[variable]["good"] and told[variable]["bad"]
