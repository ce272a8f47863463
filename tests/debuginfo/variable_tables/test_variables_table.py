"""Tables on disk, and what is and is not in them."""

from __future__ import annotations

import platform
import time
from itertools import pairwise
from pathlib import Path

import pytest

from tests.debuginfo.building import PROGRAMS, run
from tests.debuginfo.oracle import table_of
from whyperf.debuginfo.describe import describe
from whyperf.debuginfo.elf_files.elf import read_elf
from whyperf.debuginfo.variable_tables.making import (
    DamagedTable,
    VariablesTable,
    read_table,
    table_file,
    write_table,
)
from whyperf.debuginfo.variable_tables.table import KINDS, SCOPES, names_file


def build_id_of(program: Path) -> str:
    elf = read_elf(program)
    assert elf is not None
    return elf.build_id


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("table") / "program"
    run("gcc", "-g", "-O0", PROGRAMS / "values.c", "-o", made)
    return made


@pytest.fixture(scope="module")
def table(program: Path) -> VariablesTable:
    return table_of(program, program.parent / "tables")


def rows_named(table: VariablesTable, name: str) -> list[int]:
    return [row for row, text in enumerate(table.variables.name) if text == name]


def test_variables_are_named_and_typed(program: Path, table: VariablesTable) -> None:
    names = list(describe(str(program), cache=program.parent / "tables" / "cache", debug_folders=()).functions.names)
    variables = table.variables

    def described(name: str) -> tuple[str, str, str, str]:
        row = rows_named(table, name)[0]
        function = names[variables.function[row]] if variables.function[row] >= 0 else ""
        return function, variables.type[row], KINDS[variables.kind[row]], SCOPES[variables.scope[row]]

    assert described("seed") == ("main", "unsigned int", "unsigned", "local")
    assert described("*deepest") == ("walk", "int", "signed", "parameter")
    assert described("here->colour") == ("insert", "enum colour", "enum", "local")
    assert described("here->at.y") == ("insert", "int", "signed", "local")
    assert described("here->seen") == ("insert", "_Bool", "boolean", "local")
    assert described("here->inner") == ("insert", "short int", "signed", "local")
    assert described("start.second") == ("main", "int", "signed", "local")
    assert described("length of counts") == ("histogram", "int[]", "size", "local")
    assert described("serial") == ("make", "int", "signed", "global")
    assert described("root->score") == ("", "double", "float", "global")
    told = "tls_address" in run("readelf", "--debug-dump=info", program)
    assert told or platform.machine() != "x86_64"  # no compiler for aarch64 says where thread-local variables are
    if told:
        assert described("thread_visits") == ("", "int", "signed", "global")
    assert described("bytes") == ("histogram", "const unsigned char *", "pointer", "parameter")


def test_contents_bit_fields_unions_and_constants_are_left_out(table: VariablesTable) -> None:
    names = set(table.variables.name)
    assert not names & {"*bytes", "here->label", "here->depth", "here->flags", "here->whole", "here->part", "limit"}


def test_shadowed_names_are_told_apart(table: VariablesTable) -> None:
    rows = rows_named(table, "chosen")
    assert sorted(int(table.variables.order[row]) for row in rows) == [0, 1]


def test_a_variable_counts_from_its_first_assignment_on(program: Path, table: VariablesTable) -> None:
    # GIVEN `int chosen;` with the first assignment six lines further down
    source = (PROGRAMS / "values.c").read_text().splitlines()
    assigned = next(number for number, line in enumerate(source, 1) if "chosen = selector * 7" in line)
    binary = describe(str(program), cache=program.parent / "tables" / "cache", debug_folders=())
    (function,) = binary.function_at("late")
    scope = next(s for s in range(len(binary.code.scope_function)) if binary.code.scope_function[s] == function)
    body = int(binary.code.body_low[binary.code.body_scope == scope][0])
    end = int(binary.code.body_high[binary.code.body_scope == scope][0])
    # WHEN every address of the function is looked up
    first_listed: dict[str, int] = {}
    for address in range(body, end):
        for location in table.at(address):
            first_listed.setdefault(table.variables.name[table.locations[location]["variable"]], address)
    # THEN it is listed behind that line only, and parameters behind the prologue
    before = binary.resolve(range(body, first_listed["chosen"]))
    assert assigned in before.line.tolist()
    assert body < first_listed["selector"] < first_listed["chosen"] < first_listed["unused_until_here"]


