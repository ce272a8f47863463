"""What is seen and forced at an instruction is what a debugger sees and does there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.collect.observation.programs import (
    ARGUMENT,
    IS_ARM,
    RESULT,
    compiled,
    first,
    instructions,
    last_before_return,
    observed,
)
from tests.patience import PATIENCE_S
from whyperf.collect.observation.sites import (
    Forced,
    ObservationLimits,
    ObservedMemory,
    ObservedSite,
    OpenFile,
    Watch,
    file_named,
)

needs_gdb = pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")

SOURCE = """
#include <stdio.h>
#include <stdlib.h>
long table[16];
__attribute__((noinline)) long size_of(long x) { return x * 3 + 1; }
__attribute__((noipa)) long work(long n) {
    long sum = 0;
    for (long i = 0; i < n; i++) {
        sum += table[i & 15] ^ i;
        table[i & 15] = sum;
    }
    return sum;
}
int main(int count, char **words) {
    long n = atol(words[1]), total = 0;
    for (int k = 0; k < 5; k++) {
        long size = size_of(n + k);
        total += work(size);
        printf("%ld\\n", size);
    }
    printf("%ld\\n", total);
    return 0;
}
"""
_NAMES = [f"x{number}" for number in range(9)] if IS_ARM else ["rax", "rdx", "rcx", "rbx", "rsi", "rdi"]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("values"), SOURCE)


def _under_gdb(program: Path, script: str, *words: str) -> str:
    path = program.parent / "script.py"
    path.write_text(script)
    command = ["gdb", "-q", "-batch", "-nx", "-x", str(path), "--args", str(program), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_S).stdout


_BREAK = """
import gdb, json
gdb.execute("set pagination off")
gdb.execute("set debuginfod enabled off")
gdb.execute("set disable-randomization on")
class At(gdb.Breakpoint):
    def stop(self):
        frame = gdb.newest_frame()
        row = [int(frame.read_register(name)) % (1 << 64) for name in NAMES]
        cell = gdb.selected_inferior().read_memory(int(gdb.parse_and_eval("(long)&table")), 8)
        print("SEEN " + json.dumps([row, int.from_bytes(cell.tobytes(), "little")]))
        return False
