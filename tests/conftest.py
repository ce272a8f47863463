"""For all tests: a property is judged by whether it holds, not by how fast a busy machine is; and each process of tests
has tracers of its own."""

import os

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

os.environ["WHYPERF_TRACE_FOLDER"] = f"/tmp/whyperf-tests-{os.getpid()}"
