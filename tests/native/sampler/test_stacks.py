"""Samples show the true call chain, whatever kind of stack the code runs on."""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.native.sampler.conftest import Outcome

SPIN = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile double sink = 1;
NOINLINE static void spin(long millions) { for (long i = 0; i < millions * 1000000; i++) sink *= 1.0000001; }
NOINLINE static void middle(long n) { spin(n); sink += 1; }
NOINLINE static void outer(long n) { middle(n); sink += 1; }
"""

Compile = Callable[..., Path]
Run = Callable[..., Outcome]


def chains(outcome: Outcome, binary: Path) -> list[list[str]]:
    return [[name for name in stack if name[0] != "?"] for stack in outcome.named_stacks(binary)]


def share_with(stacks: list[list[str]], *names: str) -> float:
    """Of the samples in spin(), the part whose next callers are `names`."""
    spinning = [stack for stack in stacks if stack and stack[0] == "spin"]
    assert len(spinning) > 20
    return sum(stack[1 : 1 + len(names)] == list(names) for stack in spinning) / len(spinning)


WITHOUT_UNWIND_INFORMATION = ("-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-omit-frame-pointer")


@pytest.mark.parametrize(
    "flags", [(), ("-fno-omit-frame-pointer",), ("-no-pie", "-fno-pie"), WITHOUT_UNWIND_INFORMATION]
)
def test_call_chain_reaches_the_programs_entry(compiled: Compile, sampled: Run, flags: tuple[str, ...]) -> None:
    binary = compiled(SPIN + "int main(void) { outer(60); return 0; }", *flags)
    outcome = sampled(binary)
    assert share_with(chains(outcome, binary), "middle", "outer", "main", "libc.so.6", "libc.so.6", "_start") > 0.98
    assert outcome.counters["cut"][0] == outcome.counters["samples"]


def test_threads_end_in_libcs_start_code(compiled: Compile, sampled: Run) -> None:
    binary = compiled(
        SPIN
        + """
NOINLINE static void *body(void *unused) { outer(60); return unused; }
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, body, NULL);
    pthread_join(thread, NULL);
    return 0;
}"""
    )
    outcome = sampled(binary)
    assert share_with(chains(outcome, binary), "middle", "outer", "body", "libwhyperf_sampler.so", "libc.so.6") > 0.98
    assert outcome.counters["cut"][0] == outcome.counters["samples"]


def test_walk_passes_through_a_signal_frame(compiled: Compile, sampled: Run) -> None:
    binary = compiled(
        SPIN
        + """
NOINLINE static void handler(int number) { (void)number; middle(60); sink += 1; }
NOINLINE static void interrupted(void) { raise(SIGUSR1); sink += 1; }
int main(void) { signal(SIGUSR1, handler); interrupted(); return 0; }"""
    )
    stacks = chains(sampled(binary), binary)
    spinning = [stack for stack in stacks if stack[0] == "spin"]
    assert spinning and all(stack[1:3] == ["middle", "handler"] for stack in spinning)
    assert sum("interrupted" in stack and "main" in stack for stack in spinning) > 0.98 * len(spinning)


def test_coroutine_stacks_are_walked_to_their_start(compiled: Compile, sampled: Run) -> None:
    binary = compiled(
        SPIN
        + """
static ucontext_t caller, coroutine;
static char stack[16384];
static void body(void) { for (int i = 0; i < 10; i++) { outer(6); swapcontext(&coroutine, &caller); } }
int main(void) {
    getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = stack;
    coroutine.uc_stack.ss_size = sizeof stack;
    makecontext(&coroutine, body, 0);
    for (int i = 0; i < 10; i++) swapcontext(&caller, &coroutine);
    puts("done");
    return 0;
}"""
    )
    outcome = sampled(binary)
    assert outcome.output == "done\n"
    assert share_with(chains(outcome, binary), "middle", "outer", "body") > 0.98


def test_library_loaded_while_running_is_unwound(compiled: Compile, sampled: Run, tmp_path: Path) -> None:
    plugin = compiled(
        SPIN + "void plug(void (*back)(void)) { back(); sink += 1; }", "-shared", "-fPIC", name="plugin.so"
    )
    binary = compiled(
        SPIN
        + """
