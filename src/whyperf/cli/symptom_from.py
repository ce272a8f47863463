"""The symptom of a deep comparison, from ordinary recordings of the same program: where most of the time is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from whyperf.errors import WhyperfError
from whyperf.recording.compared import compared_in
from whyperf.recording.distinct import refuse_same
from whyperf.recording.symptom import SymptomKind, SymptomSpec

if TYPE_CHECKING:
    from whyperf.diagnose.verdict import Suspect
    from whyperf.recording.sealed.reader import Recording

_AGAIN = "whyperf compare --good COMMAND --bad COMMAND -o FOLDER"


@dataclass(frozen=True)
class ChosenSymptom:
    spec: SymptomSpec
    note: str


def costliest(paths: Sequence[Path], is_known: Callable[[SymptomSpec], bool]) -> ChosenSymptom:
    """Instructions of the suspect that explains most, among those that the deep recordings can tell of; of all
    functions where there is none."""
    from whyperf.diagnose.diagnosis import examine
    from whyperf.diagnose.recording_kinds import are_deep

    good, bad = _sides(paths)
    if are_deep([*good, *bad]):
        raise WhyperfError(
            f"{paths[0]} holds deep recordings; the symptom is taken from ordinary ones.", _AGAIN, status=2
        )
    found = _first_known(examine(good, bad).verdict.suspects, is_known)
    if found is None:
        note = f"{paths[0]} names no suspect of which this program can be asked: all instructions are compared."
        return ChosenSymptom(SymptomSpec(SymptomKind.INSTRUCTIONS), note)
    suspect, spec = found
    note = f"The symptom is {spec}: {suspect.function} explains most of what {paths[0]} shows ({suspect.share:.0%})."
    return ChosenSymptom(spec, note)


def known_in(recordings: Iterable[Recording]) -> Callable[[SymptomSpec], bool]:
    """Whether deep recordings hold code of the function."""
    import numpy as np
    import pyarrow as pa

    from whyperf.engines.relations.changed_relations.symptoms import is_called

    names: set[str] = set()
    for one in recordings:
        rows = np.unique(one.table("sites").column("function").to_numpy())
        chosen = one.table("functions").column("name").take(pa.array(rows[rows >= 0]))
        names |= {str(name) for name in chosen.to_pylist()}
    return lambda spec: any(is_called(name, spec.name) for name in names)


def _sides(paths: Sequence[Path]) -> tuple[list[Recording], list[Recording]]:
    from whyperf.seal.opening import open_recording

    if len(paths) > 2:
        sentence = "--symptom-from takes a folder that compare made, or a good and a bad recording."
        raise WhyperfError(sentence, _AGAIN, status=2)
    good, bad = ([paths[0]], [paths[1]]) if len(paths) == 2 else compared_in(paths[0])
    refuse_same(good, bad)
    if not good or not bad:
        raise WhyperfError(f"{paths[0]} does not hold good and bad recordings.", _AGAIN)
    return [open_recording(path) for path in good], [open_recording(path) for path in bad]


def _first_known(
    suspects: Sequence[Suspect], is_known: Callable[[SymptomSpec], bool]
) -> tuple[Suspect, SymptomSpec] | None:
    for suspect in sorted(suspects, key=lambda one: (-one.share, one.rank)):
        spec = SymptomSpec(SymptomKind.INSTRUCTIONS, suspect.function)
        if suspect.function and is_known(spec):
            return suspect, spec
    return None
