"""From an instruction that wrote to memory to what it wrote; or to why another one no longer writes there."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import TypeVar

from whyperf.debuginfo.machines.operations import VECTOR, Does, Immediate
from whyperf.debuginfo.slices.definitions import FLAGS, Definition, DefinitionKind, Input
from whyperf.diagnose.origin import ChainEnd, HopKind
from whyperf.origin.copies import copied_by_vector, half_stored
from whyperf.origin.made_of import CONSTANT, IN_A_LOOP, constant, made_from_before, made_of_itself
from whyperf.origin.member_writes import another_became_rarer, is_member, is_rarer, member_of, written_more_rarely
from whyperf.origin.questions import Ask, AskControl, CodeHere, Next, Read, Stop, Writer
from whyperf.origin.string_stores import copied_by_string, string_store
from whyperf.origin.supplied import narrowed
from whyperf.origin.trail import Trail, TrailStep

NOT_UNDERSTOOD = Stop(ChainEnd.NOT_FOLLOWED, "It is written by an instruction that is not understood.")
_SAME_ADDED = Stop(
    ChainEnd.NOT_FOLLOWED, "The same is added each time. Why it is added more or less often was not found."
)
_Place = TypeVar("_Place", bound=Hashable)


def follow_writers(trail: Trail, read: Read, good: Writer | None, bad: Writer) -> Next:
    """Of the last writers in good and bad runs. Where they are not the same instruction, and the good run's runs more
    rarely now, that is what is missing."""
    if good is not None and good.at.key != bad.at.key and trail.code.is_program(good.at.module):
        missing = _missing(trail, read, good, bad)
        if missing is not None:
            return missing
    here, store = _store(trail, bad)
    if here is None or store is None:
        return NOT_UNDERSTOOD
    return stored(trail, read, here, store, (good, bad))


def _store(trail: Trail, writer: Writer) -> tuple[CodeHere | None, Definition | None]:
    """Which of an instruction's stores covers the address."""
    here = trail.here(writer.at)
    if here is None or writer.at.address not in here.slicer.function.row:
        return None, None
    found = [one for one in here.slicer.stores(writer.at.address) if one.memory is not None]
    for one in found:
        assert one.memory is not None
        low = writer.address_of(one.memory)
        if low <= writer.address < low + max(one.memory.size, 1):
            return here, one
    return here, found[0] if found else None


def is_other_member(trail: Trail, read: Read, writer: Writer) -> bool:
    """Whether debug information calls what is written otherwise than what is read."""
    here, store = _store(trail, writer)
    name = "" if here is None or store is None else trail.name_after(here, store)
    are_members = all(is_member(one) for one in (name, read.name))
    return are_members and member_of(name) != member_of(read.name)


def could_write(trail: Trail, writer: Writer, content: int, size: int) -> bool:
    """Whether a writer wrote what so many bytes held later, as far as that is known: of a register or a number that is
    stored as it is."""
    here, store = _store(trail, writer)
    if here is None or store is None or store.memory is None:
        return True
    behind = writer.address - writer.address_of(store.memory)
    together = min(size, store.memory.size - behind)
    effects = here.slicer.function.code[here.slicer.function.row[store.address]].operation.effects
    made = zip(here.slicer.made_by(store.address), effects, strict=True)
    sources = next(effect.sources for one, effect in made if one == store)
    [source, *others] = sources or (None,)
    if others or behind < 0 or together <= 0:
        return True
    if isinstance(source, Immediate):
        value = source.value
    elif isinstance(source, int) and source < VECTOR:
        value = int(writer.registers[source])
    elif isinstance(source, int) and _is_cleared(here, store.address, source):
        value = 0
    else:
        return True
    return not ((value >> 8 * behind) ^ content) & ((1 << 8 * together) - 1)


def _is_cleared(here: CodeHere, address: int, register: int) -> bool:
    """Whether all bytes of a register are 0 there: of zeroed structures and arrays."""
    function, made = here.slicer.function, here.slicer.definitions(address, register)
    effects = [each for one in made if (at := function.at(one.address)) is not None for each in at.operation.effects]
    zeros = [each.does is Does.CLEAR or each.sources == (Immediate(0),) for each in effects if each.target == register]
    return 0 < len(made) == len(zeros) and all(zeros)


def equally_often(counts: Mapping[_Place, int], writers: Mapping[_Place, Writer | None]) -> Stop:
    """Of one run alone, where it is known of all reads whose write they saw. None: they saw none."""
    tied = [writers[key] for key, count in counts.items() if count == max(counts.values())]
    stores = [one.at.in_words for one in tied if one is not None]
    if len(stores) < len(tied):
        return Stop(ChainEnd.NOT_FOLLOWED, f"It is read as often before any store as after that of {stores[0]}.")
    return Stop(ChainEnd.NOT_FOLLOWED, f"{len(stores)} stores write it equally often: {', '.join(stores)}.")


