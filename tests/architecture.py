"""Which machine the tests run on."""

from __future__ import annotations

from whyperf.collect.architecture import ARM_64, X86_64, this_architecture

HERE = this_architecture()
OTHER = ARM_64 if HERE is X86_64 else X86_64
"""The one whose programs this machine does not run."""

LINKER = "ld-linux-x86-64.so.2" if HERE is X86_64 else "ld-linux-aarch64.so.1"

COMPILER_32 = ("i686-linux-gnu-gcc" if HERE is X86_64 else "arm-linux-gnueabihf-gcc", "-static")
"""For programs that run here and are not recorded. Where it is missing, its tests skip."""
