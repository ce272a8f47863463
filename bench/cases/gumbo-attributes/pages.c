// Parses pages of HTML as a crawler does. Every page has as many attributes; how many of them an element has is all
// that differs.
#include <gumbo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ATTRIBUTES = 3000, ROOM = 400 * 1024 };

static char page[ROOM];

static size_t write_page(int of_one) {
    char *end = page;
    end += sprintf(end, "<!DOCTYPE html><html><head><title>Offers</title></head><body>\n");
    for (int k = 0; k < ATTRIBUTES; k++) {
        if (k % of_one == 0) {
            end += sprintf(end, "<div class=offer");
        }
        end += sprintf(end, " data-field-%d=\"value %d\"", k % of_one, k * 31 % 997);
        if (k % of_one == of_one - 1) {
            end += sprintf(end, ">Some <b>words</b> about it &amp; more</div>\n");
        }
    }
    for (int k = 0; k < ATTRIBUTES / 5; k++) {
        end += sprintf(end, "<p id=p%d>Lorem <i>ipsum</i> dolor sit <a href=\"/%d\">amet</a>, consectetur</p>\n", k, k);
    }
    end += sprintf(end, "</body></html>\n");
    return (size_t)(end - page);
}

static unsigned long count(const GumboNode *node) {
    unsigned long found = 1;
    if (node->type == GUMBO_NODE_ELEMENT) {
        found += node->v.element.attributes.length;
        for (unsigned k = 0; k < node->v.element.children.length; k++) {
            found += count(node->v.element.children.data[k]);
        }
    }
    return found;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: pages ATTRIBUTES_OF_ONE PAGES\n");
        return 2;
    }
    size_t size = write_page(atoi(argv[1]));
    unsigned long found = 0;
    for (int k = 0; k < atoi(argv[2]); k++) {
        GumboOutput *output = gumbo_parse_with_options(&kGumboDefaultOptions, page, size);
        found += count(output->root);
        gumbo_destroy_output(output);
    }
    printf("%lu nodes and attributes\n", found);
    return 0;
}
