/* Packs what was measured in baskets of a given size, each for itself, so that one can be read without the others. */
#include <lzma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int fine, const char *what) {
    if (!fine) {
        fprintf(stderr, "baskets: %s\n", what);
        exit(1);
    }
}

__attribute__((noinline)) static void begin_basket(lzma_stream *stream, uint32_t level) {
    static lzma_options_lzma options;
    static lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, NULL}};
    check(!lzma_lzma_preset(&options, level), "no such level");
    check(lzma_stream_encoder(stream, filters, LZMA_CHECK_CRC32) == LZMA_OK, "cannot begin");
}

static size_t pack(lzma_stream *stream, uint32_t level, const uint8_t *from, size_t length, uint8_t *to, size_t room) {
    begin_basket(stream, level);
    stream->next_in = from;
    stream->avail_in = length;
    stream->next_out = to;
    stream->avail_out = room;
    check(lzma_code(stream, LZMA_FINISH) == LZMA_STREAM_END, "cannot pack");
    return room - stream->avail_out;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: baskets FILE LEVEL BYTES\n");
        return 2;
    }
    FILE *file = fopen(argv[1], "rb");
    check(file != NULL, "cannot read");
    uint32_t level = (uint32_t)atoi(argv[2]);
    size_t size = (size_t)atol(argv[3]), room = 64u << 20;
    uint8_t *plain = malloc(room), *packed = malloc(room);
    check(plain && packed && size && size < room / 2, "no memory");
    size_t length = fread(plain, 1, room, file), total = 0;
    fclose(file);
    lzma_stream stream = LZMA_STREAM_INIT;
    for (size_t at = 0; at < length; at += size)
        total += pack(&stream, level, plain + at, length - at < size ? length - at : size, packed, room);
    printf("%zu -> %zu\n", length, total);
    lzma_end(&stream);
    free(packed);
    free(plain);
    return 0;
}
