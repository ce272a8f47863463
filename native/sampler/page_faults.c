// Samples of page faults: who touches memory for the first time, whatever allocated it.
//
// The kernel signals every Nth fault of a thread's own code; where they come too fast, not every signal makes a sample.
// A page that was sampled is looked at again now and then,
// and when the process ends: munmap, madvise and brk may have given it back.
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/raw.h"
#include "sampler/sampler.h"

enum { PAGES = 1 << 14, LOOKED_AT = 4, FIRST_DESCRIPTOR = 512, BUFFER_BYTES = 2 * PAGE_BYTES };

static _Atomic uint64_t sampled_pages[PAGES]; // 0: free
static _Atomic uint32_t latest, looked_at;
static _Atomic(void *) buffer_of_slot[WHYPERF_SLOTS];

static int open_event(void) {
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attributes,
        .config = PERF_COUNT_SW_PAGE_FAULTS,
        .sample_period = this_process.session->fault_interval,
        .sample_type = PERF_SAMPLE_ADDR,
        .disabled = 1,
        .wakeup_events = 1,
        .exclude_kernel = 1,
    };
    int opened = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (opened < 0)
        return -1;
    // Signals carry the number that the descriptor had when they were asked for: no other event's may be the same.
    int fd = fcntl(opened, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
    raw_close(opened);
    return fd;
}

static bool start_event(void) {
    int fd = timers_can_queue() ? open_event() : -1;
    if (fd < 0)
        return false;
    void *buffer = fd != this_thread.event_fd ? event_signals_this_thread(fd, BUFFER_BYTES) : MAP_FAILED;
    if (buffer != MAP_FAILED) {
        this_thread.fault_buffer = buffer;
        this_thread.fault_fd = fd;
        atomic_store(&buffer_of_slot[this_thread.slot_index], buffer);
        ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    }
    raw_close(fd);
    return buffer != MAP_FAILED;
}

void page_faults_start(void) {
    this_thread.faults = (struct fault_costs){.signals_per_sample = 1};
    this_thread.fault_fd = -1;
    this_thread.fault_buffer = NULL;
    if (!this_thread.slot || !this_process.session->fault_interval)
        return;
    if (!start_event())
        atomic_fetch_add(&this_process.session->threads_without_faults, 1);
}

void page_faults_stop(void) {
    if (this_thread.fault_buffer && atomic_exchange(&buffer_of_slot[this_thread.slot_index], NULL))
        munmap(this_thread.fault_buffer, BUFFER_BYTES);
    this_thread.fault_buffer = NULL;
}

uint32_t page_faults_stop_all(void) {
    uint32_t stopped = 0;
    for (uint32_t i = 0; i < WHYPERF_SLOTS; i++)
        stopped += event_ends(&buffer_of_slot[i], BUFFER_BYTES);
    return stopped;
}

// The parent's pages and events are the parent's.
void page_faults_after_fork(void) {
    memset(buffer_of_slot, 0, sizeof buffer_of_slot);
    memset(sampled_pages, 0, sizeof sampled_pages);
    this_thread.fault_fd = -1;
    this_thread.fault_buffer = NULL;
}

bool is_page_fault_in_signal(const siginfo_t *info) {
    if (is_unqueued_in_signal(info))
        return this_thread.event_fd < 0;
    bool from_descriptor = info->si_code >= POLL_IN && info->si_code <= POLL_HUP;
    return from_descriptor && this_thread.fault_fd >= 0 && info->si_fd == this_thread.fault_fd;
}

// The latest record of the buffer, which the kernel overwrites from its beginning on; 0 when it is no fault's.
static uint64_t faulting_address_in_signal(void) {
    const struct perf_event_mmap_page *page = this_thread.fault_buffer;
    struct {
        struct perf_event_header header;
        uint64_t address;
    } record;
    if (!page)
        return 0;
    uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    const char *records = (const char *)page + PAGE_BYTES;
    memcpy(&record, records + (head - sizeof record) % PAGE_BYTES, sizeof record);
    bool is_fault = record.header.type == PERF_RECORD_SAMPLE && record.header.size == sizeof record;
    return is_fault ? record.address & ~(uint64_t)(PAGE_BYTES - 1) : 0;
}

