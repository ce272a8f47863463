"""A verdict with its cause: who set the value comes before who pays for it, if forcing it has shown that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from whyperf.diagnose.joining.leading import Decider, is_at, leading, led_by, ranked
from whyperf.diagnose.joining.shares import answering_for
from whyperf.diagnose.origin import Hop, Origin, Proof, ProofFinding, ProofMeans
from whyperf.diagnose.verdict import Evidence, Suspect, Verdict
from whyperf.engines.finding import Detail
from whyperf.investigation.proving import Tried

_DOUBT = "forced runs support this, but do not prove it"
_MOST_NOTED = 3  # proofs, where there is no suspect to tell them of


def with_cause(
    verdict: Verdict, payer: Suspect, origin: Origin, tried: Sequence[Tried], *, beside: Sequence[Proof] = ()
) -> Verdict:
    """`beside`: what was tried besides this chain, which is told where the chain is not proven."""
    settled = _best(tried)
    proofs = [one.proof for one in tried] + ([] if settled is not None else [*beside])
    if settled is not None:
        proofs.sort(key=lambda one: one.is_settled and one is not settled.proof)
    followed = replace(payer, origin=origin, proofs=tuple(dict.fromkeys(proofs)))
    if settled is None:
        return ranked(verdict, [followed if one is payer else one for one in verdict.suspects])
    maker = origin.hops[settled.hop]
    why = f"Here `{maker.what}` is {maker.bad}, was {maker.good}; {payer.function} pays for it."
    return _led_by(verdict, payer, followed, maker, why, proof=settled.proof)


def _best(tried: Sequence[Tried]) -> Tried | None:
    """What is proven before what is only supported, then what removes clearly more, then what was tried first. None:
    nothing is either."""
    best: Tried | None = None
    for one in tried:
        if one.proof.is_settled and (best is None or _is_better(one.proof, best.proof)):
            best = one
    return best


def _is_better(proof: Proof, other: Proof) -> bool:
    proven, other_proven = (one.finding is ProofFinding.PROVEN for one in (proof, other))
    if proven != other_proven:
        return proven
    return proof.removed is not None and other.removed is not None and proof.removed.low > other.removed.high


def with_proofs(verdict: Verdict, proofs: Sequence[Proof]) -> Verdict:
    """What takes the excess away is the cause: a function or variable of the good build, or a decision made as in good
    runs. Else what was tried is told."""
    if not proofs:
        return verdict
    settled = next((one for one in proofs if one.is_settled), None)
    if not verdict.suspects:
        if settled is None:
            return replace(verdict, notes=(*verdict.notes, *(one.sentence for one in proofs[:_MOST_NOTED])))
        return ranked(verdict, [_settled(_proven_alone(settled), settled)])
    payer, *others = verdict.suspects
    if settled is None:
        return ranked(verdict, [replace(payer, proofs=tuple(proofs)), *others])
    pays_for = "it" if settled.means is ProofMeans.DECISION else "what it makes"
    why = f"{_difference(settled)}, and {payer.function} pays for {pays_for}."
    followed = replace(payer, proofs=(settled,))
    return _led_by(verdict, payer, followed, settled, why, proof=settled)


def _proven_alone(proof: Proof) -> Suspect:
    """Where nobody else is suspected, as when all functions grew alike."""
    why = f"{_difference(proof)}."
    share = 0.0 if proof.removed is None else min(1.0, max(0.0, proof.removed.value))
    return Suspect(
        1,
        "function",
        proof.function,
        proof.module,
        proof.file,
        proof.line,
        block=0,
        process=None,
        thread=None,
        path=(),
        score=share,
        share=share,
        confidence="medium",
        pattern="unknown",
        why=why,
        evidence=(Evidence("origin", 1, share, Detail(), why),),
        proofs=(proof,),
        doubt=_DOUBT,
    )


def _difference(proof: Proof) -> str:
    if proof.means is ProofMeans.DECISION:
        return f"Here `{proof.what}` takes a branch that the good run does not take"
    if proof.means is not ProofMeans.VARIABLE:
        return "Its code differs between the two builds"
    values = f"{proof.bad}, was {proof.good}" if proof.bad else "different values in the two builds"
    return f"It uses {proof.what} first, which begins with {values}"


def _led_by(
    verdict: Verdict, payer: Suspect, followed: Suspect, maker: Hop | Proof, why: str, *, proof: Proof
) -> Verdict:
    """With the maker first: a suspect already, or a new one that answers for what the payer was charged with. `proof`:
    what settled that it is the cause."""
    if is_at(payer, maker):
        return led_by(verdict, _settled(followed, proof), {})
    leads = leading(verdict, Decider(maker, why, "origin", _DOUBT), followed)
    leads = replace(leads, origin=followed.origin, proofs=followed.proofs)
    return led_by(verdict, _settled(leads, proof), {payer.rank: 0.0})


def _settled(suspect: Suspect, proof: Proof) -> Suspect:
    """It answers for what forcing it took away. What is proven is not doubted any more."""
    if proof.removed is not None:
        share, low, high = (
            min(1.0, max(0.0, one)) for one in (proof.removed.value, proof.removed.low, proof.removed.high)
        )
        suspect = answering_for(suspect, share, (low, high))
    is_proven = proof.finding is ProofFinding.PROVEN
    return replace(suspect, confidence="high", doubt="") if is_proven else suspect
