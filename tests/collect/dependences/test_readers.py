"""Who wrote what one instruction reads, in the name of whom, and that a plan of such readers is checked."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.collect.dependences.tool_run import functions_of, record, tools
from whyperf.collect.dependences.instruments import read_text
from whyperf.collect.dependences.last_writers import LastWriters, Reader, last_writers
from whyperf.collect.dependences.stream import Stream, read_stream
from whyperf.collect.dependences.valgrind import TOOL_OPTIONS
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import Program
from whyperf.errors import WhyperfError

TARGET = Path(__file__).parent / "targets" / "readers.c"
PAIRS = 32
FIRST, SECOND = (0, 8), (8, 8)
ALL = (0, 1 << 20)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("readers") / "readers"
    subprocess.run(["gcc", "-O2", "-no-pie", "-fno-builtin", "-pthread", TARGET, "-o", path], check=True)
    return path


def _disassembled(program: Path, function: str) -> list[tuple[int, str]]:
    """Addresses and texts, by objdump."""
    listed = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}", program],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    rows = re.findall(r"^ +([0-9a-f]+):\s+(.*)$", listed, re.MULTILINE)
    return [(int(address, 16), text) for address, text in rows]


def _reads(program: Path, which: tuple[int, int]) -> tuple[int, tuple[int, int]]:
    """The instruction that loads one of the two numbers, and which of its bytes that are: both are loaded at once on
    64-bit ARM, and one after the other on x86-64."""
    code = _disassembled(program, "sum")
    pairs = [address for address, text in code if text.startswith("ldp")]
    if pairs:
        return pairs[0], which
    [address] = [address for address, text in code if ("0x8(%rdi)" if which == SECOND else " (%rdi") in text][:1]
    return address, FIRST


def _call_in(program: Path, function: str, callee: str) -> int:
    code = _disassembled(program, function)
    [address] = [address for address, text in code if callee in text and text.split()[0] in ("b", "bl", "call", "jmp")]
    return address


def _writers(program: Path, stream: Stream) -> Counter[str]:
    """Loads by the program's functions whose instructions wrote what was read; others by their file's name."""
    functions = functions_of(program)
    found: Counter[str] = Counter()
    for pair in stream.pairs:
        site = stream.sites[pair["writer"]]
        address, name = int(site["address"]), Path(stream.modules[int(site["module"])].path).name
        mine = (one for one, at in functions.items() if at.entry <= address < at.entry + at.size)
        said = "nobody" if pair["writer"] == 0 else next(mine, name) if name == program.name else name
        found[said] += int(pair["loads"])
    return found


def _asked(program: Path, address: int, which: tuple[int, int], way: str) -> Counter[str]:
    plan = f"whyperf-plan 1\nmodule {program.name} -\nreader {address:x} {which[0]:x} {which[1]:x}\n"
    return _writers(program, record(program, plan, way))


def _ran(
    program: Path, plan: Path, stream: Path, *arguments: str, stdin: int = subprocess.DEVNULL
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["valgrind", *TOOL_OPTIONS, f"--plan={plan}", f"--stream={stream}", str(program), *arguments],
        env={**os.environ, "VALGRIND_LIB": str(tools())},
        stdin=stdin,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("way", ["made", "threads"])
def test_each_of_two_numbers_has_its_own_writer(program: Path, way: str) -> None:
    assert _asked(program, *_reads(program, FIRST), way) == {"set_first": PAIRS}
    assert _asked(program, *_reads(program, SECOND), way) == {"set_second": PAIRS}


@pytest.mark.parametrize(("way", "function"), [("copied", "copy"), ("copied-last", "copy_last")])
def test_a_library_writes_and_reads_in_the_name_of_its_caller(program: Path, way: str, function: str) -> None:
    assert _asked(program, *_reads(program, SECOND), way) == {function: PAIRS}
    # AND what the call read is known as well: both numbers of all pairs, whatever the linker read beside
    callee = "memcpy" if function == "copy" else "memmove"
    read = _asked(program, _call_in(program, function, callee), ALL, way)
    assert read["set_first"] and read["set_first"] == read["set_second"]


def test_so_does_the_kernel(program: Path, tmp_path: Path) -> None:
    content = tmp_path / "content"
    content.write_bytes(bytes(PAIRS * 16))
    stream, plan = tmp_path / "stream", tmp_path / "plan"
    address, which = _reads(program, FIRST)
    plan.write_text(f"whyperf-plan 1\nmodule {program.name} -\nreader {address:x} {which[0]:x} {which[1]:x}\n")
    with content.open("rb") as given:
        found = _ran(program, plan, stream, "received", stdin=given.fileno())
    assert found.returncode == 0
    assert _writers(program, read_stream(stream)) == {"receive": PAIRS}


def test_what_nobody_wrote_is_counted(program: Path) -> None:
    assert _asked(program, *_reads(program, FIRST), "none") == {"nobody": PAIRS}


@pytest.mark.parametrize(
    ("lines", "number"),
    [
        (["reader 10 0 8"], 2),  # of no module
        (["module readers -", "reader 10 0"], 3),
        (["module readers -", "reader 10 0 0"], 3),
        (["module readers -", "reader ten 0 8"], 3),
    ],
)
def test_a_plan_of_readers_that_is_not_understood(program: Path, tmp_path: Path, lines: list[str], number: int) -> None:
    plan = tmp_path / "plan"
    plan.write_text("\n".join(["whyperf-plan 1", *lines, ""]))
    done = _ran(program, plan, tmp_path / "stream", "made")
    assert done.returncode == 1 and f"line {number} of the plan is not understood" in done.stderr


def test_a_reader_of_no_module_is_refused() -> None:
    with pytest.raises(ValueError, match="no module"):
        read_text("whyperf-plan 1\nreader 10 0 8\n")


class TestOneRun:
    def _asked(self, program: Path, seconds: float = 600.0, **lifecycle: float) -> LastWriters:
        address, which = _reads(program, FIRST)
        return last_writers(
            Program(str(program), (str(program), "made")),
            Reader(program, address, *which),
            [program],
            lifecycle=Lifecycle(**lifecycle),  # type: ignore[arg-type]
            environment=dict(os.environ),
            seconds=seconds,
        )

    def test_writers_by_file_and_address(self, program: Path) -> None:
        found = self._asked(program)
        store = functions_of(program)["set_first"]
        [((path, address), loads)] = found.loads.items()
        assert (path, loads, found.unwritten) == (program, PAIRS, 0)
        assert store.entry <= address < store.entry + store.size

    def test_a_run_that_does_not_end_in_time_says_so(self, program: Path) -> None:
        with pytest.raises(WhyperfError, match=r"^Under Valgrind a run did not end within 0 s\.$"):
            self._asked(program, seconds=0.01)
