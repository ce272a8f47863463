// Programs that serve page faults themselves (userfaultfd): from that moment on no memory is copied by system call.
//
// Copying a page that is not there yet would wait until the program supplies it, and the thread that is to do so may be
// the very one that our handler runs in.
#include <linux/userfaultfd.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/ioctl.h>

#include "sampler/sampler.h"

DECLARE_NEXT(ioctl);

// Found before a signal handler of the program can be the first to call it: the dynamic linker takes locks.
__attribute__((constructor)) static void find_ioctl(void) {
    (void)NEXT(ioctl);
}

bool memory_can_be_copied_in_signal(void) {
    return !atomic_load(&this_process.no_system_calls) && !atomic_load(&this_process.serves_page_faults);
}

// Whichever way its descriptor was made, UFFDIO_API comes first.
EXPORT int ioctl(int fd, unsigned long request, ...) {
    va_list list;
    va_start(list, request);
    void *argument = va_arg(list, void *);
    va_end(list);
    if ((unsigned)request == (unsigned)UFFDIO_API)
        atomic_store(&this_process.serves_page_faults, true);
    return NEXT(ioctl)(fd, request, argument);
}
