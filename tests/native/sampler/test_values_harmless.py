"""Variables are read wherever they point to, and the program does not notice."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.native.sampler.conftest import GLOBALS, MODULE, MODULE_GONE, Outcome
from tests.patience import PATIENCE_S

Compile = Callable[..., Path]
Run = Callable[..., Outcome]

HEADERS = """
#define _GNU_SOURCE
#include <alloca.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
enum { PAGE = 4096 };
struct box { long first; int second; double third; long far[40]; struct box *next; long last; };
static volatile long sink;
__attribute__((noinline)) static void hold(struct box *a, struct box *b, long rounds) {
    for (long i = 0; i < rounds; i++) sink += i;
    sink += a == b;
}
static void burn(void *a, void *b) { hold(a, b, 60000000); }
static char *pages(int count) {
    return mmap(NULL, (size_t)count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
"""

# What the pointers point to, and whether some of it cannot be read.
PROGRAMS = {
    "good pointers": ("struct box box = {1}; burn(&box, calloc(1, sizeof box));", False),
    "no pointers": ("burn((void *)1, NULL);", False),
    "pointers whose sum wraps around": ("burn((void *)-8L, (void *)(UINT64_MAX - 300));", True),
    "addresses of the kernel": ("burn((void *)0xffff888000000000, (void *)0xffffffff81000000);", True),
    "addresses that no page can have": ("burn((void *)0x8000000000000000, (void *)0x800000000000);", True),
    "the last page of the lower half": ("burn((void *)0x7ffffffff000, (void *)0x7fffffffeff8);", True),
    "the last bytes of a mapping": (
        # Mappings made later go to the end of what is unmapped.
        "char *page = pages(999); munmap(page + PAGE, 998 * PAGE); burn(page + PAGE - 8, page + PAGE - 12);",
        True,
    ),
    "a page without access": (
        "char *closed = pages(1); mprotect(closed, PAGE, PROT_NONE); burn(closed, closed + 64);",
        True,
    ),
    "a file that was cut": (
        """FILE *file = tmpfile();
        if (ftruncate(fileno(file), PAGE)) return 1;
        char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
        page[0] = 1;
        if (ftruncate(fileno(file), 0)) return 1;
        burn(page, page + 64);""",
        True,
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_pointers_point_to_costs_a_value_at_most(compiled: Compile, sampled: Run, name: str) -> None:
    body, is_unreadable = PROGRAMS[name]
    program = compiled(HEADERS + "int main(void) { " + body + ' puts("alive"); return 0; }', "-O0")

    # How often pointers are followed depends on what that costs, and so on the machine.
    counted, end = Counter[str](), time.monotonic() + PATIENCE_S
    while counted["values"] <= 20 or not counted["values_unreadable" if is_unreadable else "values_others"]:
        assert time.monotonic() < end, counted
        outcome = sampled(program, values_depth=8)
        assert (outcome.status, outcome.output) == (0, "alive\n")
        counted.update(outcome.counters)

    assert (counted["values_unreadable"] > 0) == is_unreadable


def test_memory_that_another_thread_unmaps_meanwhile(compiled: Compile, sampled: Run) -> None:
    program = compiled(
        HEADERS
        + """
static struct box *_Atomic shared;
static _Atomic int done;
static void *churn(void *unused) {
    while (!done) {
        char *page = pages(1);
        shared = (struct box *)page;
        for (volatile int i = 0; i < 300; i++) ;
        munmap(page, PAGE);
    }
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, churn, NULL);
    for (int i = 0; i < 3000; i++) hold(shared, shared, 50000);
    done = 1;
    pthread_join(thread, NULL);
    puts("alive");
    return 0;
}""",
        "-O0",
    )

    outcome = sampled(program, values_depth=8)

    assert (outcome.status, outcome.output) == (0, "alive\n")
    assert outcome.counters["values_others"] > 0


def test_globals_that_the_program_itself_may_not_read(compiled: Compile, sampled: Run) -> None:
    program = compiled(
        HEADERS
        + """
static struct { _Alignas(PAGE) long secret; char rest[PAGE - sizeof(long)]; } hidden = {42, {0}};
long open_to_all = 1;
int main(void) {
    mprotect(&hidden, PAGE, PROT_NONE);
    burn(NULL, NULL);
    mprotect(&hidden, PAGE, PROT_READ | PROT_WRITE);
    printf("%ld\\n", hidden.secret + open_to_all);
    return 0;
}""",
        "-O0",
    )

    outcome = sampled(program, values_depth=8)

    assert (outcome.status, outcome.output) == (0, "43\n")
    assert outcome.counters["values_unreadable"] > 0


def test_stacks_of_coroutines(compiled: Compile, sampled: Run) -> None:
    # GIVEN coroutines on stacks of their own, each just as long as it is mapped
    program = compiled(
        HEADERS
        + """
static ucontext_t main_context, other;
static void run(void) { struct box box = {7}; hold(&box, &box, 3000000); }
int main(void) {
    for (int i = 0; i < 20; i++) {
        char *stack = pages(5);
        mprotect(stack, PAGE, PROT_NONE);
        getcontext(&other);
        other.uc_stack.ss_sp = stack + PAGE;
        other.uc_stack.ss_size = 4 * PAGE;
        other.uc_link = &main_context;
        makecontext(&other, run, 0);
        swapcontext(&main_context, &other);
        munmap(stack, 5 * PAGE);
    }
    puts("alive");
    return 0;
}""",
        "-O0",
    )

    outcome = sampled(program, values_depth=8)

    assert (outcome.status, outcome.output) == (0, "alive\n")
    assert outcome.counters["values"] > 0


def test_a_stack_used_up_to_its_guard_page(compiled: Compile, sampled: Run) -> None:
    # GIVEN a leaf function whose red zone would lie in the guard page
    program = compiled(
        HEADERS
        + """
static char *lowest;
__attribute__((noinline)) static long leaf(long rounds) {
    long sum = 0;
    for (volatile long i = 0; i < rounds; i++) sum += i;
    return sum;
}
static void *run(void *unused) {
    char here;
    char *room = alloca((size_t)(&here - lowest) - 400);
    room[0] = 1;
    sink += leaf(60000000);
    return unused;
}
int main(void) {
    char *stack = pages(65);
    mprotect(stack, PAGE, PROT_NONE);
    lowest = stack + PAGE;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, lowest, 64 * PAGE);
    pthread_t thread;
    pthread_create(&thread, &attributes, run, NULL);
    pthread_join(thread, NULL);
    puts("alive");
    return 0;
}""",
        "-O1",
    )

    outcome = sampled(program, values_depth=8)

    assert (outcome.status, outcome.output) == (0, "alive\n")
    assert outcome.counters["values"] > 0


def test_under_a_seccomp_filter_only_the_stack_is_read(compiled: Compile, sampled: Run) -> None:
    # GIVEN a filter that kills whoever reads memory by system call
    program = compiled(
        HEADERS
        + """
