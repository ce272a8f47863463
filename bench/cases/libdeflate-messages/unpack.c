/* Unpacks what was sent on a connection, some times, and tells its checksum. */
#include <libdeflate.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: unpack FILE TIMES\n");
        return 2;
    }
    FILE *file = fopen(argv[1], "rb");
    uint64_t size;
    if (!file || fread(&size, sizeof size, 1, file) != 1)
        return 1;
    size_t room = 64u << 20;
    unsigned char *packed = malloc(room), *plain = malloc(size);
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    if (!packed || !plain || !decompressor)
        return 1;
    size_t length = fread(packed, 1, room, file);
    fclose(file);
    uint32_t sum = 0;
    for (int i = 0; i < atoi(argv[2]); i++) {
        if (libdeflate_deflate_decompress(decompressor, packed, length, plain, size, NULL))
            return 1;
        sum = libdeflate_crc32(sum, plain, size);
    }
    printf("%08x\n", sum);
    libdeflate_free_decompressor(decompressor);
    free(plain);
    free(packed);
    return 0;
}
