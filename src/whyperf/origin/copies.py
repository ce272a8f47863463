"""Through copies of memory: by vector registers, and by calls of memcpy and of what reads files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whyperf.collect.observation.sites import Rows
from whyperf.debuginfo.basic_blocks.blocks import parts_of
from whyperf.debuginfo.machines.machine import FlowStep as Leads
from whyperf.debuginfo.machines.operations import VECTOR
from whyperf.debuginfo.slices.definitions import Definition, DefinitionKind, Input
from whyperf.debuginfo.slices.module import ModuleCode
from whyperf.diagnose.origin import ChainEnd, HopKind
from whyperf.origin.made_of import CONSTANT, constant, is_constant
from whyperf.origin.outside import end_at
from whyperf.origin.points import Point, holds_float
from whyperf.origin.program_code import BuildSide
from whyperf.origin.questions import Ask, CodeHere, Next, Read, Stop, Writer, WriterUnknown
from whyperf.origin.read_files import files_read, in_words, point_of_call
from whyperf.origin.trail import Trail, TrailStep

_FILLED = Stop(ChainEnd.NOT_FOLLOWED, "A call fills it; what with was not compared.")
_UNKNOWN_LENGTH = 4096
_RUNS_TO_LOOK = 2
_TIME = 16  # bytes
_MODULES_KEPT = 8
_HALF = 8
"""Bytes of a vector register."""


@dataclass(frozen=True)
class _Call:
    """By number of arguments: where a function writes to, from where, how much."""

    to: int
    source: int | None
    length: tuple[int, ...]
    """Multiplied."""
    most: int = 1
    """Multiplied by that: of calls whose arguments do not say how much, how much at most."""


_FILLS = ("memset", "__memset_chk")
_COPIES = {
    **dict.fromkeys(("memcpy", "memmove", "mempcpy", "__memcpy_chk", "__memmove_chk"), _Call(0, 1, (2,))),
    **dict.fromkeys(("strcpy", "stpcpy", "__strcpy_chk", "__stpcpy_chk"), _Call(0, 1, (), _UNKNOWN_LENGTH)),
    **dict.fromkeys(("strncpy", "__strncpy_chk"), _Call(0, 1, (2,))),
    **dict.fromkeys(("read", "recv", "recvfrom", "pread", "pread64", "__read_chk", "__recv_chk"), _Call(1, None, (2,))),
    **dict.fromkeys(("fread", "fread_unlocked"), _Call(0, None, (1, 2))),
    **dict.fromkeys(("__fread_chk", "__fread_unlocked_chk"), _Call(0, None, (2, 3))),
    **dict.fromkeys(("fgets", "fgets_unlocked"), _Call(0, None, (1,))),
    **dict.fromkeys(("__fgets_chk", "__fgets_unlocked_chk"), _Call(0, None, (2,))),
    **dict.fromkeys(_FILLS, _Call(0, None, (2,))),
    **dict.fromkeys(("getrandom", "getentropy"), _Call(0, None, (1,))),
    "clock_gettime": _Call(1, None, (), _TIME),
    "gettimeofday": _Call(0, None, (), _TIME),
}

_HAND_ON = frozenset(
    ("realloc", "reallocarray", "strdup", "strndup", "__strdup", "strcat", "strncat", "__strcat_chk", "__strncat_chk")
)
"""Further functions that write what they read elsewhere, whose arguments do not say where."""


def copied_by_vector(
    trail: Trail, read: Read, here: CodeHere, store: Definition, writers: tuple[Writer | None, Writer | None]
) -> Next:
    """A store of a vector register: from where was that loaded?"""
    vector = next(one.location for one in store.inputs if one.location >= VECTOR)
    made = here.slicer.definitions(store.address, vector)
    loads = [one for one in made if one.kind is DefinitionKind.LOAD and one.memory is not None]
    if is_constant(made):
        return constant(trail, here, store.address, CONSTANT)
    if len(made) == 1 and _doubles(made[0]):
        return Ask(here.at(made[0].address), made[0].inputs[0].location, read.compared)
    if len(loads) != 1 or len(made) != 1 or not _registers_hold(here, loads[0], store):
        if holds_float(store):
            return Ask(here.at(store.address), vector, read.compared)
        return Stop(ChainEnd.NOT_FOLLOWED, "It is made in vector registers, which are not followed.")
    return _copied_from(read, here, loads[0], store, writers)


def half_stored(
    read: Read, here: CodeHere, store: Definition, writers: tuple[Writer | None, Writer | None]
) -> Ask | Read | None:
    """Compilers put neighbours in a structure into one vector register and store them together: what made the one that
    is read? None: it is no such store, or not known which of them is read."""
    vector = next((one.location for one in store.inputs if one.location >= VECTOR), None)
    made = here.slicer.definitions(store.address, vector) if vector is not None else ()
    if len(made) != 1 or not made[0].joins or _doubles(made[0]) or store.memory is None:
        return None
    [joined] = made
    own = (one for one in writers if one is not None and one.at.key == (here.module.path, store.address))
    offsets = {one.address - one.address_of(store.memory) for one in own}
    if offsets not in ({0}, {_HALF}):
        return None
    is_upper = offsets == {_HALF}
    wanted = joined.inputs[-1 if is_upper else 0].location
    sources = (joined,) if is_upper and joined.reads_memory else here.slicer.definitions(joined.address, wanted)
    if len(sources) == 1 and (sources[0] is joined or sources[0].kind is DefinitionKind.LOAD):
        holds = _registers_hold(here, sources[0], store)
        return _copied_from(read, here, sources[0], store, writers, behind=_HALF * is_upper) if holds else None
    return Ask(here.at(joined.address), wanted, read.compared)


def _doubles(one: Definition) -> bool:
    """Whether it puts the same number into both halves."""
    return one.joins and len(one.inputs) == 1 and not one.reads_memory


def _copied_from(
    read: Read,
    here: CodeHere,
    load: Definition,
    store: Definition,
    writers: tuple[Writer | None, Writer | None],
    *,
    behind: int = 0,
) -> Read:
    """What `load` reads is stored `behind` bytes behind the store's address."""
    assert load.memory is not None and store.memory is not None
    addresses: list[int | None] = []
    for side in BuildSide:
        writer = writers[side]
        if writer is None or writer.at.key != (here.module.path, store.address):
            addresses.append(None)
            continue
        addresses.append(writer.address_of(load.memory) + writer.address - writer.address_of(store.memory) - behind)
    reader = Point(here.module.path, load.address, memory=load.memory)
    low = min(max(load.memory.size, 1), 64)

    def selects(rows: Rows, address: int) -> npt.NDArray[np.bool_]:
        return np.asarray((rows["memory_address"] <= address) & (address < rows["memory_address"] + np.uint64(low)))

    return Read(here, reader, (addresses[0], addresses[1]), read.size, selects, read.compared, read.name, None)


