// .eh_frame to rows: what the call frame information says at every address.
//
// Runs inside signal handlers and on whatever a process has mapped: nothing but memory is touched, every read is
// bounded by the section, and nonsense ends as RULE rows or as an early end of the section, never as a loop.
#include "unwind/frame_rules.h"
#include "unwind/unwind.h"

#include <string.h>

enum { REMEMBERED = 16 };

struct cie {
    uint64_t code_align;
    int64_t data_align;
    uint8_t pointer_encoding;
    bool signal;
    bool augmented; // FDEs carry an augmentation block
    bool valid;
    size_t offset; // of the CIE within the section
    struct frame_rules initial;
};

struct compiler {
    struct eh_frame section;
    struct row_buffer *out;
    uint32_t first_row; // the buffer's head holds the list of FDEs
    struct cie cie;     // the last one used
    struct frame_rules remembered[REMEMBERED];
};

static bool append(struct row_buffer *out, struct unwind_row row) {
    if (out->count == out->capacity && (!out->grow(out) || out->count == out->capacity))
        return false;
    out->rows[out->count++] = row;
    return true;
}

static bool same_rules(const struct unwind_row *a, const struct unwind_row *b) {
    return memcmp(&a->offset, &b->offset, sizeof *a - offsetof(struct unwind_row, offset)) == 0;
}

// Appends a row; addresses ascend. An FDE that starts where another one ends replaces that one's closing NONE row.
static bool emit(struct compiler *compiler, struct unwind_row row) {
    struct row_buffer *out = compiler->out;
    if (out->count > compiler->first_row && out->rows[out->count - 1].address == row.address)
        out->count--;
    if (out->count > compiler->first_row && same_rules(&out->rows[out->count - 1], &row))
        return true;
    return append(out, row);
}

static int64_t scaled(uint64_t value, int64_t factor) {
    return (int64_t)(value * (uint64_t)factor);
}

// A run of call frame instructions: a CIE's (no rows come out of it) or an FDE's.
struct program {
    struct cursor in;
    uint64_t in_address; // ELF virtual address of in.at, for DW_CFA_set_loc
    const struct cie *cie;
    struct frame_rules *rules;
    uint64_t at, end; // addresses that the rules of the moment hold for, and those still to come
    uint64_t from;    // rows are due from here on
    unsigned remembered;
};

// Rows for the addresses up to `to`. False only when there is no memory.
static bool advance(struct compiler *compiler, struct program *program, uint64_t to) {
    if (to > program->end)
        to = program->end;
    uint64_t at = program->at > program->from ? program->at : program->from;
    program->at = to > program->at ? to : program->at;
    return to <= at || emit(compiler, row_of(program->rules, program->cie->signal, (uint32_t)at));
}

