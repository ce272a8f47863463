"""Codings by machine."""

from __future__ import annotations

from whyperf.debuginfo.machines import AARCH64 as AARCH64_MACHINE
from whyperf.debuginfo.machines import X86_64 as X86_64_MACHINE
from whyperf.debuginfo.machines import Machine
from whyperf.debuginfo.transplants.aarch64 import AARCH64
from whyperf.debuginfo.transplants.coding import Coding
from whyperf.debuginfo.transplants.x86_64 import X86_64

_CODINGS = {AARCH64_MACHINE: AARCH64, X86_64_MACHINE: X86_64}


def coding_of(machine: Machine) -> Coding:
    return _CODINGS[machine]
