"""Programs that benchmarks build, and when they are built anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.subjects import own

from bench import subjects


def test_a_program_is_built_anew_when_a_source_that_was_added_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[list[str | Path]] = []
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(subjects, "run", lambda command, _folder: compiled.append(list(command)))
    added = tmp_path / "added.c"
    added.write_text("int one;\n")
    first = own("probe", added=(added,))
    assert any(added in command for command in compiled)
    # WHEN nothing changes, THEN nothing is compiled
    done = len(compiled)
    assert own("probe", added=(added,)) == first and len(compiled) == done
    # WHEN the text changes, THEN it is another program
    added.write_text("int two;\n")
    assert own("probe", added=(added,)) != first and len(compiled) > done
