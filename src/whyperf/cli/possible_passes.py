"""What the verdict's next command may ask for on this machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from whyperf.errors import WhyperfError
from whyperf.optional import has_numba

if TYPE_CHECKING:
    from whyperf.diagnose.further_recordings.next_step import Possible


def possible_here() -> Possible:
    from whyperf.collect.tracer.backends import Backend, choose
    from whyperf.diagnose.further_recordings.next_step import Possible

    if not has_numba():
        return Possible(trace=False, deep=False)
    return Possible(trace=choose().means is not Backend.SAMPLER, deep=_has_valgrind())


def _has_valgrind() -> bool:
    from whyperf.collect.dependences.valgrind import find_valgrind

    try:
        find_valgrind(os.environ)
    except WhyperfError:
        return False
    return True
