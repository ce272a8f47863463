"""What an ordinary diagnosis loads: compilers, parsers and engines for other recordings take longer than it takes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.diagnose.test_diagnosis import SLOW, STACKS, runs
from whyperf.recording.sealed.writer import write_recording

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


_COMMAND = """
import sys
from whyperf.cli.main import main
before = set(sys.modules)
status = main(["diagnose", "--good", *sys.argv[1:4], "--bad", *sys.argv[4:]])
loaded = {name for name in sys.modules if name not in before or name.startswith("whyperf")}
print(status, *sorted(loaded), file=sys.stderr)
"""
# What numpy, pyarrow and rich bring along themselves is theirs.
_LIBRARIES = {"cloudpickle", "numpy", "pyarrow", "rich"}
_NOT_NEEDED = {
    "asyncio",
    "concurrent",
    "email",
    "http",
    "multiprocessing",
    "subprocess",
    "tempfile",
    "webbrowser",
    "xml",
}
_ENGINES = {"excess", "values"}
_OF_OTHERS = {
    # What reports ask of any suspect, and which kinds of stacks there are to choose from.
    "causes": {"causes", "causes.detail", "causes.path"},
    "contexts": {"contexts", "contexts.settings"},
}


def test_the_command_loads_what_it_needs(tmp_path):
    folders = [tmp_path / f"{kind}-{number}" for kind in ("good", "bad") for number in range(3)]
    for folder, one in zip(folders, [*runs(STACKS), *runs(SLOW)], strict=True):
        write_recording(folder, one.manifest, one.tables)
    done = subprocess.run([sys.executable, "-c", _COMMAND, *folders], capture_output=True, text=True, check=False)
    status, *loaded = done.stderr.split()
    assert status == "0" and "store" in done.stdout, done.stderr

    packages = {name.split(".")[0] for name in loaded}
    foreign = packages - sys.stdlib_module_names - {"whyperf"}
    libraries = {name for name in foreign if not name.startswith(("_", "cython"))}
    assert libraries <= _LIBRARIES
    assert not packages & _NOT_NEEDED

    own = {name.removeprefix("whyperf.") for name in loaded if name.startswith("whyperf.")}
    assert not [name for name in own if name.split(".")[0] in ("debuginfo", "importers", "source", "origin", "proof")]
    assert {name for name in own if name.startswith("collect.")} <= {
        "collect.architecture",
        "collect.target",
        "collect.target.program",
        "collect.target.shell",
        "collect.target.shell_syntax",
    }
    engines = {name.removeprefix("engines.") for name in own if name.startswith("engines.")}
    for other in ("call_counts", "causes", "contexts", "memory", "relations", "values.paper"):
        assert {name for name in engines if f"{name}.".startswith(f"{other}.")} <= _OF_OTHERS.get(other, set())
