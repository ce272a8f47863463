// Which code is mapped where, and how to unwind it.
//
// The list is an immutable snapshot behind one pointer. It is made from /proc/self/maps when the program starts, when a
// walk meets an address in no known module, and after dlclose: nothing of the dynamic linker is intercepted, and
// libraries that libc loads for itself are found as well.
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include "sampler/raw.h"
#include "sampler/sampler.h"
#include "sampler/tables.h"
#include "unwind/image.h"

DECLARE_NEXT(dlclose);

enum { MAX_MODULES = 2048, MAPS_BUFFER = 16 * 1024, RETIRED = 16 };

struct file {
    uint64_t device, inode;
};

struct module_details {
    struct file file;
    uint64_t file_offset, header_start; // 0: its ELF header is not mapped
    struct unwind_image image;
    const struct values_table *variables; // NULL: none so far
};

struct snapshot {
    size_t bytes;
    uint64_t generation;
    struct module_details *details; // of each module, beside it
    struct unwind_modules modules;
};

static struct snapshot no_modules;
static _Atomic(struct snapshot *) current = &no_modules;
static struct snapshot *retired[RETIRED];
static _Atomic uint32_t readers;
static _Atomic bool refreshing;
static _Atomic bool stale;
static uint32_t tables_seen; // the session's generation of variables tables

// Address ranges without a module (JIT code) would make every sample look again: each vain look doubles the pause.
enum { FIRST_PAUSE_NS = 1000 * 1000 };
static const uint64_t longest_pause_ns = 10ull * 1000 * 1000 * 1000;
static uint64_t next_look, look_pause = FIRST_PAUSE_NS;

// Work space of the one thread that refreshes.
static struct {
    char text[MAPS_BUFFER];
    struct unwind_module modules[MAX_MODULES];
    struct module_details details[MAX_MODULES];
    uint32_t count;
    bool changed;
    bool something_was_unloaded;
    // The latest mapping of a file's start: where its ELF header is.
    uint64_t header_start;
    struct file header_file;
    struct {
        struct whyperf_module header;
        char path[1024];
    } record;
} work;

void modules_enter_in_signal(void) {
    atomic_fetch_add(&readers, 1);
}

void modules_leave_in_signal(void) {
    atomic_fetch_sub(&readers, 1);
}

void modules_wait_for_readers(void) {
    struct timespec pause = {.tv_nsec = 100 * 1000};
    for (int i = 0; i < 10000 && atomic_load(&readers); i++)
        syscall(SYS_nanosleep, &pause, NULL);
}

const struct unwind_modules *modules_in_signal(void) {
    return &atomic_load(&current)->modules;
}

static const struct snapshot *snapshot_of(const struct unwind_modules *modules) {
    return (const void *)((const char *)modules - offsetof(struct snapshot, modules));
}

uint64_t modules_generation_in_signal(const struct unwind_modules *modules) {
    return snapshot_of(modules)->generation;
}

const struct values_table *modules_variables_in_signal(const struct unwind_modules *modules,
                                                       const struct unwind_module *module) {
    return snapshot_of(modules)->details[module - modules->modules].variables;
}

bool modules_are_stale_in_signal(void) {
    return atomic_load_explicit(&stale, memory_order_relaxed) ||
           atomic_load_explicit(&this_process.session->tables_generation, memory_order_relaxed) != tables_seen;
}

bool modules_missed_in_signal(uint64_t now) {
    return now >= next_look;
}

void modules_after_fork(void) {
    atomic_store(&refreshing, false);
    atomic_store(&readers, 0);
}

EXPORT int dlclose(void *handle) {
    int result = NEXT(dlclose)(handle);
    atomic_store(&stale, true);
    return result;
}

static bool read_own_memory(void *context, uint64_t address, void *bytes, size_t size) {
    (void)context;
    struct iovec local = {bytes, size}, remote = {(void *)address, size};
    return syscall(SYS_process_vm_readv, this_process.pid, &local, 1, &remote, 1, 0) == (long)size;
}

struct mapping {
    uint64_t start, end, offset;
    struct file file;
    bool executable;
    const char *path;
};

static const char *parse_number(const char *text, unsigned base, uint64_t *number) {
    *number = 0;
    for (;; text++) {
        unsigned digit;
        if (*text >= '0' && *text <= '9')
            digit = (unsigned)(*text - '0');
        else if (base == 16 && *text >= 'a' && *text <= 'f')
            digit = (unsigned)(*text - 'a') + 10;
        else
            return text;
        *number = *number * base + digit;
    }
}

