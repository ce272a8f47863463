"""The secret behind redacted numbers: one for all recordings of a user, so that they compare; in none of them."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from pathlib import Path

from whyperf.errors import WhyperfError
from whyperf.recording.safe_files.private_folders import private_folder
from whyperf.recording.safe_files.storage import write_new

_BYTES = 32


def key_file() -> Path:
    root = os.environ.get("XDG_STATE_HOME", "")
    base = Path(root) if root.startswith("/") else Path(os.path.expanduser("~/.local/state"))  # noqa: PTH111 (never raises)
    return base / "whyperf" / "redaction-key"


def redaction_key() -> bytes:
    """This user's key, made at its first use."""
    path = key_file()
    if not path.is_absolute():
        raise WhyperfError(
            "The key of redacted recordings needs a home folder, and there is none.", "export XDG_STATE_HOME=/var/lib"
        )
    try:
        private_folder(path.parent)
        if not path.exists():
            _make(path)
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise WhyperfError(f"Others can read the key of redacted recordings, {path}.", f"chmod 600 {path}")
        key = path.read_bytes()
    except OSError as error:
        raise WhyperfError(
            f"The key of redacted recordings, {path}, cannot be used: {error.strerror}.", f"ls -ld {path.parent} {path}"
        ) from None
    if len(key) != _BYTES:
        raise WhyperfError(f"{path} is no key of redacted recordings: it has {len(key)} bytes.", f"rm {path}")
    return key


def fingerprint(key: bytes) -> str:
    """Tells keys apart and says nothing of them."""
    return hashlib.blake2b(b"fingerprint", key=key, digest_size=8).hexdigest()


def _make(path: Path) -> None:
    """Whole or not at all, by whichever of several recorders comes first."""
    aside = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    write_new(aside, secrets.token_bytes(_BYTES))
    try:
        os.link(aside, path)
    except FileExistsError:
        pass
    finally:
        aside.unlink()
