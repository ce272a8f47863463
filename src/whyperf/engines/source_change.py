"""What differs in the source of a function whose code differs between two builds, from what recordings hold of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from whyperf.engines.finding import SourceChange
from whyperf.engines.function_text import FunctionText, function_text
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Run, ints, source_lines
from whyperf.engines.text_diff import differences, nearest

_MOST_LINES = 8


def source_change(index: FunctionIndex, function: int, near: Collection[int]) -> SourceChange | None:
    """Lines that differ, rather those near to these of the bad build. None where a text is not known."""
    good, bad = (_declared(index, runs, function) for runs in (index.good, index.bad))
    return nearest(differences(good.text, bad.text), near, _MOST_LINES) if good and bad else None


def is_same_file(index: FunctionIndex, function: int) -> bool:
    """Whether the source file of a function was the same when both builds were recorded."""
    good, bad = (_declared(index, runs, function) for runs in (index.good, index.bad))
    return good is not None and bad is not None and good.digest == bad.digest != ""


def is_old_text(index: FunctionIndex, function: int) -> bool:
    """Whether a function stands in a source file that is what it was. A build may have left it out by a setting, or
    have had no use of a template for such a type."""
    bad = _declared(index, index.bad, function)
    return bad is not None and bad.digest in index.builds.common_texts


@dataclass(frozen=True)
class _Declared:
    """A function in one build: where it is declared, and who used that build."""

    run: Run
    file: str
    line: int
    users: Sequence[Run]

    @property
    def digest(self) -> str:
        """Of the whole file; empty where nothing of it is stored."""
        return next((run.source_digest[self.file] for run in self.users if self.file in run.source_digest), "")

    @property
    def text(self) -> FunctionText:
        table = self.run.recording.table("functions")
        same_file = table.filter(pc.equal(table.column("file"), pa.scalar(self.file)))
        others = set(ints(same_file, "line")) - {self.line}
        return function_text(source_lines(self.users, self.file), self.line, others)


def _declared(index: FunctionIndex, runs: Sequence[Run], function: int) -> _Declared | None:
    """As the first run has it whose build is known to declare it."""
    module, builds = index.functions[function].key.module, index.builds
    for run in runs:
        if (place := index.declaration(run, function)) is not None:
            users = [one for one in runs if builds.of(one, module) == builds.of(run, module)]
            return _Declared(run, *place, users)
    return None
