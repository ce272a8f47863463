"""The files by which the target finds its sites: `native/observation/site_file.h` has the same numbers."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import IntFlag
from pathlib import Path

import numpy as np

from whyperf.collect.observation.sites import ObservationLimits, ObservedSite
from whyperf.debuginfo.elf_files.elf import ElfFile, read_elf
from whyperf.debuginfo.machines.operations import VECTOR
from whyperf.debuginfo.probes import plan_file
from whyperf.debuginfo.probes.observing import (
    DecidedJump,
    LoadedNumber,
    PlannedPlaces,
    SpreadNumber,
    Wanted,
    plan_places,
)
from whyperf.debuginfo.probes.plan_cache import SUFFIX

MOST_SITES = 4096
MOST_VALUES = 65536
_MAGIC, _VERSION = b"WPOBSERV", 2
_HEADER = struct.Struct("<8sIIIIIIII")
_CHECKED_FROM = 12
_ROW = struct.Struct("<IIIIqIIBBBBBBBB")
_NOWHERE = 0xFFFFFFFF
_WHOLE = (1 << 64) - 1
_LEFT_ALONE = ("libc.so", "libpthread.so", "ld-linux", "libwhyperf_")
"""Libraries that run while a trap is handled."""


class _Flags(IntFlag):
    NONE = 0
    MEMORY = 1
    HAS_BASE = 2
    HAS_INDEX = 4
    ENTRY = 8
    REGISTER = 16
    FORCED = 32
    VECTOR = 64
    FILE = 128
    STREAM = 256


def write_plans(folder: Path, sites: Sequence[ObservedSite], limits: ObservationLimits) -> tuple[str, ...]:
    """One plan for each file. Returns for each site why it cannot be placed; empty: it can.

    OSError where they cannot be written.
    """
    values = sum(len(site.forced.values or ()) for site in sites if site.forced)
    if len(sites) > MOST_SITES or values > MOST_VALUES:
        raise ValueError(f"At most {MOST_SITES} sites and {MOST_VALUES} forced values are possible in one run.")
    refused = [""] * len(sites)
    for module in dict.fromkeys(site.module for site in sites):
        numbers = [number for number, site in enumerate(sites) if site.module == module]
        elf = read_elf(module)
        if elf is None or any(module.name.startswith(name) for name in _LEFT_ALONE):
            why = "is no ELF file" if elf is None else "is a library that whyperf itself needs"
            for number in numbers:
                refused[number] = f"{module.name} {why}"
            continue
        places = _planned(elf, [sites[number] for number in numbers])
        for number in numbers:
            refused[number] = places.refused.get(sites[number].address, "")
        if places.plan is not None:
            _write(folder, elf, places, [(number, sites[number]) for number in numbers], limits)
    return tuple(refused)


def _planned(elf: ElfFile, sites: Sequence[ObservedSite]) -> PlannedPlaces:
    """Jumps where they are asked for; where they cannot be, traps, but for what only a stub can do."""
    there: dict[int, list[ObservedSite]] = {}
    for site in sites:
        there.setdefault(site.address, []).append(site)
    wanted = [_wanted(address, some) for address, some in there.items()]
    places = plan_places(elf, wanted)
    no_jumps = {one.address for one in wanted if isinstance(one.loaded, LoadedNumber)}.intersection(places.refused)
    if not no_jumps:
        return places
    return plan_places(elf, [replace(one, loaded=None) if one.address in no_jumps else one for one in wanted])


def _wanted(address: int, sites: Sequence[ObservedSite]) -> Wanted:
    after = any(site.after for site in sites)
    spread = sites[0].spread
    if spread is not None:
        return Wanted(address, after, SpreadNumber(spread.register, spread.size, spread.bits))
    decided = sites[0].decided
    if decided is not None:
        return Wanted(address, after, DecidedJump(decided.taken))
    forced = sites[0].forced if len(sites) == 1 else None
    one_value = forced is not None and (forced.values is None or len(forced.values) == 1)
    if forced is None or not forced.by_jump or not one_value:
        return Wanted(address, after)
    value = None if forced.values is None else forced.values[0]
    return Wanted(address, after, LoadedNumber(forced.register, forced.size, value))


def _write(
    folder: Path,
    elf: ElfFile,
    places: PlannedPlaces,
    sites: Iterable[tuple[int, ObservedSite]],
    limits: ObservationLimits,
) -> None:
    assert places.plan is not None
    plan = plan_file.written(places.plan)
    made = plan_file.read(plan)
    assert made is not None
    (folder / f"{elf.build_id}{SUFFIX}").write_bytes(plan)
    there = [
        (places.placed[site.address].patch, number, site) for number, site in sites if site.address in places.placed
    ]
    values: list[int] = []
    rows = []
    for patch, number, site in sorted(there, key=lambda one: one[:2]):
        rows.append(_row(patch, number, site, places.placed[site.address].after, len(values)))
        if site.forced is not None:
            values += [value & _WHOLE for value in site.forced.values or ()]
    body = b"".join(rows) + np.array(values, "<u8").tobytes()
    head = _HEADER.pack(
        _MAGIC, 0, _VERSION, made.checksum, len(rows), len(values), limits.records, min(limits.traps, _NOWHERE), 0
    )
    checked = head[_CHECKED_FROM:] + body
    content = _MAGIC + struct.pack("<I", zlib.crc32(checked)) + checked
    (folder / f"{elf.build_id}.sites").write_bytes(content)


def _row(patch: int, number: int, site: ObservedSite, after: int | None, first_value: int) -> bytes:
    flags = _Flags.NONE
    memory, forced = site.memory, site.forced
    if memory is not None:
        flags |= _Flags.MEMORY
        flags |= _Flags.HAS_BASE if memory.base is not None else _Flags.NONE
        flags |= _Flags.HAS_INDEX if memory.index is not None else _Flags.NONE
    if site.is_entry:
        flags |= _Flags.ENTRY
    if site.register is not None:
        flags |= _Flags.REGISTER
    if site.vector is not None:
        flags |= _Flags.VECTOR
    if forced is not None:
        flags |= _Flags.FORCED
    if site.file is not None:
        flags |= _Flags.FILE | (_Flags.STREAM if site.file.is_stream else _Flags.NONE)
    return _ROW.pack(
        patch,
        number,
        after if after is not None and site.after else _NOWHERE,
        flags,
        memory.displacement if memory is not None else 0,
        first_value,
        len(forced.values or ()) if forced is not None else 0,
        (memory.base or 0) if memory is not None else 0,
        (memory.index or 0) if memory is not None else 0,
        memory.scale if memory is not None else 0,
        min(memory.size, 8) if memory is not None else 0,
        site.file.register if site.file is not None else site.register or 0,
        forced.register if forced is not None else 0,
        forced.size if forced is not None else 0,
        0 if site.vector is None else site.vector - VECTOR,
    )
