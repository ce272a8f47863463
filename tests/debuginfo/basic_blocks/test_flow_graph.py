"""Dominators, post-dominators and loops, against their definitions on small random graphs."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from whyperf.debuginfo.basic_blocks.flow_graph import EXIT, dominators, find_loops, post_dominators

Graph = tuple[list[list[int]], list[bool]]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Blocks that are all reached from block 0, and may each leave the function."""
    count = draw(st.integers(1, 9))
    blocks = st.integers(0, count - 1)
    successors = [draw(st.lists(blocks, max_size=3, unique=True)) for _ in range(count)]
    reached = reachable([0], successors, set())
    names = {block: number for number, block in enumerate(sorted(reached))}
    kept = [[names[to] for to in successors[block]] for block in sorted(reached)]
    leaves = [not to or draw(st.booleans()) for to in kept]
    return kept, leaves


def reachable(start: list[int], successors: list[list[int]], without: set[int]) -> set[int]:
    seen = set(start) - without
    work = list(seen)
    while work:
        for to in successors[work.pop()]:
            if to not in seen and to not in without:
                seen.add(to)
                work.append(to)
    return seen


@given(graphs())
def test_post_dominators_are_what_every_path_to_the_end_passes_first(graph: Graph) -> None:
    successors, leaves = graph
    count = len(successors)
    ends = {block for block in range(count) if leaves[block]}

    def can_end(block: int, without: set[int]) -> bool:
        return bool(reachable([block], successors, without) & ends)

    assume(all(can_end(block, set()) for block in range(count)))
    found = post_dominators(successors, leaves)
    for block in range(count):
        passed = {one for one in range(count) if one != block and not can_end(block, {one})}
        # The immediate one is post-dominated by all others.
        nearest = [one for one in passed if all(o == one or not can_end(one, {o}) for o in passed)]
        assert found[block] == (nearest[0] if nearest else EXIT)


@given(graphs())
def test_dominators_are_what_every_path_from_the_entry_passes_last(graph: Graph) -> None:
    successors, _ = graph
    count = len(successors)
    found = dominators(successors, 0)
    assert found[0] == 0
    for block in range(1, count):
        passed = {one for one in range(count) if one != block and block not in reachable([0], successors, {one})}
        # The immediate one is dominated by all others.
        (nearest,) = [
            one for one in passed if all(o == one or one not in reachable([0], successors, {o}) for o in passed)
        ]
        assert found[block] == nearest


@given(graphs())
def test_what_nothing_leads_to_has_no_dominator(graph: Graph) -> None:
    successors, _ = graph
    found = dominators([*successors, [0]], 0)
    assert found == [*dominators(successors, 0), -1]


@given(graphs())
def test_a_post_dominator_is_known_even_where_nothing_ends(graph: Graph) -> None:
    successors, leaves = graph
    found = post_dominators(successors, leaves)
    # Following them comes to the end from everywhere.
    for start in range(len(successors)):
        block, steps = start, 0
        while block != EXIT:
            block, steps = found[block], steps + 1
            assert steps <= len(successors)


@given(graphs())
def test_loops_nest_and_hold_every_cycle(graph: Graph) -> None:
    successors, _ = graph
    count = len(successors)
    loops = find_loops(successors)
    bodies = [set[int]() for _ in loops.header]
    for block, innermost in enumerate(loops.of_block):
        loop = innermost
        while loop >= 0:
            bodies[loop].add(block)
            assert loops.parent[loop] < loop
            loop = loops.parent[loop]
    for loop, body in enumerate(bodies):
        assert loops.header[loop] in body
        # A loop is strongly connected.
        inside = [[to for to in successors[block] if to in body] if block in body else [] for block in range(count)]
        assert all(body <= reachable([block], inside, set()) | {block} for block in body)
    # Every cycle passes the header of some loop.
    headers = set(loops.header)
    for block in range(count):
        others = [[to for to in successors[one] if to not in headers] for one in range(count)]
        assert block in headers or block not in reachable(others[block], others, set())


@given(graphs())
def test_natural_loops_are_found_as_such(graph: Graph) -> None:
    successors, _ = graph
    count = len(successors)

    def dominates(one: int, block: int) -> bool:
        return one == block or block not in reachable([0], successors, {one})

    natural: dict[int, set[int]] = {}
    before = [[b for b in range(count) if block in successors[b]] for block in range(count)]
    for block in range(count):
        for header in successors[block]:
            if dominates(header, block):
                natural.setdefault(header, {header}).update(reachable([block], before, {header}))
    back = {(b, h) for b in range(count) for h in successors[b] if dominates(h, b)}
    forward = [[to for to in successors[block] if (block, to) not in back] for block in range(count)]
    reducible = all(block not in reachable(forward[block], forward, set()) for block in range(count))
    if reducible:
        loops = find_loops(successors)
        bodies = {header: set[int]() for header in loops.header}
        for block, innermost in enumerate(loops.of_block):
            loop = innermost
            while loop >= 0:
                bodies[loops.header[loop]].add(block)
                loop = loops.parent[loop]
        assert bodies == natural


def test_an_interpreter_whose_cases_jump_to_each_other_takes_no_time() -> None:
    # GIVEN every block leading to every other one
    count = 400
    loops = find_loops([list(range(count))] * count)
    # THEN all are in a loop, which nests no deeper than a source would
    assert min(loops.of_block) >= 0
    assert len(loops.header) <= 10
