"""What whyperf uses where it is installed, and how to install it."""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
from pathlib import Path

from whyperf.errors import WhyperfError

# Where whyperf is the user's own, pip installs for the user as well.
_SUDO = "" if os.access(Path(__file__).parents[1], os.W_OK) else "sudo "
_INSTALL = f"{_SUDO}{shlex.quote(sys.executable)} -m pip install"
INSTALL_NUMBA = f"{_INSTALL} 'numba>=0.60'"
INSTALL_LIBCLANG = f"{_INSTALL} 'libclang>=18'"


def has_numba() -> bool:
    """Whether recordings of kernel events and of dependences can be diagnosed here."""
    return _is_installed("numba")


def has_libclang() -> bool:
    """Whether source is read as a compiler reads it, beside its grammar."""
    return _is_installed("clang")


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ValueError:  # it is being kept from being loaded
        return False


def no_numba() -> WhyperfError:
    return WhyperfError(
        "To diagnose recordings made with --trace or --deep whyperf needs numba, which is not installed.", INSTALL_NUMBA
    )
