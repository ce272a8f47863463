"""`python -m bench.install PACKAGE`: install a wheel or a .deb in an empty system without a compiler, and use it there.

As root. The system is made by debootstrap. What a wheel needs is downloaded outside and installed from there, so that
the time is that of installing, not of the network.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.cache import kept

_INSIDE = 'for place in proc dev sys; do mount --rbind /$place $0/$place; done; exec chroot $0 "$@"'
_PYTHON = ("python3", "python3-venv")
_VENV = "/opt/whyperf"
_BESIDE = (
    "share/man/man1/whyperf.1.gz",
    "share/man/man1/whyperf-compare.1.gz",
    "share/bash-completion/completions/whyperf",
    "share/zsh/vendor-completions/_whyperf",
    "share/fish/vendor_completions.d/whyperf.fish",
)


class Root:
    """A system in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """The command in the root, in mounts of its own that end with it."""
        whole = ["unshare", "--mount", "--propagation", "private", "sh", "-c", _INSIDE, str(self.folder), *command]
        plain = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8"}
        return subprocess.run(whole, env=plain, capture_output=True, text=True, check=False, cwd="/")

    def must(self, *command: str) -> str:
        done = self.run(*command)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def size(self, place: str) -> float:
        """Megabytes."""
        return int(self.must("du", "--summarize", "--block-size=1", place).split()[0]) / 1e6


@contextmanager
def empty_root(suite: str, mirror: str | None) -> Iterator[Root]:
    def make(folder: Path) -> None:
        include = f"--include={','.join(_PYTHON)}"
        command = [
            "debootstrap",
            "--variant=minbase",
            include,
            suite,
            str(folder / "root"),
            *([mirror] if mirror else []),
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    made = kept(f"root-{suite}", [suite, *_PYTHON], make)
    with tempfile.TemporaryDirectory(dir=made.parent) as scratch:
        subprocess.run(["cp", "--archive", "--reflink=auto", made / "root", scratch], check=True)
        yield Root(Path(scratch) / "root")


def cpu_seconds(root: Root, *command: str) -> float:
    """Others may be at work on the machine."""
    before = os.times()
    root.must(*command)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def install_wheel(root: Root, wheel: Path) -> str:
    """The command that was installed."""
    shelf = root.folder / "opt" / "wheels"
    python = root.must("python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()
    only = ["--only-binary", ":all:", "--python-version", python]
    download = [sys.executable, "-m", "pip", "download", "--quiet", *only, "--dest", str(shelf), str(wheel)]
    subprocess.run(download, check=True)
    root.must("python3", "-m", "venv", _VENV)
    before = root.size(_VENV)
    seconds = cpu_seconds(
        root, f"{_VENV}/bin/pip", "install", "--quiet", "--no-index", "--find-links", "/opt/wheels", "whyperf"
    )
    print(f"pip install: {seconds:.0f} s of CPU, {root.size(_VENV) - before:.0f} MB, of which")
    packages = f"{_VENV}/lib/python{python}/site-packages"
    listed = root.must("du", "--block-size=1", "--max-depth=1", packages).splitlines()[:-1]
    sizes = sorted(((int(size) / 1e6, Path(path).name) for size, path in map(str.split, listed)), reverse=True)
    for size, name in sizes:
        if size >= 1 and name != "pip" and not name.endswith(".dist-info"):
            print(f"  {size:6.1f} MB  {name}")
    return f"{_VENV}/bin/whyperf"


def install_deb(root: Root, package: Path) -> str:
    shutil.copy(package, root.folder / "opt")
    seconds = cpu_seconds(root, "dpkg", "--install", f"/opt/{package.name}")
    print(f"dpkg --install: {seconds:.0f} s of CPU, {root.size('/usr/lib/whyperf'):.0f} MB")
    for file in _BESIDE:
        root.must("test", "-s", f"/usr/{file}")
    return "whyperf"


def use(root: Root, whyperf: str) -> None:
    """The first steps of a new user, with a program that was built elsewhere."""
    if root.run("sh", "-c", "command -v cc gcc clang").returncode == 0:
        raise SystemExit("The root has a compiler.")
    source = Path(__file__).parents[1] / "src" / "whyperf" / "demo" / "orders.c"
    subprocess.run(["cc", "-g", "-O2", "-o", root.folder / "opt" / "orders", source], check=True)
    doctor = root.must(whyperf, "doctor")
    if "MISSING" in doctor:
        raise SystemExit(doctor)
    root.must(whyperf, "record", "-o", "/opt/recorded", "--", "/opt/orders", "64")
    root.must(whyperf, "info", "/opt/recorded")
    compared = root.must(
        whyperf, "compare", "--runs", "3", "--quick", "/opt/orders 64", "/opt/orders 4096", "--html", "/opt/page.html"
    )
    ranked = [line.split()[:2] for line in compared.splitlines() if line.split()[:1] == ["1"]]
    demo = root.run(whyperf, "demo")
    print(f"doctor: {doctor.splitlines()[-1]}")
    print(f"compare: first suspect {ranked[0][1] if ranked else 'none'}; page of {root.size('/opt/page.html'):.1f} MB")
    print(f"demo: {demo.stderr.splitlines()[0]}")
    if not ranked or ranked[0][1] != "find_customer" or "there is no C compiler here" not in demo.stderr:
        raise SystemExit(compared + demo.stderr)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.install", description=__doc__)
    parser.add_argument("package", type=Path, help="what make wheel or make deb wrote into dist/")
    parser.add_argument("--suite", default="bookworm", help="what debootstrap makes (default: bookworm, Debian 12)")
    parser.add_argument("--mirror", help="where debootstrap finds it (default: its own choice)")
    args = parser.parse_args(arguments)
    if os.geteuid() != 0:
        raise SystemExit("Making a system in a folder needs root.")
    with empty_root(args.suite, args.mirror) as root:
        install = install_deb if args.package.suffix == ".deb" else install_wheel
        use(root, install(root, args.package.resolve()))


if __name__ == "__main__":
    main()
