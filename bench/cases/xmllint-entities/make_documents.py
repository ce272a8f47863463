"""400,000 sentences with a reference to an entity in each: one in a paragraph, or 4,000."""

import sys
from pathlib import Path

HEAD = '<?xml version="1.0"?>\n<!DOCTYPE report [<!ENTITY who "the house">]>\n<report>\n'
SENTENCES = 400_000
for name, each in (("short", 1), ("long", 4000)):
    paragraph = f"<p>{'Bought by &who; today. ' * each}</p>\n"
    (Path(sys.argv[1]) / f"{name}.xml").write_text(HEAD + paragraph * (SENTENCES // each) + "</report>\n")
