#include "session/records.h"

#include <string.h>

enum { HEADER_WORDS = sizeof(struct whyperf_record) / 8 };

struct pcs record_pcs(const struct whyperf_record *record, uint32_t skip) {
    struct pcs pcs = {
        .first = (const uint64_t *)record_payload(record) + skip,
        .count = record->words - HEADER_WORDS - skip,
    };
    if (pcs.count && pcs.first[pcs.count - 1] == 0)
        pcs.count--;
    return pcs;
}

static bool has_text_after(const struct whyperf_record *record, size_t fixed_bytes) {
    size_t payload = record_bytes(record) - sizeof *record;
    if (payload <= fixed_bytes)
        return false;
    return memchr((const char *)record_payload(record) + fixed_bytes, 0, payload - fixed_bytes) != NULL;
}

static bool has_payload(const struct whyperf_record *record, size_t bytes) {
    return record_bytes(record) >= sizeof *record + bytes;
}

static bool has_stack_after(const struct whyperf_record *record, uint32_t skip) {
    return record->words >= HEADER_WORDS + skip && record_pcs(record, skip).count <= WHYPERF_MAX_FRAMES;
}

static bool module_is_sound(const struct whyperf_record *record) {
    if (!has_text_after(record, sizeof(struct whyperf_module)))
        return false;
    const struct whyperf_module *module = record_payload(record);
    return module->build_id_size <= sizeof module->build_id && module->start < module->end;
}

static bool fits(const struct whyperf_record *record, size_t bytes_left) {
    return bytes_left >= sizeof *record && record->words >= HEADER_WORDS && record_bytes(record) <= bytes_left;
}

bool record_is_sound_in_ring(const struct whyperf_record *record, size_t bytes_left) {
    if (!fits(record, bytes_left))
        return false;
    switch (record->kind) {
    case WHYPERF_RECORD_SAMPLE:
        return has_stack_after(record, 0);
    case WHYPERF_RECORD_PROCESS:
        return has_text_after(record, sizeof(struct whyperf_process));
    case WHYPERF_RECORD_MODULE:
        return module_is_sound(record);
    case WHYPERF_RECORD_MODULE_GONE:
        return has_payload(record, sizeof(uint64_t));
    case WHYPERF_RECORD_UNFOLLOWED:
        return has_text_after(record, 0);
    case WHYPERF_RECORD_THREAD_END:
        return has_payload(record, sizeof(struct whyperf_thread_end));
    case WHYPERF_RECORD_VALUES:
        return has_payload(record, record->detail);
    case WHYPERF_RECORD_GLOBALS:
        return record->detail <= UINT16_MAX &&
               has_payload(record, sizeof(uint64_t) + record->detail * sizeof(struct whyperf_global));
    case WHYPERF_RECORD_VARIABLES:
        return has_payload(record, 2 * sizeof(uint64_t));
    case WHYPERF_RECORD_MEMORY:
        return has_payload(record, sizeof(struct whyperf_memory));
    default:
        return false;
    }
}

bool record_is_sound_in_log(const struct whyperf_record *record, size_t bytes_left) {
    if (!fits(record, bytes_left))
        return false;
    switch (record->kind) {
    case WHYPERF_RECORD_STACK:
    case WHYPERF_RECORD_BLOCKED:
        return has_stack_after(record, 1);
    case WHYPERF_RECORD_SAMPLE_REF:
        return has_payload(record, sizeof(uint64_t));
    default:
        return record_is_sound_in_ring(record, bytes_left);
    }
}
