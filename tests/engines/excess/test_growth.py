"""Who answers for time that grew: where growth comes in along the stack, one example each, and what always holds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.made import recording
from whyperf.engines.excess.compare import DataEvidence, compare, weigh
from whyperf.engines.excess.exact_calls import ExactCalls
from whyperf.engines.excess.findings import suspects
from whyperf.engines.run import Run
from whyperf.recording.names.identity import FunctionKey

OTHER_WORK = [(("main", "serve*", "parse"), 2.0), (("main", "serve*", "reply"), 2.0)]


def key(name):
    return FunctionKey("tool", name, "")


def knowing(anomaly=None, normal=(), steady=()):
    anomaly = {key(name): value for name, value in (anomaly or {}).items()}
    return DataEvidence(anomaly, {}, {key(name) for name in normal}, {key(name) for name in steady})


def compared(good, bad, data=None, **more):
    excess = compare([Run(recording(good, **more))], [Run(recording(bad))])
    return excess if data is None else weigh(excess, data)


def charged(excess):
    return {excess.name(account.function): account.share for account in excess.accounts if account.share > 1e-9}


def grown(*path, by=9.0, elsewhere=(), data=None, **more):
    """Who answers when one path's time is multiplied and everything else stays as it was."""
    good = [*OTHER_WORK, (path, 1.0), *elsewhere]
    bad = [*OTHER_WORK, (path, by), *elsewhere]
    return charged(compared(good, bad, data, **more))


class TestWhereGrowthComesIn:
    def test_half_goes_to_the_looping_function_and_nothing_to_the_dispatcher(self):
        # GIVEN a dispatcher that loops as well, but whose other work stayed
        # THEN the step is at lookup, whose loop repeats the call; the other half stays where the time is
        assert grown("main", "serve*", "lookup*", "probe") == pytest.approx({"lookup": 0.5, "probe": 0.5})

    def test_a_loop_whose_data_are_what_they_were_goes_round_as_often_as_ever(self):
        path = ("main", "serve*", "lookup*", "scan*")
        assert grown(*path) == pytest.approx({"lookup": 0.5, "scan": 0.5})
        assert grown(*path, data=knowing(steady=("lookup",))) == pytest.approx({"scan": 1.0})

    def test_a_wrapper_without_a_loop_gets_nothing_although_it_grew_as_much(self):
        assert grown("main", "serve*", "wrap", "lookup*", "probe") == pytest.approx({"lookup": 0.5, "probe": 0.5})

    def test_a_looping_leaf_under_a_wrapper_keeps_all(self):
        assert grown("main", "serve*", "wrap", "scan*") == pytest.approx({"scan": 1.0})

    def test_two_steps_share_by_how_much_grows_at_each(self):
        # GIVEN plan grew threefold beside what it does as ever, and of that scan twentyfold
        good = [*OTHER_WORK, (("main", "serve*", "plan*", "scan*", "probe"), 1.0), (("main", "serve*", "plan"), 8.5)]
        bad = [*OTHER_WORK, (("main", "serve*", "plan*", "scan*", "probe"), 20.0), (("main", "serve*", "plan"), 8.5)]
        shares = charged(compared(good, bad))
        # THEN both loops answer, scan for more, and together for half
        assert 0.05 < shares["plan"] < shares["scan"]
        assert shares["plan"] + shares["scan"] == pytest.approx(0.5, abs=0.01)

    def test_recursion_repeats_calls_as_a_loop_does(self):
        assert grown("main", "serve*", "walk", "walk", "visit") == pytest.approx({"walk": 0.5, "visit": 0.5})

    def test_a_librarys_loop_is_its_callers(self):
        shares = grown("main", "serve*", "order", "libc:qsort*", "by_name")
        assert shares == pytest.approx({"order": 0.5, "by_name": 0.5})

    def test_growth_below_a_doubling_moves_less(self):
        shares = grown("main", "serve*", "lookup*", "probe", by=1.5)
        assert 0.0 < shares["lookup"] < 0.5

    def test_entry_points_are_never_where_growth_comes_in(self):
        good, bad = ([(("main*", "load"), seconds), (("libc:start_thread", "idle"), 4.0)] for seconds in (1.0, 9.0))
        assert charged(compared(good, bad)) == pytest.approx({"load": 1.0})

    def test_without_knowledge_of_loops_the_time_stays_where_it_is(self):
        good, bad = (
            [(("main", "serve", "parse"), 4.0), (("main", "serve", "lookup", "probe"), seconds)]
            for seconds in (1.0, 9.0)
        )
        assert charged(compared(good, bad)) == pytest.approx({"probe": 1.0})

    def test_abnormal_data_take_their_part_of_the_other_half(self):
        shares = grown("main", "serve*", "plan", "lookup*", "probe", data=knowing({"plan": 0.8}))
        assert shares == pytest.approx({"lookup": 0.5, "plan": 0.4, "probe": 0.1})

    def test_abnormal_data_of_a_dispatcher_take_nothing_of_what_grew_elsewhere(self):
        shares = grown("main", "serve*", "lookup*", "probe", data=knowing({"serve": 0.8, "main": 1.0}))
        assert shares == pytest.approx({"lookup": 0.5, "probe": 0.5})


