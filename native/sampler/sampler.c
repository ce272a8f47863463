// The preloaded library: maps the session, and takes samples.
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "latency/latency.h"
#include "machine/machine.h"
#include "sampler/sampler.h"
#include "values/copy.h"

__thread struct thread_state this_thread;
struct process_state this_process;

extern void *__libc_stack_end;

// How many samples a thread looks back on to judge its handler's cost, and the part of a period that is too much.
enum { COST_WINDOW = 64, COST_LIMIT_DIVISOR = 4 };
// Following pointers takes a system call, longer than all the rest. As many samples do so as keep the handler's mean
// time below the budget, but one in RAREST at least.
enum { BUDGET_NS = 6000, RAREST = 16, CHANCE_ONE = 1 << 16, COST_CAP_NS = 8 * BUDGET_NS, AVERAGED = 16 };

static uint32_t values_depth(void) {
    uint32_t depth = this_process.session->values_depth;
    return depth < VALUES_DEPTH_MAX ? depth : VALUES_DEPTH_MAX;
}

// Whether this sample follows pointers. Chance decides, so that no rhythm of the program's can meet ours.
static bool follows_pointers(void) {
    uint32_t number = this_thread.random;
    number ^= number << 13;
    number ^= number >> 17;
    number ^= number << 5;
    this_thread.random = number;
    return (number & (CHANCE_ONE - 1)) < this_thread.following.chance;
}

static uint32_t averaged(uint32_t before, uint64_t cost) {
    uint32_t now = cost < COST_CAP_NS ? (uint32_t)cost : COST_CAP_NS;
    return before ? before + now / AVERAGED - before / AVERAGED : now;
}

static void adapt_following(bool followed, uint64_t cost) {
    struct following_costs *costs = &this_thread.following;
    uint32_t *mean = followed ? &costs->with_ns : &costs->without_ns;
    *mean = averaged(*mean, cost);
    uint32_t spare = costs->without_ns < BUDGET_NS ? BUDGET_NS - costs->without_ns : 0;
    uint32_t extra = costs->with_ns > costs->without_ns ? costs->with_ns - costs->without_ns : 0;
    uint64_t chance = extra <= spare ? CHANCE_ONE : (uint64_t)spare * CHANCE_ONE / extra;
    costs->chance = chance > CHANCE_ONE / RAREST ? (uint32_t)chance : CHANCE_ONE / RAREST;
}

static void write_values_in_signal(bool with_others, uint64_t time) {
    struct whyperf_counters *counters = &this_thread.slot->counters;
    struct values_capture *capture = &this_thread.memory->walk.capture;
    uint32_t bytes = values_capture_end_in_signal(capture, this_process.pid);
    counters->values_unreadable += capture->unreadable;
    counters->values_forbidden += capture->forbidden;
    if (!bytes)
        return;
    unsigned char *room = ring_reserve_in_signal(bytes, WHYPERF_RING_RESERVE);
    if (!room) {
        counters->values_dropped++;
        return;
    }
    counters->values++;
    counters->values_others += with_others;
    copy_in_signal(room, capture->record, bytes);
    ring_commit_in_signal(WHYPERF_RECORD_VALUES, bytes, time, bytes);
}

struct handler_begin handler_begin_in_signal(void) {
    return (struct handler_begin){now_in_signal(), cpu_now_in_signal()};
}

uint64_t handler_cost_in_signal(const struct handler_begin *begin) {
    // A preempted thread usually waits longer than this, and most handlers take less: they save a second system call.
    enum { LONG_NS = 20 * 1000 };
    uint64_t elapsed = now_in_signal() - begin->time;
    if (elapsed < LONG_NS || !begin->cpu)
        return elapsed;
    uint64_t cpu = cpu_now_in_signal();
    return cpu > begin->cpu && cpu - begin->cpu < elapsed ? cpu - begin->cpu : elapsed;
}

void sample_note_cost_in_signal(uint64_t cost) {
    struct whyperf_counters *counters = &this_thread.slot->counters;
    counters->handler_ns += cost;
    if (cost > counters->handler_ns_max)
        counters->handler_ns_max = cost;
    counters->handler_times[whyperf_handler_bucket(cost)]++;
}

// A handler that takes a large part of its period would starve the program.
static void slow_down_if_costly_in_signal(uint64_t cost) {
    this_thread.recent_handler_ns += cost;
    if (++this_thread.recent_samples == COST_WINDOW) {
        uint64_t period = this_process.period_ns * this_thread.periods_per_sample;
        if (this_thread.recent_handler_ns / COST_WINDOW > period / COST_LIMIT_DIVISOR)
            timer_slow_down_in_signal();
        this_thread.recent_samples = 0;
        this_thread.recent_handler_ns = 0;
    }
}

