"""Lists of revoked certificates, one an issuer: their definition, and their DER encoding with many entries each."""

import sys
from pathlib import Path

ISSUERS = 30
ENTRIES = 5_000

DEFINITION = """REVOKED { }
DEFINITIONS IMPLICIT TAGS ::= BEGIN

RevokedLists ::= SEQUENCE {
    version INTEGER,
    lists SEQUENCE OF RevokedList
}

RevokedList ::= SEQUENCE {
    issuer OCTET STRING,
    entries SEQUENCE OF Entry
}

Entry ::= SEQUENCE {
    serial INTEGER,
    reason INTEGER,
    note OCTET STRING
}

END
"""


def encoded(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 128:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content


def integer(value: int) -> bytes:
    return encoded(2, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def entry(number: int) -> bytes:
    return encoded(0x30, integer(number * 7919) + integer(number % 10) + encoded(4, b"revoked by request"))


def main(folder: Path) -> None:
    (folder / "revoked.asn").write_text(DEFINITION)
    entries = encoded(0x30, b"".join(map(entry, range(ENTRIES))))
    lists = [encoded(0x30, encoded(4, f"Issuer {number}".encode()) + entries) for number in range(ISSUERS)]
    (folder / "revoked.der").write_bytes(encoded(0x30, integer(1) + encoded(0x30, b"".join(lists))))


main(Path(sys.argv[1]))