// One instruction other than those that move on. False if it is unknown or makes no sense.
static bool interpret(struct compiler *compiler, struct program *program, uint8_t op) {
    struct cursor *in = &program->in;
    struct frame_rules *rules = program->rules;
    const struct cie *cie = program->cie;
    uint64_t reg;
    switch (op & 0xc0) {
    case 0x80: // DW_CFA_offset
        set_rule(rules, op & 0x3f, HOW_CFA, 0, scaled(read_uleb(in), cie->data_align));
        return true;
    case 0xc0: // DW_CFA_restore
        restore_rule(rules, &cie->initial, op & 0x3f);
        return true;
    }
    switch (op) {
    case 0x00: // DW_CFA_nop
        return true;
    case 0x05: // DW_CFA_offset_extended
        reg = read_uleb(in);
        set_rule(rules, reg, HOW_CFA, 0, scaled(read_uleb(in), cie->data_align));
        return true;
    case 0x06: // DW_CFA_restore_extended
        restore_rule(rules, &cie->initial, read_uleb(in));
        return true;
    case 0x07: // DW_CFA_undefined
        set_rule(rules, read_uleb(in), HOW_UNDEFINED, 0, 0);
        return true;
    case 0x08: // DW_CFA_same_value
        set_rule(rules, read_uleb(in), HOW_SAME, 0, 0);
        return true;
    case 0x09: // DW_CFA_register
        reg = read_uleb(in);
        read_uleb(in);
        set_rule(rules, reg, HOW_INEXPRESSIBLE, 0, 0);
        return true;
    case 0x0a: // DW_CFA_remember_state
        if (program->remembered == REMEMBERED)
            return false;
        compiler->remembered[program->remembered++] = *rules;
        return true;
    case 0x0b: // DW_CFA_restore_state
        if (program->remembered == 0)
            return false;
        *rules = compiler->remembered[--program->remembered];
        return true;
    case 0x0c: // DW_CFA_def_cfa
        reg = read_uleb(in);
        set_cfa(rules, reg, (int64_t)read_uleb(in));
        return true;
    case 0x12: // DW_CFA_def_cfa_sf
        reg = read_uleb(in);
        set_cfa(rules, reg, scaled((uint64_t)read_sleb(in), cie->data_align));
        return true;
    case 0x0d: // DW_CFA_def_cfa_register
        reg = read_uleb(in);
        if (rules->cfa_kind != UNWIND_KIND_OFFSET)
            return false;
        set_cfa(rules, reg, rules->cfa_offset);
        return true;
    case 0x0e: // DW_CFA_def_cfa_offset
    case 0x13: // DW_CFA_def_cfa_offset_sf
        if (rules->cfa_kind != UNWIND_KIND_OFFSET)
            return false;
        set_cfa(rules, rules->cfa_reg,
                op == 0x0e ? (int64_t)read_uleb(in) : scaled((uint64_t)read_sleb(in), cie->data_align));
        return true;
    case 0x0f: // DW_CFA_def_cfa_expression
        set_cfa_expression(rules, read_block(in));
        return true;
    case 0x10: // DW_CFA_expression
        reg = read_uleb(in);
        set_expression(rules, reg, read_block(in));
        return true;
    case 0x11: // DW_CFA_offset_extended_sf
        reg = read_uleb(in);
        set_rule(rules, reg, HOW_CFA, 0, scaled((uint64_t)read_sleb(in), cie->data_align));
        return true;
    case 0x14: // DW_CFA_val_offset
    case 0x15: // DW_CFA_val_offset_sf
    {
        reg = read_uleb(in);
        uint64_t factored = op == 0x14 ? read_uleb(in) : (uint64_t)read_sleb(in);
        // sp = CFA + 0 is what holds anyway.
        set_rule(rules, reg, reg == UNWIND_SP && factored == 0 ? HOW_SAME : HOW_INEXPRESSIBLE, 0, 0);
        return true;
    }
    case 0x16: // DW_CFA_val_expression
        reg = read_uleb(in);
        read_block(in);
        set_rule(rules, reg, HOW_INEXPRESSIBLE, 0, 0);
        return true;
    case 0x2d: // DW_CFA_AARCH64_negate_ra_state: the signature is taken off every return address
        return UNWIND_ELF_MACHINE == EM_AARCH64;
    case 0x2e: // DW_CFA_GNU_args_size: matters to exception landing pads only
        read_uleb(in);
        return true;
    case 0x2f: // DW_CFA_GNU_negative_offset_extended
        reg = read_uleb(in);
        set_rule(rules, reg, HOW_CFA, 0, scaled(0 - read_uleb(in), cie->data_align));
        return true;
    default:
        return false;
    }
}

static bool run(struct compiler *compiler, struct program *program) {
    const uint8_t *start = program->in.at;
    struct cursor *in = &program->in;
    while (in->at < in->end) {
        uint8_t op = (uint8_t)read_bytes(in, 1);
        uint64_t to = program->at;
        bool sane = true;
        if ((op & 0xc0) == 0x40)
            to += (op & 0x3f) * program->cie->code_align;
        else if (op == 0x01)
            to =
                read_code_pointer(in, program->cie->pointer_encoding, program->in_address + (uint64_t)(in->at - start));
        else if (op >= 0x02 && op <= 0x04)
            to += read_bytes(in, (size_t)1 << (op - 2)) * program->cie->code_align;
        else
            sane = interpret(compiler, program, op);
        if (!sane || in->bad) {
            program->rules->cfa_kind = UNWIND_KIND_RULE;
            program->rules->columns[COLUMN_RETURN].how = HOW_INEXPRESSIBLE;
            break;
        }
        if (!advance(compiler, program, to))
            return false;
    }
    return advance(compiler, program, program->end);
}

// An entry of the section, CIE or FDE, without its length.
struct entry {
    struct cursor body; // from the CIE pointer on
    size_t offset;      // of the CIE pointer within the section
    size_t next;        // offset of the entry that follows
    uint64_t cie;       // offset of an FDE's CIE; the entry is a CIE itself if is_cie
    bool is_cie;
};