static bool is_resident_in_signal(uint64_t address) {
    unsigned char resident = 0;
    return syscall(SYS_mincore, address, PAGE_BYTES, &resident) == 0 && (resident & 1);
}

static void say_gone_in_signal(uint64_t address) {
    struct whyperf_memory memory = {address, now_in_signal(), 1, WHYPERF_MEMORY_FREED_BEFORE};
    struct walk_request nowhere = {.no_stack = true, .no_values = true};
    if (!sample_write_in_signal(&nowhere, 0, now_in_signal(), &memory))
        atomic_fetch_add(&this_process.session->frees_lost, 1);
}

static void look_at_in_signal(uint32_t place) {
    uint64_t address = atomic_load(&sampled_pages[place % PAGES]);
    if (address && !is_resident_in_signal(address) &&
        atomic_compare_exchange_strong(&sampled_pages[place % PAGES], &address, 0))
        say_gone_in_signal(address);
}

static void take_sample_in_signal(const ucontext_t *context, uint64_t begin) {
    uint64_t address = faulting_address_in_signal();
    uint64_t interval = (uint64_t)this_process.session->fault_interval * this_thread.faults.signals_per_sample;
    struct whyperf_memory memory = {address, PAGE_BYTES, interval, WHYPERF_MEMORY_FAULTED};
    struct walk_request request = {.context = context, .no_values = true};
    if (!sample_write_in_signal(&request, 0, begin, &memory)) {
        atomic_fetch_add(&this_process.session->allocations_lost, 1);
        return;
    }
    if (address)
        atomic_store(&sampled_pages[atomic_fetch_add(&latest, 1) % PAGES], address);
    if (atomic_load(&this_process.no_system_calls))
        return;
    for (int i = 0; i < LOOKED_AT && i < (int)atomic_load(&latest); i++)
        look_at_in_signal(atomic_fetch_add(&looked_at, 1));
}

// Samples are to take between a 200th and a 50th of the thread's time. One that takes long is rare.
static void adapt_interval_in_signal(uint64_t cost) {
    enum { WINDOW = 16, MOST = 50, LEAST = 200, MOST_SIGNALS = 64, LONG_NS = 100 * 1000 };
    struct fault_costs *faults = &this_thread.faults;
    faults->cost_ns += cost < LONG_NS ? cost : LONG_NS;
    if (++faults->samples % WINDOW)
        return;
    if (atomic_load(&this_process.no_system_calls))
        return;
    uint64_t now = thread_cpu_ns_in_signal(), elapsed = now - faults->since;
    if (faults->cost_ns > elapsed / MOST && faults->signals_per_sample < MOST_SIGNALS)
        faults->signals_per_sample *= 2;
    else if (faults->cost_ns < elapsed / LEAST && faults->signals_per_sample > 1)
        faults->signals_per_sample /= 2;
    faults->since = now;
    faults->cost_ns = 0;
}

void page_fault_sample_in_signal(const ucontext_t *context) {
    if (++this_thread.faults.signals < this_thread.faults.signals_per_sample)
        return;
    this_thread.faults.signals = 0;
    struct handler_begin begin = handler_begin_in_signal();
    take_sample_in_signal(context, begin.time);
    uint64_t cost = handler_cost_in_signal(&begin);
    sample_note_cost_in_signal(cost);
    adapt_interval_in_signal(cost);
}

// What was given back before the process ends. Its own threads may still run.
void page_faults_look_at_all(void) {
    uint32_t count = atomic_load(&latest) < PAGES ? atomic_load(&latest) : PAGES;
    for (uint32_t i = 0; i < count; i++)
        look_at_in_signal(i);
}
