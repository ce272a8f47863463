"""What compilers do across functions of one file, and what may be wrong with a plan."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.debuginfo.transplants.builds import LIBRARY, Ran, built, ran, ran_with
from whyperf.collect.observation.transplants import Transplants
from whyperf.debuginfo.transplants.module import TransplantModule
from whyperf.debuginfo.transplants.moved import Mover
from whyperf.debuginfo.transplants.planner import plan_transplant

REGISTERS = r"""
#include <stdio.h>
#include <stdlib.h>
static __attribute__((noinline, noclone)) long f(long n) {
#ifdef GOOD
    long a = n * 3, b = n ^ 5, c = n << 7, d = n >> 1, e = n * n, g = n | 9, h = a * b + c, i = d * e - g;
    for (long k = n & 7; k; k--) {
        a += b * k; b ^= c; c -= d; d += e * 5; e ^= g; g += h; h -= i * k; i ^= a;
    }
    return a + b + c + d + e + g + h + i;
#else
    return n * 31;
#endif
}
int main(int argc, char **argv) {
    long a = atol(argv[1]), b = a * 3, c = a * 5, d = a * 7, e = a * 11, g = a * 13, sum = 0;
    for (long k = 0; k < 9; k++) {
        long made = f(a + k);
        sum += made ^ (a + b * k) ^ (c - d) ^ (e * k + g);
        a++, b += c, c ^= d, d += e, e -= g, g += k;
    }
    printf("%ld %ld %ld %ld %ld %ld %ld\n", sum, a, b, c, d, e, g);
}
"""


@pytest.mark.parametrize("value", ["3", "12345"])
def test_callers_find_in_registers_what_they_kept_there(tmp_path: Path, value: str) -> None:
    """gcc lets them, as it knows which ones the function changes (-fipa-ra)."""
    builds = built(tmp_path, REGISTERS)
    giver, receiver = TransplantModule(builds.good), TransplantModule(builds.bad)
    moved = Mover(giver, receiver).moved(*(module.symbols.named("f")[0] for module in (giver, receiver)))
    assert moved.saved
    assert ran_with(tmp_path, builds.good, builds.bad, ["f"], value) == ran(builds.good, value)
    assert ran_with(tmp_path, builds.bad, builds.good, ["f"], value) == ran(builds.bad, value)


ORDER = r"""
#include <stdio.h>
#ifdef GOOD
static long first = 1, second = 2; static int third = 3; static char fourth = 4;
#else
static char fourth = 4; static long unknown = 9, second = 2; static int third = 3; static long first = 1;
#endif
__attribute__((noinline)) long f(long n) {
    first += n; second ^= first; third += second; fourth += third;
    return first * 1000 + second * 100 + third * 10 + fourth;
}
int main(void) {
#ifndef GOOD
    unknown++;
#endif
    long made = f(5);
    made += f(6);
    printf("%ld %ld %ld %d %d\n", made, first, second, third, fourth);
}
"""


@pytest.mark.parametrize("flags", ["-O2", "-O1", "-Os", "-O0"])
def test_static_variables_may_lie_in_another_order(tmp_path: Path, flags: str) -> None:
    builds = built(tmp_path, ORDER, flags)
    assert ran_with(tmp_path, builds.good, builds.bad, ["f"]) == ran(builds.good)
    assert ran_with(tmp_path, builds.bad, builds.good, ["f"]) == ran(builds.bad)


# Names in one array each, in another order: an address is taken once, and the others are counted from it.
NAMES = r"""
#include <stdio.h>
#include <string.h>
static const char plain[] = "plain-and-long", lead[] = "lead", lag[] = "lag";
__attribute__((noinline)) int which(const char *name) {
#ifdef GOOD
    return name == lead ? 1 : name == lag ? 2 : name == plain ? 3 : 0;
#else
    return name == lag ? 2 : name == lead ? 1 : name == plain ? 3 : 0;
#endif
}
__attribute__((noinline)) int f(int n) {
    int seen = 0;
    for (int i = 0; i < n; i++) {
        seen = seen * 4 + which(lead);
        seen = seen * 4 + which(lag);
        seen = seen * 4 + which(i & 1 ? plain : lag);
        seen += strlen(i & 1 ? lead + 1 : lag);
    }
    return seen;
}
int main(void) { printf("%d\n", f(4)); }
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("flags", ["-O2", "-O1", "-Os"])
def test_constants_whose_addresses_are_taken_may_lie_in_another_order(
    tmp_path: Path, flags: str, compiler: str
) -> None:
    builds = built(tmp_path, NAMES, flags, compiler=compiler)
    assert ran_with(tmp_path, builds.good, builds.bad, ["f"]) == ran(builds.good)
    assert ran_with(tmp_path, builds.bad, builds.good, ["f"]) == ran(builds.bad)


@pytest.mark.parametrize(
    ("at", "said"),
    [
        (0, "its plan is damaged"),
        (12, "its plan is of another version of whyperf"),
        (200, "its plan is damaged"),
        (-40, "its plan is damaged"),
    ],
)
def test_a_damaged_plan_leaves_the_program_as_it_is(tmp_path: Path, at: int, said: str) -> None:
    builds = built(tmp_path, ORDER)
    plan = plan_transplant(TransplantModule(builds.good), TransplantModule(builds.bad), ["f"])
    moved = Transplants(tmp_path / "plans", [plan])
    (file,) = (tmp_path / "plans").glob("*.plan")
    content = bytearray(file.read_bytes())
    content[at] ^= 0x55
    file.write_bytes(content)
    environment = {**os.environ, "LD_PRELOAD": str(LIBRARY), **moved.environment()}
    done = subprocess.run([builds.bad], env=environment, capture_output=True, text=True, check=False)
    assert Ran(done.returncode, done.stdout.splitlines()) == ran(builds.bad)
    assert moved.why_not() == said


def test_a_plan_for_another_build_is_not_carried_out(tmp_path: Path) -> None:
    builds = built(tmp_path, ORDER)
    plan = plan_transplant(TransplantModule(builds.good), TransplantModule(builds.bad), ["f"])
    moved = Transplants(tmp_path / "plans", [plan])
    environment = {**os.environ, "LD_PRELOAD": str(LIBRARY), **moved.environment()}
    done = subprocess.run([builds.good], env=environment, capture_output=True, text=True, check=False)
    assert Ran(done.returncode, done.stdout.splitlines()) == ran(builds.good)
    assert moved.why_not() == "the file that it is for was not loaded"
