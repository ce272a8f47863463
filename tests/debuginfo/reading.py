"""What tests ask of a binary: addresses to try, and chains in a form that can be compared."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whyperf.debuginfo.binary import Binary

from .building import run

Level = tuple[str, str, int]
"""Function, file, line."""


def addresses_within(binary: Binary, count: int = 400) -> npt.NDArray[np.uint64]:
    """Addresses all over the binary's functions, the first and last of each among them."""
    low, high = binary.code.body_low, binary.code.body_high
    sizes = (high - low).astype(np.float64)
    random = np.random.default_rng(7)
    body = random.choice(len(low), count, p=sizes / sizes.sum())
    inside = low[body] + (random.random(count) * sizes[body]).astype(np.uint64)
    return np.unique(np.concatenate([inside, low, high - np.uint64(1)]))


def chains(binary: Binary, addresses: npt.NDArray[np.uint64]) -> list[list[Level]]:
    places, names = binary.resolve(addresses), binary.functions.names.to_list()
    files = [*places.files, ""]
    return [
        [(names[places.function[k]], files[places.file[k]], int(places.line[k])) for k in range(start, end)]
        for start, end in zip(places.start[:-1], places.start[1:], strict=True)
    ]


def by_llvm(path: Path, addresses: npt.NDArray[np.uint64]) -> list[list[Level]]:
    """The same from another implementation of everything."""
    wanted = "\n".join(hex(address) for address in addresses.tolist())
    output = run("llvm-symbolizer", f"--obj={path}", "--inlines", "-f=short", "--output-style=JSON", stdin=wanted)
    return [
        [
            (level["FunctionName"], os.path.normpath(level["FileName"]) if level["FileName"] else "", level["Line"])
            for level in json.loads(line)["Symbol"]
        ]
        for line in output.splitlines()
    ]


def by_addr2line(path: Path, addresses: npt.NDArray[np.uint64]) -> list[list[Level]]:
    wanted = "\n".join(hex(address) for address in addresses.tolist())
    found: list[list[Level]] = []
    lines = iter(run("addr2line", "-a", "-f", "-i", "-C", "-e", path, stdin=wanted).splitlines())
    for line in lines:
        if line.startswith("0x"):
            found.append([])
            continue
        file, _, number = next(lines).partition(" (")[0].rpartition(":")
        known = file != "??"
        found[-1].append((line, os.path.normpath(file) if known else "", int(number) if number.isdigit() else 0))
    return found


def own_name(name: str) -> str:
    """Without qualification and arguments; which operator it is shows in its line."""
    plain = name.replace("->", "")
    while (shorter := re.sub(r"<[^<>]*>|\([^()]*\)", "", plain)) != plain:
        plain = shorter
    last = plain.rpartition("::")[2]
    return "operator" if last.startswith("operator") else last


def comparable(found: list[list[Level]]) -> list[list[Level]]:
    return [[(own_name(name), file, line) for name, file, line in chain] for chain in found]
