"""The comparison itself: which contexts, and which functions that answer for them, became slower beyond noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from whyperf.engines.allocation import Novelty, spend
from whyperf.engines.contexts.chains import CountedChain
from whyperf.engines.contexts.costs import ContextCosts, cost_of, side
from whyperf.engines.contexts.idle import below, idle_places, own_waits, with_siblings
from whyperf.engines.contexts.indexing import Contexts, Tree, index_contexts
from whyperf.engines.contexts.inference import FollowedRun, follow
from whyperf.engines.contexts.iterations import count_iterations
from whyperf.engines.contexts.layers import Layer, layers_of
from whyperf.engines.contexts.records import Flags, Ints
from whyperf.engines.contexts.relevance import along_the_main_thread, members, of_all_threads
from whyperf.engines.contexts.responsible_functions import answering, mechanism_nodes, user_nodes
from whyperf.engines.contexts.settings import ContextsSettings, Sources
from whyperf.engines.contexts.significance import Slower, judge
from whyperf.engines.contexts.totals import InstanceTotals, added
from whyperf.engines.contexts.units import Unit, choose_unit
from whyperf.engines.execution import HERE, Executor
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.recording_protocol import has_events
from whyperf.engines.run import Floats, Run, ended_by_themselves, sums


@dataclass(frozen=True, eq=False)
class ContextsComparison:
    contexts: Contexts
    layers: list[Layer]  # by function
    answering: Ints  # by node: the node that answers for its time
    user: Ints  # by node: the innermost one outside the kernel
    unit: Unit
    whole: bool  # programs that ended by themselves: every moment of the wall clock is counted once
    settings: ContextsSettings
    followed: dict[Run, FollowedRun]
    counted: dict[Run, CountedChain]
    good: ContextCosts
    bad: ContextCosts
    spent: Floats  # by node: its part of the excess, every second once
    slower: tuple[Slower, ...]  # most first

    @property
    def index(self) -> FunctionIndex:
        return self.contexts.index

    @property
    def share(self) -> Floats:
        """By function: the part of the excess that it answers for."""
        whose, size = self.contexts.function[self.answering], len(self.index.functions)
        known = whose >= 0
        total = max(float(self.spent.sum()), 1e-12)
        return sums(whose[known], self.spent[known], size) / total

    @property
    def unplaced(self) -> float:
        """The part of the excess that no stack was known of."""
        return float(self.spent[0]) / max(float(self.spent.sum()), 1e-12)

    @property
    def beside(self) -> tuple[float, float]:
        """Running time per unit that was added, and what of it counts nowhere: it passed beside what counts."""
        more = np.zeros(2)
        for costs, sign in ((self.good, -1.0), (self.bad, 1.0)):
            for run in costs.runs:
                ran, counts = self.followed[run].samples["weight"].sum(), self.counted[run].running.sum()
                more += sign / len(costs.runs) / self.unit.count[run] / 1e9 * np.array([ran, ran - counts])
        return float(more[0]), float(more[1])

    def instances(self) -> tuple[InstanceTotals, InstanceTotals]:
        """Inferred function instances of the good runs, and of the bad ones."""
        good, bad = (added([self.followed[run].totals for run in side.runs]) for side in (self.good, self.bad))
        return good, bad

    def layer(self, node: int) -> Layer:
        return self.layers[int(self.contexts.function[node])]


def compare(
    good: Sequence[Run],
    bad: Sequence[Run],
    *,
    sources: Sources = Sources.ALL,
    settings: ContextsSettings | None = None,
    executor: Executor = HERE,
) -> ContextsComparison | None:
    """None where a run has no kernel events: then there is nothing to say."""
    runs = (*good, *bad)
    if not all(has_events(run.recording) for run in runs):
        return None
    settings = settings or ContextsSettings()
    contexts = index_contexts(FunctionIndex(good, bad))
    layers = layers_of(contexts.index)
    mechanism = mechanism_nodes(contexts, layers)
    each = executor.map(
        "following events",
        _follow,
        _Along(contexts.tree, sources),
        [(run, contexts.node_of_stack[run]) for run in runs],
    )
    followed = dict(zip(runs, each, strict=True))
    waiting = mechanism | own_waits([one.waits for one in followed.values()], len(contexts))
    resting = {run: idle_places(run, followed[run], contexts, waiting, settings) for run in runs}
    heads = _idle_heads(good, bad, followed, resting, contexts)
    places = with_siblings(heads, [one.waits for one in followed.values()], contexts, waiting)
    idle = below(contexts, places)
    whole = ended_by_themselves(runs)
    counted = {
        run: along_the_main_thread(run, followed[run], settings) if whole else of_all_threads(run, followed[run], idle)
        for run in runs
    }
    unit = choose_unit(runs, counted, count_iterations(good, followed, places, contexts, settings))
    sampled = any(len(one.samples) for one in followed.values())
    costs = {
        run: cost_of(followed[run], counted[run], len(contexts), unit.factor[run], sampled=sampled) for run in runs
    }
    sides = side(good, costs), side(bad, costs)
    spent = _spent(contexts, *sides, by_share=unit.by_share)
    answers = answering(contexts, mechanism, [one.calls for one in followed.values()])
    slower = judge(
        contexts, answers, sides, spent, settings if unit.complete else replace(settings, single_certain=inf)
    )
    return ContextsComparison(
        contexts=contexts,
        layers=layers,
        answering=answers,
        user=user_nodes(contexts, layers),
        unit=unit,
        whole=whole,
        settings=settings,
        followed=followed,
        counted=counted,
        good=sides[0],
        bad=sides[1],
        spent=spent,
        slower=slower,
    )


@dataclass(frozen=True, eq=False)
class _Along:
    tree: Tree
    sources: Sources


def _follow(along: _Along, of: tuple[Run, Ints]) -> FollowedRun:
    run, node_of_stack = of
    return follow(run, along.tree, node_of_stack, sources=along.sources, of=members(run).program)


def _idle_heads(
    good: Sequence[Run],
    bad: Sequence[Run],
    followed: dict[Run, FollowedRun],
    resting: dict[Run, Flags],
    contexts: Contexts,
) -> Flags:
    """What the good runs call idle is; of threads that only the bad runs have, what these do."""
    flags = [np.any([resting[run] for run in runs], axis=0) for runs in (good, bad)]
    seen = np.zeros(len(contexts), np.bool_)
    for run in good:
        for rows in (followed[run].waits, followed[run].samples):
            seen[rows["node"][rows["node"] > 0]] = True
    for node in range(len(contexts) - 1, 0, -1):
        seen[contexts.tree.parent[node]] |= seen[node]
    # A thread's loop that the good runs never entered: the parent of its idle place is new to them, or there is none,
    # and no loop of theirs is around it: what waits within that is work.
    parent = contexts.tree.parent
    seen[0] = False
    known_loops = np.zeros(len(contexts), np.bool_)
    known_loops[parent[np.flatnonzero(flags[0])]] = True
    known_loops[0] = False
    new_loop = flags[1] & ~seen & ~seen[parent] & ~below(contexts, known_loops)
    heads: Flags = flags[0] | new_loop
    return heads


def _spent(contexts: Contexts, good: ContextCosts, bad: ContextCosts, *, by_share: bool) -> Floats:
    before, after = (costs.own.mean(axis=0) for costs in (good, bad))
    excess = after - before
    if by_share:
        grown: Floats = np.maximum(excess, 0.0)
        return grown
    functions = len(contexts.index.functions)
    seen = [sums(contexts.function[1:], own[1:], functions) > 0 for own in (before, after)]
    # The last entry is the root's.
    new, gone = (np.append(flags, False) for flags in (seen[1] & ~seen[0], seen[0] & ~seen[1]))
    return spend(contexts.shape, excess, Novelty(new, gone))
