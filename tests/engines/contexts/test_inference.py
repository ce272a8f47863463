"""Algorithm 2: what stacks at a few moments say of calls and returns in between."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from bench.contexts.latencies import infer
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.contexts.traced import MS, Thread, ran, slept, traced, waited
from tests.engines.contexts.true_calls import Story, as_thread, plain_inference, rows, stories
from whyperf.engines.contexts.indexing import index_contexts
from whyperf.engines.contexts.inference import follow
from whyperf.engines.contexts.settings import Sources
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Run


def sampled(story: Story, every: int, offset: int):
    """What is seen of a story by a sample every so many ms."""
    return [(at, story.stacks[at]) for at in range(offset, story.length, every)]


def inferred(story: Story, every: int, offset: int):
    """Samples fall at the end of a story's ms: the one of the ms before them is seen."""
    recording = traced([as_thread(story)], sample_ms=every, offset_ms=offset + 1)
    return infer(recording), recording


def test_the_papers_example():
    # GIVEN the stacks of Figure 3: A-B-D at t1 and t2, A-C-D at t3, A-C at t4
    steps = [ran("A B D", 10), ran("A B D", 10), ran("A C D", 10), ran("A C", 10)]
    recording = traced([Thread(steps, main=True)], sample_ms=10, offset_ms=10)
    # WHEN latencies are inferred
    found = rows(infer(recording), recording)
    # THEN D in the second context is another instance, and A goes on to the end
    t1, t2, t3, t4 = (at * 10 * MS for at in (1, 2, 3, 4))
    assert Counter(found) == Counter(
        [
            (("A", "B", "D"), t1, t2, t3),
            (("A", "B"), t1, t2, t3),
            (("A", "C", "D"), t3, t3, t4),
            (("A", "C"), t3, t4, t4),
            (("A",), t1, t4, t4),
        ]
    )


@pytest.mark.thorough
@settings(deadline=None, max_examples=100)
@given(stories(), st.integers(1, 5), st.integers(0, 4))
def test_instances_merge_and_split_as_the_paper_says(story, every, offset):
    instances, recording = inferred(story, every, offset)
    # The thread's end is an event too; the paper's trace ends with its last stack.
    end = story.length * MS
    expected = [
        (path, (first + 1) * MS, (last + 1) * MS, (after + 1) * MS)
        for path, first, last, after in plain_inference(sampled(story, every, offset))
    ]
    seen_last = max((last for _, _, last, _ in expected), default=0)
    expected = [
        (path, first, last, end if (last, after) == (seen_last, seen_last) else after)
        for path, first, last, after in expected
    ]
    assert Counter(rows(instances, recording)) == Counter(expected)


@pytest.mark.thorough
@settings(deadline=None, max_examples=100)
@given(stories(), st.integers(1, 5), st.integers(0, 4))
def test_the_truth_lies_within_the_estimates(story, every, offset):
    """Of an instance that stands for one activation; several that no event tells apart are one, as in the paper."""
    instances, _ = inferred(story, every, offset)
    for at, node in enumerate(instances.node.tolist()):
        path = tuple(name for _, name in instances.path(node))
        first, last = instances.first[at] / MS - 1, instances.last[at] / MS - 1
        inside = [call for call in story.calls if call.path == path and call.start <= last and call.end > first]
        assert inside, "an instance of what never ran"
        if len(inside) > 1:
            continue
        (call,) = inside
        true = (call.end - call.start) * MS
        assert instances.conservative[at] <= true
        # Where the trace begins and ends nobody knows what was before and after.
        if instances.before[at] < instances.first[at] and instances.after[at] > instances.last[at]:
            assert true <= instances.longest[at]
            assert instances.conservative[at] <= instances.expected[at] <= instances.longest[at]
        assert instances.conservative[at] <= instances.aggressive[at] <= instances.longest[at]


