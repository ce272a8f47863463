/* Packs the headers of many answers on one connection; one header of each has a value of its own. */
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static nghttp2_nv field(const char *name, const char *value) {
    nghttp2_nv made = {(uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE};
    return made;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: answers NAME COUNT TABLE\n");
        return 2;
    }
    nghttp2_hd_deflater *deflater;
    size_t table = (size_t)atol(argv[3]), packed = 0;
    if (nghttp2_hd_deflate_new(&deflater, table) || nghttp2_hd_deflate_change_table_size(deflater, table))
        return 1;
    static const char *const types[] = {"text/html", "text/css", "image/png", "image/svg+xml", "font/woff2"};
    for (int i = 0; i < atoi(argv[2]); i++) {
        char tag[64], policy[64];
        uint8_t buffer[4096];
        snprintf(tag, sizeof tag, "\"%08x-%08x\"", i * 2654435761u, i * 40503u);
        snprintf(policy, sizeof policy, "public, max-age=%d", i % 40 * 60);
        nghttp2_nv fields[] = {
            field(":status", i % 50 ? "200" : "304"), field("server", "shop/2.1"),
            field("content-type", types[i % 5]),      field("cache-control", policy),
            field("vary", "accept-encoding"),         field(argv[1], tag),
        };
        ssize_t length =
            nghttp2_hd_deflate_hd(deflater, buffer, sizeof buffer, fields, sizeof fields / sizeof fields[0]);
        if (length < 0)
            return 1;
        packed += (size_t)length;
    }
    nghttp2_hd_deflate_del(deflater);
    printf("%zu bytes\n", packed);
    return 0;
}
