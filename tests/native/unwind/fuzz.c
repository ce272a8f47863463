// Damaged input for the unwinder, to be built with sanitizers: sections with flipped bits and of noise, table files
// with flipped bits, stacks of noise. Exits with 0 if nothing was read out of bounds and what came out makes sense.
//
//   fuzz SECONDS SEED SECTION...
#include "stacks/tables.h"
#include "unwind/image.h"
#include "unwind/table_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t state;

static uint64_t noise(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void flip_bits(uint8_t *bytes, size_t size, unsigned most) {
    for (unsigned flips = 1 + (unsigned)(noise() % most); size && flips; flips--)
        bytes[noise() % size] ^= (uint8_t)(1u << noise() % 8);
}

static void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

struct noisy_memory {
    uint64_t low, code;
};

// Words that look like a stack: addresses of code, addresses of stack, small numbers; sometimes nothing.
static bool read_noise(void *context, uint64_t address, uint64_t *word) {
    const struct noisy_memory *memory = context;
    switch (noise() % 16) {
    case 0:
        return false;
    case 1 ... 8:
        *word = memory->code + noise() % 0x40000;
        return true;
    case 9 ... 13:
        *word = address + 8 * (noise() % 64);
        return true;
    default:
        *word = noise() >> noise() % 64;
        return true;
    }
}

static void walk_noise(const struct unwind_table *table) {
    struct unwind_modules *modules = malloc(sizeof *modules + sizeof *modules->modules);
    uint64_t bias = 0x7f0000000000;
    struct noisy_memory memory = {0x7ffc00000000, bias + table->rows[0].address};
    modules->count = 1;
    modules->modules[0] = (struct unwind_module){bias, bias + (1ull << 33), bias, *table};
    struct unwind_cursor cursor = {.pc_is_exact = noise() % 2};
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
        cursor.registers.value[i] = memory.low + 8 * (noise() % 4096);
    cursor.registers.value[UNWIND_PC] = memory.code + noise() % 0x40000;
    cursor.registers.known = noise() | unwind_bit(UNWIND_SP) | unwind_bit(UNWIND_PC);
    bool ended = false;
    for (unsigned step = 0; step < 64 && !ended; step++)
        if (unwind_step(&cursor, modules, read_noise, &memory, &ended) != 0)
            break;
    free(modules);
}

static void check_rows(const struct row_buffer *rows) {
    for (uint32_t i = 1; i < rows->count; i++)
        if (rows->rows[i].address <= rows->rows[i - 1].address)
            fail("rows are not in order");
    for (uint32_t i = 0; i < rows->count; i++)
        if (rows->rows[i].kind > UNWIND_KIND_DEREF_PLUS || rows->rows[i].reg >= UNWIND_PC)
            fail("a row of no known kind");
    if (rows->count && rows->rows[rows->count - 1].kind != UNWIND_KIND_NONE)
        fail("the last row is not the end");
}

// Looking rows up through the index must give what a plain search gives.
static void check_lookup(const struct unwind_table *table) {
    struct unwind_table plain = *table;
    plain.index_count = 0;
    for (unsigned i = 0; i < 64; i++) {
        uint32_t address = table->rows[0].address + (uint32_t)(noise() % 0x40000) - 16;
        if (unwind_find_row(table, address) != unwind_find_row(&plain, address))
            fail("the index leads elsewhere");
    }
}

static void try_section(struct eh_frame section) {
    struct row_buffer rows = {.grow = grow_on_heap};
    struct unwind_table table;
    if (!unwind_compile(section, &rows))
        fail("no memory");
    check_rows(&rows);
    size_t size = unwind_table_file_size(rows.rows, rows.count);
    uint8_t *file = malloc(size);
    unwind_table_file_fill(file, rows.rows, rows.count, section);
    uint64_t hash = unwind_hash(section.bytes, section.size);
    if (!unwind_table_file_open(file, size, section.size, hash, &table))
        fail("a whole table was refused");
    if (rows.count) {
        check_lookup(&table);
        size_t cut = noise() % size;
        if (unwind_table_file_open(file, cut, section.size, hash, &(struct unwind_table){0}))
            fail("a table cut short was accepted");
        for (unsigned i = 0; i < 16; i++)
            walk_noise(&table);
        flip_bits(file, size, 64);
        if (unwind_table_file_open(file, size, section.size, hash, &table) && table.row_count)
            for (unsigned i = 0; i < 16; i++)
                walk_noise(&table);
    }
    free(file);
    free(rows.rows);
}

struct bytes {
    uint8_t *at;
    size_t size;
};

static bool read_bytes_at(void *context, uint64_t address, void *bytes, size_t size) {
    const struct bytes *image = context;
    if (address > image->size || image->size - address < size)
        return false;
    memcpy(bytes, image->at + address, size);
    return true;
}

static void try_image(const struct bytes *whole) {
    struct bytes image = {malloc(whole->size), whole->size};
    struct unwind_image found;
    memcpy(image.at, whole->at, whole->size);
    flip_bits(image.at, image.size < 1024 ? image.size : 1024, 16);
    unwind_image_find(read_bytes_at, &image, 0, NULL, &found);
    free(image.at);
}

static struct bytes read_file(const char *path) {
    struct bytes file = {NULL, 0};
    FILE *in = fopen(path, "rb");
    if (!in)
        fail(path);
    fseek(in, 0, SEEK_END);
    file.size = (size_t)ftell(in);
    rewind(in);
    file.at = malloc(file.size);
    if (fread(file.at, 1, file.size, in) != file.size)
        fail(path);
    fclose(in);
    return file;
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    time_t until = time(NULL) + atoi(argv[1]);
    state = strtoull(argv[2], NULL, 0) * 2654435761u + 88172645463325252ull;
    struct bytes self = read_file("/proc/self/exe");
    unsigned long rounds = 0;
    do {
        struct bytes whole = read_file(argv[3 + noise() % (unsigned)(argc - 3)]);
        for (unsigned i = 0; i < 32; i++, rounds++) {
            // A window of the section, or noise; a heap copy of its exact size.
            size_t size = 1 + noise() % (whole.size < 16384 ? whole.size : 16384);
            uint8_t *bytes = malloc(size);
            memcpy(bytes, whole.at, size);
            if (noise() % 8 == 0)
                for (size_t at = 4; at < size; at++)
                    bytes[at] = (uint8_t)noise();
            else
                flip_bits(bytes, size, 200);
            try_section((struct eh_frame){bytes, size, noise() % 4 ? 0x200000 : noise(), noise() % 0x400000});
            free(bytes);
        }
        try_image(&self);
        free(whole.at);
    } while (time(NULL) < until);
    free(self.at);
    printf("%lu\n", rounds);
    return 0;
}
