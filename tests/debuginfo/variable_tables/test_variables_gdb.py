"""What the table says is what gdb prints: at random instructions, in callers, in inlined functions."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.debuginfo.building import PROGRAMS, needed, run
from tests.debuginfo.oracle import Comparison, compare_with_gdb

COMPILERS = [("gcc", "g++"), ("clang", "clang++")]


def report(name: str, found: Comparison) -> None:
    print(f"\n{name}: {found.summary()}")
    for difference in found.differences[:20]:
        print("  ", *difference)


def assert_equal(found: Comparison, at_least: int) -> None:
    assert found.agreed >= at_least, found.summary()
    assert found.agreed >= 0.99 * (found.agreed + found.disagreed), found.differences
    assert found.counts.get("globals disagree", 0) == 0, found.differences


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("compiler", [c for c, _ in COMPILERS])
def test_c(tmp_path: Path, compiler: str, level: str) -> None:
    program = tmp_path / "program"
    run(compiler, "-g", level, PROGRAMS / "values.c", "-o", program)
    found = compare_with_gdb(program, tmp_path, sources=["values.c"])
    report(f"{compiler} {level}", found)
    assert_equal(found, 1000)
    assert {"kind float", "kind enum", "kind boolean", "kind pointer"} <= found.counts.keys()
    assert found.counts["globals agree"] > 0


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("compiler", [c for _, c in COMPILERS])
def test_cxx(tmp_path: Path, compiler: str, level: str) -> None:
    program = tmp_path / "program"
    run(compiler, "-g", level, PROGRAMS / "values.cpp", "-o", program)
    found = compare_with_gdb(program, tmp_path, sources=["values.cpp"])
    report(f"{compiler} {level}", found)
    assert_equal(found, 800)
    assert found.counts["kind size"] > 50


@pytest.mark.parametrize("flags", [["-gdwarf-4"], ["-fdebug-types-section"], ["-fno-omit-frame-pointer", "-O1"]])
def test_other_ways_of_writing_it(tmp_path: Path, flags: list[str]) -> None:
    program = tmp_path / "program"
    run("g++", "-g", "-O2", *flags, PROGRAMS / "values.cpp", "-o", program)
    found = compare_with_gdb(program, tmp_path, sources=["values.cpp"], stops=60)
    report(" ".join(flags), found)
    assert_equal(found, 300)


def test_redis(tmp_path: Path) -> None:
    """A server with real inlining; only where the benchmarks have built it already."""
    built = sorted((Path(__file__).parents[3] / ".cache" / "bench").glob("redis-*/src/redis-server"))
    if not built:
        pytest.skip("no redis has been built for the benchmarks")
    program, socket = tmp_path / "redis-server", tmp_path / "socket"
    shutil.copy(built[0], program)
    client = f"{built[0].parent}/redis-benchmark -s {socket} -n 1500 -q -c 5 -t set,get,lpush,lrange_100,sadd,zadd"
    stop = f"until {built[0].parent}/redis-cli -s {socket} shutdown nosave; do sleep 0.5; done"
    needed(str(built[0].parent / "redis-cli"))
    found = compare_with_gdb(
        program,
        tmp_path,
        sources=["networking.c", "db.c", "dict.c", "sds.c", "object.c", "t_list.c", "t_zset.c", "quicklist.c", "ae.c"],
        arguments=f'--port 0 --unixsocket {socket} --save ""',
        driver=f"until [ -S {socket} ]; do sleep 0.2; done; {client} > {tmp_path}/client 2>&1; {stop}",
        stops=300,
    )
    report("redis", found)
    assert_equal(found, 2000)
