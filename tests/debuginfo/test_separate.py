"""Debug information that lies elsewhere: the same binary must say the same wherever its DWARF was moved to."""

from __future__ import annotations

import lzma
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from whyperf.debuginfo.elf_files.elf import read_elf

from .building import Builder, run
from .conftest import Describe
from .reading import addresses_within, chains

ROOT = Path(__file__).parents[2]


@pytest.fixture
def program(build: Builder, tmp_path: Path) -> Path:
    """A copy to take apart."""
    return Path(shutil.copy(build.c("-O2", "-g", "-Wl,--build-id=sha1"), tmp_path / "program"))


@pytest.fixture
def shop(build: Builder, tmp_path: Path) -> Path:
    return Path(shutil.copy(build.cxx("-O2", "-g"), tmp_path / "shop"))


def _expected(describe: Describe, path: Path, tmp_path: Path) -> tuple[np.ndarray, list]:
    whole = describe(path, cache=tmp_path / "cache-of-the-whole")
    addresses = addresses_within(whole, 500)
    return addresses, chains(whole, addresses)


def _keep_debug(program: Path, debug: Path) -> None:
    debug.parent.mkdir(parents=True, exist_ok=True)
    run("objcopy", "--only-keep-debug", program, debug)
    run("objcopy", "--strip-all", program)


def _by_build_id(folder: Path, build_id: str) -> Path:
    return folder / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"


def test_debug_link(program: Path, described: Describe, tmp_path: Path) -> None:
    # GIVEN
    addresses, expected = _expected(described, program, tmp_path)
    debug = tmp_path / ".debug" / "program.debug"
    _keep_debug(program, debug)
    run("objcopy", f"--add-gnu-debuglink={debug}", "--remove-section=.note.gnu.build-id", program)

    # WHEN
    binary = described(program)

    # THEN
    assert binary.debug == "full"
    assert chains(binary, addresses) == expected


def test_build_id_folder(program: Path, described: Describe, tmp_path: Path) -> None:
    # GIVEN
    addresses, expected = _expected(described, program, tmp_path)
    build_id = read_elf(program).build_id
    _keep_debug(program, _by_build_id(tmp_path / "debug", build_id))

    # THEN without the folder there are no symbols left, with it everything
    assert described(program).debug == "none"
    binary = described(program, build_id, debug_folders=(tmp_path / "debug",))
    assert binary.debug == "full"
    assert chains(binary, addresses) == expected


@pytest.mark.parametrize("version", ["4", "5"])
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_split_dwarf(build: Builder, described: Describe, tmp_path: Path, compiler: str, version: str) -> None:
    # GIVEN the same code with its debug information in and beside the binary
    flags = ("-O2", f"-gdwarf-{version}")
    whole = build.cxx(*flags, compiler=compiler)
    split = build.cxx(*flags, "-gsplit-dwarf", compiler=compiler)
    assert list(split.parent.glob("*.dwo"))
    addresses, expected = _expected(described, whole, tmp_path)

    # WHEN
    binary = described(split)

    # THEN
    assert binary.debug == "full" and binary.note == ""
    assert chains(binary, addresses) == expected


def test_missing_split_files_are_said_and_not_cached(build: Builder, described: Describe, tmp_path: Path) -> None:
    # GIVEN
    split = build.c("-O2", "-g", "-gsplit-dwarf")
    kept = [Path(shutil.copy(dwo, tmp_path)) for dwo in split.parent.glob("*.dwo")]
    for dwo in split.parent.glob("*.dwo"):
        dwo.unlink()

    # WHEN
    binary = described(split)

    # THEN
    assert binary.debug == "symbols"
    assert "2 split debug files (.dwo)" in binary.note

    # WHEN they come back
    for dwo in kept:
        shutil.copy(dwo, split.parent)

    # THEN
    assert described(split).debug == "full"


