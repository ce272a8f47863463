"""The same scripts twice: as they were written, and as they are served, without line ends."""

import sys
from pathlib import Path


def functions(script: int) -> list[str]:
    body = "var t = a + b; for (var i = 0; i < t; i++) { if (i % 7 == 3) { t = t - i; } } return t * {};"
    return [f"function part{script}_{number}(a, b) {{ {body.replace('{}', str(number))} }}" for number in range(70)]


written, served = Path(sys.argv[1]) / "written", Path(sys.argv[1]) / "served"
for folder, end in ((written, "\n"), (served, " ")):
    folder.mkdir()
    for script in range(1000):
        (folder / f"script{script}.js").write_text(end.join(functions(script)) + "\n")
