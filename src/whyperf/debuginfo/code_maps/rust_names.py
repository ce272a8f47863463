"""Rust's v0 symbol names."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterable

_DISAMBIGUATOR = re.compile(r"\[[0-9a-f]{16}\]")


def demangle_v0(symbols: Iterable[str]) -> list[str]:
    """Paths without crate hashes; a symbol itself where it cannot be read."""
    # The package prints what it has of a symbol that it gives up on.
    with contextlib.redirect_stdout(io.StringIO()):
        return [_demangle(symbol) for symbol in symbols]


def _demangle(symbol: str) -> str:
    import rust_demangler  # only binaries with such symbols pay for it

    try:
        return _DISAMBIGUATOR.sub("", str(rust_demangler.demangle(symbol)))
    except Exception:  # the package raises whatever its parser trips over
        return symbol
