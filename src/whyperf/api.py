"""whyperf from Python: recordings are opened and compared, and show themselves in notebooks.

    import whyperf

    answer = whyperf.diagnose("good", "bad")              # paths, or lists of them
    answer.suspects[0].function, answer.suspects[0].line
    whyperf.open("bad").table("samples").to_pandas()      # any table of a recording, as Arrow

What is named here stays; everything else in the package may change.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from rich.console import Console

from whyperf.diagnose.diagnosis import examine
from whyperf.diagnose.engine_claims.values import Method
from whyperf.diagnose.recording_kinds import are_deep, parted
from whyperf.diagnose.verdict import Suspect, Symptom, Verdict, VerdictKind
from whyperf.errors import not_created
from whyperf.recording.compared import compared_in
from whyperf.recording.distinct import refuse_same
from whyperf.recording.safe_files.limits import MOST_ROWS
from whyperf.recording.sealed.reader import Recording
from whyperf.recording.symptom import parse_symptom
from whyperf.report.html.build import page_model
from whyperf.report.html.examined import Examined
from whyperf.report.html.notebook import first_screen
from whyperf.report.html.page import render as render_page
from whyperf.report.json import to_json
from whyperf.report.terminal import render
from whyperf.seal.opening import open_recording

__all__ = ["Answer", "Recording", "Suspect", "Symptom", "Verdict", "VerdictKind", "compared", "diagnose", "open"]

Paths = str | PathLike[str] | Recording | Iterable[str | PathLike[str] | Recording]

_WIDTH = 110


@dataclass(frozen=True)
class Answer:
    """A verdict that shows itself."""

    verdict: Verdict
    _examined: Examined = field(repr=False, compare=False)

    @property
    def suspects(self) -> tuple[Suspect, ...]:
        return self.verdict.suspects

    @property
    def symptom(self) -> Symptom:
        return self.verdict.symptom

    def to_dict(self) -> dict[str, Any]:
        """What `--json` writes."""
        plain: dict[str, Any] = json.loads(self.to_json())
        return plain

    def to_json(self) -> str:
        return to_json(self.verdict)

    def to_html(self) -> str:
        """What `--html` writes: one file that needs no other."""
        return render_page(page_model(self.verdict, self._examined))

    def page(self, path: str | PathLike[str]) -> Path:
        """Writes the page, and returns where it is."""
        target = Path(path).absolute()
        try:
            target.write_text(self.to_html(), encoding="utf-8")
        except OSError as error:
            raise not_created(target, error) from None
        return target

    def __str__(self) -> str:
        return _console(self).export_text()

    def _repr_html_(self) -> str:
        """The page's first screen, for notebooks."""
        return first_screen(self.verdict, self._examined)


def open(path: str | PathLike[str], *, max_rows: int = MOST_ROWS) -> Recording:
    """A recording; one that was not sealed yet is sealed first. Tables of more than `max_rows` rows are refused."""
    return open_recording(Path(path), max_rows=max_rows)


def compared(folder: str | PathLike[str]) -> tuple[list[Recording], list[Recording]]:
    """The good and the bad recordings in a folder that `whyperf compare` made."""
    good, bad = compared_in(Path(folder))
    return [open(path) for path in good], [open(path) for path in bad]


def diagnose(good: Paths, bad: Paths, *, method: str = "sound", symptom: str | None = None) -> Answer:
    """Why the bad recordings are slower than the good ones.

    `method`: "sound", "paper" (vProf's published calibration) or "none" (pass over values). `symptom`: what deep
    recordings shall explain, as `--symptom` takes it.
    """
    sides = list(_recordings(good)), list(_recordings(bad))
    refuse_same(*([one.path for one in side] for side in sides))
    if are_deep([*sides[0], *sides[1]]):
        from whyperf.diagnose.relations import examine_deep  # compiled code, for those few who have counted

        verdict = examine_deep(*sides, None if symptom is None else parse_symptom(symptom))
        return Answer(verdict, Examined(*sides))
    diagnosis = examine(*sides, method=Method(method))
    sampled = parted(*sides).sampled
    return Answer(diagnosis.verdict, Examined(sampled.good, sampled.bad, diagnosis.excess, diagnosis.values))


def _recordings(paths: Paths) -> Iterator[Recording]:
    several: Iterable[str | PathLike[str] | Recording]
    several = [paths] if isinstance(paths, str | PathLike | Recording) else paths
    for one in several:
        yield one if isinstance(one, Recording) else open(one)


def _console(answer: Answer) -> Console:
    console = Console(file=io.StringIO(), width=_WIDTH, record=True, force_terminal=True, highlight=False, markup=False)
    for part in render(answer.verdict, _WIDTH):
        console.print(part, soft_wrap=True)
    return console
