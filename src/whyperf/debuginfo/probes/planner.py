"""Plans how a binary's calls are counted, in the code of its machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.machines import AARCH64, X86_64, Machine
from whyperf.debuginfo.probes import aarch64, x86_64
from whyperf.debuginfo.probes.plan_file import PatchPlan, Planned
from whyperf.errors import WhyperfError
from whyperf.recording.names.hash_tables import walks_bucket
from whyperf.recording.schemas.call_tables import CallKind, NotCounted

DEFAULT_KINDS = frozenset(CallKind) - {CallKind.ITERATION}
"""Entries are those of functions whose address is taken: others are entered by counted calls alone. Iterations are
left out but for functions that walk a bucket of a hash table, where they are the nodes: the prototype's costs rose from
1.1 to 1.6 times the CPU time with all of them."""

_PLANNERS: dict[Machine, Callable[[Binary, Image, frozenset[CallKind], frozenset[int]], Planned]] = {
    X86_64: x86_64.planned,
    AARCH64: aarch64.planned,
}


@dataclass(frozen=True)
class Coverage:
    """What a plan counts, and what was left alone."""

    functions: int
    not_understood: int
    found: Counter[CallKind]
    counted: Counter[CallKind]
    reasons: Counter[tuple[CallKind, NotCounted]]


def make_plan(binary: Binary, kinds: frozenset[CallKind] = DEFAULT_KINDS) -> tuple[PatchPlan, Coverage] | None:
    """None for a binary without code, or without a build-id by which the plan could be found. WhyperfError where the
    code is of another machine."""
    elf, machine = binary.elf, binary.machine
    if elf is not None and machine is None:
        known = " and ".join(one.name for one in _PLANNERS)
        raise WhyperfError(
            f"Calls can be counted in code of {known} only; {binary.path} holds code of another machine.",
            "whyperf record -- COMMAND",
            status=2,
        )
    if elf is None or machine is None or not elf.build_id:
        return None
    if max((s.address + s.file_size for s in elf.segments), default=0) >= 1 << 31:
        return None
    made = _PLANNERS[machine](binary, Image(elf), kinds, _bucket_walkers(binary))
    return made.plan, _coverage(made)


def _bucket_walkers(binary: Binary) -> frozenset[int]:
    """Where they begin."""
    rows = (row for row, name in enumerate(binary.functions.names) if walks_bucket(name))
    return frozenset(address for row in rows for address in binary.entry_addresses(row))


def _coverage(made: Planned) -> Coverage:
    rows = [(CallKind(kind), NotCounted(reason)) for kind, reason in made.plan.sites[["kind", "reason"]].tolist()]
    return Coverage(
        made.functions,
        made.not_understood,
        Counter(kind for kind, _ in rows),
        Counter(kind for kind, reason in rows if not reason),
        Counter(row for row in rows if row[1]),
    )