NOINLINE static void back(void) { outer(10); sink += 1; }
int main(int count, char **words) {
    (void)count;
    for (int i = 0; i < 8; i++) {
        void *handle = dlopen(words[1], RTLD_NOW);
        void (*plug)(void (*)(void)) = dlsym(handle, "plug");
        plug(back);
        dlclose(handle);
    }
    return 0;
}"""
    )
    outcome = sampled(binary, plugin)
    assert share_with(chains(outcome, binary), "middle", "outer", "back", "plugin.so", "main") > 0.95


def test_library_built_anew_under_its_old_name_is_another(compiled: Compile, sampled: Run, tmp_path: Path) -> None:
    # GIVEN a program that loads one file again and again, with other contents each time
    plugins = [
        compiled(SPIN + f"int version = {i}; void plug(void) {{ outer(20 + version); }}", "-shared", "-fPIC", name=name)
        for i, name in enumerate(("one.so", "two.so"))
    ]
    host = compiled(
        SPIN
        + """
static char bytes[1 << 20];
int main(int count, char **words) {
    void *before = NULL, *plug = NULL;
    int same = 0;
    for (int i = 0; i < 6; i++, before = plug) {
        FILE *from = fopen(words[1 + i % 2], "rb"), *to = fopen(words[3], "wb");
        fwrite(bytes, 1, fread(bytes, 1, sizeof bytes, from), to);
        fclose(from);
        fclose(to);
        void *handle = dlopen(words[3], RTLD_NOW);
        plug = dlsym(handle, "plug");
        ((void (*)(void))plug)();
        same += plug == before;
        dlclose(handle);
    }
    puts(count == 4 && same ? "in the same place" : "elsewhere");
    return 0;
}"""
    )

    outcome = sampled(host, *plugins, tmp_path / "live.so")

    assert (outcome.status, outcome.output) == (0, "in the same place\n")
    (modules,) = outcome.modules.values()
    assert sum(module.path.endswith("/live.so") for module in modules) == 6


def test_deep_recursion_is_cut_and_counted(compiled: Compile, sampled: Run) -> None:
    binary = compiled(
        SPIN
        + """
NOINLINE static long down(long depth) { if (!depth) outer(60); else down(depth - 1); sink += 1; return depth; }
int main(void) { return (int)(down(3000) & 1); }"""
    )
    outcome = sampled(binary)
    too_deep = outcome.counters["cut"][7]
    assert too_deep > 0.9 * outcome.counters["samples"]
    assert max(len(pcs) for *_, pcs in outcome.samples) == 1024


def test_damaged_stack_ends_the_walk_safely(compiled: Compile, sampled: Run) -> None:
    # The frame's return address is overwritten for as long as spin() runs.
    binary = compiled(
        SPIN
        + """