def _registers_hold(here: CodeHere, load: Definition, store: Definition) -> bool:
    """Whether the registers of the load's address are still the same at the store."""
    slicer = here.slicer
    return all(
        slicer.definitions(load.address, one) == slicer.definitions(store.address, one) for one in load.of_address
    )


def filled_by_kernel(trail: Trail, read: Read) -> Next | None:
    """No instruction wrote what is read: which call had the kernel write it? None: none was seen to."""
    if not any(_is_input(name) for _, _, name in _calls(trail)) or not trail.evidence.has_room(_RUNS_TO_LOOK):
        return None
    found = copied_into(trail, read, only_input=True)
    return None if isinstance(found, WriterUnknown) else found


def _is_input(name: str) -> bool:
    return _COPIES[name].source is None and name not in _FILLS


def copied_into(trail: Trail, read: Read, *, only_input: bool = False) -> Next:
    """Written by a library, or by the kernel for one: which call of the program's was that?"""
    calls = [one for one in _calls(trail) if not only_input or _is_input(one[2])]
    points = {(here.module.path, address): (here, address, name) for here, address, name in calls}
    looks = [point_of_call(here, address, name) for here, address, name in calls]
    trail.evidence.look_again([read.reader, *looks], "looking for who copies it")
    found = [_covering(trail, read, points, side) for side in BuildSide]
    bad = found[BuildSide.BAD]
    if bad is None:
        return WriterUnknown(
            ChainEnd.NOT_FOLLOWED, "It is written outside of the program's own code, and no call of it was seen."
        )
    (here, address, name), source = points[bad.key], bad.source
    ended = copied_by_call(trail, read, here, address, name, files=_files(trail, found))
    if ended is not None or source is None:
        return ended or unlocated(read, here, Point(here.module.path, address))
    good = found[BuildSide.GOOD]
    addresses = (good.source if good is not None and good.key == bad.key else None, source)
    registers = here.slicer.function.registers.arguments[0]
    call, delta = _COPIES[name], source - bad.begins
    assert call.source is not None
    from_register = registers[call.source]

    def selects(rows: Rows, wanted: int) -> npt.NDArray[np.bool_]:
        return np.asarray(rows["registers"][:, from_register] + np.uint64(delta) == wanted)

    reader = Point(here.module.path, address)
    return Read(here, reader, addresses, read.size, selects, read.compared, read.name, None)


def copies(name: str) -> bool:
    """Whether a library's function writes what it read, be it from memory or from outside."""
    return name in _COPIES or name in _HAND_ON


def copied_by_call(
    trail: Trail, read: Read, here: CodeHere, address: int, name: str, *, files: tuple[str, str] | None = None
) -> Next | None:
    """None: the call copies it from memory. `files`: those that good and bad runs read there, where that is known."""
    trail.add(TrailStep(HopKind.LOADED, here.at(address), read.compared, read.name, callee=name))
    if name in _FILLS:
        return _filled(trail, here, address)
    if name in _COPIES and _is_input(name):
        end = end_at(name)
        if end is not None and end[0] is ChainEnd.CHANCE:
            return Stop(*end)
        files = files or files_read(trail, here, address, name)
        caller, source = here.module.function_name(address), in_words(files, "outside")
        return Stop(ChainEnd.OUTSIDE, f"{name}() in {caller}() reads it from {source}.")
    return None


