"""Why code of a function is left as it is."""

from __future__ import annotations


class NotPatched(Exception):  # noqa: N818 (says why, is no mistake)
    """In words that follow the function's name."""
