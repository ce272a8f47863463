"""An archive as a backup may be: files with second names (hard links), and symbolic links to other places."""

import io
import sys
import tarfile
from pathlib import Path

FILES = 20_000
DIRECTORIES = 60


def main(folder: Path) -> None:
    (folder / "out").mkdir()
    with tarfile.open(folder / "links.tar", "w", format=tarfile.GNU_FORMAT) as archive:
        for number in range(FILES):
            home = f"system/part-{number % DIRECTORIES:02d}"
            entry = tarfile.TarInfo(f"{home}/link-{number:05d}")
            entry.type, entry.linkname = tarfile.SYMTYPE, f"/usr/share/part-{number % DIRECTORIES:02d}/{number:05d}"
            archive.addfile(entry)
            content = f"{number:05d} {'x' * 600}\n".encode()
            entry = tarfile.TarInfo(f"{home}/file-{number:05d}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
            again = tarfile.TarInfo(f"{home}/again-{number:05d}")
            again.type, again.linkname = tarfile.LNKTYPE, entry.name
            archive.addfile(again)


main(Path(sys.argv[1]))
