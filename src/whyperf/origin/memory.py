"""From memory that was read to the instruction that wrote it last.

Addresses repeat from run to run: one pair of runs shows which address is read, the next one who writes to it. That the
address is read again there is checked; where it is not, all stores to such a member are matched within one run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whyperf.collect.observation.sites import RECORD, Rows, Watch
from whyperf.debuginfo.slices.definitions import Definition
from whyperf.diagnose.origin import ChainEnd
from whyperf.origin.command_line import is_start_text, options_that_differ
from whyperf.origin.copies import copied_into, filled_by_kernel
from whyperf.origin.evidence import Looked, Targets, WatchedWrites
from whyperf.origin.points import Point, content_in
from whyperf.origin.program_code import BuildSide, CodeAddress
from whyperf.origin.questions import CodeHere, Next, Read, Stop, Writer, WriterUnknown
from whyperf.origin.string_stores import is_in_the_middle
from whyperf.origin.supplied import settle
from whyperf.origin.trail import Trail
from whyperf.origin.values import ComparedValues, UInt64s, odd
from whyperf.origin.within_run import odd_reads, stored_within_run
from whyperf.origin.written_by import could_write, equally_often, follow_writers, is_other_member, no_longer_written

_WATCHED_BYTES = 8
_ELSEWHERE = 2
"""Further addresses that are watched: processors watch four."""
_APART = 64  # bytes
_Place = tuple[Path, int]
_NOBODY: _Place = (Path(), 0)
_SURELY_ADDED = 8192
"""Bytes of the environment at most: what nobody wrote to is hardly the frame of a function."""


@dataclass(frozen=True, eq=False)
class WroteSomethingElse:
    """The last write that was seen is not what was read. Where there are many, not all are seen: the same writer wrote
    again, or the memory was another object's and somebody else did."""

    writer: Writer


_SOMETHING_ELSE = WriterUnknown(
    ChainEnd.NOT_FOLLOWED,
    "The last write that was seen there is not what was read. It belonged to another object, and there are too many "
    "writes to see all of them.",
)

_SEVERAL_WRITERS = WriterUnknown(
    ChainEnd.NOT_FOLLOWED,
    "One run does not tell who wrote most of what is read: it lies at more addresses than can be watched.",
)

_READ_TOO_OFTEN = WriterUnknown(
    ChainEnd.NOT_FOLLOWED,
    "One run does not tell who wrote most of what is read: it is read or written too often to record each time.",
)


def written(trail: Trail, here: CodeHere, one: Definition) -> Next:
    """Who wrote what a definition reads?"""
    key = (here.module.path, one.address)
    reader = trail.evidence.point(key)
    sides, beside = trail.evidence.both(key), _beside(reader, one)
    if reader is None or one.memory is None or beside is None or sides is None:
        return Stop(ChainEnd.NOT_FOLLOWED, "Its address could not be seen.")
    if ("written", key) in trail.asked:
        return Stop(ChainEnd.NOT_FOLLOWED, "It is made of itself, again and again.")
    trail.asked.add(("written", key))
    compared = trail.content(here, one)
    addresses = [_odd_addresses(sides[side], one, compared, side, beside) for side in BuildSide]
    bad = _commonest(addresses[BuildSide.BAD])
    all_good = sides[0].rows["memory_address"] + np.uint64(beside)
    good = bad if bad in all_good else _commonest(addresses[BuildSide.GOOD])
    variables = here.module.variables
    name = "" if variables is None else variables.name_of(one.address, one.memory)
    size = min(one.memory.size, _WATCHED_BYTES)
    elsewhere = (_others(addresses[BuildSide.GOOD], good), _others(addresses[BuildSide.BAD], bad))

    def selects(rows: Rows, address: int) -> npt.NDArray[np.bool_]:
        return np.asarray(rows["memory_address"] + np.uint64(beside) == address)

    definition = one if not beside else None
    return Read(here, reader, (good, bad), size, selects, compared, name, definition, elsewhere)


