"""What is said before a zoom is recorded."""

from __future__ import annotations

import pytest

from whyperf.cli.zoom_planning import _refuse_too_large
from whyperf.collect.dependences.memory import EXECUTION_BYTES, available_bytes
from whyperf.errors import WhyperfError
from whyperf.recording.zoom import ZoomPlan


def test_a_zoom_that_nobody_could_read_is_refused_before_it_is_recorded():
    too_many = available_bytes() // EXECUTION_BYTES * 2
    with pytest.raises(WhyperfError, match="Give the program less to do"):
        _refuse_too_large(ZoomPlan("line:a.c:3", (), expected=too_many))
    _refuse_too_large(ZoomPlan("line:a.c:3", (), expected=1000))
