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
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "sampler/sampler.h"

__thread struct thread_state this_thread;
struct process_state this_process;

extern void *__libc_stack_end;

// Pages outside the known stack that one walk may look at: coroutines' stacks are small.
enum { PAGES_PER_WALK = 16 };
// How many samples a thread looks back on to judge its handler's cost, and the part of a period that is too much.
enum { COST_WINDOW = 64, COST_LIMIT_DIVISOR = 4 };

struct stack_reader {
    uint64_t low, high; // directly readable
    uint64_t page_address;
    unsigned pages_left;
    bool page_valid;
    bool would_need_system_call;
};

// Reads by system call, so that an address which is not mapped is an error and not a crash.
static bool copy_page_in_signal(struct stack_reader *reader, uint64_t page_address) {
    if (atomic_load_explicit(&this_process.no_system_calls, memory_order_relaxed)) {
        reader->would_need_system_call = true;
        return false;
    }
    if (reader->pages_left == 0)
        return false;
    reader->pages_left--;
    struct iovec local = {this_thread.memory->page, PAGE_BYTES};
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
    memcpy(word, this_thread.memory->page + offset, sizeof *word);
    return true;
}

static struct unwind_registers registers_in_signal(const ucontext_t *context) {
    static const uint8_t order[UNWIND_REGISTERS] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                                    REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                                    REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    struct unwind_registers registers = {.known = (1u << UNWIND_REGISTERS) - 1};
    for (int i = 0; i < UNWIND_REGISTERS; i++)
        registers.value[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
    return registers;
}

struct walk {
    uint32_t frames;
    int cut;
    uint64_t stack_low, stack_high; // what may be read directly
};

static uint32_t values_depth(void) {
    uint32_t depth = this_process.session->values_depth;
    return depth < VALUES_DEPTH_MAX ? depth : VALUES_DEPTH_MAX;
}

// The program's own thread-local variables lie right below the thread pointer. Libraries' blocks only the dynamic
// linker can find.
static uint64_t program_thread_block(void) {
    uint64_t thread_pointer;
    __asm__("mov %%fs:0, %0" : "=r"(thread_pointer));
    return this_process.program_tls_bytes ? thread_pointer - this_process.program_tls_bytes : 0;
}

// Keeps what reading the variables of the cursor's frame will need.
static void capture_in_signal(struct values_frame *frame, const struct unwind_cursor *cursor,
                              const struct unwind_modules *modules, const ucontext_t *context) {
    uint64_t pc = cursor->registers.value[UNWIND_RIP] - !cursor->pc_is_exact;
    const struct unwind_module *module = unwind_find_module(modules, pc);
    const struct values_table *table = module ? modules_variables_in_signal(modules, module) : NULL;
    bool innermost = frame == this_thread.memory->values.frames;
    frame->registers = cursor->registers;
    frame->pc_is_exact = cursor->pc_is_exact;
    frame->table = table;
    frame->bias = module ? module->bias : 0;
    frame->thread_block = module && module->bias == this_process.program_bias ? program_thread_block() : 0;
    frame->vectors = innermost && context->uc_mcontext.fpregs ? (void *)context->uc_mcontext.fpregs->_xmm : NULL;
    frame->cfa_known = false;
    frame->is_last = true;
}

static void complete_in_signal(struct values_frame *frame, uint64_t cfa) {
    frame->cfa = cfa;
    frame->cfa_known = true;
    frame->is_last = false;
}

static struct walk walk_in_signal(const ucontext_t *context) {
    struct unwind_cursor cursor = {.registers = registers_in_signal(context), .pc_is_exact = true};
    uint64_t stack_pointer = cursor.registers.value[UNWIND_RSP];
    struct stack_reader reader = {.pages_left = PAGES_PER_WALK};
    // A stack pointer outside this thread's stack is a coroutine's or an alternate stack's: nothing is known mapped.
    if (stack_pointer >= this_thread.stack_low && stack_pointer < this_thread.stack_high) {
        reader.low = stack_pointer;
        reader.high = this_thread.stack_high;
    }
    const struct unwind_modules *modules = modules_in_signal();
    struct values_frame *captured = this_thread.memory->values.frames;
    // One more than is read, for the entry values of the last.
    uint32_t capture = values_depth() ? values_depth() + 1 : 0;
    struct walk walk = {.stack_low = reader.low, .stack_high = reader.high};
    for (;;) {
        if (walk.frames < capture)
            capture_in_signal(&captured[walk.frames], &cursor, modules, context);
        // Readers look one byte before what they take for a return address: not so where a signal interrupted.
        bool interrupted = cursor.pc_is_exact && walk.frames > 0;
        this_thread.memory->pcs[walk.frames++] = cursor.registers.value[UNWIND_RIP] + interrupted;
        if (walk.frames == WHYPERF_MAX_FRAMES) {
            walk.cut = WHYPERF_CUT_DEPTH;
            return walk;
        }
        bool ended = false;
        walk.cut = unwind_step(&cursor, modules, read_word_in_signal, &reader, &ended);
        if (walk.cut == WHYPERF_CUT_UNREADABLE && reader.would_need_system_call)
            walk.cut = WHYPERF_CUT_NO_SYSTEM_CALLS;
        if (ended || walk.cut)
            return walk;
        if (walk.frames <= capture)
            complete_in_signal(&captured[walk.frames - 1], cursor.registers.cfa);
    }
}

// Functions that call nothing keep variables in the 128 bytes below the stack pointer. Those on the same page as the
// stack pointer are certainly mapped.
static uint64_t with_red_zone(uint64_t stack_pointer) {
    uint64_t page = stack_pointer & ~(uint64_t)(PAGE_BYTES - 1);
    return stack_pointer - page < 128 ? page : stack_pointer - 128;
}

static void write_values_in_signal(const struct walk *walk, uint64_t time) {
    struct whyperf_counters *counters = &this_thread.slot->counters;
    struct values_source source = {.pid = this_process.pid,
                                   .stack_low = with_red_zone(walk->stack_low),
                                   .stack_high = walk->stack_high,
                                   .system_calls_allowed = !atomic_load(&this_process.no_system_calls)};
    uint32_t frames = walk->frames < values_depth() ? walk->frames : values_depth();
    unsigned char *packed = this_thread.memory->packed_values;
    struct values_gathered gathered = values_gather_in_signal(&this_thread.memory->values, frames, &source, packed);
    counters->values += gathered.read;
    counters->values_unreadable += gathered.unreadable;
    if (!gathered.bytes)
        return;
    unsigned char *room = ring_reserve_in_signal(gathered.bytes, WHYPERF_RING_RESERVE);
    if (!room) {
        counters->values_dropped++;
        return;
    }
    memcpy(room, packed, gathered.bytes);
    ring_commit_in_signal(WHYPERF_RECORD_VALUES, gathered.bytes, time, gathered.bytes);
}

static void take_sample_in_signal(const ucontext_t *context, uint32_t weight) {
    struct whyperf_counters *counters = &this_thread.slot->counters;
    uint64_t begin = now_in_signal();
    timer_note_tick_in_signal(begin);
    if (modules_are_stale_in_signal())
        modules_refresh_in_signal();
    struct walk walk = walk_in_signal(context);
    // A return address in no known module: perhaps a library was loaded since.
    if (walk.cut == WHYPERF_CUT_NO_MODULE && modules_missed_in_signal(begin) && modules_refresh_in_signal())
        walk = walk_in_signal(context);

    uint32_t bytes = walk.frames * (uint32_t)sizeof this_thread.memory->pcs[0];
    unsigned char *room = ring_reserve_in_signal(bytes, WHYPERF_RING_RESERVE);
    if (room) {
        memcpy(room, this_thread.memory->pcs, bytes);
        ring_commit_in_signal(WHYPERF_RECORD_SAMPLE, (weight & 0xffffff) | (uint32_t)walk.cut << 24, begin, bytes);
        counters->samples++;
        counters->weight += weight;
        counters->cut[walk.cut]++;
        if (values_depth()) {
            write_values_in_signal(&walk, begin);
            globals_sample_in_signal();
        }
    } else {
        counters->dropped += weight;
    }

    uint64_t cost = now_in_signal() - begin;
    counters->handler_ns += cost;
    if (cost > counters->handler_ns_max)
        counters->handler_ns_max = cost;
    this_thread.recent_handler_ns += cost;
    if (++this_thread.recent_samples == COST_WINDOW) {
        uint64_t period = this_process.period_ns * this_thread.periods_per_sample;
        if (this_thread.recent_handler_ns / COST_WINDOW > period / COST_LIMIT_DIVISOR)
            timer_slow_down_in_signal();
        this_thread.recent_samples = 0;
        this_thread.recent_handler_ns = 0;
    }
}

void sample_in_signal(int signal_number, siginfo_t *info, void *context) {
    int saved_errno = errno;
    if (!is_sampling_signal_in_signal(info)) {
        signals_forward_in_signal(signal_number, info, context);
    } else if (this_thread.slot && !atomic_load_explicit(&this_process.session->stopped, memory_order_relaxed)) {
        uint32_t overrun = info->si_code == SI_TIMER && info->si_overrun > 0 ? (uint32_t)info->si_overrun : 0;
        uint32_t weight = (1 + overrun) * this_thread.periods_per_sample;
        this_thread.slot->counters.overruns += overrun;
        timer_continue_in_signal();
        if (this_thread.in_handler) {
            this_thread.slot->counters.busy += weight;
        } else {
            this_thread.in_handler = 1;
            clock_advance_in_signal(weight * this_process.period_ns);
            modules_enter_in_signal();
            take_sample_in_signal(context, weight);
            modules_leave_in_signal();
            this_thread.in_handler = 0;
        }
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
            this_process.program_tls_bytes =
                (segments[i].p_memsz + segments[i].p_align - 1) / segments[i].p_align * segments[i].p_align;
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
    if (this_process.session && ours)
        thread_end();
}
