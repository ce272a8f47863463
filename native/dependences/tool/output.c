// SPDX-License-Identifier: GPL-2.0-or-later
#include "output.h"

#include "recording.h"

#define HEADER 8

static UChar buffer[HEADER + OUTPUT_CHUNK + OUTPUT_SLACK];
static Int file = -1;
static ULong written;

UChar *output_at = buffer + HEADER, *output_full = buffer + HEADER + OUTPUT_CHUNK;

// Valgrind keeps its own descriptors out of the program's reach; tools may use the same call.
extern Int VG_(safe_fd)(Int);

// The unfinished chunk is overwritten by one that says why the stream ends: its place on the disk is there already.
static void end_on_full_disk(ULong chunk) {
    UChar end[HEADER + 16], *kept = output_at;
    output_at = end + HEADER;
    put((ULong)RECORD_END << 4 | FORM_OTHER);
    put(END_DISK);
    put(instructions);
    UInt length = (UInt)(output_at - (end + HEADER)), check = dependences_check(end + HEADER, length);
    VG_(memcpy)(end, &length, 4);
    VG_(memcpy)(end + 4, &check, 4);
    output_at = kept;
    VG_(lseek)(file, (OffT)chunk, VKI_SEEK_SET);
    VG_(write)(file, end, (Int)(HEADER + length));
    VG_(umsg)("whyperf: cannot write the stream (disk full?); recording stops here\n");
    recording = False;
    output_stop();
}

static void write_all(const UChar *bytes, SizeT length) {
    ULong start = written;
    while (length && file >= 0) {
        Int done = VG_(write)(file, bytes, (Int)length);
        if (done <= 0) {
            end_on_full_disk(start);
            return;
        }
        bytes += done;
        length -= (SizeT)done;
        written += (ULong)done;
    }
}

void output_open(const HChar *path) {
    // An exec in the same process must not overwrite what its predecessor wrote.
    for (UInt attempt = 0; attempt < 1000; attempt++) {
        HChar name[4096];
        VG_(snprintf)(name, sizeof name, attempt ? "%s.%u" : "%s", path, attempt);
        SysRes opened = VG_(open)(name, VKI_O_CREAT | VKI_O_EXCL | VKI_O_WRONLY, 0600);
        if (!sr_isError(opened)) {
            file = VG_(safe_fd)((Int)sr_Res(opened));
            write_all((const UChar *)DEPENDENCES_MAGIC, sizeof DEPENDENCES_MAGIC - 1);
            return;
        }
        if (sr_Err(opened) != VKI_EEXIST)
            break;
    }
    VG_(fmsg)("whyperf: cannot create the stream %s\n", path);
    VG_(exit)(1);
}

void output_flush(void) {
    UInt length = (UInt)(output_at - (buffer + HEADER));
    output_at = buffer + HEADER;
    if (!length || file < 0)
        return;
    UInt check = dependences_check(buffer + HEADER, length);
    VG_(memcpy)(buffer, &length, 4);
    VG_(memcpy)(buffer + 4, &check, 4);
    write_all(buffer, HEADER + length);
}

void output_stop(void) {
    if (file >= 0)
        VG_(close)(file);
    file = -1;
}

void output_finish(void) {
    output_flush();
    output_stop();
}

void put_bytes(const void *bytes, SizeT length) {
    if (length > OUTPUT_SLACK / 4)
        length = OUTPUT_SLACK / 4;
    put(length);
    VG_(memcpy)(output_at, bytes, length);
    output_at += length;
}
