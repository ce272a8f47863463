"""Redis' own tests come to the same results, watched at 1000 Hz and not, with and without its allocations.

`make bench-transparency` does the same with more of them, and with coreutils', which take minutes to build.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from bench.cache import SubjectError
from bench.suites import redis_suite
from bench.transparency import MEMORY
from bench.watching import unwatched, watched

from tests.patience import PATIENCE_S


@pytest.mark.long
@pytest.mark.parametrize("options", [(), MEMORY], ids=["sampling", "memory"])
def test_same_results(recording: Path, options: tuple[str, ...]) -> None:
    # GIVEN a project's test suite that passes on this machine
    if shutil.which("tclsh") is None:
        pytest.skip("redis' tests need tclsh")
    try:
        suite = redis_suite()
    except SubjectError as error:
        pytest.skip(str(error))
    plain = unwatched(suite.command, suite.folder, timeout=PATIENCE_S)
    assert len(suite.outcomes(plain)) >= 60, plain
    # WHEN the same tests run with everything they start under the sampler
    under = watched(suite.command, suite.folder, recording, timeout=PATIENCE_S, options=options)
    # THEN every single test comes to the same result
    assert suite.outcomes(under.seen) == suite.outcomes(plain)
    assert under.seen.status == plain.status
    assert under.samples > 100
