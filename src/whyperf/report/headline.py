"""The verdict in one sentence that says why, not only how much."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set

from whyperf.diagnose.verdict import CallCounts, Suspect, Verdict, VerdictKind
from whyperf.engines.causes.detail import CausesDetail
from whyperf.engines.causes.path import CulpritEnding
from whyperf.engines.excess.detail import ExcessDetail
from whyperf.engines.quantities import seconds
from whyperf.recording.names.template_names import without_template_arguments
from whyperf.report.waiting_threads import JoinedRung, name_of, rungs_of

_IT, _LIFTED = "It ", "It waits for "
_READABLE = 60  # characters of a name within a headline
_RANGE = re.compile(r"\S+ to \S+")
_DETAILS = re.compile(r"(?<!\.)[.:;] ")  # begin behind one of these; `2 .. 9` is one thing


def headline(verdict: Verdict) -> str:
    """Names stand between backticks. Empty where nobody is suspected: then the symptom is all there is to say."""
    if verdict.kind is not VerdictKind.DIFFERENCE or not verdict.suspects:
        return ""
    first = verdict.suspects[0]
    # What a stall comes to in the user's own code says more than its end in another program.
    followed = "" if first.why.startswith(_LIFTED) else _followed(first)
    said = _counted(first, verdict.counts) or followed or _told(first)
    return said + _goes_back(first, said)


def _counted(suspect: Suspect, counts: CallCounts | None) -> str:
    """What exact counts say of the suspect, if it is what they blame most."""
    if counts is None or not counts.changes:
        return ""
    change = counts.changes[0]
    if change.kind != "calls" or (change.function, change.module) != (suspect.function, suspect.module):
        return ""
    return _clause(change.sentence)


def _followed(suspect: Suspect) -> str:
    """How a stall that was followed ends, and who waited for it."""
    for evidence in suspect.evidence[:1]:
        if isinstance(detail := evidence.detail, CausesDetail):
            return _quoted(_ending(rungs_of(detail), detail), {suspect.function})
    return ""


def _quoted(sentence: str, names: Set[str]) -> str:
    """With these names between backticks; the longest first, of which others may be parts."""
    any_name = "|".join(re.escape(name) for name in sorted(filter(None, names), key=len, reverse=True))
    if not any_name:
        return sentence
    return re.sub(rf"(?<![\w:`])(?:{any_name})(?![\w`])", lambda found: f"`{found[0]}`", sentence)


def _ending(rungs: Sequence[JoinedRung], detail: CausesDetail) -> str:
    last, long = rungs[-1], seconds(rungs[-1].seconds)
    did = f"{name_of(last)} {last.did}" + ("" if long in last.did else f" for {long}")
    waiting = sum(len(rung.threads) for rung in rungs[:-1])
    if detail.ending == CulpritEnding.CYCLE.value or not waiting:
        return did
    return f"{did}; {waiting} thread{'' if waiting == 1 else 's'} waited for it"


def _told(suspect: Suspect) -> str:
    clause, name = _clause(suspect.why), suspect.function
    details = [one.detail for one in suspect.evidence if isinstance(one.detail, ExcessDetail)]
    inside = {one.function for detail in details for one in detail.inside}
    clause = _quoted(clause, inside | {variable.name for variable in suspect.variables})
    name = f"`{name if len(name) <= _READABLE else without_template_arguments(name)}`"
    if clause.startswith(_IT):
        return f"{name} {clause.removeprefix(_IT)}"
    return f"{name}: {clause[:1].lower()}{clause[1:]}" if clause else name


def _clause(sentence: str) -> str:
    """Up to where details begin."""
    end = _DETAILS.search(sentence, 1)
    return sentence[: end.start() if end else len(sentence)].rstrip(".")


def _goes_back(suspect: Suspect, said: str) -> str:
    """Who set what decides, where that was followed back and is not what was said already: what is proven is the
    reason, unless it has no name; without a proof, ranges on both sides say nothing."""
    origin = suspect.origin
    proven = next((one for one in suspect.proofs if one.is_settled and not one.is_part), None)
    turned = None if origin is None or origin.turn is None else origin.hops[origin.turn]
    place = proven or turned
    if origin is None or place is None:
        return ""
    if f"`{place.what}`" in said and f"`{place.function}`" in said:
        return ""
    set_there, values = f"`{place.what}` in `{place.function}`", f"{place.bad}, was {place.good}"
    if proven is not None:
        return f", because {set_there} is {values}"
    if _RANGE.fullmatch(place.bad) and _RANGE.fullmatch(place.good):
        return ""
    return f"; this goes back to {set_there}, which is {values}"