def _beside(reader: Point | None, one: Definition) -> int | None:
    """How far behind what is looked at lies what the definition reads: of pairs, one is looked at."""
    if reader is None or reader.memory is None or one.memory is None:
        return None
    same = (reader.memory.base, reader.memory.index) == (one.memory.base, one.memory.index)
    distance = one.memory.displacement - reader.memory.displacement
    return distance % (1 << 64) if same else None


def who_wrote(trail: Trail, read: Read, targets: Targets) -> Next:
    bad_address = read.addresses[BuildSide.BAD]
    if bad_address is None:
        where = "" if trail.is_alone else " in bad runs"
        return WriterUnknown(ChainEnd.NOT_FOLLOWED, f"Its address could not be seen{where}.")
    if is_start_text(targets, bad_address):
        return Stop(
            ChainEnd.OUTSIDE, options_that_differ(targets) or "It is an argument or the environment of the program."
        )
    if ("who", bad_address, read.reader.key) in trail.asked:
        return WriterUnknown(ChainEnd.NOT_FOLLOWED, "It is copied in a circle.")
    trail.asked.add(("who", bad_address, read.reader.key))
    good_watches, bad_watches = (
        [] if first is None else [_watch(one, read.size) for one in (first, *others)]
        for first, others in zip(read.addresses, read.elsewhere, strict=True)
    )
    watched = trail.evidence.watch(read.reader, (good_watches, bad_watches), "watching who writes it")
    return _by_writers(trail, read, watched, targets)


def _by_most_writes(trail: Trail, read: Read, watched: WatchedWrites, targets: Targets) -> Next:
    """Of one run alone: who wrote most of what was read, by those addresses that were watched."""
    side = BuildSide.BAD
    looked = trail.evidence.looked(read.reader.key, side)
    assert looked is not None
    looked = replace(looked, complete=looked.complete and not watched.lost(side))
    writes = watched.writes(side)
    writers: dict[_Place, Writer | None] = {}
    counts: Counter[_Place] = Counter()
    for number, address in enumerate((read.addresses[side], *read.elsewhere[side])):
        mine = writes[writes["watch"] == number]
        reads = looked.rows[read.selects(looked.rows, address or 0)]
        seen = np.stack([np.searchsorted(mine["order"], reads["order"]).astype(np.uint64), reads["memory"]])
        _, firsts, many = np.unique(seen, axis=1, return_index=True, return_counts=True)  # they have one writer
        for one, count in zip(firsts.tolist(), many.tolist(), strict=True):
            last = _last_of(trail, read, side, reads[one : one + 1], mine, address=address or 0)
            writer = _of_same_member(trail, read, last)
            if last is None or writer is not None:
                key = _NOBODY if writer is None else writer.at.key
                writers.setdefault(key, writer)
                counts[key] += count
    most = settle(trail, counts, len(looked.rows) - counts.total(), looked)
    if most is None:
        return _not_settled(trail, read, looked, counts, writers)
    writer = writers[most]
    if writer is None:
        return never_written(trail, read, targets)
    if not trail.code.is_program(writer.at.module):
        return copied_into(trail, replace(read, addresses=(None, writer.address)))
    return follow_writers(trail, read, None, writer)


def _not_settled(
    trail: Trail, read: Read, looked: Looked, counts: Counter[_Place], writers: Mapping[_Place, Writer | None]
) -> Next:
    """Why no writer wrote most of what is read. Where it is known of all reads who did, another run tells no more."""
    if counts.total() < len(looked.rows) or not counts:
        found = stored_within_run(trail, read)
        return _SEVERAL_WRITERS if isinstance(found, WriterUnknown) and len(counts) else found
    if looked.total > len(looked.rows) or not looked.complete:
        return _READ_TOO_OFTEN
    return equally_often(counts, writers)


