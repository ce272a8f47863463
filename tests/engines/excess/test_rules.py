"""Folding, inlining, new paths, renames, hubs and lines: one example each."""

from __future__ import annotations

import pytest

from tests.engines.made import recording
from whyperf.engines.excess.compare import DataEvidence, compare, weigh
from whyperf.engines.excess.explain import Standing, explain
from whyperf.engines.excess.findings import suspects
from whyperf.engines.run import Run
from whyperf.recording.schemas.tables import Clock

BASE = [(("main", "parse"), 2.0), (("main", "store"), 2.0)]


def run(stacks, **more):
    return Run(recording(stacks, **more))


def charged(excess):
    return {excess.name(account.function): account.share for account in excess.accounts if account.share > 1e-9}


def test_library_time_belongs_to_the_nearest_function_of_the_program():
    # GIVEN time in libc, in a system library, in a system header's template, below the program's own function
    good = [*BASE, (("main", "load", "libc:read"), 1.0)]
    bad = [
        *BASE,
        (("main", "load", "libc:read"), 2.0),
        (("main", "load", "sys:inflate", "libc:memcpy"), 3.0),
        (("main", "load", "hdr:std::sort"), 1.0),
    ]
    excess = compare([run(good)], [run(bad)])
    # THEN the caller answers for all of it, and the full view keeps who it was
    assert charged(excess) == pytest.approx({"load": 1.0})
    (finding,) = suspects(excess, "run")
    inside = {one.function: one.share for one in finding.detail.inside}
    assert inside == pytest.approx({"memcpy": 0.6, "read": 0.2, "std::sort": 0.2})
    assert "60% of it in inflate" in finding.why  # what the program calls, rather than what that calls


def test_a_callback_from_a_library_is_the_programs_own():
    good = [*BASE, (("main", "order", "libc:qsort", "by_name"), 1.0)]
    bad = [*BASE, (("main", "order", "libc:qsort", "by_name"), 5.0)]
    (finding,) = suspects(compare([run(good)], [run(bad)]), "run")
    assert finding.function.name == "by_name"
    assert finding.path == ("main", "order", "by_name")


def test_stacks_without_the_programs_code_keep_what_there_is():
    good = [*BASE, (("libc:start_thread", "sys:pump"), 0.5)]
    bad = [*BASE, (("libc:start_thread", "sys:pump"), 4.5)]
    excess = compare([run(good)], [run(bad)])
    assert charged(excess) == pytest.approx({"pump": 1.0})


def test_builds_that_inline_differently_have_the_same_contexts():
    # GIVEN `probe` inlined in the good build and called in the bad one, both unchanged in cost
    good = [(("main", "lookup", "~probe"), 3.0), (("main", "store"), 2.0)]
    bad = [(("main", "lookup", "probe"), 3.0), (("main", "store"), 4.0)]
    excess = compare([run(good)], [run(bad)])
    assert charged(excess) == pytest.approx({"store": 1.0})


def test_recursion_is_one_context():
    good = [(("main", "walk", "walk"), 1.0), (("main", "store"), 2.0)]
    bad = [(("main", "walk", "walk", "walk", "walk"), 4.0), (("main", "store"), 2.0)]
    excess = compare([run(good)], [run(bad)])
    (finding,) = suspects(excess, "run")
    assert finding.path == ("main", "walk")


@pytest.mark.parametrize(("inner", "in_loop"), [("walk", True), ("~walk", False)], ids=["called", "inlined"])
def test_a_part_of_a_function_that_is_inlined_into_another_is_no_recursion(inner, in_loop):
    # GIVEN a function that calls itself, or that the compiler has split and put together again
    tree = compare([run(BASE)], [run([*BASE, (("main", "walk", inner, "look"), 5.0)])]).costs.tree
    # THEN only in the former it calls what it calls again and again
    assert tree.called_in_loop[max(range(len(tree)), key=lambda node: tree.depth[node])] is in_loop


