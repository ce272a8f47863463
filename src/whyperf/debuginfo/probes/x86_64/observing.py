"""Places in x86-64 code: a trap is one byte, a jump takes five."""

from __future__ import annotations

import struct
from functools import cached_property

from whyperf.debuginfo.elf_files.elf import ElfFile
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.machines.x86_64.control import instructions, is_conditional
from whyperf.debuginfo.probes.observed_places import DecidedJump, LoadedNumber, NotPlaced, SpreadNumber, Wanted
from whyperf.debuginfo.probes.plan_file import OLD_BYTES, PatchKind, PatchPlan, PlanFlags
from whyperf.debuginfo.probes.x86_64.encoding import ENCODED, STACK_POINTER
from whyperf.debuginfo.probes.x86_64.moving import MovedInstruction, as_jump, copied, movable, pointer_jump
from whyperf.debuginfo.probes.x86_64.spreading import spread_in_place
from whyperf.debuginfo.probes.x86_64.stubs import IntelPlanBuilder
from whyperf.debuginfo.probes.x86_64.survey import X86Survey, survey
from whyperf.recording.schemas.call_tables import NotCounted

_LONGEST = 15
_JUMP_BYTES = 5
_TRAP = b"\xcc"
_PREFIXES = frozenset({0xF2, 0xF3, 0x3E})  # bnd, rep, notrack
_CALL, _JUMP, _SHORT_JUMP, _TWO_BYTES = 0xE8, 0xE9, 0xEB, 0x0F
_RETURNS = frozenset({0xC2, 0xC3, 0xCB, 0xCA})
_PUSH_RETURN = b"\x50\x48\x8d\x05"  # push rax; lea rax, [rip + distance]
_SWAP = b"\x48\x87\x04\x24"  # xchg [rsp], rax