class TestWhoIsCalledAsEver:
    """What plan does in every call takes as long as it did, so serve calls plan as often as it did."""

    def shares(self, rest, data=None, plan="plan!"):
        # GIVEN serve, nearly all of whose time is in plan: it has grown by hardly less than what plan calls
        good = [(("main", "other"), 4.0), (("main", "serve*", "plan", "lookup*", "probe"), 1.0)]
        bad = [(("main", "other"), 4.0), (("main", "serve*", "plan", "lookup*", "probe"), 9.0)]
        good += [(("main", "serve*", plan, *path), seconds) for path, seconds, _ in rest]
        bad += [(("main", "serve*", plan, *path), seconds) for path, _, seconds in rest]
        return charged(compared(good, bad, data))

    @pytest.mark.parametrize("path", [("sort",), ()], ids=["in-another-callee", "in-its-own-code"])
    def test_then_its_caller_merely_passes_on(self, path):
        shares = self.shares([(path, 0.5, 0.5)])
        assert shares == pytest.approx({"lookup": 0.5, "probe": 0.5})

    def test_nor_do_its_callers_data_explain_anything(self):
        shares = self.shares([(("sort",), 0.5, 0.5)], knowing({"serve": 1.0}))
        assert shares == pytest.approx({"lookup": 0.5, "probe": 0.5})

    def test_but_where_the_rest_has_grown_alike_its_caller_calls_it_more(self):
        assert self.shares([(("sort",), 0.5, 4.5)])["serve"] > 0.4

    def test_nor_does_what_may_have_been_left_out(self):
        # GIVEN work of plan's that takes as long as it did, but that a condition decides about
        assert self.shares([(("sort",), 0.5, 0.5)], plan="plan")["serve"] > 0.3

    def test_a_few_samples_show_nothing(self):
        assert self.shares([(("sort",), 0.04, 0.04)])["serve"] > 0.4  # eight samples


class TestWorkersOfEverybodys:
    """A function that costs elsewhere what it did is not the one that went wrong."""

    ELSEWHERE = ((("main", "serve*", "parse", "copy"), 2.0),)

    def test_such_a_worker_passes_its_time_to_its_caller(self):
        assert grown("main", "serve", "plan", "copy", elsewhere=self.ELSEWHERE) == pytest.approx({"plan": 1.0})

    def test_but_never_to_a_dispatcher_that_repeats_everything(self):
        assert grown("main", "serve*", "plan", "copy", elsewhere=self.ELSEWHERE) == pytest.approx({"plan": 1.0})

    def test_past_a_wrapper_to_who_repeats_the_calls(self):
        shares = grown("main", "serve*", "plan*", "wrap", "copy", elsewhere=self.ELSEWHERE)
        assert shares == pytest.approx({"plan": 1.0})

    def test_a_looping_worker_is_no_step_either(self):
        elsewhere = ((("main", "serve*", "parse", "copy*", "move"), 2.0),)
        shares = grown("main", "serve*", "plan*", "copy*", "move", elsewhere=elsewhere)
        assert shares == pytest.approx({"plan": 1.0})

    def test_one_that_grew_elsewhere_as_well_keeps_its_own(self):
        good = [*OTHER_WORK, (("main", "serve*", "plan", "copy*"), 1.0), (("main", "serve*", "parse", "copy*"), 1.0)]
        bad = [*OTHER_WORK, (("main", "serve*", "plan", "copy*"), 9.0), (("main", "serve*", "parse", "copy*"), 9.0)]
        assert charged(compared(good, bad)) == pytest.approx({"copy": 1.0})

    def test_a_few_samples_elsewhere_show_nothing(self):
        few = ((("main", "serve*", "parse", "copy"), 0.05),)  # ten samples
        assert grown("main", "serve*", "plan", "copy", elsewhere=few) == pytest.approx({"copy": 1.0})


