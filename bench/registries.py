"""Sources from the two registries a machine already trusts: its Python index and its Debian mirror."""

from __future__ import annotations

import platform
import re
import sys
from pathlib import Path

from bench.cache import SubjectError, cache_folder, kept, locked, run

_APT_SOURCES = Path("/etc/apt/sources.list")
_APT_PARTS = Path("/etc/apt/sources.list.d")


def python_source(distribution: str) -> Path:
    """The unpacked source distribution of a Python package, newest version."""

    def make(folder: Path) -> None:
        run(
            [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:", "-d", folder, distribution],
            folder,
        )
        archive = next(folder.glob("*.tar.gz"), None)
        if archive is None:
            raise SubjectError(f"{distribution} has no source distribution in the configured Python index.")
        run(["tar", "-xf", archive], folder)

    folder = kept(f"source-{distribution}", [distribution], make)
    return next(path for path in folder.iterdir() if path.is_dir())


def debian_source(package: str) -> Path:
    """The unpacked, patched Debian source package, from the mirrors this machine is set up with."""

    def make(folder: Path) -> None:
        fetch = ["apt-get", *_apt_options(), "source", "-q"]
        try:
            run([*fetch, package], folder)
        except SubjectError:
            # Mirrors may list security updates whose sources they do not hold: the release's own will do.
            run([*fetch, f"{package}/{platform.freedesktop_os_release()['VERSION_CODENAME']}"], folder)

    folder = kept(f"source-{package}", [package], make)
    return next(path for path in folder.iterdir() if path.is_dir())


def _apt_options() -> list[str]:
    """Options that make apt-get read a sources list of our own: the machine's, turned to source packages."""
    apt = cache_folder() / "apt"
    lists = apt / "lists"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    sources = _source_entries()
    if sources is None:
        raise SubjectError("No Debian or Ubuntu mirror is configured in /etc/apt.")
    listing = apt / ("src.sources" if sources.startswith("Types") else "src.list")
    options = [
        "-o", f"Dir::Etc::sourcelist={listing}",
        "-o", "Dir::Etc::sourceparts=-",
        "-o", f"Dir::State::lists={lists}",
        "-o", "APT::Sandbox::User=root",
    ]  # fmt: skip
    with locked(apt / "update.lock"):
        fresh = not listing.exists() or listing.read_text() != sources
        if fresh or not any(lists.glob("*Sources*")):
            listing.write_text(sources)
            run(["apt-get", *options, "update", "-q"], apt)
    return options


def _source_entries() -> str | None:
    """The distribution's own entries as deb-src; those of other vendors are left out."""
    for path in sorted(_APT_PARTS.glob("*.sources")):
        text = path.read_text()
        if re.search(r"keyrings/(debian|ubuntu)-archive", text):
            return re.sub(r"^Types:.*$", "Types: deb-src", text, flags=re.MULTILINE)
    if _APT_SOURCES.exists():
        lines = [line for line in _APT_SOURCES.read_text().splitlines() if line.startswith("deb ")]
        if lines:
            return "\n".join(line.replace("deb ", "deb-src ", 1) for line in lines) + "\n"
    return None
