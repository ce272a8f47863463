"""Two builds at the same work: who answers when code differs, and when that says nothing."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.engines.made import recording
from whyperf.diagnose.diagnosis import examine
from whyperf.diagnose.joining.confidence import confidence
from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.engines.changed_code import NO_CHANGE, compare_code
from whyperf.engines.excess.compare import compare
from whyperf.engines.excess.explain import Standing, explain
from whyperf.engines.excess.findings import suspects
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.quantities import seconds
from whyperf.engines.run import Run

FUNCTIONS = ("main", "serve", "look_up", "compare_keys", "hash_key", "log_line", "parse")
BEFORE = {name: number for number, name in enumerate(FUNCTIONS, 100)}
DECLARED = {name: 10 * number for number, name in enumerate(FUNCTIONS, 1)}


def side(look_up: float, build: str, code: dict[str, int], **more):
    """Three runs of a server that looks keys up, parses and logs; `hash_key` is too quick to be seen."""
    stacks = [
        (("main*", "serve*", "look_up*", "compare_keys"), look_up),
        (("main*", "serve*", "parse"), 1.0),
        (("main*", "serve*", "log_line"), 1.0),
    ]
    more = {"also": ["hash_key"], "declared": DECLARED, "build": build, "code": code, **more}
    return [Run(recording(stacks, noise=np.random.default_rng(seed), **more)) for seed in range(3)]


def compared(changed: dict[str, int], **more):
    return compare(side(1.0, "aa", BEFORE), side(6.0, "bb", {**BEFORE, **changed}, **more))


def charged(excess):
    return {excess.name(account.function): account.share for account in excess.accounts if account.share > 0.01}


def names(excess):
    return [finding.function.name for finding in suspects(excess, "run")]


def test_code_that_differs_on_the_way_answers_for_what_the_same_code_below_it_spends():
    excess = compared({"look_up": 1})
    first = suspects(excess, "run")[0]
    assert first.function.name == "look_up"
    assert first.detail.code == "changed"
    assert first.why.endswith("Its code differs between the two builds.")
    second = suspects(excess, "run")[1]
    assert (second.function.name, second.detail.code) == ("compare_keys", "same")
    # AND nothing is lost or found
    assert sum(charged(excess).values()) == pytest.approx(1.0, abs=0.02)


def test_code_that_differs_elsewhere_may_have_made_the_data():
    # WHEN only a function has changed in which no run was ever seen
    excess = compared({"hash_key": 1})
    first, second = suspects(excess, "run")[:2]
    # THEN it is named, where it is declared and with who spends the time; that one comes next
    assert first.function.name == "hash_key"
    assert first.place.line == DECLARED["hash_key"]
    assert first.path == ()
    assert "compare_keys" in first.why
    assert second.function.name in ("compare_keys", "look_up")
    # AND that is never certain, as it was not seen
    told = {"fewest_runs": 3, "doubtful": False, "settings": DiagnoseSettings()}
    assert (confidence(first, **told), confidence(second, **told)) == ("medium", "high")


def test_the_more_code_differs_elsewhere_the_less_it_tells():
    many = {f"helper_{number}": number for number in range(40)}
    good = side(1.0, "aa", BEFORE | many)
    bad = side(6.0, "bb", BEFORE | {name: code + 1000 for name, code in many.items()})
    excess = compare(good, bad)
    assert names(excess)[0] in ("compare_keys", "look_up")
    assert charged(excess)["compare_keys"] + charged(excess)["look_up"] > 0.9


def test_a_dispatcher_that_has_changed_is_not_blamed_for_one_of_its_callees():
    # WHEN `main` and `serve`, whose other callees take what they took, have changed, and a function elsewhere
    excess = compared({"main": 1, "serve": 2, "hash_key": 3})
    assert "main" not in names(excess)
    assert charged(excess).get("hash_key", 0.0) >= 0.2


@pytest.mark.parametrize(
    ("changed", "more"),
    [
        ({}, {}),  # built again from the same source
        ({"look_up": 1}, {"command": ("./tool", "another input")}),  # other work
        ({"look_up": 1}, {"build": "aa"}),  # the same build: what the recordings say of it is wrong
    ],
)
def test_where_builds_tell_nothing_all_is_as_without_them(changed, more):
    good, bad = side(1.0, "aa", BEFORE), side(6.0, more.pop("build", "bb"), {**BEFORE, **changed}, **more)
    assert compare_code(FunctionIndex(good, bad)) == NO_CHANGE
    without = compare(side(1.0, "", {}), side(6.0, "", {}))
    assert charged(compare(good, bad)) == pytest.approx(charged(without))


def test_a_random_folder_in_an_argument_does_not_hide_what_changed():
    good = side(1.0, "aa", BEFORE, command=("./tool", "--dir", "/tmp/x81ab"))
    bad = side(6.0, "bb", {**BEFORE, "look_up": 1}, command=("./tool", "--dir", "/tmp/y92cd"))
    assert names(compare(good, bad))[0] == "look_up"
    # AND the user may know better
    assert compare_code(FunctionIndex(good, bad), same_work=False) == NO_CHANGE


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            ("./tool", "--dir", "/tmp/y92cd"),
            "differ in /tmp/x81ab and /tmp/y92cd: taken for the same work.",
        ),
        (("./tool", "--dir", "/tmp/x81ab"), None),
        (("./tool", "--log", "/tmp/x81ab"), "differ in --dir and --log: taken for other work"),
    ],
)
def test_what_is_assumed_of_the_work_is_told_with_the_option_that_changes_it(command, said):
    good = side(1.0, "aa", BEFORE, command=("./tool", "--dir", "/tmp/x81ab"))
    bad = side(6.0, "bb", {**BEFORE, "look_up": 1}, command=command)
    recorded = [run.recording for run in good], [run.recording for run in bad]
    assumed = [note for note in examine(*recorded).verdict.notes if "Two builds whose" in note]
    assert [said in note for note in assumed] == ([True] if said else [])
    # AND whoever decides needs not be told
    assert not any("Two builds whose" in note for note in examine(*recorded, same_work=True).verdict.notes)


def test_recordings_of_older_versions_tell_nothing_of_code():
    good, bad = side(1.0, "aa", {}), side(6.0, "bb", BEFORE)
    assert compare_code(FunctionIndex(good, bad)) == NO_CHANGE


def test_explanations_say_what_is_known_of_the_code():
    excess = compared({"look_up": 1})
    (changed,), (same,) = (explain(excess, name, "run") for name in ("look_up", "compare_keys"))
    assert any("differs between the two builds" in sentence for sentence in changed.sentences)
    assert any("is the same in both builds" in sentence for sentence in same.sentences)


def test_a_function_that_no_sample_fell_in_is_not_called_library_code():
    # WHEN one is asked about that differs, but is too quick to be seen
    (found,) = explain(compared({"hash_key": 1}), "hash_key", "run")
    # THEN just that is said of it
    assert found.standing is Standing.UNSEEN
    said = " ".join(found.sentences)
    assert "No sample fell in it" in said and "differs between the two builds" in said
    assert "library" not in said and "0 s" not in said


def _building_tables(longer: float, build: str, code: dict[str, int]):
    """Three runs of a function with time of its own, and in what it calls."""
    stacks = [
        (("main", "serve"), 1.0),
        (("main", "serve", "look_up"), 1.2 * longer),
        (("main", "serve", "look_up", "compare_keys"), longer),
    ]
    more = {"declared": DECLARED, "build": build, "code": code}
    return [Run(recording(stacks, noise=np.random.default_rng(seed), **more)) for seed in range(3)]


def test_who_answers_for_more_than_its_own_time_answers_for_what_it_calls():
    # GIVEN a function that differs and calls one that does not
    bad = _building_tables(5.0, "bb", {**BEFORE, "look_up": 1})
    (first, *_) = suspects(compare(_building_tables(1.0, "aa", BEFORE), bad), "run")
    # THEN it is said whose time it is beyond its own
    assert first.function.name == "look_up"
    assert re.search(r"in its own code: .*; \d\.\d+ s is charged to it and what it calls\. Its code differs", first.why)


def test_who_answers_for_less_than_its_own_time_shares_it():
    # GIVEN the same code in the hot function, and other code in what calls it
    excess = compared({"look_up": 1})
    shared = next(one for one in suspects(excess, "run") if one.function.name == "compare_keys")
    assert re.search(r"; .* of the difference is charged to it\.", shared.why)
    # AND the figure is the one that its share is made of
    assert seconds(excess.account(excess.index.called("compare_keys")[0]).charged_s) in shared.why


def _compressing(deflate_s: float, **builds: str):
    stacks = [(("main", "serve"), 1.0), (("main", "store", "sys:deflate", "sys:longest_match"), deflate_s)]
    return [Run(recording(stacks, noise=np.random.default_rng(seed), **builds)) for seed in range(3)]


def test_a_system_library_that_is_all_that_differs_answers_for_itself():
    # WHEN the same program has another build of a library THEN that is named, else who calls it
    good = _compressing(1.0, build="aa", library_build="11")
    (first, *_) = suspects(compare(good, _compressing(4.0, build="aa", library_build="22")), "run")
    assert first.function.name in ("deflate", "longest_match")
    assert "another build of libz" in first.why
    for bad in (_compressing(4.0, build="aa", library_build="11"), _compressing(4.0, build="bb", library_build="22")):
        assert names(compare(good, bad)) == ["store"]
