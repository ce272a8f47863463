// Keeps what the variables of a walked stack will be told from: registers, and pieces of memory. In the signal handler.
#ifndef WHYPERF_VALUES_CAPTURE_H
#define WHYPERF_VALUES_CAPTURE_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "values/open.h"
#include "values/record.h"

// An item that waits for its bytes: they come with others of the same object.
struct values_waiting {
    uint16_t piece, offset, length;
};

struct values_capture {
    uint64_t stack_low, stack_high; // readable directly
    uint64_t bias;                  // of the frame before
    bool with_others;               // what lies behind pointers, too
    bool system_calls_allowed;
    uint16_t frames;
    uint32_t used, pieces, piece_bytes, waiting_count, waiting_bytes;
    uint32_t unreadable; // pieces that are not there
    uint32_t forbidden;  // pieces that a system call would have been needed for
    struct iovec wanted[VALUES_PIECES_MAX];
    struct values_waiting waiting[VALUES_FETCHED_MAX];
    unsigned char record[VALUES_RECORD_BYTES_MAX];
    unsigned char fetched[VALUES_PIECE_BYTES_MAX];
};

void values_capture_begin_in_signal(struct values_capture *capture, uint64_t stack_low, uint64_t stack_high,
                                    bool with_others, bool system_calls_allowed);
// `flags`: RECORD_CALLER_ONLY or 0.
void values_capture_frame_in_signal(struct values_capture *capture, uint8_t depth, uint8_t flags,
                                    const struct values_plan *plan, const struct values_captured_frame *frame);
// The record's size; 0: there is nothing in it.
uint32_t values_capture_end_in_signal(struct values_capture *capture, pid_t pid);

// Copies pieces of this process' memory, one behind the other, up to the first that is not there; how many were.
//
// This is process_vm_writev to ourselves: the kernel pins the few pages that are written, and copies from the many that
// are read as it copies the arguments of any system call. (process_vm_readv pins those instead, which costs a
// microsecond a page.)
size_t values_copy_pieces_in_signal(pid_t pid, const struct iovec *pieces, size_t count, void *to, size_t bytes);

#endif
