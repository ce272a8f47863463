#include "probes/modules.h"

#include <string.h>
#include <sys/mman.h>

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

static struct module described(const struct dl_phdr_info *info) {
    struct module module = {
        .bias = info->dlpi_addr,
        .segments = info->dlpi_phdr,
        .segment_count = info->dlpi_phnum,
        .low = UINTPTR_MAX,
        .path = info->dlpi_name ? info->dlpi_name : "",
    };
    for (uint32_t i = 0; i < module.segment_count; i++) {
        const ElfW(Phdr) *segment = &module.segments[i];
        uintptr_t start = module.bias + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && segment->p_memsz) {
            module.low = start < module.low ? start : module.low;
            module.high = start + segment->p_memsz > module.high ? start + segment->p_memsz : module.high;
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

bool module_holds(const struct module *module, uint64_t address) {
    return address >= module->low - module->bias && address < module->high - module->bias;
}

// The dynamic linker calls an empty function whenever the list has changed, for debuggers: it gets a jump to us.
// Nothing is interposed, so that callers of dlopen stay who they are.
enum { JUMP_BYTES = 5, ALIGNMENT = 16, FAR_JUMP_BYTES = 14 };
static const uint8_t mark[] = {0xf3, 0x0f, 0x1e, 0xfa}; // endbr64
static const uint8_t return_code = 0xc3, jump_code = 0xe9;
static const uint8_t jump_to_following[] = {0xff, 0x25, 0, 0, 0, 0};

static void (*when_changed)(void);

static void changed_or_about_to(void) {
    if (_r_debug.r_state == RT_CONSISTENT)
        when_changed();
}

// Whether a function that only returns is followed by what fills up to the next one.
static bool has_room_for_jump(const uint8_t *hook) {
    size_t at = memcmp(hook, mark, sizeof mark) == 0 ? sizeof mark : 0;
    if ((uintptr_t)hook % ALIGNMENT != 0 || hook[at] != return_code)
        return false;
    uint8_t fill = hook[at + 1];
    return at + 1 >= JUMP_BYTES || fill == 0x66 || fill == 0x0f || fill == 0x90 || fill == 0xcc;
}

bool modules_watch(void (*changed)(void)) {
    uint8_t *hook = (uint8_t *)_r_debug.r_brk;
    if (!hook || !has_room_for_jump(hook))
        return false;
    uint8_t *stub = memory_near((uintptr_t)hook & ~(uintptr_t)(PAGE - 1), (uintptr_t)hook + ALIGNMENT, PAGE);
    if (!stub)
        return false;
    uint8_t far_jump[FAR_JUMP_BYTES], jump[JUMP_BYTES] = {jump_code}, old[JUMP_BYTES];
    memcpy(old, hook, sizeof old);
    void (*target)(void) = changed_or_about_to;
    memcpy(far_jump, jump_to_following, sizeof jump_to_following);
    memcpy(far_jump + sizeof jump_to_following, &target, sizeof target);
    int32_t distance = (int32_t)(stub - (hook + JUMP_BYTES));
    memcpy(jump + 1, &distance, sizeof distance);
    when_changed = changed;
    if (memory_put_code(stub, far_jump, sizeof far_jump) && memory_overwrite((uintptr_t)hook, jump, old, sizeof jump))
        return true;
    munmap(stub, PAGE);
    return false;
}