def _filled(trail: Trail, here: CodeHere, address: int) -> Next:
    """By what the call was given; two runs are compared by whether it runs."""
    call = Definition(address, DefinitionKind.TEST, None, 1)
    value = Input(here.slicer.function.registers.arguments[0][1], 1)
    is_number = is_constant(here.slicer.definitions(address, value.location))
    if not trail.is_alone or is_number:
        return constant(trail, here, address, CONSTANT if is_number else _FILLED)
    trail.look([(here, call)], "looking at what it is filled with")
    return Ask(here.at(address), value.location, trail.input(here, call, value))


def unlocated(read: Read, here: CodeHere, reader: Point) -> Read:
    """What a copy reads, where nobody knows at which address."""

    def selects(rows: Rows, wanted: int) -> npt.NDArray[np.bool_]:  # noqa: ARG001
        return np.zeros(len(rows), np.bool_)

    return Read(here, reader, (None, None), read.size, selects, read.compared, read.name, None)


@dataclass(frozen=True, eq=False)
class _Found:
    key: tuple[Path, int]
    row: Rows
    source: int | None
    """Address of the byte that was copied."""
    begins: int
    """Address of what the call copies."""


def _files(trail: Trail, found: list[_Found | None]) -> tuple[str, str]:
    """Which ones the calls were given; empty: none, or unknown."""
    looked = [
        None if one is None else trail.evidence.looked(one.key, side)
        for side, one in zip(BuildSide, found, strict=True)
    ]
    good, bad = (
        "" if one is None or seen is None else seen.file_of(one.row) for one, seen in zip(found, looked, strict=True)
    )
    return good, bad


def _covering(
    trail: Trail, read: Read, points: dict[tuple[Path, int], tuple[CodeHere, int, str]], side: BuildSide
) -> _Found | None:
    """The last call before the last read that wrote to the address."""
    looked, wanted = trail.evidence.looked(read.reader.key, side), read.addresses[side]
    if looked is None or wanted is None:
        return None
    reads = looked.rows[read.selects(looked.rows, wanted)]
    if not len(reads):
        return None
    last: tuple[int, _Found] | None = None
    for key, (here, _, name) in points.items():
        calls = trail.evidence.looked(key, side)
        if calls is None:
            continue
        rows = calls.rows[calls.rows["order"] < reads["order"][-1]]
        for row in _covering_rows(here, name, rows, wanted):
            order = int(row["order"])
            if last is None or order > last[0]:
                last = order, _Found(key, row, *_source(here, name, row, wanted))
    return None if last is None else last[1]


def _covering_rows(here: CodeHere, name: str, rows: Rows, wanted: int) -> Iterator[Rows]:
    call, registers = _COPIES[name], here.slicer.function.registers.arguments[0]
    for row in rows[::-1]:
        to, length = int(row["registers"][registers[call.to]]), call.most
        for one in call.length:
            length *= int(row["registers"][registers[one]])
        if to <= wanted < to + length:
            yield row
            return


def _source(here: CodeHere, name: str, row: Rows, wanted: int) -> tuple[int | None, int]:
    call, registers = _COPIES[name], here.slicer.function.registers.arguments[0]
    if call.source is None:
        return None, 0
    source = int(row["registers"][registers[call.source]])
    return source + wanted - int(row["registers"][registers[call.to]]), source


def _calls(trail: Trail) -> Iterator[tuple[CodeHere, int, str]]:
    """Calls of functions that write to memory, in the program's own binaries."""
    for path, _bias in trail.evidence.modules[BuildSide.BAD]:
        module = trail.code.module(Path(path)) if path.startswith("/") else None
        if module is None or not trail.code.is_program(module):
            continue
        for address, name in _calls_in(module):
            slicer = module.slicer_at(address)
            if slicer is not None and address in slicer.function.row:
                yield CodeHere(module, slicer), address, name


@lru_cache(maxsize=_MODULES_KEPT)
def _calls_in(module: ModuleCode) -> tuple[tuple[int, str], ...]:
    return tuple(_found_in(module))


def _found_in(module: ModuleCode) -> Iterator[tuple[int, str]]:
    machine, image = module.binary.machine, module.image
    if machine is None or image is None:
        return
    names: dict[int, str] = {}
    for scope in module.whole_functions():
        for low, high in parts_of(module.binary.code, scope).ranges:
            for start, _size, mnemonic, operands in machine.rows(image.read(low, high - low), low):
                if machine.step(mnemonic) is not Leads.CALL:
                    continue
                target = machine.direct_target(operands)
                if target is None:
                    continue
                if target not in names:
                    names[target] = module.callee_at(target).name
                if names[target] in _COPIES:
                    yield start, names[target]
