"""A plan's sites in words of the source: which function, line and callee."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.code_maps.code_map import Addresses, Int32s
from whyperf.debuginfo.code_maps.places import lines_at, out_of_line_scopes
from whyperf.debuginfo.control_flow.linkage_stubs import imported_by_stub
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.probes.plan_file import PatchPlan
from whyperf.recording.schemas.call_tables import CallKind


@dataclass(frozen=True, eq=False)
class Sites:
    """Parallel columns, by address. Functions are rows of the binary's functions, -1 when unknown."""

    address: Addresses
    counter: Int32s
    """-1: the site is not counted, for `reason`."""
    kind: npt.NDArray[np.int8]
    reason: npt.NDArray[np.int8]
    function: Int32s
    """The out-of-line function that the site is in: it may be in code that was inlined there."""
    file: Int32s
    line: Int32s
    """Of the innermost function there; 0 when unknown."""
    target: npt.NDArray[np.int64]
    """Where it leads, or the slot that will say where; -1 when unknown."""
    callee: Int32s
    imported: list[str]
    """The symbol, if another file's function is called by name; else empty."""
    order: Int32s
    """Tells sites of the same function, callee and kind apart: 0 for the first."""


def sites_of(binary: Binary, plan: PatchPlan) -> Sites:
    rows = plan.sites[np.argsort(plan.sites["address"], kind="stable")]
    address = rows["address"].astype(np.uint64)
    file, line = lines_at(binary.code, address)
    function = _functions_at(binary, address)
    called = np.where(rows["kind"] == CallKind.ITERATION, -1, rows["target"])
    callee = functions_entered_at(binary, called)
    imported = _Imports(binary).of(called, callee)
    keys = list(zip(function.tolist(), callee.tolist(), imported, rows["kind"].tolist(), strict=True))
    return Sites(
        address,
        rows["counter"].astype(np.int32),
        rows["kind"].astype(np.int8),
        rows["reason"].astype(np.int8),
        function,
        file,
        line,
        rows["target"].astype(np.int64),
        callee,
        imported,
        np.array(_numbered(keys), np.int32),
    )


def _functions_at(binary: Binary, addresses: Addresses) -> Int32s:
    scope = out_of_line_scopes(binary.code, addresses)
    found = np.full(len(scope), -1, np.int32)
    found[scope >= 0] = binary.code.scope_function[scope[scope >= 0]]
    return found


def functions_entered_at(binary: Binary, targets: npt.NDArray[np.int64]) -> Int32s:
    """Functions that start there; -1: none."""
    wanted = np.maximum(targets, 0).astype(np.uint64)
    scope = out_of_line_scopes(binary.code, wanted)
    known = (scope >= 0) & (targets >= 0)
    known[known] = binary.code.scope_entry[scope[known]] == wanted[known]
    found = np.full(len(scope), -1, np.int32)
    found[known] = binary.code.scope_function[scope[known]]
    return found


class _Imports:
    def __init__(self, binary: Binary) -> None:
        self._elf, self._machine = binary.elf, binary.machine
        self._image = Image(binary.elf) if binary.elf is not None else None
        self._found: dict[int, str] = {}

    def of(self, targets: npt.NDArray[np.int64], callee: Int32s) -> list[str]:
        pairs = zip(targets.tolist(), callee.tolist(), strict=True)
        return [self._symbol(target) if own < 0 and target >= 0 else "" for target, own in pairs]

    def _symbol(self, target: int) -> str:
        if target not in self._found:
            self._found[target] = self._looked_up(target)
        return self._found[target]

    def _looked_up(self, target: int) -> str:
        if self._image is None or self._elf is None or self._machine is None:
            return ""
        symbol = imported_by_stub(self._elf, self._machine, self._image, target)
        return self._image.imports.get(target, "") if symbol is None else symbol


def _numbered(keys: list[tuple[int, int, str, int]]) -> list[int]:
    seen: Counter[tuple[int, int, str, int]] = Counter()
    found = []
    for key in keys:
        found.append(seen[key])
        seen[key] += 1
    return found
