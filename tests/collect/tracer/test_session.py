"""Whom a trace session asks /proc about."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from whyperf.collect.tracer import session
from whyperf.collect.tracer.facts_file import FactsFile
from whyperf.collect.tracer.session import TraceSession, TraceWanted
from whyperf.collect.tracer.traced import RECORD
from whyperf.recording.schemas.events import EventKind

_PID = 77


def _events(*kinds: EventKind) -> bytes:
    records = np.zeros(len(kinds), RECORD)
    records["kind"], records["pid"], records["tid"] = kinds, _PID, _PID
    return records.tobytes()


def test_a_number_is_asked_about_again_after_its_process_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("whyperf.collect._tracer")
    asked: list[int] = []
    monkeypatch.setattr(session, "open_tracer", lambda *_: None)
    monkeypatch.setattr(session, "read_process", asked.append)
    tracing = TraceSession(TraceWanted("tree", queues=False))
    tracing._facts = FactsFile(tmp_path / "facts")
    # GIVEN a process that is met and ends within one look at the rings
    tracing._look(_events(EventKind.SWITCH, EventKind.EXIT))
    # WHEN another one gets its number, THEN /proc is asked again, once
    tracing._look(_events(EventKind.SWITCH))
    tracing._look(_events(EventKind.SWITCH))
    tracing._facts.close()
    assert asked == [_PID, _PID]
