"""Readings as histograms: of whole runs, for the gate; of blocks of time, for the permutation test."""

from __future__ import annotations

import numpy as np

from whyperf.engines.run import Floats, Ints
from whyperf.engines.values.strata import Side


def bin_edges(good: Ints, bad: Ints, bins: int) -> Ints:
    """Upper edges, of two sorted samples: every distinct value where there are few, else bins of equal share."""
    pooled = np.sort(np.concatenate((good, bad)), kind="stable")
    distinct = pooled[np.flatnonzero(np.diff(pooled, append=pooled[-1:] + 1))] if len(pooled) else pooled
    if len(distinct) <= bins:
        return distinct
    places = np.linspace(0, len(pooled) - 1, bins + 1).astype(np.int64)[1:]
    return np.unique(pooled[places])


def in_bins(codes: Ints, edges: Ints) -> Ints:
    return np.searchsorted(edges, codes, "left").astype(np.int64)


def run_histograms(side: Side, bins: tuple[Ints, ...], count: int, share: Floats) -> Floats:
    """Every run's share of each bin in the common mix of lines; a row per run that has readings there."""
    lines = len(share)
    rows = []
    for number, line in zip(bins, side.line, strict=True):
        if not len(number):
            continue
        table = np.bincount(line * count + number, minlength=lines * count).reshape(lines, count).astype(np.float64)
        read = table.sum(axis=1, keepdims=True)
        mixed = np.divide(table, read, out=np.zeros_like(table), where=read > 0) * share[:, None]
        rows.append(mixed.sum(axis=0) / mixed.sum())
    return np.array(rows).reshape(-1, count)


def distances(rows: Floats, others: Floats) -> Floats:
    """Hellinger distances between every row of one and every row of the other."""
    overlap = np.sqrt(rows) @ np.sqrt(others).T
    return np.sqrt(np.maximum(0.0, 1.0 - overlap))


def largest_within(rows: Floats) -> float:
    return float(distances(rows, rows)[np.triu_indices(len(rows), 1)].max(initial=0.0))


def block_histograms(side: Side, bins: tuple[Ints, ...], count: int, length: int) -> Floats:
    """Weighted histograms of blocks of about `length` readings in a row; no block spans two runs."""
    rows = []
    for number, line in zip(bins, side.line, strict=True):
        size = len(number)
        if not size:
            continue
        blocks = max(1, size // length)
        block = np.arange(size, dtype=np.int64) * blocks // size
        table = np.bincount(block * count + number, weights=side.weight[line], minlength=blocks * count)
        rows.append(table.reshape(blocks, count))
    return np.concatenate(rows) if rows else np.zeros((0, count))
