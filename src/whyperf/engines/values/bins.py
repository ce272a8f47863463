"""Readings as histograms: of whole runs, for the gate; of blocks of time, for the permutation test."""

from __future__ import annotations

import numpy as np

from whyperf.engines.run import Floats, Ints
from whyperf.engines.values.matched_lines import LineReadings


def bin_edges(good: Ints, bad: Ints, bins: int) -> Ints:
    """Upper edges: every distinct value where there are few, else bins of equal share."""
    pooled = np.sort(np.concatenate((good, bad)), kind="stable")
    last = np.ones(len(pooled), np.bool_)
    last[:-1] = pooled[1:] != pooled[:-1]
    distinct = pooled[last]
    if len(distinct) <= bins:
        return distinct
    places = np.linspace(0, len(pooled) - 1, bins + 1).astype(np.int64)[1:]
    return np.unique(pooled[places])


def in_bins(codes: Ints, edges: Ints) -> Ints:
    return np.searchsorted(edges, codes, "left").astype(np.int64)


def run_histograms(side: LineReadings, bins: Ints, count: int, share: Floats, fewest: int) -> Floats:
    """Every run's share of each bin in the common mix of lines; a row per run with at least `fewest` readings.

    Where no run has so many, all of them together are one.
    """
    lines = len(share)
    cell = side.line * count + bins
    rows = []
    runs = [(start, stop) for start, stop in side.runs if stop - start >= fewest] or [(0, len(side))]
    for start, stop in runs:
        table = np.bincount(cell[start:stop], minlength=lines * count).reshape(lines, count).astype(np.float64)
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


def block_histograms(side: LineReadings, bins: Ints, count: int, length: int) -> Floats:
    """Weighted histograms of blocks of about `length` readings in a row; no block spans two runs."""
    block = np.empty(len(side), np.int64)
    blocks = 0
    for start, stop in side.runs:
        here = max(1, (stop - start) // length)
        block[start:stop] = blocks + np.arange(stop - start, dtype=np.int64) * here // (stop - start)
        blocks += here
    weights = side.weight[side.line]
    table: Floats = np.bincount(block * count + bins, weights=weights, minlength=blocks * count).astype(np.float64)
    return table.reshape(blocks, count)
