"""What whyperf uses where it is installed, and how to install it."""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
import sysconfig

from whyperf.errors import WhyperfError

_SUDO = "" if os.access(sysconfig.get_path("purelib"), os.W_OK) else "sudo "
INSTALL_NUMBA = f"{_SUDO}{shlex.quote(sys.executable)} -m pip install 'whyperf[trace]'"


def has_numba() -> bool:
    """Whether recordings of kernel events and of dependences can be diagnosed here."""
    try:
        return importlib.util.find_spec("numba") is not None
    except ValueError:  # it is being kept from being loaded
        return False


def no_numba() -> WhyperfError:
    return WhyperfError(
        "To diagnose recordings made with --trace or --deep whyperf needs numba, which is not installed.", INSTALL_NUMBA
    )
