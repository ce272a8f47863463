"""The same for x86-64, in an emulator where there is one."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.debuginfo.transplants import test_exceptions, test_functions
from tests.debuginfo.transplants.builds import Builds, Ran, built
from whyperf.collect.observation.transplants import Transplants
from whyperf.debuginfo.transplants.module import TransplantModule
from whyperf.debuginfo.transplants.planner import plan_transplant

NATIVE = Path(__file__).parents[3] / "native"
CROSS = "x86_64-linux-gnu-gcc"
SYSROOT = "/usr/x86_64-linux-gnu"
_PARTS = ("checksum", "install", "loaded_plans", "memory", "modules", "plan", "sandbox", "transplant")
pytestmark = pytest.mark.skipif(
    not shutil.which("qemu-x86_64-static") or not shutil.which(CROSS) or not shutil.which("x86_64-linux-gnu-g++"),
    reason="no emulator of x86-64",
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("library") / "transplants.so"
    files = [NATIVE / "interposed/syscall.c", NATIVE / "probes/x86_64/code.c"]
    files += [NATIVE / f"probes/{name}.c" for name in _PARTS]
    flags = ["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{NATIVE}"]
    linked = ["-Wl,-z,now", "-Wl,-z,defs", "-Wl,-z,initfirst", "-fno-stack-protector", "-fno-plt"]
    subprocess.run([CROSS, *flags, *linked, *map(str, files), "-o", str(made)], check=True)
    return made


@pytest.fixture(scope="module", params=["-fPIE -pie", "-fcf-protection -fno-plt", "-O3 -mavx2"])
def builds(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Builds:
    folder = tmp_path_factory.mktemp("builds")
    return built(folder, test_functions.SOURCE, *request.param.split(), compiler=CROSS)


def _emulated(program: Path, *arguments: str, settings: Sequence[str] = ()) -> Ran:
    given = [word for setting in settings for word in ("-E", setting)]
    command = ["qemu-x86_64-static", "-cpu", "max", "-L", SYSROOT, *given, str(program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Ran(done.returncode, (done.stdout + done.stderr).splitlines())


def _emulated_with(
    folder: Path, library: Path, giver: Path, receiver: Path, functions: Sequence[str], *arguments: str
) -> Ran:
    moved = Transplants(
        folder / "plans", [plan_transplant(TransplantModule(giver), TransplantModule(receiver), functions)]
    )
    settings = [f"LD_PRELOAD={library}", *(f"{name}={value}" for name, value in moved.environment().items())]
    ran = _emulated(receiver, *arguments, settings=settings)
    assert moved.why_not() == ""
    return ran


@pytest.mark.parametrize("function", test_functions.ONES)
def test_function_runs_in_the_other_program(tmp_path: Path, library: Path, builds: Builds, function: str) -> None:
    good, bad = _emulated(builds.good, "key"), _emulated(builds.bad, "key")
    there = _emulated_with(tmp_path, library, builds.good, builds.bad, [function], "key")
    said = ("kind", "zero") if function == "kind" else (test_functions.ONES[function],)
    assert there.lines == [
        mine if mine.startswith(said) else theirs for mine, theirs in zip(good.lines, bad.lines, strict=True)
    ]


def test_all_at_once_are_the_good_program(tmp_path: Path, library: Path, builds: Builds) -> None:
    there = _emulated_with(tmp_path, library, builds.good, builds.bad, list(test_functions.ONES), "key", "more")
    assert there == _emulated(builds.good, "key", "more")


def test_exceptions_pass_and_land(tmp_path: Path, library: Path) -> None:
    source = test_exceptions.SOURCE
    made = built(tmp_path, source, language="cc", compiler="x86_64-linux-gnu-g++")
    functions = ["_Z7passingi", "_Z5plaini", "_Z8catchingi", test_exceptions.JOINED]
    there = _emulated_with(tmp_path, library, made.good, made.bad, functions)
    assert there == _emulated(made.good)
