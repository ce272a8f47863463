#include "sampler/walk.h"

#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "machine/machine.h"
#include "sampler/sampler.h"
#include "unwind/call_code.h"
#include "unwind/frame_pointer.h"

// Pages outside the known stack that one walk may look at: coroutines' stacks are small.
enum { PAGES_PER_WALK = 16 };
enum { PREFETCHED_STACK_BYTES = 1024, PREFETCHED_MODULES_BYTES = 512 };

struct stack_reader {
    uint64_t low, high; // directly readable
    uint64_t page_address;
    unsigned pages_left;
    bool page_valid;
    bool would_need_system_call;
};

// Reads by system call, so that an address which is not mapped is an error and not a crash.
static bool copy_page_in_signal(struct stack_reader *reader, uint64_t page_address) {
    if (!memory_can_be_copied_in_signal()) {
        reader->would_need_system_call = true;
        return false;
    }
    if (reader->pages_left == 0)
        return false;
    reader->pages_left--;
    struct iovec local = {this_thread.memory->walk.page, PAGE_BYTES};
    struct iovec remote = {(void *)page_address, PAGE_BYTES};
    reader->page_valid = syscall(SYS_process_vm_readv, this_process.pid, &local, 1, &remote, 1, 0) == (long)PAGE_BYTES;
    reader->page_address = page_address;
    return reader->page_valid;
}

static bool read_word_in_signal(void *context, uint64_t address, uint64_t *word) {
    struct stack_reader *reader = context;
    // Compared by subtraction: address + 8 could wrap around for a wild pointer.
    if (address >= reader->low && address < reader->high && reader->high - address >= sizeof *word) {
        memcpy(word, (const void *)address, sizeof *word);
        return true;
    }
    uint64_t page_address = address & ~(uint64_t)(PAGE_BYTES - 1);
    uint64_t offset = address - page_address;
    if (offset > PAGE_BYTES - sizeof *word)
        return false;
    if (!(reader->page_valid && reader->page_address == page_address) && !copy_page_in_signal(reader, page_address))
        return false;
    memcpy(word, this_thread.memory->walk.page + offset, sizeof *word);
    return true;
}

void walk_prefetch_in_signal(const ucontext_t *context) {
    const struct walk_memory *memory = &this_thread.memory->walk;
    const char *stack = (const char *)machine_stack_pointer(context);
    // No address is wrong to prefetch.
    for (uint32_t i = 0; i < memory->remembered_count; i++) {
        const struct remembered_frame *frame = &memory->remembered[i];
        __builtin_prefetch(frame->known);
        __builtin_prefetch((const void *)(frame->cfa - sizeof(uint64_t)));
        __builtin_prefetch(frame->plan);
    }
    for (int i = 0; i < PREFETCHED_STACK_BYTES; i += CACHE_LINE)
        __builtin_prefetch(stack + i);
    const char *modules = (const char *)modules_in_signal();
    for (int i = 0; i < PREFETCHED_MODULES_BYTES; i += CACHE_LINE)
        __builtin_prefetch(modules + i);
}

static void forget_other_modules(struct walk_memory *memory, uint64_t generation) {
    if (memory->generation == generation)
        return;
    for (uint32_t i = 0; i < KNOWN_FRAMES; i++)
        memory->known[i].looked_up = 0;
    memory->generation = generation;
}

// Looks an address up in the tables. What that needs lies far apart: ask for the next lines of both tables before
// waiting for any.
static int learn_frame(struct known_frame *frame, uint64_t looked_up, const struct unwind_modules *modules) {
    const struct unwind_module *module = unwind_find_module(modules, looked_up);
    if (!module)
        return WHYPERF_CUT_NO_MODULE;
    uint64_t address = looked_up - module->bias;
    if (address > UINT32_MAX)
        return WHYPERF_CUT_NO_ROW;
    unwind_prefetch_index(&module->table, (uint32_t)address);
    const struct values_table *table = modules_variables_in_signal(modules, module);
    if (table)
        values_prefetch_index(table, address);
    unwind_prefetch_rows(&module->table, (uint32_t)address);
    if (table)
        values_prefetch_segments(table, address);
    const struct unwind_row *row = unwind_find_row(&module->table, (uint32_t)address);
    if (!row)
        return WHYPERF_CUT_NO_ROW;
    *frame = (struct known_frame){.looked_up = looked_up,
                                  .row = *row,
                                  .bias = module->bias,
                                  .plan = table ? values_plan_at(table, address) : NULL,
                                  .is_of_program = module->bias == this_process.program_bias};
    return WHYPERF_CUT_NONE;
}

