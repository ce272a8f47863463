"""Functions' machine code as numbers: whether two builds of a program have the same code for a function.

Every copy of a function, inlined ones too, has a number of its own, made of the words of the instructions that belong
to the function itself and not to what was inlined into it, and of the names of the latter; in no order, since compilers
put blocks where they like, and each name once, since they put some code in several places.
Constants that are the number of the very line, as in assertions, count as such: they move with the text above.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path, PurePath

import numpy as np
import numpy.typing as npt

from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.code_maps import cache
from whyperf.debuginfo.code_maps.code_map import CodeMap, Int32s
from whyperf.debuginfo.code_maps.places import lines_at, scopes_at
from whyperf.debuginfo.code_words import CodeWords, number_in
from whyperf.debuginfo.describe import cache_key
from whyperf.debuginfo.image import Image
from whyperf.recording.names.identity import is_named_by_address

UInt64s = npt.NDArray[np.uint64]

_MOST_BYTES = 4 << 20  # of code are read as a whole: about four seconds, once
_KEPT_AS = ".fingerprints-5"  # to be counted up whenever words or numbers are made in another way


@dataclass(frozen=True, eq=False)
class Fingerprints:
    """Parallel columns, sorted and each pair once."""

    function: Int32s  # of the binary's functions
    code: UInt64s


_NONE = Fingerprints(np.zeros(0, np.int32), np.zeros(0, np.uint64))


def fingerprints(binary: Binary, wanted: Int32s, folder: Path | None = None) -> Fingerprints:
    """Of all functions, which is remembered; of the bodies of those that are wanted where there is too much code, or
    where only symbols tell of functions: then recordings have no others either."""
    if binary.elf is None or binary.machine is None or binary.debug == "none":
        return _NONE
    if binary.debug == "symbols" or int((binary.code.body_high - binary.code.body_low).sum()) > _MOST_BYTES:
        return _read(binary, wanted)
    folder, name = folder or cache.default_folder(), cache_key(binary.elf) + _KEPT_AS
    known = cache.load_columns(folder, name)
    if known is not None and known.keys() == {"function", "code"}:
        return Fingerprints(known["function"], known["code"])
    found = _read(binary, None)
    # What is incomplete may be completed any time by installing a package, and its functions are then numbered anew.
    if not binary.note:
        cache.store_columns(folder, name, {"function": found.function, "code": found.code})
    return found


def _read(binary: Binary, wanted: Int32s | None) -> Fingerprints:
    """Of what was inlined into some functions only, other copies may be in the rest: then they are left out."""
    assert binary.elf is not None and binary.machine is not None
    code, image, machine = binary.code, Image(binary.elf), binary.machine
    bodies = np.ones(len(code.body_scope), np.bool_)
    if wanted is not None:
        bodies = np.isin(code.scope_function[code.body_scope], wanted)
    words = CodeWords(machine, image, _Entered(code), frozenset(PurePath(name).name for name in code.files))
    numbers: dict[str, int] = {}
    addresses, used = array("Q"), array("L")
    for low, high in zip(code.body_low[bodies].tolist(), code.body_high[bodies].tolist(), strict=True):
        for start, size, mnemonic, operands in machine.decoded(image.read(low, high - low), low, image.read).rows:
            word = words.of(start, size, mnemonic, operands)
            if word:
                addresses.append(start)
                used.append(numbers.setdefault(word, len(numbers)))
    at = np.frombuffer(addresses, np.uint64)
    scope = scopes_at(code, at)
    if wanted is not None:
        scope[code.scope_parent[scope] >= 0] = -1
    return _summed(code, at, scope, np.frombuffer(used, np.uint64), list(numbers))


class _Entered(dict[int, str | None]):
    """Names of functions by entry address, made for whoever asks: most of a large file's nobody calls."""

    def __init__(self, code: CodeMap) -> None:
        super().__init__()
        out_of_line = np.flatnonzero(code.scope_parent < 0)
        self._names = code.function_name
        self._function = dict(
            zip(code.scope_entry[out_of_line].tolist(), code.scope_function[out_of_line].tolist(), strict=True)
        )

    def __missing__(self, address: int) -> str | None:
        name = self._names[self._function[address]] if address in self._function else None
        self[address] = None if name is None or is_named_by_address(name) else name
        return self[address]


def _summed(code: CodeMap, addresses: UInt64s, scope: Int32s, used: UInt64s, words: list[str]) -> Fingerprints:
    constants, bare = zip(*map(number_in, words), strict=True) if words else ((), ())
    is_line = _is_line(code, addresses, scope, np.array(constants, np.uint64)[used])
    number = np.where(is_line, _hashes(bare)[used], _hashes(words)[used])
    order = np.argsort(scope, kind="stable")
    order = order[scope[order] >= 0]
    if not len(order):
        return _NONE
    scopes, first = np.unique(scope[order], return_index=True)
    pairs = np.zeros(len(scopes), [("function", np.int32), ("code", np.uint64)])
    pairs["function"] = code.scope_function[scopes]
    pairs["code"] = np.add.reduceat(number[order], first) + _inlined_into(code)[scopes]
    unique = np.unique(pairs)
    return Fingerprints(unique["function"].copy(), unique["code"].copy())


def _inlined_into(code: CodeMap) -> UInt64s:
    """By scope, what stands for the functions that were inlined right into it."""
    inner = np.flatnonzero(code.scope_parent >= 0)
    into, function = np.unique(np.array([code.scope_parent[inner], code.scope_function[inner]]), axis=1)
    which, of_which = np.unique(function, return_inverse=True)
    names = _hashes([f"inlined {code.function_name[number]}" for number in which.tolist()])
    found = np.zeros(len(code.scope_parent), np.uint64)
    np.add.at(found, into, names[of_which])
    return found


def _is_line(code: CodeMap, addresses: UInt64s, scope: Int32s, constant: UInt64s) -> npt.NDArray[np.bool_]:
    """Whether a constant is the number of its line, or of one from which what it is part of was inlined: a macro may
    hand it to a function."""
    line = _known_lines(lines_at(code, addresses)[1], scope)
    found: npt.NDArray[np.bool_] = (constant == line) & (line > 0)
    while (inside := scope >= 0).any():
        line = np.where(inside, code.scope_call_line[scope], 0)
        found |= (constant == line) & (line > 0)
        scope = np.where(inside, code.scope_parent[scope], -1)
    return found


def _known_lines(line: Int32s, scope: Int32s) -> Int32s:
    """Lines, of instructions without one that of the next with one: compilers give none to constants that they put
    together before a call."""
    rows = np.arange(len(line))
    following = np.minimum.accumulate(np.where(line > 0, rows, len(line) - 1)[::-1])[::-1]
    return np.where(scope[following] == scope, line[following], line) if len(line) else line


def _hashes(words: list[str] | tuple[str, ...]) -> UInt64s:
    digests = b"".join(blake2b(word.encode(), digest_size=8).digest() for word in words)
    return np.frombuffer(digests, np.uint64)
