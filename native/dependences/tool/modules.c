// SPDX-License-Identifier: GPL-2.0-or-later
#include "modules.h"

#include <elf.h>

#include "output.h"
#include "watches.h"

#define MODULES_MOST 4096
#define BUILD_ID_MOST 64

typedef struct {
    Module module;
    HChar *path;
} Known;

static Known known[MODULES_MOST];
static UInt known_count;

typedef struct {
    Addr bias;
    UChar build_id[BUILD_ID_MOST];
    UInt build_id_length;
} Header;

static void read_note(Int file, const Elf64_Phdr *segment, Header *header) {
    UChar notes[1024];
    Int size = segment->p_filesz < sizeof notes ? (Int)segment->p_filesz : (Int)sizeof notes;
    VG_(lseek)(file, (OffT)segment->p_offset, VKI_SEEK_SET);
    if (VG_(read)(file, notes, size) != size)
        return;
    for (Int at = 0; at + (Int)sizeof(Elf64_Nhdr) <= size;) {
        Elf64_Nhdr note;
        VG_(memcpy)(&note, notes + at, sizeof note);
        Int name = at + (Int)sizeof note, description = name + (Int)((note.n_namesz + 3) & ~3u);
        at = description + (Int)((note.n_descsz + 3) & ~3u);
        if (at > size || at < description || note.n_descsz > BUILD_ID_MOST)
            return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && VG_(memcmp)(notes + name, "GNU", 4) == 0) {
            VG_(memcpy)(header->build_id, notes + description, note.n_descsz);
            header->build_id_length = note.n_descsz;
        }
    }
}

static Header read_header(const HChar *path, const NSegment *mapping) {
    Header header = {0};
    SysRes opened = VG_(open)(path, VKI_O_RDONLY, 0);
    if (sr_isError(opened))
        return header;
    Int file = (Int)sr_Res(opened);
    Elf64_Ehdr elf;
    if (VG_(read)(file, &elf, sizeof elf) == (Int)sizeof elf && VG_(memcmp)(elf.e_ident, ELFMAG, SELFMAG) == 0)
        for (UInt i = 0; i < elf.e_phnum; i++) {
            Elf64_Phdr segment;
            VG_(lseek)(file, (OffT)(elf.e_phoff + i * sizeof segment), VKI_SEEK_SET);
            if (VG_(read)(file, &segment, sizeof segment) != (Int)sizeof segment)
                break;
            ULong first = segment.p_offset & ~0xFFFull, last = segment.p_offset + segment.p_filesz;
            if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) && (ULong)mapping->offset >= first &&
                (ULong)mapping->offset < last)
                header.bias = mapping->start - (Addr)mapping->offset - (segment.p_vaddr - segment.p_offset);
            if (segment.p_type == PT_NOTE)
                read_note(file, &segment, &header);
        }
    VG_(close)(file);
    return header;
}

static const Module *add(const HChar *path, Addr base, const Header *header) {
    if (known_count == MODULES_MOST)
        return &known[0].module;
    HChar hexadecimal[2 * BUILD_ID_MOST + 1] = "";
    for (UInt i = 0; i < header->build_id_length; i++)
        VG_(sprintf)(hexadecimal + 2 * i, "%02x", header->build_id[i]);
    Known *module = &known[known_count];
    module->path = VG_(strdup)("whyperf.modules", path);
    module->module = (Module){known_count, header->bias, *path ? plan_module(path, hexadecimal) : NULL};
    known_count++;
    put_record(RECORD_MODULE);
    put(base);
    put(header->bias);
    put_bytes(header->build_id, header->build_id_length);
    put_bytes(path, VG_(strlen)(path));
    watches_place(&module->module);
    return &module->module;
}

const Module *module_at(Addr address) {
    if (!known_count)
        add("", 0, &(Header){0});
    const NSegment *mapping = VG_(am_find_nsegment)(address);
    const HChar *path = mapping && mapping->kind == SkFileC ? VG_(am_get_filename)(mapping) : NULL;
    if (!path)
        return &known[0].module;
    static Addr start;
    static const Module *last;
    if (last && start == mapping->start && VG_(strcmp)(known[last->number].path, path) == 0)
        return last;
    Header header = read_header(path, mapping);
    start = mapping->start;
    last = NULL;
    for (UInt i = 1; i < known_count && !last; i++)
        if (known[i].module.bias == header.bias && VG_(strcmp)(known[i].path, path) == 0)
            last = &known[i].module;
    return last ? last : (last = add(path, mapping->start, &header));
}
