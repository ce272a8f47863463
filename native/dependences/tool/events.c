// SPDX-License-Identifier: GPL-2.0-or-later
#include "events.h"

#include "output.h"
#include "pairs.h"
#include "producers.h"
#include "recording.h"

static UInt last_event, last_site;
static ULong entries;
// Loads and stores of the running instruction that do not fit into a call's arguments (gathers, string compares).
static Producers more_loads;
#define MORE_STORES_MOST 16
static struct {
    Addr address;
    UInt size;
} more_stores[MORE_STORES_MOST];
static UInt more_store_count;

UInt events_last_of_site(UInt site) {
    return last_site == site ? last_event : 0;
}

VG_REGPARM(2) void events_more_load(Addr address, UWord size) {
    if (address)
        producers_of_memory(&more_loads, address, (UInt)size);
}

VG_REGPARM(2) void events_more_store(Addr address, UWord size) {
    if (address && more_store_count < MORE_STORES_MOST) {
        more_stores[more_store_count].address = address;
        more_stores[more_store_count++].size = (UInt)size;
    }
}

// Writers without events are no producers; that the site read from them is counted.
static inline void drop_outside(Producers *producers, const Site *site) {
    UInt kept = 0;
    for (UInt i = 0; i < producers->count; i++) {
        UInt writer = producers->writers[i];
        if (LIKELY(!(writer & OUTSIDE))) {
            producers->writers[kept++] = writer;
            continue;
        }
        inexact[INEXACT_OUTSIDE]++;
        pairs_count(site->number, writer & ~OUTSIDE);
    }
    producers->count = kept;
}

void events_count_entry(void) {
    entries++;
}

Bool events_beyond_limit(void) {
    if (LIKELY(recording && last_event + entries < plan.limit))
        return False;
    inexact[INEXACT_EVENTS]++;
    if (recording)
        recording_end(END_LIMIT);
    return True;
}

static inline void put_event(const Site *site, UInt form) {
    if (UNLIKELY(output_at >= output_full))
        output_flush();
    put(zigzag((Long)site->number - (Long)last_site) << 4 | form);
    last_site = site->number;
}

static inline void put_distances(const Producers *producers) {
    for (UInt i = 0; i < producers->count; i++)
        put(last_event - producers->writers[i]);
}

static void put_any(const Producers *producers, UInt kind) {
    for (UInt i = 0; i < producers->count; i++)
        put((ULong)(last_event - producers->writers[i]) << 2 | kind);
}

static inline void write_outputs(const Site *site, Addr first, Addr second, UInt writer) {
    const Run *writes = site->inputs.runs + site->inputs.values + site->inputs.addresses;
    for (UInt i = 0; i < site->inputs.writes; i++) {
        UInt *cells = shadow_registers + writes[i].first;
        for (UInt c = 0; c < writes[i].count; c++)
            cells[c] = writer;
    }
    if ((site->accesses[0].kind & ACCESS_STORE) && first)
        shadow_write(first, site->accesses[0].size, writer);
    if ((site->accesses[1].kind & ACCESS_STORE) && second)
        shadow_write(second, site->accesses[1].size, writer);
    if (UNLIKELY(more_store_count)) {
        for (UInt i = 0; i < more_store_count; i++)
            shadow_write(more_stores[i].address, more_stores[i].size, writer);
        more_store_count = 0;
    }
}

static inline void gather_loads(const Site *site, Addr first, Addr second, Producers *memories, Producers *old) {
    const Access *accesses = site->accesses;
    if (UNLIKELY(more_loads.count)) {
        *memories = more_loads;
        more_loads.count = 0;
    }
    // What is read only to be written back, and goes nowhere else.
    Bool in_place = !site->writes_registers && ((accesses[0].kind == (ACCESS_LOAD | ACCESS_STORE)) ||
                                                (accesses[1].kind == (ACCESS_LOAD | ACCESS_STORE)) ||
                                                (first == second && (accesses[1].kind & ACCESS_STORE)));
    Producers *into = in_place ? old : memories;
    if ((accesses[0].kind & ACCESS_LOAD) && first)
        producers_of_memory(into, first, accesses[0].size);
    if ((accesses[1].kind & ACCESS_LOAD) && second)
        producers_of_memory(into, second, accesses[1].size);
}

VG_REGPARM(3) void events_write(Site *site, Addr first, Addr second) {
    if (UNLIKELY(events_beyond_limit()))
        return;
    Producers registers, memories, old, addresses;
    registers.count = memories.count = old.count = addresses.count = 0;
    const Inputs *inputs = &site->inputs;
    producers_of_runs(&registers, inputs->runs, inputs->values);
    gather_loads(site, first, second, &memories, &old);
    if (UNLIKELY(plan.addresses))
        producers_of_runs(&addresses, inputs->runs + inputs->values, inputs->addresses);
    if (UNLIKELY(inputs->x87))
        inexact[INEXACT_X87]++;
    if (UNLIKELY(inputs->helper))
        inexact[INEXACT_HELPERS]++;
    drop_outside(&registers, site);
    drop_outside(&memories, site);
    drop_outside(&old, site);
    drop_outside(&addresses, site);
    write_outputs(site, first, second, ++last_event);
    if (LIKELY(registers.count < 3 && memories.count < 3 && !old.count && !addresses.count)) {
        put_event(site, registers.count + 3 * memories.count);
        put_distances(&registers);
        put_distances(&memories);
        return;
    }
    put_event(site, FORM_EVENT);
    put(registers.count + memories.count + old.count + addresses.count);
    put_any(&registers, PRODUCER_REGISTER);
    put_any(&memories, PRODUCER_MEMORY);
    put_any(&old, PRODUCER_OLD);
    put_any(&addresses, PRODUCER_ADDRESS);
}

