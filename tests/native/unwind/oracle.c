// Stops a program at random moments and walks its stack twice: with our rows and with libunwind. Prints one JSON
// object.
//
//   oracle STOPS SEED TABLES PROGRAM [ARGUMENT...]   compares STOPS stacks, registers of every frame included
//   oracle --frames PID TABLES REGISTER...           prints our frames of a process that another debugger has stopped;
//                                                    its registers in DWARF's order
#define _GNU_SOURCE
#include "stacks/process.h"
#include "stacks/remote.h"
#include "stacks/walk.h"
#include "unwind/call_code.h"

#include <elf.h>
#include <libunwind-ptrace.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __x86_64__
enum { COMPARED = 8 };
static const uint8_t OUR_REGISTER[COMPARED] = {UNWIND_RIP, UNWIND_RSP, UNWIND_RBX, UNWIND_RBP,
                                               UNWIND_R12, UNWIND_R13, UNWIND_R14, UNWIND_R15};
static const int THEIR_REGISTER[COMPARED] = {UNW_X86_64_RIP, UNW_X86_64_RSP, UNW_X86_64_RBX, UNW_X86_64_RBP,
                                             UNW_X86_64_R12, UNW_X86_64_R13, UNW_X86_64_R14, UNW_X86_64_R15};
enum { THEIR_RETURN_ADDRESS = UNW_X86_64_RIP, THEIR_CACHING = UNW_CACHE_GLOBAL };
static uint64_t without_signature(uint64_t pc) {
    return pc;
}
static const char *const NAME[COMPARED] = {"rip", "rsp", "rbx", "rbp", "r12", "r13", "r14", "r15"};
#else
enum { COMPARED = 13 };
static const uint8_t OUR_REGISTER[COMPARED] = {UNWIND_PC, UNWIND_SP, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29};
static const int THEIR_REGISTER[COMPARED] = {UNW_AARCH64_PC,  UNW_AARCH64_SP,  UNW_AARCH64_X19, UNW_AARCH64_X20,
                                             UNW_AARCH64_X21, UNW_AARCH64_X22, UNW_AARCH64_X23, UNW_AARCH64_X24,
                                             UNW_AARCH64_X25, UNW_AARCH64_X26, UNW_AARCH64_X27, UNW_AARCH64_X28,
                                             UNW_AARCH64_X29};
// A frame's pc, as long as it is where a call returns to, is what its callee had in x30.
// With a cache it now and then takes one place's return address for another's.
enum { THEIR_RETURN_ADDRESS = UNW_AARCH64_X30, THEIR_CACHING = UNW_CACHE_NONE };
static uint64_t without_signature(uint64_t pc) {
    return unwind_unsigned(pc);
}
static const char *const NAME[COMPARED] = {"pc",  "sp",  "x19", "x20", "x21", "x22", "x23",
                                           "x24", "x25", "x26", "x27", "x28", "x29"};
#endif

struct frames {
    unsigned count;
    int cut;
    struct {
        uint64_t value[COMPARED];
        bool known[COMPARED];
    } frame[WHYPERF_MAX_FRAMES];
};

struct totals {
    unsigned stacks, complete, frames, signal_frames, unknown_registers, mismatches, deepest, oracle_gave_up;
    unsigned cut_early; // libunwind found a caller that we did not
    unsigned cuts[WHYPERF_CUT_REASONS];
    uint64_t walk_ns, walked_frames;
};

static struct unwind_registers registers_of(pid_t pid) {
    struct user_regs_struct r;
    struct iovec all = {&r, sizeof r};
    if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &all) != 0) {
        perror("PTRACE_GETREGSET");
        exit(2);
    }
    struct unwind_registers registers = {.known = unwind_bit(UNWIND_REGISTERS) - 1};
#ifdef __x86_64__
    const uint64_t values[] = {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8,
                               r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip};
    memcpy(registers.value, values, sizeof values);
