// CRC-32 as zlib has it, without a library.
#ifndef WHYPERF_PROBES_CHECKSUM_H
#define WHYPERF_PROBES_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

uint32_t checksum(const void *bytes, size_t size);

#endif
