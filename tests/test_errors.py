"""What a file that may not be used becomes."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from whyperf.errors import no_permission


def _said(path: Path, number: int) -> tuple[str, str | None]:
    error = no_permission(PermissionError(number, os.strerror(number), str(path)))
    return error.sentence, error.next_command


def test_a_mode_is_blamed_only_where_it_can_be_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = tmp_path.stat().st_uid
    # GIVEN a file that its owner may not change, as an immutable one
    said, command = _said(tmp_path, errno.EPERM)
    forbids = "An attribute, the file system or a security module forbids it"
    assert said == f"{tmp_path} cannot be used: Operation not permitted. {forbids}: {tmp_path} is yours."
    assert command == f"lsattr -d {tmp_path}; findmnt -T {tmp_path}"
    # WHEN it is the mode
    user = os.stat_result((0, 0, 0, 0, 1000, 0, 0, 0, 0, 0))
    monkeypatch.setattr(Path, "lstat", lambda _path: user)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert _said(tmp_path, errno.EACCES)[0].endswith("is yours, but its mode forbids it.")
    # THEN root is not told so: no mode forbids root anything
    monkeypatch.undo()
    if owner == 0 == os.geteuid():
        assert "mode forbids" not in _said(tmp_path, errno.EACCES)[0]
