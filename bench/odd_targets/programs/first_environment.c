// Prints the environment that it was started with, as the kernel has it.
#include "work.h"

int main(void) {
    burn(0.05);
    FILE *file = fopen("/proc/self/environ", "r");
    MUST(file);
    int byte;
    while ((byte = getc(file)) != EOF) {
        putchar(byte ? byte : '\n');
    }
    return 0;
}