gdb.execute("starti", to_string=True)
base = int(gdb.execute("info proc mappings", to_string=True).split("0x")[1].split()[0], 16)
At("*%d" % (base + ADDRESS))
gdb.execute("continue")
"""


@needs_gdb
@pytest.mark.parametrize("function", ["size_of", "work"])
def test_registers_and_memory_are_those_that_a_debugger_sees(program: Path, function: str) -> None:
    """At every third instruction of the function, every time."""
    rows = [row for row in instructions(program, function) if not row.mnemonic.startswith("nop")][:12:3]
    table = _table(program)
    memory = ObservedMemory(None, None, 1, table, 8)
    seen = observed([program, "3"], [ObservedSite(program, row.address, memory=memory) for row in rows])
    for number, row in enumerate(rows):
        script = f"NAMES = {_NAMES!r}\nADDRESS = {row.address}\n{_BREAK}"
        said = [
            json.loads(line[5:]) for line in _under_gdb(program, script, "3").splitlines() if line.startswith("SEEN")
        ]
        ours = seen.of(number)
        assert seen.complete[number] and seen.hits[number] == len(said) == len(ours)
        assert ours["memory"].tolist() == [cell for _, cell in said]
        columns = [n for n in range(len(_NAMES)) if all(values[n] < 1 << 32 for values, _ in said)]
        assert len(columns) >= 3
        for column in columns:  # what is no address: the debugger's environment moves those
            assert ours["registers"][:, column].tolist() == [values[column] for values, _ in said], _NAMES[column]


def test_results_are_those_of_the_instruction(program: Path) -> None:
    made = last_before_return(program, "size_of")
    entry = ObservedSite(program, first(program, "size_of"), is_entry=True)
    seen = observed([program, "10"], [ObservedSite(program, made.address, after=True, register=RESULT), entry])
    assert seen.status == 0 and seen.hits == (5, 5) and seen.complete == (True, True) and seen.lost == 0
    assert seen.of(0)["after"].tolist() == [3 * n + 1 for n in range(10, 15)]
    assert seen.of(1)["registers"][:, ARGUMENT].tolist() == list(range(10, 15))
    bias = dict(seen.modules)[str(program)]
    mains = {row.address + bias for row in instructions(program, "main")}
    assert set(seen.of(1)["caller"].tolist()) <= mains


FLOATS = """
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) long whole(double x, float y) { return (long)(x * 2.5) + (long)y; }
int main(int count, char **words) {
    long total = 0;
    for (int k = 0; k < 5; k++)
        total += whole(atof(words[1]) + k, k / 2.0f);
    printf("%ld\\n", total);
    return 0;
}
"""
PRODUCTS = [(10.25 + k) * 2.5 for k in range(5)]


def of_floats(program: Path, mnemonics: tuple[str, ...]) -> list[ObservedSite]:
    """At the entry of whole(): its second argument. At the product: the first one before it, the result behind it."""
    product = next(row for row in instructions(program, "whole") if row.mnemonic in mnemonics)
    entry = ObservedSite(program, first(program, "whole"), vector=33)
    result = 32 + int(re.findall(r"\d+", product.operands)[0])
    return [entry, ObservedSite(program, product.address, after=True, register=result, vector=32)]


def test_floating_point_registers_are_those_of_the_program(tmp_path: Path) -> None:
    program = compiled(tmp_path, FLOATS)
    seen = observed([program, "10.25"], of_floats(program, ("fmul", "mulsd")))
    assert seen.hits == (5, 5) and seen.complete == (True, True)
    entry, product = seen.of(0), seen.of(1)
    assert entry["vector"].astype(np.uint32).view(np.float32).tolist() == [k / 2 for k in range(5)]
    assert product["vector"].view(np.float64).tolist() == [10.25 + k for k in range(5)]
    assert product["after"].view(np.float64).tolist() == PRODUCTS


@needs_gdb
def test_forced_values_change_the_output_as_a_debugger_would(program: Path) -> None:
    made = last_before_return(program, "size_of")
    rows = instructions(program, "size_of")
    returns = next(row for row in rows if row.mnemonic == "ret")
    script = f"""
import gdb
gdb.execute("set pagination off")
gdb.execute("set debuginfod enabled off")
gdb.execute("starti", to_string=True)
base = int(gdb.execute("info proc mappings", to_string=True).split("0x")[1].split()[0], 16)
values = [7, 9]
class At(gdb.Breakpoint):
    def stop(self):
        if values:
            gdb.execute("set ${"x0" if IS_ARM else "rax"} = %d" % values.pop(0))
        return False
