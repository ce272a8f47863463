// SPDX-License-Identifier: GPL-2.0-or-later
#include "plan.h"

#include "../stream.h"

#define LIMIT_MOST 0x7FFFFFF0ull

Plan plan = {.limit = LIMIT_MOST};

static UInt line_number;

static void refuse(const HChar *line) {
    VG_(fmsg)("whyperf: line %u of the plan is not understood: %s\n", line_number, line);
    VG_(exit)(1);
}

// Arrays double when their count reaches a power of two.
static void *grown(void *items, UInt count, SizeT size) {
    if (count & (count - 1))
        return items;
    return VG_(realloc)("whyperf.plan", items, (count ? 2 * (SizeT)count : 1) * size);
}

static HChar *word(HChar **rest) {
    HChar *start = *rest;
    HChar *space = VG_(strchr)(start, ' ');
    if (space) {
        *space = 0;
        *rest = space + 1;
    } else {
        *rest = start + VG_(strlen)(start);
    }
    return start;
}

static ULong hexadecimal(HChar **rest, const HChar *line) {
    HChar *text = word(rest), *end = text;
    ULong value = VG_(strtoull16)(text, &end);
    if (end == text || *end)
        refuse(line);
    return value;
}

static Bool yes_or_no(HChar **rest, const HChar *line, const HChar *yes, const HChar *no) {
    const HChar *text = word(rest);
    if (VG_(strcmp)(text, yes) == 0)
        return True;
    if (VG_(strcmp)(text, no) != 0)
        refuse(line);
    return False;
}

static PlanModule *current_module(const HChar *line) {
    if (!plan.module_count)
        refuse(line);
    return &plan.modules[plan.module_count - 1];
}

static void add_module(HChar *rest) {
    plan.modules = grown(plan.modules, plan.module_count, sizeof *plan.modules);
    PlanModule *module = &plan.modules[plan.module_count++];
    // A name may contain spaces; the build-id never does.
    HChar *last = VG_(strrchr)(rest, ' ');
    VG_(memset)(module, 0, sizeof *module);
    if (last)
        *last = 0;
    module->name = VG_(strdup)("whyperf.plan", rest);
    module->build_id = VG_(strdup)("whyperf.plan", last ? last + 1 : "-");
}

static Mode mode_named(const HChar *text, const HChar *line) {
    static const struct {
        const HChar *name;
        Mode mode;
    } modes[] = {{"entries", MODE_ENTRIES}, {"zoom", MODE_ZOOM}, {"pass", MODE_PASS}};
    for (UInt i = 0; i < sizeof modes / sizeof *modes; i++)
        if (VG_(strcmp)(text, modes[i].name) == 0)
            return modes[i].mode;
    refuse(line);
    return MODE_UNLISTED;
}

static Heap heap_named(const HChar *text, const HChar *line) {
    if (!*text)
        return HEAP_NONE;
    if (VG_(strcmp)(text, "heap") == 0)
        return HEAP_RETURNS;
    if (VG_(strcmp)(text, "heap-stores") != 0)
        refuse(line);
    return HEAP_STORES;
}

static void add_function(HChar *rest, const HChar *line) {
    current_module(line);
    plan.functions = grown(plan.functions, plan.function_count, sizeof *plan.functions);
    PlanFunction *function = &plan.functions[plan.function_count];
    function->number = plan.function_count++;
    function->entry = hexadecimal(&rest, line);
    function->mode = mode_named(word(&rest), line);
    function->heap = heap_named(rest, line);
    plan.zooms |= function->mode == MODE_ZOOM;
    plan.passes |= function->mode == MODE_PASS;
}

static void add_range(HChar *rest, const HChar *line) {
    PlanModule *module = current_module(line);
    if (!plan.function_count)
        refuse(line);
    module->ranges = grown(module->ranges, module->range_count, sizeof *module->ranges);
    PlanRange *range = &module->ranges[module->range_count++];
    range->low = hexadecimal(&rest, line);
    range->high = hexadecimal(&rest, line);
    range->function = plan.function_count - 1;
}

static void add_mark(HChar *rest, const HChar *line) {
    PlanModule *module = current_module(line);
    module->marks = grown(module->marks, module->mark_count, sizeof *module->marks);
    module->marks[module->mark_count++] = hexadecimal(&rest, line);
}

static void add_reader(HChar *rest, const HChar *line) {
    PlanModule *module = current_module(line);
    module->readers = grown(module->readers, module->reader_count, sizeof *module->readers);
    PlanReader *reader = &module->readers[module->reader_count++];
    reader->address = hexadecimal(&rest, line);
    reader->offset = (UInt)hexadecimal(&rest, line);
    reader->size = (UInt)hexadecimal(&rest, line);
    if (!reader->size)
        refuse(line);
    plan.reads = True;
}

static void add_watch(HChar *rest, const HChar *line) {
    current_module(line);
    plan.watches = grown(plan.watches, plan.watch_count, sizeof *plan.watches);
    PlanWatch *watch = &plan.watches[plan.watch_count++];
    watch->module = plan.module_count - 1;
    watch->address = hexadecimal(&rest, line);
    watch->size = (UInt)hexadecimal(&rest, line);
    if (watch->size != 1 && watch->size != 2 && watch->size != 4 && watch->size != 8)
        refuse(line);
}

