// SPDX-License-Identifier: GPL-2.0-or-later
#include "opcode.h"

#include "../stream.h"

typedef struct {
    UChar map; // 0: one byte, 1: 0F, 2: 0F 38, 3: 0F 3A
    UChar byte;
    UChar modrm;
    UChar repeat; // F2, F3 or 0
    Bool operand16;
} Decoded;

static Decoded decode(const UChar *at) {
    Decoded found = {0};
    for (;; at++) {
        UChar byte = *at;
        if (byte == 0x66)
            found.operand16 = True;
        else if (byte == 0xF2 || byte == 0xF3)
            found.repeat = byte;
        else if (byte != 0x2E && byte != 0x36 && byte != 0x3E && byte != 0x26 && byte != 0x64 && byte != 0x65 &&
                 byte != 0x67 && byte != 0xF0)
            break;
    }
    if ((*at & 0xF0) == 0x40)
        at++;
    static const UChar prefix_of[4] = {0, 0x66, 0xF3, 0xF2};
    if (*at == 0xC5 || *at == 0xC4) {
        UChar last = *at == 0xC5 ? at[1] : at[2];
        found.map = *at == 0xC5 ? 1 : at[1] & 0x1F;
        found.operand16 = (last & 3) == 1;
        found.repeat = (last & 3) > 1 ? prefix_of[last & 3] : 0;
        at += *at == 0xC5 ? 2 : 3;
    } else if (*at == 0x0F) {
        found.map = at[1] == 0x38 ? 2 : at[1] == 0x3A ? 3 : 1;
        at += found.map == 1 ? 1 : 2;
    }
    found.byte = at[0];
    found.modrm = at[1];
    return found;
}

static UInt extension(Decoded instruction) {
    return (instruction.modrm >> 3) & 7;
}

static Bool in(UChar byte, UChar low, UChar high) {
    return byte >= low && byte <= high;
}

// The conditions of jcc, setcc and cmovcc, by the opcode's low four bits.
static UChar condition_reads(UChar byte) {
    static const UChar reads[8] = {
        FLAG_O, FLAG_C, FLAG_Z, FLAG_C | FLAG_Z, FLAG_S, FLAG_P, FLAG_S | FLAG_O, FLAG_Z | FLAG_S | FLAG_O,
    };
    return reads[(byte >> 1) & 7];
}

static Bool is_shift_group(Decoded i) {
    return i.map == 0 && (i.byte == 0xC0 || i.byte == 0xC1 || in(i.byte, 0xD0, 0xD3));
}

static UChar flags_read(Decoded i) {
    if (i.map == 0) {
        if (in(i.byte, 0x70, 0x7F))
            return condition_reads(i.byte);
        if (in(i.byte, 0x10, 0x15) || in(i.byte, 0x18, 0x1D))
            return FLAG_C;
        if (in(i.byte, 0x80, 0x83) && (extension(i) == 2 || extension(i) == 3))
            return FLAG_C;
        if (is_shift_group(i) && (extension(i) == 2 || extension(i) == 3))
            return FLAG_C;
        if (i.byte == 0xF5)
            return FLAG_C;
        if (i.byte == 0x9C)
            return FLAGS_ALL;
        if (i.byte == 0x9F)
            return FLAGS_ALL & ~FLAG_O;
        if (i.byte == 0xE0 || i.byte == 0xE1)
            return FLAG_Z;
        if ((i.byte == 0xDA || i.byte == 0xDB) && in(i.modrm, 0xC0, 0xDF))
            return extension(i) == 0   ? FLAG_C
                   : extension(i) == 1 ? FLAG_Z
                   : extension(i) == 2 ? FLAG_C | FLAG_Z
                                       : FLAG_P;
        return 0;
    }
    if (i.map == 1 && (in(i.byte, 0x80, 0x8F) || in(i.byte, 0x90, 0x9F) || in(i.byte, 0x40, 0x4F)))
        return condition_reads(i.byte);
    if (i.map == 2 && i.byte == 0xF6 && i.operand16)
        return FLAG_C;
    if (i.map == 2 && i.byte == 0xF6 && i.repeat == 0xF3)
        return FLAG_O;
    return 0;
}

