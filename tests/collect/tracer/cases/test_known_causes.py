"""Programs whose slowness has a known cause, recorded and diagnosed as a user would: one good run and one bad run."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.cache import SubjectError
from bench.contexts.case import ContextCase, all_cases, stripped_cases
from bench.contexts.causes import CauseOutcome, outcome_of

from tests.collect.tracer.recording import needs_bpf

pytestmark = needs_bpf
_CASES = {case.id: case for case in (*all_cases(), *stripped_cases())}


@pytest.fixture(autouse=True)
def own_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever else traces on this machine does not hold these tests up."""
    monkeypatch.setenv("WHYPERF_TRACE_FOLDER", str(tmp_path / "session"))


def outcome(name: str) -> CauseOutcome:
    case: ContextCase = _CASES[name]
    try:
        return outcome_of(case, 1, peers=False)
    except SubjectError as error:
        pytest.skip(f"{case.title} cannot be had here: {error}")


@pytest.mark.parametrize("name", ["kiosk-plugin-sleep", pytest.param("pigz-libz-sleep", marks=pytest.mark.long)])
def test_the_module_that_sleeps_is_first_and_external(name: str) -> None:
    # GIVEN a real program, one of whose libraries or plug-ins sleeps now and then
    # WHEN a run with the delay is compared with one without
    found = outcome(name)
    # THEN that module is named first, as one that is not the program's own
    assert found.whyperf.module == 1, found
    assert found.whyperf.function == 1, found
    assert found.layer_right, found
    assert found.external, found


def test_a_stripped_plug_in_that_computes_is_named_by_its_address() -> None:
    # GIVEN a program and its plug-in without symbols
    found = outcome("kiosk-plugin-busy-stripped")
    # THEN the plug-in is first, and the address is that of the delayed function
    assert found.whyperf.module == 1, found
    assert found.whyperf.function == 1, found


def test_a_slow_name_server_is_waited_for_in_the_c_library() -> None:
    # GIVEN a name server on a loopback of its own that answers late
    found = outcome("resolver-dns")
    # THEN the C library's resolver is where the program waits
    assert found.whyperf.module == 1, found
    assert found.external, found


def test_a_list_that_grew_is_the_programs_own_doing() -> None:
    # GIVEN a list in the main binary that is searched for every request
    found = outcome("kiosk-list")
    # THEN the main binary is first, and among its functions the search is one of the first two
    assert found.whyperf.module == 1, found
    assert found.whyperf.function in (1, 2), found
    assert found.external is False, found