#else
    memcpy(registers.value, r.regs, sizeof r.regs);
    registers.value[UNWIND_SP] = r.sp;
    registers.value[UNWIND_PC] = r.pc;
#endif
    return registers;
}

static void note_ours(struct frames *frames, const struct unwind_registers *registers) {
    for (unsigned i = 0; i < COMPARED; i++) {
        uint64_t value = registers->value[OUR_REGISTER[i]];
        frames->frame[frames->count].value[i] = i == 0 ? without_signature(value) : value;
        frames->frame[frames->count].known[i] = registers->known >> OUR_REGISTER[i] & 1;
    }
    frames->count++;
}

static bool follows_a_call(void *context, uint64_t address) {
    struct remote_window *window = context;
    uint8_t code[CALL_CODE_LONGEST];
    return remote_read(&window->pid, address - sizeof code, code, sizeof code) && ends_in_call(code);
}

// As the sampler does where there is no unwind information, if ORACLE_GOES_ON is set: linkage stubs have none on some
// machines. Fewer registers are known from there on.
static int step(struct process *process, struct unwind_cursor *cursor, struct remote_window *window, bool *ended) {
    int cut = unwind_step(cursor, process->unwind, remote_window_read, window, ended);
    bool goes_on = cut == WHYPERF_CUT_NO_ROW && getenv("ORACLE_GOES_ON") &&
                   unwind_by_frame_pointer(cursor, remote_window_read, follows_a_call, window, ended);
    return goes_on ? WHYPERF_CUT_NONE : cut;
}

static void walk_ours(struct process *process, const struct unwind_registers *registers, struct frames *frames,
                      struct totals *totals) {
    static struct remote_window window;
    window.pid = process->pid;
    window.size = 0;
    struct unwind_cursor cursor = {*registers, true};
    bool ended = false;
    frames->count = 0;
    note_ours(frames, &cursor.registers);
    while ((frames->cut = step(process, &cursor, &window, &ended)) == 0 && !ended &&
           frames->count < WHYPERF_MAX_FRAMES) {
        totals->signal_frames += cursor.pc_is_exact;
        note_ours(frames, &cursor.registers);
    }
}

// The same walk again, timed, now that its memory is in the window.
static void time_walk(struct process *process, struct totals *totals) {
    enum { ROUNDS = 20 };
    static struct remote_window window;
    window.pid = process->pid;
    window.size = 0;
    struct unwind_registers registers = registers_of(process->pid);
    static struct walk walk;
    struct stack_access access = {remote_window_read, NULL, &window};
    walk_registers(process->unwind, &registers, &access, &walk);
    if (window.start > registers.value[UNWIND_SP])
        return;
    uint64_t start = monotonic_ns();
    for (unsigned i = 0; i < ROUNDS; i++)
        walk_registers(process->unwind, &registers, &access, &walk);
    totals->walk_ns += monotonic_ns() - start;
    totals->walked_frames += (uint64_t)ROUNDS * walk.depth;
}

// Returns false if libunwind failed before the stack's end.
static bool walk_theirs(unw_addr_space_t space, void *upt, struct frames *frames) {
    unw_cursor_t cursor;
    int step = 1;
    frames->count = 0;
    if (unw_init_remote(&cursor, space, upt) != 0)
        return false;
    bool interrupted = true;
    while (step > 0 && frames->count < WHYPERF_MAX_FRAMES) {
        for (unsigned i = 0; i < COMPARED; i++) {
            unw_word_t word = 0;
            int reg = i == 0 && !interrupted ? THEIR_RETURN_ADDRESS : THEIR_REGISTER[i];
            frames->frame[frames->count].known[i] = unw_get_reg(&cursor, reg, &word) == 0;
            frames->frame[frames->count].value[i] = i == 0 ? without_signature(word) : word;
        }
        if (frames->frame[frames->count].value[0] == 0)
            return true;
        frames->count++;
        interrupted = unw_is_signal_frame(&cursor) > 0;
        step = unw_step(&cursor);
    }
    return step == 0;
}

