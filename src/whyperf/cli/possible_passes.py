"""What the verdict's next command may ask for on this machine."""

from __future__ import annotations

import os
from functools import cached_property

from whyperf.errors import WhyperfError
from whyperf.optional import has_numba


class PossibleHere:
    """Looked at when a verdict asks: most do not."""

    @cached_property
    def trace(self) -> bool:
        from whyperf.collect.tracer.backends import Backend, choose

        return has_numba() and choose().means is not Backend.SAMPLER

    @cached_property
    def deep(self) -> bool:
        from whyperf.collect.dependences.valgrind import find_valgrind

        try:
            return has_numba() and find_valgrind(os.environ) is not None
        except WhyperfError:
            return False