bool sample_write_in_signal(const struct walk_request *from, uint32_t weight, uint64_t time,
                            const struct whyperf_memory *memory) {
    struct whyperf_counters *counters = &this_thread.slot->counters;
    if (memory)
        time = this_thread.latest_memory = time > this_thread.latest_memory ? time : this_thread.latest_memory + 1;
    if (modules_are_stale_in_signal())
        modules_refresh_in_signal();
    struct walk_request request = *from;
    request.values_depth = from->no_values ? 0 : values_depth();
    request.with_others = request.values_depth && follows_pointers();
    struct walk walk = request.no_stack ? (struct walk){0} : walk_in_signal(&request);
    // An address in no known module: perhaps a library was loaded since.
    if (walk.missed_a_module && modules_missed_in_signal(time) && modules_refresh_in_signal())
        walk = walk_in_signal(&request);

    uint32_t bytes = walk.frames * (uint32_t)sizeof this_thread.memory->walk.pcs[0];
    unsigned char *room = ring_reserve_in_signal(bytes, WHYPERF_RING_RESERVE);
    if (!room)
        return false;
    copy_in_signal(room, this_thread.memory->walk.pcs, bytes);
    ring_commit_in_signal(WHYPERF_RECORD_SAMPLE, (weight & 0xffffff) | (uint32_t)walk.cut << 24, time, bytes);
    unsigned char *beside = memory ? ring_reserve_in_signal(sizeof *memory, 0) : NULL;
    if (memory && !beside)
        return false;
    if (memory) {
        copy_in_signal(beside, memory, sizeof *memory);
        ring_commit_in_signal(WHYPERF_RECORD_MEMORY, 0, time, sizeof *memory);
    }
    counters->samples++;
    counters->weight += weight;
    counters->cut[walk.cut]++;
    if (request.values_depth) {
        write_values_in_signal(request.with_others, time);
        globals_sample_in_signal(time);
    }
    uint64_t cost = now_in_signal() - time;
    if (request.values_depth)
        adapt_following(request.with_others, cost);
    return true;
}

static void take_sample_in_signal(const ucontext_t *context, uint32_t weight) {
    struct handler_begin begin = handler_begin_in_signal();
    memory_populate_in_signal();
    walk_prefetch_in_signal(context);
    ring_prefetch_in_signal();
    timer_note_tick_in_signal(begin.time);
    struct walk_request request = {.context = context};
    if (!sample_write_in_signal(&request, weight, begin.time, NULL))
        this_thread.slot->counters.dropped += weight;
    uint64_t cost = handler_cost_in_signal(&begin);
    sample_note_cost_in_signal(cost);
    slow_down_if_costly_in_signal(cost);
}

void sample_in_signal(int signal_number, siginfo_t *info, void *context) {
    int saved_errno = errno;
    if (!is_sampling_signal_in_signal(info)) {
        signals_forward_in_signal(signal_number, info, context);
    } else if (this_thread.slot && !atomic_load_explicit(&this_process.session->stopped, memory_order_relaxed)) {
        uint32_t overrun = info->si_code == SI_TIMER && info->si_overrun > 0 ? (uint32_t)info->si_overrun : 0;
        uint32_t weight = (1 + overrun) * this_thread.periods_per_sample;
        this_thread.slot->counters.overruns += overrun;
        // From here on, who installs a seccomp filter waits for us.
        modules_enter_in_signal();
        timer_continue_in_signal();
        if (is_unqueued_in_signal(info) && this_thread.event_fd >= 0 && this_thread.fault_fd >= 0) {
            // It may be of either event.
            this_thread.slot->counters.dropped += weight;
            atomic_fetch_add(&this_process.session->allocations_lost, 1);
        } else if (is_page_fault_in_signal(info)) {
            bool busy = this_thread.in_handler;
            this_thread.in_handler = 1;
            if (!busy)
                page_fault_sample_in_signal(context);
            this_thread.in_handler = busy;
        } else if (this_thread.in_handler) {
            this_thread.slot->counters.busy += weight;
        } else {
            this_thread.in_handler = 1;
            clock_advance_in_signal(weight * this_process.period_ns);
            take_sample_in_signal(context, weight);
            this_thread.in_handler = 0;
        }
        modules_leave_in_signal();
    }
    errno = saved_errno;
}