static void understand(HChar *line) {
    HChar whole[256], *rest = line;
    VG_(strncpy)(whole, line, sizeof whole - 1);
    whole[sizeof whole - 1] = 0;
    if (line_number == 1) {
        if (VG_(strcmp)(line, DEPENDENCES_PLAN_MAGIC) != 0)
            refuse(whole);
        return;
    }
    const HChar *what = word(&rest);
    if (VG_(strcmp)(what, "range") == 0)
        add_range(rest, whole);
    else if (VG_(strcmp)(what, "function") == 0)
        add_function(rest, whole);
    else if (VG_(strcmp)(what, "mark") == 0)
        add_mark(rest, whole);
    else if (VG_(strcmp)(what, "reader") == 0)
        add_reader(rest, whole);
    else if (VG_(strcmp)(what, "module") == 0)
        add_module(rest);
    else if (VG_(strcmp)(what, "watch") == 0)
        add_watch(rest, whole);
    else if (VG_(strcmp)(what, "outside") == 0)
        plan.pass_outside = yes_or_no(&rest, whole, "pass", "tag");
    else if (VG_(strcmp)(what, "addresses") == 0)
        plan.addresses = yes_or_no(&rest, whole, "yes", "no");
    else if (VG_(strcmp)(what, "pairs") == 0)
        plan.pairs = yes_or_no(&rest, whole, "yes", "no");
    else if (VG_(strcmp)(what, "limit") == 0)
        plan.limit = hexadecimal(&rest, whole);
    else if (*what)
        refuse(whole);
}

static Int by_low(const void *a, const void *b) {
    Addr x = ((const PlanRange *)a)->low, y = ((const PlanRange *)b)->low;
    return x < y ? -1 : x > y;
}

static Int by_address(const void *a, const void *b) {
    Addr x = *(const Addr *)a, y = *(const Addr *)b;
    return x < y ? -1 : x > y;
}

static HChar *contents(const HChar *path) {
    SysRes opened = VG_(open)(path, VKI_O_RDONLY, 0);
    if (sr_isError(opened)) {
        VG_(fmsg)("whyperf: the plan %s cannot be read\n", path);
        VG_(exit)(1);
    }
    Int file = (Int)sr_Res(opened);
    Long size = VG_(fsize)(file);
    HChar *text = VG_(malloc)("whyperf.plan", (SizeT)size + 1);
    SizeT have = 0;
    for (Int got; have < (SizeT)size && (got = VG_(read)(file, text + have, (Int)((SizeT)size - have))) > 0;)
        have += (SizeT)got;
    text[have] = 0;
    VG_(close)(file);
    return text;
}

void plan_read(const HChar *path) {
    HChar *text = contents(path);
    for (HChar *line = text, *next; *line; line = next) {
        next = VG_(strchr)(line, '\n');
        if (next)
            *next++ = 0;
        else
            next = line + VG_(strlen)(line);
        line_number++;
        understand(line);
    }
    VG_(free)(text);
    if (!line_number) {
        line_number = 1;
        refuse("(empty)");
    }
    if (plan.limit > LIMIT_MOST)
        plan.limit = LIMIT_MOST;
    plan.passes |= plan.pass_outside;
    for (UInt i = 0; i < plan.module_count; i++) {
        VG_(ssort)(plan.modules[i].ranges, plan.modules[i].range_count, sizeof(PlanRange), by_low);
        VG_(ssort)(plan.modules[i].marks, plan.modules[i].mark_count, sizeof(Addr), by_address);
    }
}

const PlanModule *plan_module(const HChar *path, const HChar *build_id) {
    const HChar *slash = VG_(strrchr)(path, '/');
    const HChar *name = slash ? slash + 1 : path;
    for (UInt i = 0; i < plan.module_count; i++) {
        const PlanModule *module = &plan.modules[i];
        if (VG_(strcmp)(module->build_id, "-") == 0 ? VG_(strcmp)(module->name, name) == 0
                                                    : VG_(strcmp)(module->build_id, build_id) == 0)
            return module;
    }
    return NULL;
}

const PlanFunction *plan_function_at(const PlanModule *module, Addr address) {
    UInt low = 0, high = module ? module->range_count : 0;
    while (low < high) {
        UInt middle = (low + high) / 2;
        if (module->ranges[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || address >= module->ranges[low - 1].high)
        return NULL;
    return &plan.functions[module->ranges[low - 1].function];
}

Bool plan_marks(const PlanModule *module, Addr address) {
    UInt low = 0, high = module ? module->mark_count : 0;
    while (low < high) {
        UInt middle = (low + high) / 2;
        if (module->marks[middle] < address)
            low = middle + 1;
        else
            high = middle;
    }
    return module && low < module->mark_count && module->marks[low] == address;
}

const PlanReader *plan_reader(const PlanModule *module, Addr address) {
    for (UInt i = 0; module && i < module->reader_count; i++)
        if (module->readers[i].address == address)
            return &module->readers[i];
    return NULL;
}
