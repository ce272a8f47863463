"""Variables of one build that begin with the other's values."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.debuginfo.transplants.builds import Builds, Ran, built, ran
from whyperf.collect.observation.recorder import LIBRARY
from whyperf.collect.observation.transplants import Transplants
from whyperf.debuginfo.transplants.initial_values import ChangedVariable, changed_variables
from whyperf.debuginfo.transplants.module import TransplantModule
from whyperf.debuginfo.transplants.planner import plan_transplant

pytestmark = pytest.mark.process
CROSS = "x86_64-linux-gnu-gcc"

SOURCE = r"""
#include <stdio.h>
#ifdef GOOD
#define EITHER(good, bad) good
#else
#define EITHER(good, bad) bad
#endif
#define KEPT __attribute__((used))
int same = 5;
int number = EITHER(65537, 509);
KEPT static long from_nothing = EITHER(1L << 40, 0);
KEPT static long to_nothing = EITHER(0, 7);
KEPT static const volatile unsigned short fixed = EITHER(3, 4);
const int constants[2] = {EITHER(5, 6), 7};  // beside code, where the linker puts both into one segment
static double ratio = EITHER(0.75, 1.5);
static char name[8] = EITHER("good", "bad");
struct step { const char *name; int first; const char *last; int second; } steps[2] = {
    {EITHER("one", "other"), 1, "end", EITHER(2, 3)}, {"two", EITHER(4, 5), "end", 6}};
