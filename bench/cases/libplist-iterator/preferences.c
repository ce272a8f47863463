// Preferences of applications are written as XML, read again, and gone through.
#include <plist/plist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static plist_t preferences(unsigned count) {
    plist_t all = plist_new_dict();
    char name[64], value[64];
    for (unsigned i = 0; i < count; i++) {
        snprintf(name, sizeof name, "org.example.application%u.setting", i);
        snprintf(value, sizeof value, "value %u & more", i * 7919u % 1000);
        plist_dict_set_item(all, name, i % 2 ? plist_new_string(value) : plist_new_uint(i));
    }
    return all;
}

// Of all names.
static size_t letters_of(plist_t all) {
    plist_dict_iter iterator = NULL;
    plist_dict_new_iter(all, &iterator);
    size_t letters = 0;
    for (;;) {
        char *name = NULL;
        plist_t value = NULL;
        plist_dict_next_item(all, iterator, &name, &value);
        if (!name) {
            break;
        }
        letters += strlen(name);
        free(name);
    }
    free(iterator);
    return letters;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: preferences COUNT TIMES\n");
        return 2;
    }
    const unsigned count = (unsigned)atoi(argv[1]);
    size_t letters = 0;
    for (int times = atoi(argv[2]); times > 0; times--) {
        plist_t written = preferences(count), read = NULL;
        char *text = NULL;
        uint32_t length = 0;
        plist_to_xml(written, &text, &length);
        plist_from_xml(text, length, &read);
        if (!read || plist_dict_get_size(read) != count) {
            fprintf(stderr, "preferences: what was written is not what is read\n");
            return 1;
        }
        letters += letters_of(read);
        plist_to_xml_free(text);
        plist_free(written);
        plist_free(read);
    }
    printf("%zu letters\n", letters);
    return 0;
}