At("*%d" % (base + {returns.address}))
gdb.execute("continue")
"""
    said = [line for line in _under_gdb(program, script, "3").splitlines() if re.fullmatch(r"-?\d+", line)]
    forced = ObservedSite(program, made.address, after=True, forced=Forced(RESULT, 8, (7, 9)))
    shown = subprocess.run([program, "3"], capture_output=True, text=True, check=True).stdout
    assert said[:5] == ["7", "9", *shown.split()[2:5]]
    assert _printed(program, forced) == said != shown.split()


def test_what_has_no_value_left_to_force_is_counted_and_left_as_it_is(program: Path) -> None:
    made = last_before_return(program, "size_of")
    own = [str(3 * n + 1) for n in range(3, 8)]
    for values, expected, beyond in (((7, 9), ["7", "9", *own[2:]], 3), ((7,), ["7"] * 5, 0), (None, own, 0)):
        site = ObservedSite(program, made.address, after=True, forced=Forced(RESULT, 8, values))
        assert _printed(program, site)[:5] == expected
        seen = observed([program, "3"], [site])
        assert (seen.hits, seen.beyond, seen.complete) == ((5,), (beyond,), (True,))


def test_a_place_with_no_values_left_is_left_alone_in_the_end(tmp_path: Path) -> None:
    """Forcing must not cost a trap for ever."""
    source = """
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline, noclone)) long step(long x) { __asm__ volatile(""); return x + 1; }
int main(int count, char **words) {
    long x = 0;
    for (long i = atol(words[1]); i > 0; i--) x = step(x);
    printf("%ld\\n", x);
}
"""
    program = compiled(tmp_path, source)
    site = ObservedSite(program, first(program, "step"), forced=Forced(ARGUMENT, 8, (10, 20, 30)))
    seen = observed([program, "3000000"], [site], limits=ObservationLimits(traps=100, again_s=3600))
    assert (seen.hits, seen.beyond, seen.complete) == ((103,), (100,), (False,))


def _printed(program: Path, site: ObservedSite) -> list[str]:
    """By a shell, so that the output can be read."""
    out = program.parent / "printed"
    seen = observed(["/bin/sh", "-c", f"exec {program} 3 >{out}"], [site])
    assert seen.status == 0 and seen.placed == (True,)
    return out.read_text().split()


@pytest.mark.parametrize("by_jump", [False, True])
@pytest.mark.parametrize("after", [False, True])
def test_one_value_is_forced_by_trap_and_by_jump_alike(program: Path, after: bool, by_jump: bool) -> None:
    rows = instructions(program, "size_of")
    site = rows[-2] if after else rows[0]
    place = last_before_return(program, "size_of") if after else site
    register = RESULT if after else ARGUMENT
    forced = ObservedSite(program, place.address, after=after, forced=Forced(register, 8, (21,), by_jump=by_jump))
    printed = _printed(program, forced)
    assert printed[:5] == ["21" if after else "64"] * 5


@pytest.mark.parametrize("by_jump", [False, True])
def test_a_sham_changes_nothing(program: Path, by_jump: bool) -> None:
    place = last_before_return(program, "size_of")
    plain = observed([program, "3"])
    sham = ObservedSite(program, place.address, after=True, forced=Forced(RESULT, 8, None, by_jump=by_jump))
    seen = observed([program, "3"], [sham])
    assert seen.output == plain.output and seen.placed == (True,)


def test_halves_and_bytes_are_forced_as_the_machine_writes_them(program: Path) -> None:
    place = last_before_return(program, "size_of")

    def result(size: int, value: int, by_jump: bool = False) -> str:
        forced = Forced(RESULT, size, (value,), by_jump=by_jump)
        return _printed_size(program, ObservedSite(program, place.address, after=True, forced=forced))

    wide = ObservedSite(program, first(program, "size_of"), forced=Forced(ARGUMENT, 8, (0x1111_2222_3333,)))
    assert _printed_size(program, wide) == str(0x1111_2222_3333 * 3 + 1)
    assert result(4, -1) == result(4, -1, by_jump=True) == str((1 << 32) - 1)
    assert result(2, 0x1FFFE) == result(2, 0x1FFFE, by_jump=True) == str(0xFFFE)
    assert result(1, 0x1FE) == result(1, 0x1FE, by_jump=True) == str(0xFE)


def _printed_size(program: Path, site: ObservedSite) -> str:
    """The loop would run for long: its bound is forced as well."""
    loop = ObservedSite(program, first(program, "work"), forced=Forced(ARGUMENT, 8, (1,)))
    out = program.parent / "printed"
    observed(["/bin/sh", "-c", f"exec {program} 3 >{out}"], [site, loop])
    return out.read_text().split()[0]


def _table_address(program: Path) -> int:
    store = next(row for row in instructions(program, "work") if "[" in row.operands)
    seen = observed([program, "3"], [ObservedSite(program, store.address)])
    bias = dict(seen.modules)[str(program)]
    return bias + _table(program)


def _table(program: Path) -> int:
    listed = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    return int(listed.split(" B table")[0].split()[-1], 16)


def _watched(program: Path, *watches: Watch) -> np.ndarray:
    site = ObservedSite(program, first(program, "size_of"))
    seen = observed([program, "100"], [site], watches=watches)
    assert seen.lost == 0
    return seen.writes


def test_writers_are_those_of_the_program(program: Path) -> None:
    """The loop writes to each cell every 16th time, and so does nobody else."""
    bias = _table_address(program)
    writes = _watched(program, Watch(bias, 8), Watch(bias + 24, 8))
    sizes = [3 * (100 + k) + 1 for k in range(5)]
    assert (writes["watch"] == 0).sum() == sum(len(range(0, size, 16)) for size in sizes)
    assert (writes["watch"] == 1).sum() == sum(len(range(3, size, 16)) for size in sizes)
    assert len(set(writes["address"].tolist())) == 1
    assert (np.diff(writes["order"].astype(np.int64)) >= 0).all()
    stores = [row for row in instructions(program, "work") if row.mnemonic.startswith(("st", "mov"))]
    low = int(writes["address"][0])
    ends = {row.address if IS_ARM else row.address + row.size for row in stores}
    assert any((low - end) % 4096 == 0 for end in ends)


@needs_gdb
def test_writers_are_those_that_a_debugger_sees(program: Path) -> None:
    script = """
