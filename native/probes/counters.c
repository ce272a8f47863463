#include "probes/counters.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "probes/disk.h"
#include "probes/increments.h"
#include "probes/memory.h"
#include "probes/sandbox.h"
#include "sampler/raw.h"

_Static_assert(sizeof(struct counters_module) == 1024, "as in counter_files.py");

enum { MOST_BLOCKS = 4096, NAMES_TRIED = 10000, BLOCKS_ASKED = 8 };

enum { ROW_BYTES = sizeof(struct counters_module) };

static const uint64_t blocks_from = COUNTERS_HEADER_BYTES + (uint64_t)COUNTERS_MODULES * ROW_BYTES;

struct block {
    uint8_t *address;
    pid_t owner; // a thread
};

static struct {
    pthread_mutex_t lock;
    char folder[PATH_MAX], path[PATH_MAX];
    struct counters_header *header;
    struct counters_module *rows;
    bool per_thread;
    uint32_t used; // of each block, in bytes
    struct block blocks[MOST_BLOCKS];
    uint32_t asked; // where the search for an abandoned block goes on
} this = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int create_file(void) {
    for (int number = 0; number < NAMES_TRIED; number++) {
        int size = snprintf(this.path, sizeof this.path, "%s/%d.%d.counts", this.folder, (int)getpid(), number);
        if (size < 0 || (size_t)size >= sizeof this.path)
            return -1;
        int fd = raw_open(this.path, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static int open_file(void) {
    return raw_open(this.path, O_RDWR, 0);
}

// With room for so many rows.
static bool open_new(bool forked, uint64_t rows) {
    int fd = create_file();
    if (fd < 0)
        return false;
    struct counters_header *header = MAP_FAILED;
    if (disk_may_hold(blocks_from) && ftruncate(fd, (off_t)blocks_from) == 0 &&
        disk_take(fd, 0, COUNTERS_HEADER_BYTES + rows * ROW_BYTES))
        header = mmap(NULL, blocks_from, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    raw_close(fd);
    if (header == MAP_FAILED) {
        unlink(this.path);
        return false;
    }
    header->version = COUNTERS_VERSION;
    header->mode = this.per_thread ? COUNTERS_PER_THREAD : COUNTERS_LOCKED;
    header->pid = (int32_t)getpid();
    header->parent = (int32_t)getppid();
    header->start_ns = raw_clock_ns(CLOCK_MONOTONIC);
    header->block_bytes = COUNTERS_BLOCK_BYTES;
    header->forked = forked;
    memcpy(header->magic, COUNTERS_MAGIC, sizeof header->magic);
    this.header = header;
    this.rows = (void *)((char *)header + COUNTERS_HEADER_BYTES);
    return true;
}

bool counters_open(const char *folder) {
    if (strlen(folder) >= sizeof this.folder)
        return false;
    strcpy(this.folder, folder);
    this.per_thread = increments_find_threads();
    return open_new(false, 0);
}

bool counters_are_open(void) {
    return this.header != NULL;
}

enum counters_mode counters_mode(void) {
    return (enum counters_mode)this.header->mode;
}

void counters_count_locked(void) {
    this.header->mode = COUNTERS_LOCKED;
}

void counters_note_unwatched(void) {
    atomic_store(&this.header->unwatched, 1);
}

struct counters_module *counters_rows(void) {
    return this.header ? this.rows : NULL;
}

static bool is_row_of(const struct counters_module *row, const struct module *module, const char *path) {
    if (row->build_id_bytes != module->build_id_bytes)
        return false;
    return row->build_id_bytes ? !memcmp(row->build_id, module->build_id, row->build_id_bytes)
                               : !strcmp(row->path, path);
}

static void path_of(const struct module *module, char path[COUNTERS_PATH_BYTES]) {
    memset(path, 0, COUNTERS_PATH_BYTES);
    if (*module->path)
        strncpy(path, module->path, COUNTERS_PATH_BYTES - 1);
    else
        (void)!syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, COUNTERS_PATH_BYTES - 1);
}

static bool take_row(uint32_t row) {
    int fd = *this.path ? open_file() : -1;
    bool taken = fd >= 0 && disk_take(fd, COUNTERS_HEADER_BYTES + (uint64_t)row * ROW_BYTES, ROW_BYTES);
    if (fd >= 0)
        raw_close(fd);
    return taken;
}

struct counters_module *counters_row(const struct module *module) {
    char path[COUNTERS_PATH_BYTES];
    path_of(module, path);
    uint32_t count = atomic_load(&this.header->modules);
    for (uint32_t i = 0; i < count; i++)
        if (is_row_of(&this.rows[i], module, path)) {
            this.rows[i].bias = module->bias;
            return &this.rows[i];
        }
    if (count == COUNTERS_MODULES || !take_row(count))
        return NULL;
    struct counters_module *row = &this.rows[count];
    memcpy(row->build_id, module->build_id, sizeof row->build_id);
    row->build_id_bytes = module->build_id_bytes;
    row->bias = module->bias;
    memcpy(row->path, path, sizeof row->path);
    atomic_store(&this.header->modules, count + 1);
    return row;
}

static uint64_t block_offset(uint32_t block) {
    return blocks_from + (uint64_t)block * COUNTERS_BLOCK_BYTES;
}

// Blocks that are in the file: locked counting has exactly one.
static uint32_t blocks_in_use(void) {
    return this.header->mode == COUNTERS_LOCKED ? 1 : atomic_load(&this.header->blocks);
}

static bool take_space_in_blocks(uint32_t first, uint32_t bytes) {
    int fd = open_file();
    if (fd < 0)
        return false;
    bool taken = true;
    for (uint32_t block = 0; block < blocks_in_use() && taken; block++)
        taken = disk_take(fd, block_offset(block) + first, bytes);
    raw_close(fd);
    return taken;
}

enum probes_reason counters_reserve(struct counters_module *row, uint32_t counters) {
    if (row->counters)
        return PROBES_DONE;
    uint64_t bytes = whole_pages((uint64_t)counters * sizeof(uint64_t));
    pthread_mutex_lock(&this.lock);
    enum probes_reason reason = PROBES_DONE;
    if (this.used + bytes > COUNTERS_BLOCK_BYTES)
        reason = PROBES_TOO_MANY_COUNTERS;
    else if (!take_space_in_blocks(this.used, (uint32_t)bytes))
        reason = PROBES_NO_DISK;
    if (!reason) {
        if (this.header->mode == COUNTERS_LOCKED)
            atomic_store(&this.header->blocks, 1);
        row->first = this.used;
        row->counters = counters;
        this.used += (uint32_t)bytes;
    }
    pthread_mutex_unlock(&this.lock);
    return reason;
}

bool counters_map_at(const struct counters_module *row, void *where) {
    size_t bytes = whole_pages((size_t)row->counters * sizeof(uint64_t));
    int fd = open_file();
    void *mapped = MAP_FAILED;
    if (fd >= 0) {
        uint64_t at = block_offset(0) + row->first;
        mapped = mmap(where, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)at);
        raw_close(fd);
    }
    return mapped == where;
}

static bool is_abandoned(const struct block *block) {
    return block->owner == 0 || (syscall(SYS_tgkill, getpid(), block->owner, 0) != 0 && errno == ESRCH);
}

static struct block *abandoned_block(uint32_t count) {
    for (uint32_t i = 0; i < BLOCKS_ASKED && i < count; i++) {
        struct block *block = &this.blocks[this.asked++ % count];
        if (is_abandoned(block))
            return block;
    }
    return NULL;
}

static void *map_block(int fd, uint32_t number) {
    uint8_t *where = number == 0 ? thread_first_block() : NULL;
    int flags = MAP_SHARED | MAP_NORESERVE | (where ? MAP_FIXED : 0);
    return mmap(where, COUNTERS_BLOCK_BYTES, PROT_READ | PROT_WRITE, flags, fd, (off_t)block_offset(number));
}

static struct block *new_block(uint32_t count) {
    int fd = count < MOST_BLOCKS ? open_file() : -1;
    if (fd < 0)
        return NULL;
    void *address = MAP_FAILED;
    if (disk_may_hold(block_offset(count + 1)) && ftruncate(fd, (off_t)block_offset(count + 1)) == 0 &&
        disk_take(fd, block_offset(count), this.used))
        address = map_block(fd, count);
    raw_close(fd);
    if (address == MAP_FAILED)
        return NULL;
    this.blocks[count].address = address;
    atomic_store(&this.header->blocks, count + 1);
    return &this.blocks[count];
}

void counters_begin_thread(uint8_t *creators_block) {
    if (!this.header || this.header->mode != COUNTERS_PER_THREAD)
        return;
    if (sandbox_forbids_system_calls()) { // it goes on in its creator's block, where both may lose counts
        thread_shares(creators_block);
        atomic_fetch_add(&this.header->uncounted_threads, 1);
        return;
    }
    int saved_errno = errno;
    pthread_mutex_lock(&this.lock);
    uint32_t count = atomic_load(&this.header->blocks);
    struct block *block = abandoned_block(count);
    if (!block)
        block = new_block(count);
    if (block)
        block->owner = (pid_t)syscall(SYS_gettid);
    else
        atomic_fetch_add(&this.header->uncounted_threads, 1);
    pthread_mutex_unlock(&this.lock);
    thread_counts_in(block ? block->address : NULL);
    errno = saved_errno;
}

void counters_before_fork(void) {
    pthread_mutex_lock(&this.lock);
}

void counters_after_fork_in_parent(void) {
    pthread_mutex_unlock(&this.lock);
}

// Where the first block was, threads go on counting, unseen.
static void forget_block(uint8_t *address) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    if (address == thread_first_block())
        mmap(address, COUNTERS_BLOCK_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
    else
        munmap(address, COUNTERS_BLOCK_BYTES);
}

static void forget_blocks(uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        forget_block(this.blocks[i].address);
    memset(this.blocks, 0, count * sizeof *this.blocks);
}

// Takes the parent's rows over. False if there is no room for them: then nobody will read what the child counts.
static bool open_in_child(const struct counters_header *parents) {
    uint32_t modules = atomic_load(&parents->modules);
    if (!open_new(true, modules))
        return false;
    this.header->mode = parents->mode;
    atomic_store(&this.header->unwatched, atomic_load(&parents->unwatched));
    memcpy(this.rows, (const char *)parents + COUNTERS_HEADER_BYTES, modules * sizeof *this.rows);
    atomic_store(&this.header->modules, modules);
    return true;
}

// A child counts from zero, in a file of its own.
void counters_after_fork_in_child(void) {
    this.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    struct counters_header *parents = this.header;
    if (!parents)
        return;
    if (sandbox_forbids_system_calls()) {
        atomic_fetch_add(&parents->uncounted_threads, 1);
        return;
    }
    bool per_thread = parents->mode == COUNTERS_PER_THREAD;
    uint32_t blocks = atomic_load(&parents->blocks);
    if (per_thread)
        thread_counts_in(NULL);
    if (!open_in_child(parents))
        this.header = NULL;
    munmap(parents, blocks_from);
    if (per_thread) {
        forget_blocks(blocks);
        counters_begin_thread(NULL);
    } else if (this.header) {
        atomic_store(&this.header->blocks, take_space_in_blocks(0, this.used));
    }
}
