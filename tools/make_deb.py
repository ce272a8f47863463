"""Make a Debian package of a wheel and of everything that it needs but Python itself.

    python tools/make_deb.py WHEEL REQUIREMENTS MAN_PAGES FOLDER

It is a virtual environment at /usr/lib/whyperf, for this system's Python and C library or later ones of that Python.
Parts of pyarrow and numpy that whyperf never loads are left out.
"""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PYTHON = "/usr/bin/python3"
HOME = Path("usr/lib/whyperf")
# Headers, sources, tests, copies; Arrow's servers, clouds and other formats; what made the environment.
UNUSED = (
    "**/tests", "numpy/_core/include", "numpy/_core/lib", "numpy/f2py", "pyarrow/*.px[di]", "pyarrow/*.pyx",
    "pyarrow/include", "pyarrow/includes", "pyarrow/src", "pyarrow/libarrow_python*.so", "pyarrow/*.so.*.*.*",
    "pyarrow/*flight*", "pyarrow/*s3*", "pyarrow/*gcs*", "pyarrow/*azure*", "pyarrow/*orc*", "pyarrow/substrait.py",
    "pyarrow/_substrait*", "_distutils_hack", "distutils-precedence.pth", "pkg_resources", "setuptools*",
)  # fmt: skip
CONTROL = """\
Package: whyperf
Version: {version}
Architecture: {architecture}
Maintainer: whyperf
Section: devel
Priority: optional
Depends: python3 (>= {python}), python3 (<< {next_python}), libc6 (>= {c_library}), libstdc++6, zlib1g
Suggests: valgrind, gcc, libc6-dev
Installed-Size: {kilobytes}
Description: tells why one run of a program is slower than another
 whyperf names the function, line, variable, wait or changed relation that
 makes one run of a program slower than another, or need more memory, and
 shows the evidence.
"""
COMPLETIONS = {
    "bash": "usr/share/bash-completion/completions/whyperf",
    "zsh": "usr/share/zsh/vendor-completions/_whyperf",
    "fish": "usr/share/fish/vendor_completions.d/whyperf.fish",
}


def main(wheel: Path, requirements: Path, man_pages: Path, folder: Path) -> Path:
    version = wheel.name.split("-")[1]
    architecture = _output("dpkg", "--print-architecture")
    major, minor = _output(PYTHON, "-c", "import sys; print(*sys.version_info[:2])").split()
    (c_library,) = re.findall(r"manylinux_(\d+_\d+)_", wheel.name)
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "root"
        root.mkdir(mode=0o755)
        _environment(root, wheel, requirements)
        _pages_and_completions(root, man_pages)
        control = CONTROL.format(
            version=version,
            architecture=architecture,
            python=f"{major}.{minor}",
            next_python=f"{major}.{int(minor) + 1}",
            c_library=c_library.replace("_", "."),
            kilobytes=_output("du", "--summarize", "--block-size=1K", str(root)).split()[0],
        )
        (root / "DEBIAN").mkdir()
        (root / "DEBIAN" / "control").write_text(control)
        folder.mkdir(parents=True, exist_ok=True)
        package = folder / f"whyperf_{version}_{architecture}.deb"
        _output("dpkg-deb", "--root-owner-group", "-Zzstd", "--build", str(root), str(package))
    return package


def _environment(root: Path, wheel: Path, requirements: Path) -> None:
    home = root / HOME
    _output(PYTHON, "-m", "venv", str(home))
    install = [str(home / "bin" / "python3"), "-m", "pip", "install", "--quiet", "--no-compile", "--no-deps"]
    _output(*install, "--require-hashes", "--only-binary", ":all:", "--requirement", str(requirements))
    _output(*install, str(wheel))
    (packages,) = home.glob("lib/python3*/site-packages")
    for pattern in UNUSED:
        for path in list(packages.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    for cached in list(home.rglob("__pycache__")):
        shutil.rmtree(cached)
    for path in list((home / "bin").iterdir()):
        if not path.name.startswith("python"):
            path.unlink()
    command = home / "bin" / "whyperf"
    command.write_text(f"#!/{HOME}/bin/python3 -I\nfrom whyperf.cli.main import command\n\ncommand()\n")
    command.chmod(0o755)
    configuration = home / "pyvenv.cfg"
    configuration.write_text(configuration.read_text().replace(str(root), ""))
    _output(PYTHON, "-m", "compileall", "-q", "-s", str(root), "-p", "/", str(packages))
    (root / "usr" / "bin").mkdir()
    (root / "usr" / "bin" / "whyperf").symlink_to(f"/{HOME}/bin/whyperf")
    documents = root / "usr" / "share" / "doc" / "whyperf"
    documents.mkdir(parents=True)
    (information,) = packages.glob("whyperf-*.dist-info")
    (licence,) = re.findall(r"^License-Expression: (.*)$", (information / "METADATA").read_text(), re.MULTILINE)
    (documents / "copyright").write_text(
        f"whyperf and what its package bundles: {licence}.\n"
        f"The texts are in /{information.relative_to(root)}/licenses.\n"
        f"Each other Python package in /{packages.relative_to(root)} has its own in its folder *.dist-info.\n"
    )


def _pages_and_completions(root: Path, man_pages: Path) -> None:
    manual = root / "usr" / "share" / "man" / "man1"
    manual.mkdir(parents=True)
    for page in man_pages.glob("*.1"):
        (manual / f"{page.name}.gz").write_bytes(gzip.compress(page.read_bytes(), mtime=0))
    whyperf = [str(root / HOME / "bin" / "python3"), "-I", "-m", "whyperf", "completion"]
    for shell, place in COMPLETIONS.items():
        path = root / place
        path.parent.mkdir(parents=True)
        path.write_text(_output(*whyperf, shell) + "\n")


def _output(*command: str) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    print(main(*map(Path, sys.argv[1:5])))