class TestSeveralCalleesAtOnce:
    """That several callees of one function go wrong at once, each by itself, is unlikely."""

    def shares(self, *paths, **more):
        start = [*OTHER_WORK, (("main", "serve*", "plan", "keep"), 0.5)]
        good = [*start, *((("main", "serve*", *path), 0.5) for path in paths)]
        bad = [*start, *((("main", "serve*", *path), 8.5) for path in paths)]
        return charged(compared(good, bad, **more))

    def test_each_passes_on_what_others_have_grown(self):
        shares = self.shares(("plan", "scan*"), ("plan", "copy*"))
        assert shares == pytest.approx({"plan": 0.5, "scan": 0.25, "copy": 0.25})

    def test_one_alone_keeps_all(self):
        assert self.shares(("plan", "scan*")) == pytest.approx({"scan": 1.0})

    def test_what_all_of_them_call_is_one_callee(self):
        # GIVEN one function that has grown under two callees of plan
        shares = self.shares(("plan", "left", "scan*"), ("plan", "right", "scan*"))
        assert shares == pytest.approx({"scan": 1.0})

    def test_dispatchers_take_nothing(self):
        shares = self.shares(("plan", "scan*"), ("reply", "copy*"))
        assert "serve" not in shares


class TestWhatDoesTheSameEachTime:
    """A function whose loops are known to go as far as they did is called more often."""

    def shares(self, rest=(), **known):
        good = [*OTHER_WORK, (("main", "serve*", "fetch", "decode", "smooth*"), 1.0), *rest]
        bad = [*OTHER_WORK, (("main", "serve*", "fetch", "decode", "smooth*"), 9.0), *rest]
        return charged(compared(good, bad, knowing(steady=("smooth", *known.get("also", ())))))

    def test_its_time_goes_to_who_does_the_rest_as_ever(self):
        shares = self.shares([(("main", "serve*", "fetch", "look_up"), 0.5)])
        assert shares == pytest.approx({"fetch": 0.9, "smooth": 0.1})

    def test_or_to_whom_a_steady_loop_calls(self):
        assert self.shares(also=("serve",)) == pytest.approx({"fetch": 0.9, "smooth": 0.1})

    def test_or_to_whose_loop_may_go_round_more(self):
        path = ("main", "serve*", "plan*", "decode", "smooth*")
        shares = charged(compared([*OTHER_WORK, (path, 1.0)], [*OTHER_WORK, (path, 9.0)], knowing(steady=("smooth",))))
        assert shares["plan"] > 0.9

    def test_of_a_librarys_time_its_loops_say_nothing(self):
        path = ("main", "serve*", "fetch", "smooth*", "libc:memcpy")
        shares = charged(compared([*OTHER_WORK, (path, 1.0)], [*OTHER_WORK, (path, 9.0)], knowing(steady=("smooth",))))
        assert shares == pytest.approx({"smooth": 1.0})

    def test_reports_say_so(self):
        rest = (("main", "serve*", "fetch", "look_up"), 0.5)
        path = ("main", "serve*", "fetch", "decode", "smooth*")
        excess = compared(
            [*OTHER_WORK, (path, 1.0), rest], [*OTHER_WORK, (path, 9.0), rest], knowing(steady=("smooth",))
        )
        first = suspects(excess, "run")[0]
        assert (first.function.name, first.detail.role.value, first.detail.repeats) == ("fetch", "calls-oftener", False)
        assert first.why.startswith("It calls decode more often, at unchanged cost per call")


