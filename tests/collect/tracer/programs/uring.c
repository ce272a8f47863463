// One read of a pipe through io_uring, without a library. Exits with 77 where the kernel does not permit it.
#define _GNU_SOURCE
#include <linux/io_uring.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
    struct io_uring_params parameters = {0};
    int ends[2], ring = (int)syscall(SYS_io_uring_setup, 4, &parameters);
    static char bytes[8];
    if (ring < 0)
        return 77;
    if (pipe(ends) || write(ends[1], "hello", 5) != 5)
        return 1;
    size_t ring_size = parameters.sq_off.array + parameters.sq_entries * sizeof(unsigned);
    char *queue = mmap(NULL, ring_size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    struct io_uring_sqe *entries =
        mmap(NULL, parameters.sq_entries * sizeof *entries, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
    if (queue == MAP_FAILED || entries == MAP_FAILED)
        return 1;
    entries[0] = (struct io_uring_sqe){
        .opcode = IORING_OP_READ, .fd = ends[0], .addr = (unsigned long)bytes, .len = sizeof bytes};
    ((unsigned *)(queue + parameters.sq_off.array))[0] = 0;
    __atomic_store_n((unsigned *)(queue + parameters.sq_off.tail), 1, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
        return 1;
    return strcmp(bytes, "hello") != 0;
}
