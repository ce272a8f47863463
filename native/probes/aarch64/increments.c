// Every thread has a word that says where its block is. Without a system call, a new thread starts with the first
// block: threads that nobody told of (the C library's own) count there, as on x86-64 they do in their creator's.
#include "probes/increments.h"

#include <stddef.h>
#include <sys/auxv.h>

#include "probes/aarch64/words.h"
#include "probes/counters.h"
#include "probes/memory.h"

static uint8_t first_block[COUNTERS_BLOCK_BYTES] __attribute__((aligned(PAGE)));

static __thread uint8_t *block_here __attribute__((tls_model("initial-exec"))) = first_block;

// From the thread pointer to that word.
static uintptr_t word_at;

enum { MOST_WORD_AT = 8 * 0xfff, HARDWARE_ATOMICS = 1 << 8 };

bool increments_find_threads(void) {
    word_at = (uintptr_t)&block_here - (uintptr_t)__builtin_thread_pointer();
    return word_at <= MOST_WORD_AT;
}

// By an instruction of ARMv8.1: older ones need a third register.
bool increments_can_lock(void) {
    return getauxval(AT_HWCAP) & HARDWARE_ATOMICS;
}

void thread_counts_in(uint8_t *block) {
    block_here = block ? block : first_block;
}

uint8_t *thread_first_block(void) {
    return first_block;
}

uint8_t *thread_block(void) {
    return block_here;
}

void thread_shares(uint8_t *creators_block) {
    block_here = creators_block;
}

// The plan chose which two registers are free: the first one is that of the word which it left there.
struct registers {
    uint32_t address, value;
};

static struct registers registers_of(const uint8_t *increment) {
    uint32_t first = word_read(increment) & 31;
    return (struct registers){first, (first + 1) & 31};
}

static uint32_t load(uint32_t value, uint32_t address, uint32_t distance) {
    return 0xf9400000u | distance / sizeof(uint64_t) << 10 | address << 5 | value;
}

static uint32_t store(uint32_t value, uint32_t address, uint32_t distance) {
    return 0xf9000000u | distance / sizeof(uint64_t) << 10 | address << 5 | value;
}

static uint32_t add(uint32_t to, uint32_t number) {
    return 0x91000000u | number << 10 | to << 5 | to;
}

static uint32_t add_pages(uint32_t to, uint32_t pages) {
    return 0x91400000u | pages << 10 | to << 5 | to;
}

static uint32_t thread_pointer(uint32_t to) {
    return 0xd53bd040u | to;
}

static void write_words(uint8_t *at, const uint32_t *words, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        word_write(at + (size_t)i * WORD_BYTES, words[i]);
}

void increment_per_thread(uint8_t *increment, uint32_t in_block) {
    struct registers with = registers_of(increment);
    uint32_t pages = in_block >> WORD_PAGE_BITS, rest = in_block & ((1 << WORD_PAGE_BITS) - 1);
    uint32_t words[] = {
        thread_pointer(with.address),
        load(with.address, with.address, (uint32_t)word_at),
        add_pages(with.address, pages),
        load(with.value, with.address, rest),
        add(with.value, 1),
        store(with.value, with.address, rest),
    };
    _Static_assert(COUNTERS_BLOCK_BYTES <= 1 << 24, "so many pages fit into an instruction");
    write_words(increment, words, sizeof words / sizeof *words);
}

void increment_locked(uint8_t *increment, const uint8_t *placed_at, const uint8_t *counter) {
    static const uint32_t no_operation = 0xd503201f;
    struct registers with = registers_of(increment);
    uint32_t page = word_page | with.address, rest = (uintptr_t)counter & ((1 << WORD_PAGE_BITS) - 1);
    word_set_pages(&page, ((intptr_t)counter >> WORD_PAGE_BITS) - ((intptr_t)placed_at >> WORD_PAGE_BITS));
    uint32_t one = 0xd2800020u | with.value;                                  // mov value, #1
    uint32_t add_locked = 0xf820001fu | with.value << 16 | with.address << 5; // stadd value, [address]
    uint32_t words[] = {page, add(with.address, rest), one, add_locked, no_operation, no_operation};
    write_words(increment, words, sizeof words / sizeof *words);
}