class TestExactCounts:
    """Where calls were counted, the counts decide what is said of them; who answers for how much stays."""

    def oftener(self, *exact):
        rest = (("main", "serve*", "fetch", "look_up"), 0.5)
        path = ("main", "serve*", "fetch", "decode", "smooth*")
        excess = compared(
            [*OTHER_WORK, (path, 1.0), rest], [*OTHER_WORK, (path, 9.0), rest], knowing(steady=("smooth",))
        )
        first = suspects(replace(excess, exact=counts(("fetch", "decode"), *exact)), "run")[0]
        assert first.function.name == "fetch" and first.share == pytest.approx(0.9)
        return first

    @pytest.mark.parametrize("exact", [(3, 3, 1.0), (3, 2, 1.0), (100, 400, 1.0)], ids=["same", "fewer", "too-few"])
    def test_calls_that_did_not_multiply_are_not_called_more_often(self, exact):
        first = self.oftener(*exact)
        assert first.detail.role.value == "own" and "more often" not in first.why
        assert first.why.startswith("With what it calls it takes 9.50 s per run, not 1.50 s")

    def test_calls_that_did_are(self):
        assert self.oftener(3, 27, 1.0).why.startswith("It calls decode more often, at unchanged cost per call")

    def test_other_calls_say_nothing(self):
        assert self.oftener().detail.role.value == "calls-oftener"

    @pytest.mark.parametrize(
        ("exact", "role", "said"),
        [
            ((0, 500, 50.0), "calls-more", "It calls rebuild in a loop; "),
            ((0, 5, 1.0), "took-new-path", "It calls rebuild, in which the good runs were never seen"),
            ((5, 5, 1.0), "own", "With what it calls it takes 10.0 s per run, not 1.00 s"),
        ],
        ids=["repeated", "once-per-call", "in-good-runs-too"],
    )
    def test_new_calls(self, exact, role, said):
        good = [*OTHER_WORK, (("main", "serve*", "plan"), 1.0)]
        bad = [*good, (("main", "serve*", "plan*", "rebuild"), 9.0)]
        excess = replace(compared(good, bad, also=("rebuild",)), exact=counts(("plan", "rebuild"), *exact))
        (plan,) = (one for one in suspects(excess, "run") if one.function.name == "plan")
        assert plan.detail.role.value == role and plan.why.startswith(said), plan.why

    def test_what_good_runs_call_as_often_is_on_no_new_path(self):
        good = [*OTHER_WORK, (("main", "serve*", "plan"), 1.0)]
        bad = [*good, (("main", "serve*", "plan", "rebuild*"), 9.0)]
        for exact, role, said in (
            ((), "new-path", "The good runs were never seen in it"),
            ((0, 5, 1.0), "new-path", "The good runs were never seen in it"),
            ((5, 5, 1.0), "takes-longer", "The good runs call it too, but no sample fell in it; called by plan, it"),
        ):
            excess = replace(compared(good, bad, also=("rebuild",)), exact=counts(("plan", "rebuild"), *exact))
            (found,) = (one for one in suspects(excess, "run") if one.function.name == "rebuild")
            assert found.detail.role.value == role and found.why.startswith(said), found.why
            assert (found.pattern == "new-path") == (role == "new-path")

    def test_a_call_that_is_made_once_is_not_in_a_loop(self):
        path = ("main", "serve*", "plan*", "scan")
        excess = compared([*OTHER_WORK, (path, 1.0)], [*OTHER_WORK, (path, 9.0)], knowing({"plan": 1.0}))
        for per_call, is_said in ((1.0, False), (4.0, True)):
            said = suspects(replace(excess, exact=counts(("plan", "scan"), 1, per_call, per_call)), "run")[0].why
            assert ("in a loop" in said) == is_said, said


def counts(call, *exact):
    return {tuple(map(key, call)): ExactCalls(*exact)} if exact else {}


