"""How files were compiled, and what of it may be believed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from whyperf.errors import WhyperfError
from whyperf.source.compile_flags import CompileFlags, kept_flags, language_of, producer_flags, producers_in


def _flags(given: Path | None = None, **producers: str) -> CompileFlags:
    return CompileFlags(given, producers, ())


@pytest.mark.parametrize("where", [".", "build"])
@pytest.mark.parametrize("shape", ["command", "arguments"])
def test_a_database_is_found_beside_or_above_the_source(tmp_path: Path, where: str, shape: str) -> None:
    source = tmp_path / "src" / "deep" / "a.c"
    source.parent.mkdir(parents=True)
    source.touch()
    (tmp_path / where).mkdir(exist_ok=True)
    words = ["gcc", "-c", "-O2", "-DN=3", "-I", "include", "-o", "a.o", "src/deep/a.c"]
    how = {"command": " ".join(words)} if shape == "command" else {"arguments": words}
    entry = {"directory": str(tmp_path), "file": "src/deep/a.c", **how}
    (tmp_path / where / "compile_commands.json").write_text(json.dumps([entry]))
    assert _flags().of(str(source)) == ("-DN=3", "-I", "include", f"-working-directory={tmp_path}")
    assert _flags().of(str(source.with_name("b.c"))) is None


def test_a_database_is_found_above_the_binary(tmp_path: Path) -> None:
    source, binaries = tmp_path / "source" / "a.c", tmp_path / "build-release" / "bin"
    binaries.mkdir(parents=True)
    entry = {"directory": str(tmp_path), "file": str(source), "command": f"gcc -DN=3 -c {source}"}
    (binaries.parent / "compile_commands.json").write_text(json.dumps([entry]))
    assert CompileFlags(None, {}, ()).of(str(source)) is None
    found = CompileFlags(None, {}, (), (str(binaries),)).of(str(source))
    assert found == ("-DN=3", f"-working-directory={tmp_path}")


@pytest.mark.parametrize(
    "content", ["", "{}", "[3, null, {}]", '[{"directory": 1, "file": 2, "command": "x"}]', "[" * 9000]
)
def test_a_damaged_database_says_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "compile_commands.json").write_text(content)
    assert _flags().of(str(tmp_path / "a.c")) is None


def test_a_given_database_must_be_one(tmp_path: Path) -> None:
    with pytest.raises(WhyperfError, match="compilation database"):
        _flags(tmp_path / "missing.json")
    (tmp_path / "compile_commands.json").write_text("[]")
    assert _flags(tmp_path).of("/nowhere/a.c") is None


def test_flags_that_load_code_are_dropped() -> None:
    words = ["-fplugin=evil.so", "-Xclang", "-load", "-Xclang", "evil.so", "@more", "-B/tmp", "-std=c11", "-Dx", "-m32"]
    assert kept_flags(words) == ["-std=c11", "-Dx", "-m32"]


@pytest.mark.process
def test_producers_tell_the_dialect(tmp_path: Path) -> None:
    assert producer_flags("GNU C++17 12.2.0 -mtune=generic -g -O2") == ["-std=gnu++17"]
    assert producer_flags("GNU C11 12.2.0 -DX=1 -std=c11 -g") == ["-DX=1", "-std=c11"]
    source, binary = tmp_path / "a.c", tmp_path / "a"
    source.write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-g", "-std=gnu11", "-o", binary, source], check=True)
    producers = producers_in(str(binary))
    assert producer_flags(producers["c"]) == ["-std=gnu11"] and "cpp" not in producers
    assert producers_in(str(tmp_path / "gone")) == {} == producers_in(str(tmp_path))
    flags = CompileFlags(None, {str(source): producers["c"]}, ("/far", str(tmp_path / "include"))).of(str(source))
    assert flags == ("-std=gnu11", f"-I{tmp_path}", f"-I{tmp_path}/include", "-I/far")


@pytest.mark.parametrize(
    ("file", "language"), [("/a.c", "c"), ("/a.cc", "cpp"), ("/vector", "cpp"), ("/a.h", "cpp"), ("/a.rs", None)]
)
def test_languages(file: str, language: str | None) -> None:
    assert language_of(file) == language
