"""The same modules twice: as one target, and as many. Each target has one file of dynamic dependencies."""

import sys
from pathlib import Path

MODULES, PLAIN = 1200, 150_000


def project(folder: Path, modules_a_target: int) -> None:
    folder.mkdir()
    lines = ["rule compile", "  command = true", "  description = COMPILE $out"]
    for target in range(MODULES // modules_a_target):
        dependencies = ["ninja_dyndep_version = 1"]
        for module in range(target * modules_a_target, (target + 1) * modules_a_target):
            lines += [f"build out/module{module}.o: compile module{module}.f90 | target{target}.dd"]
            lines += [f"  dyndep = target{target}.dd"]
            dependencies.append(f"build out/module{module}.o: dyndep | out/module{module}.mod")
        (folder / f"target{target}.dd").write_text("\n".join(dependencies) + "\n")
    lines += [
        f"build out/part{part // 100}/file{part}.o: compile part{part // 100}/file{part}.c" for part in range(PLAIN)
    ]
    (folder / "build.ninja").write_text("\n".join(lines) + "\n")


home = Path(sys.argv[1])
project(home / "many", 20)
project(home / "one", MODULES)