@pytest.mark.parametrize(
    ("binary_has_it", "caller_share", "role"), [(True, 2 / 3, "new-path"), (False, 0.1, "new-code")]
)
def test_a_new_path_is_charged_to_who_took_it_or_to_new_code(binary_has_it, caller_share, role):
    # GIVEN a path that only the bad run takes: store -> compact -> copy
    good = run(BASE, also=["compact"] if binary_has_it else [])
    bad = run([*BASE, (("main", "store", "compact", "copy"), 6.0)])
    excess = compare([good], [bad])
    # THEN the caller and the first new function share the blame, and what lies below gets none
    assert charged(excess) == pytest.approx({"store": caller_share, "compact": 1 - caller_share})
    findings = {finding.function.name: finding for finding in suspects(excess, "run")}
    assert findings["store"].detail.role.value == "took-new-path"
    assert findings["compact"].detail.role.value == role
    assert findings["store"].pattern == findings["compact"].pattern == "new-path"


NEW_CODE = "The good runs' program does not have it"


@pytest.mark.parametrize(("debug", "said"), [("full", NEW_CODE), ("symbols", "The good runs were never seen in it")])
def test_new_code_is_called_so_where_the_good_program_certainly_does_not_have_it(debug, said):
    # GIVEN a function that only the bad program lists: without debug info the good one may have inlined it
    excess = compare([run(BASE, debug=debug)], [run([*BASE, (("main", "store", "compact"), 6.0)])])
    findings = {finding.function.name: finding for finding in suspects(excess, "run")}
    assert findings["compact"].why.startswith(said)


def test_old_code_that_new_code_calls_is_not_called_new():
    # GIVEN new code that calls a function with a loop, which the good program has and runs
    good = run([*BASE, (("main", "parse", "scan@5*"), 1.0)])
    bad = run([*BASE, (("main", "parse", "scan@5*"), 1.0), (("main", "store", "compact", "scan@5*"), 9.0)])
    findings = {finding.function.name: finding for finding in suspects(compare([good], [bad]), "run")}
    # THEN its sentence says what it took, not that it is new
    called = "Called by compact, it takes 10.0 s per run; in the good runs it takes 1.00 s"
    assert findings["scan"].why == f"{called}; 8.10 s of the difference is charged to it."


def test_what_is_compiled_while_running_is_no_new_path():
    # GIVEN a function that the good run interprets: it runs too little there to be compiled
    bad = run([*BASE, (("main", "store", "jit:add"), 6.0)])
    excess = compare([run(BASE)], [bad])
    # THEN it takes longer, and nobody took a path
    assert charged(excess) == pytest.approx({"add": 1.0})
    (finding,) = suspects(excess, "run")
    assert finding.detail.role.value == "own"


@pytest.mark.parametrize(
    ("passed", "first"),
    [((), "store"), ((("store", "compact"),), "compact"), ((("main", "compact"),), "store")],
)
def test_what_was_certainly_called_is_no_new_path(passed, first):
    # GIVEN a function in which the good run was never seen, which it did call, by the code: from the same caller or not
    good = run(BASE, also=["compact"], passed=passed)
    bad = run([*BASE, (("main", "store", "compact"), 6.0)])
    # THEN from the same caller it is not the call that is new: the function takes longer
    assert suspects(compare([good], [bad]), "run")[0].function.name == first


def test_the_line_that_decides_about_the_hottest_one_is_told_in_the_bad_build_s_numbers():
    # GIVEN a function that begins nine lines further down in the bad build, with a condition above its hot line
    good = run([*BASE, (("main", "store@41"), 0.1)], declared={"store": 30}, decided={("store", 41): 32})
    bad = run(
        [*BASE, (("main", "store@50"), 6.0)],
        declared={"store": 39},
        decided={("store", 50): 41},
        source={"/src/tool.c": (41, "if (full)")},
    )
    (found, *_) = suspects(compare([good], [bad]), "run")
    assert (found.place.line, found.place.decided_by) == (50, 41)
    assert [line.line for line in found.lines] == [41, 50]


def test_a_line_that_nothing_decides_about_has_no_condition():
    (found, *_) = suspects(compare([run(BASE)], [run([*BASE, (("main", "parse@12"), 6.0)])]), "run")
    assert found.place.decided_by == 0


@pytest.mark.parametrize(("words", "repeats"), [(("main", "parse@12*"), True), (("main", "parse@12"), False)])
def test_time_in_a_loop_is_told(words, repeats):
    (found, *_) = suspects(compare([run(BASE)], [run([*BASE, (words, 6.0)])]), "run")
    assert found.detail.repeats is repeats


