"""Make the README's pictures from a real run of the demo: `make pictures`."""

from __future__ import annotations

import io
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.text import Text

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
_COLUMNS = 88
_SECOND = "  2  "  # how the section of the second suspect begins
_FONTS = re.compile(r"@font-face \{.*?\}", re.DOTALL)
_WIDTH, _HEIGHT = 1280, 860


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "demo"
        said = _on_a_terminal([str(Path(sys.executable).parent / "whyperf"), "demo", "-o", str(kept)])
        _draw(said, PICTURES / "terminal.svg")
        _photograph(kept / "orders.html", PICTURES / "page.png")


def _on_a_terminal(command: list[str]) -> str:
    """Run it on a terminal of its own, so that it prints in colour, and return its standard output."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(_COLUMNS), "TERM": "xterm-256color"}
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL, env=environment) as running:
        os.close(theirs)
        said = b""
        while piece := _read(ours):
            said += piece
    os.close(ours)
    if running.returncode:
        sys.exit(f"{command[0]} demo ended with {running.returncode}")
    return said.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # the last program that had it open has ended
        return b""


def _draw(said: str, picture: Path) -> None:
    """Draw it up to the end of the first suspect."""
    console = Console(record=True, width=_COLUMNS, file=io.StringIO())
    text = Text.from_ansi(said.replace("\r\n", "\n").replace(str(Path.home()), "~"))
    lines = text.split("\n")
    second = [at for at, line in enumerate(lines) if line.plain.startswith(_SECOND) and not lines[at - 1].plain.strip()]
    console.print("$ whyperf demo", Text("\n").join(lines[: second[0]]), "  ...", sep="\n")
    drawn = console.export_svg(title="whyperf")
    picture.write_text(_FONTS.sub("", drawn))  # fonts of another site; a reader's own will do


def _photograph(page: Path, picture: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": _WIDTH, "height": _HEIGHT}, reduced_motion="reduce")
        opened.goto(page.as_uri())
        opened.wait_for_selector("#contexts .flames g.frame")
        opened.screenshot(path=str(picture))
        browser.close()


if __name__ == "__main__":
    main()
