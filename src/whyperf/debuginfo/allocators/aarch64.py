"""Stubs of 64-bit ARM: the first instruction of a function leads there. Only x16 and x17 are changed."""

from __future__ import annotations

import struct

from whyperf.allocators.functions import AllocatorRole, Arguments
from whyperf.debuginfo.allocators.stubs import BUCKET_BITS, FOLD, GRANULE, StubSlot, hook_bytes
from whyperf.debuginfo.elf_files.elf import ElfFile
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.probes.aarch64 import words
from whyperf.debuginfo.probes.aarch64.first import CHECK_SIGN, SIGN, ArmFirstInstructions
from whyperf.debuginfo.probes.aarch64.stubs import ArmPlanBuilder
from whyperf.debuginfo.probes.plan_file import PatchKind

_NUMBER = struct.Struct("<Q")
_THREAD_POINTER = 0xD53BD050  # mrs x16, tpidr_el0
_ADD, _LOAD, _STORE = 0x8B110210, 0xF9400211, 0xF9000211  # add x16, x16, x17; ldr x17, [x16]; str x17, [x16]
_BUCKET = 0xD3400210 | GRANULE << 16 | (GRANULE + BUCKET_BITS - 1) << 10  # ubfx x16, x16, #GRANULE, #BUCKET_BITS
_LOAD_BYTE = 0x38706A30  # ldrb w16, [x17, x16]
_JUMP_TO_HANDLER = words.jump_by_register(17)


class ArmAllocatorStubs(ArmPlanBuilder):
    def __init__(self, elf: ElfFile, image: Image) -> None:
        super().__init__()
        self._first = ArmFirstInstructions(elf, image)
        self._literals: list[tuple[int, int, int, StubSlot | None]] = []
        """Where a word loads it into which register, what it holds, and what is filled in."""

    def put(self, address: int, role: AllocatorRole, arguments: Arguments, allocator: int) -> None:
        at, word, is_signed = self._first.of(address)
        self._literals = []
        self._replace(at, word, PatchKind.JUMP)
        tests = self._tests(role, arguments)
        unchanged = len(self._stubs)
        if tests is not None:
            self._move(at, word)
            self._jump(at + words.BYTES)
        for test in tests or ():
            self._lead_to(test, len(self._stubs))
        if is_signed:
            self._add(CHECK_SIGN)
        handler = StubSlot.ALLOCATION if role.allocates else StubSlot.RELEASE
        hook = self._load(16, 0, StubSlot.STUBS)
        self._load(17, 0, handler)
        self._add(_JUMP_TO_HANDLER)
        original = len(self._stubs)
        if is_signed:
            self._add(SIGN)
        if is_signed and tests is not None:
            self._add(words.jump(unchanged - len(self._stubs)))
        elif tests is not None:
            original = unchanged
        else:
            self._move(at, word)
            self._jump(at + words.BYTES)
        self._write_literals(hook, original, hook_bytes(role, arguments, allocator))

    def _tests(self, role: AllocatorRole, arguments: Arguments) -> list[int] | None:
        """Where a conditional jump has to lead to the handler; None: it is always to be called."""
        if role is AllocatorRole.ALLOCATE_MANY or (role is AllocatorRole.RESET and arguments.arena is None):
            return None
        tests = []
        if role.allocates and arguments.size is not None:
            self._add(_THREAD_POINTER)
            self._load(17, 0, StubSlot.THREAD)
            # sub x17, x17, SIZE, in its second form of the lower 32 bits
            take_off = (0xCB000231 if arguments.size_bytes == words.BYTES * 2 else 0xCB204231) | arguments.size << 16
            for word in (_ADD, _LOAD, take_off, _STORE):
                self._add(word)
            tests.append(len(self._stubs))
            self._add(0xB7F80011)  # tbnz x17, #63
        looked_up = arguments.arena if role is AllocatorRole.RESET else arguments.pointer
        if looked_up is not None:
            # eor x16, POINTER, POINTER, lsr #FOLD
            self._add(0xCA400010 | looked_up << 16 | FOLD << 10 | looked_up << 5)
            self._add(_BUCKET)
            self._load(17, 0, StubSlot.OWNED if role is AllocatorRole.RESET else StubSlot.LIVE)
            self._add(_LOAD_BYTE)
            tests.append(len(self._stubs))
            self._add(0x35000010)  # cbnz w16
        return tests

    def _lead_to(self, test: int, target: int) -> None:
        (word,) = struct.unpack_from("<I", self._stubs, test)
        struct.pack_into("<I", self._stubs, test, word | (target - test) // words.BYTES << 5)

    def _load(self, register: int, value: int, slot: StubSlot | None) -> int:
        """Its number among this stub's literals."""
        self._literals.append((len(self._stubs), register, value, slot))
        self._add(0)
        return len(self._literals) - 1

    def _write_literals(self, hook: int, original: int, behind: bytes) -> None:
        self._align()
        hook_at = len(self._stubs)
        self._slot(StubSlot.STUBS)
        self._stubs += _NUMBER.pack(original) + behind
        for number, (load, register, value, slot) in enumerate(self._literals):
            at = len(self._stubs)
            struct.pack_into("<I", self._stubs, load, words.load_near(register, at - load))
            if slot is not None:
                self._slot(slot)
            self._stubs += _NUMBER.pack(hook_at if number == hook else value)
