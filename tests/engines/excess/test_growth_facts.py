"""What findings tell of how time grew, from which the pattern of a suspect is chosen."""

from __future__ import annotations

import pytest

from tests.engines.made import recording
from whyperf.engines.excess.compare import compare
from whyperf.engines.excess.findings import suspects
from whyperf.engines.run import Run

BASE = [(("main", "parse"), 2.0), (("main", "sweep@20"), 0.5)]
SWEEPING = (("main", "sweep@40*", "wake"), 6.0)


def run(stacks, **more):
    return Run(recording(stacks, **more))


def first(good, bad):
    return suspects(compare([good], [bad]), "run")[0]


@pytest.mark.parametrize("in_every_round", [True, False])
def test_whether_only_a_loop_decides_about_a_call_is_told_by_the_code(in_every_round):
    # GIVEN a function that repeats a call in which the good run was never seen, with a line that decides about it
    rounds = [("sweep", 40)] if in_every_round else []
    bad = run([*BASE, SWEEPING], decided={("sweep", 40): 39}, every_round=rounds)
    found = first(run(BASE, also=["wake"]), bad)
    # THEN
    assert (found.function.name, found.detail.role.value) == ("sweep", "calls-more")
    assert found.detail.in_every_round is in_every_round


@pytest.mark.parametrize(("own_s", "repeats"), [(0.0, False), (2.0, True)])
def test_a_loop_with_new_calls_has_more_rounds_if_the_rest_of_it_grew_too(own_s, repeats):
    bad = [*BASE, SWEEPING, (("main", "sweep@41*"), own_s)]
    found = first(run(BASE, also=["wake"]), run(bad))
    assert (found.function.name, found.detail.role.value) == ("sweep", "calls-more")
    assert found.detail.repeats is repeats


@pytest.mark.parametrize("binary_has_it", [True, False])
@pytest.mark.parametrize(("word", "role"), [("sweep@40", "took-new-path"), ("sweep@40*", "calls-more")])
def test_who_leads_to_code_that_the_good_build_has_not_is_told(word, role, binary_has_it):
    good = run(BASE, build="a1", also=["wake"] if binary_has_it else [])
    bad = run([*BASE, (("main", word, "wake"), 6.0)], build="b2")
    found = {one.function.name: one.detail for one in suspects(compare([good], [bad]), "run")}
    assert (found["sweep"].role.value, found["sweep"].new_code) == (role, not binary_has_it)
    assert found["wake"].new_code is not binary_has_it


@pytest.mark.parametrize(
    ("good", "bad", "two_builds"),
    [
        ({"build": "a1", "code": {"parse": 1}}, {"build": "b2", "code": {"parse": 2}}, True),
        ({"build": "a1", "code": {"parse": 1}}, {"build": "b2", "code": {"parse": 1}}, False),
        ({"build": "a1", "code": {"parse": 1}}, {"build": "a1", "code": {"parse": 1}}, False),
        (
            {"build": "a1", "code": {"parse": 1}},
            {"build": "b2", "code": {"parse": 2}, "command": ("./tool", "other")},
            False,
        ),
    ],
    ids=["changed", "nothing-changed", "one-build", "other-work"],
)
def test_whether_two_builds_did_the_same_is_told(good, bad, two_builds):
    found = first(run(BASE, **good), run([*BASE, (("main", "parse@12*"), 6.0)], **bad))
    assert found.function.name == "parse"
    assert found.detail.two_builds is two_builds
