// Posts of a forum become HTML. Each post is the same text, and then brackets: side by side, or one within the other.
#include <document.h>
#include <html.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char TEXT[] =
    "# A post\n\nSome *words*, some `code`, a [link](http://example.org \"title\") and **more** of it:\n\n"
    "* one & two\n* three <b>four</b>\n\n> quoted, and _stressed_\n\n";

static void add_brackets(hoedown_buffer *post, unsigned brackets, int nested) {
    for (unsigned i = 0; i < brackets; i++) {
        hoedown_buffer_puts(post, nested ? "[a" : "[a]");
    }
    for (unsigned i = 0; nested && i < brackets; i++) {
        hoedown_buffer_puts(post, "]");
    }
    hoedown_buffer_puts(post, "\n");
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: posts COUNT BRACKETS flat|nested\n");
        return 2;
    }
    hoedown_renderer *renderer = hoedown_html_renderer_new(0, 0);
    hoedown_document *document = hoedown_document_new(renderer, HOEDOWN_EXT_TABLES | HOEDOWN_EXT_FENCED_CODE, 16);
    size_t written = 0;
    for (int count = atoi(argv[1]); count > 0; count--) {
        hoedown_buffer *post = hoedown_buffer_new(4096), *html = hoedown_buffer_new(4096);
        for (int times = 0; times < 1200; times++) {
            hoedown_buffer_puts(post, TEXT);
        }
        add_brackets(post, (unsigned)atoi(argv[2]), strcmp(argv[3], "nested") == 0);
        hoedown_document_render(document, html, post->data, post->size);
        written += html->size;
        hoedown_buffer_free(post);
        hoedown_buffer_free(html);
    }
    printf("%zu bytes\n", written);
    hoedown_document_free(document);
    hoedown_html_renderer_free(renderer);
    return 0;
}
