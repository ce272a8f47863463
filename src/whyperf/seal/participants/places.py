"""The distinct places in code at which stacks were seen: (address space, address) pairs, located in modules."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whyperf.collect import _session
from whyperf.collect.tracer.traced import KERNEL_FIRST
from whyperf.seal.evidence import Int32, Int64, RawStacks, UInt64
from whyperf.seal.participants.address_spaces import Spaces


@dataclass(frozen=True)
class SeenStacks:
    """Stacks as seen in address spaces, as lists of places, innermost first: `place[ends[i - 1]:ends[i]]`."""

    place: Int64
    ends: Int64
    of_sample: Int64  # row here of every sample that has a stack

    @property
    def lengths(self) -> Int64:
        return np.diff(self.ends, prepend=0)

    @property
    def starts(self) -> Int64:
        starts: Int64 = self.ends - self.lengths
        return starts


@dataclass(frozen=True)
class CodePlaces:
    """A row each."""

    space: Int32
    pc: UInt64  # where to look: of the instruction that was running, or one less than a return address
    module: Int32  # -1: none
    address: UInt64  # ELF virtual address
    is_leaf: npt.NDArray[np.bool_]  # some thread was running there, not only waiting for a call to return
    sampled: npt.NDArray[np.bool_]  # by the sampler: the code around is worth a closer look


def numbered(keys: UInt64) -> tuple[Int32, Int64]:
    """Numbers of equal keys, and where each appeared first."""
    numbers, firsts = _session.number_distinct(np.ascontiguousarray(keys, np.uint64).data)
    return np.frombuffer(numbers, np.int32), np.frombuffer(firsts, np.int64)


def distinct(keys: Int64, bound: int) -> tuple[Int64, Int64]:
    """`np.unique(keys, return_inverse=True)` of keys in [0, bound), without sorting where `bound` is small."""
    if bound > 8 * len(keys) + (1 << 20):
        values, inverse = np.unique(keys, return_inverse=True)
        return values, inverse.astype(np.int64)
    seen = np.zeros(bound, bool)
    seen[keys] = True
    number = np.cumsum(seen) - 1
    return np.flatnonzero(seen), number[keys]


def seen_stacks(
    stacks: RawStacks, spaces: Spaces, space: Int32, stack: Int32, sampled: int
) -> tuple[SeenStacks, CodePlaces]:
    """`space` and `stack` of every sample that has a stack; the first `sampled` are the sampler's own."""
    count = max(1, len(stacks.ends))
    pairs, of_sample = distinct(space.astype(np.int64) * count + stack, len(spaces.spaces) * count)
    pair_space, pair_stack = pairs // count, pairs % count

    starts = stacks.starts[pair_stack]
    lengths = stacks.ends[pair_stack] - starts
    ends = np.cumsum(lengths)
    firsts = ends - lengths
    total = int(ends[-1]) if len(ends) else 0
    pcs = stacks.pcs[np.repeat(starts - firsts, lengths) + np.arange(total)]
    is_leaf = np.zeros(total, bool)
    is_leaf[firsts[lengths > 0]] = True
    # A return address may already belong to the next line, block or function.
    lookup = np.where(is_leaf, pcs, pcs - np.uint64(1))

    value, firsts = numbered(lookup)
    values = lookup[firsts]
    value_count = max(1, len(values))
    keys = np.where(lookup >= KERNEL_FIRST, 0, np.repeat(pair_space, lengths)).astype(np.int64) * value_count + value
    places, place = distinct(keys, len(spaces.spaces) * value_count)
    place_space = (places // value_count).astype(np.int32)
    pc = values[places % value_count]
    module, address = spaces.locate(place_space, pc)
    leaf = np.zeros(len(places), bool)
    leaf[place[is_leaf]] = True
    by_sampler = np.zeros(len(pairs), bool)
    by_sampler[of_sample[:sampled]] = True
    looked_at = np.zeros(len(places), bool)
    looked_at[place[np.repeat(by_sampler, lengths)]] = True
    return SeenStacks(place, ends, of_sample), CodePlaces(place_space, pc, module, address, leaf, looked_at)
