#include "observation/record_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "probes/disk.h"
#include "probes/memory.h"
#include "sampler/raw.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

_Static_assert(sizeof(struct record_module) == 1024 && sizeof(struct record_site) == 64 && sizeof(struct record) == 336,
               "as in record_files.py");

enum {
    MODULES_AT = RECORD_FILE_HEADER_BYTES,
    SITES_AT = MODULES_AT + RECORD_FILE_MODULES * (int)sizeof(struct record_module),
    RECORDS_AT = SITES_AT + SITE_MOST * (int)sizeof(struct record_site),
    RECORDS_OF_CHILD = 1024, // there may be many
    NAMES_TRIED = 10000,
    MOST_WAITS = 1000,
};

static const size_t mapped_bytes = RECORDS_AT + (size_t)RECORD_FILE_MOST * sizeof(struct record);

// Where neither programs nor libraries nor heaps are, so that the file moves nothing of the program's.
static const uintptr_t preferred = 0x1000000000;

static struct {
    char folder[PATH_MAX];
    uint8_t *content;
    _Atomic uint32_t *is_own; // the kernel makes it 0 in a child that gets a copy; NULL: it cannot
} this;

static int create_file(char path[PATH_MAX]) {
    for (int number = 0; number < NAMES_TRIED; number++) {
        int size = snprintf(path, PATH_MAX, "%s/%d.%d.records", this.folder, (int)syscall(SYS_getpid), number);
        if (size < 0 || size >= PATH_MAX)
            return -1;
        int fd = raw_open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static void *mapped_anywhere(int fd) {
    int shared = MAP_SHARED | MAP_NORESERVE, protection = PROT_READ | PROT_WRITE;
    void *at = (void *)preferred;
    void *found = mmap(at, mapped_bytes, protection, shared | MAP_FIXED_NOREPLACE, fd, 0);
    return found != MAP_FAILED ? found : mmap(NULL, mapped_bytes, protection, shared, fd, 0);
}

// A new file with nothing in it yet. NULL: it cannot be made.
static struct record_header *new_file(uint64_t capacity) {
    static char path[PATH_MAX]; // stacks may be small; no other thread is there
    int fd = create_file(path);
    if (fd < 0)
        return NULL;
    uint64_t bytes = RECORDS_AT + capacity * sizeof(struct record);
    void *found = disk_take(fd, 0, bytes) ? mapped_anywhere(fd) : MAP_FAILED;
    raw_close(fd);
    if (found == MAP_FAILED) {
        unlink(path);
        return NULL;
    }
    madvise(found, mapped_bytes, MADV_RANDOM); // little of it is touched
    struct record_header *header = found;
    header->capacity = capacity;
    return header;
}

// From now on it is this process' file; who reads it finds it whole.
static void begin(struct record_header *header, bool forked) {
    header->version = RECORD_FILE_VERSION;
    header->pid = (int32_t)syscall(SYS_getpid);
    header->parent = (int32_t)syscall(SYS_getppid);
    header->forked = forked;
    header->start_ns = raw_clock_ns(CLOCK_MONOTONIC);
    header->mapped_at = (uintptr_t)this.content;
    atomic_thread_fence(memory_order_release);
    memcpy(header->magic, RECORD_FILE_MAGIC, sizeof header->magic);
}

static void mark_as_own(void) {
    if (this.is_own)
        atomic_store(this.is_own, 1);
}

bool record_file_open(const char *folder, uint64_t capacity) {
    if (strlen(folder) >= sizeof this.folder)
        return false;
    strcpy(this.folder, folder);
    this.content = (uint8_t *)new_file(capacity < RECORD_FILE_MOST ? capacity : RECORD_FILE_MOST);
    if (!this.content)
        return false;
    begin(record_file_header(), false);
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED && madvise(page, PAGE, MADV_WIPEONFORK) == 0)
        this.is_own = page;
    mark_as_own();
    return true;
}

void record_file_wait_for_recorder(void) {
    for (int i = 0; i < MOST_WAITS && atomic_load(&record_file_header()->arming); i++)
        syscall(SYS_nanosleep, &(struct timespec){.tv_nsec = 1000000}, NULL);
}

bool record_file_is_parents(void) {
    return this.is_own && !atomic_load(this.is_own);
}

struct record_header *record_file_header(void) {
    return (void *)this.content;
}

struct record_site *record_file_site(uint32_t site) {
    return (struct record_site *)(this.content + SITES_AT) + site;
}

static struct record_module *modules(void) {
    return (void *)(this.content + MODULES_AT);
}

static void path_of(const struct module *module, char path[RECORD_FILE_PATH_BYTES]) {
    memset(path, 0, RECORD_FILE_PATH_BYTES);
    if (*module->path)
        strncpy(path, module->path, RECORD_FILE_PATH_BYTES - 1);
    else
        (void)!syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, RECORD_FILE_PATH_BYTES - 1);
}

void record_file_note_module(const struct module *module, enum probes_reason reason) {
    char path[RECORD_FILE_PATH_BYTES];
    path_of(module, path);
    uint32_t count = atomic_load(&record_file_header()->modules), row = 0;
    while (row < count && strcmp(modules()[row].path, path) != 0)
        row++;
    if (row == RECORD_FILE_MODULES)
        return;
    modules()[row].bias = module->bias;
    modules()[row].reason = reason;
    memcpy(modules()[row].path, path, sizeof path);
    if (row == count)
        atomic_store(&record_file_header()->modules, count + 1);
}

struct record *record_file_new(void) {
    struct record_header *header = record_file_header();
    uint64_t at = atomic_fetch_add(&header->used, 1);
    return at < header->capacity ? (struct record *)(this.content + RECORDS_AT) + at : NULL;
}

static void copy_from(const struct record_header *parents, struct record_header *own) {
    const uint8_t *from = (const uint8_t *)parents;
    uint8_t *to = (uint8_t *)own;
    uint32_t count = atomic_load(&parents->modules);
    memcpy(to + MODULES_AT, from + MODULES_AT, count * sizeof(struct record_module));
    const struct record_site *sites = (const void *)(from + SITES_AT);
    for (uint32_t i = 0; i < SITE_MOST; i++)
        if (sites[i].address) {
            struct record_site *site = (struct record_site *)(to + SITES_AT) + i;
            *site = sites[i];
            atomic_store(&site->hits, 0);
            atomic_store(&site->records, 0);
        }
    atomic_store(&own->unwatched, atomic_load(&parents->unwatched));
    atomic_store(&own->modules, count);
}

bool record_file_after_fork_in_child(void) {
    if (!this.content)
        return false;
    mark_as_own();
    struct record_header *own = new_file(RECORDS_OF_CHILD);
    if (own) {
        copy_from(record_file_header(), own);
        // Where its parent's was: addresses of it are held all over.
        if (mremap(own, mapped_bytes, mapped_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, this.content) != MAP_FAILED) {
            begin(record_file_header(), true);
            return true;
        }
        munmap(own, mapped_bytes);
    }
    atomic_fetch_add(&record_file_header()->unobserved_children, 1);
    return false;
}
