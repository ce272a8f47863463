"""Nodes of a hash table's buckets, counted where the library walks them: against a program that counts itself."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from whyperf.collect.counts.run import record_counts
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import find_program
from whyperf.debuginfo.describe import describe
from whyperf.debuginfo.probes.planner import make_plan
from whyperf.diagnose.engine_claims.call_counts import walked_nodes
from whyperf.recording.layout import OUTPUT
from whyperf.recording.names.hash_tables import walks_bucket
from whyperf.recording.schemas.call_tables import CallKind
from whyperf.seal.opening import seal

pytestmark = pytest.mark.process

# All keys of a bucket have the same hash, so that each node that is looked at is compared.
SOURCE = """
#include <cstdio>
#include <unordered_map>
static long compared;
__attribute__((noipa)) static void compare() { compared++; }
struct Point { int x; bool operator==(const Point &other) const { compare(); return x == other.x; } };
struct PointHash { size_t operator()(const Point &point) const { return (size_t)(point.x % 64); } };
int main() {
    std::unordered_map<Point, int, PointHash> map;
    long sum = 0, found = 0;
    for (int i = 0; i < 3200; i++) map[Point{i}] = i;
    long before = compared;
    for (int round = 0; round < 40; round++)
        for (int i = 0; i < 3200; i++, found++) sum += map.find(Point{i})->second;
    std::printf("%ld %ld %ld\\n", found, compared - before, sum);
}
"""


def compiled(folder: Path, compiler: str, source_text: str = SOURCE) -> Path:
    source, program = folder / "table.cc", folder / "table"
    source.write_text(source_text)
    subprocess.run([compiler, "-g", "-O2", "-Wl,--build-id", "-o", program, source], check=True)
    return program


def test_nodes_per_call_are_those_that_the_program_compares(tmp_path: Path) -> None:
    outcome = record_counts(
        find_program((str(compiled(tmp_path, "g++")),), os.environ),
        tmp_path / "r",
        lifecycle=Lifecycle(),
        environment=dict(os.environ),
        capture_output=True,
    )
    recording = seal(outcome.path)
    found, compared, _ = map(int, (recording.path / OUTPUT[0]).read_text().split())
    names = recording.table("functions").column("name").to_pylist()
    rows = recording.table("call_counts").to_pylist()
    calls = sum(row["count"] for row in rows if row["callee"] >= 0 and walks_bucket(names[row["callee"]]))
    iterations = sum(row["count"] for row in rows if row["kind"] == CallKind.ITERATION)
    assert found <= calls <= found + 3200
    # THEN they agree but for the insertions before, 3200 beside 128,000
    assert 1 + iterations / calls == pytest.approx(compared / found, rel=0.04)


@pytest.mark.skipif(not shutil.which("x86_64-linux-gnu-g++"), reason="no compiler for x86-64")
def test_they_are_counted_on_x86_64_too(tmp_path: Path) -> None:
    program = compiled(tmp_path, "x86_64-linux-gnu-g++", SOURCE.replace("compare(); ", ""))
    made = make_plan(describe(str(program)))
    assert made is not None
    coverage = made[1]
    assert coverage.found[CallKind.ITERATION] > 0
    assert coverage.counted[CallKind.ITERATION] == coverage.found[CallKind.ITERATION]


def test_the_sentence_has_the_figure_only_where_nodes_were_counted() -> None:
    counted = walked_nodes((0.5, 17.0), 9.0, "PointHash")
    assert counted.startswith("It looks at 18 nodes of a bucket per call; was 1.50.")
    assert counted.endswith("That is 12 times as many nodes per bucket: look at PointHash.")
    assert "nodes per bucket" not in walked_nodes(None, 9.0, "PointHash")
    assert "nodes per bucket" not in walked_nodes((2.0, 2.0), 9.0, "PointHash")
