"""Redis' own tests come to the same results however they are watched: sampled, counted, or with values observed.

`make bench-transparency` does the same with more of them, and with coreutils', which take minutes to build.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from bench.cache import SubjectError
from bench.suites import redis_suite
from bench.watching import unwatched, watched_by

from tests.patience import PATIENCE_S


@pytest.mark.long
@pytest.mark.parametrize("way", ["record", "memory", "counts", "observed"])
def test_same_results(recording: Path, way: str) -> None:
    # GIVEN a project's test suite that passes on this machine
    if shutil.which("tclsh") is None:
        pytest.skip("redis' tests need tclsh")
    try:
        suite = redis_suite()
    except SubjectError as error:
        pytest.skip(str(error))
    plain = unwatched(suite.command, suite.folder, timeout=PATIENCE_S)
    assert len(suite.outcomes(plain)) >= 60, plain
    # WHEN the same tests run with everything they start watched
    seen, missing = watched_by(way, suite.command, suite.folder, recording, programs=suite.programs, timeout=PATIENCE_S)
    # THEN every single test comes to the same result
    assert suite.outcomes(seen) == suite.outcomes(plain)
    assert seen.status == plain.status and not missing
