"""What the suspects' data say, joined with what their time says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from whyperf.diagnose.verdict import Evidence, Suspect, ValueSpread, Variable
from whyperf.engines.finding import Finding
from whyperf.engines.values.compare import Values
from whyperf.engines.values.findings import ShownSpread, ShownVariable, findings, shown, shown_globals
from whyperf.engines.values.patterns import UNKNOWN, WRONG_CONSTRAINT
from whyperf.recording.identity import FunctionKey

_NEW_PATH = "new-path"
_NAMED = 3  # variables named in a note


class Method(Enum):
    """What to make of recorded values."""

    SOUND = "sound"
    PAPER = "paper"  # the published calibration, to be compared with
    NONE = "none"


@dataclass(frozen=True)
class Data:
    """What the values engine found, by function."""

    values: Values
    findings: dict[FunctionKey, Finding]


def gather(values: Values) -> Data:
    return Data(values, {finding.function: finding for finding in findings(values)})


def join(suspects: Sequence[Suspect], functions: Sequence[FunctionKey], data: Data) -> tuple[Suspect, ...]:
    """`functions` are those of the suspects."""
    return tuple(
        suspect if (finding := data.findings.get(key)) is None else _joined(suspect, key, finding, data)
        for suspect, key in zip(suspects, functions, strict=True)
    )


def _joined(suspect: Suspect, key: FunctionKey, finding: Finding, data: Data) -> Suspect:
    return replace(
        suspect,
        pattern=_pattern(suspect.pattern, finding.pattern),
        why=f"{finding.why} {suspect.why}",
        variables=tuple(to_variable(one) for one in shown(data.values, key)),
        evidence=(*suspect.evidence, Evidence(finding.engine, finding.rank, finding.score, finding.detail)),
    )


def _pattern(time: str, data: str) -> str:
    """A new path is a fact; that a flipped condition leads there explains it."""
    if data == UNKNOWN or time not in (UNKNOWN, _NEW_PATH):
        return time
    return data if time == UNKNOWN or data == WRONG_CONSTRAINT else time


def to_variable(one: ShownVariable) -> Variable:
    return Variable(
        name=one.name,
        good=one.good.text,
        bad=one.bad.text,
        dimension=one.dimension.value,
        lines=tuple(line.line for line in one.lines),
        type=one.type,
        sentence=one.sentence,
        distance=one.distance,
        good_spread=_spread(one.good),
        bad_spread=_spread(one.bad),
        read_at=one.lines,
    )


def _spread(spread: ShownSpread) -> ValueSpread:
    return ValueSpread(spread.typical, spread.histogram)


def data_notes(data: Data) -> list[str]:
    notes = [f"Global variable: {one.sentence}" for one in shown_globals(data.values)]
    constants = list(dict.fromkeys(variable.name for variable in data.values.run_constants))
    if constants:
        named = ", ".join(constants[:_NAMED])
        more = f" and {len(constants) - _NAMED} more" if len(constants) > _NAMED else ""
        notes.append(
            f"One value per run, another in the bad run: {named}{more}. Several runs of each kind would tell settings "
            f"from process ids."
        )
    return notes
