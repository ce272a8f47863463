"""Two builds of a small program whose variables begin with other values: the one that costs time is proven."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.debuginfo.transplants.builds import Builds, built
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import find_program
from whyperf.debuginfo.transplants.module import TransplantModule
from whyperf.debuginfo.transplants.symbols import SymbolKind
from whyperf.diagnose.origin import Proof, ProofFinding, ProofMeans
from whyperf.diagnose.verdict import Suspect
from whyperf.proof.by_function import prove_by_functions
from whyperf.proof.first_use import texts_of, uses
from whyperf.proof.modules import different_modules
from whyperf.proof.rounds import ProofSide, Trying

pytestmark = pytest.mark.process

EITHER = """
#ifdef GOOD
#define EITHER(good, bad) good
#else
#define EITHER(good, bad) bad
#endif
"""
HASHED = r"""
#include <stdio.h>
#include <stdlib.h>
#define HIDDEN __attribute__((noinline, noclone))
struct node { struct node *next; unsigned key; };
#ifdef GOOD
unsigned places = 4096;
static int level = 3, margin = 0;
static const char release[] = "2.1";
#else
unsigned places = 4;
static int level = 4, margin = 7;
static const char release[] = "2.0";
#endif
static struct node **table;
HIDDEN void start(void) { table = calloc(places, sizeof *table); }
HIDDEN int found(unsigned key) {
    for (struct node *n = table[key % places]; n; n = n->next)
        if (n->key == key)
            return 1;
    return 0;
}
HIDDEN void add(unsigned key) {
    struct node *n = malloc(sizeof *n);
    *n = (struct node){table[key % places], key};
    table[key % places] = n;
}
HIDDEN void settings(int argc, char **argv) {
    if (argc > 2)
        places = atoi(argv[2]);
    if (argc > 3)
        level = margin = atoi(argv[3]);
}
int main(int argc, char **argv) {
    unsigned keys = atoi(argv[1]), sum = 0;
    settings(argc, argv);
    start();
    for (unsigned i = 0; i < keys; i++)
        if (!found(i))
            add(i);
    for (unsigned i = 0; i < keys; i++)
        sum += found(i);
    printf("%u %d %s\n", sum, level + margin > 100, release + 3);
}
"""


def _side(program: Path, *arguments: str, environment: dict[str, str] | None = None) -> ProofSide:
    return ProofSide(
        find_program([str(program), *arguments], os.environ), Lifecycle(), {**os.environ, **(environment or {})}
    )


def _suspect(function: str) -> Suspect:
    return Suspect(1, "cpu", function, "bad", "", 0, -1, None, None, (), 1.0, 1.0, "high", "", "")


def _proofs(builds: Builds, *arguments: str) -> tuple[Proof, ...]:
    sides = _side(builds.good, *arguments), _side(builds.bad, *arguments)
    return prove_by_functions(*sides, [_suspect("found")], Trying())


def test_the_variable_that_begins_with_a_bad_value_is_proven(tmp_path: Path) -> None:
    builds = built(tmp_path, HASHED)
    (module,) = different_modules(_side(builds.good, "1"), _side(builds.bad, "1"))
    assert {one.name for one in module.variables} == {"places", "level", "margin", "release"}
    (proof,) = _proofs(builds, "9000")
    assert (proof.finding, proof.means) == (ProofFinding.PROVEN, ProofMeans.VARIABLE), proof
    # THEN it is told with the function that uses it first: `settings` could, but does not
    assert (proof.function, proof.what, proof.good, proof.bad) == ("start", "`places`", "4,096", "4")
    assert Path(proof.file).name == "program.c" and proof.line > 0
    assert proof.sentence.startswith(
        "Proven: with `places` beginning as in the good build (4,096) in the bad program, "
    )


def test_one_of_many_variables_is_found(tmp_path: Path) -> None:
    """Too many for a run of each."""
    more = "".join(f"__attribute__((used)) static int other_{i} = EITHER({i} + 1, {i} + 2);\n" for i in range(12))
    source = HASHED.replace("static struct node **table;", f"{EITHER}{more}static struct node **table;")
    builds = built(tmp_path, source)
    (module,) = different_modules(_side(builds.good, "1"), _side(builds.bad, "1"))
    assert len(module.variables) == 16
    (proof,) = _proofs(builds, "9000")
    assert (proof.finding, proof.what) == (ProofFinding.PROVEN, "`places`"), proof


def test_innocent_variables_are_not_proven(tmp_path: Path) -> None:
    """WHEN the excess has another cause, here an option that only the bad program gets."""
    builds = built(tmp_path, HASHED)
    sides = _side(builds.good, "9000", "4096"), _side(builds.bad, "9000", "4")
    assert prove_by_functions(*sides, [_suspect("found")], Trying()) == ()


@pytest.mark.parametrize("compiler", ["gcc", "x86_64-linux-gnu-gcc"])
def test_functions_that_use_a_variable(tmp_path: Path, compiler: str) -> None:
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    module = TransplantModule(built(tmp_path, HASHED, compiler=compiler).bad)
    used_by = {
        name: {
            function.name
            for function in module.symbols.symbols
            if function.kind is SymbolKind.FUNCTION and function.size
            for _ in uses(module, function, module.symbols.named(name)[0])
        }
        for name in ("places", "level", "release")
    }
    assert used_by == {
        "places": {"settings", "start", "found", "add"},
        "level": {"settings", "main"},
        "release": {"main"},
    }


def test_values_are_told_as_people_write_them(tmp_path: Path) -> None:
    source = f"""{EITHER}
        namespace part {{ volatile unsigned size = EITHER(4294967295u, 16); }}
        static volatile int level = EITHER(-1, 70000);
        volatile double ratio = EITHER(0.75, 1.5);
        volatile char text[8] = EITHER("good", "bad");
        int main() {{ return part::size + level + ratio + text[0] == 1; }}
    """
    builds = built(tmp_path, source, language="cc")
    (module,) = different_modules(_side(builds.good), _side(builds.bad))
    told = {one.name: (one.good, one.bad) for one in (texts_of(module.bad, each) for each in module.variables)}
    assert told == {
        "part::size": ("4,294,967,295", "16"),
        "level": ("-1", "70,000"),
        "ratio": ("0.75", "1.5"),
        "text": ("", ""),
    }


# `static`: how long additions to a variable on the stack take depends on where the stack begins, up to tenfold.
TABLE = r"""
#include <stdio.h>
#include <stdlib.h>
static const char *names[] = {"even", "odd"};
struct step { const char *name; long rounds; } steps[2] = {
#ifdef GOOD
    {"first", 10}, {"second", 20},
#else
    {"first", 10}, {"second", 200000},
#endif
};
int main(int argc, char **argv) {
    static volatile unsigned long sum;
    long times = atoi(argv[1]);
    for (int i = 0; i < 2; i++)
        for (long r = 0; r < steps[i].rounds * times; r++)
            sum += r;
    printf("%s %s %s\n", steps[0].name, steps[1].name, names[argc % 2]);
}
"""


def test_numbers_beside_pointers_are_put_in_and_pointers_are_left_alone(tmp_path: Path) -> None:
    builds = built(tmp_path, TABLE)
    (proof,) = _proofs(builds, "250")
    assert (proof.finding, proof.function, proof.what) == (ProofFinding.PROVEN, "main", "`steps`"), proof
    assert proof.good == proof.bad == ""


LIBRARY = r"""
#ifdef GOOD
int limit = 20;
int copied = 1;
#else
int limit = 20000000;
int copied = 2;
#endif
int limit_of_library(void) { return limit; }
"""
USER = r"""
#include <stdio.h>
extern int copied, limit_of_library(void);
int main(void) {
    static volatile unsigned long sum;
    for (int i = 0; i < limit_of_library(); i++)
        sum += i;
    printf("%d\n", copied > 5);
}
"""


def test_a_librarys_variable_is_proven_unless_the_program_has_its_own(tmp_path: Path) -> None:
    user, library = tmp_path / "user.c", tmp_path / "library.c"
    user.write_text(USER)
    library.write_text(LIBRARY)
    for kind, defined in (("good", ["-DGOOD"]), ("bad", [])):
        (tmp_path / kind).mkdir()
        made = ["-shared", "-fPIC", "-o", str(tmp_path / kind / "liblimit.so")]
        subprocess.run(["gcc", "-O2", "-g", "-Wl,--build-id", *defined, str(library), *made], check=True)
    # Code that is no position-independent code has the linker copy variables of libraries.
    copying = ["-fno-pie", "-c", str(user), "-o", str(tmp_path / "user.o")]
    subprocess.run(["gcc", "-O2", "-g", *copying], check=True)
    program = tmp_path / "user"
    linked = [str(tmp_path / "user.o"), f"-L{tmp_path / 'bad'}", "-llimit", "-o", str(program)]
    subprocess.run(["gcc", "-no-pie", *linked], check=True)
    sides = [_side(program, environment={"LD_LIBRARY_PATH": str(tmp_path / kind)}) for kind in ("good", "bad")]
    (module,) = different_modules(sides[0], sides[1])
    assert [one.name for one in module.variables] == ["limit"]
    (proof,) = prove_by_functions(sides[0], sides[1], [_suspect("main")], Trying())
    assert (proof.finding, proof.function, proof.what) == (ProofFinding.PROVEN, "limit_of_library", "`limit`"), proof
