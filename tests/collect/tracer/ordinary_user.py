"""whyperf as somebody runs it who is not root: another user, another home, fewer rights."""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import whyperf
from tests.patience import PATIENCE_S

NOBODY = 65534
_SANDBOX = Path(__file__).with_name("sandbox.py")
_SYSTEM_PYTHON = Path("/usr/bin/python3")

Done = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class OrdinaryUser:
    home: Path
    python: str

    def run(self, *command: str | Path, before: Sequence[str] = (), deny: str = "", uid: int | None = NOBODY) -> Done:
        """`before`: what the command is started by; `deny`: the error that perf_event_open and bpf fail with."""
        options = [*(("--uid", str(uid)) if uid is not None else ()), *(("--deny", deny) if deny else ())]
        return subprocess.run(
            [self.python, str(_SANDBOX), *options, "--", *before, *map(str, command)],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            cwd=self.home,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            check=False,
        )

    def whyperf(
        self, *arguments: str | Path, before: Sequence[str] = (), deny: str = "", uid: int | None = NOBODY
    ) -> Done:
        return self.run(self.python, "-m", "whyperf", *arguments, before=before, deny=deny, uid=uid)

    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
        own = {
            "HOME": str(self.home),
            "PYTHONPATH": str(self.home / "site"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "WHYPERF_TRACE_FOLDER": str(self.home / self.home.name),
        }
        return {**kept, **own}


@contextmanager
def ordinary_user() -> Iterator[OrdinaryUser]:
    """With a home of its own, outside of pytest's folders, which are root's. Skips where none can be made."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    python = _python_for_everybody()
    home = Path(tempfile.mkdtemp(prefix="whyperf-user-"))
    try:
        home.chmod(0o755)
        (home / "site").mkdir()
        # Whoever finds this imports what the tests import, whichever Python it is.
        folders = [path for path in sys.path if path.endswith("site-packages")] or site.getsitepackages()
        folders.append(str(Path(whyperf.__file__).parents[1]))
        lines = "".join(f"site.addsitedir({folder!r})\n" for folder in folders)
        (home / "site" / "sitecustomize.py").write_text(f"import site\n{lines}")
        os.chown(home, NOBODY, NOBODY)
        yield OrdinaryUser(home, python)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _python_for_everybody() -> str:
    """Ours, or the system's where ours lies in a folder that is root's alone."""
    for python in (Path(sys.executable), _SYSTEM_PYTHON):
        version = f"import sys; sys.exit(sys.version_info[:2] != {tuple(sys.version_info[:2])!r})"
        if not python.exists():
            continue
        # Started by another program that has given up its rights already.
        as_nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "env", str(python)]
        if subprocess.run([*as_nobody, "-c", version], capture_output=True, check=False).returncode == 0:
            return str(python)
    pytest.skip("no Python of this version that an ordinary user may execute")
