"""The copy of functions that a plan holds as its stubs.

Functions, and the constants that they refer to, keep the layout of the giver's file, so that distances among them stay
as they are. Behind them come the slots and stubs by which the copy finds other modules. What leads out is redirected.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from whyperf.debuginfo.probes.plan_file import INCREMENT, OLD_BYTES, PATCH, SITE, PatchKind, PatchPlan, PlanFlags
from whyperf.debuginfo.transplants.counterparts import Counterpart, CounterpartPlace
from whyperf.debuginfo.transplants.frames import written
from whyperf.debuginfo.transplants.module import TransplantModule
from whyperf.debuginfo.transplants.moved import Moved, Redirected
from whyperf.debuginfo.transplants.references import CodePart, Use
from whyperf.debuginfo.transplants.refused import RefusedError

_PAGE = 4096
_ALIGNMENT = 16
_SLOT_BYTES = 8
_CLEAR_BYTES = 64  # behind the last slot, as behind the increments of plans that count
_MOST_BYTES = 64 << 20


class SlotKind(IntEnum):
    """What is put into a slot, eight bytes of the copy; `native/probes/transplant.c` has the same numbers."""

    SYMBOL = 0
    """The address of the symbol whose name follows."""
    MODULE = 1
    """The address of what lies in the module at the address that is there."""
    FRAMES = 2
    """Nothing: unwind information begins there."""
    INITIAL = 3
    """Nothing: what a variable of the module begins with is there."""


class Copied:
    """`initial`: records of what variables begin with."""

    def __init__(
        self, giver: TransplantModule, receiver: TransplantModule, moved: Sequence[Moved], initial: Sequence[bytes] = ()
    ) -> None:
        self._giver, self._receiver, self._coding, self._moved = giver, receiver, giver.coding, moved
        self._initial = initial
        self._fixes: set[int] = set()
        self._slots: dict[Counterpart, int] = {}
        self._slot_rows: list[tuple[int, int]] = []
        self._stubs: dict[Counterpart, int] = {}
        self._savers: dict[tuple[int, frozenset[int]], int] = {}
        self._frames = [frame for one in moved for frame in one.frames]
        tables = [CodePart(one.table.address, one.table.content) for one in self._frames if one.table is not None]
        pieces = [*(part for one in moved for part in one.code.parts), *self._constants(), *tables]
        low, high = min((one.low for one in pieces), default=0), max((one.high for one in pieces), default=0)
        self._base = low - low % _PAGE
        if high - self._base > _MOST_BYTES:
            raise RefusedError("its code and constants lie too far apart in the file")
        self._content = bytearray(self._coding.fill * (high - self._base))
        for one in pieces:
            self._content[one.low - self._base : one.high - self._base] = one.content

    def plan(self) -> PatchPlan:
        self._check_conflicts()
        for one in self._moved:
            for redirected in one.redirected:
                self._redirect(redirected)
        self._add_frames()
        for record in self._initial:
            self._slot_rows.append((self._align(_SLOT_BYTES), SlotKind.INITIAL))
            self._content += record
        patches = np.array([self._patch(one) for one in self._moved if one.replaces is not None], PATCH)
        self._content += bytes(_CLEAR_BYTES)
        self._align(_ALIGNMENT)
        return PatchPlan(
            self._receiver.elf.build_id,
            self._receiver.machine.elf_number,
            PlanFlags.NONE,
            patches[np.argsort(patches["at"], kind="stable")],
            np.array(sorted(self._fixes), np.uint32),
            np.array(self._slot_rows, INCREMENT),
            bytes(self._content),
            np.zeros(0, SITE),
        )

    def _constants(self) -> list[CodePart]:
        """Whole sections: how far what is pointed at reaches is not known."""
        own = [part for one in self._moved for part in one.code.parts]
        sections = set()
        for one in self._moved:
            for redirected in one.redirected:
                target = redirected.reference.target
                if redirected.to.where is CounterpartPlace.COPY and not any(part.holds(target) for part in own):
                    section = self._giver.symbols.section_at(target)
                    if section is None or section.is_code:
                        raise RefusedError(f"what lies at {target:#x} is not known")
                    sections.add(section)
        return [CodePart(one.address, self._giver.image.read(one.address, one.size)) for one in sections]

    def _check_conflicts(self) -> None:
        """No instruction may have to lead to two places."""
        wanted: defaultdict[int, set[tuple[CounterpartPlace, int, str]]] = defaultdict(set)
        for one in (redirected for moved in self._moved for redirected in moved.redirected):
            if len(one.reference.sites) > 1:
                page_at, low_at = one.reference.sites
                address = one.to.address if one.to.where is CounterpartPlace.RECEIVER else 0
                wanted[page_at].add((one.to.where, address // _PAGE, one.to.symbol))
                wanted[low_at].add((one.to.where, address % _PAGE, one.to.symbol))
            for site, distance in one.distances:
                wanted[site].add((CounterpartPlace.RECEIVER, distance, ""))
        if any(len(places) > 1 for places in wanted.values()):
            raise RefusedError("one of its instructions finds several variables, which lie elsewhere")

    def _redirect(self, one: Redirected) -> None:
        if one.to.where is CounterpartPlace.COPY:
            return
        new, is_in_copy = self._placed(one)
        old = one.reference.target - self._base
        corrected = self._coding.redirected(self._content, one.reference, self._base, old, new)
        if not is_in_copy:
            self._fixes.update(corrected)
        for site, distance in one.distances:
            self._coding.counted(self._content, site - self._base, distance)

    def _placed(self, one: Redirected) -> tuple[int, bool]:
        """As if the copy began at the receiver's address 0, and whether it is part of the copy."""
        if one.to.where is CounterpartPlace.RECEIVER:
            return (self._saver(one.to.address, one.saved), True) if one.saved else (one.to.address, False)
        if one.reference.use in (Use.CALL, Use.JUMP) or self._giver.is_linkage(one.reference.target):
            return self._stub(one.to), True
        return self._slot(one.to), True

    def _slot(self, place: Counterpart) -> int:
        if place not in self._slots:
            self._align(_SLOT_BYTES)
            at = self._slots[place] = len(self._content)
            is_symbol = place.where is CounterpartPlace.IMPORTED
            self._slot_rows.append((at, SlotKind.SYMBOL if is_symbol else SlotKind.MODULE))
            self._content += place.address.to_bytes(_SLOT_BYTES, "little") + place.symbol.encode() + b"\0"
        return self._slots[place]

    def _stub(self, place: Counterpart) -> int:
        if place not in self._stubs:
            slot = self._slot(place)
            at = self._stubs[place] = self._align(_ALIGNMENT)
            self._content += self._coding.import_stub(at, slot)
        return self._stubs[place]

    def _saver(self, address: int, saved: frozenset[int], *, is_in_copy: bool = False) -> int:
        """Code that calls a function and leaves registers as they were."""
        if (address, saved) not in self._savers:
            at = self._savers[address, saved] = self._align(_ALIGNMENT)
            made = self._coding.saving(saved, at, address)
            self._content += made.code
            if not is_in_copy:
                self._fixes.add(at + made.fix)
        return self._savers[address, saved]

    def _add_frames(self) -> None:
        if not self._frames:
            return
        slots = {where: self._slot(place) for one in self._moved for where, place in one.pointers.items()}
        at = self._align(_ALIGNMENT)
        content, changes = written(self._frames, at, lambda address: address - self._base, slots.__getitem__)
        self._content += content
        self._slot_rows.append((at, SlotKind.FRAMES))
        for where, distance in changes:
            struct.pack_into("<i", self._content, where, distance)

    def _align(self, to: int) -> int:
        self._content += bytes(-len(self._content) % to)
        return len(self._content)

    def _patch(self, one: Moved) -> tuple[int, int, int, int, bytes]:
        assert one.replaces is not None
        start = one.replaces.address
        content = self._receiver.image.read(start, OLD_BYTES)
        begins = b"" if one.saved else self._giver.image.read(one.function.address, OLD_BYTES)
        patch = self._coding.entry_patch(content, begins)
        old = content[patch.at : patch.at + patch.size]
        following = self._receiver.symbols.holding(start + patch.at + patch.size - 1)
        if len(old) < patch.size or any(two.address > start for two in following):
            raise RefusedError("it has no room for a jump in the other build")
        entry = one.function.address - self._base
        stub = self._saver(entry, one.saved, is_in_copy=True) if one.saved else entry + patch.skipped
        return start + patch.at, stub, patch.size, PatchKind.JUMP, old.ljust(OLD_BYTES, b"\0")
