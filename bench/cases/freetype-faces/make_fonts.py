"""Three small fonts for a screen, which differ in their names alone."""

import random
import sys
from pathlib import Path

random.seed(10)
HEAD = """STARTFONT 2.1
FONT -bench-{name}-medium-r-normal--16-160-75-75-c-80-iso10646-1
SIZE 16 75 75
FONTBOUNDINGBOX 8 16 0 0
STARTPROPERTIES 6
FONT_ASCENT 14
FONT_DESCENT 2
PIXEL_SIZE 16
CHARSET_REGISTRY "ISO10646"
CHARSET_ENCODING "1"
DEFAULT_CHAR 32
ENDPROPERTIES
CHARS 95
"""
glyphs = ""
for code in range(32, 127):
    rows = "\n".join(f"{random.randrange(256):02X}" for _ in range(16))
    glyphs += f"STARTCHAR c{code}\nENCODING {code}\nSWIDTH 500 0\nDWIDTH 8 0\nBBX 8 16 0 0\nBITMAP\n{rows}\nENDCHAR\n"
for name in ("first", "second", "third"):
    (Path(sys.argv[1]) / f"{name}.bdf").write_text(HEAD.format(name=name) + glyphs + "ENDFONT\n")
