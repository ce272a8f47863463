"""The same function in two builds, folders and library versions is one function; two of one name are two."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from tests.engines.made import recording
from tests.engines.symbol_rankings import by_inclusive_share, by_self_share, by_share_difference
from whyperf.engines.functions import FunctionIndex, is_system_source
from whyperf.engines.run import Run
from whyperf.recording.names.identity import without_version

STACK = [(("main", "lookup"), 1.0)]


def names(index):
    return sorted(function.key.name for function in index.functions)


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("libz.so.1.2.13", "libz.so"),
        ("libfoo-2.31.so", "libfoo.so"),
        ("libfoo-bar.so.3", "libfoo-bar.so"),
        ("server (deleted)", "server"),
        ("my.program", "my.program"),
    ],
)
def test_versions_are_no_part_of_a_modules_name(name, plain):
    assert without_version(name) == plain


def test_two_builds_in_two_folders_under_two_names_match():
    good = Run(recording(STACK, program="server-1.0", folder="/home/a/build"))
    bad = Run(recording(STACK, program="server-2.0", folder="/tmp/b"))
    index = FunctionIndex([good], [bad])
    assert names(index) == ["lookup", "main"]
    assert {function.key.module for function in index.functions} == {"server-2.0"}


def with_functions(made, rows):
    """The recording with its functions' files and lines changed, by name and occurrence."""
    table = made.tables["functions"].to_pylist()
    for row, change in zip(table, rows, strict=True):
        row.update(change)
    tables = {**made.tables, "functions": pa.Table.from_pylist(table, schema=made.tables["functions"].schema)}
    return replace(made, tables=tables)


def test_a_function_that_moved_to_another_file_is_the_same():
    good = Run(with_functions(recording(STACK), [{"file": "a.c"}, {"file": "a.c"}]))
    bad = Run(with_functions(recording(STACK), [{"file": "a.c"}, {"file": "b.c"}]))
    assert names(FunctionIndex([good], [bad])) == ["lookup", "main"]


def test_statics_of_one_name_in_two_files_are_two_functions_in_every_build():
    # GIVEN init() of net/util.c and init() of disk/util.c, in builds below different folders
    stacks = [(("main", "first"), 1.0), (("main", "second"), 1.0)]

    def build(folder):
        changes = [
            {"file": f"{folder}/main.c"},
            {"name": "init", "file": f"{folder}/net/util.c"},
            {"name": "init", "file": f"{folder}/disk/util.c"},
        ]
        return Run(with_functions(recording(stacks), changes))

    index = FunctionIndex([build("/one")], [build("/two/deep")])
    assert names(index) == ["init", "init", "main"]
    assert sorted(f.key.file for f in index.functions if f.key.name == "init") == ["disk/util.c", "net/util.c"]


def test_overloads_of_one_file_go_by_their_order_not_their_line():
    stacks = [(("main", "first"), 1.0), (("main", "second"), 1.0)]

    def build(shift):
        changes = [{}, {"name": "put", "line": 10 + shift}, {"name": "put", "line": 50 + shift}]
        return Run(with_functions(recording(stacks), changes))

    assert names(FunctionIndex([build(0)], [build(7)])) == ["main", "put", "put"]


def test_nameless_code_is_shown_by_module_and_offset():
    index = FunctionIndex([Run(recording([(("main", "?"), 1.0)]))], [Run(recording(STACK))])
    assert "tool+0x1000" in names(index)


@pytest.mark.parametrize(("debug", "own"), [("none", True), ("full", False)])
def test_nameless_code_is_a_stub_unless_the_program_is_stripped(debug, own):
    made = Run(recording([(("main", "?"), 1.0)], debug=debug))
    (nameless,) = [f for f in FunctionIndex([made], [made]).functions if "+0x" in f.key.name]
    assert nameless.own is own


@pytest.mark.parametrize(("builds", "functions"), [(("ab12", "ab12"), 1), (("ab12", "cd34"), 2)])
def test_functions_named_by_address_match_in_the_same_build_only(builds, functions):
    # GIVEN runs of a stripped program under two file names
    runs = []
    for program, build in zip(("v1", "v2"), builds, strict=True):
        made = with_functions(recording([((f"{program}+0x40",), 1.0)], program=program, debug="none"), [{"file": ""}])
        made.tables["modules"] = _with_build_id(made.tables["modules"], build)
        runs.append(Run(made))
    index = FunctionIndex(runs[:1], runs[1:])
    assert names(index) == ["v2+0x40"] * functions
    assert all(function.own for function in index.functions)


def test_exists_in_good_looks_at_the_whole_binary():
    good = Run(recording(STACK, also=["rehash"]))
    bad = Run(recording([(("main", "rehash"), 1.0), (("main", "added"), 1.0)]))
    index = FunctionIndex([good], [bad])
    known = {function.key.name: index.exists_in_good(number) for number, function in enumerate(index.functions)}
    assert known == {"main": True, "rehash": True, "added": False, "lookup": True}


def test_the_same_build_holds_what_the_good_runs_were_never_seen_in():
    # GIVEN recordings of one stripped file, which list only the functions that were sampled
    good, bad = recording(STACK), recording([(("main", "rehash"), 1.0)])
    for made in (good, bad):
        made.tables["modules"] = _with_build_id(made.tables["modules"], "ab12")
    index = FunctionIndex([Run(good)], [Run(bad)])
    assert all(index.exists_in_good(number) for number in range(len(index.functions)))


def _with_build_id(modules, build_id):
    at = modules.schema.get_field_index("build_id")
    return modules.set_column(at, modules.schema.field(at), pa.array([build_id] * len(modules), pa.string()))


@pytest.mark.parametrize("file", ["/usr/include/c++/12/vector", "/rustc/abc/library/core/src/slice/sort.rs"])
def test_system_sources(file):
    assert is_system_source(file)


def test_the_programs_sources_are_no_system_sources():
    assert not is_system_source("/home/me/usr/include/mine.h")


def test_baselines_rank_like_perf():
    good = Run(recording([(("main", "parse", "~scan"), 3.0), (("main", "libc:memcpy"), 1.0)]))
    bad = Run(recording([(("main", "parse", "~scan"), 3.0), (("main", "libc:memcpy"), 5.0)]))
    # Inlined code counts for the function it was inlined into; libc's functions are functions like any other.
    assert [(one.function.name, one.value) for one in by_self_share([good], [bad])] == [
        ("memcpy", pytest.approx(5 / 8)),
        ("parse", pytest.approx(3 / 8)),
    ]
    assert by_inclusive_share([good], [bad])[0].function.name == "main"
    assert [(one.function.name, one.value) for one in by_share_difference([good], [bad])] == [
        ("memcpy", pytest.approx(5 / 8 - 1 / 4))
    ]