def test_data_of_a_caller_do_not_explain_growth_that_is_in_its_callee_s_own_code():
    # GIVEN a caller with other data than before, and a callee of which only its own code takes longer, eighty times
    def runs(own):
        return [
            (("main", "parse"), 3.0),
            (("main", "read*"), 1.0),
            (("main", "read*", "add", "copy"), 1.0),
            (("main", "read*", "add@5*"), own),
        ]

    excess = compare([run(runs(0.05))], [run(runs(4.0))])
    (reader,) = (one.key for one in excess.index.functions if one.key.name == "read")
    weighed = weigh(excess, DataEvidence({reader: 1.0}, {}, frozenset(), frozenset()))
    assert suspects(weighed, "run")[0].function.name == "add"


def test_rare_functions_are_not_called_new():
    # GIVEN a function with so little time that the good run could have missed it
    bad = [*BASE, (("main", "store", "flush"), 0.04), (("main", "parse"), 2.0)]
    excess = compare([run(BASE)], [run(bad)])
    assert charged(excess)["flush"] == pytest.approx(0.04 / 2.04)


@pytest.mark.parametrize(("seconds", "is_new"), [(3.0, False), (30.0, True)])
def test_a_function_too_cheap_to_be_seen_on_a_small_input_is_not_new(seconds, is_new):
    # GIVEN ten times the input: ten times the other work, and a function that a quadratic cost would explain or not
    good = run([(("main", "parse"), 0.2)], also=["match"])
    bad = run([(("main", "parse"), 2.0), (("main", "parse", "match"), seconds)])
    match = next(f for f in suspects(compare([good], [bad]), "run") if f.function.name == "match")
    # THEN 30 s, a hundred times as much as could have been missed, is a new path; 3 s is its own doing
    assert match.detail.role.value == ("new-path" if is_new else "own")


def test_a_renamed_function_takes_nothing_from_who_really_grew():
    # GIVEN encode() renamed to encode_v2() at the same cost, while a sibling grew
    good = [(("main", "send", "encode"), 5.0), (("main", "send", "sum"), 1.0)]
    bad = [(("main", "send", "encode_v2"), 5.0), (("main", "send", "sum"), 4.0)]
    excess = compare([run(good)], [run(bad)])
    assert charged(excess) == pytest.approx({"sum": 1.0})


def test_a_renamed_function_that_grew_answers_for_the_growth_only():
    good = [(("main", "send", "encode"), 5.0)]
    bad = [(("main", "send", "encode_v2"), 8.0)]
    excess = compare([run(good)], [run(bad)])
    assert excess.total_s == pytest.approx(3.0)
    assert charged(excess) == pytest.approx({"encode_v2": 0.9, "send": 0.1})


def test_the_hub_is_a_suspect_after_those_that_answer_for_more():
    # GIVEN a dispatcher without time of its own under which everything multiplied but for one large thing
    leaves = [f"step{number}" for number in range(6)]
    rest = [(("main", "loop", "dispatch", "render"), 30.0), (("main", "idle"), 5.0)]
    good = [(("main", "loop", "dispatch", leaf), 0.5) for leaf in leaves] + rest
    bad = [(("main", "loop", "dispatch", leaf), 4.0) for leaf in leaves] + rest
    findings = suspects(compare([run(good)], [run(bad)]), "run")
    assert findings[-1].function.name == "dispatch"
    assert findings[-1].detail.role.value == "hub"
    assert [finding.share for finding in findings] == sorted((finding.share for finding in findings), reverse=True)
    assert [finding.rank for finding in findings] == list(range(1, len(findings) + 1))


def test_entry_points_are_no_hub():
    good = [(("main", leaf), 0.5) for leaf in "abcdef"]
    bad = [(("main", leaf), 4.0) for leaf in "abcdef"]
    assert "main" not in [finding.function.name for finding in suspects(compare([run(good)], [run(bad)]), "run")]


