// Closes its standard descriptors; the files it opens take their numbers, and nothing else writes to them.
#include <fcntl.h>
#include <string.h>

#include "work.h"

int main(void) {
    burn(0.02);
    int saved = dup(1);
    close(0), close(1), close(2);
    char name[] = "/tmp/closed-output-XXXXXX";
    int first = mkstemp(name);
    int second = open("/dev/null", O_RDWR), third = dup(first);
    unlink(name);
    burn(0.2);
    struct {
        int numbers[3];
        off_t size;
    } told = {{first, second, third}, lseek(first, 0, SEEK_END)};
    dprintf(saved, "%d %d %d size %ld\n", told.numbers[0], told.numbers[1], told.numbers[2], (long)told.size);
    return 12;
}
