// The order of keys. Version 2 has learned to order letters outside ASCII, and pays for it at every comparison.
#include <string.h>

#include "ledger.h"

// The two releases inline this one differently, as two compilers or two -O levels would.
#if LEDGER_VERSION >= 2
#define FOLD_INLINING static __attribute__((noinline))
#else
#define FOLD_INLINING static inline __attribute__((always_inline))
#endif

FOLD_INLINING unsigned fold_case(unsigned char letter) {
    return letter >= 'A' && letter <= 'Z' ? letter + 32u : letter;
}

static int compare_folded(const char *left, const char *right) {
    for (int i = 0; i < KEY_BYTES; i++) {
        unsigned a = fold_case((unsigned char)left[i]);
        unsigned b = fold_case((unsigned char)right[i]);
        if (a != b || !a) {
            return (int)a - (int)b;
        }
    }
    return 0;
}

#if LEDGER_VERSION >= 2
static unsigned letter_weight(unsigned code) {
    static const unsigned short latin[][2] = {{0xe4, 'a'}, {0xe5, 'a'}, {0xe6, 'a'}, {0xe7, 'c'},
                                              {0xe8, 'e'}, {0xe9, 'e'}, {0xf6, 'o'}, {0xf8, 'o'},
                                              {0xfc, 'u'}, {0xdf, 's'}, {0xf1, 'n'}, {0xfd, 'y'}};
    for (size_t i = 0; i < sizeof latin / sizeof *latin; i++) {
        if (latin[i][0] == code) {
            return latin[i][1] * 16u + 1 + (unsigned)i;
        }
    }
    return code * 16u;
}

static size_t collate_key(const char *key, unsigned *weights) {
    size_t count = 0;
    for (int i = 0; i < KEY_BYTES && key[i]; i++) {
        unsigned code = (unsigned char)key[i];
        if (code >= 0xc0 && i + 1 < KEY_BYTES) {
            code = (code & 0x1f) << 6 | ((unsigned char)key[++i] & 0x3f);
        } else if (code >= 'A' && code <= 'Z') {
            code += 32;
        }
        weights[count++] = letter_weight(code);
    }
    return count;
}

static bool outside_ascii(const char *key) {
    for (int i = 0; i < KEY_BYTES && key[i]; i++) {
        if (key[i] & 0x80) {
            return true;
        }
    }
    return false;
}
#endif

int compare_keys(const char *left, const char *right) {
#if LEDGER_VERSION >= 2
    if (outside_ascii(left) || outside_ascii(right)) {
        unsigned a[KEY_BYTES], b[KEY_BYTES];
        size_t left_count = collate_key(left, a), right_count = collate_key(right, b);
        for (size_t i = 0; i < left_count && i < right_count; i++) {
            if (a[i] != b[i]) {
                return a[i] < b[i] ? -1 : 1;
            }
        }
        return left_count < right_count ? -1 : left_count > right_count;
    }
#endif
    return compare_folded(left, right);
}
