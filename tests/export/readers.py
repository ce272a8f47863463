"""Other tools' own readers, from their packages."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

_CACHE = Path(__file__).parents[2] / ".cache" / "npm"


@functools.cache
def npm_package(name: str) -> Path:
    """The unpacked package, fetched once; the test is skipped where it cannot be had."""
    folder = _CACHE / name.replace("/", "+")
    if not folder.exists():
        if shutil.which("npm") is None:
            pytest.skip("npm is not installed")
        _CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_CACHE) as scratch:
            packing = ["npm", "pack", "--silent", name]
            packed = subprocess.run(packing, cwd=scratch, capture_output=True, text=True, check=False)
            if packed.returncode:
                pytest.skip(f"{name} cannot be fetched: {packed.stderr.strip()[-200:]}")
            subprocess.run(["tar", "-xf", packed.stdout.split()[-1]], cwd=scratch, check=True)
            (Path(scratch) / "package").rename(folder)
    return folder


def pprof_schema() -> Path:
    """The folder of profile.proto, from Debian's golang-github-google-pprof-dev."""
    folder = Path("/usr/share/gocode/src/github.com/google/pprof/proto")
    if not (folder / "profile.proto").exists() or shutil.which("protoc") is None:
        pytest.skip("protobuf-compiler and golang-github-google-pprof-dev are not installed")
    return folder
