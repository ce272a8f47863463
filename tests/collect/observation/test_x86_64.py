"""Plans for x86-64 code: what stubs consist of, and, where there is an emulator, that they do what they should."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.collect.observation.programs import compiled, functions, instructions
from tests.collect.observation.test_programs import MANY_FORMS
from tests.collect.observation.test_values import FLOATS, PRODUCTS, SOURCE, of_floats
from tests.patience import PATIENCE_S
from whyperf.collect.observation.plans import write_plans
from whyperf.collect.observation.record_files import RecordingProcess, processes
from whyperf.collect.observation.sites import Forced, ObservationLimits, ObservedSite
from whyperf.debuginfo.elf_files.elf import read_elf
from whyperf.debuginfo.machines import X86_64
from whyperf.debuginfo.probes.observing import LoadedNumber, Wanted, plan_places
from whyperf.debuginfo.probes.plan_file import PatchKind

NATIVE = Path(__file__).parents[3] / "native"
CROSS = "x86_64-linux-gnu-gcc"
SYSROOT = Path("/usr/x86_64-linux-gnu")
needs_compiler = pytest.mark.skipif(not shutil.which(CROSS), reason="no compiler for x86-64")
needs_emulator = pytest.mark.skipif(
    not shutil.which("qemu-x86_64-static") or not shutil.which(CROSS), reason="no emulator of x86-64"
)
_LEAVES = re.compile(r"(call|ret|j.*)")


@needs_compiler
@pytest.mark.parametrize("flags", [["-O2"], ["-O0"]], ids=" ".join)
def test_stubs_hold_the_instruction_and_lead_back(tmp_path: Path, flags: list[str]) -> None:
    program = compiled(tmp_path, MANY_FORMS, *flags, "-lm", compiler=CROSS)
    elf = read_elf(program)
    assert elf is not None
    rows = [row for name in functions(program) for row in instructions(program, name)]
    leaving = [bool(_LEAVES.fullmatch(row.mnemonic)) for row in rows]
    wanted = [Wanted(row.address, not leaves) for row, leaves in zip(rows, leaving, strict=True)]
    made = plan_places(elf, wanted)
    assert made.plan is not None and len(made.placed) > 0.97 * len(rows), Counter(made.refused.values())
    patches = {int(patch["at"]): patch for patch in made.plan.patches}
    for row, leaves in zip(rows, leaving, strict=True):
        if row.address not in made.placed:
            continue
        patch = patches[row.address]
        assert patch["kind"] == PatchKind.TRAP and patch["size"] == row.size
        stub = int(patch["stub"])
        code = list(X86_64.rows(made.plan.stubs[stub : stub + 48], stub))
        if leaves:
            assert _leads_to(row.mnemonic, row.operands, row.address + row.size) in [
                _leads_to(mnemonic, operands, at + size) for at, size, mnemonic, operands in code
            ]
            continue
        at, size, mnemonic, operands = code[0]
        assert (mnemonic, _found(operands, at + size)) == (row.mnemonic, _found(row.operands, row.address + row.size))
        assert code[1][2] == "int3" and made.placed[row.address].after == code[1][0]
        assert code[2][2:] == ("jmp", hex(row.address + row.size))


def _found(operands: str, end: int) -> str:
    """With what is found relative to the instruction as an address."""
    found = re.search(r"\[rip ([+-]) (\w+)\]", operands)
    if not found:
        return operands
    return operands.replace(found[0], hex(end + int(found[2], 0) * (1 if found[1] == "+" else -1)))


def _leads_to(mnemonic: str, operands: str, end: int) -> str:
    return f"{'jmp' if mnemonic == 'call' else mnemonic} {_found(operands, end)}"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = "int main(int n, char **words) { return n * 7 + words[0][1]; }"
    return compiled(tmp_path_factory.mktemp("small"), source, compiler=CROSS)


@needs_compiler
@pytest.mark.parametrize("register", range(16))
@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_loads_are_what_the_processor_takes_for_them(small: Path, register: int, size: int) -> None:
    program = small
    elf = read_elf(program)
    assert elf is not None
    names = ["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", *(f"r{number}" for number in range(8, 16))]
    low = functions(program)["main"][0]
    value = 0x1122334455667788
    made = plan_places(elf, [Wanted(low, False, LoadedNumber(register, size, value))])
    if names[register] == "rsp":
        assert made.refused == {low: "that register cannot be forced"}
        return
    assert made.plan is not None, made.refused
    (patch,) = made.plan.patches
    assert patch["kind"] == PatchKind.JUMP and patch["size"] >= 5
    _, _, mnemonic, operands = next(X86_64.rows(made.plan.stubs[:16], 0))
    assert mnemonic in ("mov", "movabs") and int(operands.split(", ")[1], 0) == value & (1 << 8 * size) - 1
    assert operands.split(",")[0] in _parts(names[register], size)


def _parts(name: str, size: int) -> set[str]:
    if name[1:].isdigit():
        return {f"{name}{dict(zip((1, 2, 4, 8), ('b', 'w', 'd', ''), strict=True))[size]}"}
    letters = name[1:]
    byte = f"{letters[0]}l" if letters[1] == "x" else f"{letters}l"
    return {{1: byte, 2: letters, 4: f"e{letters}", 8: name}[size]}


def _sources(name: str) -> list[str]:
    """The files that CMakeLists.txt lists under this name; a list may stand in a list."""
    lists = (NATIVE.parent / "CMakeLists.txt").read_text().replace("${MACHINE}", "x86_64")
    (listed,) = re.findall(rf"^(?:set|add_preloaded)\({name}\s([^)]*)\)", lists, re.MULTILINE)
    return [source for one in listed.split() for source in (_sources(one[2:-1]) if one.startswith("${") else [one])]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("x86") / "libwhyperf_observation.so"
    sources = _sources("PATCHING") + _sources("whyperf_observation")
    flags = "-std=gnu11 -O2 -D_GNU_SOURCE -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden -fno-stack-protector"
    linked = ["-Wl,-z,now", "-Wl,-z,defs", "-Wl,-z,initfirst"]
    command = [
        CROSS,
        *flags.split(),
        *linked,
        f"-I{NATIVE}",
        *(str(NATIVE.parent / one) for one in sources),
        "-o",
        str(made),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return made


def emulated(
    library: Path | None, folder: Path, program: Path, sites: list[ObservedSite], *words: str
) -> tuple[str, RecordingProcess | None]:
    records, plans = folder / f"records{len(sites)}", folder / f"plans{len(sites)}"
    variables = []
    if library is not None:
        records.mkdir()
        plans.mkdir()
        write_plans(plans, sites, ObservationLimits(traps=1 << 30))
        names = {
            "LD_PRELOAD": library,
            "WHYPERF_OBSERVE_PLANS": plans,
            "WHYPERF_OBSERVE_OUT": records,
            "WHYPERF_OBSERVE_ROOM": 4096,
        }
        variables = [word for name, value in names.items() for word in ("-E", f"{name}={value}")]
    command = ["qemu-x86_64-static", "-L", str(SYSROOT), *variables, str(program), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, (done.returncode, done.stderr)
    found = processes(records) if library is not None else []
    return done.stdout, found[0] if found else None


@needs_emulator
@pytest.mark.parametrize("flags", [["-O2"], ["-O0"]], ids=" ".join)
def test_sites_at_every_instruction_change_nothing(tmp_path: Path, library: Path, flags: list[str]) -> None:
    program = compiled(tmp_path, MANY_FORMS, *flags, "-lm", compiler=CROSS)
    names = [
        name
        for name in functions(program)
        if name in ["chosen", "curved", "compared", "deep", "bump", "text", "through", "moved", "main"]
    ]
    rows = [row for name in names for row in instructions(program, name)]
    sites = [ObservedSite(program, row.address, after=not _LEAVES.fullmatch(row.mnemonic)) for row in rows]
    plain, _ = emulated(None, tmp_path, program, [])
    printed, process = emulated(library, tmp_path, program, sites)
    assert printed == plain and process is not None
    hits = process.sites["hits"][: len(sites)]
    assert (process.sites["address"][: len(sites)] != 0).mean() > 0.97 and (hits > 0).mean() > 0.5


@needs_emulator
def test_floating_point_registers_are_those_of_the_program(tmp_path: Path, library: Path) -> None:
    program = compiled(tmp_path, FLOATS, compiler=CROSS)
    _, process = emulated(library, tmp_path, program, of_floats(program, ("mulsd",)), "10.25")
    assert process is not None
    records, _ = process.records()
    product = records[records["site"] == 1]
    assert product["vector"].view(np.float64).tolist() == [10.25 + k for k in range(5)]
    assert product["after"].view(np.float64).tolist() == PRODUCTS


@needs_emulator
@pytest.mark.parametrize("by_jump", [False, True])
def test_values_are_seen_and_forced(tmp_path: Path, library: Path, by_jump: bool) -> None:
    program = compiled(tmp_path, SOURCE, compiler=CROSS)
    made = next(row for row in instructions(program, "size_of") if row.mnemonic == "lea")
    forced = Forced(0, 8, (21,), by_jump=by_jump)
    sites = [
        ObservedSite(program, made.address, after=True, register=0, forced=forced),
        ObservedSite(program, functions(program)["work"][0]),
    ]
    printed, process = emulated(library, tmp_path, program, sites, "3")
    assert printed.split()[:5] == ["21"] * 5 and process is not None
    records, _ = process.records()
    assert records[records["site"] == 1]["registers"][:, 5].tolist() == [21] * 5
    if not by_jump:
        assert records[records["site"] == 0]["after"].tolist() == [3 * n + 1 for n in range(3, 8)]
