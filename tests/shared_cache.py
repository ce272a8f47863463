"""What whyperf remembers of binaries, and the tools that it builds, for all tests of a run: the C library's debug
information is read once, and not by each of hundreds of tests. Tests about the cache itself have their own."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

_VARIABLE = "WHYPERF_TESTS_CACHE"  # inherited by pytest's further processes

if _VARIABLE not in os.environ:
    os.environ[_VARIABLE] = tempfile.mkdtemp(prefix="whyperf-tests-cache-")
    atexit.register(shutil.rmtree, os.environ[_VARIABLE], ignore_errors=True)

SHARED_CACHE = os.environ[_VARIABLE]
