"""Numbers in a secret unit: what is left of them is their order, and how far they are apart.

A number is bent a little and then multiplied, each variable's by another factor, which only the user's key tells.
Order, equality, sign and zero stay; ratios stay to within some percent. Without the bending the ratios of whole
numbers would tell the numbers themselves.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whyperf.seal.evidence import Int64
from whyperf.seal.tables import texts, with_column
from whyperf.seal.value_tables.values import SealedValues

Floats = npt.NDArray[np.float64]

# What debug information calls a kind, and what it is called in its secret unit. Others name no quantity: a choice that
# the source lists, or where a pointer points to.
_SCALED = {"signed": "scaled", "unsigned": "scaled", "float": "scaled", "size": "scaled-size"}

_STEPS = 8  # of each octave, bent on their own
_BENT = 0.3  # by how much of a step a step's start is moved at most: slopes stay between 0.7 and 1.6
_OCTAVES = 128  # the factor is one of so many powers of two, times one to two; steps' moves recur after as many
_IDENTITY = np.uint64((1 << 56) - 1)  # a pointer's class lies above


@dataclass(frozen=True)
class Scale:
    """One variable's way from numbers to redacted ones."""

    moves: Floats  # of each step's start, in steps
    factor: float

    @staticmethod
    def of(key: bytes, function: str, variable: str) -> Scale:
        name = f"{len(function)}:{function}{variable}".encode(errors="surrogatepass")
        seed = hashlib.blake2b(name, key=key).digest()
        drawn = np.frombuffer(hashlib.shake_256(seed).digest(2 * (_OCTAVES * _STEPS + 2)), "<u2") / 65536.0
        octave = int(drawn[0] * _OCTAVES) - _OCTAVES // 2
        return Scale(drawn[2:] * _BENT, float(np.ldexp(1.0 + drawn[1], octave)))

    def __call__(self, numbers: Floats) -> Floats:
        # Only exactly rounded operations: equal numbers stay equal on every machine, larger ones are never smaller.
        fraction, exponent = np.frexp(np.abs(numbers))
        usual = np.isfinite(numbers) & (numbers != 0)
        within = np.where(usual, (fraction - 0.5) * (2 * _STEPS), 0.0)  # of the octave, in steps
        step = np.floor(within)
        number = exponent.astype(np.int64) * _STEPS + step.astype(np.int64)
        low = step + self._move(number)
        # The next octave's steps are twice as long, so its first one begins twice as far off.
        high = step + 1 + self._move(number + 1) * np.where(step == _STEPS - 1, 2.0, 1.0)
        bent = low + (within - step) * (high - low)
        with np.errstate(over="ignore"):
            scaled = np.ldexp((bent + _STEPS) / (2 * _STEPS), exponent) * self.factor
        return np.where(usual, np.copysign(scaled, numbers), numbers)

    def _move(self, step: Int64) -> Floats:
        return self.moves[step % len(self.moves)]


def redacted(sealed: SealedValues, functions: pa.Table, key: bytes) -> SealedValues:
    if not sealed.variables.num_rows:
        return sealed
    kinds, names = (texts(sealed.variables, name) for name in ("kind", "name"))
    owners = sealed.variables.column("function").to_numpy().tolist()
    called = texts(functions, "name")
    number = sealed.values.column("variable").to_numpy()
    value = sealed.values.column("value").to_numpy().copy()
    bounds = np.searchsorted(number, np.arange(len(kinds) + 1))  # values are sorted by variable
    for row, (kind, owner, name) in enumerate(zip(kinds, owners, names, strict=True)):
        rows = slice(bounds[row], bounds[row + 1])
        if kind in _SCALED and rows.start < rows.stop:
            scale = Scale.of(key, called[owner] if owner >= 0 else "", name)
            value[rows] = scale(_numbers(kind, value[rows])).view(np.int64)
    is_pointer = np.array([kind == "pointer" for kind in kinds], bool)[number]
    value[is_pointer] = _without_addresses(value[is_pointer])
    return replace(
        sealed,
        variables=with_column(sealed.variables, "kind", [_SCALED.get(kind, kind) for kind in kinds]),
        values=with_column(sealed.values, "value", value),
    )


def _numbers(kind: str, raw: Int64) -> Floats:
    if kind == "float":
        return raw.view(np.float64)
    return (raw if kind == "signed" else raw.view(np.uint64)).astype(np.float64)


def _without_addresses(pointers: Int64) -> Int64:
    """Which are the same is all that identities tell: programs keep numbers in pointers, too."""
    bits = pointers.view(np.uint64)
    identities = np.unique(bits & _IDENTITY, return_inverse=True)[1].astype(np.uint64)
    redacted: Int64 = ((bits & ~_IDENTITY) | identities).view(np.int64)
    return redacted
