// Bytes made smaller: copies of what came before are told as (distance, length).
#pragma once

#include "buffer.h"

#ifdef __cplusplus
extern "C" {
#endif

void pack(const void *bytes, size_t size, struct buffer *packed);
int unpack(const void *packed, size_t size, struct buffer *bytes); // 0, or -1 for damaged input

#ifdef __cplusplus
}
#endif
