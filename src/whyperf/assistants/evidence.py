"""What recordings say of a suspect, a function or a variable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from whyperf.assistants.results import ChangedVariable, ExplanationResult, NextCall, Recordings, ResultSuspect
from whyperf.assistants.summary import naming, source_calls, suspect_of
from whyperf.assistants.verdict_file import read_verdict
from whyperf.diagnose.diagnosis import Diagnosis, examine
from whyperf.diagnose.explanations import explain as explain_function
from whyperf.diagnose.recording_kinds import are_deep
from whyperf.diagnose.verdict import Suspect, Verdict
from whyperf.engines.quantities import percent
from whyperf.engines.values.compare import Values
from whyperf.engines.values.explain import VariableExplanation, explain_variable
from whyperf.engines.values.findings import ShownVariable, described
from whyperf.errors import WhyperfError
from whyperf.recording.names.identity import FunctionKey
from whyperf.recording.sealed.reader import Recording
from whyperf.report.json import to_json
from whyperf.seal.opening import open_recording

_SENTENCES = 20
_VARIABLES = 8


@dataclass(frozen=True)
class ExplainedSubject:
    """What to explain: one of them is given."""

    suspect: int | None = None
    function: str | None = None
    variable: str | None = None


def explain(recordings: Recordings, subject: ExplainedSubject) -> ExplanationResult:
    opened = _opened(recordings)
    if subject.suspect is not None:
        return _of_suspect(recordings, opened, subject.suspect)
    diagnosis = _diagnosed(opened)
    if subject.function is not None:
        return _of_function(recordings, diagnosis, subject.function)
    return _of_variable(recordings, diagnosis, subject.variable or "")


@dataclass(frozen=True)
class _Opened:
    good: list[Recording]
    bad: list[Recording]


def _opened(recordings: Recordings) -> _Opened:
    good, bad = ([open_recording(Path(path)) for path in side] for side in (recordings.good, recordings.bad))
    return _Opened(good, bad)


def _diagnosed(opened: _Opened) -> Diagnosis:
    if not opened.good or are_deep([*opened.good, *opened.bad]):
        raise WhyperfError(
            "Functions and variables are explained from sampled recordings of good and bad runs; of these recordings "
            "only suspects are.",
            "whyperf compare --good COMMAND --bad COMMAND",
        )
    return examine(opened.good, opened.bad, keep_accounts=True)


def _of_suspect(recordings: Recordings, opened: _Opened, rank: int) -> ExplanationResult:
    diagnosis = None
    if not opened.good:
        from whyperf.diagnose.causes import examine_stall

        verdict = examine_stall(opened.bad[0])
    elif are_deep([*opened.good, *opened.bad]):
        from whyperf.diagnose.relations import examine_deep

        verdict = examine_deep(opened.good, opened.bad)
    else:
        diagnosis = _diagnosed(opened)
        verdict = diagnosis.verdict
    if not 0 < rank <= len(verdict.suspects):
        known = f"there are {len(verdict.suspects)}" if verdict.suspects else "there is none"
        raise WhyperfError(f"There is no suspect {rank}: {known}.", "whyperf diagnose GOOD BAD")
    suspect = suspect_of(read_verdict(to_json(verdict)).suspects[rank - 1])
    said = _evidence(verdict, rank)
    if diagnosis is not None and diagnosis.excess is not None:
        known_of = explain_function(diagnosis, suspect.function)
        said += [sentence for one in known_of if one.function.module == suspect.module for sentence in one.sentences]
    around = (
        [] if diagnosis is None or diagnosis.values is None else _around(diagnosis.values, verdict.suspects[rank - 1])
    )
    following = source_calls(suspect, recordings) if recordings.good else []
    following += [_variable_call(one.name, recordings) for one in (*suspect.variables, *around)[:1]]
    return _explanation(f"suspect {rank}, {suspect.function}", said, suspect, around, following)


def _around(values: Values, suspect: Suspect) -> list[ChangedVariable]:
    """Abnormal variables of its callers, and globals: what it was given."""
    callers = set(suspect.path) - {suspect.function}
    found = [one for one in values.abnormal if one.function is None or one.function.name in callers]
    return [_changed(one.function, described(values, one)) for one in found[:_VARIABLES]]


def _evidence(verdict: Verdict, rank: int) -> list[str]:
    """What the engines measured."""
    suspect = verdict.suspects[rank - 1]
    said = [
        f"Named by {one.engine} as #{one.rank}" + (f": {one.why}" if one.why and one.why not in suspect.why else ".")
        for one in suspect.evidence
    ]
    for line in suspect.lines:
        if line.share > 0:
            text = f": {line.text.strip()}" if line.text.strip() else ""
            said.append(f"{percent(line.share)} of it is at line {line.line}{text}")
    if suspect.decided_by:
        said.append(f"The condition at line {suspect.decided_by} decides that it is reached.")
    if suspect.change is not None:
        changed = [one for hunk in suspect.change.hunks for one in hunk if one.build != "both"]
        said += [f"Only the {one.build} build has line {one.line}: {one.text.strip()}" for one in changed]
    said += [variable.sentence for variable in suspect.variables if variable.sentence]
    return said


def _of_function(recordings: Recordings, diagnosis: Diagnosis, name: str) -> ExplanationResult:
    found = explain_function(diagnosis, name)
    said = [
        f"{one.function.name} in {one.function.module}: {sentence}" if len(found) > 1 else sentence
        for one in found
        for sentence in one.sentences
    ]
    ranked = [one for one in diagnosis.verdict.suspects if one.function in {each.function.name for each in found}]
    suspect = None
    if ranked:
        suspect = suspect_of(read_verdict(to_json(diagnosis.verdict)).suspects[ranked[0].rank - 1])
    source = NextCall("source_of", {"place": name, **naming(recordings)}, "its source, with the time of each line")
    known = diagnosis.excess is not None and any(
        diagnosis.excess.index.functions[one.account.function].file for one in found
    )
    return _explanation(f"function {name}", said, suspect, [], [source] if known else [])


def _of_variable(recordings: Recordings, diagnosis: Diagnosis, name: str) -> ExplanationResult:
    if diagnosis.values is None:
        raise WhyperfError("These recordings hold no values of variables that could be compared.", "whyperf info GOOD")
    found = explain_variable(diagnosis.values, name)
    if not found:
        raise WhyperfError(f"No variable called {name} was read in any run.", "whyperf diagnose GOOD BAD --top 50")
    said = [f"{_owner(one)}: {one.sentence}" for one in found]
    shown = [one for one in found if one.abnormal is not None][:_VARIABLES]
    variables = [_changed(one.function, one.abnormal) for one in shown if one.abnormal is not None]
    following = [
        NextCall("source_of", {"place": f"{one.abnormal.file}:{line.line}", **naming(recordings)}, "where it was read")
        for one in shown[:1]
        if one.abnormal is not None
        for line in one.abnormal.lines[:1]
    ]
    return _explanation(f"variable {name}", said, None, variables, following)


def _changed(function: FunctionKey | None, shown: ShownVariable) -> ChangedVariable:
    owner = "" if function is None else function.name
    return ChangedVariable(shown.name, owner, shown.good.text, shown.bad.text, shown.sentence)


def _owner(one: VariableExplanation) -> str:
    return f"{one.name} (global)" if one.function is None else f"{one.name} of {one.function.name}"


def _variable_call(name: str, recordings: Recordings) -> NextCall:
    return NextCall("explain", {"variable": name, **naming(recordings)}, f"where {name} differs")


def _explanation(
    subject: str,
    said: Sequence[str],
    suspect: ResultSuspect | None,
    variables: list[ChangedVariable],
    following: list[NextCall],
) -> ExplanationResult:
    told = list(dict.fromkeys(said))
    return ExplanationResult(subject, told[:_SENTENCES], len(told[_SENTENCES:]), suspect, variables, following)
