// A small managed runtime, as scripting languages have it: values on a collected heap, a conservative collector, and a
// router whose routes are plain numbers in the data segment.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "journal.h"

enum {
    SPAN_BYTES = 8192,
    SMALLEST_BLOCK = 32,
    SIZE_CLASSES = 6, // 32, 64, ... 1024 bytes
    MOST_SPANS = 4096,
    BLOCKS_IN_SPAN = SPAN_BYTES / SMALLEST_BLOCK,
    FRAME_WORDS = 96,
    ROUTE_COUNT = 8000,
};

enum block_bits { BLOCK_ALLOCATED = 1, BLOCK_MARKED = 2, BLOCK_FLAT = 4 };

// heap.c: spans of equal blocks, a free list for each size.
struct span {
    uint8_t *start;
    uint32_t block_bytes, block_count;
    uint8_t bits[BLOCKS_IN_SPAN];
};

struct heap {
    uint8_t *start, *used, *end;
    struct span spans[MOST_SPANS];
    void *free_blocks[SIZE_CLASSES];
    size_t since_collection; // bytes allocated
};

extern struct heap heap;
extern size_t heap_size; // bytes in blocks that are allocated, as the log prints it

void heap_open(uintptr_t base, size_t size);
void *heap_block(size_t size);
void heap_give_back(struct span *span, void *block);
struct span *span_of(const void *address);
uint32_t block_index(const struct span *span, const void *address);
uint8_t block_bits(const struct span *span, uint32_t index);
void set_block_bits(struct span *span, uint32_t index, uint8_t bits);

// allocate.c
void *rt_malloc(size_t size, bool flat);

// collect.c
struct root_range {
    uintptr_t *words;
    size_t count;
};

struct collections {
    uint64_t count, marked, freed, deepest;
};

extern struct collections collections;

void add_roots(void *words, size_t bytes);
void collect_garbage(struct journal *journal);

// frames.c: the interpreter's stack, which the collector scans.
void frames_open(void);
void **frame_push(int slots);
void frame_pop(int slots);

// values.c
enum value_kind { VALUE_NUMBER, VALUE_TEXT, VALUE_PAIR, VALUE_TABLE };

struct value {
    enum value_kind kind;
    uint32_t size;
    union {
        int64_t number;
        char *text;
        struct {
            struct value *first, *rest;
        } pair;
        struct {
            struct value **slots;
            struct value **names;
        } table;
    } as;
};

struct value *new_number(int64_t number);
struct value *new_text(const char *text, size_t size);
struct value *new_pair(struct value *first, struct value *rest);
struct value *new_table(uint32_t slots);
struct value *table_find(const struct value *table, const char *name);
void table_store(struct value *table, const char *name, struct value *stored);
size_t list_length(const struct value *list);
uint64_t value_digest(const struct value *value);

// routes.c
void load_routes(uint32_t network);
uint32_t route_for(uint32_t address);

// script.c
struct script_state {
    struct value *sessions; // lives as long as the program
    struct buffer reply;
    struct journal journal;
    uint32_t random;
    uint64_t digest;
};

void script_open(struct script_state *state);
void script_request(struct script_state *state, uint32_t number);
void script_close(struct script_state *state);
