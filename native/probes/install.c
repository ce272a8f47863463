#include "probes/install.h"

#include <string.h>
#include <sys/mman.h>

#include "probes/code.h"
#include "probes/memory.h"

// By how much the stubs lie elsewhere than distances assume.
static int64_t shift_of(const struct installed *installed) {
    return (int64_t)((uintptr_t)installed->stubs - installed->bias);
}

enum probes_reason install_check(const struct plan *plan, const struct module *module) {
    if (module->text_relocations)
        return PROBES_TEXT_RELOCATIONS;
    for (uint32_t i = 0; i < plan->header->patches; i++) {
        const struct plan_patch *patch = &plan->patches[i];
        if (!module_holds_code(module, patch->at, patch->size))
            return PROBES_PLAN_DAMAGED;
        if (memcmp((const void *)(module->bias + patch->at), patch->old, patch->size) != 0)
            return PROBES_OTHER_CODE;
    }
    for (uint32_t i = 0; i < plan->header->fixes; i++) {
        int64_t target = code_fix_target(plan->stubs, plan->fixes[i]);
        if (target < 0 || !module_holds(module, (uint64_t)target))
            return PROBES_PLAN_DAMAGED;
    }
    return PROBES_DONE;
}

enum probes_reason install_reserve(const struct plan *plan, const struct module *module, size_t data_bytes,
                                   struct installed *installed) {
    size_t stub_bytes = whole_pages(plan->header->stub_bytes);
    struct code_span span = code_span(module);
    uint8_t *memory = memory_near(span.low, span.high, stub_bytes + data_bytes);
    if (!memory)
        return PROBES_NO_ROOM;
    *installed = (struct installed){module->bias, memory, memory + stub_bytes, stub_bytes, whole_pages(data_bytes)};
    return PROBES_DONE;
}

static bool correct_distances(const struct plan *plan, const struct installed *installed, uint8_t *stubs) {
    int64_t shift = shift_of(installed);
    for (uint32_t i = 0; i < plan->header->fixes; i++)
        if (!code_fix(stubs + plan->fixes[i], shift))
            return false;
    return true;
}

enum probes_reason install_stubs(const struct plan *plan, const struct installed *installed, complete_fn complete,
                                 void *context) {
    size_t bytes = plan->header->stub_bytes;
    uint8_t *made = mmap(NULL, installed->stub_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return PROBES_NO_ROOM;
    memcpy(made, plan->stubs, bytes);
    enum probes_reason reason = correct_distances(plan, installed, made) ? PROBES_DONE : PROBES_NO_ROOM;
    if (!reason) {
        complete(plan, installed, made, context);
        reason = memory_put_code(installed->stubs, made, bytes) ? PROBES_DONE : PROBES_NOT_WRITABLE;
    }
    munmap(made, installed->stub_bytes);
    return reason;
}

bool install_patched(const struct plan_patch *patch, const struct installed *installed, uint8_t new[PLAN_OLD_BYTES]) {
    return code_patched(patch, shift_of(installed), new);
}

static bool restored(const struct plan_patch *patch, const struct installed *installed, uint8_t new[PLAN_OLD_BYTES]) {
    (void)installed;
    memcpy(new, patch->old, PLAN_OLD_BYTES);
    return true;
}

typedef bool (*content_fn)(const struct plan_patch *patch, const struct installed *installed,
                           uint8_t new[PLAN_OLD_BYTES]);

static uint64_t end_of(const struct plan_patch *patch) {
    return (uint64_t)patch->at + patch->size;
}

// Of a run of patches with no whole page between them: that could be nothing's, or data.
static uint32_t run_end(const struct plan *plan, uint32_t from) {
    const struct plan_patch *patches = plan->patches;
    uint32_t to = from + 1;
    while (to < plan->header->patches && patches[to].at / PAGE <= (end_of(&patches[to - 1]) - 1) / PAGE + 1)
        to++;
    return to;
}

static bool rewrite_run(const struct plan *plan, uint32_t from, uint32_t to, const struct installed *installed,
                        content_fn content) {
    uint64_t first = plan->patches[from].at, end = end_of(&plan->patches[to - 1]);
    size_t bytes = whole_pages(end - first);
    uint8_t *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t *old = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool done = copy != MAP_FAILED && old != MAP_FAILED;
    if (done) {
        uintptr_t text = installed->bias + first;
        memcpy(old, (const void *)text, end - first);
        memcpy(copy, old, end - first);
        for (uint32_t i = from; i < to && done; i++) {
            uint8_t new[PLAN_OLD_BYTES];
            done = content(&plan->patches[i], installed, new);
            memcpy(copy + (plan->patches[i].at - first), new, plan->patches[i].size);
        }
        done = done && memory_overwrite(text, copy, old, end - first);
    }
    if (copy != MAP_FAILED)
        munmap(copy, bytes);
    if (old != MAP_FAILED)
        munmap(old, bytes);
    return done;
}

// The first so many patches, all of them or none.
static bool rewrite(const struct plan *plan, uint32_t count, const struct installed *installed, content_fn content) {
    for (uint32_t from = 0, to; from < count; from = to) {
        to = run_end(plan, from);
        if (!rewrite_run(plan, from, to, installed, content)) {
            rewrite(plan, from, installed, restored);
            return false;
        }
    }
    return true;
}

enum probes_reason install_patches(const struct plan *plan, const struct installed *installed) {
    return rewrite(plan, plan->header->patches, installed, install_patched) ? PROBES_DONE : PROBES_NOT_WRITABLE;
}

bool install_restore(const struct plan *plan, const struct installed *installed) {
    return rewrite(plan, plan->header->patches, installed, restored);
}

bool install_is_in_effect(const struct plan *plan, const struct installed *installed) {
    const struct plan_patch *patch = plan->patches;
    uint8_t new[PLAN_OLD_BYTES];
    return plan->header->patches == 0 || (code_patched(patch, shift_of(installed), new) &&
                                          !memcmp((const void *)(installed->bias + patch->at), new, patch->size));
}

void install_release(struct installed *installed) {
    if (installed->stubs)
        munmap(installed->stubs, installed->stub_bytes + installed->data_bytes);
    installed->stubs = NULL;
}