def test_lines_are_compared_relative_to_the_declaration():
    # GIVEN a build in which ten lines were added above the function, and one line of it became slow
    good = run([(("main", "scan@22"), 3.0), (("main", "scan@25"), 1.0)], declared={"scan": 20}, folder="/old")
    source = {"/new/tool.c": (28, "\n".join(f"line {number}" for number in range(28, 50)))}
    bad = run(
        [(("main", "scan@32"), 3.0), (("main", "scan@35"), 7.0)], declared={"scan": 30}, folder="/new", source=source
    )
    (finding,) = suspects(compare([good], [bad]), "run")
    # THEN the slow line has all of the excess, at the bad build's number, with its source
    assert (finding.place.file, finding.place.line, finding.place.block) == ("/new/tool.c", 35, 3)
    assert {line.line: line.share for line in finding.lines if line.share} == pytest.approx({35: 1.0})
    assert [line.text for line in finding.lines] == [f"line {number}" for number in range(32, 39)]


def test_the_caller_that_took_a_new_path_is_shown_where_it_calls():
    good = run([(("main@3", "store@12"), 2.0)], also=["compact"])
    bad = run([(("main@3", "store@12"), 2.0), (("main@3", "store@14", "compact@30", "copy@40"), 6.0)])
    first = suspects(compare([good], [bad]), "run")[0]
    assert (first.function.name, first.place.line) == ("store", 14)


def test_blocked_time_is_compared_alike():
    def waiting(seconds):
        return run(BASE, blocked=[(("main", "fetch", "libc:poll"), seconds)], clock="wall")

    (finding,) = suspects(compare([waiting(1.0)], [waiting(9.0)], clock=Clock.BLOCKED), "run")
    assert (finding.function.name, finding.pattern) == ("fetch", "long-wait")


def test_explain_says_whose_time_a_library_functions_is():
    good = [(("main", "find", "libc:strcmp"), 1.0), (("main", "sort", "libc:strcmp"), 1.0)]
    bad = [(("main", "find", "libc:strcmp"), 3.0), (("main", "sort", "libc:strcmp"), 1.0)]
    (strcmp,) = explain(compare([run(good)], [run(bad)]), "strcmp", "run")
    assert strcmp.standing is Standing.FOLDED
    said = " ".join(strcmp.sentences)
    assert "Own time: 2.00 s per run in the good runs, 4.00 s in the bad." in said
    assert "find (75%), sort (25%)" in said and "pass" not in said


def test_explain_says_what_a_function_answers_for_of_its_callees_time():
    good, bad = (run([*BASE, (("main", "plan*", "walk"), seconds)]) for seconds in (1.0, 9.0))
    (plan,) = explain(compare([good], [bad]), "plan", "run")
    assert "8.00 s of what it gained is in functions it calls: 4.00 s of that is charged to it." in plan.sentences


def test_explain_says_what_a_function_lost_and_what_it_would_need():
    good = run([*BASE, (("main", "plan", "walk"), 1.0)])
    bad = run([*BASE, (("main", "plan", "walk"), 9.0)])
    excess = compare([good], [bad])
    (walk,) = explain(excess, "walk", "run")
    (plan,) = explain(excess, "plan", "run")
    assert walk.rank == 1
    assert "It already ranks first." in walk.sentences
    assert "8.00 s of what it gained is in functions it calls: charged to them." in plan.sentences
    assert explain(excess, "nobody", "run") == []
    # AND in the unit of the report
    assert "walk ranks higher: it is charged 8.00 s more per run." in plan.sentences


def test_explain_gives_no_negative_distance_and_nothing_to_catch_up_with_a_tie():
    # GIVEN a function that got a little quicker, and answers for nothing like others
    shrunk = [run([*BASE, (("main", "walk"), seconds), (("main", "plan"), 0.5)]) for seconds in (1.0, 1.1, 1.2)]
    grown = [run([*BASE, (("main", "walk"), 9 * seconds), (("main", "plan"), 0.4)]) for seconds in (1.0, 1.1, 1.2)]
    excess = compare(shrunk, grown)
    (plan,) = explain(excess, "plan", "run")
    assert plan.account.sigma < 0 and plan.account.charged_s == 0
    said = " ".join(plan.sentences)
    assert "standard errors below no change" in said and "-" not in said
    assert " for 0 s more" not in said