// The executable's path and as many arguments as fit, each ended by a zero byte.
void record_process(enum whyperf_process_origin origin, int argc, char **argv) {
    struct {
        struct whyperf_process header;
        char text[2048];
    } record = {{(uint32_t)this_process.pid, (uint32_t)getppid(), origin, 0}, {0}};
    size_t used = 0;
    ssize_t length = readlink("/proc/self/exe", record.text, sizeof record.text / 2);
    if (length > 0)
        used = (size_t)length;
    used++;
    for (int i = 0; i < argc && argv && argv[i]; i++) {
        size_t bytes = strlen(argv[i]) + 1;
        if (bytes > sizeof record.text - used)
            break;
        memcpy(record.text + used, argv[i], bytes);
        used += bytes;
        record.header.argc++;
    }
    ring_write_in_signal(WHYPERF_RECORD_PROCESS, origin, &record, (uint32_t)(sizeof record.header + used));
}

static bool is_usable(const struct whyperf_session *session) {
    return session->magic == WHYPERF_SESSION_MAGIC && session->version == WHYPERF_SESSION_VERSION &&
           session->ring_bytes == WHYPERF_RING_BYTES && session->rate_hz > 0 && session->slots <= WHYPERF_SLOTS &&
           !atomic_load(&session->stopped);
}

// Maps the rings that have disk blocks; NULL when the file is not ours or its recorder has gone.
static struct whyperf_session *map_session(const char *path) {
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return NULL;
    struct stat status;
    struct whyperf_session *session = MAP_FAILED;
    uint64_t bytes = WHYPERF_BYTES_OF_SLOTS(0);
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && (uint64_t)status.st_size >= WHYPERF_SESSION_BYTES)
        session = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (session == MAP_FAILED)
        return NULL;
    if (is_usable(session)) {
        atomic_store(&this_process.rings, session);
        return session;
    }
    munmap(session, bytes);
    return NULL;
}

static void find_program_segments(void) {
    const Elf64_Phdr *segments = (const void *)getauxval(AT_PHDR);
    unsigned long count = getauxval(AT_PHNUM);
    for (unsigned long i = 0; segments && i < count; i++) {
        if (segments[i].p_type == PT_PHDR)
            this_process.program_bias = (uint64_t)segments - segments[i].p_vaddr;
        if (segments[i].p_type == PT_TLS && segments[i].p_align)
            this_process.program_block_distance = machine_program_block(segments[i].p_memsz, segments[i].p_align);
    }
}

// How far the main thread's stack can grow: the kernel maps nothing else there.
static uint64_t main_stack_bytes(void) {
    const uint64_t most = 1u << 30;
    struct rlimit limit;
    return getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur > most ? most : limit.rlim_cur;
}

static void start_watching(int argc, char **argv) {
    const char *path = getenv(WHYPERF_ENV_SESSION);
    if (!path || strlen(path) >= sizeof this_process.session_path || getauxval(AT_SECURE))
        return;
    strcpy(this_process.session_path, path);
    environment_hide(environ);
    struct whyperf_session *session = map_session(this_process.session_path);
    if (!session)
        return;
    this_process.pid = getpid();
    this_process.period_ns = 1000000000u / session->rate_hz;
    this_process.session = session;
    atomic_fetch_add(&session->processes_started, 1);
    if (!signals_install_handler()) {
        this_process.session = NULL;
        return;
    }
    find_program_segments();
    threads_watch_forks();
    uint64_t stack_high = (uint64_t)__libc_stack_end + sizeof(void *);
    thread_enroll(stack_high - main_stack_bytes(), stack_high, false);
    record_process(WHYPERF_ORIGIN_EXEC, argc, argv);
    modules_enter_in_signal();
    modules_refresh_in_signal();
    modules_leave_in_signal();
    if (allocators_start && session->memory_interval)
        allocators_start();
    latency_start();
    timer_start();
}

// A program's errno is 0 when it starts.
__attribute__((constructor)) static void start(int argc, char **argv, char **unused) {
    (void)unused;
    int saved_errno = errno;
    start_watching(argc, argv);
    errno = saved_errno;
}

// Gives the slot back at once: a script may start programs faster than the recorder looks for dead ones.
__attribute__((destructor)) static void finish(void) {
    // A child made by clone() without our knowing has its parent's slot before it.
    bool ours = this_thread.slot &&
                (atomic_load(&this_process.no_system_calls) || (pid_t)syscall(SYS_gettid) == this_thread.tid);
    if (this_process.session && ours && allocations_finish)
        allocations_finish();
    if (this_process.session && ours && this_process.session->fault_interval && !this_thread.in_handler &&
        !atomic_load(&this_process.no_system_calls)) {
        this_thread.in_handler = 1;
        page_faults_look_at_all();
        this_thread.in_handler = 0;
    }
    if (this_process.session && ours)
        thread_end();
}
