"""Texts are numbers in a file: one that names no text is refused before anything looks it up."""

from __future__ import annotations

import pyarrow as pa
import pytest

from whyperf.recording.sealed.parquet import _with_text


def _table(numbers: list[int | None], texts: list[str]) -> pa.Table:
    indices, dictionary = pa.array(numbers, pa.int32()), pa.array(texts, pa.string())
    return pa.table({"name": pa.DictionaryArray.from_arrays(indices, dictionary, safe=False)})


@pytest.mark.parametrize(("numbers", "texts"), [([0, 8], ["main"]), ([0, -1], ["main"]), ([0], [])])
def test_a_number_without_a_text_is_refused(numbers: list[int | None], texts: list[str]) -> None:
    with pytest.raises(ValueError, match="a row names a text"):
        _with_text(_table(numbers, texts))


@pytest.mark.parametrize(("numbers", "texts"), [([0, 1, None, 0], ["main", "puts"]), ([None], []), ([], [])])
def test_others_are_read(numbers: list[int | None], texts: list[str]) -> None:
    read = _with_text(_table(numbers, texts))
    assert read["name"].to_pylist() == [None if number is None else texts[number] for number in numbers]
