// Counts the lines of a file. What was read is searched from its beginning each time that more of it is needed.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))
enum { BLOCK = 64 };

struct input {
    int fd;
    size_t room;
    char *buffer, *next, *limit;
};

static APART size_t fill(struct input *in, char *to) {
    ssize_t many = read(in->fd, to, BLOCK);
    return many > 0 ? (size_t)many : 0;
}

static APART int begin(struct input *in) {
    in->next = in->buffer;
    in->limit = in->buffer + fill(in, in->buffer);
    return in->limit > in->buffer;
}

static APART int enlarge(struct input *in) {
    size_t used = (size_t)(in->limit - in->buffer);
    in->buffer = realloc(in->buffer, in->room += BLOCK);
    size_t more = fill(in, in->buffer + used);
    in->next = in->buffer;
    in->limit = in->buffer + used + more; // further away
    return more > 0;
}

static APART int find_line(struct input *in) {
    for (;;) {
        char *end = memchr(in->next, '\n', (size_t)(in->limit - in->next)); // the search that costs
        if (end) {
            in->next = end + 1;
            return 1;
        }
        if (in->next == in->limit ? !begin(in) : !enlarge(in))
            return 0;
    }
}

int main(int argc, char **argv) {
    struct input in = {.fd = open(argc < 2 ? "" : argv[1], O_RDONLY), .room = BLOCK, .buffer = malloc(BLOCK)};
    int lines = 0;
    if (!begin(&in))
        return 1;
    while (find_line(&in))
        lines++;
    printf("%d\n", lines);
}
