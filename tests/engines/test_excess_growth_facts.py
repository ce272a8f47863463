"""What findings tell of how time grew, from which the pattern of a suspect is chosen."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from tests.engines.made import recording
from whyperf.engines.excess.compare import compare
from whyperf.engines.excess.findings import suspects
from whyperf.engines.run import Run

BASE = [(("main", "parse"), 2.0), (("main", "sweep@20"), 0.5)]
SWEEPING = (("main", "sweep@40*", "wake"), 6.0)


def run(stacks, build="", **more):
    made = recording(stacks, **more)
    modules = made.tables["modules"]
    named = modules.set_column(modules.column_names.index("build_id"), "build_id", pa.array([build] * len(modules)))
    return Run(replace(made, tables={**made.tables, "modules": named}))


def first(good, bad):
    return suspects(compare([good], [bad]), "run")[0]


@pytest.mark.parametrize(
    ("text", "in_every_round"),
    [
        ("for (int i = 0; i < count; i++) {", True),
        ("    } while (more);", True),
        ("  list_for_each_entry(at, &all, link)", True),
        ("for at in slots.iter() {", True),
        ("if (slot->status == READY)", False),
        ("format(slot);", False),
        ("", False),
    ],
)
def test_whether_only_a_loop_decides_about_a_call_is_told_by_the_source(text, in_every_round):
    # GIVEN a function that repeats a call in which the good run was never seen, with a line that decides about it
    bad = run([*BASE, SWEEPING], decided={("sweep", 40): 39}, source={"/src/tool.c": (39, text)} if text else {})
    found = first(run(BASE, also=["wake"]), bad)
    # THEN
    assert (found.function.name, found.detail["role"]) == ("sweep", "calls-more")
    assert found.detail["in_every_round"] is in_every_round


@pytest.mark.parametrize(("own_s", "repeats"), [(0.0, False), (2.0, True)])
def test_a_loop_with_new_calls_has_more_rounds_if_the_rest_of_it_grew_too(own_s, repeats):
    bad = [*BASE, SWEEPING, (("main", "sweep@41*"), own_s)]
    found = first(run(BASE, also=["wake"]), run(bad))
    assert (found.function.name, found.detail["role"]) == ("sweep", "calls-more")
    assert found.detail["repeats"] is repeats


@pytest.mark.parametrize("binary_has_it", [True, False])
@pytest.mark.parametrize(("word", "role"), [("sweep@40", "took-new-path"), ("sweep@40*", "calls-more")])
def test_who_leads_to_code_that_the_good_build_has_not_is_told(word, role, binary_has_it):
    good = run(BASE, "a1", also=["wake"] if binary_has_it else [])
    bad = run([*BASE, (("main", word, "wake"), 6.0)], "b2")
    found = {one.function.name: one.detail for one in suspects(compare([good], [bad]), "run")}
    assert (found["sweep"]["role"], found["sweep"]["new_code"]) == (role, not binary_has_it)
    assert found["wake"]["new_code"] is not binary_has_it


@pytest.mark.parametrize(
    ("good", "bad", "other_build"),
    [
        ({"build": "a1"}, {"build": "b2"}, True),
        ({"build": "a1"}, {"build": "b2", "folder": "/elsewhere", "command": ("/elsewhere/tool", "input")}, True),
        ({"build": "a1"}, {"build": "a1"}, False),
        ({"build": ""}, {"build": "b2"}, False),
        ({"build": "a1"}, {"build": "b2", "command": ("./tool", "other")}, False),
        ({"build": "a1", "command": ("./tool",)}, {"build": "b2", "command": ("./tool",)}, False),
    ],
    ids=["another", "elsewhere", "the-same", "unknown", "other-arguments", "no-arguments"],
)
def test_another_build_counts_where_all_runs_were_given_the_same(good, bad, other_build):
    found = first(run(BASE, **good), run([*BASE, (("main", "parse@12*"), 6.0)], **bad))
    assert found.function.name == "parse"
    assert found.detail["other_build"] is other_build
