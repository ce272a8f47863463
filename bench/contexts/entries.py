"""What programs logged of their functions' entries and exits (`programs/entrylog`), as true function instances."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numba import njit
from numba.core import types
from numba.typed import Dict

from bench.cases.ranks import plain

_ENTRY = np.dtype([("time", "<u8"), ("function", "<u8")])
_LEFT = np.uint64(1 << 63)
ROOT = -1
Name = tuple[str, str]  # module, function


@dataclass(frozen=True, eq=False)
class Entries:
    """One row an instance: a function's time from entry to exit. Direct recursion is one instance."""

    names: tuple[Name, ...]  # by function number
    child: Mapping[tuple[int, int], int]  # (node, function) -> node; contexts of all threads in one tree
    contexts: int  # nodes
    tid: np.ndarray
    node: np.ndarray
    start: np.ndarray
    end: np.ndarray

    @property
    def latency(self) -> np.ndarray:
        latency: np.ndarray = self.end - self.start
        return latency

    def within(self, begin: int, end: int) -> Entries:
        """What lies in a window; what reaches beyond is cut off."""
        starts, ends = np.maximum(self.start, begin), np.minimum(self.end, end)
        kept = ends > starts
        return replace(self, tid=self.tid[kept], node=self.node[kept], start=starts[kept], end=ends[kept])


def read_entries(folder: Path) -> Entries:
    """Functions that were never left, because the process ended within them, end with its last entry."""
    logs = {int(path.name.split(".")[1]): _read(path) for path in sorted(folder.iterdir()) if path.suffix != ".maps"}
    addresses = np.unique(np.concatenate([log["function"] & ~_LEFT for log in logs.values()]))
    known = _names(sorted(folder.glob("*.maps")), addresses)
    names = tuple(dict.fromkeys(known))
    number = np.array([names.index(name) for name in known], np.int64)
    ended = max(int(log["time"][-1]) for log in logs.values())
    tree = Dict.empty(types.int64, types.int64)
    columns: list[tuple[np.ndarray, ...]] = []
    for tid, log in logs.items():
        left = (log["function"] & _LEFT) != 0
        function = number[np.searchsorted(addresses, log["function"] & ~_LEFT)]
        node, start, end = _instances(function, left, log["time"].astype(np.int64), ended, tree)
        columns.append((np.full(node.size, tid, np.int64), node, start, end))
    child = {(key // len(names) - 1, key % len(names)): node for key, node in _keys(tree, len(names)).items()}
    return Entries(names, child, len(tree), *(np.concatenate(column) for column in zip(*columns, strict=True)))


def _keys(tree: Mapping[int, int], functions: int) -> dict[int, int]:
    return {(key >> 32) * functions + (key & 0xFFFFFFFF): node for key, node in tree.items()}


def _read(path: Path) -> np.ndarray:
    log = np.fromfile(path, _ENTRY)
    return log[: int(np.count_nonzero(log["time"]))]  # the rest of its last window was not written


def _names(maps: list[Path], addresses: np.ndarray) -> list[Name]:
    """Module and name of each address, which are functions' first ones."""
    found: dict[int, Name] = {}
    for path, bias in {where for one in maps for where in _mapped(one.read_text())}:
        listed = subprocess.run(["nm", "--defined-only", path], capture_output=True, text=True, check=False).stdout
        for line in listed.splitlines():
            address, kind, name = line.split(maxsplit=2)
            if kind in "tTwWi":
                found.setdefault(int(address, 16) + bias, (Path(path).name, plain(name)))
    return [found.get(int(address), ("", hex(int(address)))) for address in addresses]


def _mapped(text: str) -> set[tuple[str, int]]:
    """Path and first address of each module; these are built position-independent."""
    rows = [line.split(maxsplit=5) for line in text.splitlines()]
    files = [row for row in rows if len(row) == 6 and row[5].startswith("/") and int(row[2], 16) == 0]
    return {(row[5], int(row[0].split("-")[0], 16)) for row in files}


@njit(cache=True)
def _instances(function, left, time, ended, tree):  # type: ignore[no-untyped-def]
    count = np.count_nonzero(~left)
    node, start, end = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    deepest = 4096
    functions, nodes, rows = np.empty(deepest, np.int64), np.empty(deepest, np.int64), np.empty(deepest, np.int64)
    depth = made = 0
    for entry in range(function.size):
        if left[entry]:
            at = depth - 1
            while at >= 0 and functions[at] != function[entry]:
                at -= 1  # others were left by a jump
            if at < 0:
                continue
            for one in range(at, depth):
                if rows[one] >= 0:
                    end[rows[one]] = time[entry]
            depth = at
        elif depth < deepest:
            functions[depth] = function[entry]
            if depth and functions[depth - 1] == function[entry]:
                nodes[depth], rows[depth] = nodes[depth - 1], -1
            else:
                parent = nodes[depth - 1] if depth else -1
                key = (parent + 1) << 32 | function[entry]
                if key not in tree:
                    tree[key] = len(tree)
                nodes[depth], rows[depth] = tree[key], made
                node[made], start[made] = tree[key], time[entry]
                made += 1
            depth += 1
    for one in range(depth):
        if rows[one] >= 0:
            end[rows[one]] = ended
    return node[:made], start[:made], end[:made]
