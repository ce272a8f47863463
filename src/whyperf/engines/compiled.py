"""Loops over events, compiled by numba: only recordings of kernel events and of dependences need them.

With its compiler numba takes more room than everything else that whyperf uses, so it is installed on demand.
"""

from __future__ import annotations

from whyperf.optional import no_numba

try:
    from numba import njit
except ImportError:
    raise no_numba() from None

__all__ = ["njit"]