// False at the terminator, at the end of the section, and where the bytes are no entry.
static bool read_entry(const struct eh_frame *section, size_t offset, struct entry *entry) {
    if (offset >= section->size)
        return false;
    struct cursor in = {section->bytes + offset, section->bytes + section->size, false};
    uint64_t length = read_bytes(&in, 4);
    if (length == 0xffffffff)
        length = read_bytes(&in, 8);
    if (in.bad || length < 4 || length > (uint64_t)(in.end - in.at))
        return false;
    in.end = in.at + length;
    entry->offset = (size_t)(in.at - section->bytes);
    entry->next = entry->offset + length;
    uint64_t back = read_bytes(&in, 4);
    entry->body = in;
    entry->is_cie = back == 0;
    entry->cie = entry->offset - back;
    return back <= entry->offset;
}

static void read_augmentation(struct cursor *in, const char *letters, struct cie *cie) {
    struct cursor data = read_block(in);
    cie->augmented = true;
    for (const char *letter = letters + 1; *letter; letter++) {
        switch (*letter) {
        case 'R':
            cie->pointer_encoding = (uint8_t)read_bytes(&data, 1);
            break;
        case 'P': {
            uint8_t encoding = (uint8_t)read_bytes(&data, 1);
            if (encoding != ENCODING_OMIT)
                read_format(&data, encoding);
            break;
        }
        case 'L':
            read_bytes(&data, 1);
            break;
        case 'S':
            cie->signal = true;
            break;
        case 'B': // with which key return addresses are signed
            break;
        default:
            cie->valid = false;
            return;
        }
    }
    cie->valid = !data.bad;
}

// The CIE at `offset`, in compiler->cie. Left invalid if it is of a kind that rows cannot be made from.
static bool load_cie(struct compiler *compiler, uint64_t offset) {
    struct cie *cie = &compiler->cie;
    struct entry entry;
    if (cie->offset == offset)
        return true;
    if (offset > compiler->section.size || !read_entry(&compiler->section, (size_t)offset, &entry) || !entry.is_cie)
        return false;
    *cie = (struct cie){.offset = (size_t)offset, .valid = true};
    struct cursor in = entry.body;
    uint8_t version = (uint8_t)read_bytes(&in, 1);
    const char *letters = (const char *)in.at;
    while (!in.bad && read_bytes(&in, 1) != 0)
        ;
    if (in.bad || (version != 1 && version != 3)) {
        cie->valid = false;
        return true;
    }
    cie->code_align = read_uleb(&in);
    cie->data_align = read_sleb(&in);
    uint64_t return_column = version == 1 ? read_bytes(&in, 1) : read_uleb(&in);
    cie->valid = return_column == UNWIND_RETURN_COLUMN;
    if (cie->valid && letters[0] == 'z')
        read_augmentation(&in, letters, cie);
    else if (letters[0] != '\0')
        cie->valid = false;
    if (in.bad)
        cie->valid = false;
    if (!cie->valid)
        return true;
    struct frame_rules rules = {.cfa_kind = UNWIND_KIND_RULE};
    struct program program = {.in = in, .cie = cie, .rules = &rules};
    run(compiler, &program);
    cie->initial = rules;
    return true;
}

// The addresses that an FDE covers; false if they cannot be told. Leaves `body` after them.
static bool read_range(const struct eh_frame *section, struct cursor *body, uint8_t encoding, uint64_t *start,
                       uint64_t *end) {
    uint64_t place = section->address + (uint64_t)(body->at - section->bytes);
    *start = read_code_pointer(body, encoding, place);
    uint64_t size = read_format(body, encoding & 0x0f);
    *end = *start + size;
    // Functions dropped by the linker have start 0; rows hold 32 bits.
    return !body->bad && *start != 0 && size != 0 && *end > *start && *end <= UINT32_MAX;
}

// Lists the FDEs at the head of the buffer, each as a row: its first address, and in `offset` its place in the section.
// Compiled in order of address they then give rows in order, so that few FDEs are sorted instead of many rows.
static bool list_fdes(struct compiler *compiler) {
    struct entry entry;
    for (size_t offset = 0; read_entry(&compiler->section, offset, &entry); offset = entry.next) {
        if (entry.is_cie)
            continue;
        if (!load_cie(compiler, entry.cie))
            break;
        uint64_t start, end;
        if (!compiler->cie.valid ||
            !read_range(&compiler->section, &entry.body, compiler->cie.pointer_encoding, &start, &end))
            continue;
        struct unwind_row listed = {.address = (uint32_t)start, .offset = (int32_t)(uint32_t)offset};
        if (offset > UINT32_MAX || !append(compiler->out, listed))
            return offset > UINT32_MAX;
    }
    return true;
}

