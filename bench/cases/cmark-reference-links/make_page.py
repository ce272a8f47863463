"""A page of notes, each with links to the same long address, which is written once, at its end."""

import sys
from pathlib import Path

NOTES, LINKS = 3000, 6
ADDRESS = "https://archive.example/search?" + "&".join(f"field{number}=value{number}" for number in range(120))

lines = []
for note in range(NOTES):
    lines += [f"## Note {note}", "", f"What was said on day {note % 365}, in *short*: " + "nothing new; " * 8, ""]
    lines += [f"- see [entry {link} of {note}][archive] and `entry_{link}`" for link in range(LINKS)]
    lines += [""]
lines += [f"[archive]: {ADDRESS}", ""]
(Path(sys.argv[1]) / "notes.md").write_text("\n".join(lines))
