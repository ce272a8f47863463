"""One run alone: values of makers that are easily taken for others, or whose shares are."""

from __future__ import annotations

import pytest

from whyperf.diagnose.origin import ChainEnd

from .alone import places, spin
from .conftest import Build, line_of
from .test_alone import COUNTER

pytestmark = pytest.mark.process

_OPTION = "It is an option of the command line: argument 2 is `30`."


def test_what_is_added_to_memory_is_no_constant(build: Build) -> None:
    counted = spin(build("makers.c"), "count", "100")
    assert places(counted)[-1] == ("join", line_of("makers.c", "// one more"))
    assert (counted.end, counted.sentence) == (ChainEnd.NOT_FOLLOWED, COUNTER)
    # AND what is added by a variable is no counter
    summed = spin(build("makers.c"), "sum", "100")
    assert places(summed)[-1] == ("join", line_of("makers.c", "// some more"))
    assert (summed.end, summed.sentence) == (ChainEnd.NOT_FOLLOWED, "Each value is made from the one before.")


def test_a_condition_in_memory_is_followed(build: Build) -> None:
    origin = spin(build("makers.c"), "condition", "30")
    assert ("set_mode", line_of("makers.c", "// a condition")) in places(origin)
    assert (origin.hops[-1].function, origin.sentence) == ("main", _OPTION)


def test_what_memset_is_given_is_followed(build: Build) -> None:
    origin = spin(build("makers.c"), "memset", "30", "150")
    assert ("fill", line_of("makers.c", "// the level")) in places(origin)
    assert (origin.hops[-1].function, origin.sentence) == ("main", _OPTION)
