"""Memory edges of a real program against hardware watchpoints of gdb."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.architecture import HERE
from tests.dependences.tool_run import record
from whyperf.collect.architecture import X86_64
from whyperf.collect.dependence_stream import Producer

if HERE is X86_64:
    from tests.dependences.x86_accesses import address_expression, stores
    from tests.dependences.x86_operands import decode
else:
    from tests.dependences.arm_accesses import address_expression, stores
    from tests.dependences.arm_operands import decode

SAMPLES = 24
SCRIPT = Path(__file__).parent / "gdb_watch.py"


def text_section(program: Path) -> tuple[int, int, bytes]:
    """Address, size and contents of the code."""
    listed = subprocess.run(["readelf", "-SW", program], capture_output=True, text=True, check=True).stdout
    fields = next(line for line in listed.splitlines() if " .text " in line).split("]")[1].split()
    address, offset, size = (int(fields[i], 16) for i in (2, 3, 4))
    return address, size, program.read_bytes()[offset : offset + size]


@pytest.mark.skipif(shutil.which("gdb") is None, reason="needs gdb")
def test_loads_of_a_real_program_read_what_gdb_saw_written(tmp_path: Path) -> None:
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
        memory = decoded.producers_of(event)[decoded.kinds_of(event) == Producer.MEMORY]
        if len(memory) == 1 and before and before < memory[0]:
            candidates.append((at, executions[at], int(addresses[memory[0]])))
    chosen, samples = [], []
    for at, execution, writer in random.Random(1).sample(candidates, len(candidates)):
        insn = decode(code[at - address : at - address + 16], at)
        read = address_expression(insn)
        if read and all(at != other for other, _, _ in chosen):
            chosen.append((at, execution, writer))
            samples.append({"address": at, "execution": execution, "expression": read[0], "size": read[1]})
        if len(chosen) == SAMPLES:
            break
    assert len(chosen) == SAMPLES

    # WHEN gdb watches the same memory of the same program
    settings, results = tmp_path / "settings.json", tmp_path / "results.json"
    settings.write_text(json.dumps({"arguments": f"--parallel=1 -n -k1 {lines}", "samples": samples}))
    environment = {**os.environ, "WATCH_SETTINGS": str(settings), "WATCH_RESULTS": str(results), "DEBUGINFOD_URLS": ""}
    done = subprocess.run(
        ["gdb", "-nx", "-batch", "-x", SCRIPT, work],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert results.exists(), done.stderr

    # THEN the last instruction that wrote it is the one that was recorded
    wrong = []
    for (at, execution, writer), touched in zip(chosen, json.loads(results.read_text()), strict=True):
        writers = [
            found for after in touched if (found := _writer_before(after, address, code, stream.sites)) is not None
        ]
        if not writers or writers[-1] != writer:
            wrong.append((hex(at), execution, hex(writer), [hex(w) for w in writers[-3:]]))
    assert not wrong


def _writer_before(after: int, address: int, code: bytes, sites) -> int | None:  # type: ignore[no-untyped-def]
    """The instruction that ends here, if it stores."""
    for site in sites[sites["function"] == 0]:
        at = int(site["address"])
        if at + int(site["length"]) == after:
            insn = decode(code[at - address : at - address + 16], at)
            return at if stores(insn) else None
    return None
