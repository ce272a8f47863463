"""Compiles programs, plans how they are counted, and runs them with and without counting.

All of it is native, unless WHYPERF_TEST_X86_ROOT names the root of an x86-64 system whose programs can be run by chroot
(qemu-user does that): then a cross compiler builds programs of that machine, and the library as well.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import platform
import shutil
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

import numpy as np

from tests.patience import PATIENCE_S
from whyperf.collect.counts.counter_files import CountedModule, CountedProcess, UncountedReason, counted_processes
from whyperf.collect.counts.recorder import LIBRARY
from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.describe import describe
from whyperf.debuginfo.probes.plan_cache import counting_plan, ensure_plan, load_plan
from whyperf.debuginfo.probes.plan_file import PatchPlan
from whyperf.debuginfo.probes.planner import DEFAULT_KINDS
from whyperf.debuginfo.probes.sites import sites_of
from whyperf.recording.schemas.call_tables import CallKind

ROOT = os.environ.get("WHYPERF_TEST_X86_ROOT", "")
NATIVE = Path(__file__).parents[3] / "native"
CROSS = "x86_64-linux-gnu-" if ROOT else ""
MACHINE = "x86_64" if ROOT else platform.machine()
"""Whose code programs are compiled to."""
USES_REGISTER = {
    "x86_64": '__asm__ volatile("mov %%gs:8, %%rax" : : : "rax");',
    "aarch64": '__asm__ volatile("msr tpidr_el0, x0");',
}[MACHINE]
"""What keeps threads from having counters of their own; not to be run."""
_WARNINGS = ["-std=gnu11", "-Wall", "-Wextra", "-Werror"]
_CODE = ["-O2", "-g", "-D_GNU_SOURCE", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-plt", "-fno-stack-protector"]
_LINKED = ["-Wl,-z,now", "-Wl,-z,defs", "-Wl,-z,initfirst"]
_LIBRARY_FLAGS = [*_WARNINGS, *_CODE, *_LINKED]
UNCOUNTED = -1

Edge = tuple[str, str, CallKind]
"""Function, callee (empty when unknown), kind."""
LineEdge = tuple[str, int, str, CallKind]
"""The same with the line of the call."""


@dataclass(frozen=True)
class Ran:
    status: int
    output: str
    errors: str
    processes: list[CountedProcess] = field(default_factory=list)


@dataclass(frozen=True)
class Machine:
    folder: Path

    @property
    def plans(self) -> Path:
        return self._made("plans")

    def _made(self, name: str) -> Path:
        path = self.folder / name
        path.mkdir(exist_ok=True)
        return path

    def compiled(
        self,
        source: str,
        *flags: str,
        name: str = "program",
        plan: bool = True,
        kinds: frozenset[CallKind] = DEFAULT_KINDS,
    ) -> Path:
        """From the text of a program in C, or in C++ if it says `#include <cstdio>`."""
        cplusplus = "#include <c" in source
        file = self.folder / f"{name}.{'cc' if cplusplus else 'c'}"
        file.write_text(source)
        binary = self.folder / name
        compiler = f"{CROSS}{'g++' if cplusplus else 'gcc'}"
        _run([compiler, "-g", "-O2", "-Wl,--build-id", str(file), *flags, "-o", str(binary), "-lpthread", "-ldl"])
        if plan:
            assert ensure_plan(self.plans, describe(str(binary)), partial(counting_plan, kinds=kinds)) is not None
        return binary

    def stripped(self, binary: Path, name: str) -> Path:
        other = self.folder / name
        _run([f"{CROSS}strip", str(binary), "-o", str(other)])
        return other

    def plain(self, *command: str | Path) -> Ran:
        return self._ran(command, {})

    def counted(self, *command: str | Path, plans: Path | None = None, kill_when: str = "") -> Ran:
        """`kill_when`: the program is killed once it has written that."""
        out = self.folder / f"out-{len(list(self.folder.glob('out-*')))}"
        out.mkdir()
        variables = {
            "LD_PRELOAD": ":".join(_inside(one) for one in preloaded()),
            "WHYPERF_COUNTS_PLANS": _inside(plans or self.plans),
            "WHYPERF_COUNTS_OUT": _inside(out),
        }
        ran = self._ran(command, variables, kill_when)
        return Ran(ran.status, ran.output, ran.errors, counted_processes(out))

    def _ran(self, command: Sequence[str | Path], variables: dict[str, str], kill_when: str = "") -> Ran:
        words = [_inside(one) if isinstance(one, Path) else one for one in command]
        settings = ["env", *(f"{name}={value}" for name, value in variables.items())]
        full = [*(["chroot", ROOT] if ROOT else []), *settings, *words]
        with subprocess.Popen(full, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
            output = ""
            if kill_when:
                assert running.stdout is not None
                while not output.endswith(kill_when):
                    output += running.stdout.read(1)
                running.send_signal(signal.SIGKILL)
            rest, errors = running.communicate(timeout=PATIENCE_S)
        return Ran(running.returncode, output + rest, errors)

    def edges(self, binary: Path, processes: Sequence[CountedProcess]) -> Counter[Edge]:
        """How often each edge was taken, over all processes given; those never taken are not there."""
        found: Counter[Edge] = Counter()
        for (function, _, callee, kind), count in self.line_edges(binary, processes).items():
            found[function, callee, kind] += count
        return +found

    def line_edges(self, binary: Path, processes: Sequence[CountedProcess]) -> Counter[LineEdge]:
        """Of each line with a counted site; -1 if some site there is not counted."""
        described, plan = self._planned(binary)
        sites, names = sites_of(described, plan), described.functions.names
        counts = np.zeros(plan.counters, np.uint64)
        for module in modules_of(described.build_id, processes):
            assert module.plan_checksum == plan.checksum
            counts += module.counts
        found: Counter[LineEdge] = Counter()
        for row in range(len(sites.address)):
            callee = names[sites.callee[row]] if sites.callee[row] >= 0 else sites.imported[row]
            caller = names[sites.function[row]] if sites.function[row] >= 0 else ""
            edge = caller, int(sites.line[row]), callee, CallKind(int(sites.kind[row]))
            counter = int(sites.counter[row])
            if counter < 0:
                found[edge] = UNCOUNTED
            elif found[edge] != UNCOUNTED:
                found[edge] += int(counts[counter])
        return found

    def _planned(self, binary: Path) -> tuple[Binary, PatchPlan]:
        described = describe(str(binary))
        plan = load_plan(self.plans, described.build_id)
        assert plan is not None
        return described, plan


def modules_of(build_id: str, processes: Sequence[CountedProcess]) -> list[CountedModule]:
    modules = [one for process in processes for one in process.modules if one.build_id == build_id]
    assert modules
    for one in modules:
        assert one.reason is UncountedReason.COUNTED, one
    return modules


def reasons(binary: Path, processes: Sequence[CountedProcess]) -> set[UncountedReason]:
    """Why it was not counted."""
    return {one.reason for process in processes for one in process.modules if Path(one.path).name == binary.name}


@contextlib.contextmanager
def counting_machine() -> Iterator[Machine]:
    """A folder that the programs see, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="whyperf-counts-", dir=f"{ROOT}/tmp" if ROOT else None) as folder:
        yield Machine(Path(folder))


