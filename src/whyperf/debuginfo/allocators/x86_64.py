"""Stubs of x86-64: the first instructions of a function move there. No register is changed."""

from __future__ import annotations

import struct

from whyperf.allocators.functions import AllocatorRole, Arguments
from whyperf.debuginfo.allocators.stubs import BUCKET_BITS, FOLD, GRANULE, StubSlot, hook_bytes
from whyperf.debuginfo.elf_files.elf import ElfFile
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.probes.plan_file import PatchKind
from whyperf.debuginfo.probes.x86_64.first import IntelFirstInstructions
from whyperf.debuginfo.probes.x86_64.stubs import IntelPlanBuilder

_ARGUMENTS = (7, 6, 2, 1, 8, 9)
"""rdi, rsi, rdx, rcx, r8, r9 as instructions number them."""
_NUMBER = struct.Struct("<Q")
_SIGN_JUMP, _NOT_ZERO_JUMP = b"\x0f\x88", b"\x0f\x85"  # js, jne
_LOAD_RCX = b"\x48\xb9"  # mov rcx, number


class IntelAllocatorStubs(IntelPlanBuilder):
    def __init__(self, elf: ElfFile, image: Image) -> None:
        super().__init__()
        self._first = IntelFirstInstructions(elf, image)

    def put(self, address: int, role: AllocatorRole, arguments: Arguments, allocator: int) -> None:
        run = self._first.of(address)
        self._patch(run[0].address, b"".join(one.content for one in run), PatchKind.JUMP)
        tests = self._tests(role, arguments)
        original = len(self._stubs)
        if tests is not None:
            self._move_all(run)
        for test in tests or ():
            self._lead_to(test, len(self._stubs))
        near = self._call_handler()
        if tests is None:
            original = len(self._stubs)
            self._move_all(run)
        self._align()
        hook_at = len(self._stubs)
        self._slot(StubSlot.STUBS)
        self._stubs += _NUMBER.pack(original) + hook_bytes(role, arguments, allocator)
        handler = StubSlot.ALLOCATION if role.allocates else StubSlot.RELEASE
        self._handler_numbers(near, (hook_at, StubSlot.STUBS), handler)

    def _tests(self, role: AllocatorRole, arguments: Arguments) -> list[int] | None:
        """Where the distance of a conditional jump to the handler is; None: it is always to be called."""
        if role is AllocatorRole.ALLOCATE_MANY or (role is AllocatorRole.RESET and arguments.arena is None):
            return None
        tests = []
        if role.allocates and arguments.size is not None:
            register = _ARGUMENTS[arguments.size]
            is_narrow = arguments.size_bytes == 4
            if is_narrow:  # push rax; mov eax, SIZE
                self._stubs += bytes((0x50, 0x40 | (register >> 3) * 4, 0x89, 0xC0 | (register & 7) << 3))
                register = 0
            # sub fs:[distance], SIZE
            self._stubs += bytes((0x64, 0x48 | (register >> 3) * 4, 0x29, 0x04 | (register & 7) << 3, 0x25))
            self._slot(StubSlot.THREAD)
            self._stubs += bytes(4)
            self._stubs += b"\x58" if is_narrow else b""  # pop rax
            tests.append(self._near(_SIGN_JUMP))
        looked_up = arguments.arena if role is AllocatorRole.RESET else arguments.pointer
        if looked_up is not None:
            register = _ARGUMENTS[looked_up]
            self._stubs += b"\x50\x51"  # push rax; push rcx
            self._stubs += bytes((0x48 | (register >> 3) * 4, 0x89, 0xC0 | (register & 7) << 3))  # mov rax, POINTER
            self._stubs += b"\x48\x89\xc1" + bytes((0x48, 0xC1, 0xE9, FOLD))  # mov rcx, rax; shr rcx, FOLD
            self._stubs += b"\x48\x31\xc8" + bytes((0x48, 0xC1, 0xE8, GRANULE))  # xor rax, rcx; shr rax, GRANULE
            self._stubs += b"\x25" + struct.pack("<I", (1 << BUCKET_BITS) - 1)  # and eax, BUCKETS - 1
            self._stubs += _LOAD_RCX
            self._slot(StubSlot.OWNED if role is AllocatorRole.RESET else StubSlot.LIVE)
            self._stubs += bytes(8)
            self._stubs += b"\x80\x3c\x01\x00"  # cmp byte [rcx + rax], 0
            self._stubs += b"\x59\x58"  # pop rcx; pop rax
            tests.append(self._near(_NOT_ZERO_JUMP))
        return tests