def test_a_table_is_made_once(program: Path, tmp_path: Path) -> None:
    build_id, folder = build_id_of(program), tmp_path / "tables"
    made = write_table(str(program), build_id, folder, cache=tmp_path / "cache", debug_folders=())
    written = table_file(folder, build_id).stat().st_mtime_ns
    started = time.process_time()
    again = write_table(str(program), build_id, folder, cache=tmp_path / "cache", debug_folders=())
    assert time.process_time() - started < 0.1
    assert made is not None
    assert again is not None
    assert again.hash == made.hash
    assert table_file(folder, build_id).stat().st_mtime_ns == written
    assert sorted(file.name for file in folder.iterdir()) == sorted([f"{build_id}.vars", f"{build_id}.variables"])


def test_the_same_binary_gives_the_same_table(program: Path, tmp_path: Path) -> None:
    first, second = table_of(program, tmp_path / "a"), table_of(program, tmp_path / "b")
    assert first.hash == second.hash


@pytest.mark.parametrize("suffix", [".vars", ".variables"])
@pytest.mark.parametrize("damage", ["cut", "flipped", "gone"])
def test_damaged_tables_are_made_again(program: Path, tmp_path: Path, suffix: str, damage: str) -> None:
    good = table_of(program, tmp_path)
    names = list(good.variables.name)
    file = table_file(tmp_path, build_id_of(program)).with_suffix(suffix)
    content = bytearray(file.read_bytes())
    file.unlink()  # never cut a file that is mapped
    if damage == "cut":
        file.write_bytes(content[: len(content) // 2])
    elif damage == "flipped":
        content[len(content) // 2] ^= 0x55
        file.write_bytes(content)
    with pytest.raises(DamagedTable):
        read_table(file.with_suffix(".vars"))
    assert table_of(program, tmp_path).hash == good.hash
    assert list(table_of(program, tmp_path).variables.name) == names


def test_names_belong_to_their_table(program: Path, tmp_path: Path) -> None:
    table_of(program, tmp_path)
    other = tmp_path / "other"
    run("gcc", "-g", "-O2", PROGRAMS / "values.c", "-o", other)
    table_of(other, tmp_path)
    mine, theirs = (table_file(tmp_path, build_id_of(one)) for one in (program, other))
    names_file(theirs).replace(names_file(mine))
    with pytest.raises(DamagedTable):
        read_table(mine)


def test_without_debug_information_or_build_id_there_is_none(program: Path, tmp_path: Path) -> None:
    stripped = tmp_path / "stripped"
    run("strip", "-o", stripped, program)
    assert write_table(str(stripped), build_id_of(stripped), tmp_path, debug_folders=()) is None
    assert write_table(str(program), "", tmp_path) is None
    assert write_table(str(program), "00" * 20, tmp_path) is None
    assert write_table(str(tmp_path / "nothing"), "00" * 20, tmp_path) is None
    assert not list(tmp_path.glob("*.vars"))


def test_separate_debug_files_are_used(program: Path, tmp_path: Path) -> None:
    debug, stripped = tmp_path / "program.debug", tmp_path / "program"
    run("objcopy", "--only-keep-debug", program, debug)
    run("strip", "-o", stripped, program)
    run("objcopy", f"--add-gnu-debuglink={debug.name}", stripped, cwd=tmp_path)
    assert table_of(stripped, tmp_path / "tables").hash == table_of(program, tmp_path / "whole").hash


def test_addresses_outside_have_no_variables(table: VariablesTable) -> None:
    first, last = int(table.segments["address"][0]), int(table.segments["address"][-1])
    assert table.at(0) == []
    assert table.at(first - 1) == []
    assert table.at(first)
    assert table.at(last) == []
    assert table.at(2**40) == []


def test_segments_are_disjoint_and_say_something_new(table: VariablesTable) -> None:
    addresses = table.segments["address"]
    assert (addresses[1:] > addresses[:-1]).all()
    keys = list(zip(table.segments["first"].tolist(), table.segments["count"].tolist(), strict=True))
    assert all(a != b for a, b in pairwise(keys))
    assert max(table.lists.tolist()) < len(table.locations)