int main(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof code / sizeof *code, code};
    struct box box = {1}, *heap = calloc(1, sizeof *heap);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) return 1;
    burn(&box, heap);
    puts("alive");
    return 0;
}""",
        "-O0",
    )

    outcome = sampled(program, values_depth=8)

    assert (outcome.status, outcome.output) == (0, "alive\n")
    assert outcome.counters["values"] > 20
    assert outcome.counters["values_forbidden"] > 0
    assert outcome.counters["values_unreadable"] == 0


def test_a_thread_that_serves_page_faults_is_not_made_to_wait_for_itself(compiled: Compile, sampled: Run) -> None:
    # GIVEN a thread that works on a page which nobody but itself can supply, with a pointer to it in a variable
    program = compiled(
        HEADERS
        + """
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
static int faults;
static void *serve(void *page) {
    struct uffd_msg fault;
    if (read(faults, &fault, sizeof fault) != sizeof fault) exit(1);
    struct box *missing = (struct box *)(fault.arg.pagefault.address & ~(PAGE - 1ull));
    burn(missing, missing);
    struct uffdio_copy copy = {.dst = (uint64_t)missing, .src = (uint64_t)page, .len = PAGE};
    if (ioctl(faults, UFFDIO_COPY, &copy)) exit(1);
    return NULL;
}
int main(void) {
    struct uffdio_api api = {.api = UFFD_API};
    faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    if (faults < 0 || ioctl(faults, UFFDIO_API, &api)) return 77;
    char *served = pages(1), *supply = pages(1);
    struct uffdio_register range = {{(uint64_t)served, PAGE}, UFFDIO_REGISTER_MODE_MISSING, 0};
    if (ioctl(faults, UFFDIO_REGISTER, &range)) return 77;
    supply[0] = 42;
    pthread_t thread;
    pthread_create(&thread, NULL, serve, supply);
    printf("%d\\n", served[0]);
    pthread_join(thread, NULL);
    return 0;
}""",
        "-O0",
    )

    outcome = sampled(program, values_depth=8, timeout=PATIENCE_S)

    if outcome.status == 77:
        pytest.skip("the kernel permits no userfaultfd here")
    assert (outcome.status, outcome.output) == (0, "42\n")
    assert outcome.counters["values"] > 20
    assert outcome.counters["values_forbidden"] > 0


def test_a_library_in_the_place_of_another(compiled: Compile, sampled: Run) -> None:
    # GIVEN two libraries of one size, the second loaded where the first was, before any sample could tell
    source = HEADERS + "long counter = 1; void plug(void) { for (long i = 0; i < 60000000; i++) sink += counter; }"
    plugins = [compiled(source, "-shared", "-fPIC", name=name) for name in ("first.so", "second.so")]
    host = compiled(
        HEADERS
        + """
