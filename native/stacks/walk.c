#include "stacks/walk.h"
#include "stacks/calls.h"
#include "stacks/remote.h"

// One step, by the frame pointer where there is no unwind information. `follows_a_call`: of the frame's address it is
// known already, since the last step was made so.
static int step(struct unwind_cursor *cursor, const struct unwind_modules *modules, const struct stack_access *access,
                struct walk *walk, bool *follows_a_call, bool *ended) {
    bool is_code = *follows_a_call || cursor->pc_is_exact;
    *follows_a_call = false;
    int cut = unwind_step(cursor, modules, access->read, access->context, ended);
    walk->missed_a_module |= cut == WHYPERF_CUT_NO_MODULE;
    if ((cut != WHYPERF_CUT_NO_MODULE && cut != WHYPERF_CUT_NO_ROW) || !access->returns)
        return cut;
    is_code = is_code || access->returns(access->context, cursor->registers.value[UNWIND_PC]);
    *follows_a_call = is_code && unwind_by_frame_pointer(cursor, access->read, access->returns, access->context, ended);
    return *follows_a_call ? WHYPERF_CUT_NONE : cut;
}

// Goes on from `cursor`, whose frame has been noted, until the stack ends or is cut.
static void walk_on(struct unwind_cursor *cursor, const struct unwind_modules *modules,
                    const struct stack_access *access, struct walk *walk) {
    bool follows_a_call = false, ended = false;
    for (;;) {
        walk->cut = step(cursor, modules, access, walk, &follows_a_call, &ended);
        if (walk->cut || ended)
            return;
        if (walk->depth == WHYPERF_MAX_FRAMES) {
            walk->cut = WHYPERF_CUT_DEPTH;
            return;
        }
        walk->pcs[walk->depth++] = cursor->registers.value[UNWIND_PC];
    }
}

static void begin(struct walk *walk, uint64_t pc) {
    walk->pcs[0] = pc;
    walk->depth = 1;
    walk->missed_a_module = false;
}

void walk_registers(const struct unwind_modules *modules, const struct unwind_registers *registers,
                    const struct stack_access *access, struct walk *walk) {
    struct unwind_cursor cursor = {*registers, .pc_is_exact = true};
    begin(walk, registers->value[UNWIND_PC]);
    walk_on(&cursor, modules, access, walk);
}

// A frame that needs the frame pointer, and what is known of its function.
struct frame_search {
    const struct process *process;
    struct remote_window *window;
    struct unwind_cursor stuck;
    uint64_t function; // first address, 0 when unknown
};

static enum call_evidence try_frame_pointer(const struct frame_search *search, uint64_t fp,
                                            struct unwind_cursor *caller) {
    bool ended;
    *caller = search->stuck;
    caller->registers.value[UNWIND_FP] = fp;
    caller->registers.known |= unwind_bit(UNWIND_FP);
    if (unwind_step(caller, search->process->unwind, remote_window_read, search->window, &ended) != 0 || ended)
        return CALL_NONE;
    uint64_t return_address = caller->registers.value[UNWIND_PC];
    if (!unwind_find_module(search->process->unwind, return_address))
        return CALL_NONE;
    return call_evidence(search->process->pid, return_address, search->function);
}

static bool reaches_the_end(const struct frame_search *search, struct unwind_cursor caller) {
    bool ended = false;
    for (unsigned depth = 0; depth < WHYPERF_MAX_FRAMES; depth++)
        if (unwind_step(&caller, search->process->unwind, remote_window_read, search->window, &ended) != 0 || ended)
            return ended;
    return false;
}

// The lowest frame pointer whose return address certainly called the function and whose stack can be walked to its
// end. A weaker one must at least do the latter, or else be certain: stale frames in unused stack do neither.
static bool search_frame_pointer(const struct frame_search *search, uint64_t *fp) {
    enum { SEARCHED_BYTES = 128 * 1024 };
    uint64_t sp = search->stuck.registers.value[UNWIND_SP];
    uint64_t possible = 0, certain = 0, unused;
    for (uint64_t at = sp; at < sp + SEARCHED_BYTES && remote_window_read(search->window, at, &unused); at += 8) {
        struct unwind_cursor caller;
        enum call_evidence evidence = try_frame_pointer(search, at, &caller);
        if (evidence == CALL_NONE)
            continue;
        bool ends = reaches_the_end(search, caller);
        if (evidence == CALL_CERTAIN && ends) {
            *fp = at;
            return true;
        }
        if (evidence == CALL_CERTAIN && !certain)
            certain = at;
        if (evidence == CALL_POSSIBLE && ends && !possible)
            possible = at;
    }
    *fp = certain ? certain : possible;
    return *fp != 0;
}

static bool find_frame_pointer(const struct process *process, struct frame_distances *distances,
                               struct remote_window *window, struct unwind_cursor *cursor) {
    uint64_t pc = cursor->registers.value[UNWIND_PC] - !cursor->pc_is_exact;
    const struct mapped_module *module = process_module(process, pc);
    if (!module)
        return false;
    uint32_t address = (uint32_t)(pc - module->image.code_bias), start;
    const struct unwind_row *row = unwind_find_row(&module->table->rows, address);
    if (!row || row->reg != UNWIND_FP || cursor->registers.known & unwind_bit(UNWIND_FP))
        return false;
    struct frame_search search = {process, window, *cursor, 0};
    if (function_start(module->table, address, &start))
        search.function = module->image.code_bias + start;

    // A function's frame mostly has the same size at the same place.
    uint64_t sp = cursor->registers.value[UNWIND_SP], fp;
    uint64_t place = (uint64_t)(uintptr_t)module->table ^ address;
    unsigned slot = (unsigned)((place * 0x9e3779b97f4a7c15ull) >> 54);
    struct unwind_cursor caller;
    if (distances->found[slot].place == place &&
        try_frame_pointer(&search, sp + distances->found[slot].distance, &caller) == CALL_CERTAIN)
        fp = sp + distances->found[slot].distance;
    else if (!search_frame_pointer(&search, &fp))
        return false;
    distances->found[slot].place = place;
    distances->found[slot].distance = (uint32_t)(fp - sp);
    cursor->registers.value[UNWIND_FP] = fp;
    cursor->registers.known |= unwind_bit(UNWIND_FP);
    return true;
}

void walk_blocked(const struct process *process, struct frame_distances *distances, struct remote_window *window,
                  uint64_t sp, uint64_t pc, struct walk *walk) {
    struct unwind_cursor cursor = {.pc_is_exact = true};
    cursor.registers.value[UNWIND_SP] = sp;
    cursor.registers.value[UNWIND_PC] = pc;
    cursor.registers.known = unwind_bit(UNWIND_SP) | unwind_bit(UNWIND_PC);
    struct stack_access access = {remote_window_read, NULL, window};
    begin(walk, pc);
    do {
        walk_on(&cursor, process->unwind, &access, walk);
    } while (walk->cut == WHYPERF_CUT_REGISTER && find_frame_pointer(process, distances, window, &cursor));
}
