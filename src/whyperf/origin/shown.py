"""Values as people write them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from whyperf.engines.quantities import part
from whyperf.origin.values import FEW, MOSTLY, POINTER, ComparedValues, Sample, as_key, evenly, numbers_of

_RARE = 0.01


def shown(sample: Sample, size: int) -> str:
    """`2,731`, `1, 2 or 5`, `1 to 40`, `an address`."""
    if not len(sample.values):
        return "never" if sample.complete and not sample.total else "unknown"
    histogram = sample.histogram
    if sample.is_text:
        return ", ".join(f'"{_text(key)}"' for key, _ in histogram.most_common(FEW))
    if histogram.keys() == {0, POINTER}:
        return f"null in {part(histogram[0] / histogram.total())}"
    if len(histogram) <= FEW:
        return listed(_each(sample, size), "or")
    return _range(sample, size)


def shown_alone(sample: Sample, size: int) -> str:
    """Of one run: the commonest value, its share, and how many different ones were seen; the range where none is
    common."""
    histogram = sample.histogram
    if not len(sample.values) or sample.is_text or (len(histogram) == 1 and POINTER not in histogram):
        return shown(sample, size)
    different = len(np.unique(sample.values))
    if len(histogram) == 1:
        return "an address" if different == 1 else f"{different:,} addresses seen"
    (commonest, count), *_ = histogram.most_common(1)
    share = count / histogram.total()
    most = f"{_key(commonest, sample, size)} in {part(share)}" if share >= _RARE else _range(sample, size)
    return f"{most}, {different:,} values seen"


def listed(parts: Iterable[str], joint: str = "and") -> str:
    *first, last = parts
    return f"{', '.join(first)} {joint} {last}" if first else last


def _range(sample: Sample, size: int) -> str:
    (commonest, count), *_ = sample.histogram.most_common(1)
    if count >= MOSTLY * sample.histogram.total():
        return f"mostly {_key(commonest, sample, size)}"
    keys = np.array([value for value in sample.values.tolist() if as_key(value) != POINTER], np.uint64)
    plain = numbers_of(replace(sample, values=keys), size)
    return f"{_number(plain.min())} to {_number(plain.max())}"


def _each(sample: Sample, size: int) -> list[str]:
    """Every value once, in order."""
    plain = sorted(key for key in sample.histogram if key != POINTER)
    numbers = numbers_of(replace(sample, values=np.array(plain, np.uint64)), size)
    found = [_number(one) for one in (np.sort(numbers) if numbers.dtype == np.float64 else numbers)]
    return [*found, "an address"] if POINTER in sample.histogram else found


def shown_shares(compared: ComparedValues) -> tuple[str, str]:
    """By the value whose share differs most, where ranges say nothing: `0 in 12%`, `0 in 40%`."""
    histograms = [compared.good.histogram, compared.bad.histogram]
    many = [max(1, one.total()) for one in histograms]
    keys = histograms[0].keys() | histograms[1].keys()
    odd = max(keys, key=lambda key: abs(histograms[0][key] / many[0] - histograms[1][key] / many[1]), default=0)
    good, bad = (
        f"{_key(odd, compared.bad, compared.size)} in {part(one[odd] / all_of)}"
        for one, all_of in zip(histograms, many, strict=True)
    )
    return good, bad


def shown_places(compared: ComparedValues) -> tuple[str, str]:
    """Of addresses: how many there are in equally many hits."""
    few = min(len(compared.good.values), len(compared.bad.values))
    many = [len(np.unique(evenly(one.values, few))) for one in (compared.good, compared.bad)]
    good, bad = (f"{one:,} {'address' if one == 1 else 'addresses'}" for one in many)
    return good, bad


def shown_count(sample: Sample) -> str:
    if not (sample.total or sample.complete):
        return "not known how often"
    least = "" if sample.complete else "at least "
    return f"{least}{sample.total:,} {'time' if sample.total == 1 else 'times'}"


def _text(key: int) -> str:
    found = key.to_bytes(8, "little").partition(b"\0")[0].decode(errors="replace")
    return found.partition("\n")[0]


def _key(key: int, sample: Sample, size: int) -> str:
    if key == POINTER:
        return "an address"
    return _number(numbers_of(replace(sample, values=np.array([key], np.uint64)), size)[0])


def _number(value: np.float64 | np.int64) -> str:
    return f"{value:,.6g}" if isinstance(value, np.floating) else f"{int(value):,}"