// "7f12-7f34 r-xp 00001000 08:01 1234   /path"
static bool parse_mapping(const char *line, struct mapping *mapping) {
    const char *at = parse_number(line, 16, &mapping->start);
    if (*at++ != '-')
        return false;
    at = parse_number(at, 16, &mapping->end);
    if (strnlen(at, 6) < 6)
        return false;
    mapping->executable = at[3] == 'x';
    at = parse_number(at + 6, 16, &mapping->offset);
    if (*at++ != ' ')
        return false;
    uint64_t major, minor;
    at = parse_number(at, 16, &major);
    if (*at++ != ':')
        return false;
    at = parse_number(at, 16, &minor);
    mapping->file.device = major << 32 | minor;
    if (*at++ != ' ')
        return false;
    at = parse_number(at, 10, &mapping->file.inode);
    mapping->path = at + strspn(at, " ");
    return true;
}

static void record_module(const struct mapping *mapping, const struct unwind_image *image) {
    struct whyperf_module *header = &work.record.header;
    *header = (struct whyperf_module){.start = mapping->start,
                                      .end = mapping->end,
                                      .file_offset = mapping->offset,
                                      .bias = image->code_bias,
                                      .build_id_size = image->build_id_size,
                                      .inode = mapping->file.inode};
    memcpy(header->build_id, image->build_id, sizeof header->build_id);
    size_t length = strnlen(mapping->path, sizeof work.record.path - 1);
    memcpy(work.record.path, mapping->path, length);
    work.record.path[length] = '\0';
    ring_write_in_signal(WHYPERF_RECORD_MODULE, 0, &work.record, (uint32_t)(sizeof *header + length + 1));
}

static bool is_same_file(const struct file *a, const struct file *b) {
    return a->device == b->device && a->inode == b->inode;
}

static const struct unwind_module *known_module(const struct snapshot *snapshot, const struct mapping *mapping) {
    for (uint32_t i = 0; i < snapshot->modules.count; i++) {
        const struct unwind_module *module = &snapshot->modules.modules[i];
        const struct module_details *details = &snapshot->details[i];
        if (module->start == mapping->start && module->end == mapping->end && details->file_offset == mapping->offset &&
            is_same_file(&details->file, &mapping->file))
            return module;
    }
    return NULL;
}

// A library built anew and loaded in the place of the old one may well have its inode number, too.
static bool is_another(const struct mapping *mapping, const struct module_details *known) {
    struct unwind_image image;
    struct unwind_mapping code = {mapping->start, mapping->offset};
    return work.something_was_unloaded && is_same_file(&work.header_file, &mapping->file) &&
           unwind_image_find(read_own_memory, NULL, work.header_start, &code, &image) &&
           memcmp(&image, &known->image, sizeof image) != 0;
}

static void find_variables(const struct unwind_module *module, struct module_details *details) {
    uint64_t here = (uint64_t)find_variables;
    bool is_ours = here >= module->start && here < module->end;
    bool is_copy =
        details->image.code_bias != details->image.bias; // of code: the variables lie where the rest of the module does
    if (details->variables || is_ours || is_copy || !this_process.session->values_depth)
        return;
    details->variables = tables_find_variables_in_signal(&details->image);
    if (!details->variables)
        return;
    work.changed = true;
    uint64_t record[2] = {module->start, details->variables->header->hash};
    ring_write_in_signal(WHYPERF_RECORD_VARIABLES, 0, record, sizeof record);
    globals_watch_in_signal(module->start, module->bias, details->variables);
}

// Where the ELF header of the mapping's file is: its segments follow it upwards, but a copy of some may lie anywhere. 0
// if it is not mapped, or further up.
static uint64_t find_header(const struct mapping *mapping) {
    if (is_same_file(&work.header_file, &mapping->file))
        return work.header_start;
    for (uint32_t i = 0; i < work.count; i++)
        if (is_same_file(&work.details[i].file, &mapping->file))
            return work.details[i].header_start;
    return 0;
}

