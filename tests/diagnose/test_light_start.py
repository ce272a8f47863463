"""What an ordinary diagnosis does without: compilers and parsers take longer to load than it takes."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

_DIAGNOSE = """
import sys
import whyperf.cli.diagnose, whyperf.seal.opening
from tests.diagnose.test_diagnosis import SLOW, STACKS, runs
from whyperf.diagnose.diagnosis import diagnose
assert diagnose(runs(STACKS), runs(SLOW)).suspects[0].function == "store"
waits = [("main", "fetch", "libc:poll")]
kinds = [runs(STACKS, blocked=[(waits[0], s)], clock="wall", wall_s=3.0 + s) for s in (1.0, 20.0)]
assert diagnose(*kinds).suspects[0].function == "fetch"
unwanted = {"numba", "llvmlite", "rapidfuzz", "clang", "tree_sitter", "capstone", "scipy"}
engines = ("causes.causal_graph.graph", "contexts.compare", "relations.changed_relations.sides")
unwanted |= {f"whyperf.engines.{name}" for name in engines}
print(*sorted(unwanted & set(sys.modules)))
"""


def test_without_numba_it_works_and_reading_events_names_what_to_install():
    without = "import sys; sys.modules['numba'] = None\n"
    done = subprocess.run([sys.executable, "-c", without + _DIAGNOSE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "numba\n"), done.stderr
    others = without + "import whyperf.api, whyperf.ci.terminal, whyperf.report.html.build, whyperf.assistants.running"
    done = subprocess.run([sys.executable, "-c", others], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    refused = without + "from whyperf.cli.main import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", refused, "compare", "--trace", "true", "true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "pip install 'numba>=0.60'" in done.stderr
    loaded = without + "import whyperf.engines.causes.causal_graph.edges"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=False)
    assert "needs numba, which is not installed" in done.stderr


def test_an_ordinary_diagnosis_loads_no_compiler_and_no_parser():
    done = subprocess.run([sys.executable, "-c", _DIAGNOSE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "\n"), done.stderr
