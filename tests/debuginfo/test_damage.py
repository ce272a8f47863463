"""Damaged files: never a crash, never a hang, and what is said can be used."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.patience import PATIENCE_S
from whyperf.debuginfo import _debuginfo
from whyperf.debuginfo.describe import describe

from .building import Builder, run

SECONDS = 20
"""Far more than reading the undamaged file takes."""


def _sections(path: Path) -> dict[str, tuple[int, int]]:
    lines = run("readelf", "-SW", path).replace("[ ", "[").splitlines()
    parts = (line.split() for line in lines if line.strip().startswith("[") and "." in line)
    return {p[1]: (int(p[4], 16), int(p[5], 16)) for p in parts if len(p) > 5}


def _use(path: Path) -> None:
    """Everything that could trip over what the reader believed; without a cache, which would know the file whole."""
    start = time.monotonic()
    binary = describe(str(path), cache=Path("/dev/null/no-folder"), debug_folders=())
    assert time.monotonic() - start < SECONDS
    assert binary.debug in ("full", "symbols", "none")
    low = binary.code.body_low
    addresses = np.concatenate([low, low + np.uint64(9), np.array([0, 4096, 2**63], np.uint64)])
    places = binary.resolve(addresses)
    assert ((places.function >= 0) & (places.function < len(binary.functions))).all()
    assert ((places.file >= -1) & (places.file < len(places.files))).all()
    assert len(list(binary.functions.names)) == len(list(binary.functions.files)) == len(binary.functions)
    binary.block_of(addresses[:20])


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_flipped_bytes(build: Builder, tmp_path: Path, compiler: str) -> None:
    # GIVEN a program whose debug sections, headers and symbols are to be hit
    program = build.c("-O2", "-g", compiler=compiler)
    whole = program.read_bytes()
    sections = {
        name: place for name, place in _sections(program).items() if name.startswith((".debug", ".symtab", ".strtab"))
    }
    assert ".debug_info" in sections
    places = [(0, 64), (len(whole) - 64 * 30, 64 * 30), *sections.values()]
    where = st.sampled_from(places).flatmap(lambda p: st.integers(p[0], min(p[0] + p[1], len(whole)) - 1))
    flips = st.lists(
        st.tuples(where, st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]) | st.integers(0, 255)), min_size=1, max_size=8
    )
    damaged = tmp_path / "damaged"

    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(flips)
    def check(changes: list[tuple[int, int]]) -> None:
        content = bytearray(whole)
        for at, value in changes:
            content[at] = value
        damaged.write_bytes(content)
        _use(damaged)

    # THEN
    check()


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(share=st.floats(0, 1))
@example(share=0.0)
@example(share=0.999)
def test_truncated_files(build: Builder, tmp_path: Path, share: float) -> None:
    whole = build.c("-O2", "-g").read_bytes()
    (tmp_path / "short").write_bytes(whole[: int(share * len(whole))])
    _use(tmp_path / "short")


@pytest.mark.parametrize("field", range(24, 64, 2))
@pytest.mark.parametrize("value", [b"\0\0", b"\xff\xff", b"\x38\0"])
def test_header_fields(build: Builder, tmp_path: Path, field: int, value: bytes) -> None:
    content = bytearray(build.c("-O2", "-g").read_bytes())
    content[field : field + 2] = value
    if field in (24, 32, 40):  # eight bytes wide
        content[field : field + 8] = value * 4
    (tmp_path / "odd").write_bytes(content)
    _use(tmp_path / "odd")


def test_origins_that_lead_in_a_circle(build: Builder, tmp_path: Path) -> None:
    # GIVEN assembly in which two functions are each other's abstract origin
    source = tmp_path / "circle.s"
    source.write_text(CIRCLE)
    run("gcc", "-nostdlib", "-no-pie", source, "-o", tmp_path / "circle")

    # WHEN
    binary = describe(str(tmp_path / "circle"), cache=tmp_path / "cache")

    # THEN its symbol names it
    assert binary.debug == "full"
    [function] = binary.function_at("_start")
    assert len(binary.entry_addresses(function)) == 1


def test_a_crash_of_the_reader_costs_the_debug_information_only(
    build: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # GIVEN a reader that dies over DWARF
    program = build.c("-O2", "-g")
    real = _debuginfo.extract

    def dies(path: str, folders: str, symbols_only: bool, cpu: int, wall: int) -> tuple[int, int]:
        return real(path, folders, symbols_only, cpu, wall) if symbols_only else (2, -1)

    monkeypatch.setattr("whyperf.debuginfo._debuginfo.extract", dies)

    # WHEN
    binary = describe(str(program), cache=tmp_path / "cache")

    # THEN
    assert binary.debug == "symbols" and binary.function_at("mill_grind")
    assert "is damaged: only its symbols are used" in binary.note
    assert not (tmp_path / "cache").exists()


def test_reading_can_be_interrupted(tmp_path: Path) -> None:
    # GIVEN a reader that waits for ever: the file is a pipe
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    script = (
        "from whyperf.debuginfo._debuginfo import extract; print('go', flush=True);"
        f"extract({str(pipe)!r}, '', False, 60, 60)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "go\n"
    time.sleep(0.2)

    # WHEN
    process.send_signal(2)

    # THEN
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert "KeyboardInterrupt" in errors


def test_reading_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    start = time.monotonic()
    assert _debuginfo.extract(str(pipe), "", False, 60, 1) == (3, -1)
    assert time.monotonic() - start < 60


CIRCLE = """
    .globl _start
    .type _start, @function
    .text
_start:
    nop
    ret
.Lend:
    .size _start, . - _start
    .section .debug_abbrev,"",@progbits
    .uleb128 1  /* compile unit with children */
    .uleb128 0x11
    .byte 1
    .uleb128 0x11  /* low_pc */
    .uleb128 0x1
    .uleb128 0x12  /* high_pc */
    .uleb128 0x7
    .byte 0, 0
    .uleb128 2  /* subprogram with code */
    .uleb128 0x2e
    .byte 0
    .uleb128 0x31  /* abstract_origin */
    .uleb128 0x13
    .uleb128 0x11
    .uleb128 0x1
    .uleb128 0x12
    .uleb128 0x7
    .byte 0, 0
    .uleb128 3  /* subprogram without */
    .uleb128 0x2e
    .byte 0
    .uleb128 0x31
    .uleb128 0x13
    .byte 0, 0
    .byte 0
    .section .debug_info,"",@progbits
.Lunit:
    .long .Lunit_end - .Lversion
.Lversion:
    .2byte 4
    .long 0
    .byte 8
    .uleb128 1
    .quad _start
    .quad .Lend - _start
.Lfirst:
    .uleb128 2
    .long .Lsecond - .Lunit
    .quad _start
    .quad .Lend - _start
.Lsecond:
    .uleb128 3
    .long .Lfirst - .Lunit
    .byte 0
.Lunit_end:
    .section .note.GNU-stack,"",@progbits
"""
