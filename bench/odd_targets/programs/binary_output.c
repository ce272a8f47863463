// binary_output BYTES: every byte value on both outputs, in pieces of odd sizes, as many as asked for.
#include "work.h"

int main(int argc, char **argv) {
    MUST(argc == 2);
    static unsigned char block[65537];
    long left = atol(argv[1]), number = 0;
    while (left > 0) {
        size_t size = (size_t)(1 + number * 7919 % (long)sizeof block);
        for (size_t i = 0; i < size; i++) {
            block[i] = (unsigned char)(i + (size_t)number * 31);
        }
        MUST(fwrite(block, 1, size, number % 5 ? stdout : stderr) == size);
        left -= (long)size;
        number++;
    }
    return 0;
}