class TestNewPaths:
    """plan calls what the good runs were never seen in, although their program has it."""

    def new(self, *path, data=None, also=("rebuild",)):
        good = [*OTHER_WORK, (("main", "serve*", "plan"), 1.0)]
        return compared(good, [*good, (("main", "serve*", *path), 9.0)], data, also=also)

    @pytest.mark.parametrize(
        ("path", "known", "part"),
        [
            pytest.param(("plan", "rebuild"), {}, 2 / 3, id="called-once"),
            pytest.param(("plan", "rebuild*"), {}, 2 / 3, id="called-once-and-loops"),
            pytest.param(("plan", "rebuild"), {"normal": ["plan"]}, 1 / 3, id="decided-as-ever"),
            pytest.param(("plan", "rebuild"), {"steady": ["plan"]}, 2 / 3, id="a-steady-loop-decides-no-single-call"),
            pytest.param(("plan*", "rebuild"), {}, 0.9, id="repeats-calls-of-what-repeats-nothing"),
            pytest.param(("plan*", "rebuild"), {"steady": ["plan"]}, 0.9, id="whatever-its-loop-is-known-to-do"),
            pytest.param(("plan*", "rebuild*"), {}, 2 / 3, id="both-repeat"),
            pytest.param(("plan*", "rebuild*"), {"steady": ["plan"]}, 1 / 3, id="its-loop-goes-as-far-as-it-did"),
            pytest.param(("plan*", "rebuild*"), {"normal": ["plan"]}, 2 / 3, id="conditions-repeat-no-call"),
        ],
    )
    def test_the_callers_part(self, path, known, part):
        shares = charged(self.new(*path, data=knowing(**known)))
        assert shares == pytest.approx({"plan": part, "rebuild": 1 - part})

    def test_new_code_keeps_nine_tenths_however_it_is_called(self):
        assert charged(self.new("plan*", "rebuild", also=())) == pytest.approx({"plan": 0.1, "rebuild": 0.9})

    def test_a_library_in_which_the_good_runs_were_never_seen_is_not_taken_for_new_code(self):
        assert charged(self.new("plan", "lib:rebuild", also=())) == pytest.approx({"plan": 2 / 3, "rebuild": 1 / 3})

    def test_the_paths_part_goes_to_the_first_on_it_that_repeats(self):
        shares = charged(self.new("plan", "rebuild", "sweep*", "mark"))
        assert shares == pytest.approx({"plan": 2 / 3, "sweep": 1 / 3})

    def test_a_loop_further_in_is_a_reason_why_the_callee_takes_longer(self):
        shares = charged(self.new("plan*", "rebuild", "sweep*", "mark"))
        assert shares == pytest.approx({"plan": 2 / 3, "sweep": 1 / 3})

    @pytest.mark.parametrize(
        ("path", "known", "roles"),
        [
            (("plan", "rebuild"), {}, {"plan": "took-new-path", "rebuild": "new-path"}),
            (("plan*", "rebuild"), {}, {"plan": "calls-more", "rebuild": "new-path"}),
            (("plan", "rebuild"), {"normal": ["plan"]}, {"plan": "took-new-path", "rebuild": "takes-longer"}),
        ],
    )
    def test_the_report_says_why(self, path, known, roles):
        found = suspects(self.new(*path, data=knowing(**known)), "run")
        assert {one.function.name: one.detail.role.value for one in found} == roles


WORD = st.tuples(st.sampled_from("abcdef"), st.sampled_from(["", "*"])).map("".join)
STACKS = st.lists(
    st.tuples(st.lists(WORD, min_size=1, max_size=6).map(tuple), st.floats(0.02, 5.0)), min_size=1, max_size=12
)
SOME = st.sets(st.sampled_from("abcdef"))


@pytest.mark.thorough
@settings(max_examples=100, deadline=None)
@given(STACKS, STACKS, st.dictionaries(st.sampled_from("abcdef"), st.floats(0, 1)), SOME, SOME)
def test_every_contexts_time_is_charged_once(good, bad, anomaly, normal, steady):
    # GIVEN any trees, any loops and anything known of the data
    excess = compared(good, bad, knowing(anomaly, normal, steady))
    # THEN the parts of every context add up to 1, none is negative, and whoever answers is on the stack
    charges, tree = excess.charges, excess.costs.tree
    total = np.bincount(charges.node, charges.part, len(tree))
    assert np.allclose(total[1:], 1.0)
    assert (charges.part >= 0).all()
    assert all(at in tree.path(node) for node, at in zip(charges.node.tolist(), charges.at.tolist(), strict=True))
    assert np.isclose(sum(account.charged_s for account in excess.accounts), excess.total_s, atol=1e-6)


@pytest.mark.thorough
@settings(max_examples=50, deadline=None)
@given(STACKS, STACKS)
def test_nothing_grows_where_nothing_changed(good, bad):
    # GIVEN the same runs twice THEN no context is a step, whatever loops
    excess = compared([*good, *bad], [*good, *bad])
    assert excess.total_s == pytest.approx(0.0, abs=1e-9)
    assert not charged(excess)

    def test_names_in_sentences_lose_their_template_arguments_where_they_are_long(self):
        decode = f"codec::Decoder<{'codec::Block<int>, ' * 9}int>::decode"
        rest = (("main", "serve*", "fetch", "look_up"), 0.5)
        path = ("main", "serve*", "fetch", decode, "smooth*")
        known = knowing(steady=("smooth",))
        excess = compared([*OTHER_WORK, (path, 1.0), rest], [*OTHER_WORK, (path, 9.0), rest], known)
        assert suspects(excess, "run")[0].why.startswith("It calls codec::Decoder<…>::decode more often")
