// The image of a disk is packed and unpacked, a megabyte at a time: text, and between it what was never written.
#include <lz4.h>
#include <lz4hc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 20, LONGEST_LINE = 80 };

static void fill(char *piece, unsigned number, unsigned empty) {
    memset(piece, 0, PIECE);
    unsigned state = number * 2654435761u + 1;
    size_t at = 0;
    while (at + 16 * LONGEST_LINE + empty < PIECE) {
        for (unsigned line = 0; line < 12; line++) {
            state = state * 1664525u + 1013904223u;
            at +=
                (size_t)sprintf(piece + at, "%u: sensor %u says %u.%u\n", state >> 12, state % 97, state % 1013, line);
        }
        at += state % empty;
    }
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: disk PIECES EMPTY LEVEL\n");
        return 2;
    }
    const unsigned pieces = (unsigned)atoi(argv[1]), empty = (unsigned)atoi(argv[2]);
    const int room = LZ4_compressBound(PIECE);
    char *piece = malloc(PIECE), *back = malloc(PIECE), *packed = malloc((size_t)room);
    size_t sum = 0;
    for (unsigned number = 0; number < pieces; number++) {
        fill(piece, number, empty);
        const int size = LZ4_compress_HC(piece, packed, PIECE, room, atoi(argv[3]));
        if (size <= 0 || LZ4_decompress_safe(packed, back, size, PIECE) != PIECE || memcmp(piece, back, PIECE) != 0) {
            fprintf(stderr, "disk: piece %u is not as it was\n", number);
            return 1;
        }
        sum += (size_t)size;
    }
    printf("%zu bytes\n", sum);
    free(piece);
    free(back);
    free(packed);
    return 0;
}
