"""What the functions' data say, as claims beside those of their time."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import PurePath

from whyperf.diagnose.joining.claims import Claim, claims_of
from whyperf.diagnose.joining.suspects import to_suspects
from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.diagnose.verdict import AbnormalVariable, ValueSpread
from whyperf.engines.excess.findings import ENGINE as EXCESS
from whyperf.engines.finding import Finding
from whyperf.engines.values.compare import Values
from whyperf.engines.values.findings import ShownSpread, ShownVariable, findings, set_otherwise, shown, shown_globals
from whyperf.recording.names.identity import FunctionKey

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

    def claims(self, functions: Collection[FunctionKey], settings: DiagnoseSettings) -> Iterator[Claim]:
        """About these functions: their time was divided in the light of these values already."""
        found = [self.findings[key] for key in functions if key in self.findings]
        plain = to_suspects(found, fewest_runs=1, doubtful=True, settings=settings)
        for finding, claim in zip(found, claims_of(found, plain), strict=True):
            variables = tuple(to_variable(one) for one in shown(self.values, finding.function))
            suspect = replace(claim.suspect, variables=variables)
            yield replace(claim, suspect=suspect, preface=finding.why, counted_in=EXCESS)

    def notes_beside(self, functions: Collection[FunctionKey]) -> list[str]:
        """What was set otherwise in functions other than these: their mistakes may be paid for by them."""
        return [
            f"Elsewhere, in {function.name} ({_place(one)}): {one.sentence}"
            for function, one in set_otherwise(self.values, functions)
        ]


def _place(one: ShownVariable) -> str:
    name = PurePath(one.file).name
    return f"{name}:{one.lines[0].line}" if one.lines else name


def gather(values: Values) -> Data:
    return Data(values, {finding.function: finding for finding in findings(values)})


def to_variable(one: ShownVariable) -> AbnormalVariable:
    return AbnormalVariable(
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
        file=one.file,
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
            f"One value per run, another in the bad run: {named}{more}. More runs of each kind would separate "
            f"settings from process ids."
        )
    return notes
