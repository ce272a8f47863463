"""Transplants of aarch64 code."""

from __future__ import annotations

from whyperf.debuginfo.transplants.aarch64 import code, references, registers
from whyperf.debuginfo.transplants.coding import Coding

AARCH64 = Coding(
    references=references.references,
    redirected=code.redirected,
    counted=code.counted,
    import_stub=code.import_stub,
    entry_patch=code.entry_patch,
    saving=code.saving,
    written_in=registers.written_in,
    lost=registers.LOST,
    returned=0,
    arguments=8,
    fill=code.FILL,
)