#include <dlfcn.h>
int main(int count, char **words) {
    (void)count;
    void *first = dlopen(words[1], RTLD_NOW);
    void (*plug)(void) = dlsym(first, "plug"), (*before)(void) = plug;
    plug();
    dlclose(first);
    plug = dlsym(dlopen(words[2], RTLD_NOW), "plug");
    plug();
    puts(plug == before ? "same place" : "another place");
    return 0;
}""",
        "-ldl",
    )

    outcome = sampled(host, *plugins, values_depth=8, libraries=plugins)

    # THEN the second is known to be there from its record on, and its globals are read
    assert (outcome.status, outcome.output) == (0, "same place\n")
    loaded = next(i for i, (kind, payload) in enumerate(outcome.notes) if kind == MODULE and b"second.so" in payload)
    start = outcome.notes[loaded][1][:8]
    later = {kind for kind, payload in outcome.notes[loaded + 1 :] if payload[:8] == start}
    assert GLOBALS in later
    assert MODULE_GONE not in later


def test_thousands_of_globals_leave_room_for_samples(compiled: Compile, sampled: Run) -> None:
    # GIVEN more globals than a ring can hold, and nobody who empties it for the few samples that the program gets
    program = compiled(
        HEADERS
        + "#include <time.h>\n"
        + "".join(f"long g{i} = {i};" for i in range(8000))
        + """int main(int argc, char **argv) {
    long limit = argc > 1 ? atol(argv[1]) : 0;
    while (clock() < CLOCKS_PER_SEC / 1000 * limit) hold(NULL, NULL, 1000);
    return 0;
}""",
        "-O0",
    )

    # WHEN it works for as long as it takes this machine to give enough samples, and not much longer: rings are finite
    for milliseconds in (40, 80, 160, 320, 640):
        outcome = sampled(program, str(milliseconds), values_depth=8, drain=False)
        read = sum(kind == GLOBALS for kind, _ in outcome.notes)
        # THEN nothing was lost
        assert outcome.status == 0
        assert outcome.counters["dropped"] == outcome.counters["values_dropped"] == 0
        if read > 4 and outcome.counters["values"] > 20:
            break
    assert read > 4
    assert outcome.counters["values"] > 20