static UChar flags_written(Decoded i) {
    if (i.map == 0) {
        if ((i.byte == 0xFE || i.byte == 0xFF) && extension(i) <= 1)
            return FLAGS_ALL & ~FLAG_C;
        if (is_shift_group(i) && extension(i) <= 3)
            return FLAG_C | FLAG_O;
        if (i.byte == 0xF5 || i.byte == 0xF8 || i.byte == 0xF9)
            return FLAG_C;
        if (i.byte == 0x9E)
            return FLAGS_ALL & ~FLAG_O;
        return FLAGS_ALL;
    }
    if (i.map == 1) {
        if (i.byte == 0xA3 || i.byte == 0xAB || i.byte == 0xB3 || i.byte == 0xBB || i.byte == 0xBA)
            return FLAG_C;
        if (i.byte == 0xC7 && extension(i) == 1)
            return FLAG_Z;
    }
    if (i.map == 2 && i.byte == 0xF6 && i.operand16)
        return FLAG_C;
    if (i.map == 2 && i.byte == 0xF6 && i.repeat == 0xF3)
        return FLAG_O;
    return FLAGS_ALL;
}

static Bool is_copy(Decoded i) {
    UChar b = i.byte;
    switch (i.map) {
    case 0:
        return in(b, 0x50, 0x5F) || b == 0x63 || b == 0x68 || b == 0x6A || in(b, 0x86, 0x8B) || b == 0x8F ||
               in(b, 0x90, 0x98) || in(b, 0xA0, 0xA5) || in(b, 0xAA, 0xAD) || in(b, 0xB0, 0xBF) || b == 0xC6 ||
               b == 0xC7 || (b == 0xFF && extension(i) == 6);
    case 1:
        return in(b, 0x10, 0x13) || in(b, 0x16, 0x17) || in(b, 0x28, 0x29) || b == 0x2B || in(b, 0x40, 0x4F) ||
               b == 0x6E || b == 0x6F || b == 0x7E || b == 0x7F || b == 0xB6 || b == 0xB7 || b == 0xBE || b == 0xBF ||
               b == 0xC3 || b == 0xD6 || b == 0xE7 || (b == 0xF0 && i.repeat == 0xF2) || in(b, 0xC8, 0xCF);
    case 2:
        return in(b, 0x18, 0x1A) || in(b, 0x20, 0x25) || b == 0x2A || in(b, 0x30, 0x35) || in(b, 0x58, 0x5A) ||
               in(b, 0x78, 0x79) || b == 0xF0 || b == 0xF1;
    default:
        return in(b, 0x18, 0x19) || in(b, 0x38, 0x39);
    }
}

// Not: broadcasts, swaps of bytes, moves that widen or repeat the elements of a vector.
static Bool moves_bytes(Decoded i) {
    if (!is_copy(i) || i.map == 2)
        return False;
    Bool repeats = (i.byte == 0x12 || i.byte == 0x16) && i.repeat;
    return i.map != 1 || !(repeats || in(i.byte, 0xC8, 0xCF));
}

static Bool extends_sign(Decoded i) {
    return i.map == 0 ? i.byte == 0x63 || i.byte == 0x98 : i.map == 1 && (i.byte == 0xBE || i.byte == 0xBF);
}

static UShort transfers(Decoded i) {
    if (i.map == 1)
        return in(i.byte, 0x80, 0x8F) ? SITE_CONDITIONAL : 0;
    if (i.map)
        return 0;
    if (in(i.byte, 0x70, 0x7F) || in(i.byte, 0xE0, 0xE3))
        return SITE_CONDITIONAL;
    if (i.byte == 0xE8)
        return SITE_CALL;
    if (i.byte == 0xC2 || i.byte == 0xC3)
        return SITE_RETURN;
    if (i.byte == 0xFF && (extension(i) == 2 || extension(i) == 3))
        return SITE_CALL | SITE_INDIRECT;
    if (i.byte == 0xFF && (extension(i) == 4 || extension(i) == 5))
        return SITE_INDIRECT;
    return 0;
}

Opcode opcode_read(const UChar *bytes) {
    Decoded instruction = decode(bytes);
    return (Opcode){
        .site_flags = transfers(instruction) | (is_copy(instruction) ? SITE_COPY : 0),
        .flags_read = flags_read(instruction),
        .flags_written = flags_written(instruction),
        .moves_bytes = moves_bytes(instruction),
        .extends_sign = extends_sign(instruction),
    };
}
