"""300,000 empty files in one directory."""

import os
import sys

for number in range(300_000):
    os.close(os.open(f"{sys.argv[1]}/a message that came in as number {number:06}", os.O_CREAT | os.O_WRONLY))