static struct known_frame *room_for(struct walk_memory *memory, uint64_t looked_up) {
    return &memory->known[(looked_up * 0x9e3779b97f4a7c15u) >> 56];
}

enum follows { FOLLOWS_NO_CALL, FOLLOWS_A_CALL, NOT_READ };

// What stands before an address: the word that ends there, on one page or on two.
static enum follows what_it_follows(struct stack_reader *reader, uint64_t address) {
    enum { LOWEST = 64 * 1024 };
    union {
        uint64_t words[2];
        uint8_t code[2 * sizeof(uint64_t)];
    } before;
    const uint8_t *end = before.code + sizeof(uint64_t);
    uint64_t page_offset = address & (PAGE_BYTES - 1);
    if (address < LOWEST)
        return FOLLOWS_NO_CALL;
    if (page_offset == 0 || page_offset >= sizeof(uint64_t)) {
        if (!read_word_in_signal(reader, address - sizeof(uint64_t), &before.words[0]))
            return NOT_READ;
    } else {
        uint64_t page = address - page_offset;
        if (!read_word_in_signal(reader, page - sizeof(uint64_t), &before.words[0]) ||
            !read_word_in_signal(reader, page, &before.words[1]))
            return NOT_READ;
        end += page_offset;
    }
    return ends_in_call(end - CALL_CODE_LONGEST) ? FOLLOWS_A_CALL : FOLLOWS_NO_CALL;
}

static const struct known_frame *find_frame(struct walk_memory *memory, const struct unwind_cursor *cursor,
                                            const struct unwind_modules *modules, struct stack_reader *reader) {
    uint64_t looked_up = unwind_looked_up(cursor);
    struct known_frame *frame = room_for(memory, looked_up);
    if (looked_up && frame->looked_up == looked_up)
        return frame;
    int cut = learn_frame(frame, looked_up, modules);
    if (cut) {
        enum follows follows = cursor->pc_is_exact ? FOLLOWS_A_CALL : what_it_follows(reader, looked_up + 1);
        *frame = (struct known_frame){.looked_up = follows == NOT_READ ? 0 : looked_up,
                                      .lacks = (uint8_t)cut,
                                      .is_code = follows == FOLLOWS_A_CALL};
    }
    return frame;
}

static bool is_return_address_in_signal(void *context, uint64_t address) {
    const struct known_frame *frame = room_for(&this_thread.memory->walk, address - 1);
    bool met_before = address > 1 && frame->looked_up == address - 1 && (!frame->lacks || frame->is_code);
    return met_before || what_it_follows(context, address) == FOLLOWS_A_CALL;
}

static void remember(struct walk_memory *memory, const struct known_frame *known, uint64_t cfa) {
    if (memory->remembered_count < REMEMBERED_FRAMES)
        memory->remembered[memory->remembered_count++] = (struct remembered_frame){known, known->plan, cfa};
}

// The program's own thread-local variables lie near the thread pointer. Libraries' blocks only the dynamic linker can
// find.
static uint64_t program_thread_block(void) {
    int64_t distance = this_process.program_block_distance;
    return distance ? machine_thread_pointer() + (uint64_t)distance : 0;
}

static void capture_in_signal(const struct walk_request *request, const struct known_frame *known,
                              const struct unwind_cursor *cursor, const uint64_t *cfa, uint32_t depth) {
    struct values_captured_frame frame = {.registers = &cursor->registers,
                                          .cfa = cfa,
                                          .bias = known->bias,
                                          .thread_block = known->is_of_program ? program_thread_block() : 0,
                                          .vectors = depth == 0 && request->context ? machine_vectors(request->context)
                                                                                    : NULL};
    // One more than is read, for the entry values of the last.
    uint8_t flags = depth == request->values_depth ? RECORD_CALLER_ONLY : 0;
    values_capture_frame_in_signal(&this_thread.memory->walk.capture, (uint8_t)depth, flags, known->plan, &frame);
}

