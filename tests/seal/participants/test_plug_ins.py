"""Which modules a program is linked with, and which somebody loaded later."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from whyperf.debuginfo.elf_files.linkage import Linkage, read_linkage
from whyperf.seal.participants.address_spaces import Mapped, Mapping, Module, Spaces
from whyperf.seal.participants.plug_ins import plug_ins
from whyperf.seal.participants.processes import Participants, Process


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """tool is linked with libown.so.1, which is linked with libdeep.so; libplug.so is linked by nobody."""
    folder = tmp_path_factory.mktemp("linked")
    for name, needs in (("deep", ()), ("own", ("-L.", "-ldeep")), ("plug", ())):
        (folder / f"{name}.c").write_text(f"int {name}(void) {{ return 1; }}\n")
        soname = f"-Wl,-soname,lib{name}.so.1" if name == "own" else "-Wl,--no-as-needed"
        link = ["cc", "-shared", "-fPIC", soname, "-Wl,--no-as-needed", "-o", f"lib{name}.so", f"{name}.c", *needs]
        subprocess.run(link, cwd=folder, check=True)
    (folder / "tool.c").write_text("int own(void);\nint main(void) { return own(); }\n")
    link = ["cc", "-o", "tool", "tool.c", "-L.", "-lown", "-Wl,--allow-shlib-undefined"]
    subprocess.run(link, cwd=folder, check=True)
    return folder


def test_linkage_is_read_from_the_file(built: Path) -> None:
    tool, own = read_linkage(built / "tool"), read_linkage(built / "libown.so")
    assert tool is not None and "libown.so.1" in tool.needed and "libc.so.6" in tool.needed
    assert own is not None and own.name == "libown.so.1" and "libdeep.so" in own.needed
    assert read_linkage(built / "tool.c") is None
    assert read_linkage(built / "nothing") is None


def test_a_static_program_is_linked_with_nothing(built: Path) -> None:
    (built / "alone.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["cc", "-static", "-o", "alone", "alone.c"], cwd=built, check=True)
    assert read_linkage(built / "alone") == Linkage("", ())


def _found(executable: Path | str, *modules: Path | str) -> set[str]:
    known = tuple(Module(str(path), "", 1) for path in modules)
    rows = tuple(Mapped(0, 1, Mapping(i << 20, (i + 1) << 20, 0, i)) for i in range(len(known)))
    none = np.zeros(0, np.int32)
    participants = Participants((Process(7, 1, 1, "exec", str(executable), (), 0),), (), none, none, ())
    spaces = Spaces(known, (), rows, (), ())
    return {Path(module.path).name for module in plug_ins(spaces, participants, "")}


def test_what_is_linked_directly_or_through_others_is_no_plug_in(built: Path) -> None:
    libraries = [built / f"lib{name}.so" for name in ("own", "deep", "plug")]
    assert _found(built / "tool", built / "tool", *libraries, "/lib/x86_64-linux-gnu/libc.so.6") == {"libplug.so"}


def test_nothing_is_called_a_plug_in_on_a_guess(built: Path) -> None:
    assert _found("/gone/tool", built / "libplug.so") == set()  # who knows what it was linked with
    assert _found(built / "tool", "/gone/libx.so") == set()
    assert _found(built / "tool", "[vdso]") == set()