NOINLINE static void vandal(void *volatile *slot) {
    void *kept = *slot;
    *slot = (void *)0x7ffffffffff0;
    spin(40);
    *slot = kept;
}
NOINLINE static void victim(void) { vandal((void *volatile *)__builtin_frame_address(0) + 1); sink += 1; }
int main(void) { victim(); puts("alive"); return 0; }""",
        "-fno-omit-frame-pointer",
    )
    outcome = sampled(binary)
    assert (outcome.status, outcome.output) == (0, "alive\n")
    assert outcome.counters["cut"][1] > 0.9 * outcome.counters["samples"]


CODE = {
    "x86_64": (
        # push %rbp; mov %rsp, %rbp; mov %rdi, %rax; call *%rax; pop %rbp; ret
        "55 4889e5 4889f8 ffd0 5d c3",
        # mov %rdi, %rcx; 1: dec %rcx; jnz 1b; ret
        "4889f9 48ffc9 75fb c3",
    ),
    "aarch64": (
        # stp x29, x30, [sp, -16]!; mov x29, sp; blr x0; ldp x29, x30, [sp], 16; ret
        "fd7bbfa9 fd030091 00003fd6 fd7bc1a8 c0035fd6",
        # 1: subs x0, x0, 1; b.ne 1b; ret
        "000400f1 e1ffff54 c0035fd6",
    ),
}
CALLS_BACK, COUNTS_DOWN = (
    "".join(f"\\x{byte:02x}" for byte in bytes.fromhex(code)) for code in CODE[platform.machine()]
)
COMPILED_AT_RUN_TIME = """
#include <sys/mman.h>
static void *compiled(const char *code, size_t size) {
    void *room = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy((char *)room + 64, code, size);
    __builtin___clear_cache((char *)room, (char *)room + 4096);
    return (char *)room + 64;
}
"""


def test_code_compiled_at_run_time_is_passed_by_its_frame_pointer(compiled: Compile, sampled: Run) -> None:
    binary = compiled(
        SPIN
        + COMPILED_AT_RUN_TIME
        + f"""
NOINLINE static void back(void) {{ outer(60); sink += 1; }}
NOINLINE static void enter(void (*code)(void (*)(void))) {{ code(back); sink += 1; }}
int main(void) {{ enter((void (*)(void (*)(void)))compiled("{CALLS_BACK}", sizeof "{CALLS_BACK}")); return 0; }}"""
    )
    outcome = sampled(binary)
    expected = ("middle", "outer", "back", "enter", "main", "libc.so.6", "libc.so.6", "_start")
    assert share_with(chains(outcome, binary), *expected) > 0.98
    assert outcome.counters["cut"][0] == outcome.counters["samples"]


def test_code_compiled_at_run_time_that_calls_nothing_has_its_caller(compiled: Compile, sampled: Run) -> None:
    binary = compiled(
        SPIN
        + COMPILED_AT_RUN_TIME
        + f"""
NOINLINE static void enter(void (*code)(long)) {{ code(300000000); sink += 1; }}
int main(void) {{ enter((void (*)(long))compiled("{COUNTS_DOWN}", sizeof "{COUNTS_DOWN}")); return 0; }}""",
        "-fomit-frame-pointer",
    )
    stacks = chains(sampled(binary), binary)
    assert len(stacks) > 20
    assert sum(stack[:2] == ["enter", "main"] for stack in stacks) > 0.95 * len(stacks)


def test_code_that_a_program_maps_a_second_time_has_its_names(compiled: Compile, sampled: Run) -> None:
    # GIVEN what V8 does with its builtins, to have them near the code that it compiles
    binary = compiled(
        SPIN
        + """
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
NOINLINE static void count(volatile long *left) { while (*left) --*left; }
static int find(struct dl_phdr_info *info, size_t size, void *found) {
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD && header->p_flags & PF_X && (uintptr_t)count - start < header->p_filesz) {
            int file = open("/proc/self/exe", O_RDONLY), both = PROT_READ | PROT_EXEC;
            char *copy = mmap(NULL, header->p_filesz, both, MAP_PRIVATE, file, (off_t)header->p_offset);
            *(void **)found = copy + ((uintptr_t)count - start);
            return 1;
        }
    }
    return 0;
}
int main(void) {
    void (*copied)(volatile long *) = NULL;
    volatile long left = 200000000;
    dl_iterate_phdr(find, &copied);
    copied(&left);
    sink += 1;
    return 0;
}"""
    )
    outcome = sampled(binary)
    stacks = chains(outcome, binary)
    assert len(stacks) > 20
    assert sum(stack[:2] == ["count", "main"] for stack in stacks) > 0.95 * len(stacks)
    assert outcome.counters["cut"][0] == outcome.counters["samples"]
