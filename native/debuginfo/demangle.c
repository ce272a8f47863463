// Symbols into the names people know: qualified, without parameters, return types and hashes.
#include "debuginfo/reader.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef char *(*cxa_demangle_fn)(const char *, char *, size_t *, int *);
static cxa_demangle_fn cxa_demangle; // of libstdc++; where it is not installed C++ symbols stay as they are

// Loads the library; to be called before forking, as the dynamic linker's lock may be held by another thread.
void demangle_prepare(void) {
    if (cxa_demangle)
        return;
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
    if (library)
        cxa_demangle = (cxa_demangle_fn)dlsym(library, "__cxa_demangle");
}

struct output {
    char *text;
    size_t length, room;
};

static void put(struct output *output, const char *text, size_t length) {
    if (length > output->room - output->length)
        length = output->room - output->length;
    memcpy(output->text + output->length, text, length);
    output->length += length;
}

static bool starts_with(const char *text, const char *start) {
    return !strncmp(text, start, strlen(start));
}

// Past the bracket that closes the one at `text`.
static const char *past_bracket(const char *text) {
    int depth = 0;
    for (; *text; text++) {
        // "->" and operators within template arguments are rare enough to be left unbalanced.
        if (strchr("(<{[", *text))
            depth++;
        else if (strchr(")>}]", *text) && text[-1] != '-' && --depth == 0)
            return text + 1;
    }
    return text;
}

static const char *past_operator(const char *text) {
    text += strlen("operator");
    if (starts_with(text, "()"))
        return text + 2;
    if (*text == ' ' || *text == '"') // new, delete, a conversion, a literal
        return text + strcspn(text, "(");
    return text + strspn(text, "<>=+-*/%^&|!~,[]");
}

static bool is_word(char letter) {
    return isalnum((unsigned char)letter) || letter == '_';
}

// "void a::f<int>(int) const" becomes "a::f<int>", "f(int)::{lambda()#1}::operator()() const" loses both lists.
static void put_without_signature(struct output *output, const char *text) {
    const char *start = text;
    while (*text) {
        const char *next = text + 1;
        if (starts_with(text, "(anonymous namespace)")) {
            next = text + strlen("(anonymous namespace)");
        } else if (starts_with(text, "operator") && !is_word(text[8]) && (text == start || !is_word(text[-1]))) {
            next = past_operator(text);
            if (starts_with(next, " <")) {
                put(output, text, (size_t)(next - text));
                text = next + 1;
                continue;
            }
        } else if (starts_with(text, "decltype (") || starts_with(text, "decltype(")) {
            next = past_bracket(strchr(text, '('));
        } else if (starts_with(text, "[abi:")) {
            text = past_bracket(text);
            continue;
        } else if (*text == '(') {
            const char *after = past_bracket(text);
            while (starts_with(after, " const") || starts_with(after, " volatile") || *after == '&')
                after += *after == '&' ? 1 : 1 + strcspn(after + 1, " :&");
            if (!starts_with(after, "::"))
                return;
            text = after;
            continue;
        } else if (*text == '<' || *text == '{') {
            next = past_bracket(text);
        } else if (*text == ' ') { // what came before was a return type
            output->length = 0;
            text = next;
            continue;
        }
        put(output, text, (size_t)(next - text));
        text = next;
    }
}

struct rust_escape {
    const char *code, *text;
};

static const struct rust_escape RUST_ESCAPES[] = {{"$SP$", "@"}, {"$BP$", "*"}, {"$RF$", "&"}, {"$LT$", "<"},
                                                  {"$GT$", ">"}, {"$LP$", "("}, {"$RP$", ")"}, {"$C$", ","}};

static const char *put_rust_escape(struct output *output, const char *text) {
    for (size_t i = 0; i < sizeof RUST_ESCAPES / sizeof *RUST_ESCAPES; i++) {
        if (starts_with(text, RUST_ESCAPES[i].code)) {
            put(output, RUST_ESCAPES[i].text, 1);
            return text + strlen(RUST_ESCAPES[i].code);
        }
    }
    char *end;
    unsigned long letter = text[1] == 'u' ? strtoul(text + 2, &end, 16) : 0;
    if (letter >= 0x20 && letter < 0x7f && *end == '$') {
        put(output, &(char){(char)letter}, 1);
        return end + 1;
    }
    put(output, text, 1);
    return text + 1;
}

static void put_rust_part(struct output *output, const char *text, const char *end) {
    if (end - text > 1 && text[0] == '_' && text[1] == '$')
        text++;
    while (text < end) {
        if (*text == '$') {
            text = put_rust_escape(output, text);
        } else if (text[0] == '.' && text[1] == '.') {
            put(output, "::", 2);
            text += 2;
        } else {
            put(output, text++, 1);
        }
    }
}

static bool is_rust_hash(const char *part, size_t length) {
    return length == 17 && part[0] == 'h' && strspn(part + 1, "0123456789abcdef") >= 16;
}

// _ZN, parts with their length, the last a hash, E: only Rust ends its symbols so.
static bool put_rust_legacy(struct output *output, const char *symbol) {
    const char *part = symbol + 3;
    bool first = true;
    while (isdigit((unsigned char)*part)) {
        char *text;
        unsigned long length = strtoul(part, &text, 10);
        if (length > strlen(text))
            return false;
        part = text + length;
        if (*part == 'E')
            return is_rust_hash(text, length) && !part[1] && !first;
        if (!first)
            put(output, "::", 2);
        put_rust_part(output, text, part);
        first = false;
    }
    return false;
}

enum demangled demangle(const char *symbol, char *name, size_t name_bytes) {
    struct output output = {name, 0, name_bytes - 1};
    name[0] = 0;
    if (starts_with(symbol, "_R") && isupper((unsigned char)symbol[2]))
        return MANGLED_RUST_V0;
    if (!starts_with(symbol, "_Z") || strlen(symbol) >= TEXT_BYTES_MAX)
        return NOT_MANGLED;
    if (!starts_with(symbol, "_ZN") || !put_rust_legacy(&output, symbol)) {
        output.length = 0;
        int status = -1;
        char *full = cxa_demangle ? cxa_demangle(symbol, NULL, NULL, &status) : NULL;
        if (!full || status)
            return NOT_MANGLED;
        put_without_signature(&output, full);
        free(full);
    }
    name[output.length] = 0;
    return output.length ? DEMANGLED : NOT_MANGLED;
}
