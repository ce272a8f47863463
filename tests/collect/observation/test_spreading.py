"""Numbers that a stub spreads are what the same steps make in Python, and nothing else changes."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.collect.observation.programs import ARGUMENT, first, observed
from tests.collect.observation.test_x86_64 import CROSS, emulated, needs_emulator
from tests.collect.observation.test_x86_64 import library as x86_64_library
from whyperf.collect.observation.sites import ObservedSite, Spread
from whyperf.debuginfo.machines.operations import VECTOR
from whyperf.debuginfo.probes.spreading import MOST_BITS, MOST_FLOAT_BITS, spread

library = x86_64_library
_SOURCE = Path(__file__).parent / "spread_numbers.c"
_NAMES = ("wide", "narrow", "real", "small")
_SIZES = (8, 4, 8, 4)
_KEPT = "1"


def _built(folder: Path, compiler: str) -> Path:
    made = folder / "spread_numbers"
    subprocess.run([compiler, "-O2", "-g", "-Wl,--build-id", str(_SOURCE), "-o", str(made)], check=True)
    return made


def _sites(program: Path, argument: int, bits: tuple[int | None, int | None]) -> list[ObservedSite]:
    """One at the first instruction of each function, where its argument is."""
    wanted = [(argument, bits[0]), (argument, bits[0]), (VECTOR, bits[1]), (VECTOR, bits[1])]
    return [
        ObservedSite(program, first(program, name), spread=Spread(register, size, kept))
        for name, size, (register, kept) in zip(_NAMES, _SIZES, wanted, strict=True)
    ]


def _expected(bits: tuple[int | None, int | None]) -> list[list[float]]:
    rows = []
    for number in range(64):
        whole = number * number << (number & 31)
        reals = [number / 3, float(np.float32(number) / np.float32(3))]
        row = [float(whole), float(whole & 0xFFFFFFFF), *reals]
        if bits[0] is not None and bits[1] is not None:
            stored = [
                struct.unpack(f"<{kind}", struct.pack(f"<{real}", one))[0]
                for kind, real, one in zip("QI", "df", reals, strict=True)
            ]
            given = [whole, whole & 0xFFFFFFFF, *stored]
            kept = [bits[0], bits[0], bits[1], bits[1]]
            row = [float(spread(one, size, left)) for one, size, left in zip(given, _SIZES, kept, strict=True)]
        rows.append(row)
    return rows


_BITS = [(MOST_BITS, MOST_FLOAT_BITS), (3, 5), (0, 0), (None, None)]


def _check(printed: str, bits: tuple[int | None, int | None]) -> None:
    *rows, kept = printed.splitlines()
    numbers = [[float(word) for word in row.split()] for row in rows]
    assert np.allclose(numbers, _expected(bits), rtol=1e-7, atol=0)
    assert kept == _KEPT


@pytest.mark.parametrize("bits", _BITS)
def test_numbers_are_spread_as_in_python(tmp_path: Path, bits: tuple[int | None, int | None]) -> None:
    program = _built(tmp_path, "gcc")
    seen = observed([program, tmp_path / "printed"], _sites(program, ARGUMENT, bits))
    assert seen.status == 0 and all(seen.placed), seen.refused
    _check((tmp_path / "printed").read_text(), bits)


@needs_emulator
@pytest.mark.parametrize("bits", _BITS)
def test_numbers_are_spread_alike_on_x86_64(tmp_path: Path, library: Path, bits: tuple[int | None, int | None]) -> None:
    program = _built(tmp_path, CROSS)
    _, process = emulated(library, tmp_path, program, _sites(program, 5, bits), str(tmp_path / "printed"))
    assert process is not None and process.sites["address"][: len(_NAMES)].all()
    _check((tmp_path / "printed").read_text(), bits)


@given(st.sampled_from([4, 8]), st.lists(st.integers(0, 2**64 - 1), min_size=2, max_size=50, unique=True))
def test_different_numbers_stay_different(size: int, numbers: list[int]) -> None:
    given = {one & (1 << 8 * size) - 1 for one in numbers}
    assert len({spread(one, size, 8 * size) for one in given}) == len(given)
    assert spread(0, size, 8 * size) == 0


@pytest.mark.parametrize("shape", [1, 4, 256, 1000, 1 << 16, 3 << 20])
@pytest.mark.parametrize("buckets", [1024, 1021])
@pytest.mark.parametrize("size", [4, 8])
def test_they_are_spread_evenly(shape: int, buckets: int, size: int) -> None:
    """As evenly as by chance: chi-squared of 1,023 degrees of freedom lies within 20% of them."""
    given = {number * shape & (1 << 8 * size) - 1 for number in range(20_000)}
    counts = np.bincount([spread(one, size, MOST_BITS) % buckets for one in given], minlength=buckets)
    expected = len(given) / buckets
    assert 0.8 < ((counts - expected) ** 2).sum() / expected / (buckets - 1) < 1.2


def test_what_only_a_stub_can_do_is_never_a_trap(tmp_path: Path) -> None:
    program = _built(tmp_path, "gcc")
    seen = observed(
        [program, tmp_path / "printed"], [ObservedSite(program, first(program, "wide"), spread=Spread(ARGUMENT, 2, 3))]
    )
    assert seen.status == 0 and seen.placed == (False,)
    assert seen.refused == ("only numbers of 4 or 8 bytes can be spread",)
