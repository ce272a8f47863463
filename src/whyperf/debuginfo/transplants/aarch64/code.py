"""Code of aarch64 that is changed and made for transplants."""

from __future__ import annotations

from collections.abc import Iterable

from whyperf.debuginfo.machines.operations import VECTOR
from whyperf.debuginfo.probes.aarch64 import words
from whyperf.debuginfo.probes.aarch64.words import Form
from whyperf.debuginfo.transplants.aarch64.access import at_distance, scale_of
from whyperf.debuginfo.transplants.coding import EntryPatch, Saving
from whyperf.debuginfo.transplants.references import Reference
from whyperf.debuginfo.transplants.refused import RefusedError

FILL = b"\0"
_LOW = (1 << words.PAGE_BITS) - 1
_LANDING = 0xD503245F  # bti c
_SIGNING = frozenset({0xD503233F, 0xD503237F})  # paciasp, pacibsp
_STORE, _STORE_VECTOR, _LOADS = 0xF9000000, 0x3D800000, 0x400000
_LOWER_STACK, _RAISE_STACK = 0xD10003FF, 0x910003FF
_RETURN = 0xD65F03C0
_STACK, _LINK = 31, 30


def redirected(copy: bytearray, reference: Reference, base: int, _old: int, new: int) -> list[int]:
    """Has it lead to `new`, an address in the copy's own room; where corrections are needed."""
    if len(reference.sites) == 1:
        at = reference.sites[0] - base
        word = int.from_bytes(copy[at : at + words.BYTES], "little")
        _put(copy, at, word & 0xFC000000 | (new - at) // words.BYTES & 0x3FFFFFF)
        return [at]
    page_at, low_at = (site - base for site in reference.sites)
    page = int.from_bytes(copy[page_at : page_at + words.BYTES], "little")
    pages = (new >> words.PAGE_BITS) - (page_at >> words.PAGE_BITS)
    _put(copy, page_at, words.page(words.first_register(page), pages))
    low = int.from_bytes(copy[low_at : low_at + words.BYTES], "little")
    _put(copy, low_at, _with_low(low, new & _LOW))
    return [page_at]


def _with_low(word: int, low: int) -> int:
    if Form.ADD.holds(word):
        return word & ~(_LOW << 10) | low << 10
    scale = scale_of(word)
    if low & (1 << scale) - 1:
        raise RefusedError("data that it uses is aligned less in the other build")
    return word & ~(_LOW << 10) | low >> scale << 10


def counted(copy: bytearray, at: int, distance: int) -> None:
    """Has an instruction find its data so far from the address that it counts from."""
    _put(copy, at, at_distance(int.from_bytes(copy[at : at + words.BYTES], "little"), distance))


def _put(copy: bytearray, at: int, word: int) -> None:
    copy[at : at + words.BYTES] = word.to_bytes(words.BYTES, "little")


def import_stub(at: int, slot: int) -> bytes:
    """Goes on to what the slot holds: by x16, which calls may change."""
    load = 0xF9400210 | (slot & _LOW) >> 3 << 10
    page = words.page(16, (slot >> words.PAGE_BITS) - (at >> words.PAGE_BITS))
    return b"".join(word.to_bytes(words.BYTES, "little") for word in (page, load, words.jump_by_register(16)))


def entry_patch(content: bytes, instead: bytes) -> EntryPatch:
    """Where the system checks that, calls by pointers must find one of a few marks, which stay."""
    first, other = (int.from_bytes(one[: words.BYTES], "little") for one in (content, instead))
    if first == _LANDING:
        return EntryPatch(words.BYTES, words.BYTES)
    # The return address is signed before the jump and not again behind it.
    is_signed = first == other and first in _SIGNING
    return EntryPatch(words.BYTES if is_signed else 0, words.BYTES, words.BYTES if is_signed else 0)


def saving(registers: Iterable[int], at: int, target: int) -> Saving:
    """Calls the function at `target` and leaves these registers as they were."""
    general = sorted(one for one in registers if one < VECTOR)
    vectors = sorted(one - VECTOR for one in registers if one >= VECTOR)
    start = -(-(1 + len(general)) // 2) * 2
    room = 8 * start + 16 * len(vectors)
    places = [(_STORE, _LINK, 0), *((_STORE, one, 1 + row) for row, one in enumerate(general))]
    places += [(_STORE_VECTOR, one, start // 2 + row) for row, one in enumerate(vectors)]
    stores = [store | place << 10 | _STACK << 5 | one for store, one, place in places]
    made = [_LOWER_STACK | room << 10, *stores]
    fix = words.BYTES * len(made)
    made.append(Form.CALL.value[1] | (target - at - fix) // words.BYTES & 0x3FFFFFF)
    made += [*(one | _LOADS for one in stores), _RAISE_STACK | room << 10, _RETURN]
    return Saving(b"".join(word.to_bytes(words.BYTES, "little") for word in made), fix)
