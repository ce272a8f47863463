"""The law by which engines' claims become one ranking, as properties; and examples of what it says."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.diagnose.details import excess_detail
from whyperf.diagnose.joining.claims import Claim, Thing
from whyperf.diagnose.joining.join import WORTH_A_WORD, join
from whyperf.diagnose.joining.trust import ENGINES, HAS_A_SAY, TRUST
from whyperf.diagnose.measured.symptom_kind import Nature
from whyperf.diagnose.verdict import AbnormalVariable, Evidence, Suspect
from whyperf.engines.finding import Detail

# Fractions, so that no order hangs on a rounding.
EXACT = st.integers(0, 20).map(lambda number: Fraction(number, 20))
TRUSTS = st.fixed_dictionaries(
    {engine: st.integers(0, 5).map(lambda number: Fraction(number, 5)) for engine in ENGINES}
)
THINGS = st.sampled_from([Thing("tool", name) for name in "abcdef"])


def suspect(function, engine="excess", *, rank=1, score=0.5, **more):
    shown = Suspect(
        rank, "function", function, "tool", "tool.c", 1, -1, None, None, (), score, score, "medium", "unknown",
        f"{engine} says {function}.", evidence=(Evidence(engine, rank, score, Detail(), f"{engine} says {function}."),),
    )  # fmt: skip
    return replace(shown, **more)


def claim(engine, function, rank=1, score=0.5, shown=None, **more):
    thing = function if isinstance(function, Thing) else Thing("tool", function)
    about = suspect(thing.name, engine, rank=rank, score=score, **(shown or {}))
    return Claim(engine, thing, rank, score, about, **more)


@st.composite
def claims(draw, engines=ENGINES):
    """What engines might say: each ranks some of the things, once."""
    said = []
    for engine in engines:
        named = draw(st.lists(THINGS, max_size=4, unique=True))
        same = draw(st.sampled_from(["", "contexts"])) if engine == "causes" else ""
        falling = sorted((draw(EXACT) for _ in named), reverse=True)
        for rank, (thing, score) in enumerate(zip(named, falling, strict=True), 1):
            effects = draw(st.frozensets(THINGS, max_size=2)) - {thing} if engine == "causes" else frozenset()
            said.append(claim(engine, thing, rank, score, same_time_as=same, effects=effects))
    return said


@pytest.mark.thorough
@given(claims(), TRUSTS)
def test_shares_add_up_to_all_of_the_excess_at_most(said, trust):
    joined = join(said, trust)
    assert sum(one.share for one in joined.suspects) <= 1
    highest = {}
    for one in said:
        highest[one.thing.name] = max(highest.get(one.thing.name, 0), one.suspect.share)
    assert all(0 <= one.share <= highest[one.function] for one in joined.suspects)


def test_a_share_is_of_who_measured_all_of_it():
    # GIVEN a stall that the most trusted engine explains, of a wait that another one saw in all runs
    stall = claim(
        "causes", "sync", score=0.9, shown={"share": 0.006}, share_is_of="The share is that of this stall alone."
    )
    context = claim("contexts", "sync", score=0.8, shown={"share": 0.79})
    (told,) = join([stall, context], TRUST[Nature.WAIT]).suspects
    assert told.share == pytest.approx(0.79) and "alone" not in told.why
    # THEN where nobody else knows, the sentence says what it is the share of
    (told,) = join([stall], TRUST[Nature.WAIT]).suspects
    assert told.share == pytest.approx(0.006)
    assert told.why == "causes says sync. The share is that of this stall alone."


def scores(joined):
    return {one.function: one.score for one in joined.suspects}


def ranks(joined):
    return {one.function: one.rank for one in joined.suspects}


@pytest.mark.thorough
@given(claims(), TRUSTS, st.randoms())
def test_the_order_of_what_is_said_does_not_matter(said, trust, random):
    shuffled = list(said)
    random.shuffle(shuffled)
    assert join(shuffled, trust) == join(said, trust)


@pytest.mark.thorough
@given(claims(), TRUSTS)
def test_scores_are_chances_and_ranks_follow_them(said, trust):
    suspects = join(said, trust).suspects
    assert [one.rank for one in suspects] == list(range(1, len(suspects) + 1))
    assert all(0 <= one.score <= 1 for one in suspects)
    assert sorted((one.score for one in suspects), reverse=True) == [one.score for one in suspects]


@pytest.mark.thorough
@given(claims(), TRUSTS, st.sampled_from(ENGINES), THINGS, EXACT)
def test_more_evidence_never_hurts_a_suspect(said, trust, engine, thing, score):
    # GIVEN a thing that somebody suspects
    before = join(said, trust)
    assume(thing.name in ranks(before))
    # WHEN another engine names it too, or the same engine once more
    first = claim(engine, thing, 1, score)
    after = join([*said, first], trust)
    # THEN it is suspected no less
    assert scores(after)[thing.name] >= scores(before)[thing.name]
    assert ranks(after)[thing.name] <= ranks(before)[thing.name]


@pytest.mark.thorough
@given(claims(), TRUSTS, st.data())
def test_a_higher_score_never_costs_a_rank(said, trust, data):
    assume(said)
    at = data.draw(st.integers(0, len(said) - 1))
    raised = replace(said[at], score=data.draw(EXACT.filter(lambda score: score >= said[at].score)))
    before, after = join(said, trust), join([*said[:at], raised, *said[at + 1 :]], trust)
    name = raised.thing.name
    assume(name in ranks(before))
    assert scores(after)[name] >= scores(before)[name]
    assert ranks(after)[name] <= ranks(before)[name]


@pytest.mark.thorough
@given(claims(), st.sampled_from(ENGINES), THINGS, EXACT)
def test_hiding_from_an_engine_is_no_exception(said, engine, thing, score):
    # GIVEN a claim about what the leading engine cannot see, and the same claim with a higher score
    others = [one for one in said if one.engine != "contexts"]
    trust = dict.fromkeys(ENGINES, Fraction(1))
    hidden = claim("contexts", thing, 1, score, hidden_from=engine)
    raised = replace(hidden, score=min(Fraction(1), score + Fraction(1, 4)))
    before, after = (join([*others, one], trust) for one in (hidden, raised))
    assert scores(after)[thing.name] >= scores(before)[thing.name]
    assert ranks(after)[thing.name] <= ranks(before)[thing.name]


@pytest.mark.thorough
@given(claims(), TRUSTS, st.sampled_from(ENGINES))
def test_a_silent_engine_changes_nothing(said, trust, silent):
    heard = [one for one in said if one.engine != silent]
    assert join(heard, trust) == join(heard, {**trust, silent: 0}) == join(heard, {**trust, silent: 1})


@pytest.mark.thorough
@given(claims(), TRUSTS, THINGS, EXACT)
def test_evidence_that_is_counted_already_moves_nothing(said, trust, thing, score):
    others = [one for one in said if one.engine != "values"]
    told = claim("values", thing, 1, score, counted_in="excess")
    before, after = join(others, trust), join([*others, told], trust)
    assert scores(after) == scores(before)
    assert [one.function for one in after.suspects] == [one.function for one in before.suspects]


@pytest.mark.thorough
@given(st.sampled_from(ENGINES), st.data(), st.sampled_from([Fraction(1, 4), Fraction(1)]))
def test_one_engine_alone_keeps_its_order(engine, data, trust):
    said = data.draw(claims([engine]))
    joined = join(said, {engine: trust})
    assert [one.function for one in joined.suspects] == [one.thing.name for one in said]
    assert joined.disagreements == ()
    if trust == 1.0 and said:
        assert joined.suspects[0].score == said[0].score


@pytest.mark.thorough
@given(claims(), TRUSTS)
def test_whoever_leads_and_is_contradicted_is_said_to_be(said, trust):
    said = [replace(one, effects=frozenset()) for one in said]
    firsts = {
        one.engine: one.thing for one in said
        if one.rank == 1 and trust[one.engine] >= HAS_A_SAY and trust[one.engine] * one.score >= WORTH_A_WORD
    }  # fmt: skip
    assert bool(join(said, trust).disagreements) == (len(set(firsts.values())) > 1)


@pytest.mark.parametrize("nature", list(Nature))
def test_every_engine_is_trusted_somehow_for_every_kind_of_trouble(nature):
    assert set(TRUST[nature]) == set(ENGINES)
    assert max(TRUST[nature].values()) == 1.0


def test_two_that_agree_are_believed_more_than_one_that_is_surer():
    said = [
        claim("causes", "wait_for_disk", 1, 0.6),
        claim("causes", "lock", 2, 0.5),
        claim("contexts", "lock", 1, 0.75),
    ]
    joined = join(said, TRUST[Nature.WAIT])
    assert [(one.function, round(one.score, 2)) for one in joined.suspects] == [("lock", 0.8), ("wait_for_disk", 0.6)]
    assert [one.engine for one in joined.suspects[0].evidence] == ["causes", "contexts"]


def test_the_same_time_seen_twice_is_one_witness():
    said = [
        claim("causes", "sleep", 1, 0.4, same_time_as="contexts"),
        claim("contexts", "load", 1, 0.6),
        claim("contexts", "sleep", 2, 0.4),
    ]
    joined = join(said, TRUST[Nature.WAIT])
    assert [(one.function, round(one.score, 2)) for one in joined.suspects] == [("load", 0.48), ("sleep", 0.4)]


def test_a_doubtful_stall_does_not_come_before_a_clear_context():
    said = [claim("causes", "somebody", 1, 0.25), claim("contexts", "render", 1, 0.9)]
    assert join(said, TRUST[Nature.WAIT]).suspects[0].function == "render"
    certain = [claim("causes", "somebody", 1, 1.0), claim("contexts", "render", 1, 0.9)]
    assert join(certain, TRUST[Nature.WAIT]).suspects[0].function == "somebody"


def test_a_disagreement_is_said_and_costs_confidence():
    sure = {"confidence": "high"}
    said = [claim("causes", "throttle", 1, 0.9, sure), claim("contexts", "render", 1, 0.9, sure)]
    joined = join(said, TRUST[Nature.WAIT])
    assert joined.disagreements == (
        "The engines disagree: who should have acted (causes) leads to throttle in tool, where latency appeared "
        "(contexts) to render in tool.",
    )
    assert [one.confidence for one in joined.suspects] == ["medium", "medium"]


def test_where_it_is_waited_for_the_culprit_is_no_disagreement_but_its_effect():
    said = [
        claim("causes", "reject", 1, 0.75, effects=frozenset({Thing("tool", "ask")})),
        claim("contexts", "ask", 1, 1.0),
    ]
    joined = join(said, TRUST[Nature.WAIT])
    assert joined.disagreements == ()
    assert [(one.function, round(one.score, 2)) for one in joined.suspects] == [("reject", 0.75), ("ask", 0.2)]


def test_a_plug_in_that_samples_charge_to_the_program_takes_that_from_it():
    said = [
        claim("excess", "serve", 1, 0.9, {"share": 0.9}),
        claim("contexts", Thing("mod.so", "filter"), 1, 0.8, {"share": 0.8}, hidden_from="excess"),
    ]
    first, second = join(said, TRUST[Nature.CPU]).suspects
    assert (first.function, first.score) == ("filter", 0.8)
    assert (second.function, round(second.share, 2)) == ("serve", 0.18)


def test_the_most_trusted_tells_it_and_others_add_what_it_does_not_know():
    data = claim("values", "plan", 3, 0.9, {"variables": (AbnormalVariable("limit", "1", "0", "value", (3,)),),
                 "pattern": "wrong-constraint"}, preface="limit is 0; was 1.", counted_in="excess")  # fmt: skip
    layer = claim("contexts", "plan", 2, 0.4, {"thread": "worker", "process": "tool"}, remark="It is in the kernel.",
                  counted_in="excess")  # fmt: skip
    (one,) = join([layer, data, claim("excess", "plan", 1, 0.7, {"line": 0})], TRUST[Nature.CPU]).suspects
    assert one.why == "limit is 0; was 1. excess says plan. It is in the kernel."
    assert (one.pattern, one.thread, one.line, one.score) == ("wrong-constraint", "worker", 1, 0.7)
    assert [variable.name for variable in one.variables] == ["limit"]
    assert [(evidence.engine, evidence.rank) for evidence in one.evidence] == [
        ("excess", 1), ("values", 3), ("contexts", 2),
    ]  # fmt: skip


def test_functions_of_one_name_in_two_files_are_two_things():
    said = [
        claim("excess", Thing("tool", "init", "a.c"), 1, 0.5),
        claim("excess", Thing("tool", "init", "b.c"), 2, 0.25),
        claim("relations", Thing("tool", "init", "b.c"), 1, 0.5),
    ]
    assert [one.score for one in join(said, TRUST[Nature.CPU]).suspects] == [0.625, 0.5]


def test_who_does_not_tell_files_apart_means_the_only_one():
    said = [claim("excess", Thing("tool", "init", "a.c"), 1, 0.5), claim("causes", "init", 1, 0.5)]
    (one,) = join(said, TRUST[Nature.CPU]).suspects
    assert {evidence.engine for evidence in one.evidence} == {"excess", "causes"}


def test_relations_of_one_function_stay_apart_and_others_meet_the_first():
    said = [
        claim("relations", Thing("tool", "plan", "", "relation 1"), 1, 0.5, {"line": 12}),
        claim("relations", Thing("tool", "plan", "", "relation 2"), 2, 0.5, {"line": 40}),
        claim("excess", "plan", 1, 0.5),
    ]
    joined = join(said, TRUST[Nature.CPU]).suspects
    assert [(len(one.evidence), one.score) for one in joined] == [(2, 0.75), (1, 0.5)]


@pytest.mark.parametrize(("told", "joined"), [("unknown", "scalability"), ("missing-constraint", "missing-constraint")])
def test_a_loop_that_takes_longer_has_more_to_go_through_unless_data_tell_otherwise(told, joined):
    looping = Evidence("excess", 1, 0.7, excess_detail(repeats=True))
    data = claim("values", "plan", 1, 0.9, {"pattern": told}, counted_in="excess")
    (one,) = join([claim("excess", "plan", 1, 0.7, {"evidence": (looping,)}), data], TRUST[Nature.CPU]).suspects
    assert one.pattern == joined
