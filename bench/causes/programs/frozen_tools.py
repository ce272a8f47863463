"""Tools of others that stall; made after the rules were frozen.

frozen_tools.py normal|stalled git|rsync
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STALLED = sys.argv[1] == "stalled"
_NAMES = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


def git() -> None:
    """Commits whose hook takes a lock; stalled: a backup has it for a while."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, **_NAMES, "HOME": folder}
        lock = Path(folder, "lock")

        def run(*words: str) -> None:
            subprocess.run(["git", "-C", folder, *words], check=True, env=environment, stdout=subprocess.DEVNULL)

        run("init", "-q")
        hook = Path(folder, ".git/hooks/pre-commit")
        hook.write_text(f"#!/bin/sh\nexec flock {lock} true\n")
        hook.chmod(0o755)
        for turn in range(8):
            if turn == 5:
                backup = subprocess.Popen(["flock", lock, "sleep", "1.5" if STALLED else "0.02"])
                time.sleep(0.1)
            run("commit", "-q", "--allow-empty", "-m", f"turn {turn}")
        backup.wait()


def rsync() -> None:
    """Files copied through a remote shell that packs what goes through; stalled: it is busy with one piece."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(30):
            file = Path(folder, "from", f"file-{number}")
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(os.urandom(20_000))
        shell = Path(folder, "shell")
        passing = f"{sys.executable} {__file__} {sys.argv[1]} packer"
        shell.write_text(f'#!/bin/bash\nshift\nexec "$@" < <({passing})\n')
        shell.chmod(0o755)
        subprocess.run(["rsync", "-a", "-e", str(shell), f"{folder}/from/", f"host:{folder}/to/"], check=True)


def packer() -> None:
    passed = 0
    while piece := os.read(0, 4096):
        before, passed = passed, passed + len(piece)
        if STALLED and before < 300_000 <= passed:
            until = time.thread_time() + 1.5
            while time.thread_time() < until:
                sum(range(20_000))
        os.write(1, piece)


globals()[sys.argv[2]]()