def _missing(trail: Trail, read: Read, good: Writer, bad: Writer) -> Next | None:
    stores = [_store(trail, one) for one in (good, bad)]
    known = [(here, one) for here, one in stores if here is not None and one is not None]
    if len(known) < len(stores):
        return None
    trail.count(known, "counting writes")
    (good_here, good_store), (bad_here, bad_store) = known
    was, now = trail.counts(good_here, good_store)
    other_was, other_now = trail.counts(bad_here, bad_store)
    if not is_rarer(now, was) or (is_rarer(other_was, other_now) and other_was / max(1, other_now) < now / max(1, was)):
        return None
    return written_more_rarely(trail, read, good_here, good_store)


def no_longer_written(trail: Trail, read: Read, good: Writer) -> AskControl | None:
    """What good runs wrote, where none of the program's own instructions writes in bad runs. None: it still runs."""
    here, store = _store(trail, good)
    if here is None or store is None:
        return None
    trail.count([(here, store)], "counting writes")
    was, now = trail.counts(here, store)
    return written_more_rarely(trail, read, here, store) if is_rarer(now, was) else None


def stored(
    trail: Trail, read: Read, here: CodeHere, store: Definition, writers: tuple[Writer | None, Writer | None]
) -> Next:
    name = trail.name_after(here, store) or read.name
    general = [one for one in store.inputs if one.location != FLAGS and one.location < VECTOR]
    register = general[0].location if len(general) == 1 and not store.reads_memory else None
    half = half_stored(read, here, store, writers)
    is_string = string_store(here.slicer.function, store.address) is not None  # what is looked at is its first step
    if trail.is_alone and half is None and not is_string:
        trail.look([(here, store)], "looking at what is written")
        written = narrowed(trail.result(here, store), read.compared)
        read = replace(read, compared=written) if len(written.bad.values) else read
    if half is None:  # else the store's line is that of either half
        trail.add(TrailStep(HopKind.STORED, here.at(store.address), read.compared, name, register))
    if ("stored", here.module.path, store.address) in trail.asked:
        return made_of_itself(here, store.address) if trail.is_alone else AskControl(here, store.address, IN_A_LOOP)
    trail.asked.add(("stored", here.module.path, store.address))
    if half is not None:
        return half
    if (copied := copied_by_string(read, here, store, writers)) is not None:
        return copied
    if any(one.location >= VECTOR for one in store.inputs):
        return copied_by_vector(trail, read, here, store, writers)
    found = _made_for(trail, read, here, store, general)
    if isinstance(found, AskControl) and _by_the_same(writers):  # it writes the same
        return another_became_rarer(trail, read, here, store) or found
    return found


def _by_the_same(writers: tuple[Writer | None, Writer | None]) -> bool:
    """Whether nobody else was seen to write in good runs."""
    good, bad = writers
    return bad is not None and (good is None or good.at.key == bad.at.key)


def _made_for(trail: Trail, read: Read, here: CodeHere, store: Definition, general: list[Input]) -> Next:
    """What a store of general registers, or of a constant, puts there."""
    if store.reads_memory and (general or trail.is_alone):
        return _added(trail, here, store, general)
    if not general and store.reads_flags and trail.is_alone:
        return Ask(here.at(store.address), FLAGS, read.compared)
    if not general:
        return constant(trail, here, store.address, CONSTANT)
    counted = _counted(trail, here, store, general[0])
    return counted or Ask(here.at(store.address), general[0].location, read.compared)


def _added(trail: Trail, here: CodeHere, store: Definition, general: list[Input]) -> Next:
    """To what memory held: what, or how often."""
    if trail.is_alone:
        return made_from_before(trail, here, store)
    trail.look([(here, store)], "looking at what is added")
    differing = [one for one in general if trail.input(here, store, one).differs]
    if not differing:
        return AskControl(here, store.address, _SAME_ADDED)
    return Ask(here.at(store.address), differing[0].location, trail.input(here, store, differing[0]))


def _counted(trail: Trail, here: CodeHere, store: Definition, value: Input) -> Next | None:
    """Where something is added to the old value: what is, or how often. None: nothing is."""
    for one in here.slicer.definitions(store.address, value.location):
        if one.kind is not DefinitionKind.COMPUTE:
            continue
        from_itself = [each for each in one.inputs if _loads(here, one, each, store)]
        if not from_itself:
            continue
        if trail.is_alone:
            return made_from_before(trail, here, store)
        trail.look([(here, one)], "looking at what is added")
        others = [each for each in one.inputs if each not in from_itself and each.location != FLAGS]
        differing = [each for each in others if trail.input(here, one, each).differs]
        if differing:
            return Ask(here.at(one.address), differing[0].location, trail.input(here, one, differing[0]))
        return AskControl(here, store.address, _SAME_ADDED)
    return None


def _loads(here: CodeHere, one: Definition, value: Input, store: Definition) -> bool:
    return any(
        made.kind is DefinitionKind.LOAD and made.memory is not None and made.memory == store.memory
        for made in here.slicer.definitions(one.address, value.location)
    )
