"""Why a function cannot be moved into another build."""

from __future__ import annotations


class RefusedError(Exception):
    """The text completes "F cannot be transplanted:"."""


class MissingError(RefusedError):
    """The other build has nothing of that name."""
