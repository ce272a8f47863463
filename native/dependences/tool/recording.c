// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording.h"

#include "inexact.h"
#include "modules.h"
#include "output.h"
#include "pairs.h"

#define LONGEST_INSTRUCTION 15

Bool recording = True;
ULong instructions;
ULong inexact[INEXACT_COUNT];

static ULong marked;

ULong instructions_since_marker(void) {
    ULong since = instructions - marked;
    marked = instructions;
    return since;
}

void recording_end(enum dependences_end how) {
    if (!recording)
        return;
    recording = False;
    pairs_write();
    for (UInt i = 0; i < INEXACT_COUNT; i++)
        if (inexact[i]) {
            put_record(RECORD_INEXACT);
            put(i);
            put(inexact[i]);
        }
    put_record(RECORD_END);
    put(how);
    put(instructions);
    output_finish();
}

void recording_abandon(void) {
    recording = False;
    output_stop();
}

void record_unsupported(Addr address) {
    if (!recording)
        return;
    const Module *module = module_at(address);
    put_record(RECORD_UNSUPPORTED);
    put(module->number);
    put(address - module->bias);
    const NSegment *mapping = VG_(am_find_nsegment)(address);
    SizeT length = mapping ? mapping->end - address + 1 : 0;
    put_bytes((const void *)address, length < LONGEST_INSTRUCTION ? length : LONGEST_INSTRUCTION);
    // The signal that follows may well kill the program.
    output_flush();
}
