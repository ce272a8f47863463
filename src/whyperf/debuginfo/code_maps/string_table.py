"""Many strings as two arrays: a binary's hundred thousand names are decoded only when asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, eq=False, repr=False)
class Texts(Sequence[str]):
    """A read-only sequence of strings: `data[offsets[i]:offsets[i + 1]]`, UTF-8."""

    data: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]

    @classmethod
    def of(cls, strings: Iterable[str]) -> Texts:
        encoded = [s.encode("utf-8", "replace") for s in strings]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(e) for e in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        index = int(index) % len(self)
        return self.data[self.offsets[index] : self.offsets[index + 1]].tobytes().decode("utf-8", "replace")

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_list())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and not isinstance(other, str) and self.to_list() == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Texts({len(self)} strings)"

    def to_list(self) -> list[str]:
        whole, bounds = self.data.tobytes(), self.offsets.tolist()
        return [whole[a:b].decode("utf-8", "replace") for a, b in pairwise(bounds)]

    def arrow(self) -> pa.LargeStringArray:
        """The same memory as an Arrow array."""
        buffers = [None, pa.py_buffer(self.offsets.data), pa.py_buffer(self.data.data)]
        array = pa.Array.from_buffers(pa.large_string(), len(self), buffers)
        assert isinstance(array, pa.LargeStringArray)
        return array

    def take(self, rows: npt.NDArray[np.integer]) -> Texts:
        return Texts.from_arrow(self.arrow().take(pa.array(rows)))

    @classmethod
    def from_arrow(cls, array: pa.LargeStringArray) -> Texts:
        _, offsets, data = array.buffers()
        if offsets is None or data is None:
            return cls.of([])
        bounds = np.frombuffer(memoryview(offsets), np.int64)[array.offset : array.offset + len(array) + 1]
        return cls(np.frombuffer(memoryview(data), np.uint8), bounds)

    def followed_by(self, other: Texts) -> Texts:
        end = self.offsets[-1]
        data = np.concatenate([self.data[:end], other.data[: other.offsets[-1]]])
        return Texts(data, np.concatenate([self.offsets, other.offsets[1:] + end]))

    def find(self, text: str) -> npt.NDArray[np.int64]:
        """Rows that are exactly `text`."""
        return np.flatnonzero(pc.equal(self.arrow(), pa.scalar(text, pa.large_string())).to_numpy(zero_copy_only=False))

    def find_ending(self, text: str) -> npt.NDArray[np.int64]:
        """Rows that end with `text`."""
        return np.flatnonzero(pc.ends_with(self.arrow(), text).to_numpy(zero_copy_only=False))

    def find_template(self, text: str) -> npt.NDArray[np.int64]:
        """Rows in which `text` is a whole name followed by template arguments."""
        pattern = rf"(^|::){re.escape(text)}<.*>$"
        return np.flatnonzero(pc.match_substring_regex(self.arrow(), pattern).to_numpy(zero_copy_only=False))


@dataclass(frozen=True, eq=False, repr=False)
class Chosen(Sequence[str]):
    """Texts picked by row number, which may repeat; -1 picks the empty one."""

    texts: Texts
    rows: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        row = self.rows[index]
        return self.texts[row] if row >= 0 else ""

    def __iter__(self) -> Iterator[str]:
        whole = [*self.texts, ""]  # row -1
        return (whole[row] for row in self.rows.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and not isinstance(other, str) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Chosen({len(self)} of {self.texts})"
