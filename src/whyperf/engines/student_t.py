"""Student's t, as far as comparisons of a few runs need it."""

from __future__ import annotations

_Z_99 = 2.326348
_STUDENT_99 = (31.8205, 6.9646, 4.5407, 3.7469, 3.3649, 3.1427, 2.9980, 2.8965, 2.8214, 2.7638)


def student_99(freedom: int) -> float:
    """99% quantile of Student's t; beyond ten degrees of freedom by Fisher's expansion (0.1% exact)."""
    if freedom <= len(_STUDENT_99):
        return _STUDENT_99[freedom - 1]
    z, v = _Z_99, freedom
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / v + second / v**2 + third / v**3
