"""Packages are built once a way, and a case's edit never reaches the others."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from bench.cache import SubjectError
from bench.packages import Recipe, package

from bench import packages

SOURCE = '#include <stdio.h>\nint main(void) { return puts(QUICK ? "quick" : "slow") < 0; }\n'
PATCH = """--- a/program.c
+++ b/program.c
@@ -1,2 +1,2 @@
 #include <stdio.h>
-int main(void) { return puts(QUICK ? "quick" : "slow") < 0; }
+int main(void) { return puts("unfixed") < 0; }
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "program.c").write_text(SOURCE)
    recipe = Recipe("program-1.0", (("{compiler}", "-DQUICK=1", "program.c", "-o", "program"),))
    told = Recipe("program-1.0", (("sh", "-c", "{compiler} -DQUICK=0 {flags} program.c -o program"),))
    monkeypatch.setattr(packages, "PACKAGES", {"program": recipe, "told": told})
    monkeypatch.setattr(packages, "debian_source", lambda _package: folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


def said(folder: Path) -> str:
    return subprocess.run([folder / "program"], capture_output=True, text=True, check=True).stdout.strip()


def test_an_edit_makes_a_build_of_its_own(source: Path, tmp_path: Path) -> None:
    patch = tmp_path / "unfixed.patch"
    patch.write_text(PATCH)
    shipped, unfixed = package("program"), package("program", patch)
    assert (said(shipped), said(unfixed)) == ("quick", "unfixed")
    # THEN the source is as it came, and neither is built again
    assert (source / "program.c").read_text() == SOURCE
    assert (package("program"), package("program", patch)) == (shipped, unfixed)


def test_more_flags_make_another_build(source: Path) -> None:
    usual, quick = package("told"), package("told", flags="-UQUICK -DQUICK=1")
    assert (said(usual), said(quick)) == ("slow", "quick")


def test_an_edit_that_no_longer_fits_is_said(source: Path, tmp_path: Path) -> None:
    patch = tmp_path / "old.patch"
    patch.write_text(PATCH.replace("QUICK", "FORMER"))
    with pytest.raises(SubjectError, match="patch --strip=1"):
        package("program", patch)
