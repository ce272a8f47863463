// Checksums of bytes.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

uint32_t crc_of(const void *bytes, size_t size);
uint32_t adler_of(const void *bytes, size_t size);
uint64_t mix_of(const void *bytes, size_t size, uint64_t seed);

#ifdef __cplusplus
}
#endif