def test_dwz(program: Path, shop: Path, described: Describe, tmp_path: Path) -> None:
    # GIVEN two programs whose common debug information was moved to a third file
    expected = [_expected(described, path, tmp_path) for path in (program, shop)]
    twin = Path(shutil.copy(shop, tmp_path / "twin"))
    run("dwz", "-m", tmp_path / "common.debug", "-M", tmp_path / "common.debug", program, shop, twin)
    assert ".gnu_debugaltlink" in run("readelf", "-SW", shop)

    # THEN
    for path, (addresses, chain) in zip((program, shop), expected, strict=True):
        binary = described(path)
        assert binary.debug == "full"
        assert chains(binary, addresses) == chain


def test_compressed_sections(build: Builder, described: Describe, tmp_path: Path) -> None:
    addresses, expected = _expected(described, build.c("-O2", "-g"), tmp_path)
    assert chains(described(build.c("-O2", "-g", "-gz")), addresses) == expected


def test_mini_debug_info(program: Path, described: Describe, tmp_path: Path) -> None:
    # GIVEN a stripped program with symbols in .gnu_debugdata, as Fedora makes them
    names = {chain[-1][0] for chain in _expected(described, program, tmp_path)[1] if chain}
    symbols = tmp_path / "mini"
    run(
        "objcopy",
        "-S",
        "--remove-section=.comment",
        "--keep-symbol=mill_grind",
        "--keep-symbol=same_name",
        program,
        symbols,
    )
    (tmp_path / "mini.xz").write_bytes(lzma.compress(symbols.read_bytes(), lzma.FORMAT_XZ))
    run("strip", "--strip-all", program)
    assert described(program).debug == "none"
    run("objcopy", f"--add-section=.gnu_debugdata={tmp_path / 'mini.xz'}", program)

    # WHEN
    binary = described(program)

    # THEN
    assert binary.debug == "symbols"
    assert {"mill_grind", "same_name"} <= set(binary.functions.names) & names


def test_gone_binary_is_found_by_build_id(program: Path, described: Describe, tmp_path: Path) -> None:
    # GIVEN
    addresses, expected = _expected(described, program, tmp_path)
    build_id = read_elf(program).build_id
    _keep_debug(program, _by_build_id(tmp_path / "debug", build_id))
    program.unlink()

    # WHEN
    binary = described(program, build_id, debug_folders=(tmp_path / "debug",))

    # THEN
    assert binary.debug == "full" and binary.build_id == build_id
    assert chains(binary, addresses) == expected
    assert binary.block_of(addresses).max() == -1
    assert binary.file_offset(int(addresses[0])) == -1


def test_replaced_binary_is_not_mistaken(program: Path, shop: Path, described: Describe) -> None:
    # GIVEN another build at the same path
    build_id = read_elf(program).build_id
    shutil.copy(shop, program)

    # WHEN
    binary = described(program, build_id)

    # THEN
    assert binary.debug == "none"
    assert "was replaced by another build since it ran" in binary.note
    assert len(binary.functions) == 0


def test_replaced_binary_is_remembered(program: Path, shop: Path, described: Describe) -> None:
    # GIVEN a binary that was read before it was replaced
    before = described(program)
    shutil.copy(shop, program)

    # WHEN
    after = described(program, before.build_id)

    # THEN
    assert after.debug == "full"
    assert after.functions.names == before.functions.names


def test_debuginfod_is_asked_only_where_the_user_named_a_server(program: Path, tmp_path: Path) -> None:
    # GIVEN a "server" that is a folder, and a binary that is gone
    build_id = read_elf(program).build_id
    served = tmp_path / "server" / "buildid" / build_id / "debuginfo"
    _keep_debug(program, served)
    program.unlink()
    script = (
        "import sys; from pathlib import Path; from whyperf.debuginfo.describe import describe;"
        "print(describe(sys.argv[1], sys.argv[2], cache=Path(sys.argv[3]), debug_folders=()).debug)"
    )
    environment = {key: value for key, value in os.environ.items() if not key.startswith("DEBUGINFOD_")}
    environment["DEBUGINFOD_CACHE_PATH"] = str(tmp_path / "downloads")

    def asked(**more: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", script, program, build_id, tmp_path / "cache"],
            env=environment | more,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    # THEN
    assert asked() == "none"
    assert asked(DEBUGINFOD_URLS=f"file://{tmp_path}/server/") == "full"
