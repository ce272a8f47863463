"""The plan of a zoom: what two sketches say is worth recording instruction by instruction. A JSON file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from whyperf.errors import WhyperfError
from whyperf.recording.names.identity import FunctionKey
from whyperf.recording.safe_files.dataclass_json import MisfitError, from_plain, to_plain
from whyperf.recording.safe_files.limits import MOST_JSON_BYTES
from whyperf.recording.safe_files.regular_files import read_regular
from whyperf.recording.safe_files.storage import write_atomically
from whyperf.recording.symptom import SymptomSpec, parse_symptom

ZOOM_FORMAT = 1
_NAMED = 3


@dataclass(frozen=True)
class ZoomPlan:
    symptom: str
    """As `--symptom` takes it."""
    functions: tuple[FunctionKey, ...]
    """Of which every instruction is recorded, by identity: the plan serves builds that differ."""
    left_out: tuple[FunctionKey, ...] = ()
    """Functions of the program's own that are executed too much to be recorded, the costliest first."""
    expected: int = 0
    """How many executions to expect, at most, in one run."""
    format: int = ZOOM_FORMAT

    @property
    def spec(self) -> SymptomSpec:
        return parse_symptom(self.symptom)


def some_of(names: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def write_plan(path: Path, plan: ZoomPlan) -> None:
    try:
        write_atomically(path, (json.dumps(to_plain(plan), indent=1) + "\n").encode())
    except OSError as error:
        raise WhyperfError(f"{path} cannot be written: {error.strerror}.", f"df -h {path.parent}") from error


def read_plan(path: Path) -> ZoomPlan:
    again = "whyperf diagnose GOOD BAD"
    try:
        plan = from_plain(ZoomPlan, json.loads(read_regular(path, MOST_JSON_BYTES, follow=True)))
    except OSError as error:
        raise WhyperfError(f"The plan {path} cannot be read: {error.strerror}.", again) from None
    except (ValueError, RecursionError) as error:
        why = str(error) if isinstance(error, MisfitError) else "it is not JSON"
        raise WhyperfError(f"{path} is no plan of a zoom: {why}.", again) from None
    if plan.format > ZOOM_FORMAT:
        raise WhyperfError(f"The plan {path} was made by a newer whyperf.", "pip install --upgrade whyperf")
    if not plan.functions:
        raise WhyperfError(f"The plan {path} names no function to zoom into.", again)
    parse_symptom(plan.symptom)
    return plan