VG_REGPARM(1) void events_write_mark(Site *site) {
    if (events_beyond_limit())
        return;
    last_event++;
    put_event(site, 0);
}

// The one writer that stands for these values: theirs if they have one, else a JOIN event of them all.
static UInt united(const Site *site, Producers *producers) {
    UInt real = 0, tag = 0;
    for (UInt i = 0; i < producers->count; i++) {
        UInt writer = producers->writers[i];
        if (writer & OUTSIDE)
            tag = tag ? OUTSIDE | site->number : writer;
        else
            producers->writers[real++] = writer;
    }
    producers->count = real;
    if (real == 0)
        return tag ? tag : OUTSIDE | site->number;
    if (real == 1)
        return producers->writers[0];
    if (events_beyond_limit())
        return OUTSIDE | site->number;
    last_event++;
    put_event(site, FORM_JOIN);
    put(real);
    put_any(producers, PRODUCER_REGISTER);
    return last_event;
}

static UInt united_memory(const Site *site, Addr address, UInt size) {
    Producers producers;
    producers.count = 0;
    producers_of_memory(&producers, address, size);
    return united(site, &producers);
}

// Cells beyond what was copied: copies of the sign, or zeros that the site made.
static UInt beyond_copied(const Site *site, UInt last) {
    return site->inputs.opcode.extends_sign ? last : OUTSIDE | site->number;
}

static void copy_from_memory(const Site *site, Addr address, UInt size, Run into) {
    UInt *cells = shadow_registers + into.first;
    Bool general = into.first < CELL_VECTOR;
    for (UInt i = 0; i < into.count; i++) {
        if (general && i < size)
            cells[i] = *shadow_byte(address + i);
        else if (!general && 4 * (i + 1) <= size)
            cells[i] = united_memory(site, address + 4 * i, 4);
        else
            cells[i] = beyond_copied(site, *shadow_byte(address + size - 1));
    }
}

static void copy_to_memory(Addr address, UInt size, Run from) {
    UInt unit = from.first < CELL_VECTOR ? 1 : 4;
    for (UInt i = 0; i < size && i / unit < from.count; i++)
        *shadow_byte(address + i) = shadow_registers[from.first + i / unit];
}

static void copy_register(const Site *site, Run from, Run into) {
    UInt cells[CELLS_OF_REGISTER], last = shadow_registers[from.first + from.count - 1];
    for (UInt i = 0; i < into.count; i++)
        cells[i] = i < from.count ? shadow_registers[from.first + i] : beyond_copied(site, last);
    for (UInt i = 0; i < into.count; i++)
        shadow_registers[into.first + i] = cells[i];
}

// Each register that the opcode names, from or to its own access. What else it writes is its base, moved on: that
// remains its maker's.
static Bool moved(const Site *site, Addr first, Addr second) {
    const Opcode *opcode = &site->inputs.opcode;
    for (UInt i = 0; i < opcode->moved_count; i++) {
        Addr address = i ? second : first;
        const Access *access = &site->accesses[i];
        if (access->kind == ACCESS_LOAD && opcode->moved[i].count)
            copy_from_memory(site, address, access->size, opcode->moved[i]);
        else if (access->kind == ACCESS_STORE && opcode->moved[i].count)
            copy_to_memory(address, access->size, opcode->moved[i]);
        else if (access->kind == ACCESS_STORE)
            shadow_write(address, access->size, OUTSIDE | site->number);
    }
    return True;
}

// Plain moves keep each byte's writer; True if this was one.
static Bool copied(const Site *site, Addr first, Addr second) {
    const Inputs *inputs = &site->inputs;
    if (inputs->opcode.moved_count)
        return moved(site, first, second);
    const Run *from = inputs->runs, *into = inputs->runs + inputs->values + inputs->addresses;
    if (!inputs->opcode.moves_bytes || site->accesses[1].kind || more_loads.count || more_store_count)
        return False;
    UChar access = site->accesses[0].kind;
    if (access == ACCESS_LOAD && first && !inputs->values && inputs->writes == 1 && into->first < CELL_FLAGS)
        copy_from_memory(site, first, site->accesses[0].size, *into);
    else if (access == ACCESS_STORE && first && inputs->values == 1 && !inputs->writes && from->first < CELL_FLAGS)
        copy_to_memory(first, site->accesses[0].size, *from);
    else if (!access && inputs->values == 1 && inputs->writes == 1 && from->first < CELL_FLAGS &&
             into->first < CELL_FLAGS && (from->first < CELL_VECTOR) == (into->first < CELL_VECTOR))
        copy_register(site, *from, *into);
    else
        return False;
    return True;
}

VG_REGPARM(3) void events_pass(Site *site, Addr first, Addr second) {
    if (copied(site, first, second))
        return;
    Producers producers, old;
    producers.count = old.count = 0;
    gather_loads(site, first, second, &producers, &old);
    producers_of_runs(&producers, site->inputs.runs, site->inputs.values);
    for (UInt i = 0; i < old.count; i++)
        producers_add(&producers, old.writers[i]);
    write_outputs(site, first, second, united(site, &producers));
}

VG_REGPARM(3) void events_tag_store(Addr address, UWord size, UWord tag) {
    if (address)
        shadow_write(address, (UInt)size, (UInt)tag);
}

VG_REGPARM(3) void events_pair_load(Addr address, UWord size, UWord site) {
    Producers producers;
    producers.count = 0;
    if (address)
        producers_of_memory(&producers, address, (UInt)size);
    for (UInt i = 0; i < producers.count; i++)
        if (producers.writers[i] & OUTSIDE)
            pairs_count((UInt)site, producers.writers[i] & ~OUTSIDE);
}