static void report(const struct process *process, const struct frames *frames, unsigned frame, unsigned i,
                   uint64_t theirs) {
    const struct mapped_module *module = process_module(process, frames->frame[frame].value[0] - 1);
    fprintf(stderr, "frame %u of %u (cut %d): %s is %#lx, libunwind says %#lx; innermost pc %#lx; pc %#lx, %s+%#lx\n",
            frame, frames->count, frames->cut, NAME[i], frames->frame[frame].value[i], theirs,
            frames->frame[0].value[0], frames->frame[frame].value[0], module ? module->path : "?",
            module ? frames->frame[frame].value[0] - module->image.bias : 0);
}

static void compare(struct process *process, const struct frames *ours, const struct frames *theirs, bool theirs_ended,
                    struct totals *totals) {
    totals->stacks++;
    totals->cuts[ours->cut]++;
    totals->complete += ours->cut == 0;
    totals->oracle_gave_up += ours->cut != 0 && !theirs_ended;
    totals->deepest = ours->count > totals->deepest ? ours->count : totals->deepest;
    unsigned common = ours->count < theirs->count ? ours->count : theirs->count;
    for (unsigned frame = 0; frame < common; frame++) {
        totals->frames++;
        for (unsigned i = 0; i < COMPARED; i++) {
            if (!ours->frame[frame].known[i]) {
                totals->unknown_registers++;
            } else if (theirs->frame[frame].known[i] && ours->frame[frame].value[i] != theirs->frame[frame].value[i]) {
                totals->mismatches++;
                report(process, ours, frame, i, theirs->frame[frame].value[i]);
                return;
            }
        }
    }
    if (ours->cut && theirs->count > ours->count &&
        unwind_find_module(process->unwind, theirs->frame[ours->count].value[0])) {
        totals->cut_early++;
        report(process, ours, ours->count - 1, 0, theirs->frame[ours->count].value[0]);
    }
    if (ours->cut == 0 && theirs->count > ours->count) {
        totals->mismatches++;
        fprintf(stderr, "%u frames, libunwind says %u; innermost pc %#lx, outermost %#lx\n", ours->count, theirs->count,
                ours->frame[0].value[0], ours->frame[ours->count - 1].value[0]);
    }
    // In libcrypto's assembly libunwind now and then stops at the innermost frame, where we reach the outermost.
    if (ours->cut == 0 && theirs->count < ours->count)
        totals->oracle_gave_up++;
}

// The signal to pass on when resuming from a stop: none for ptrace's own.
static void *signal_of(int status) {
    return (void *)(intptr_t)(WSTOPSIG(status) == SIGTRAP || status >> 16 ? 0 : WSTOPSIG(status));
}

static uint64_t cpu_ns(pid_t pid) {
    clockid_t clock;
    struct timespec used = {0};
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
        return UINT64_MAX;
    return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

// Lets the program run for a random while, its signals included, then a few single steps further: prologues and
// epilogues are short. The while is CPU time: a program that is not given any stays where it was stopped before. False
// when it has ended.
static bool run_a_while(pid_t pid) {
    int status;
    uint64_t until = cpu_ns(pid) + 20000 + (uint64_t)(rand() % 1500000);
    ptrace(PTRACE_CONT, pid, NULL, NULL);
    while (cpu_ns(pid) < until) {
        if (waitpid(pid, &status, WNOHANG) == pid) {
            if (!WIFSTOPPED(status))
                return false;
            ptrace(PTRACE_CONT, pid, NULL, signal_of(status));
        }
        sched_yield();
    }
    ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
    for (;;) {
        if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
            return false;
        if (status >> 16 == PTRACE_EVENT_STOP)
            break;
        ptrace(PTRACE_CONT, pid, NULL, signal_of(status));
    }
    for (int steps = rand() % 12; steps > 0; steps--) {
        ptrace(PTRACE_SINGLESTEP, pid, NULL, signal_of(status));
        if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
            return false;
    }
    if (signal_of(status)) {
        ptrace(PTRACE_SINGLESTEP, pid, NULL, signal_of(status));
        return waitpid(pid, &status, 0) == pid && WIFSTOPPED(status);
    }
    return true;
}

static pid_t start(char **arguments) {
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        dup2(STDERR_FILENO, STDOUT_FILENO);
        raise(SIGSTOP);
        execv(arguments[0], arguments);
        _exit(127);
    }
    waitpid(pid, &status, WUNTRACED);
    ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
    kill(pid, SIGCONT);
    while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
        if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
            return pid;
        ptrace(PTRACE_CONT, pid, NULL, NULL);
    }
    fprintf(stderr, "%s did not start\n", arguments[0]);
    exit(2);
}

