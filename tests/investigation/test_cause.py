"""What a chain and its proof make of a verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.report import verdicts
from whyperf.diagnose.origin import Proof, ProofFinding, ProofMeans, Share
from whyperf.diagnose.verdict import Suspect, Verdict
from whyperf.investigation.cause import with_cause, with_proofs
from whyperf.investigation.proving import Tried


def followed(finding: ProofFinding, *, hop: int = 2, function: str | None = None) -> tuple[Verdict, Verdict]:
    """A verdict, and what became of it when a hop of the first suspect's chain was forced."""
    made = verdicts.proven()
    chained = made.suspects[0]
    assert chained.origin is not None
    origin = chained.origin
    if function is not None:
        hops = list(origin.hops)
        hops[hop] = replace(hops[hop], function=function)
        origin = replace(origin, hops=tuple(hops))
    payer = replace(chained, origin=None, proofs=())
    verdict = replace(made, suspects=(payer, *made.suspects[1:]))
    tried = [Tried(hop, replace(chained.proofs[0], finding=finding))]
    return verdict, with_cause(verdict, payer, origin, tried)


def names(suspects: tuple[Suspect, ...]) -> list[str]:
    return [one.function for one in suspects]


def removed(suspect: Suspect) -> float:
    """Of the excess, by the proof."""
    share = suspect.proofs[0].removed
    assert share is not None
    return share.value


def test_who_made_a_proven_value_comes_before_who_pays() -> None:
    verdict, found = followed(ProofFinding.PROVEN, function="plan")
    assert names(found.suspects) == ["plan", *names(verdict.suspects)]
    assert [one.rank for one in found.suspects] == list(range(1, len(found.suspects) + 1))
    cause, payer = found.suspects[:2]
    assert (cause.line, cause.confidence) == (167, "high")
    assert cause.why == "Here `megabytes << 20` is 0, was 67,108,864; find pays for it."
    assert cause.origin is not None and cause.proofs and payer.origin is None
    # THEN it answers for what forcing it took away, and nobody for that again
    assert cause.share == removed(cause) and payer.share == 0
    assert sum(one.share for one in found.suspects) <= 1.0
    assert payer.why.endswith("It pays for what plan decides.")
    assert payer.evidence[0].detail.good_runs is None


def test_a_maker_that_was_suspected_already_moves_up() -> None:
    verdict, found = followed(ProofFinding.PROVEN, function="rehash")
    assert sorted(names(found.suspects)) == sorted(names(verdict.suspects))
    assert found.suspects[0].function == "rehash" and found.suspects[0].share == removed(found.suspects[0])
    assert sum(one.share for one in found.suspects) <= 1.0
    assert (found.suspects[0].confidence, found.suspects[0].doubt) == ("high", "")
    assert found.suspects[0].origin is not None
    # THEN nobody is said to be charged with what the proof took away, unless taken alone
    before = {one.function: one for one in verdict.suspects}
    for one in found.suspects[1:]:
        assert one.share == before[one.function].share or one.why.startswith("Taken alone: ")
    payer = next(one for one in found.suspects if one.function == verdict.suspects[0].function)
    assert payer.share == 0 and payer.why.endswith("It pays for what rehash decides.")


def test_a_function_that_pays_for_what_it_decides_itself_is_sure() -> None:
    _, found = followed(ProofFinding.PROVEN, hop=1)
    assert names(found.suspects)[0] == "find" and found.suspects[0].confidence == "high"
    assert found.suspects[0].share == removed(found.suspects[0])


def test_the_best_of_several_proofs_is_the_cause() -> None:
    made = verdicts.proven()
    payer = made.suspects[0]
    assert payer.origin is not None

    def first(*proofs: Proof) -> Suspect:
        tried = [Tried(hop, one) for hop, one in zip((2, 1), proofs, strict=True)]
        found = with_cause(made, payer, payer.origin, tried).suspects[0]  # type: ignore[arg-type]
        assert set(found.proofs) == set(proofs)
        return found

    part, more = (replace(payer.proofs[0], removed=Share(one, one - 0.1, one + 0.1)) for one in (0.6, 0.9))
    supported = replace(more, finding=ProofFinding.SUPPORTED)
    # THEN what removes clearly more comes before what was tried first
    assert (first(part, more).function, first(part, more).proofs) == ("find", (more, part))
    assert (first(more, part).function, first(more, part).proofs) == (payer.origin.hops[2].function, (more, part))
    # THEN what is proven comes before what is supported
    assert first(supported, part).proofs == (part, supported)
    assert first(part, supported).proofs == (part, supported)


