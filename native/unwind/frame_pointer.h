// Walking code that has no unwind information: compiled while the program runs, by Go, or assembly.
#ifndef WHYPERF_FRAME_POINTER_H
#define WHYPERF_FRAME_POINTER_H

#include "unwind/unwind.h"

// Whether a call stands before the address.
typedef bool (*unwind_returns_fn)(void *context, uint64_t address);

// Moves the cursor to the caller, mostly by rbp. Functions that call nothing often keep no frame pointer, and nobody
// has set it up at his first instructions: there the return address is on top of the stack. What else lies in these
// places hardly ever follows a call. False, and the cursor has not moved, where no return address is in either. *ended
// is set, and the cursor has not moved, when this was the outermost frame: it called, the frame pointer before it is 0,
// and nobody called it.
bool unwind_by_frame_pointer(struct unwind_cursor *cursor, unwind_read_fn read, unwind_returns_fn returns,
                             void *context, bool *ended);

#endif
