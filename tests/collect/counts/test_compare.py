"""`compare --counts`: who calls more often is said by exact counts."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.shared_cache import SHARED_CACHE
from tests.warm_interpreter import run_whyperf

PROGRAM = """
#include <stdlib.h>
#define NOINLINE __attribute__((noinline))
NOINLINE static unsigned flush(unsigned x) { for (int i = 0; i < 20000; i++) x = x * 1664525u + 7; return x; }
NOINLINE static unsigned plan(unsigned x, int batches) {
    for (int i = 0; i < batches; i++)
        x += flush(x);
    return x;
}
int main(int count, char **words) {
    unsigned x = count;
    for (int i = 0; i < 20; i++) x = plan(x, atoi(words[1]));
    return x == 42;
}
"""

CACHE = """
#include <stdlib.h>
#define NOINLINE __attribute__((noinline))
#define KEPT 8
static unsigned known[KEPT], prepared[KEPT], next;
NOINLINE static unsigned prepare(unsigned key) { for (int i = 0; i < 60000; i++) key = key * 1664525u + 7; return key; }
NOINLINE static unsigned find(unsigned key) {
    for (unsigned i = 0; i < KEPT; i++)
        if (known[i] == key) return prepared[i];
    unsigned made = prepare(key);
    known[next] = key, prepared[next] = made, next = (next + 1) % KEPT;
    return made;
}
NOINLINE static unsigned use(unsigned x) { for (int i = 0; i < 60000; i++) x = x * 22695477u + 1; return x; }
int main(int count, char **words) {
    unsigned x = count, keys = atoi(words[1]);
    for (unsigned i = 0; i < 4000; i++) x += use(find(1 + i % keys));
    return x == 42;
}
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_whyperf(*arguments, cwd=folder, environment={**os.environ, "XDG_CACHE_HOME": SHARED_CACHE})


def test_who_calls_more_often_is_said(tmp_path: Path) -> None:
    # GIVEN a program that is told to call a function ten times as often
    (tmp_path / "tool.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-O2", "-o", "tool", "tool.c"], cwd=tmp_path, check=True)
    # WHEN it is compared with counting runs, and the recordings are diagnosed again
    compare = run(
        tmp_path,
        "compare",
        "--quick",
        "--counts",
        "--good",
        "./tool 50",
        "--bad",
        "./tool 500",
        "-o",
        "out",
        "--json",
        "v",
    )
    assert compare.returncode == 0, compare.stderr
    again = run(tmp_path, "diagnose", "out", "--json", "again")
    assert again.returncode == 0, again.stderr
    # THEN both say so, with exact numbers and the line, and shares that add up
    for file, report in (("v", compare), ("again", again)):
        counts = json.loads((tmp_path / file).read_text())["call_counts"]
        change = next(one for one in counts["changes"] if one["kind"] == "calls" and one["callee"] == "flush")
        assert (change["function"], change["line"], change["good"], change["bad"]) == ("plan", 7, 50, 500)
        assert sum(one["share"] for one in counts["changes"]) + counts["more"]["share"] == pytest.approx(1)
        assert "plan calls flush 500 times per call; was 50. (line 7)" in report.stdout


def test_a_cache_that_is_one_too_small_is_the_first_suspect(tmp_path: Path) -> None:
    # GIVEN a program whose cache holds eight results, of which it needs eight or nine in turn
    (tmp_path / "tool.c").write_text(CACHE)
    subprocess.run(["gcc", "-g", "-O2", "-o", "tool", "tool.c"], cwd=tmp_path, check=True)
    sides = "--good", "./tool 8", "--bad", "./tool 9"
    done = run(tmp_path, "compare", "--quick", "--counts", *sides, "-o", "out", "--json", "v")
    assert done.returncode == 0, done.stderr
    # THEN who decides to make a result anew comes before who makes it
    first, *others = json.loads((tmp_path / "v").read_text())["suspects"]
    assert (first["function"], first["pattern"]) == ("find", "wrong-constraint")
    assert "find calls prepare once per call; was once in 500 calls." in first["why"]
    assert first["share"] > 0.8
    assert "prepare" in [one["function"] for one in others]


def test_what_cannot_be_counted_together_is_refused(tmp_path: Path) -> None:
    done = run(tmp_path, "compare", "--counts", "--deep", "--good", "true", "--bad", "true")
    assert done.returncode == 2
    assert "--counts and --deep exclude each other." in done.stderr
    assert list(tmp_path.iterdir()) == []