@pytest.mark.parametrize("finding", [ProofFinding.REFUTED, ProofFinding.TRIGGER, ProofFinding.NOT_TESTABLE])
def test_what_is_not_proven_changes_no_ranks(finding: ProofFinding) -> None:
    verdict, found = followed(finding, function="plan")
    assert names(found.suspects) == names(verdict.suspects)
    assert found.suspects[0].origin is not None and found.suspects[0].proofs[0].finding is finding


def of_function(finding: ProofFinding, function: str) -> Proof:
    return Proof(
        finding,
        ProofMeans.FUNCTION,
        function,
        "tool",
        "/src/t.c",
        9,
        function,
        "",
        "",
        None,
        None,
        None,
        3,
        "cpu_s",
        "Said.",
    )


def test_the_function_of_the_good_build_that_helps_is_the_cause() -> None:
    verdict = verdicts.difference()
    found = with_proofs(verdict, [of_function(ProofFinding.REFUTED, "b"), of_function(ProofFinding.PROVEN, "hash_of")])
    assert names(found.suspects) == ["hash_of", *names(verdict.suspects)]
    assert found.suspects[0].why.startswith("Its code differs between the two builds, and find pays")


def test_what_is_proven_is_the_cause_where_nobody_was_suspected() -> None:
    # GIVEN that all functions grew alike
    verdict = replace(verdicts.difference(), suspects=())
    proof = replace(of_function(ProofFinding.PROVEN, "limit"), removed=Share(0.9, 0.85, 0.95))
    (only,) = with_proofs(verdict, [of_function(ProofFinding.REFUTED, "b"), proof]).suspects
    assert (only.rank, only.function, only.share, only.confidence, only.doubt) == (1, "limit", 0.9, "high", "")
    assert only.why == "Its code differs between the two builds." and only.proofs == (proof,)
    assert only.score == only.evidence[0].score == 0.9


def test_what_was_tried_is_noted_where_nobody_was_suspected() -> None:
    verdict = replace(verdicts.difference(), suspects=(), notes=("Before.",))
    tried = [replace(of_function(ProofFinding.REFUTED, "b"), sentence=f"Said {number}.") for number in range(5)]
    found = with_proofs(verdict, tried)
    assert not found.suspects and found.notes == ("Before.", "Said 0.", "Said 1.", "Said 2.")


def test_who_uses_a_variable_first_is_the_cause_if_what_it_begins_with_is() -> None:
    verdict = verdicts.difference()
    proof = replace(of_function(ProofFinding.PROVEN, "start"), means=ProofMeans.VARIABLE, what="`size`")
    found = with_proofs(verdict, [replace(proof, good="65,537", bad="509")])
    assert names(found.suspects) == ["start", *names(verdict.suspects)]
    assert (
        found.suspects[0].why
        == "It uses `size` first, which begins with 509, was 65,537, and find pays for what it makes."
    )
    (table, *_) = with_proofs(verdict, [proof]).suspects
    assert table.why.startswith("It uses `size` first, which begins with different values in the two builds, and find")


def test_functions_that_could_not_be_tried_are_told() -> None:
    verdict = verdicts.difference()
    found = with_proofs(verdict, [of_function(ProofFinding.NOT_TESTABLE, "b")])
    assert names(found.suspects) == names(verdict.suspects) and len(found.suspects[0].proofs) == 1
    assert with_proofs(verdict, []) is verdict


def test_where_many_values_become_few_is_told_and_changes_no_rank_without_proof() -> None:
    made = verdicts.proven()
    chained = made.suspects[0]
    assert chained.origin is not None
    payer = replace(chained, origin=None, proofs=())
    verdict = replace(made, suspects=(payer, *made.suspects[1:]))
    found = with_cause(verdict, payer, replace(chained.origin, narrows=True), [])
    assert names(found.suspects) == names(verdict.suspects)
    assert found.suspects[0].origin is not None and found.suspects[0].origin.narrows
