"""Small C programs made by hypothesis: arithmetic of all widths, aliasing, loops, calls, vectors."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hypothesis import strategies as st

from tests.architecture import HERE
from whyperf.collect.architecture import X86_64

PRELUDE = """
struct pair { int a; char b; short c; long d; };
union word { long whole; int halves[2]; short parts[4]; unsigned char bytes[8]; };
long L[8] = {3, -1, 4, 1, -5, 9, 2, 6};
int I[16] = {2, 7, 1, 8, 2, 8, 1, 8, 2, 8, 4, 5, 9, 0, 4, 5};
short S[16] = {1, 1, 2, 3, 5, 8, 13, 21};
unsigned char B[32] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
double D[16] = {1.5, 2.5, -3.5, 4.25};
float F[16] = {0.5f, 1.25f, -2.0f, 8.0f};
struct pair P[4];
union word W[4];
#define APART __attribute__((noipa, noinline))
"""

_ints = st.sampled_from(["a", "b", "c", "n", "(char)a", "(short)b", "(unsigned)c", "(unsigned char)n", "(int)a"])
_constants = st.integers(-300, 70000).map(str)
_index = st.integers(0, 15).map(str) | _ints


def _element(index: str) -> list[str]:
    return [
        f"L[({index}) & 7]", f"I[({index}) & 15]", f"S[({index}) & 15]", f"B[({index}) & 31]",
        f"P[({index}) & 3].a", f"P[({index}) & 3].b", f"P[({index}) & 3].c", f"P[({index}) & 3].d",
        f"W[({index}) & 3].whole", f"W[({index}) & 3].halves[1]", f"W[({index}) & 3].parts[({index}) & 3]",
        f"W[({index}) & 3].bytes[({index}) & 7]", f"((unsigned char *)L)[({index}) & 63]",
        f"((short *)I)[({index}) & 31]",
    ]  # fmt: skip


_places = _index.flatmap(lambda index: st.sampled_from(_element(index)))
_leaves = _ints | _constants | _places


def _combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    plain = st.tuples(inner, st.sampled_from(["+", "-", "*", "&", "|", "^", "<", "<=", "==", "!="]), inner).map(
        lambda t: f"((long)({t[0]}) {t[1]} (long)({t[2]}))"
    )
    narrow = st.tuples(inner, st.sampled_from(["+", "-", "*", "&", "^", ">"]), inner).map(
        lambda t: f"((int)({t[0]}) {t[1]} (int)({t[2]}))"
    )
    shift = st.tuples(inner, st.sampled_from(["<<", ">>"]), inner).map(
        lambda t: f"((unsigned long)({t[0]}) {t[1]} (({t[2]}) & 31))"
    )
    divide = st.tuples(inner, st.sampled_from(["/", "%"]), inner).map(
        lambda t: f"((long)({t[0]}) {t[1]} ((({t[2]}) & 15) + 1))"
    )
    choice = st.tuples(inner, inner, inner).map(lambda t: f"(({t[0]}) ? (long)({t[1]}) : (long)({t[2]}))")
    return plain | narrow | shift | divide | choice


_expressions = st.recursive(_leaves, _combined, max_leaves=5)

_assignments = st.tuples(
    st.sampled_from(["a", "b", "c"]) | _places, st.sampled_from(["=", "+=", "-=", "^=", "|="]), _expressions
).map(lambda t: f"{t[0]} {t[1]} {t[2]};")
_steps = _places.map(lambda place: f"{place}++;")
_copies = st.tuples(_index, _index).map(lambda t: f"P[({t[0]}) & 3] = P[({t[1]}) & 3];")
_calls = st.tuples(st.sampled_from(["twist", "deeper", "wide"]), _expressions, _expressions).map(
    lambda t: f"a += {t[0]}({t[1]}, {t[2]});"
)
_atomics = st.tuples(_index, _expressions).flatmap(
    lambda t: st.sampled_from(
        [
            f"a += __atomic_fetch_add(&L[({t[0]}) & 7], {t[1]}, 5);",
            f"__atomic_fetch_add(&I[({t[0]}) & 15], {t[1]}, 5);",
            f"b ^= __atomic_exchange_n(&I[({t[0]}) & 15], {t[1]}, 5);",
            f"{{ int was = c; b += __atomic_compare_exchange_n(&I[({t[0]}) & 15], &was, {t[1]}, 0, 5, 5); c += was; }}",
        ]
    )
)
_floats = st.tuples(_index, _index, st.sampled_from(["+", "-", "*"])).flatmap(
    lambda t: st.sampled_from(
        [
            f"D[({t[0]}) & 15] = D[({t[1]}) & 15] {t[2]} 1.5;",
            f"F[({t[0]}) & 15] = F[({t[1]}) & 15] {t[2]} (float)D[({t[0]}) & 15];",
            f"a += (int)(D[({t[0]}) & 15] {t[2]} 0.25);",
            f"D[({t[0]}) & 15] {t[2]}= (double)I[({t[1]}) & 15];",
            f"if (D[({t[0]}) & 15] > D[({t[1]}) & 15]) b++;",
        ]
    )
)
_kernels = st.tuples(st.sampled_from(["+", "-", "*"]), st.integers(1, 9)).flatmap(
    lambda t: st.sampled_from(
        [
            f"for (int i = 0; i < 16; i++) I[i] = I[i] {t[0]} {t[1]};",
            f"for (int i = 0; i < 16; i++) D[i] = D[i] {t[0]} F[i];",
            f"for (int i = 0; i < 16; i++) F[i] = F[i] {t[0]} F[15 - i];",
            "for (int i = 0; i < 16; i++) a += I[i];",
            "for (int i = 0; i < 8; i++) L[i] += I[i];",
            "{ double s = 0; for (int i = 0; i < 16; i++) s += D[i]; D[0] = s; }",
            f"for (int i = 0; i < 16; i++) I[i] = I[i] > {t[1]} ? I[i] : F[i] < 1 ? 3 : {t[1]};",
            f"for (int i = 0; i < 16; i++) D[i] = I[i] {t[0]} 0.5;",
        ]
    )
)
_simple = _assignments | _steps | _copies | _calls | _atomics | _floats


def _nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    blocks = st.lists(inner, min_size=1, max_size=3).map("\n".join)
    return (
        st.tuples(_expressions, blocks, blocks).map(lambda t: f"if ({t[0]}) {{ {t[1]} }} else {{ {t[2]} }}")
        | st.tuples(st.integers(1, 4), blocks).map(
            lambda t: f"for (long n0 = n, k = 0; k < {t[0]}; k++, n = n0 + k) {{ {t[1]} }}"
        )
        | st.tuples(_expressions, blocks, blocks).map(
            lambda t: (
                f"switch (({t[0]}) & 7) {{ case 0: {t[1]} break; case 3: {t[2]} case 4: b++; break; case 5: c--;"
                f" break; case 6: a ^= c; break; default: a--; }}"
            )
        )
    )


_statements = st.recursive(_simple | _kernels, _nested, max_leaves=6)
_bodies = st.lists(_statements, min_size=1, max_size=5).map("\n".join)
_scalars = _assignments | _steps | _copies | _calls
_scalar_bodies = st.lists(st.recursive(_scalars, _nested, max_leaves=6), min_size=2, max_size=5).map("\n".join)


@st.composite
def programs(draw: st.DrawFn, *, vectors: bool = True) -> str:
    body, twist, wide = draw(_bodies if vectors else _scalar_bodies), draw(_expressions), draw(_expressions)
    return f"""{PRELUDE}
