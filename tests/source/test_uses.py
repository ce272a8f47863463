"""What counts as a loop's variable, a condition, an argument: the same for both readers of source."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from whyperf.source.compile_flags import builtin_headers
from whyperf.source.semantics import uses_by_semantics
from whyperf.source.syntax import uses_by_syntax
from whyperf.source.uses import Uses

pytestmark = pytest.mark.process

Read = Callable[[str, str], Uses]


@pytest.fixture(params=["syntax", "semantics"])
def read(request: pytest.FixtureRequest, tmp_path: Path) -> Read:
    """Reads the function `f` of some source."""

    def reading(language: str, source: str) -> Uses:
        text = dedent(source)
        line = next(number for number, line in enumerate(text.splitlines(), 1) if " f(" in line or "::f(" in line)
        file = tmp_path / ("some.c" if language == "c" else "some.cc")
        file.write_text(text)
        if request.param == "syntax":
            found = uses_by_syntax(text.encode(), language, [(line, "f")])
        else:
            dialect = ["-x", "c", "-std=gnu11"] if language == "c" else ["-x", "c++", "-std=c++17"]
            found = uses_by_semantics(str(file), [*dialect, *builtin_headers()], [(line, "f")])
        return found[line, "f"]

    return reading


def _of(uses: Uses, path: str, line: int | None = None) -> str:
    return "|".join(
        sorted({r for (at, text), roles in uses.items() if text == path and line in (None, at) for r in roles})
    )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("for (int i = 0; i < n; i++) s += a;", {"i": "condition|loop", "n": "condition", "s": "", "a": ""}),
        ("for (i = 0, j = n; i < j; i++, j -= 2) ;", {"i": "condition|loop", "j": "condition|loop", "n": ""}),
        ("for (; n; ) n--;", {"n": "condition|loop"}),
        ("int due = a > n; s += due;", {"a": "condition", "n": "condition", "s": ""}),
        ("for (i = 0; ; ) { if (i >= n) break; i++; }", {"i": "condition|loop", "n": "condition"}),
        ("while (n--) s += n;", {"n": "condition|loop", "s": ""}),
        ("do { s++; } while (s < n);", {"s": "condition|loop", "n": "condition"}),
        ("while (1) { if (s > n) return s; s += 2; }", {"s": "condition|loop", "n": "condition"}),
        ("while (!done) done = g(n);", {"done": "condition", "n": "argument"}),
        ("while (!done) { done = 1; }", {"done": "condition"}),
        ("while (!done) { done = n > s; }", {"done": "condition"}),
        (
            "while (i < j) { int m = (i + j) / 2; if (m > s) j = m; else i = m + 1; }",
            {"i": "condition|loop", "j": "condition|loop", "m": "condition"},
        ),
        (
            "while (l) { struct list *next = l->next; g(l->n); l = next; }",
            {"l": "argument|condition|loop", "l.n": "argument", "l.next": ""},
        ),
        ("while ((i = g(n)) != 0) ;", {"i": "condition|loop", "n": "argument|condition"}),
        ("while (l->n < l->cap) l->n++;", {"l.n": "condition|loop", "l.cap": "condition", "l": "condition"}),
        ("while (*p) (*p)--;", {"*p": "condition|loop", "p": "condition"}),
        ("while (*p) p++;", {"p": "condition|loop", "*p": "condition"}),
        ("if (l->n > s && i) j = a;", {"l.n": "condition", "s": "condition", "i": "condition|truth", "a": ""}),
        ("j = i || a;", {"i": "condition|truth", "a": "condition|truth", "j": ""}),
        ("j = i ? a : s;", {"i": "condition|truth", "a": "", "s": ""}),
        ("switch (i) { case 1: j = 2; }", {"i": "condition|truth", "j": ""}),
        ("g(a + l->n); g(p[s]);", {"a": "argument", "l.n": "argument", "p": "argument", "s": "argument"}),
        ("if (g(a) > 3) i = sizeof(n);", {"a": "argument|condition", "i": "", "n": ""}),
        ("if ((*l).n) i++;", {"l.n": "condition|truth", "l": "condition", "i": ""}),
        ("if (!n && !(a > 2)) i++;", {"n": "condition|truth", "a": "condition"}),
        ("if (n) for (i = 0; i < n; i++) s++;", {"n": "condition"}),  # a bound as well
        ("if (n + a) i++;", {"n": "condition", "a": "condition"}),
        ("if (box.n) g(box.cap);", {"box.n": "condition|truth", "box.cap": "argument"}),
        ("if (__builtin_expect(n > 3, 0)) i++;", {"n": "condition"}),
    ],
)
def test_roles_in_c(read: Read, source: str, expected: dict[str, str]) -> None:
    uses = read(
        "c",
        f"""
        struct list {{ struct list *next; int n, cap; }};
        int g(int);
        int f(int n, int a, int *p, struct list *l, struct list box) {{
            int i = 0, j = 0, s = 0, done = 0;
            {source}
            return i + j + s + done;
        }}
        """,
    )
    assert {path: _of(uses, path) for path in expected} == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "for (auto x : v) s += x;",
            {"x": "loop", "v": "condition", "__for_begin": "condition|loop", "__for_end": "condition"},
        ),
        (
            "auto k = [&](int y) { if (y > s) n++; return y; }; k(a);",
            {"y": "condition", "s": "condition", "a": "argument", "n": ""},
        ),
        ("each([&](int y) { s += y; }, a);", {"a": "argument", "s": "", "y": ""}),
        ("if (int q = g(a); q > n) s++;", {"q": "condition", "n": "condition", "a": "argument"}),
        ("while (int q = g(s)) s = q;", {"q": "condition|loop", "s": "argument|condition|loop"}),
        ("for (int i = 0; i < (int)v.size(); ++i) ;", {"v": "condition", "i": "condition|loop"}),
        ("if (total > n) ns::counter += a;", {"total": "condition", "counter": ""}),
        ("if (ns::counter > n) s++;", {"counter": "condition"}),
        ("Row made(a, n);", {"a": "argument", "n": "argument"}),
        ("auto *made = new Row(a, n);", {"a": "argument", "n": "argument"}),
    ],
)
def test_roles_in_cpp(read: Read, source: str, expected: dict[str, str]) -> None:
    uses = read(
        "cpp",
        f"""
        struct Many {{ int *begin() const; int *end() const; unsigned long size() const; }};
        struct Row {{ Row(int, int); }};
        namespace ns {{ static int counter; }}
        template <class F> void each(F one, int n) {{ one(n); }}
        int g(int);
        int total;
        int f(int n, int a, const Many &v) {{
            int s = 0;
            {source}
            return s;
        }}
        """,
    )
    assert {path: _of(uses, path) for path in expected} == expected


def test_members_of_this(read: Read) -> None:
    uses = read(
        "cpp",
        """
        struct Box {
            int size, spare, left;
            int f(int n) {
                while (left > 0) left--;
                return this->size > n ? 1 : spare;
            }
        };
        """,
    )
    # Without types a name that nobody declares is left to whoever knows the members.
    assert _of(uses, "this.left") + _of(uses, "left", 0) == "condition|loop"
    assert _of(uses, "this.size") == "condition"
    assert not _of(uses, "spare") and not _of(uses, "this.spare") and not _of(uses, "this")


def test_shadowed_names_are_told_apart(read: Read) -> None:
    uses = read(
        "c",
        """
        int g(int);
        int n;
        int f(int k) {
            int n = k;
            if (k) {
                int n = 3;
                while (n--) ;
                { int n = 4; g(n); }
            }
            return n;
        }
        """,
    )
    assert (_of(uses, "n", 3), _of(uses, "n", 5)) == ("", "")
    assert (_of(uses, "n", 7), _of(uses, "n", 9)) == ("condition|loop", "argument")


def test_macros_are_seen_through_by_libclang_only(tmp_path: Path) -> None:
    source = "#define SMALL(x) ((x)->n < 3)\nstruct s { int n; };\n"
    source += "int f(struct s *p, int k) {\n  return SMALL(p) ? k : 1;\n}\n"
    file = tmp_path / "macro.c"
    file.write_text(source)
    exact = uses_by_semantics(str(file), ["-x", "c"], [(3, "f")])[3, "f"]
    guessed = uses_by_syntax(source.encode(), "c", [(3, "f")])[3, "f"]
    assert _of(exact, "p.n") == "condition"
    assert _of(guessed, "p.n") == "" and "condition" in _of(guessed, "p")


def test_long_chains_and_deep_nesting() -> None:
    chain = (
        "int f(int n, int m) { if (n == 0) return 0;\n"
        + "".join(f"else if (n == {i}) m += {i};\n" for i in range(800))
        + "return m; }"
    )
    assert _of(uses_by_syntax(chain.encode(), "c", [(1, "f")])[1, "f"], "n") == "condition"
    deep = b"int f(int n) { return " + b"(" * 200_000 + b"n" + b")" * 200_000 + b"; }"
    assert uses_by_syntax(deep, "c", [(1, "f")]).keys() <= {(1, "f")}
