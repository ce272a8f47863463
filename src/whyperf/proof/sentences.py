"""What a trial has shown, in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from whyperf.diagnose.measured.measure_names import measure_name
from whyperf.diagnose.origin import ProofFinding, ProofMeans, Share
from whyperf.engines.quantities import seconds
from whyperf.proof.guards import Checked, GuardReason
from whyperf.proof.judging import ProofJudgement, StoppedRun


@dataclass(frozen=True)
class ProofClaim:
    """What is said to be the cause, as reports name it."""

    function: str
    module: str
    file: str
    line: int
    what: str  # `size_window()`, `batch`
    good: str  # values as people write them
    bad: str
    from_outside: bool = False  # the value comes straight from an option, a file, a socket
    is_made: bool = False  # it does not: the program makes it right where it reads the input
    means: ProofMeans = ProofMeans.VALUE
    in_order: bool = False  # its values change from call to call
    is_part: bool = False  # what is forced is a nameless part of it


_HARDLY = 0.05


@dataclass(frozen=True)
class _Words:
    """How a trial is told."""

    forced: str  # with what in the bad run
    own: str  # the same with its own
    reverse: str  # the other way round
    other: str  # what is put in
    reverse_fails: str = "is not possible, or makes it do other work"


def _function_words(claim: ProofClaim) -> _Words:
    return _Words(
        f"with the good build's {claim.what} in the bad program",
        "moving its own function in the same way",
        "the bad build's function in the good program",
        "function is put in",
    )


def _variable_words(claim: ProofClaim) -> _Words:
    values = [f" ({value})" if value else "" for value in (claim.good, claim.bad)]
    return _Words(
        f"with {claim.what} beginning as in the good build{values[0]} in the bad program",
        "writing its own value there in the same way",
        f"beginning as in the bad build{values[1]} in the good program",
        "value is put in",
    )


def _hunk_words(claim: ProofClaim) -> _Words:
    return _Words(
        f"with the change at {claim.what} taken back",
        "building it again as it is",
        "the change alone in the good program",
        "change is taken back",
        "does not build, or does other work",
    )


def _spread_words(claim: ProofClaim) -> _Words:
    return _Words(
        f"with the numbers of {_part_of(claim)} spread evenly in the bad run, where equal ones stay equal",
        "writing back its own numbers",
        "making them as few in the good run",
        "number is put in",
    )


def _decision(claim: ProofClaim) -> str:
    line = f" (line {claim.line})" if claim.line else ""
    return f"`{claim.what}` in {claim.function}{line}" if claim.function else f"`{claim.what}`{line}"


def later_decisions(claims: Sequence[ProofClaim]) -> str:
    """What is said of those that remove the excess as well, after the first one's sentence."""
    if not claims:
        return ""
    listed = "; ".join(map(_decision, claims))
    return f" Later decisions that also remove most of the excess, forced alone in one run: {listed}."


def _decision_words(claim: ProofClaim) -> _Words:
    return _Words(
        f"with {_decision(claim)} forced to the good run's branch in the bad run",
        "rewriting its jump unchanged",
        "forcing the bad run's branch in the good run",
        "decision is forced",
    )


_WORDS: dict[ProofMeans, Callable[[ProofClaim], _Words]] = {
    ProofMeans.FUNCTION: _function_words,
    ProofMeans.VARIABLE: _variable_words,
    ProofMeans.HUNK: _hunk_words,
    ProofMeans.SPREAD: _spread_words,
    ProofMeans.DECISION: _decision_words,
}


def _part_of(claim: ProofClaim) -> str:
    return f"a part of `{claim.what}`" if claim.is_part else f"`{claim.what}`"


def _words(claim: ProofClaim) -> _Words:
    if claim.means in _WORDS:
        return _WORDS[claim.means](claim)
    what = _part_of(claim)
    if claim.in_order:
        return _Words(
            f"with {what} forced to the good run's values in the bad run, each time to the one of the same call",
            "writing back its own values",
            "forcing the bad run's values in the good run",
            "value is forced",
        )
    return _Words(
        f"with {what} forced to {claim.good} in the bad run",
        "writing back its own value",
        f"forcing {claim.bad} in the good run",
        "value is forced",
    )


_REASONS = {
    GuardReason.TOO_FEW: "there was no time for enough runs, or no more were allowed",
    GuardReason.NO_EXCESS: "the runs of this trial do not differ enough: the {measure} of bad runs is hardly higher "
    "than that of good runs, or not in every run",
    GuardReason.CRASHED: "{forced}, it crashes",
    GuardReason.ALWAYS_CRASHES: "{crashes}",
    GuardReason.STOPPED: "{forced}, it did not end{stopped}",
    GuardReason.FAILED: "{forced}, it no longer serves its load",
    GuardReason.NOT_MEASURED: "not every run reports its {measure}",
    GuardReason.FRAGILE: "the program does not end alike in every run, even where no other {other}",
    GuardReason.OUTPUT: "{forced}, the output changes",
    GuardReason.WORK: "{forced}, another number of units of work is done",
    GuardReason.SHAM: "already {own} changes the time, by {sham} of the excess",
    GuardReason.UNDECIDED: "the runs vary too much: {forced}, {removed} of the excess is gone",
}