// Leaves one frame, and keeps what is wanted of it.
static int step_in_signal(const struct walk_request *request, struct unwind_cursor *cursor, struct stack_reader *reader,
                          const struct unwind_modules *modules, uint32_t depth, bool *missed_a_module, bool *ended) {
    *ended = cursor->registers.value[UNWIND_PC] == 0;
    if (*ended)
        return WHYPERF_CUT_NONE;
    struct walk_memory *memory = &this_thread.memory->walk;
    const struct known_frame *known = find_frame(memory, cursor, modules, reader);
    *missed_a_module |= known->lacks == WHYPERF_CUT_NO_MODULE;
    if (known->lacks && unwind_at_signal_return(cursor, read_word_in_signal, reader))
        return unwind_leave_signal(cursor, read_word_in_signal, reader);
    if (known->lacks)
        return known->is_code &&
                       unwind_by_frame_pointer(cursor, read_word_in_signal, is_return_address_in_signal, reader, ended)
                   ? WHYPERF_CUT_NONE
                   : known->lacks;
    int cut = WHYPERF_CUT_NONE;
    uint64_t cfa;
    bool has_cfa = known->row.kind != UNWIND_KIND_END && known->row.kind != UNWIND_KIND_SIGNAL;
    if (has_cfa)
        cut = unwind_find_cfa(cursor, &known->row, read_word_in_signal, reader, &cfa);
    if (known->plan && request->values_depth && depth <= request->values_depth)
        capture_in_signal(request, known, cursor, has_cfa && !cut ? &cfa : NULL, depth);
    *ended = known->row.kind == UNWIND_KIND_END;
    if (cut || *ended)
        return cut;
    if (known->row.kind == UNWIND_KIND_SIGNAL)
        return unwind_leave_signal(cursor, read_word_in_signal, reader);
    remember(memory, known, cfa);
    return unwind_leave(cursor, &known->row, cfa, read_word_in_signal, reader, ended);
}

// Of the bytes below the stack pointer that belong to the function, those on the same page are certainly mapped.
static uint64_t with_red_zone(uint64_t stack_pointer) {
    uint64_t zone = MACHINE_RED_ZONE_BYTES, on_page = stack_pointer & (PAGE_BYTES - 1);
    return stack_pointer - (on_page < zone ? on_page : zone);
}

// The library's own code, from its ELF header on.
static bool is_own(uint64_t pc) {
    extern const char __ehdr_start[] __attribute__((visibility("hidden")));
    extern const char etext[] __attribute__((visibility("hidden")));
    return pc >= (uint64_t)__ehdr_start && pc < (uint64_t)etext;
}

// Leaves frames of our own. The return address then stands for the call: who reads the innermost pc takes it as it is.
static int leave_own_frames(const struct walk_request *request, struct unwind_cursor *cursor,
                            struct stack_reader *reader, const struct unwind_modules *modules) {
    bool missed, ended = false;
    int cut = WHYPERF_CUT_NONE;
    while (!cut && !ended && is_own(cursor->registers.value[UNWIND_PC]))
        cut = step_in_signal(request, cursor, reader, modules, UINT32_MAX, &missed, &ended);
    return cut;
}

struct walk walk_in_signal(const struct walk_request *request) {
    struct walk_memory *memory = &this_thread.memory->walk;
    struct unwind_cursor cursor;
    cursor.pc_is_exact = true;
    if (request->from)
        cursor.registers = *request->from;
    else
        machine_take_registers(request->context, &cursor.registers);
    uint64_t stack_pointer = cursor.registers.value[UNWIND_SP];
    struct stack_reader reader = {.pages_left = PAGES_PER_WALK};
    // A stack pointer outside this thread's stack is a coroutine's or an alternate stack's: nothing is known mapped.
    if (stack_pointer >= this_thread.stack_low && stack_pointer < this_thread.stack_high) {
        reader.low = stack_pointer;
        reader.high = this_thread.stack_high;
    }
    const struct unwind_modules *modules = modules_in_signal();
    forget_other_modules(memory, modules_generation_in_signal(modules));
    memory->remembered_count = 0;
    if (request->values_depth)
        values_capture_begin_in_signal(&memory->capture, reader.high ? with_red_zone(reader.low) : 0, reader.high,
                                       request->with_others, memory_can_be_copied_in_signal());
    struct walk walk = {0};
    if (request->from)
        walk.cut = leave_own_frames(request, &cursor, &reader, modules);
    if (walk.cut)
        return walk;
    for (;;) {
        // Readers look one byte before what they take for a return address: not so where a signal interrupted, and not
        // in the innermost frame.
        bool interrupted = cursor.pc_is_exact && walk.frames > 0;
        bool called = !cursor.pc_is_exact && walk.frames == 0;
        memory->pcs[walk.frames++] = cursor.registers.value[UNWIND_PC] + interrupted - called;
        if (walk.frames == WHYPERF_MAX_FRAMES) {
            walk.cut = WHYPERF_CUT_DEPTH;
            return walk;
        }
        bool ended = false;
        walk.cut = step_in_signal(request, &cursor, &reader, modules, walk.frames - 1, &walk.missed_a_module, &ended);
        if (walk.cut == WHYPERF_CUT_UNREADABLE && reader.would_need_system_call)
            walk.cut = WHYPERF_CUT_NO_SYSTEM_CALLS;
        if (ended || walk.cut)
            return walk;
    }
}
