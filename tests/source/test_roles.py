"""Roles of variables as debug information names them, from whatever lies where the source should be."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whyperf.source.compile_flags import builtin_headers, language_of
from whyperf.source.declarations import declared_at_top
from whyperf.source.roles import FunctionInSource, SourceRoles, roles_of, short_name
from whyperf.source.semantics import uses_by_semantics
from whyperf.source.syntax import _parser, uses_by_syntax

pytestmark = pytest.mark.process

_REPOSITORY = Path(__file__).parents[2]
_SOURCE = """\
static int count;
int limit;
struct box { int n; int cap; };
int g(int *);
int f(struct box *p, int *total, int k) {
  static int calls;
  if (calls++ > limit && count) g(total);
  for (int i = 0; i < p->n; i++) k += *total;
  return k;
}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "some.c"
    made.write_text(_SOURCE)
    return made


def _texts(roles: SourceRoles, file: Path, *names: str) -> list[str]:
    return ["|".join(sorted(roles.of(str(file), 5, name))) for name in names]


@pytest.mark.parametrize("producer", [None, "GNU C11 12.2.0"])
def test_names_of_debug_information(file: Path, producer: str | None) -> None:
    producers = {str(file): producer} if producer else {}
    roles = roles_of([FunctionInSource(str(file), 5, "f")], producers=producers, budget_s=10)
    assert roles.by_semantics == (producer is not None)
    assert _texts(roles, file, "p->n", "p->cap", "p", "i", "k") == ["condition", "", "condition", "condition|loop", ""]
    assert _texts(roles, file, "total", "*total") == ["argument", "argument"]
    assert roles.of_global(str(file), 1, "count") == {"global", "condition", "truth"}
    assert roles.of_global(str(file), 2, "limit") == {"global", "condition"}
    assert roles.of_global(str(file), 6, "calls") == {"global", "condition"}
    assert roles.of_global(str(file), 9, "unknown") == {"global"}
    assert roles.of(str(file), 99, "p") == frozenset() == roles.of("/elsewhere.c", 5, "p")


def test_a_static_variable_of_another_file_is_another_one(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.c"
    other.write_text("static int count;\nextern int limit;\nint h(void) {\n  return count + limit;\n}\n")
    roles = roles_of([FunctionInSource(str(file), 5, "f"), FunctionInSource(str(other), 3, "h")], budget_s=10)
    assert roles.of_global(str(other), 1, "count") == {"global"}


def test_a_lambda_is_found_by_a_line_within_it(tmp_path: Path) -> None:
    file = tmp_path / "some.cc"
    file.write_text(
        "int f(int n) {\n  auto more = [&](int y) {\n    int z = y;\n    return z + n;\n  };\n  return more(3);\n}\n"
    )
    roles = roles_of([FunctionInSource(str(file), 3, "f::{lambda}::operator()")], budget_s=10)
    assert roles.of(str(file), 3, "z", 3) == frozenset()
    file.write_text(file.read_text().replace("return z + n", "return z > n"))
    roles = roles_of([FunctionInSource(str(file), 3, "f::{lambda}::operator()")], budget_s=10)
    assert roles.of(str(file), 3, "z", 3) == {"condition"}


def test_flags_of_a_database_are_used(file: Path) -> None:
    file.write_text("int f(int n) {\n#ifdef WANTED\n  if (n) return 1;\n#endif\n  return n HERE;\n}\n")
    entry = {
        "directory": str(file.parent),
        "file": file.name,
        "arguments": ["cc", "-DHERE=? 2 : 3", "-DWANTED", file.name],
    }
    database = file.with_name("given.json")
    database.write_text(json.dumps([entry]))
    roles = roles_of([FunctionInSource(str(file), 1, "f")], compile_commands=database, budget_s=10)
    assert roles.by_semantics == 1 and roles.of(str(file), 1, "n") == {"condition", "truth"}


def test_missing_headers_leave_the_file_to_its_grammar(file: Path) -> None:
    file.write_text('#include "nowhere.h"\n' + _SOURCE)
    roles = roles_of([FunctionInSource(str(file), 6, "f")], producers={str(file): "GNU C11 12"}, budget_s=10)
    assert roles.by_semantics == 0 and roles.of(str(file), 6, "p->n") == {"condition"}


def test_kept_by_content(file: Path, tmp_path: Path) -> None:
    cache = tmp_path / "kept"
    wanted = [FunctionInSource(str(file), 5, "f"), FunctionInSource(str(file), 70, "gone")]
    producers = {str(file): "GNU C11 12"}
    first = roles_of(wanted, producers=producers, budget_s=10, cache=cache)
    # WHEN nobody may read any more
    again = roles_of(wanted, producers=producers, budget_s=0, cache=cache)
    # THEN what was read, and that something is not there, is still known
    assert again.of(str(file), 5, "i") == first.of(str(file), 5, "i") == {"loop", "condition"}
    assert again.by_semantics == 1 and again.unread == 0
    # AND other content is other content
    file.write_text(_SOURCE + "\n")
    assert roles_of(wanted, budget_s=0, cache=cache).unread == 1


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"format": 1}', b'{"format": 1, "readers": {"syntax c": {"x": 3}}}', b"\xff"]
)
def test_a_damaged_entry_is_made_anew(file: Path, tmp_path: Path, content: bytes) -> None:
    cache, wanted = tmp_path / "kept", [FunctionInSource(str(file), 5, "f")]
    roles_of(wanted, budget_s=10, cache=cache)
    (entry,) = cache.iterdir()
    entry.write_bytes(content)
    assert roles_of(wanted, budget_s=10, cache=cache).of(str(file), 5, "i") == {"loop", "condition"}


