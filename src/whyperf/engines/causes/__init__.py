"""What a stalled thread waited for, and why that never came.

After Argus (Weng et al., "Argus: Debugging Performance Issues in Modern Desktop Applications with Annotated Causal
Tracing", USENIX ATC 2021; Weng's dissertation, chapter 4), on kernel events of Linux. docs/how-causes-work.md explains.
"""

from __future__ import annotations

ENGINE = "causes"
