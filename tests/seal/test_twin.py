"""Sealing against the obvious way to do it: one sample at a time, every mapping looked through."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.collect import ring_producer
from tests.collect.open_recording import FakeBinary, FakeSymbols, OpenRecording, paths
from tests.collect.ring_producer import Thread
from whyperf.collect._session import intern_contexts
from whyperf.recording.raw_log import ringrecords as records
from whyperf.recording.raw_log.ringrecords import ProcessOrigin
from whyperf.seal.participants.places import distinct

_BINARIES = {
    f"/opt/m{i}": FakeBinary({f"f{i}": (0x0, 0x30), f"g{i}": (0x30, 0x60), f"h{i}": (0x70, 0x90)}, {0x31: (f"in{i}",)})
    for i in range(4)
}
_MAP, _UNMAP, _FORK, _EXEC, _SAMPLE, _DRAIN = range(6)
_PAGE = 0x100
_steps = st.lists(
    st.tuples(
        st.sampled_from([_MAP, _MAP, _UNMAP, _FORK, _EXEC, *[_SAMPLE] * 6, _DRAIN]),
        st.integers(0, 3),  # which process
        st.integers(0, 3),  # which module
        st.integers(1, 5),  # at which page
        st.lists(st.integers(_PAGE, 7 * _PAGE), min_size=1, max_size=6),
    ),
    max_size=60,
)


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """Many recordings are made: without a disk to wait for."""
    shared = Path("/dev/shm")
    with TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        yield Path(folder)


@dataclass
class _Twin:
    thread: Thread
    mapped: dict[int, int] = field(default_factory=dict)  # page -> module
    gone: set[int] = field(default_factory=set)

    def can_run_at(self, pc: int) -> bool:
        """Only mapped code runs, and what no module ever maps: compiled code."""
        return pc // _PAGE in self.mapped or pc // _PAGE > 5

    def name(self, pc: int, is_leaf: bool) -> str:
        at = pc - (not is_leaf)
        module = self.mapped.get(at // _PAGE)
        if module is None:
            return "?"
        chain = _BINARIES[f"/opt/m{module}"].chain(at % _PAGE)
        if not chain:
            return f"m{module}!?"
        return "".join(f"[{name}]" for name, _ in chain[:-1]) + chain[-1][0]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_steps)
def test_every_sample_is_named_as_its_process_stood_at_that_moment(
    in_memory: Path, steps: list[tuple[int, int, int, int, list[int]]]
) -> None:
    shutil.rmtree(in_memory / "rec", ignore_errors=True)
    rec = OpenRecording(in_memory / "rec")
    now = 1000
    first = rec.thread(50, start=now)
    first.put(records.process(now, 50, 1, ProcessOrigin.EXEC, executable="/opt/m0"))
    twins = [_Twin(first)]
    pids = [50]
    expected: list[tuple[str, ...]] = []
    for step, which, module, page, pcs in steps:
        now += 10
        process = which % len(twins)
        twin, pid = twins[process], pids[process]
        if step == _MAP:
            path = f"/opt/m{module}"
            twin.thread.put(records.module(now, page * _PAGE, (page + 1) * _PAGE, bias=page * _PAGE, path=path))
            twin.mapped[page] = module
            twin.gone.discard(page)
        elif step == _UNMAP:
            # A late sample there is named all the same, but a fork does not inherit it.
            twin.gone.add(page)
            twin.thread.put(ring_producer.module_gone(now, page * _PAGE))
        elif step == _FORK and len(twins) < 4:
            pids.append(50 + len(pids))
            child = rec.thread(pids[-1], start=now)
            child.put(records.process(now, pids[-1], pid, ProcessOrigin.FORK, executable="/opt/m0"))
            twins.append(_Twin(child, {page: m for page, m in twin.mapped.items() if page not in twin.gone}))
        elif step == _EXEC:
            twin.thread = rec.thread(pid, start=now)
            twin.thread.put(records.process(now, pid, 1, ProcessOrigin.EXEC, executable="/opt/m1"))
            twin.mapped, twin.gone = {}, set()
        elif step == _SAMPLE:
            seen = [pc for pc in pcs if twin.can_run_at(pc) and twin.can_run_at(pc - 1)]
            twin.thread.put(records.sample(now, seen))
            expected.append(tuple(twin.name(pc, i == 0) for i, pc in enumerate(seen)))
        elif step == _DRAIN:
            rec.drain()
    rec.stop(time=now + 1)
    assert paths(rec.sealed(FakeSymbols(_BINARIES))) == expected


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(-1, 4), max_size=6), max_size=40))
def test_the_calling_context_tree_gives_every_stack_back(stacks: list[list[int]]) -> None:
    frames = np.array([frame for stack in stacks for frame in stack], np.int32)
    ends = np.cumsum([len(stack) for stack in stacks], dtype=np.int64)
    parents, node_frames, leaves = (
        np.frombuffer(column, np.int32).tolist() for column in intern_contexts(frames, ends)
    )
    assert all(parent < node for node, parent in enumerate(parents))
    assert len(set(zip(parents, node_frames, strict=True))) == len(parents)
    for stack, leaf in zip(stacks, leaves, strict=True):
        node, walked = leaf, []
        while node >= 0:
            walked.append(node_frames[node])
            node = parents[node]
        assert walked == [frame for frame in stack if frame >= 0]


@given(st.lists(st.integers(0, 50), max_size=60), st.sampled_from([51, 1 << 40]))
def test_distinct_is_unique(keys: list[int], bound: int) -> None:
    values, inverse = distinct(np.array(keys, np.int64), bound)
    expected, expected_inverse = np.unique(np.array(keys, np.int64), return_inverse=True)
    assert values.tolist() == expected.tolist()
    assert inverse.tolist() == expected_inverse.tolist()
