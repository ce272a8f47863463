"""The one exception that a user's mistake or a machine's limit becomes: a sentence and the next command."""

from __future__ import annotations

import errno
import os
import pwd
import shlex
from pathlib import Path


class WhyperfError(Exception):
    """What went wrong in one sentence, and what to type next. The command line prints it and exits with `status`."""

    def __init__(self, sentence: str, next_command: str | None = None, *, status: int = 1) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.next_command = next_command
        self.status = status

    def __reduce__(self) -> tuple[object, ...]:
        """Workers raise it too, elsewhere."""
        return _again, (type(self), self.sentence, self.next_command, self.status)


def no_permission(error: PermissionError) -> WhyperfError:
    """What a file or folder that this user may not use becomes. The error must name it."""
    path = Path(os.fsdecode(error.filename))
    denying = next(one for one in (path, *path.absolute().parents) if os.path.lexists(one))
    quoted, uid = shlex.quote(str(denying)), denying.lstat().st_uid
    sentence = f"{path} cannot be used: {error.strerror}."
    if uid == os.geteuid() and (not uid or error.errno == errno.EPERM):  # which no mode is the reason for
        why = "An attribute, the file system or a security module forbids it"
        return WhyperfError(f"{sentence} {why}: {denying} is yours.", f"lsattr -d {quoted}; findmnt -T {quoted}")
    if uid == os.geteuid():
        return WhyperfError(f"{sentence} {denying} is yours, but its mode forbids it.", f"chmod u+rwX {quoted}")
    owner = _user(uid)
    return WhyperfError(
        f"{sentence} {denying} belongs to {owner}: name a path that you may use, or run whyperf as {owner}.",
        f"ls -ld {quoted}",
    )


def not_created(path: Path, error: OSError) -> WhyperfError:
    """Why a file or a folder could not be made."""
    if isinstance(error, PermissionError):
        return no_permission(error)
    quoted = shlex.quote(str(path.parent))
    if isinstance(error, FileNotFoundError) and not path.absolute().parent.exists():
        return WhyperfError(f"The folder {path.parent} does not exist.", f"mkdir -p {quoted}")
    return WhyperfError(f"{path} cannot be created: {error.strerror}.", f"ls -ld {quoted}; df -h {quoted}")


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def _again(kind: type[WhyperfError], sentence: str, next_command: str | None, status: int) -> WhyperfError:
    return kind(sentence, next_command, status=status)