def _by_writers(trail: Trail, read: Read, watched: WatchedWrites, targets: Targets) -> Next:
    if trail.is_alone:
        return _by_most_writes(trail, read, watched, targets)
    reads = [_reads_again(trail, read, side) for side in BuildSide]
    if not len(reads[BuildSide.BAD]):
        return stored_within_run(trail, read)
    good, bad = (_last_writer(trail, read, side, reads[side], watched.writes(side)) for side in BuildSide)
    if isinstance(bad, WroteSomethingElse):
        bad = _writer_elsewhere(trail, read, BuildSide.BAD, watched.writes(BuildSide.BAD)) or bad
    no_instruction_did = isinstance(bad, WroteSomethingElse) and not watched.lost(BuildSide.BAD)
    filled = filled_by_kernel(trail, read) if no_instruction_did else None
    missing = _missing_in_bad(trail, read, good, bad) if filled is None else None
    if filled is not None or missing is not None or bad is None:
        return filled or missing or never_written(trail, read, targets)
    good, bad = (_of_same_member(trail, read, one) for one in (good, bad))
    if bad is None:
        found = stored_within_run(trail, read)
        return _SOMETHING_ELSE if isinstance(found, WriterUnknown) else found
    if not trail.code.is_program(bad.at.module):
        return copied_into(trail, replace(read, addresses=(read.addresses[BuildSide.GOOD], bad.address)))
    if good is None or good.at.key == bad.at.key:
        good = _writer_elsewhere(trail, read, BuildSide.GOOD, watched.writes(BuildSide.GOOD), bad) or good
    return follow_writers(trail, read, good, bad)


def _missing_in_bad(
    trail: Trail,
    read: Read,
    good: Writer | WroteSomethingElse | None,
    bad: Writer | WroteSomethingElse | None,
) -> Next | None:
    """In bad runs nobody wrote, or only a library did, such as one that clears memory: whether the program's own store
    of good runs is missing there."""
    if not isinstance(good, Writer) or isinstance(bad, WroteSomethingElse):
        return None
    own = [one is not None and trail.code.is_program(one.at.module) for one in (good, bad)]
    return no_longer_written(trail, read, good) if own == [True, False] else None


def _of_same_member(trail: Trail, read: Read, last: Writer | WroteSomethingElse | None) -> Writer | None:
    """Who wrote something else may have written again, unless it writes to another object's member."""
    if not isinstance(last, WroteSomethingElse):
        return last
    return None if is_other_member(trail, read, last.writer) else last.writer


def _reads_again(trail: Trail, read: Read, side: BuildSide) -> Rows:
    """Records of the watched run with which the address was read, of those values that the other side hardly has."""
    looked, address = trail.evidence.looked(read.reader.key, side), read.addresses[side]
    if looked is None or address is None:
        return np.zeros(0, RECORD)
    return odd_reads(read, looked.rows[read.selects(looked.rows, address)], side)


def _writer_elsewhere(
    trail: Trail, read: Read, side: BuildSide, writes: Rows, other: Writer | None = None
) -> Writer | None:
    """Who wrote last at another address that is read, if that is somebody else: code of the program rather than of a
    library that copies."""
    looked = trail.evidence.looked(read.reader.key, side)
    if looked is None:
        return None
    found: list[Writer] = []
    for number, address in enumerate(read.elsewhere[side], 1):
        reads = looked.rows[read.selects(looked.rows, address)]
        reads = odd_reads(read, reads, side) if side is BuildSide.BAD else reads
        last = _last_of(trail, read, side, reads, writes[writes["watch"] == number], address=address)
        if isinstance(last, Writer) and (other is None or last.at.key != other.at.key):
            found.append(last)
    return next((one for one in found if trail.code.is_program(one.at.module)), found[0] if found else None)


def _odd_addresses(looked: Looked, one: Definition, compared: ComparedValues, side: BuildSide, beside: int) -> UInt64s:
    """Where values are read that are more common on this side than on the other; all where there is none."""
    addresses = looked.rows["memory_address"] + np.uint64(beside)
    values = (compared.bad if side else compared.good).values if beside else content_in(looked.rows, one)
    chosen = odd(values, compared, side)
    return addresses[chosen] if len(chosen) == len(addresses) and chosen.any() else addresses


def _others(addresses: UInt64s, first: int | None) -> tuple[int, ...]:
    """The next most common ones. They lie so far apart that no instruction writes to two of them: the processor would
    report one of the two."""
    if first is None:
        return ()
    found = [first]
    for one, _ in Counter(addresses.tolist()).most_common():
        if len(found) > _ELSEWHERE:
            break
        if one and all(abs(one - other) >= _APART for other in found):
            found.append(one)
    return tuple(found[1:])


