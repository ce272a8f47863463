// SPDX-License-Identifier: GPL-2.0-or-later
#include "shadow.h"

UInt **shadow_directories[1 << (47 - SHADOW_PAGE_BITS - SHADOW_DIRECTORY_BITS)];
UInt shadow_registers[CELLS] __attribute__((aligned(64)));

static UInt **kept;
static UInt running;

static void *zeroed(SizeT size) {
    // Fresh from the kernel, hence zero.
    void *memory = VG_(am_shadow_alloc)(size);
    if (!memory)
        VG_(out_of_memory_NORETURN)("whyperf: shadow memory", size);
    return memory;
}

UInt *shadow_page_made(Addr address) {
    UWord outer = (address >> (SHADOW_PAGE_BITS + SHADOW_DIRECTORY_BITS)) & 0xFFFF;
    UWord inner = (address >> SHADOW_PAGE_BITS) & ((1 << SHADOW_DIRECTORY_BITS) - 1);
    if (!shadow_directories[outer])
        shadow_directories[outer] = zeroed(sizeof(UInt *) << SHADOW_DIRECTORY_BITS);
    if (!shadow_directories[outer][inner])
        shadow_directories[outer][inner] = zeroed(sizeof(UInt) << SHADOW_PAGE_BITS);
    return shadow_directories[outer][inner];
}

static UInt *existing_page(Addr address) {
    UInt **directory = shadow_directories[(address >> (SHADOW_PAGE_BITS + SHADOW_DIRECTORY_BITS)) & 0xFFFF];
    return directory ? directory[(address >> SHADOW_PAGE_BITS) & ((1 << SHADOW_DIRECTORY_BITS) - 1)] : NULL;
}

void shadow_forget(Addr address, SizeT length) {
    Addr end = address + length;
    while (address < end) {
        SizeT within = SHADOW_PAGE - (address & (SHADOW_PAGE - 1));
        if (within > end - address)
            within = end - address;
        UInt *page = existing_page(address);
        if (page)
            VG_(memset)(page + (address & (SHADOW_PAGE - 1)), 0, within * sizeof(UInt));
        address += within;
    }
}

void shadow_move(Addr from, Addr to, SizeT length) {
    for (SizeT i = 0; i < length; i++)
        if (existing_page(from + i))
            *shadow_byte(to + i) = *shadow_byte(from + i);
}

void shadow_switch(UInt thread) {
    if (thread == running)
        return;
    if (!kept)
        kept = zeroed(VG_N_THREADS * sizeof *kept);
    if (!kept[running])
        kept[running] = zeroed(sizeof shadow_registers);
    if (!kept[thread])
        kept[thread] = zeroed(sizeof shadow_registers);
    VG_(memcpy)(kept[running], shadow_registers, sizeof shadow_registers);
    VG_(memcpy)(shadow_registers, kept[thread], sizeof shadow_registers);
    running = thread;
}

void shadow_forget_registers(UInt thread) {
    if (thread == running)
        VG_(memset)(shadow_registers, 0, sizeof shadow_registers);
    else if (kept && kept[thread])
        VG_(memset)(kept[thread], 0, sizeof shadow_registers);
}
