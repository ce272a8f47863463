"""whyperf tells why one run of a program is slower than another.

`whyperf.api` says what is for use from Python; it is loaded when first used.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from whyperf.version import __version__

if TYPE_CHECKING:
    from whyperf.api import Answer, Recording, compared, diagnose, open

__all__ = ["Answer", "Recording", "__version__", "compared", "diagnose", "open"]


class _Package(ModuleType):
    """Has a function of the same name as one of its parts: importing the part must not hide the function."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in __all__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        if name in __all__:
            from whyperf import api

            return getattr(api, name)
        raise AttributeError(f"module 'whyperf' has no attribute {name!r}")


sys.modules[__name__].__class__ = _Package
