"""Compares the variables table with gdb, in real processes."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from whyperf.debuginfo.describe import describe
from whyperf.debuginfo.elf_files.elf import read_elf
from whyperf.debuginfo.variable_tables.making import VariablesTable, table_file, write_table

from .building import needed

_SCRIPT = Path(__file__).parent / "gdb_oracle.py"
_PT_TLS = 7
_ROOT = Path(__file__).resolve().parents[2]
_SECONDS = 60


@dataclass(frozen=True)
class Comparison:
    counts: dict[str, int]
    differences: list[list[str]]

    @property
    def agreed(self) -> int:
        return self.counts.get("agree", 0)

    @property
    def disagreed(self) -> int:
        return self.counts.get("disagree", 0)

    def summary(self) -> str:
        return ", ".join(f"{name} {count}" for name, count in sorted(self.counts.items()))


def table_of(program: Path, folder: Path) -> VariablesTable:
    elf = read_elf(program)
    assert elf is not None
    table = write_table(str(program), elf.build_id, folder, cache=folder / "cache", debug_folders=())
    assert table is not None
    return table


def compare_with_gdb(
    program: Path,
    folder: Path,
    *,
    stops: int = 120,
    arguments: str = "",
    driver: str = "",
    sources: Sequence[str] = (),
    verbose: bool = False,
) -> Comparison:
    """Stops `program` at random instructions of the functions declared in `sources`."""
    gdb = needed("gdb")
    table_of(program, folder)
    elf = read_elf(program)
    assert elf is not None
    output = folder / "oracle.json"
    settings = {
        "path": [*(str(_ROOT / name) for name in ("src", ".")), *(p for p in sys.path if p.endswith("site-packages"))],
        "table": str(table_file(folder, elf.build_id)),
        "program": str(program.resolve()),
        "first_address": elf.segments[0].address - elf.segments[0].file_offset,
        "tls_bytes": _thread_local(program)[0],
        "tls_offset": _thread_local(program)[1],
        "functions": _functions(program, folder, sources),
        "function_names": list(describe(str(program), cache=folder / "cache", debug_folders=()).functions.names),
        "stops": stops,
        "arguments": arguments,
        "driver": driver,
        "seconds": _SECONDS,
        "output": str(output),
        "verbose": verbose,
    }
    question = folder / "oracle-settings.json"
    question.write_text(json.dumps(settings))
    environment = {**os.environ, "WHYPERF_ORACLE": str(question), "PYTHONPATH": ""}
    command = [gdb, "-nx", "-batch", "-x", str(_SCRIPT), str(program)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=4 * _SECONDS, check=False)
    assert output.exists(), done.stderr
    found = json.loads(output.read_text())
    assert not found["failure"], found["failure"]
    return Comparison(found["counts"], found["differences"])


def _functions(program: Path, folder: Path, sources: Sequence[str]) -> list[tuple[int, int]]:
    """Address ranges of the out-of-line functions of those source files."""
    binary = describe(str(program), cache=folder / "cache", debug_folders=())
    code, functions = binary.code, binary.functions
    files = list(functions.files)
    rows = [int(code.scope_function[scope]) for scope in code.body_scope]
    return [
        (int(low), int(high))
        for row, low, high in zip(rows, code.body_low, code.body_high, strict=True)
        if Path(files[row]).name in sources
    ]


def _thread_local(program: Path) -> tuple[int, int]:
    """How far below the thread pointer the thread-local block starts (x86-64), and how far above it (aarch64)."""
    content = program.read_bytes()
    (table,) = struct.unpack_from("<Q", content, 32)
    (count,) = struct.unpack_from("<H", content, 56)
    for i in range(count):
        kind, _, _, _, _, _, size, align = struct.unpack_from("<IIQQQQQQ", content, table + 56 * i)
        if kind == _PT_TLS:
            return int(-(-size // align) * align), max(2 * 8, int(align))
    return 0, 0