static const char *const text = EITHER("a text", "another text");
#ifdef GOOD
int only_here = 1, larger[4] = {1, 2, 3, 4};
#else
int larger[5] = {5, 6, 7, 8, 9};
#endif
__attribute__((noinline)) static int counted(int by) { static int count = EITHER(10, 20); return count += by; }
int main(int argc, char **argv) {
    number += argc, from_nothing += argc, to_nothing += argc, ratio += argc, name[0] -= argc - 1, same += argc;
    printf("number %d\n", number);
    printf("from_nothing %ld\n", from_nothing);
    printf("to_nothing %ld\n", to_nothing);
    printf("fixed %d\n", fixed);
    printf("constants %d\n", constants[argc - 1]);
    printf("ratio %g\n", ratio);
    printf("name %s\n", name);
    for (int i = 0; i < 2; i++)
        printf("steps %d %d\n", steps[i].first * argc, steps[i].second);
    printf("count %d\n", counted(argc));
    printf("others %s %s %s %d %d\n", steps[0].name, steps[1].last, text, larger[argc], same);
}
"""
CHANGED = {"number", "from_nothing", "to_nothing", "fixed", "constants", "ratio", "name", "steps", "count"}


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Builds:
    return built(tmp_path_factory.mktemp("builds"), SOURCE)


def _changed(builds: Builds) -> dict[str, ChangedVariable]:
    return {one.name: one for one in changed_variables(TransplantModule(builds.good), TransplantModule(builds.bad))}


def _with(folder: Path, receiver: Path, functions: Sequence[str], records: Sequence[bytes]) -> tuple[Ran, str]:
    module = TransplantModule(receiver)
    moved = Transplants(folder / "plans", [plan_transplant(module, module, functions, records)])
    environment = {**os.environ, "LD_PRELOAD": str(LIBRARY), **moved.environment()}
    done = subprocess.run([receiver], env=environment, capture_output=True, text=True, check=False)
    return Ran(done.returncode, done.stdout.splitlines()), moved.why_not()


def test_variables_of_one_name_and_size_that_begin_otherwise(builds: Builds) -> None:
    found = _changed(builds)
    assert found.keys() == CHANGED
    assert [(one.at, one.good, one.bad) for one in found["fixed"].different] == [(0, b"\3\0", b"\4\0")]
    assert [one.at for one in found["steps"].different] == [24, 40]  # not the pointers beside them


SEVERAL = r"""
#include <stdio.h>
#ifdef GOOD
#define FIRST 12
#else
#define FIRST 4
#endif
__attribute__((noinline)) static int hashed(int by) { static int bits = FIRST; return bits += by; }
__attribute__((noinline)) static int shifted(int by) { static int bits = 7; return bits -= by; }
#if defined(ONE_MORE) && defined(GOOD)
__attribute__((noinline, used)) static int masked(int by) { static int bits = 9; return bits ^= by; }
#endif
int main(int argc, char **argv) { printf("hashed %d\n", hashed(argc)); printf("shifted %d\n", shifted(argc)); }
"""


def test_statics_of_one_name_in_several_functions_are_told_apart_by_their_numbers(tmp_path: Path) -> None:
    builds = built(tmp_path, SEVERAL)
    (found,) = changed_variables(TransplantModule(builds.good), TransplantModule(builds.bad))
    assert found.name == "bits"
    records = found.records(from_good=True, into_good=False)
    assert ran(builds.bad).lines == ["hashed 5", "shifted 6"]
    assert _with(tmp_path, builds.bad, [], records) == (Ran(0, ["hashed 13", "shifted 6"]), "")


def test_one_more_of_that_name_may_have_moved_their_numbers(tmp_path: Path) -> None:
    builds = built(tmp_path, SEVERAL, "-DONE_MORE")
    assert not changed_variables(TransplantModule(builds.good), TransplantModule(builds.bad))


@pytest.mark.skipif(not shutil.which(CROSS), reason="no compiler for x86-64")
@pytest.mark.parametrize("flags", ["", "-fPIE -pie", "-fno-plt -mcmodel=large"])
def test_the_same_variables_are_found_for_the_other_machine(tmp_path: Path, flags: str) -> None:
    builds = built(tmp_path, SOURCE, *flags.split(), compiler=CROSS)
    assert _changed(builds).keys() == CHANGED


@pytest.mark.parametrize("variable", sorted(CHANGED))
def test_a_variable_begins_as_in_the_other_build(tmp_path: Path, builds: Builds, variable: str) -> None:
    good, bad = ran(builds.good), ran(builds.bad)
    expected = [
        mine if mine.startswith(variable) else theirs for mine, theirs in zip(good.lines, bad.lines, strict=True)
    ]
    assert expected != bad.lines
    records = _changed(builds)[variable].records(from_good=True, into_good=False)
    assert _with(tmp_path, builds.bad, [], records) == (Ran(0, expected), "")


def test_own_values_written_back_change_nothing(tmp_path: Path, builds: Builds) -> None:
    records = [record for one in _changed(builds).values() for record in one.records(from_good=False, into_good=False)]
    assert _with(tmp_path, builds.bad, ["main"], records) == (ran(builds.bad), "")


def test_the_other_way_round(tmp_path: Path, builds: Builds) -> None:
    records = [record for one in _changed(builds).values() for record in one.records(from_good=False, into_good=True)]
    there, why_not = _with(tmp_path, builds.good, ["main"], records)
    assert not why_not
    assert there.lines[:-1] == ran(builds.bad).lines[:-1]  # all but what is no number
    assert there.lines[-1] == ran(builds.good).lines[-1]


@pytest.mark.parametrize("fault", ["other bytes", "no variable", "code", "too long"])
def test_what_is_not_as_planned_is_left_alone(tmp_path: Path, builds: Builds, fault: str) -> None:
    variables = _changed(builds)
    number = variables["number"]
    if fault == "other bytes":
        (part,) = number.different
        number = replace(number, different=(replace(part, bad=bytes(4)),))
    else:
        module = TransplantModule(builds.bad)
        away = {"no variable": 1 << 30, "code": module.symbols.named("main")[0].address, "too long": number.bad.address}
        number = replace(number, bad=replace(number.bad, address=away[fault]))
    records = [
        record for one in (variables["ratio"], number) for record in one.records(from_good=True, into_good=False)
    ]
    if fault == "too long":  # more bytes than the plan has
        records[-1] = records[-1][:8] + (1 << 31).to_bytes(4, "little") + records[-1][12:]
    # THEN nothing at all is changed
    there, why_not = _with(tmp_path, builds.bad, ["main"], records)
    assert (there, why_not) == (ran(builds.bad), "its code or data in memory is not that of the file")