def test_a_cache_that_cannot_be_written_costs_nothing(file: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    roles = roles_of([FunctionInSource(str(file), 5, "f")], budget_s=10, cache=tmp_path / "taken")
    assert roles.of(str(file), 5, "i") == {"loop", "condition"}


def test_what_is_no_source(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.c")
    (tmp_path / "huge.c").write_bytes(b"int f(int n) { return n; }\n" * 400_000)
    (tmp_path / "folder.c").mkdir()
    (tmp_path / "binary.c").write_bytes(Path(sys.executable).resolve().read_bytes()[:200_000])
    (tmp_path / "crate.rs").write_text("fn f() {}")
    names = ["fifo.c", "huge.c", "folder.c", "binary.c", "crate.rs", "gone.c"]
    wanted = [FunctionInSource(str(tmp_path / name), 1, "f") for name in names]
    wanted += [FunctionInSource("relative.c", 1, "f"), FunctionInSource("/a\0b.c", 1, "f"), FunctionInSource("", 0, "")]
    roles = roles_of(wanted, producers={one.file: "GNU C11 12" for one in wanted}, budget_s=5)
    assert all(roles.of(one.file, 1, "n") == frozenset() for one in wanted)


def test_source_that_is_not_utf8(tmp_path: Path) -> None:
    file = tmp_path / "latin.c"
    file.write_bytes(
        b"/* caf\xe9 */\nint f(int n, char *\xe9t\xe9) {\n"
        b"  if (n) return *\xe9t\xe9 ? 1 : 2; /* \xff */\n  return 0;\n}\n"
    )
    roles = roles_of([FunctionInSource(str(file), 2, "f")], producers={str(file): "GNU C11 12"}, budget_s=10)
    assert roles.of(str(file), 2, "n") == {"condition", "truth"}


def test_reading_ends_in_time(tmp_path: Path) -> None:
    # GIVEN more source than anyone reads in a moment
    wanted = []
    for number in range(40):
        file = tmp_path / f"{number}.c"
        file.write_text(f"/* {number} */\n" + "int f(int n) { if (n) return 1; return 2; }\n" * 20_000)
        wanted.append(FunctionInSource(str(file), 2, "f"))
    start = sum(os.times()[:4])
    roles = roles_of(wanted, budget_s=0.5)
    assert sum(os.times()[:4]) - start < 5  # of CPU time, with that of children
    assert roles.unread > 0


def _worker(tmp_path: Path, first: str) -> str:
    script = tmp_path / "python"
    script.write_text(
        f"#!{sys.executable}\nimport time\n{first}\nimport whyperf.source.worker as worker\nworker.main()\n"
    )
    script.chmod(0o755)
    return str(script)


def test_a_busy_machine_reads_as_much_as_an_idle_one(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # GIVEN a worker that gets no CPU for much longer than the CPU time it may use
    monkeypatch.setattr(sys, "executable", _worker(tmp_path, "time.sleep(2.5)"))
    roles = roles_of([FunctionInSource(str(file), 5, "f")], budget_s=1.0)
    assert roles.unread == 0
    assert roles.of(str(file), 5, "i")


def test_a_worker_that_hangs_is_given_up(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", _worker(tmp_path, "time.sleep(600)"))
    monkeypatch.setattr("whyperf.source.reading._HANGS_S", 0.5)
    assert roles_of([FunctionInSource(str(file), 5, "f")], budget_s=1.0).unread == 1


def test_a_crash_costs_one_file(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN a worker that dies at one of three files
    files = [tmp_path / name for name in ("a.c", "crash.c", "b.c")]
    for one in files:
        one.write_text(_SOURCE + f"/* {one.name} */\n")
    script = tmp_path / "python"
    script.write_text(
        f"#!{sys.executable}\n"
        "import os, whyperf.source.worker as worker\n"
        "real = worker.uses_by_syntax\n"
        "worker.uses_by_syntax = lambda c, *rest: os.abort() if b'crash' in c else real(c, *rest)\n"
        "worker.main()\n"
    )
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    roles = roles_of([FunctionInSource(str(one), 5, "f") for one in files], budget_s=10)
    assert [bool(roles.of(str(one), 5, "i")) for one in files] == [True, False, True]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damaged_source_is_read_as_far_as_it_goes(data: st.DataObject) -> None:
    raw = bytearray(_SOURCE.encode())
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(raw)))
        raw[at : at + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=5))
    language = data.draw(st.sampled_from(["c", "cpp"]))
    for uses in uses_by_syntax(bytes(raw), language, [(5, "f"), (1, "g")]).values():
        assert all(line >= 0 and path and roles for (line, path), roles in uses.items())


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("main", "main"),
        ("std::vector<a::b, c<d> >::size", "size"),
        ("run<std::string>", "run"),
        ("W::operator<", "operator<"),
        ("W::operator()", "operator()"),
        ("(anonymous namespace)::go", "go"),
        ("W::~W", "~W"),
        ("operators::count", "count"),
    ],
)
def test_short_names(name: str, short: str) -> None:
    assert short_name(name) == short


