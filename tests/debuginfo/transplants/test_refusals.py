"""What cannot be transplanted is refused in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.debuginfo.transplants.builds import built
from whyperf.debuginfo.transplants.module import TransplantModule
from whyperf.debuginfo.transplants.planner import plan_transplant
from whyperf.debuginfo.transplants.refused import RefusedError

_CASES = {
    "missing data": (
        "static int *p; int n;\n"
        "#ifdef GOOD\nint only_good;\n#endif\n"
        "__attribute__((noinline)) int f(int a) {\n"
        "#ifdef GOOD\n only_good += a; return only_good;\n#else\n return a + n;\n#endif\n}\n"
        "int main(int n, char **v) { p = &n; return f(n); }",
        "only_good has no counterpart",
    ),
    "smaller data": (
        "#ifdef GOOD\nint table[40];\n#else\nint table[20];\n#endif\n"
        "__attribute__((noinline)) int f(int a) { return table[a & 7]++; }\n"
        "int main(int n, char **v) { return f(n); }",
        "table is smaller",
    ),
    "computed goto": (
        "__attribute__((noinline)) int f(const unsigned char *code) {\n"
        "  static const void *const labels[] = {&&add, &&twice, &&end};\n"
        "  int n = 1; goto *labels[*code++];\n"
        "  add: n += 3; goto *labels[*code++];\n"
        "  twice: n *= 2; goto *labels[*code++];\n"
        "  end: return n;\n}\n"
        "int main(int n, char **v) { unsigned char c[] = {0, 1, n > 5, 2}; return f(c); }",
        "computed goto",
    ),
    "structure": (
        "struct pair {\n#ifdef GOOD\n int a, b;\n#else\n int a, more, b;\n#endif\n};\n"
        "__attribute__((noinline)) int f(struct pair *p) { return p->a + p->b; }\n"
        "int main(int n, char **v) { struct pair p = {n, n}; return f(&p); }",
        "the structure pair has another layout",
    ),
    "structure behind a pointer": (
        "struct leaf {\n#ifndef GOOD\n long more;\n#endif\n int b;\n};\nstruct tree { struct leaf *leaf; };\n"
        "__attribute__((noinline)) int f(struct tree *p) { return p->leaf->b; }\n"
        "int main(int n, char **v) { struct leaf l = {n}; struct tree t = {&l}; return f(&t); }",
        "the structure leaf has another layout",
    ),
    "structure of what it calls": (
        "struct pair {\n#ifdef GOOD\n int a, b;\n#else\n int a, more, b;\n#endif\n};\nstatic struct pair p;\n"
        "__attribute__((noinline)) int g(struct pair *p) { return p->a + p->b; }\n"
        "__attribute__((noinline)) int f(int n) {\n#ifdef GOOD\n struct pair q = {n, n}; return g(&q);\n#else\n"
        " return n;\n#endif\n}\n"
        "int main(int n, char **v) { return f(n) + g(&p); }",
        "the structure pair has another layout",
    ),
    "parameters": (
        "#ifdef GOOD\n__attribute__((noinline)) int f(int a) { return a; }\n#else\n"
        "__attribute__((noinline)) int f(int a, int b) { return a + b; }\n#define f(a) f(a, 1)\n#endif\n"
        "int main(int n, char **v) { return f(n); }",
        "f has other parameters",
    ),
    "parameters of what it calls": (
        "int seen;\n"
        "#ifdef GOOD\n__attribute__((noinline)) int g(int a) { return a + seen; }\n#else\n"
        "__attribute__((noinline)) int g(long a) { return a + seen; }\n#endif\n"
        "__attribute__((noinline)) int f(int a) { return g(a) + 1; }\n"
        "int main(int n, char **v) { return f(n); }",
        "g has other parameters",
    ),
    "chosen when loaded": (
        "static int one(void) { return 1; }\n"
        "static int (*choose(void))(void) { return one; }\n"
        'int g(void) __attribute__((ifunc("choose"), visibility("hidden")));\n'
        "__attribute__((noinline)) int f(int a) { return g() + a; }\n"
        "int main(int n, char **v) { return f(n); }",
        "ifunc",
    ),
    "inlined": (
        "static inline __attribute__((always_inline)) int f(int a) { return a + 1; }\n"
        "int main(int n, char **v) { return f(n); }",
        "no such function out of line",
    ),
    "thread-local data": (
        "#ifndef GOOD\n__thread int first = 1;\n#endif\n__thread int n = 2;\n"
        "__attribute__((noinline)) int f(int a) { return n += a; }\n"
        "int main(int n, char **v) { return f(n); }",
        "thread-local data",
    ),
}


@pytest.mark.parametrize("case", _CASES)
def test_refused(tmp_path: Path, case: str) -> None:
    source, sentence = _CASES[case]
    builds = built(tmp_path, source)
    with pytest.raises(RefusedError, match=sentence) as refused:
        plan_transplant(TransplantModule(builds.good), TransplantModule(builds.bad), ["f"])
    text = str(refused.value)
    assert text.startswith("f cannot be transplanted: ") and text.endswith(".") and "\n" not in text


def test_static_functions_of_one_name_are_ambiguous(tmp_path: Path) -> None:
    (tmp_path / "other.c").write_text(
        "static __attribute__((noinline)) int f(int a) { return a + 2; } int other(int a) { return f(a); }"
    )
    source = (
        "int other(int);\nstatic __attribute__((noinline)) int f(int a) { return a + 1; }\n"
        "int main(int n, char **v) { return f(n) + other(n); }"
    )
    builds = built(tmp_path, source, str(tmp_path / "other.c"))
    with pytest.raises(RefusedError, match="several functions of that name"):
        plan_transplant(TransplantModule(builds.good), TransplantModule(builds.bad), ["f"])


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [(["-no-pie"], "not position-independent"), (["-s"], "no symbol table"), (["-Wl,--build-id=none"], "no build-id")],
)
def test_files_from_which_nothing_is_moved(tmp_path: Path, flags: list[str], sentence: str) -> None:
    builds = built(tmp_path, "int main(void) { return 0; }", *flags)
    with pytest.raises(RefusedError, match=sentence):
        TransplantModule(builds.good)


def test_machines_differ(tmp_path: Path) -> None:
    source = "int main(void) { return 0; }"
    builds = built(tmp_path, source)
    content = bytearray(builds.good.read_bytes())
    content[18] = {183: 62, 62: 183}[content[18]]
    builds.good.write_bytes(content)
    with pytest.raises(RefusedError, match="different machines"):
        plan_transplant(TransplantModule(builds.good), TransplantModule(builds.bad), ["main"])


def test_clone_that_only_the_bad_build_has(tmp_path: Path) -> None:
    """Its parameters are fewer."""
    source = (
        "#include <stdio.h>\n#ifdef GOOD\n__attribute__((noclone))\n#endif\n__attribute__((noinline))\n"
        'static int f(int a, int b) { printf("%d %d", a, b); return a; }\n'
        "int main(int n, char **v) { return f(n, 3) + f(n + 1, 3); }"
    )
    builds = built(tmp_path, source)
    names = {one.name for one in TransplantModule(builds.bad).symbols.symbols}
    assert "f" not in names and "f.constprop.0" in names
    with pytest.raises(RefusedError, match=r"good has no f\.constprop\.0"):
        plan_transplant(TransplantModule(builds.good), TransplantModule(builds.bad), ["f"])
