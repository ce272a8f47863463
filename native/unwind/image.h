// Finding what unwinding needs in a loaded module: its bias, its build-id and its .eh_frame.
#ifndef WHYPERF_IMAGE_H
#define WHYPERF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UNWIND_BUILD_ID_MAX = 20 };

// Reads `size` bytes at `address` of the process (or file) that holds the module; false if any cannot be had.
typedef bool (*unwind_image_read_fn)(void *context, uint64_t address, void *bytes, size_t size);

struct unwind_image {
    uint64_t bias; // address minus ELF virtual address
    // The same of one executable mapping of the module: mostly that of all of it, but a program may map a part of
    // itself a second time elsewhere (V8 does so with its builtins, to have them near the code that it compiles).
    uint64_t code_bias;
    uint8_t build_id[UNWIND_BUILD_ID_MAX];
    uint32_t build_id_size; // 0 when there is none
    // ELF virtual addresses (add the bias); 0 when the module has no .eh_frame_hdr.
    uint64_t eh_frame;
    uint64_t eh_frame_size; // an upper bound: up to the end of its segment
    uint64_t eh_frame_hdr;
    uint64_t eh_frame_hdr_size;
    uint64_t entry;
};

struct unwind_mapping {
    uint64_t start, file_offset;
};

// `start` is where the module's ELF header is mapped, `mapping` (or NULL) some code of it. False if there is no
// ELF module of this machine.
bool unwind_image_find(unwind_image_read_fn read, void *context, uint64_t start, const struct unwind_mapping *mapping,
                       struct unwind_image *image);

#endif
