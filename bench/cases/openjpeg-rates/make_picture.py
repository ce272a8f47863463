"""A picture of the ground from above: fields of their own brightness, and grain."""

import random
import sys
from pathlib import Path

WIDTH, HEIGHT, FIELD = 2048, 2048, 64

draw = random.Random(11)
grain = bytes(draw.randrange(24) for _ in range(1 << 16))
rows = []
for top in range(HEIGHT):
    if top % FIELD == 0:
        fields = [draw.randrange(20, 220) for _ in range(WIDTH // FIELD)]
    start = draw.randrange(len(grain) - WIDTH)
    rows.append(bytes(fields[x // FIELD] + grain[start + x] for x in range(WIDTH)))
(Path(sys.argv[1]) / "ground.pgm").write_bytes(b"P5\n%d %d\n255\n" % (WIDTH, HEIGHT) + b"".join(rows))