import gdb
gdb.execute("set pagination off")
gdb.execute("set debuginfod enabled off")
gdb.execute("break main", to_string=True)
gdb.execute("run", to_string=True)
gdb.execute("watch table[5]", to_string=True)
seen = 0
while True:
    try:
        gdb.execute("continue", to_string=True)
        gdb.parse_and_eval("table[5]")
        if gdb.selected_thread() is None or not gdb.newest_frame().name() == "work":
            break
    except gdb.error:
        break
    seen += 1
print("SEEN", seen)
"""
    said = int(_under_gdb(program, script, "100").split("SEEN")[1].split()[0])
    writes = _watched(program, Watch(_table_address(program) + 40, 8))
    assert len(writes) == said > 50


def test_addresses_repeat_from_run_to_run(program: Path) -> None:
    site = [ObservedSite(program, first(program, "size_of"))]
    runs = [observed([program, "3"], site) for _ in range(2)]
    assert runs[0].modules == runs[1].modules
    assert (runs[0].records["registers"] == runs[1].records["registers"]).all()


def test_open_files_are_named_as_the_kernel_names_them(tmp_path: Path) -> None:
    # GIVEN descriptors and streams, some of which are none
    program = compiled(
        tmp_path,
        """
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__attribute__((noipa)) void descriptor(int fd) { __asm__ volatile("" : : "r"(fd)); }
__attribute__((noipa)) void stream(void *file) { __asm__ volatile("" : : "r"(file)); }
int main(int count, char **words) {
    static char other[4096];
    descriptor(open(words[1], O_RDONLY));
    descriptor(12345);
    descriptor(-1);
    stream(fopen(words[1], "r"));
    stream(other);
    stream((void *)8);
    printf("%d\\n", count);
    return 0;
}
""",
    )
    fitting = Path(f"{tmp_path}/{'d' * (254 - len(str(tmp_path)))}")
    longest = tmp_path / ("d" * 200) / ("e" * 100)
    cut_in_a_character = [tmp_path / ("e" * length) / ("ä" * 100) for length in (150, 151)]
    for file in (longest, *cut_in_a_character):
        file.parent.mkdir()
    for file in (tmp_path / "a file", fitting, longest, *cut_in_a_character):
        file.write_text("x")
        sites = [
            ObservedSite(program, first(program, "descriptor"), file=OpenFile(ARGUMENT)),
            ObservedSite(program, first(program, "stream"), file=OpenFile(ARGUMENT, is_stream=True)),
            ObservedSite(program, first(program, "stream")),
        ]
        seen = observed([program, file], sites)
        # THEN a path that there is no room for is said to go on, and nothing is known where there is no file
        whole = os.fsencode(file)
        said = whole.decode() if len(whole) <= 255 else whole[:252].decode(errors="ignore") + "…"
        wanted = [said, "", ""]
        assert seen.status == 0 and [file_named(row) for row in seen.of(0)] == wanted
        assert [file_named(row) for row in seen.of(1)] == wanted
        # AND another site at the same instruction sees its registers, at the same hits
        assert seen.of(2)["registers"][2, ARGUMENT] == 8
        assert seen.of(1)["hit"].tolist() == seen.of(2)["hit"].tolist() == [0, 1, 2]