class IntelObservingStubs(IntelPlanBuilder):
    def __init__(self, elf: ElfFile, image: Image) -> None:
        super().__init__()
        self._elf, self._image = elf, image

    def put(self, wanted: Wanted) -> int | None:
        content = self._instruction(wanted.address)
        if wanted.after and _leaves(content):
            raise NotPlaced("a call or jump has no result to be seen behind it")
        if isinstance(wanted.loaded, DecidedJump):
            self._put_decision(wanted.address, content, wanted.loaded)
            return None
        if wanted.loaded is not None:
            self._put_load(wanted, content, wanted.loaded)
            return None
        if len(content) > OLD_BYTES:
            raise NotPlaced("the instruction is too long")
        self._check_room(wanted.address, len(content))
        kept = len(self._stubs), len(self._fixes), len(self._patches)
        try:
            self._patch(wanted.address, content, PatchKind.TRAP)
            self._move_any(wanted.address, content)
        except NotPlaced:
            del self._stubs[kept[0] :], self._fixes[kept[1] :], self._patches[kept[2] :]
            raise
        after = len(self._stubs) if wanted.after else None
        self._stubs += _TRAP if wanted.after else b""
        self._go_back(content, wanted.address + len(content))
        return after

    def finished(self, build_id: str, multiple: int) -> PatchPlan:
        self._stubs += _TRAP * (-len(self._stubs) % multiple)
        return self.plan(build_id, PlanFlags.HAS_TRAPS)

    def _instruction(self, address: int) -> bytes:
        content = self._image.read(address, _LONGEST) if self._image.holds_code(address) else b""
        size = _length_of(content, address)
        if not size:
            raise NotPlaced("there is no instruction")
        return content[:size]

    def _check_room(self, address: int, size: int) -> None:
        if self._is_taken(address, address + size):
            raise NotPlaced("another place takes its room")

    def _put_load(self, wanted: Wanted, content: bytes, loaded: LoadedNumber | SpreadNumber) -> None:
        load, run = _code_for(loaded), self._run(wanted.address, content)
        self._check_room(wanted.address, sum(map(len, run)))
        self._patch(wanted.address, b"".join(run), PatchKind.JUMP)
        self._stubs += b"" if wanted.after else load
        self._move_any(wanted.address, content)
        self._stubs += load if wanted.after else b""
        at = wanted.address + len(content)
        for following in run[1:]:
            self._move_any(at, following)
            at += len(following)
        self._go_back(content, at)

    def _put_decision(self, address: int, content: bytes, decided: DecidedJump) -> None:
        if not is_conditional(content):
            raise NotPlaced("it is no conditional jump that can be rewritten")
        self._check_room(address, len(content))
        self._patch(address, content, decided.patch)
        self._stubs += _TRAP  # nobody goes there

    def _run(self, address: int, content: bytes) -> list[bytes]:
        """Instructions from there on that make room for a jump, and into which nothing else leads."""
        run = [content]
        while (size := sum(map(len, run))) < _JUMP_BYTES:
            at = address + size
            following = self._instruction(at)
            if isinstance(movable(at, following, stack_is_lower=False), NotCounted):
                raise NotPlaced("there is no room for a jump: what follows cannot run elsewhere")
            run.append(following)
        if size > OLD_BYTES:
            raise NotPlaced("there is no room for a jump")
        if len(run) > 1:
            self._check_not_entered(address, address + size)
        if isinstance(copied(address, content), NotCounted) and not _leaves(content):
            raise NotPlaced("the instruction cannot run elsewhere")
        return run

    def _check_not_entered(self, low: int, high: int) -> None:
        inside = [one for one in self._survey.functions if one.stretch.low <= low < one.stretch.high]
        known = inside and inside[0].movable
        if not known or any(low < at < high for at in self._survey.entered.tolist()):
            raise NotPlaced("there is no room for a jump: something else may lead into it")

    @cached_property
    def _survey(self) -> X86Survey:
        return survey(self._elf, self._image, with_loops=False)

    def _move_any(self, address: int, content: bytes) -> None:
        end = address + len(content)
        bare = content[1:] if content[0] in _PREFIXES else content
        if bare[0] == _CALL:
            self._push(end)
            self._jump(end + struct.unpack("<i", bare[1:5])[0])
        elif bare[0] == _JUMP:
            self._jump(end + struct.unpack("<i", bare[1:5])[0])
        elif bare[0] == _SHORT_JUMP:
            self._jump(end + struct.unpack("<b", bare[1:2])[0])
        elif bare[0] & 0xF0 == 0x70:
            self._conditional(bare[0] & 15, end + struct.unpack("<b", bare[1:2])[0])
        elif bare[0] == _TWO_BYTES and bare[1] & 0xF0 == 0x80:
            self._conditional(bare[1] & 15, end + struct.unpack("<i", bare[2:6])[0])
        elif bare[0] in _RETURNS:
            self._stubs += content
        else:
            self._move_other(address, content, end)

    def _move_other(self, address: int, content: bytes, end: int) -> None:
        call = pointer_jump(address, content, is_call=True)
        jump = pointer_jump(address, content, is_call=False)
        if isinstance(call, MovedInstruction):
            self._push(end)
            self._move(as_jump(call))
        elif isinstance(jump, MovedInstruction):
            self._move(jump)
        else:
            moved = copied(address, content)
            if isinstance(moved, NotCounted):
                raise NotPlaced("the instruction cannot run elsewhere")
            self._move(moved)

    def _push(self, address: int) -> None:
        """As a call does, changing neither registers nor flags."""
        self._stubs += _PUSH_RETURN
        self._fixes.append(len(self._stubs))
        self._stubs += struct.pack("<i", address - len(self._stubs) - 4) + _SWAP

    def _conditional(self, condition: int, target: int) -> None:
        self._stubs += bytes((_TWO_BYTES, 0x80 | condition))
        self._fixes.append(len(self._stubs))
        self._stubs += struct.pack("<i", target - len(self._stubs) - 4)

    def _go_back(self, content: bytes, address: int) -> None:
        bare = content[1:] if content[0] in _PREFIXES else content
        if bare[0] in (_CALL, _JUMP, _SHORT_JUMP) or bare[0] in _RETURNS:
            return
        self._jump(address)  # behind a call through a pointer nobody gets here


def _length_of(content: bytes, address: int) -> int:
    """Of the first instruction; 0 if there is none."""
    first = next(iter(instructions(content, address)), None)
    return 0 if first is None or first[2] == ".byte" else first[1]


def _leaves(content: bytes) -> bool:
    bare = content[1:] if content[0] in _PREFIXES else content
    direct = bare[0] in (_CALL, _JUMP, _SHORT_JUMP) or bare[0] in _RETURNS
    pointers = (pointer_jump(0, content, is_call=call) for call in (True, False))
    return direct or is_conditional(bare) or any(isinstance(one, MovedInstruction) for one in pointers)


def _code_for(loaded: LoadedNumber | SpreadNumber) -> bytes:
    return spread_in_place(loaded) if isinstance(loaded, SpreadNumber) else _load(loaded)


def _load(loaded: LoadedNumber) -> bytes:
    if not 0 <= loaded.register < len(ENCODED) or loaded.register == STACK_POINTER:
        raise NotPlaced("that register cannot be forced")
    number = ENCODED[loaded.register]
    high, low = number >> 3, number & 7
    if loaded.value is None:  # mov register, register
        return bytes((0x48 | high * 5, 0x89, 0xC0 | low * 9))
    value: bytes = (loaded.value & (1 << 8 * loaded.size) - 1).to_bytes(loaded.size, "little")
    if loaded.size == 1:
        return bytes((0x40 | high, 0xB0 | low)) + value
    prefix = {8: bytes((0x48 | high,)), 4: b"\x41" * high, 2: b"\x66" + b"\x41" * high}[loaded.size]
    return bytes(prefix) + bytes((0xB8 | low,)) + value
