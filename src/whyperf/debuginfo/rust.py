"""Rust's v0 symbol names."""

from __future__ import annotations

import re

_DISAMBIGUATOR = re.compile(r"\[[0-9a-f]{16}\]")


def demangle_v0(symbol: str) -> str:
    """The path without crate hashes; the symbol itself where it cannot be read."""
    import rust_demangler  # only binaries with such symbols pay for it

    try:
        return _DISAMBIGUATOR.sub("", str(rust_demangler.demangle(symbol)))
    except Exception:  # the package raises whatever its parser trips over
        return symbol
