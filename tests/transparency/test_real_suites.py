"""Redis' and coreutils' own tests come to the same results, watched at 1000 Hz and not."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from bench.cache import SubjectError
from bench.suites import Suite, coreutils_suite, redis_suite
from bench.watching import unwatched, watched


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("make", "least"), [(redis_suite, 60), (coreutils_suite, 18)], ids=["redis", "coreutils"])
def test_same_results(make: Callable[[], Suite], least: int, recording: Path) -> None:
    # GIVEN a project's test suite that passes on this machine
    if make is redis_suite and shutil.which("tclsh") is None:
        pytest.skip("redis' tests need tclsh")
    try:
        suite = make()
    except SubjectError as error:
        pytest.skip(str(error))
    plain = unwatched(suite.command, suite.folder, timeout=200)
    assert len(suite.outcomes(plain)) >= least, plain
    # WHEN the same tests run with everything they start under the sampler
    under = watched(suite.command, suite.folder, recording, timeout=300)
    # THEN every single test comes to the same result
    assert suite.outcomes(under.seen) == suite.outcomes(plain)
    assert under.seen.status == plain.status
    assert under.samples > 100
