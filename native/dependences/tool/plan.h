// SPDX-License-Identifier: GPL-2.0-or-later
// The plan file, as stream.h describes it.
#ifndef WHYPERF_DEPENDENCES_PLAN_H
#define WHYPERF_DEPENDENCES_PLAN_H

#include "valgrind.h"

typedef enum { MODE_UNLISTED, MODE_ENTRIES, MODE_ZOOM, MODE_PASS } Mode;

// Where a function that hands out memory leaves its address: in a register, or where its first argument points.
typedef enum { HEAP_NONE, HEAP_RETURNS, HEAP_STORES } Heap;

typedef struct {
    UInt number;
    Mode mode;
    Heap heap;
    Addr entry; // link-time, as all addresses here
} PlanFunction;

typedef struct {
    Addr low, high;
    UInt function;
} PlanRange;

// Of what an instruction loads, the bytes [offset, offset + size).
typedef struct {
    Addr address;
    UInt offset, size;
} PlanReader;

typedef struct {
    const HChar *name, *build_id;
    PlanRange *ranges; // sorted
    UInt range_count;
    Addr *marks; // sorted
    UInt mark_count;
    PlanReader *readers;
    UInt reader_count;
} PlanModule;

typedef struct {
    UInt module;
    Addr address;
    UInt size;
} PlanWatch;

typedef struct {
    Bool pass_outside, addresses, pairs, zooms, passes, reads;
    ULong limit;
    PlanModule *modules;
    PlanFunction *functions;
    PlanWatch *watches;
    UInt module_count, function_count, watch_count;
} Plan;

extern Plan plan;

// Ends the run with a sentence when the plan cannot be understood.
void plan_read(const HChar *path);
const PlanModule *plan_module(const HChar *path, const HChar *build_id);
const PlanFunction *plan_function_at(const PlanModule *module, Addr address);
Bool plan_marks(const PlanModule *module, Addr address);
const PlanReader *plan_reader(const PlanModule *module, Addr address);

#endif