static void print_totals(const struct totals *totals) {
    printf("{\"stacks\": %u, \"complete\": %u, \"frames\": %u, \"signal_frames\": %u, \"unknown_registers\": %u, "
           "\"mismatches\": %u, \"deepest\": %u, \"oracle_gave_up\": %u, \"cut_early\": %u, \"ns_per_frame\": %.1f, "
           "\"cuts\": [",
           totals->stacks, totals->complete, totals->frames, totals->signal_frames, totals->unknown_registers,
           totals->mismatches, totals->deepest, totals->oracle_gave_up, totals->cut_early,
           totals->walked_frames ? (double)totals->walk_ns / (double)totals->walked_frames : 0);
    for (unsigned i = 0; i < WHYPERF_CUT_REASONS; i++)
        printf("%s%u", i ? ", " : "", totals->cuts[i]);
    printf("]}\n");
}

static int print_frames(pid_t pid, struct table_store *store, char **words) {
    static struct frames frames;
    struct totals totals = {0};
    struct process process = {.pid = pid};
    struct unwind_registers registers = {.known = unwind_bit(UNWIND_REGISTERS) - 1};
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
        registers.value[i] = strtoull(words[i], NULL, 0);
    if (process_refresh(&process, store) != 0)
        return 2;
    walk_ours(&process, &registers, &frames, &totals);
    printf("{\"cut\": %d, \"frames\": [", frames.cut);
    for (unsigned frame = 0; frame < frames.count; frame++) {
        printf("%s{", frame ? ", " : "");
        for (unsigned i = 0; i < COMPARED; i++)
            if (frames.frame[frame].known[i])
                printf("%s\"%s\": %lu", i ? ", " : "", NAME[i], frames.frame[frame].value[i]);
        printf("}");
    }
    printf("]}\n");
    return 0;
}

int main(int argc, char **argv) {
    static struct frames ours, theirs;
    struct totals totals = {0};
    if (argc == 4 + UNWIND_REGISTERS && strcmp(argv[1], "--frames") == 0)
        return print_frames(atoi(argv[2]), &(struct table_store){.folder = argv[3]}, argv + 4);
    if (argc < 5)
        return 2;
    srand((unsigned)atoi(argv[2]));
    struct table_store store = {.folder = argv[3]};
    struct process process = {.pid = start(argv + 4)};
    unw_addr_space_t space = unw_create_addr_space(&_UPT_accessors, 0);
    unw_set_caching_policy(space, THEIR_CACHING);
    void *upt = _UPT_create(process.pid);
    for (int stop = 0; stop < atoi(argv[1]) && run_a_while(process.pid); stop++) {
        if (process_refresh(&process, &store) != 0)
            break;
        struct unwind_registers registers = registers_of(process.pid);
        walk_ours(&process, &registers, &ours, &totals);
        bool ended = walk_theirs(space, upt, &theirs);
        compare(&process, &ours, &theirs, ended, &totals);
        if (stop % 8 == 0)
            time_walk(&process, &totals);
    }
    _UPT_destroy(upt);
    kill(process.pid, SIGKILL);
    print_totals(&totals);
    return totals.mismatches ? 1 : 0;
}
