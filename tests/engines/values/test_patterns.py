"""The pattern follows from all of a function's evidence, and is unknown rather than guessed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.engines.values.made import Read, one_function
from whyperf.engines.run import Run
from whyperf.engines.values.compare import compare
from whyperf.engines.values.findings import findings, shown

N = 400


def diagnosed(*reads):
    """Each read as (name, good values, bad values, more)."""

    def side(bad):
        made = []
        for seed in range(3):
            rng = np.random.default_rng(seed + 50 * bad)
            variables = [Read("work", name, (there if bad else here)(rng), **more) for name, here, there, more in reads]
            made.append(Run(one_function(*variables, samples=N)))
        return made

    values = compare(side(False), side(True))
    return values, findings(values)


def between(low, high):
    return lambda rng: rng.integers(low, high, N)


def constant(value):
    return lambda rng: np.full(N, value)


def stays(mean):
    return lambda rng: np.cumsum(rng.random(N) < 1 / mean) % 7


HEAP = 2 << 56
STACK = 3 << 56


def mixed(share):
    """A pointer that is null in this share of the readings, else to the heap."""
    return lambda rng: np.where(rng.random(N) < share, 0, HEAP)


NODE = {"kind": "pointer", "type": "struct node *"}


@pytest.mark.parametrize(
    ("reads", "pattern"),
    [
        (
            [
                ("at", constant(HEAP), constant(HEAP), {**NODE, "roles": "loop|condition"}),
                ("at->next", mixed(0.9), mixed(0.02), NODE),
            ],
            "scalability",  # the chain along at->next goes on where it used to end
        ),
        ([("at", mixed(0.2), mixed(0.0), {**NODE, "roles": "loop|condition"})], "unknown"),
        # A walk that used to end at once.
        ([("at", mixed(0.98), mixed(0.2), {**NODE, "roles": "loop|condition"})], "scalability"),
        # Conditions ask whether it is null, not where it points to.
        ([("at", constant(HEAP), constant(STACK), {**NODE, "roles": "condition"})], "unknown"),
        ([("at", mixed(1.0), mixed(0.0), {**NODE, "roles": "condition"})], "wrong-constraint"),
        ([("at", mixed(0.3), mixed(0.98), {**NODE, "roles": "condition"})], "wrong-constraint"),
        # It was null and was not null before: more time goes where it is null.
        ([("at", mixed(0.3), mixed(0.7), {**NODE, "roles": "condition"})], "unknown"),
        ([("i", between(0, 100), between(0, 5000), {"roles": "loop"})], "scalability"),
        ([("v.size()", between(90, 100), between(4000, 5000), {"kind": "size"})], "scalability"),
        ([("available", between(4100, 4300), constant(0), {"roles": "condition|argument"})], "wrong-constraint"),
        ([("enabled", constant(1), constant(0), {"kind": "boolean", "roles": "condition"})], "wrong-constraint"),
        # Whether it is zero decides; of a bound or a limit that would not be known.
        ([("ttl", constant(0), between(300, 600), {"roles": "condition|truth"})], "wrong-constraint"),
        ([("ttl", constant(0), between(-600, -300), {"roles": "condition|truth"})], "wrong-constraint"),
        ([("ttl", constant(0), between(300, 600), {"roles": "condition"})], "scalability"),
        ([("ttl", constant(100), between(300, 600), {"roles": "condition|truth"})], "scalability"),
        ([("ttl", between(0, 5), between(300, 600), {"roles": "condition|truth"})], "scalability"),
        ([("i", stays(2), stays(15), {"roles": "loop"})], "missing-constraint"),
        (
            [
                ("i", between(0, 100), between(0, 5000), {"roles": "loop"}),
                ("n", between(5000, 5010), between(5000, 5010), {"roles": "condition"}),
            ],
            "scalability",  # that some number is what it was does not bound the loop
        ),
        (
            [
                ("i", between(0, 100), between(0, 5000), {"roles": "loop"}),
                ("n", constant(100), constant(5000), {"roles": "condition"}),
            ],
            "scalability",
        ),
        (
            [
                ("i", between(0, 100), between(0, 100), {"roles": "loop"}),
                ("first", constant(100), between(4000, 5000), {"roles": "condition"}),
            ],
            "wrong-constraint",  # a bound that grew would make the loop go further
        ),
        (
            [
                ("i", between(0, 100), between(0, 100), {"roles": "loop"}),
                ("at", constant(HEAP), constant(HEAP), {**NODE, "roles": "loop|condition"}),
                ("first", constant(100), between(4000, 5000), {"roles": "condition"}),
            ],
            "scalability",  # but how far the other loop goes is not known
        ),
        (
            [
                ("__for_range.size()", constant(80), constant(80), {"kind": "size", "roles": "condition"}),
                ("removed", between(8, 10), between(0, 10), {"roles": "condition|argument"}),
            ],
            "wrong-constraint",
        ),
        ([("removed", between(8, 10), between(0, 10), {"roles": "condition|argument"})], "unknown"),
        (
            [
                ("i", between(0, 100), between(0, 100), {"roles": "loop"}),
                ("seed", between(0, 100), between(4000, 5000), {"roles": "argument"}),
            ],
            "unknown",
        ),
        (
            [
                ("i", between(0, 100), between(20, 120), {"roles": "loop|condition"}),
                ("options.strict", constant(0), constant(1), {"kind": "boolean"}),
            ],
            "unknown",  # of the function's own conditions none looks at the flag
        ),
        ([("options.strict", constant(0), constant(1), {"kind": "boolean"})], "wrong-constraint"),
        ([("x", between(0, 100), between(300, 400), {})], "unknown"),
        ([("x", between(0, 100), between(300, 400), {"roles": "argument"})], "unknown"),
    ],
)
def test_pattern(reads, pattern):
    _, found = diagnosed(*reads)
    assert [one.pattern for one in found] == [pattern]
    assert found[0].function.name == "work"
    assert bool(found[0].detail.pattern_evidence) == (pattern != "unknown")


def test_a_stuck_value_is_said_so():
    values, found = diagnosed(("available", between(4100, 4300), constant(0), {"roles": "condition"}))
    assert found[0].why.startswith("available stays at 0 for the whole run; was 4,1")
    (variable,) = shown(values, found[0].function)
    assert variable.bad.text == "0"
    assert sum(variable.good.histogram) == pytest.approx(1)
    assert variable.bad.histogram[0] == pytest.approx(1)
    assert [line.line for line in variable.lines] == [20]
