"""The flow of the zoomed functions, as the decoder of the stream wants it: one numbering for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from whyperf.collect.dependences.stream import StreamFlow
from whyperf.seal.dependences.sites import PlacedFlow, keys_of

Int32s = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class JoinedFlows:
    """Blocks and loops of all functions, numbered one function after the other."""

    flow: StreamFlow
    block_first: Ints
    """Key of each block's first instruction."""
    block_last: Ints


def join_flows(flows: Sequence[PlacedFlow], site_keys: Ints) -> JoinedFlows:
    """`site_keys`: of the stream's sites; the one in row 0 is none."""
    blocks = loops = 0
    keys: list[Ints] = []
    block_of: list[Int32s] = []
    heads: list[npt.NDArray[np.bool_]] = []
    columns: dict[str, list[npt.NDArray[Any]]] = {
        name: [] for name in ("ipdom", "loop", "branch", "header", "parent", "first", "last")
    }
    for placed in flows:
        one = placed.flow
        count = len(one.address)
        last = np.append(one.first[1:], count).astype(np.int32) - 1
        head = np.zeros(count, np.bool_)
        head[one.first] = True
        keys.append(keys_of(placed.module, one.address))
        block_of.append(one.block + np.int32(blocks))
        heads.append(head)
        columns["ipdom"].append(_shifted(one.join, blocks))
        columns["loop"].append(_shifted(one.loop, loops))
        columns["branch"].append(one.branches.astype(np.uint8))
        columns["header"].append(_shifted(one.header, blocks))
        columns["parent"].append(_shifted(one.parent, loops))
        columns["first"].append(placed.keys(one.first))
        columns["last"].append(placed.keys(last))
        blocks += len(one.first)
        loops += len(one.header)
    site_block, site_head = _at_sites(site_keys, keys, block_of, heads)
    flow = StreamFlow(
        site_block=site_block,
        site_head=site_head,
        block_ipdom=_joined(columns["ipdom"], np.int32),
        block_loop=_joined(columns["loop"], np.int32),
        block_branch=_joined(columns["branch"], np.uint8),
        loop_header=_joined(columns["header"], np.int32),
        loop_parent=_joined(columns["parent"], np.int32),
    )
    return JoinedFlows(flow, _joined(columns["first"], np.int64), _joined(columns["last"], np.int64))


def _shifted(numbers: Int32s, by: int) -> Int32s:
    return np.where(numbers >= 0, numbers + by, -1).astype(np.int32)


def _joined(parts: Sequence[npt.NDArray[Any]], kind: type[np.generic]) -> npt.NDArray[Any]:
    return np.concatenate([*parts, np.zeros(0, kind)]).astype(kind)


def _at_sites(
    site_keys: Ints, keys: Sequence[Ints], block_of: Sequence[Int32s], heads: Sequence[npt.NDArray[np.bool_]]
) -> tuple[Int32s, npt.NDArray[np.uint8]]:
    block = np.full(len(site_keys), -1, np.int32)
    head = np.zeros(len(site_keys), np.uint8)
    if keys:
        known = np.concatenate(keys)
        order = np.argsort(known, kind="stable")
        at = np.minimum(np.searchsorted(known[order], site_keys), len(known) - 1)
        found = known[order][at] == site_keys
        found[:1] = False
        rows = order[at[found]]
        block[found] = np.concatenate(block_of)[rows]
        head[found] = np.concatenate(heads)[rows]
    return block, head
