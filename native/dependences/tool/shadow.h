// SPDX-License-Identifier: GPL-2.0-or-later
// Who wrote each byte of memory and each part of the registers last: the number of an event, or OUTSIDE | site for
// code without events, or 0 for nobody known.
#ifndef WHYPERF_DEPENDENCES_SHADOW_H
#define WHYPERF_DEPENDENCES_SHADOW_H

#include "guest.h"

#define OUTSIDE 0x80000000u

// What a register has room for; arm64's vector registers are half as long.
#define CELLS_OF_REGISTER 8

// Cells of the running thread's registers: a byte of a general register, four bytes of a vector register, one flag. The
// last two are sites (see readers.h): who called what runs now, and the same once more if the plan asks what it reads.
enum {
    CELL_GENERAL = 0,
    CELL_VECTOR = CELL_GENERAL + GENERAL_REGISTERS * CELLS_OF_REGISTER,
    CELL_FLAGS = CELL_VECTOR + VECTOR_REGISTERS * CELLS_OF_REGISTER,
    CELL_X87 = CELL_FLAGS + 8,
    CELL_CALL = CELL_X87 + 8,
    CELL_READING_CALL,
    CELLS,
};

extern UInt shadow_registers[CELLS];

// The registers' cells follow the thread that runs; threads are Valgrind's, below VG_N_THREADS.
void shadow_switch(UInt thread);
void shadow_forget_registers(UInt thread);

#define SHADOW_PAGE_BITS 16
#define SHADOW_PAGE (1UL << SHADOW_PAGE_BITS)
#define SHADOW_DIRECTORY_BITS 15

extern UInt **shadow_directories[1 << (47 - SHADOW_PAGE_BITS - SHADOW_DIRECTORY_BITS)];

UInt *shadow_page_made(Addr address);
// Nobody known wrote these bytes: results of system calls, memory that was given back.
void shadow_forget(Addr address, SizeT length);
void shadow_move(Addr from, Addr to, SizeT length);

static inline UInt *shadow_byte(Addr address) {
    UInt **directory = shadow_directories[(address >> (SHADOW_PAGE_BITS + SHADOW_DIRECTORY_BITS)) & 0xFFFF];
    UInt *page = directory ? directory[(address >> SHADOW_PAGE_BITS) & ((1 << SHADOW_DIRECTORY_BITS) - 1)] : NULL;
    if (UNLIKELY(!page))
        page = shadow_page_made(address);
    return page + (address & (SHADOW_PAGE - 1));
}

static inline Bool shadow_within_page(Addr address, UInt size) {
    return (address & (SHADOW_PAGE - 1)) + size <= SHADOW_PAGE;
}

static inline void shadow_write(Addr address, UInt size, UInt writer) {
    if (UNLIKELY(!shadow_within_page(address, size))) {
        for (UInt i = 0; i < size; i++)
            *shadow_byte(address + i) = writer;
        return;
    }
    UInt *bytes = shadow_byte(address);
    for (UInt i = 0; i < size; i++)
        bytes[i] = writer;
}

#endif
