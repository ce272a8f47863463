"""Memory edges of a real program against hardware watchpoints of gdb."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.architecture import HERE
from tests.collect.dependences.producers import Producer, kinds_of, producers_of
from tests.collect.dependences.tool_run import record
from tests.patience import PATIENCE_S
from whyperf.collect.architecture import X86_64

if HERE is X86_64:
    from tests.collect.dependences.x86_accesses import address_expression, stores
    from tests.collect.dependences.x86_operands import decode
else:
    from tests.collect.dependences.arm_accesses import address_expression, stores
    from tests.collect.dependences.arm_operands import decode

SCRIPT = Path(__file__).parent / "gdb_watch.py"


def text_section(program: Path) -> tuple[int, int, bytes]:
    """Address, size and contents of the code."""
    listed = subprocess.run(["readelf", "-SW", program], capture_output=True, text=True, check=True).stdout
    fields = next(line for line in listed.splitlines() if " .text " in line).split("]")[1].split()
    address, offset, size = (int(fields[i], 16) for i in (2, 3, 4))
    return address, size, program.read_bytes()[offset : offset + size]


@pytest.mark.skipif(shutil.which("gdb") is None, reason="needs gdb")
@pytest.mark.parametrize("samples", [12, pytest.param(24, marks=pytest.mark.long)])
def test_loads_of_a_real_program_read_what_gdb_saw_written(tmp_path: Path, samples: int) -> None:
    # GIVEN sort, as Debian built it, recorded with every instruction of its own
    program = Path("/usr/bin/sort").resolve()
    lines = tmp_path / "lines"
    lines.write_text("".join(f"{(7919 * i) % 101} line {i}\n" for i in range(60)))
    address, size, code = text_section(program)
    plan = f"whyperf-plan 1\nmodule {program.name} -\nfunction {address:x} zoom\nrange {address:x} {address + size:x}\n"
    work = tmp_path / program.name
    shutil.copy(program, work)
    stream = record(work, plan, "--parallel=1", "-n", "-k1", str(lines))
    decoded = stream.decode()
    addresses = stream.sites["address"][decoded.site]
    assert stream.complete and stream.events > 10_000

    # AND loads whose one producer ran after the execution of the same load before
    executions: Counter[int] = Counter()
    latest: dict[int, int] = {}
    candidates = []
    for event in range(1, stream.events + 1):
        at = int(addresses[event])
        before, latest[at] = latest.get(at, 0), event
        executions[at] += 1
        memory = producers_of(decoded, event)[kinds_of(decoded, event) == Producer.MEMORY]
        if len(memory) == 1 and before and before < memory[0]:
            candidates.append((at, executions[at], int(addresses[memory[0]])))
    settings = tmp_path / "settings.json"
    tried, judged, wrong = set[int](), 0, []
    for at, execution, writer in random.Random(1).sample(candidates, len(candidates)):
        read = address_expression(decode(code[at - address : at - address + 16], at))
        if read is None or at in tried:
            continue
        tried.add(at)
        # WHEN gdb watches the same memory of the same program
        sample = {"address": at, "execution": execution, "expression": read[0], "size": read[1]}
        settings.write_text(json.dumps({"arguments": f"--parallel=1 -n -k1 {lines}", "samples": [sample]}))
        touched = _touched(work, settings)
        if touched is None:
            continue
        # THEN the last instruction that wrote it is the one that was recorded
        writers = [
            found for after in touched if (found := _writer_before(after, address, code, stream.sites)) is not None
        ]
        if not writers or writers[-1] != writer:
            wrong.append((hex(at), execution, hex(writer), [hex(w) for w in writers[-3:]]))
        judged += 1
        if judged == samples:
            break
    assert not wrong
    assert judged == samples


def _touched(program: Path, settings: Path) -> list[int] | None:
    """What gdb saw; None where it computes for ever: on ARM, older ones do at pairs of which only the second half is
    watched. Otherwise it takes a fifth of the time that it is given."""
    results = settings.with_name("results.json")
    results.unlink(missing_ok=True)
    environment = {**os.environ, "WATCH_SETTINGS": str(settings), "WATCH_RESULTS": str(results), "DEBUGINFOD_URLS": ""}
    command = ["prlimit", "--cpu=2:3", "gdb", "-nx", "-batch", "-x", str(SCRIPT), str(program)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return None
    assert results.exists(), done.stderr
    touched: list[int] = json.loads(results.read_text())[0]
    return touched


def _writer_before(after: int, address: int, code: bytes, sites) -> int | None:  # type: ignore[no-untyped-def]
    """The instruction that ends here, if it stores."""
    for site in sites[sites["function"] == 0]:
        at = int(site["address"])
        if at + int(site["length"]) == after:
            insn = decode(code[at - address : at - address + 16], at)
            return at if stores(insn) else None
    return None
