"""Variables that stay where they are, so that every change of them can be watched: globals and their fields."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from whyperf.collect.sampler import tables_folder
from whyperf.debuginfo import Binary
from whyperf.debuginfo.variables import VariablesTable, write_table
from whyperf.debuginfo.variables_table import Flag, Kind

_SIZES = (1, 2, 4, 8)


@dataclass(frozen=True)
class Place:
    address: int
    size: int


@dataclass(frozen=True)
class Found:
    places: tuple[Place, ...]
    others: frozenset[str]
    """Names of the variables that could be watched."""


def find_variable(binary: Binary, name: str, folder: Path | None = None) -> Found:
    table = write_table(binary.path, binary.build_id, tables_folder() if folder is None else folder)
    if table is None:
        return Found((), frozenset())
    known = _places(table)
    return Found(tuple(sorted(known.get(name, ()), key=lambda place: place.address)), frozenset(known))


def _places(table: VariablesTable) -> dict[str, set[Place]]:
    found: dict[str, set[Place]] = {}
    names = table.variables.name
    fixed = np.flatnonzero(table.locations["kind"] == Kind.AT_ADDRESS)
    for location in table.locations[fixed]:
        address, flags = int(location["address"]), int(location["flags"])
        if int(location["size"]) in _SIZES:
            found.setdefault(names[int(location["variable"])], set()).add(Place(address, int(location["size"])))
        if flags & Flag.POINTER:
            continue  # what it points to may move
        first, count = int(location["first_field"]), int(location["field_count"])
        for field in table.fields[first : first + count]:
            if int(field["size"]) in _SIZES and not int(field["scale"]):
                place = Place(address + int(field["offset"]), int(field["size"]))
                found.setdefault(names[int(field["variable"])], set()).add(place)
    return found