static void take_in(const struct mapping *mapping) {
    bool is_file = mapping->path[0] == '/', is_vdso = strcmp(mapping->path, "[vdso]") == 0;
    if (!is_file && !is_vdso)
        return;
    if (mapping->offset == 0) {
        work.header_start = mapping->start;
        work.header_file = mapping->file;
    }
    if (!mapping->executable || work.count == MAX_MODULES)
        return;
    uint64_t header = find_header(mapping);
    struct unwind_module *module = &work.modules[work.count];
    struct module_details *details = &work.details[work.count++];
    const struct snapshot *snapshot = atomic_load(&current);
    const struct unwind_module *known = known_module(snapshot, mapping);
    if (known && !is_another(mapping, &snapshot->details[known - snapshot->modules.modules])) {
        *module = *known;
        *details = snapshot->details[known - snapshot->modules.modules];
    } else {
        *module = (struct unwind_module){.start = mapping->start, .end = mapping->end};
        *details =
            (struct module_details){.file = mapping->file, .file_offset = mapping->offset, .header_start = header};
        struct unwind_mapping code = {mapping->start, mapping->offset};
        if (header && unwind_image_find(read_own_memory, NULL, header, &code, &details->image)) {
            module->bias = details->image.code_bias;
            tables_find_in_signal(&details->image, read_own_memory, &module->table);
        }
        record_module(mapping, &details->image);
        globals_forget_in_signal(mapping->start, mapping->end);
        work.changed = true;
    }
    find_variables(module, details);
}

static bool read_mappings(void) {
    int fd = raw_open("/proc/self/maps", O_RDONLY, 0);
    if (fd < 0)
        return false;
    size_t kept = 0;
    long got;
    while ((got = raw_read(fd, work.text + kept, sizeof work.text - 1 - kept)) > 0) {
        size_t filled = kept + (size_t)got, line = 0;
        for (size_t i = kept; i < filled; i++) {
            if (work.text[i] != '\n')
                continue;
            work.text[i] = '\0';
            struct mapping mapping;
            if (parse_mapping(work.text + line, &mapping))
                take_in(&mapping);
            line = i + 1;
        }
        kept = filled - line;
        memmove(work.text, work.text + line, kept);
    }
    raw_close(fd);
    return got == 0;
}

// Old snapshots go when nobody but us can still be looking at them.
static bool retire(struct snapshot *old) {
    if (atomic_load(&readers) <= 1) {
        for (int i = 0; i < RETIRED; i++) {
            // Out of the list first: a child forked in between would unmap what is somebody else's by then.
            struct snapshot *gone = retired[i];
            retired[i] = NULL;
            atomic_signal_fence(memory_order_seq_cst);
            if (gone)
                munmap(gone, gone->bytes);
        }
    }
    for (int i = 0; i < RETIRED; i++) {
        if (retired[i])
            continue;
        retired[i] = old == &no_modules ? NULL : old;
        return true;
    }
    return false;
}

static bool room_to_retire(void) {
    for (int i = 0; i < RETIRED; i++)
        if (!retired[i])
            return true;
    return atomic_load(&readers) <= 1;
}

static bool publish(void) {
    size_t bytes =
        sizeof(struct snapshot) + work.count * (sizeof(struct unwind_module) + sizeof(struct module_details));
    struct snapshot *next = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (next == MAP_FAILED)
        return false;
    next->bytes = bytes;
    next->generation = atomic_load(&current)->generation + 1;
    next->modules.count = work.count;
    memcpy(next->modules.modules, work.modules, work.count * sizeof(struct unwind_module));
    next->details = (struct module_details *)&next->modules.modules[work.count];
    memcpy(next->details, work.details, work.count * sizeof(struct module_details));
    struct snapshot *old = atomic_exchange(&current, next);
    retire(old);
    return true;
}

// What has another module in its place needs no word: that one's record, already written, says it. To say "gone" of the
// same address now would be said of the new one.
static void record_gone(const struct snapshot *old) {
    for (uint32_t i = 0; i < old->modules.count; i++) {
        uint64_t start = old->modules.modules[i].start;
        bool has_module = false;
        for (uint32_t k = 0; k < work.count && !has_module; k++)
            has_module = work.modules[k].start <= start && start < work.modules[k].end;
        if (has_module)
            continue;
        work.changed = true;
        ring_write_in_signal(WHYPERF_RECORD_MODULE_GONE, 0, &start, sizeof start);
        globals_forget_in_signal(start, start + 1);
    }
}

bool modules_refresh_in_signal(void) {
    if (atomic_load(&this_process.no_system_calls) || atomic_exchange(&refreshing, true))
        return false;
    bool published = false;
    if (room_to_retire()) {
        work.something_was_unloaded = atomic_exchange(&stale, false);
        tables_seen = atomic_load(&this_process.session->tables_generation);
        work.count = 0;
        work.changed = false;
        work.header_start = 0;
        work.header_file = (struct file){0, 0};
        if (read_mappings())
            record_gone(atomic_load(&current));
        published = work.changed && publish();
    }
    look_pause = published ? FIRST_PAUSE_NS : look_pause < longest_pause_ns ? look_pause * 2 : longest_pause_ns;
    next_look = now_in_signal() + look_pause;
    atomic_store(&refreshing, false);
    return published;
}
