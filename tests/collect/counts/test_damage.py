"""Whatever a plan file says, the program runs as it does without: counted, or not counted for a reason."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tests.collect.counts.machine import Machine, counting_machine, reasons
from whyperf.collect.counts.counter_files import UncountedReason, counted_processes
from whyperf.debuginfo.describe import describe
from whyperf.debuginfo.probes.plan_cache import ensure_plan, load_plan
from whyperf.debuginfo.probes.plan_file import PATCH, read

SOURCE = """#include <stdio.h>
__attribute__((noipa, aligned(512))) int leaf(int n) { return n * 3 + 1; }
__attribute__((noipa, aligned(512))) int middle(int n) { return leaf(n) + leaf(n + 1); }
static int (*volatile pointer)(int) = middle;
int main(void) { printf("%d\\n", middle(3) + pointer(4)); return 5; }
"""
_HEADER_BYTES = 80
_CHECKED_FROM = 12
_MACHINE_AT = 76
_VERSION_AT, _PATCHES_AT, _FIXES_AT, _INCREMENTS_AT, _COUNTERS_AT, _STUB_BYTES_AT, _SITES_AT = (
    12,
    40,
    44,
    48,
    52,
    56,
    60,
)


@dataclass(frozen=True)
class Subject:
    machine: Machine
    binary: Path
    content: bytes
    """Of its plan."""

    def reason_with(self, plan: bytes) -> set[UncountedReason]:
        """Why the program is not counted by that plan, after a look that it runs as ever."""
        folder = self.machine.folder / "damaged"
        folder.mkdir(exist_ok=True)
        (name,) = self.machine.plans.iterdir()
        (folder / name.name).write_bytes(plan)
        ran = self.machine.counted(self.binary, plans=folder)
        assert (ran.status, ran.output, ran.errors) == (5, "52\n", "")
        return reasons(self.binary, ran.processes)

    @property
    def fixes_at(self) -> int:
        return _HEADER_BYTES + self._count(_PATCHES_AT) * PATCH.itemsize

    @property
    def data_address(self) -> int:
        elf = describe(str(self.binary)).elf
        assert elf is not None
        return next(segment.address for segment in elf.segments if not segment.executable)

    @property
    def increments_at(self) -> int:
        return self.fixes_at + 4 * self._count(_FIXES_AT)

    def _count(self, at: int) -> int:
        return int(struct.unpack_from("<I", self.content, at)[0])

    def with_number(self, at: int, number: int, form: str = "<I") -> bytes:
        """Changed, and with the checksum that belongs to it."""
        changed = bytearray(self.content)
        struct.pack_into(form, changed, at, number)
        sites = 24 * self._count(_SITES_AT)
        checked = bytes(changed[_CHECKED_FROM : len(changed) - sites])
        struct.pack_into("<I", changed, 8, zlib.crc32(checked))
        return bytes(changed)


@pytest.fixture(scope="module")
def subject() -> Iterator[Subject]:
    with counting_machine() as machine:
        binary = machine.compiled(SOURCE)
        (plan,) = machine.plans.iterdir()
        yield Subject(machine, binary, plan.read_bytes())


def test_the_plan_itself_is_sound(subject: Subject) -> None:
    assert subject.reason_with(subject.content) == {UncountedReason.COUNTED}


def test_a_flipped_bit_is_noticed(subject: Subject) -> None:
    checked = len(subject.content) - 24 * struct.unpack_from("<I", subject.content, _SITES_AT)[0]
    for at in np.random.default_rng(1).integers(0, checked, 40).tolist():
        damaged = bytearray(subject.content)
        damaged[at] ^= 1 << at % 8
        found = subject.reason_with(bytes(damaged))
        assert found <= {UncountedReason.PLAN_DAMAGED, UncountedReason.PLAN_OTHER_VERSION}, at
        assert read(bytes(damaged)) is None


def test_a_plan_of_any_other_length_is_noticed(subject: Subject) -> None:
    for size in (0, 1, 7, 79, 80, 100, len(subject.content) // 2, len(subject.content) - 1):
        reason = subject.reason_with(subject.content[:size])
        assert reason <= {UncountedReason.PLAN_DAMAGED, UncountedReason.NO_PLAN}, size
    assert subject.reason_with(subject.content + b"\0") == {UncountedReason.PLAN_DAMAGED}


PATCH_AT, PATCH_STUB, PATCH_SIZE, PATCH_KIND, PATCH_OLD = (_HEADER_BYTES + at for at in (0, 4, 8, 9, 10))
FALSE_NUMBERS: dict[str, Callable[[Subject], bytes]] = {
    "magic": lambda one: b"WPPROBEX" + one.content[8:],
    "version": lambda one: one.with_number(_VERSION_AT, 1),
    "another machine": lambda one: one.with_number(_MACHINE_AT, 8),
    "more patches": lambda one: one.with_number(_PATCHES_AT, 1 << 31),
    "more fixes": lambda one: one.with_number(_FIXES_AT, 0xFFFFFFFF),
    "more increments": lambda one: one.with_number(_INCREMENTS_AT, 0x20000000),
    "fewer counters": lambda one: one.with_number(_COUNTERS_AT, 1),
    "more code": lambda one: one.with_number(_STUB_BYTES_AT, 0xFFFFFFF0),
    "patch outside the code": lambda one: one.with_number(PATCH_AT, one.data_address),
    "patch far outside the module": lambda one: one.with_number(PATCH_AT, 0xFFFFFFF0),
    "patch that leads outside": lambda one: one.with_number(PATCH_STUB, 0x7FFFFFFF),
    "patch without bytes": lambda one: one.with_number(PATCH_SIZE, 0, "B"),
    "patch of too many bytes": lambda one: one.with_number(PATCH_SIZE, 15, "B"),
    "patch of no kind": lambda one: one.with_number(PATCH_KIND, 3, "B"),
    "patches out of order": lambda one: one.with_number(PATCH_AT + PATCH.itemsize, 1),
    "fix outside the stubs": lambda one: one.with_number(one.fixes_at, 0xFFFFFFFE),
    "increment outside the stubs": lambda one: one.with_number(one.increments_at, 0xFFFFFFFE),
    "increment of no counter": lambda one: one.with_number(one.increments_at + 4, 0x10000000),
}


@pytest.mark.parametrize("name", FALSE_NUMBERS)
def test_numbers_out_of_range_are_noticed_whatever_the_checksum_says(subject: Subject, name: str) -> None:
    found = subject.reason_with(FALSE_NUMBERS[name](subject))
    assert found <= {UncountedReason.PLAN_DAMAGED, UncountedReason.PLAN_OTHER_VERSION} and found


def test_one_other_byte_of_code_leaves_the_whole_module_alone(subject: Subject) -> None:
    other = subject.content[PATCH_OLD + 1] ^ 1
    assert subject.reason_with(subject.with_number(PATCH_OLD + 1, other, "B")) == {UncountedReason.OTHER_CODE}


def test_more_counters_than_a_block_has_are_refused(subject: Subject) -> None:
    assert subject.reason_with(subject.with_number(_COUNTERS_AT, 1 << 22)) == {UncountedReason.TOO_MANY_COUNTERS}


def test_a_distance_that_leads_out_of_the_module_is_refused(subject: Subject) -> None:
    plan = read(subject.content)
    assert plan is not None
    stubs_at = subject.increments_at + plan.increments.nbytes
    found = subject.reason_with(subject.with_number(stubs_at + int(plan.fixes[0]), 0x70000000))
    assert found == {UncountedReason.PLAN_DAMAGED}


def test_no_folder_for_counters_means_no_counting(subject: Subject) -> None:
    ran = subject.machine.counted("env", "WHYPERF_COUNTS_OUT=/nowhere/at/all", subject.binary)
    assert (ran.status, ran.output, ran.errors) == (5, "52\n", "")


def test_damaged_counter_files_say_nothing(subject: Subject, tmp_path: Path) -> None:
    assert subject.reason_with(subject.content) == {UncountedReason.COUNTED}
    whole = max((p for p in subject.machine.folder.glob("out-*/*.counts")), key=lambda p: p.stat().st_mtime_ns)
    content = whole.read_bytes()
    for number, size in enumerate((0, 10, 4096, 4096 + 1024 * 1024 - 1)):
        (tmp_path / f"{number}.counts").write_bytes(content[:size])
    assert counted_processes(tmp_path) == []
    (tmp_path / "9.counts").write_bytes(content[: 4096 + 1024 * 1024 + 8])  # killed when it had hardly begun
    (process,) = counted_processes(tmp_path)
    assert process.modules[0].counts.sum() <= 10
    random = np.random.default_rng(2)
    for _ in range(50):
        damaged = bytearray(content[: 4096 + 1024 * 1024 + 4096])
        for at in random.integers(8, 4096 + 3 * 1024, 20).tolist():
            damaged[at] = int(random.integers(0, 256))
        (tmp_path / "9.counts").write_bytes(damaged)
        counted_processes(tmp_path)


def test_a_damaged_plan_is_made_anew(subject: Subject) -> None:
    folder = subject.machine.folder / "cache"
    folder.mkdir()
    plan = read(subject.content)
    assert plan is not None
    (folder / f"{plan.build_id}.plan").write_bytes(subject.content[:-1])
    assert load_plan(folder, plan.build_id) is None
    made = ensure_plan(folder, describe(str(subject.binary)))
    assert made is not None and (folder / f"{plan.build_id}.plan").read_bytes() == subject.content
