// SPDX-License-Identifier: GPL-2.0-or-later
#include "readers.h"

#include "pairs.h"
#include "producers.h"
#include "recording.h"

#define NOBODY 0

VG_REGPARM(3) void readers_load(Addr address, UWord size, UWord site) {
    if (!address || !recording)
        return;
    Producers producers;
    producers.count = 0;
    producers_of_memory(&producers, address, (UInt)size);
    for (UInt i = 0; i < producers.count; i++)
        pairs_count((UInt)site, producers.writers[i] & ~OUTSIDE);
    if (!producers.count)
        pairs_count((UInt)site, NOBODY);
}

VG_REGPARM(2) void readers_load_for_caller(Addr address, UWord size) {
    readers_load(address, size, shadow_registers[CELL_READING_CALL]);
}

VG_REGPARM(3) void readers_store_for_caller(Addr address, UWord size, UWord site) {
    UInt caller = shadow_registers[CELL_CALL];
    if (address)
        shadow_write(address, (UInt)size, OUTSIDE | (caller ? caller : (UInt)site));
}

void readers_system_call_wrote(Addr address, SizeT length) {
    UInt caller = shadow_registers[CELL_CALL];
    shadow_forget(address, length);
    for (SizeT i = 0; caller && i < length; i++)
        *shadow_byte(address + i) = OUTSIDE | caller;
}
