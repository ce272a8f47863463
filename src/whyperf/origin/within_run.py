"""Where addresses do not repeat from run to run: all stores to such a member, matched with the read within one run."""

from __future__ import annotations

from collections import Counter

import numpy as np

from whyperf.collect.observation.sites import Rows
from whyperf.diagnose.origin import ChainEnd
from whyperf.origin.evidence import MOST_POINTS
from whyperf.origin.member_writes import likely_stores
from whyperf.origin.points import Point, content_in
from whyperf.origin.program_code import BuildSide, CodeAddress
from whyperf.origin.questions import Next, Read, Stop, Writer, WriterUnknown
from whyperf.origin.supplied import settle
from whyperf.origin.trail import Trail
from whyperf.origin.values import odd
from whyperf.origin.written_by import could_write, equally_often, follow_writers

_MATCHED = 64
"""Reads, where runs are compared; of one run alone all count, since code that takes turns would be seen in part."""
_NOT_AGAIN = "Its address is another one in every run, and its stores are too many to look at all of them."


def stored_within_run(trail: Trail, read: Read) -> Next:
    if read.definition is None or read.definition.memory is None:
        return WriterUnknown(ChainEnd.NOT_FOLLOWED, _NOT_AGAIN)
    stores = [one for one, _ in likely_stores(read)]
    if not 0 < len(stores) < MOST_POINTS:
        return WriterUnknown(ChainEnd.NOT_FOLLOWED, _NOT_AGAIN)
    path = read.here.module.path
    points = [Point(path, one.address, after=True, memory=one.memory) for one in stores]
    trail.evidence.look_again([read.reader, *points], "matching reads with writes")
    good, bad = (_last(trail, read, [one.address for one in stores], side) for side in BuildSide)
    if isinstance(bad, Stop):
        return bad
    if bad is None or isinstance(good, Stop):
        return WriterUnknown(
            ChainEnd.NOT_FOLLOWED,
            "None of the stores to such a member was seen to write most of what is read."
            if trail.is_alone
            else "None of the stores to such a member wrote to the address that is read.",
        )
    return follow_writers(trail, read, good, bad)


def odd_reads(read: Read, rows: Rows, side: BuildSide) -> Rows:
    """Of a reader's records, those with values that the other side hardly has; all where there is none, or values are
    not known."""
    if read.definition is None:
        return rows
    chosen = odd(content_in(rows, read.definition), read.compared, side)
    return rows[chosen] if chosen.any() else rows


def _last(trail: Trail, read: Read, stores: list[int], side: BuildSide) -> Writer | Stop | None:
    looked = trail.evidence.looked(read.reader.key, side)
    if looked is None:
        return None
    module = read.here.module
    bias = next((one for path, one in trail.evidence.modules[side] if path == str(module.path)), 0)
    found: Counter[int] = Counter()
    rows: dict[int, Writer] = {}
    reads = odd_reads(read, looked.rows, side)
    reads = reads if trail.is_alone else reads[:_MATCHED]
    for seen in reads:
        address, order = int(seen["memory_address"]), int(seen["order"])
        last: tuple[int, int] | None = None
        for store in stores:
            writes = trail.evidence.looked((module.path, store), side)
            if writes is None:
                continue
            mine = np.flatnonzero((writes.rows["memory_address"] == address) & (writes.rows["order"] < order))
            if len(mine) and (last is None or int(writes.rows["order"][mine[-1]]) > last[0]):
                last = int(writes.rows["order"][mine[-1]]), store
                rows[store] = Writer(CodeAddress(module, store), writes.rows["registers"][mine[-1]], address, bias)
        if last is None or (trail.is_alone and not could_write(trail, rows[last[1]], int(seen["memory"]), read.size)):
            continue
        found[last[1]] += 1
    if trail.is_alone:
        most = settle(trail, found, len(reads) - found.total(), looked)
        are_known = looked.complete and found.total() == looked.total > 0
        return rows[most] if most is not None else equally_often(found, rows) if are_known else None
    return rows[found.most_common(1)[0][0]] if found else None
