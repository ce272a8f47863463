"""An enumeration of 3,000 measures: what tells their names apart comes first in them, or after 55 letters."""

import sys
from pathlib import Path

PLACE = "instrument_panel_of_the_second_control_room"
for name, enumerator in (
    ("first", lambda number: f"measure_{number:05d}_of_{PLACE}"),
    ("last", lambda number: f"{PLACE}_measure_of_{number:05d}"),
):
    rows = "".join(f"  {enumerator(number)} = {number},\n" for number in range(3000))
    (Path(sys.argv[1]) / f"{name}.i").write_text(f"%module measures\nenum measure {{\n{rows}}};\n")