APART long twist(long a, long b) {{ long c = a - b; int n = (int)b; return {twist}; }}
APART long deeper(long a, long b) {{ int n = (int)(a & 3); I[n] ^= (int)b; return n ? deeper(n - 1, b + a) + n : b; }}
APART long wide(long a, long b) {{
    union word w = {{a}};
    long c = w.bytes[1];
    short n = w.parts[b & 3];
    return {wide};
}}
APART long run(long a, long b) {{ long c = a ^ b; long n = 3; {body} return a + b + c + n; }}
int main(void) {{ return (int)run(5, 7) & 63; }}
"""


FUNCTIONS = ("run", "twist", "deeper", "wide")


_GCC = """gcc -w -fwrapv -fno-strict-aliasing -fno-stack-protector -no-pie -fno-pie -ffreestanding
-fno-tree-loop-distribute-patterns -fno-reorder-functions"""


# Without what the oracle has no use for, and, on ARM, without loops that single steps never leave.
_OF_MACHINE = ["-fcf-protection=none"] if HERE is X86_64 else ["-march=armv8.1-a"]


def compiled(source: str, folder: Path, *flags: str) -> Path:
    """At fixed addresses, without calls into libraries."""
    (folder / "program.c").write_text(source)
    program = folder / "program"
    subprocess.run([*_GCC.split(), *_OF_MACHINE, *flags, "program.c", "-o", program], cwd=folder, check=True)
    return program
