"""The conditional jumps of a plan of blocks."""

from __future__ import annotations

from whyperf.debuginfo.probes.blocks import ConditionalJump, Ways
from whyperf.debuginfo.probes.plan_file import PatchPlan


def jumps_of(plan: PatchPlan) -> list[ConditionalJump]:
    """Of a plan of blocks: its sites are conditional jumps."""
    named = plan.sites[["address", "target", "function", "kind"]].tolist()
    return [ConditionalJump(address, taken, passed, Ways(asked)) for address, taken, passed, asked in named]
