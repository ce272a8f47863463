"""Cases are complete and their ground truth is where they say it is."""

from __future__ import annotations

import pytest
from bench.carried import LIBRARIES
from bench.cases.case import CASES, Case, all_cases
from bench.cases.ranks import rank
from bench.packages import PACKAGES
from bench.subjects import PROGRAMS, SUBJECTS

PATTERNS = {"wrong-constraint", "missing-constraint", "scalability", "new-path"}


def test_there_are_six_cases_and_two_real_programs() -> None:
    cases = all_cases()
    real = {build.subject for case in cases for build in case.builds.values()} & {*SUBJECTS, *PACKAGES}
    assert len(cases) >= 6
    assert len(real) >= 2


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.id)
def test_case_is_complete(case: Case) -> None:
    assert (CASES / case.id / "README.md").read_text().startswith(f"# {case.id}\n")
    assert case.truth.cause and case.truth.spent
    assert case.truth.pattern in PATTERNS
    assert bool(case.ready) == bool(case.good_drive) == bool(case.bad_drive)
    for build in case.builds.values():
        if build.driver:
            assert build.subject in LIBRARIES
            assert (CASES / case.id / build.driver).is_file()
        else:
            assert build.subject in SUBJECTS or build.subject in PACKAGES or (PROGRAMS / build.subject).is_dir()
        assert not build.patch or (CASES / case.id / build.patch).is_file()


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.id)
def test_ground_truth_of_our_own_programs_is_on_its_line(case: Case) -> None:
    # GIVEN a case whose source is here
    sources = [path for build in case.builds.values() for path in (PROGRAMS / build.subject).glob(case.truth.file)]
    if not sources:
        pytest.skip("built from a registry's source")
    lines = sources[0].read_text().splitlines()
    # THEN one of the named functions is defined at most a few lines above the line named
    near = "\n".join(lines[max(0, case.truth.line - 8) : case.truth.line])
    assert any(f"{name}(" in near for name in case.truth.cause), near


def test_rank_is_of_the_best_wanted_name_whatever_the_compiler_appended() -> None:
    names = ["hot", "pool::BufferPool::fetch(unsigned int)", "scan.constprop.0", "other"]
    assert rank(names, ["scan"]) == 3
    assert rank(names, ["other", "BufferPool::fetch"]) == 2
    assert rank(names, ["an"]) is None
    # AND of templates and operators
    names = ["std::swap<int>", "map<int>::operator()<std::vector<int> >", "Shape::operator>"]
    assert [rank(names, [one]) for one in ("swap", "operator()", "operator>", "operator")] == [1, 2, 3, None]