def _commonest(addresses: UInt64s) -> int | None:
    found = Counter(addresses.tolist()).most_common(1)
    return found[0][0] if found and found[0][0] else None


def _watch(address: int, size: int) -> Watch:
    """As many bytes as the processor can watch at that address."""
    while address % size:
        size //= 2
    return Watch(address, size)


def _last_writer(
    trail: Trail, read: Read, side: BuildSide, reads: Rows, writes: Rows
) -> Writer | WroteSomethingElse | None:
    address = read.addresses[side]
    mine = writes[writes["watch"] == 0]
    return None if address is None else _last_of(trail, read, side, reads, mine, address=address)


def _last_of(
    trail: Trail, read: Read, side: BuildSide, reads: Rows, writes: Rows, *, address: int
) -> Writer | WroteSomethingElse | None:
    """Whose write the first of the reads saw: later ones may see what only keeps the value as it is. Of addresses, of
    which none is odd, whose write most of the reads saw."""
    seen = np.searchsorted(writes["order"], reads["order"]) - 1
    reads, seen = reads[seen >= 0], seen[seen >= 0]
    if read.compared.only_addresses and len(seen):
        stores = writes["address"][seen]
        (commonest, _), *_ = Counter(stores.tolist()).most_common(1)
        reads, seen = reads[stores == commonest], seen[stores == commonest]
    something_else = None
    for number, row in enumerate(seen.tolist()):
        found = _instruction(trail, side, writes[row], address)
        if found is None:
            continue
        writer = Writer(found, writes["registers"][row], address, _bias(trail, side, found))
        if read.definition is None or could_write(trail, writer, int(reads["memory"][number]), read.size):
            return writer
        something_else = something_else or WroteSomethingElse(writer)
    return something_else


def _instruction(trail: Trail, side: BuildSide, write: Rows, written: int) -> CodeAddress | None:
    """The store; some machines stop behind it."""
    modules = trail.evidence.modules[side]
    found = trail.code.locate(side, modules, int(write["address"]))
    if found is None:
        return None
    slicer = found.slicer
    if slicer is None or not slicer.function.machine.watches_stop_behind:
        return found
    if is_in_the_middle(slicer.function, found.address, write["registers"], written):
        return found
    before = slicer.function.ending_at(found.address)
    return found if before is None else CodeAddress(found.module, before.address)


def _bias(trail: Trail, side: BuildSide, at: CodeAddress) -> int:
    own = str(at.module.path)
    return next((bias for path, bias in trail.evidence.modules[side] if path == own), 0)


def never_written(trail: Trail, read: Read, targets: Targets) -> Next:
    """Memory that no instruction wrote to before it was read."""
    filled = filled_by_kernel(trail, read)
    if filled is not None:
        return filled
    if _in_a_file(trail, read):
        return Stop(ChainEnd.CONSTANT, "It is the value with which the program is built.")
    address = read.addresses[BuildSide.BAD]
    if address is not None and is_start_text(targets, address, _SURELY_ADDED):
        return Stop(
            ChainEnd.OUTSIDE, options_that_differ(targets) or "It is an argument or the environment of the program."
        )
    found = copied_into(trail, read)
    if isinstance(found, Stop) and found.end is ChainEnd.NOT_FOLLOWED:
        return WriterUnknown(
            ChainEnd.NOT_FOLLOWED,
            "No instruction wrote to it before it was read: it is zeroed memory, or the kernel's.",
        )
    return found


def _in_a_file(trail: Trail, read: Read) -> bool:
    """Whether the address belongs to the data of one of the program's binaries."""
    address = read.addresses[BuildSide.BAD]
    if address is None:
        return False
    for path, bias in trail.evidence.modules[BuildSide.BAD]:
        module = trail.code.module(Path(path)) if path.startswith("/") else None
        if module is None or module.binary.elf is None:
            continue
        if any(one.address <= address - bias < one.address + one.file_size for one in module.binary.elf.segments):
            return True
    return False