def _real_files() -> list[tuple[Path, list[str]]]:
    own = [(path, [f"-I{_REPOSITORY / 'native'}"]) for path in sorted((_REPOSITORY / "native").glob("*/*.c"))]
    caches = [_REPOSITORY / ".cache" / "bench", Path("~/.cache/whyperf/bench").expanduser()]
    trees = [tree for cache in caches for tree in sorted(cache.glob("redis-*/src"))]
    folders = ("src", "deps/lua/src", "deps/hiredis", "deps/linenoise")
    redis = [
        (tree / name, [f"-I{tree.parent / folder}" for folder in folders])
        for tree in trees[:1]
        for name in ("networking.c", "dict.c", "t_zset.c")
    ]
    return own[:25] + redis


def test_both_readers_agree_on_real_source(capsys: pytest.CaptureFixture[str]) -> None:
    same = differing = 0
    for path, flags in _real_files():
        content = path.read_bytes()
        language = language_of(str(path))
        assert language == "c"
        _, functions = declared_at_top(_parser(language).parse(content).root_node)
        wanted = [(line, name) for _, line, name in functions]
        try:
            exact = uses_by_semantics(
                str(path), ["-x", "c", "-std=gnu11", "-D_GNU_SOURCE", *flags, *builtin_headers()], wanted
            )
        except Exception as error:
            assert type(error).__name__ == "UncleanError"
            continue
        guessed = uses_by_syntax(content, language, wanted)
        for one, uses in exact.items():
            for variable in {key for key in uses.keys() | guessed[one].keys() if key[0]}:
                mine, theirs = guessed[one].get(variable, frozenset()), uses.get(variable, frozenset())
                same += mine == theirs
                differing += mine != theirs
    with capsys.disabled():
        print(f"\nroles by grammar and by libclang: {same} of {same + differing} variables the same")
    assert same > 200
    assert same / (same + differing) > 0.85


def test_headers_are_found_in_the_tree_but_never_instead_of_the_systems(tmp_path: Path) -> None:
    # GIVEN a library whose header is needed, and one whose headers are named like the system's
    source, extra, bad = (tmp_path / name for name in ("src", "deps/extra", "deps/bad"))
    for folder in (source, extra, bad):
        folder.mkdir(parents=True)
    (extra / "extra.h").write_text("#define MANY(x) ((x) > 3)\n")
    (bad / "string.h").write_text("#error not meant for you\n")
    file = source / "a.c"
    file.write_text('#include <string.h>\n#include "extra.h"\nint f(int n) {\n  return MANY(n) ? 1 : strlen("");\n}\n')
    # WHEN nothing is known but where the source is
    roles = roles_of(
        [FunctionInSource(str(file), 3, "f")],
        producers={str(file): "GNU C11 12"},
        folders=[str(source)],
        budget_s=10,
    )
    # THEN libclang understands it
    assert roles.by_semantics == 1 and roles.of(str(file), 3, "n") == {"condition"}


def test_without_libclang_the_grammar_tells_what_no_macro_hides(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN a file whose flags are known
    asked = [FunctionInSource(str(file), 5, "f")]
    known = {"producers": {str(file): "GNU C11 12"}, "budget_s": 10}
    with_libclang = roles_of(asked, **known)
    # WHEN libclang is not installed
    monkeypatch.setitem(sys.modules, "clang", None)
    without = roles_of(asked, **known)
    # THEN the roles are the same
    assert (with_libclang.by_semantics, without.by_semantics) == (1, 0)
    assert [without.of(str(file), 5, name) for name in ("i", "p->n", "k", "total")] == [
        with_libclang.of(str(file), 5, name) for name in ("i", "p->n", "k", "total")
    ]
    assert "loop" in without.of(str(file), 5, "i")