@cache
def preloaded() -> list[Path]:
    if not ROOT:
        assert LIBRARY.is_file(), f"{LIBRARY} was not built"
        return [LIBRARY]
    folder = Path(tempfile.mkdtemp(prefix="whyperf-library-", dir=f"{ROOT}/tmp"))
    atexit.register(shutil.rmtree, folder)
    library, again = folder / "libwhyperf_probes.so", folder / "libtranslate_again.so"
    own = [one for folder in ("probes", "probes/x86_64") for one in sorted((NATIVE / folder).glob("*.c"))]
    sources = map(str, [*own, NATIVE / "interposed" / "syscall.c"])
    _run([f"{CROSS}gcc", *_LIBRARY_FLAGS, f"-I{NATIVE}", *sources, "-o", str(library)])
    source = Path(__file__).parent / "programs" / "translate_again.c"
    _run([f"{CROSS}gcc", "-O2", "-shared", "-fPIC", str(source), "-o", str(again)])
    return [library, again]


def _inside(path: Path) -> str:
    """As the programs see it."""
    return "/" + str(path.relative_to(ROOT)) if ROOT else str(path)


def _run(command: list[str]) -> None:
    assert shutil.which(command[0]), f"{command[0]} is needed to build what is tested"
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def environment_outside() -> dict[str, str]:
    """In which a program can be run without chroot: an emulator is told where its libraries are."""
    return {**os.environ, "QEMU_LD_PREFIX": ROOT} if ROOT else dict(os.environ)
