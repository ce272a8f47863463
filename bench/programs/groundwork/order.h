// A stable sort of pointers.
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void sort_pointers(void **items, size_t count, int (*compare)(const void *left, const void *right));

#ifdef __cplusplus
}
#endif
