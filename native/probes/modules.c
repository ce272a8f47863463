#include "probes/modules.h"

#include <string.h>
#include <sys/mman.h>

#include "probes/code.h"
#include "probes/memory.h"

enum { NOTE_NAME = 4, NOTE_ALIGN = 4 };

static uint64_t rounded(uint64_t bytes, uint64_t align) {
    return (bytes + align - 1) & ~(align - 1);
}

static void find_build_id(struct module *module, const ElfW(Phdr) * segment) {
    const uint8_t *notes = (const uint8_t *)(module->bias + segment->p_vaddr);
    uint64_t align = segment->p_align == 8 ? 8 : NOTE_ALIGN, bytes = segment->p_memsz;
    for (uint64_t at = 0; at + sizeof(ElfW(Nhdr)) <= bytes;) {
        ElfW(Nhdr) note;
        memcpy(&note, notes + at, sizeof note);
        uint64_t name = at + sizeof note, content = name + rounded(note.n_namesz, align);
        if (content + note.n_descsz > bytes)
            return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == NOTE_NAME && !memcmp(notes + name, "GNU", NOTE_NAME) &&
            note.n_descsz <= PLAN_BUILD_ID_BYTES) {
            module->build_id_bytes = note.n_descsz;
            memcpy(module->build_id, notes + content, note.n_descsz);
            return;
        }
        at = content + rounded(note.n_descsz, align);
    }
}

static bool has_text_relocations(const struct module *module, const ElfW(Phdr) * segment) {
    const ElfW(Dyn) *entry = (const void *)(module->bias + segment->p_vaddr);
    for (; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_TEXTREL || (entry->d_tag == DT_FLAGS && entry->d_un.d_val & DF_TEXTREL))
            return true;
    return false;
}

static void widen(uintptr_t *low, uintptr_t *high, uintptr_t start, uintptr_t end) {
    *low = start < *low ? start : *low;
    *high = end > *high ? end : *high;
}

static struct module described(const struct dl_phdr_info *info) {
    struct module module = {
        .bias = info->dlpi_addr,
        .segments = info->dlpi_phdr,
        .segment_count = info->dlpi_phnum,
        .low = UINTPTR_MAX,
        .code_low = UINTPTR_MAX,
        .path = info->dlpi_name ? info->dlpi_name : "",
    };
    for (uint32_t i = 0; i < module.segment_count; i++) {
        const ElfW(Phdr) *segment = &module.segments[i];
        uintptr_t start = module.bias + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && segment->p_memsz) {
            widen(&module.low, &module.high, start, start + segment->p_memsz);
            if (segment->p_flags & PF_X)
                widen(&module.code_low, &module.code_high, start, start + segment->p_memsz);
        } else if (segment->p_type == PT_NOTE && !module.build_id_bytes) {
            find_build_id(&module, segment);
        } else if (segment->p_type == PT_DYNAMIC) {
            module.text_relocations = has_text_relocations(&module, segment);
        }
    }
    return module;
}

struct walk {
    module_fn visit;
    void *context;
};

static int visit_one(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    const struct walk *walk = context;
    struct module module = described(info);
    if (module.low < module.high)
        walk->visit(&module, walk->context);
    return 0;
}

void modules_walk(module_fn visit, void *context) {
    dl_iterate_phdr(visit_one, &(struct walk){visit, context});
}

bool module_holds_code(const struct module *module, uint64_t address, uint64_t bytes) {
    for (uint32_t i = 0; i < module->segment_count; i++) {
        const ElfW(Phdr) *segment = &module->segments[i];
        if (segment->p_type == PT_LOAD && segment->p_flags == (PF_R | PF_X) && address >= segment->p_vaddr &&
            address + bytes <= segment->p_vaddr + segment->p_filesz)
            return true;
    }
    return false;
}

bool module_holds_bytes(const struct module *module, uint64_t address, uint64_t bytes) {
    for (uint32_t i = 0; i < module->segment_count; i++) {
        const ElfW(Phdr) *segment = &module->segments[i];
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_R && address >= segment->p_vaddr &&
            address - segment->p_vaddr <= segment->p_memsz && bytes <= segment->p_memsz - (address - segment->p_vaddr))
            return true;
    }
    return false;
}

bool module_holds(const struct module *module, uint64_t address) {
    return address >= module->low - module->bias && address < module->high - module->bias;
}

bool module_is_linker_or_vdso(const struct module *module) {
    uintptr_t hook = _r_debug.r_brk;
    return (hook >= module->low && hook < module->high) || !strncmp(module->path, "linux-vdso", 10);
}

// The dynamic linker calls an empty function whenever the list has changed, for debuggers: it gets a jump to us.
// Nothing is interposed, so that callers of dlopen stay who they are.
enum { MOST_WATCHERS = 2 };
static void (*when_changed[MOST_WATCHERS])(void);

static void changed_or_about_to(void) {
    if (_r_debug.r_state == RT_CONSISTENT)
        for (int i = 0; i < MOST_WATCHERS && when_changed[i]; i++)
            when_changed[i]();
}

bool modules_watch(void (*changed)(void)) {
    if (when_changed[0]) {
        when_changed[1] = changed;
        return true;
    }
    uint8_t *hook = (uint8_t *)_r_debug.r_brk;
    if (!hook || !code_may_be_hooked(hook))
        return false;
    uint8_t *stub = memory_near((uintptr_t)hook & ~(uintptr_t)(PAGE - 1), (uintptr_t)hook + CODE_HOOK_BYTES, PAGE);
    if (!stub)
        return false;
    uint8_t far_jump[CODE_HOOK_BYTES] = {0}, old[CODE_JUMP_BYTES];
    code_far_jump(far_jump, changed_or_about_to);
    struct code_jump jump = code_hook_jump(hook, stub);
    memcpy(old, jump.at, jump.size);
    when_changed[0] = changed;
    if (memory_put_code(stub, far_jump, sizeof far_jump) &&
        memory_overwrite((uintptr_t)jump.at, jump.new, old, jump.size))
        return true;
    when_changed[0] = NULL;
    munmap(stub, PAGE);
    return false;
}