@pytest.mark.thorough
@settings(deadline=None, max_examples=50)
@given(stories(recursive=True))
def test_direct_recursion_is_one_instance(story):
    instances, _ = inferred(story, 1, 0)
    for node in set(instances.node.tolist()):
        names = [name for _, name in instances.path(node)]
        assert all(one != two for one, two in pairwise(names))
    # What was seen in every ms covers the whole story, whatever recurs.
    outermost = [at for at, node in enumerate(instances.node.tolist()) if len(instances.path(node)) == 1]
    assert sum(instances.aggressive[outermost]) == (story.length - 1) * MS


def test_threads_are_told_apart():
    threads = [Thread([ran("main f", 20)], main=True), Thread([ran("main g", 20)])]
    instances = infer(traced(threads, sample_ms=5, offset_ms=5))
    by_thread = {
        thread: {instances.path(int(node))[-1][1] for node in instances.node[instances.thread == thread]}
        for thread in (0, 1)
    }
    assert by_thread == {0: {"main", "f"}, 1: {"main", "g"}}


def test_a_wait_belongs_to_the_context_it_began_in():
    """No clock sample falls into a wait, and the stack cannot change meanwhile: its length is exact."""
    steps = [ran("main", 1), slept("main pause", 50), ran("main", 1)]
    instances = infer(traced([Thread(steps, main=True)], samples=False))
    (pause,) = (at for at, node in enumerate(instances.node) if instances.path(int(node))[-1][1] == "pause")
    assert instances.conservative[pause] == 50 * MS


@pytest.mark.parametrize(
    ("sources", "seen"),
    [
        (Sources.SYSTEM_CALLS, {"main", "store", "write"}),
        (Sources.SWITCHES, {"main", "store", "write", "vfs_write", "yield"}),
        (Sources.SAMPLES, {"main", "compute"}),
        (Sources.ALL, {"main", "store", "write", "vfs_write", "yield", "compute"}),
    ],
)
def test_each_source_shows_its_own_contexts(sources, seen):
    steps = [
        ran("main compute", 20),
        waited("main store libc:write kernel:vfs_write", 5, "write"),
        waited("main yield", 5, state=0),
    ]
    instances = infer(traced([Thread(steps, main=True)]), sources)
    assert {instances.path(int(node))[-1][1] for node in instances.node} == seen


def walked(recording):
    run = Run(recording)
    contexts = index_contexts(FunctionIndex([], [run]))
    return follow(run, contexts.tree, contexts.node_of_stack[run])


def test_off_cpu_time_is_split_at_the_waking():
    followed = walked(traced([Thread([ran("main", 5), waited("main f", 30, "futex", late_ms=4)], main=True)]))
    (wait,) = followed.waits
    assert (wait["woken"] - wait["start"], wait["end"] - wait["woken"]) == (26 * MS, 4 * MS)


def test_a_preempted_thread_is_runnable_all_the_time():
    followed = walked(traced([Thread([ran("main", 5), waited("main f", 30, state=0)], main=True)]))
    (wait,) = followed.waits
    assert (wait["woken"] - wait["start"], wait["end"] - wait["woken"]) == (0, 30 * MS)


def test_a_wait_that_never_ends_lasts_until_the_window_does():
    from whyperf.recording.sealed.manifest import Window

    window = Window(0, 20 * MS)
    followed = walked(traced([Thread([ran("main", 5), waited("main f", 30, "futex")], main=True)], window=window))
    (wait,) = followed.waits
    assert (wait["start"], wait["end"], bool(wait["ended"])) == (5 * MS, 20 * MS, False)


def test_many_threads_need_more_registers_than_there_are_at_first():
    threads = [Thread([ran(f"main f{number % 7} g", 3)], main=number == 0) for number in range(700)]
    instances = infer(traced(threads, sample_ms=1, offset_ms=1))
    assert len(np.unique(instances.thread)) == 700
    assert np.all(instances.conservative == 2 * MS)


def test_nothing_is_inferred_from_nothing():
    assert len(infer(traced([])).node) == 0
    assert len(infer(traced([Thread([], main=True)])).node) == 0