static void sift_down(struct unwind_row *heap, uint32_t root, uint32_t count) {
    struct unwind_row moved = heap[root];
    for (uint32_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && heap[child + 1].address > heap[child].address)
            child++;
        if (heap[child].address <= moved.address)
            break;
        heap[root] = heap[child];
    }
    heap[root] = moved;
}

static void sort_by_address(struct unwind_row *rows, uint32_t count) {
    bool sorted = true;
    for (uint32_t i = 1; i < count && sorted; i++)
        sorted = rows[i - 1].address <= rows[i].address;
    if (sorted)
        return;
    for (uint32_t root = count / 2; root-- > 0;)
        sift_down(rows, root, count);
    for (uint32_t last = count - 1; last > 0; last--) {
        struct unwind_row top = rows[0];
        rows[0] = rows[last];
        rows[last] = top;
        sift_down(rows, 0, last);
    }
}

// Rows of one FDE. `from` is where the rows so far end: of overlapping FDEs the first keeps the addresses.
static bool compile_fde(struct compiler *compiler, size_t offset, uint64_t *from) {
    struct entry entry;
    uint64_t start, end;
    if (!read_entry(&compiler->section, offset, &entry) || !load_cie(compiler, entry.cie) || !compiler->cie.valid ||
        !read_range(&compiler->section, &entry.body, compiler->cie.pointer_encoding, &start, &end))
        return true;
    if (end <= *from)
        return true;
    if (compiler->cie.augmented)
        read_block(&entry.body);
    struct frame_rules rules = compiler->cie.initial;
    struct program program = {
        .in = entry.body,
        .in_address = compiler->section.address + (uint64_t)(entry.body.at - compiler->section.bytes),
        .cie = &compiler->cie,
        .rules = &rules,
        .at = start,
        .end = end,
        .from = *from,
    };
    *from = end;
    return run(compiler, &program) &&
           emit(compiler, (struct unwind_row){.address = (uint32_t)end, .kind = UNWIND_KIND_NONE});
}

bool unwind_compile(struct eh_frame section, struct row_buffer *out) {
    struct compiler compiler = {.section = section, .out = out, .cie.offset = SIZE_MAX};
    out->count = 0;
    if (!list_fdes(&compiler))
        return false;
    uint32_t listed = compiler.first_row = out->count;
    sort_by_address(out->rows, listed);
    uint64_t from = 0;
    for (uint32_t i = 0; i < listed; i++) {
        // The dynamic linker's entry has no FDE; nothing called it.
        if (section.entry && section.entry >= from && section.entry < out->rows[i].address &&
            !emit(&compiler, (struct unwind_row){.address = (uint32_t)section.entry, .kind = UNWIND_KIND_END}))
            return false;
        if (!compile_fde(&compiler, (size_t)(uint32_t)out->rows[i].offset, &from))
            return false;
    }
    out->count -= listed;
    if (out->count)
        memmove(out->rows, out->rows + listed, out->count * sizeof *out->rows);
    return true;
}

uint32_t unwind_index_size(const struct unwind_row *rows, uint32_t row_count) {
    enum { WORTH_PER_ROW = 64 };
    if (row_count == 0)
        return 0;
    uint32_t buckets =
        (rows[row_count - 1].address >> UNWIND_INDEX_SHIFT) - (rows[0].address >> UNWIND_INDEX_SHIFT) + 1;
    return buckets / WORTH_PER_ROW > row_count ? 0 : buckets;
}

bool unwind_build_index(const struct unwind_row *rows, uint32_t row_count, uint32_t *index, uint32_t index_count) {
    if (index_count != unwind_index_size(rows, row_count))
        return false;
    uint64_t base = index_count ? rows[0].address >> UNWIND_INDEX_SHIFT : 0;
    uint32_t row = 0;
    for (uint32_t bucket = 0; bucket < index_count; bucket++) {
        uint64_t address = (base + bucket) << UNWIND_INDEX_SHIFT;
        while (row + 1 < row_count && rows[row + 1].address <= address)
            row++;
        index[bucket] = row;
    }
    return true;
}