NOT_IN_A_REGISTER = "it is only in memory or in a vector register, where whyperf cannot change it"


_PERHAPS_ASKED = "so this may be what the program is asked to do rather than a mistake"
_NOT_REACHED = "this place is not reached in good runs, so that nothing could be forced there"


def crashes_anyway(crashes: str, who: str = "it") -> str:
    """`crashes`: as `always_crashes` has it."""
    return f"{who} ends {crashes}, so a forced crash could not be told from its own"


def was_not_forced(claim: ProofClaim, why: str) -> str:
    where = f" in {claim.function}" if claim.function else ""
    return f"`{claim.what}`{where} was not forced: {why}."


def was_not_spread(claim: ProofClaim, why: str) -> str:
    where = f" in {claim.function}" if claim.function else ""
    return f"the numbers of `{claim.what}`{where} were not spread evenly: {why}."


def sentence_of(claim: ProofClaim, judgement: ProofJudgement, measure: str) -> str:
    """`measure`: what the runs are compared by."""
    shares, words = judgement.shares, _words(claim)
    if judgement.finding is ProofFinding.NOT_TESTABLE:
        assert judgement.reason is not None
        said = _REASONS[judgement.reason].format(
            forced=words.forced,
            own=words.own,
            other=words.other,
            measure=measure_name(measure),
            sham=in_percent(shares.sham) if shares else "",
            removed=in_percent(shares.removed) if shares else "",
            crashes=crashes_anyway(judgement.crashes),
            stopped=_in_time(judgement.stopped),
        )
        return f"Not testable: {said}."
    assert shares is not None
    gone = f"{in_percent(shares.removed)} of the excess is gone"
    if judgement.finding is ProofFinding.REFUTED:
        return f"Refuted: {words.forced}, {gone}."
    if judgement.finding is ProofFinding.TRIGGER:
        return f"Trigger: {words.forced}, {gone}, but {_why_trigger(claim, judgement)}."
    word = "Proven" if judgement.finding is ProofFinding.PROVEN else "Supported"
    parts = [gone, _sham(words, shares.sham), _reverse(words, judgement)]
    return f"{word}: {words.forced}, {'; '.join(parts)}.{_checked(judgement.checked)}"


def _why_trigger(claim: ProofClaim, judgement: ProofJudgement) -> str:
    is_decision = claim.means is ProofMeans.DECISION
    is_handed_on = claim.from_outside and not claim.is_made
    if is_handed_on and not is_decision:
        return "it comes straight from outside: this is the input that differs, not the mistake"
    if is_handed_on:
        return f"its condition tests a value that comes straight from outside, {_PERHAPS_ASKED}"
    if judgement.becomes_good:
        return f"with it, the program's output becomes the good run's, {_PERHAPS_ASKED}"
    if is_decision:
        return f"its condition tests a value that is made directly from the input, {_PERHAPS_ASKED}"
    return f"it is made directly from the input, {_PERHAPS_ASKED}"


def _in_time(stopped: StoppedRun | None) -> str:
    if stopped is None:
        return " in time"
    return f" within {seconds(stopped.limit_s)} (the bad run takes {seconds(stopped.bad_s)})"


def _sham(words: _Words, share: Share) -> str:
    if share.low <= 0 <= share.high:
        return f"{words.own} changes nothing"
    change = in_percent(share) if share.value >= 0 else in_percent(Share(-share.value, -share.high, -share.low))
    verb = "removes" if share.value >= 0 else "adds"
    return f"{words.own} {verb} {'only ' if abs(share.value) < _HARDLY else ''}{change}"


def _reverse(words: _Words, judgement: ProofJudgement) -> str:
    assert judgement.shares is not None
    if not judgement.reverse_reached:
        return _NOT_REACHED
    if not judgement.reverse_counts:
        return f"{words.reverse} {words.reverse_fails}"
    return f"{words.reverse} makes {in_percent(judgement.shares.reverse)} of it"


def _checked(checked: Checked) -> str:
    if checked is Checked.SHAPE:
        return " Its output differs from run to run in numbers; the rest of it is the same."
    if checked is Checked.SILENT:
        return " It prints nothing that shows that the same work was done: name its output files with --output-file."
    if checked is Checked.NOTHING:
        return " Its output differs from run to run, so nothing shows that the same work was done."
    return ""


def in_percent(share: Share) -> str:
    value, low, high = (round(100 * number) for number in (share.value, share.low, share.high))
    return f"{value}%" if low == high else f"{value}% ({low} to {high}%)"
