// Messages are compressed as they come, all with the same context, which is not told how long a message will be; each
// is read back.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { LONGEST = 4096 };

static size_t message(char *text, unsigned number) {
    size_t length = 0;
    for (unsigned field = 0; field < 24; field++) {
        const unsigned value = (number * 2654435761u + field * 40503u) >> 7;
        length +=
            (size_t)snprintf(text + length, LONGEST - length, "{\"sensor\": %u, \"room\": \"%x\", \"value\": %u.%u},\n",
                             field, value % 97, value % 1013, value % 7);
    }
    return length;
}

static size_t refused(size_t code) {
    if (ZSTD_isError(code)) {
        fprintf(stderr, "messages: %s\n", ZSTD_getErrorName(code));
        exit(1);
    }
    return code;
}

static size_t packed(ZSTD_CCtx *context, const char *text, size_t length, char *space, size_t room) {
    ZSTD_inBuffer in = {text, length, 0};
    ZSTD_outBuffer out = {space, room, 0};
    refused(ZSTD_compressStream2(context, &out, &in, ZSTD_e_continue));
    refused(ZSTD_compressStream2(context, &out, &in, ZSTD_e_end));
    return out.pos;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: messages COUNT LEVEL\n");
        return 2;
    }
    const unsigned count = (unsigned)atoi(argv[1]);
    char text[LONGEST], back[LONGEST], space[2 * LONGEST];
    ZSTD_CCtx *context = ZSTD_createCCtx();
    ZSTD_DCtx *reader = ZSTD_createDCtx();
    size_t sum = 0;
    refused(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, atoi(argv[2])));
    for (unsigned number = 0; number < count; number++) {
        const size_t length = message(text, number);
        const size_t size = packed(context, text, length, space, sizeof space);
        if (refused(ZSTD_decompressDCtx(reader, back, sizeof back, space, size)) != length ||
            memcmp(text, back, length) != 0) {
            fprintf(stderr, "messages: number %u differs\n", number);
            return 1;
        }
        sum += size;
    }
    printf("%zu bytes\n", sum);
    ZSTD_freeCCtx(context);
    ZSTD_freeDCtx(reader);
    return 0;
}
