"""Check what a table's columns promise when it is read, so that whoever uses a column may rely on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whyperf.recording.schemas.schema import Column, Kinds


def broken_promise(column: Column, rows: pa.Table, first: int, rows_in: Callable[[str], int]) -> str | None:
    """What is wrong with a column of these rows; None if nothing is.

    `first` is the number of the first of these rows, `rows_in` says how many rows a table has.
    """
    if rows.num_rows == 0 or not pa.types.is_primitive(column.type):
        return None
    return next(_broken(column, rows.column(column.name).to_numpy(), first, rows_in), None)


def _broken(column: Column, values: npt.NDArray[Any], first: int, rows_in: Callable[[str], int]) -> Iterator[str]:
    name = f"its column {column.name}"
    if column.rows_of and not _are_rows(column, values, first, rows_in(column.rows_of)):
        yield f"{name} names rows that do not exist"
    if column.own_number and not np.array_equal(values, np.arange(first, first + len(values))):
        yield f"{name} does not number its rows"
    if column.firsts_in and not _are_firsts(values, rows_in(column.firsts_in)):
        yield f"{name} names rows that do not exist, or not in order"
    if column.one_of is not None and not _are_members(column.one_of, values):
        yield f"{name} holds kinds that do not exist"
    if np.issubdtype(values.dtype, np.floating) and not np.isfinite(values).all():
        yield f"{name} holds what is no number"
    if column.least is not None and values.min() < column.least:
        yield f"{name} holds numbers below {column.least}"


def _are_rows(column: Column, numbers: npt.NDArray[np.int64], first: int, count: int) -> bool:
    """-1 is none; chains come to an end."""
    if numbers.min() < -1 or numbers.max() >= count:
        return False
    own = np.arange(first, first + len(numbers))
    if column.name == "parent":
        return bool(np.all(numbers < own))
    if column.name == "inlined_in":
        return bool(np.all((numbers > own) | (numbers == -1)))
    return True


def _are_members(kinds: Kinds, values: npt.NDArray[Any]) -> bool:
    members = sorted(int(member) for member in kinds)
    if members == list(range(members[0], members[-1] + 1)):  # quicker than looking each up
        return bool(values.min() >= members[0] and values.max() <= members[-1])
    return bool(np.isin(values, members).all())


def _are_firsts(numbers: npt.NDArray[np.int64], count: int) -> bool:
    return bool(numbers[0] >= 0 and numbers[-1] <= count and np.all(np.diff(numbers) >= 0))
