#include "dependences/decoder/reader.h"

#include <string.h>

#define PRODUCERS_MOST 256

struct walk {
    const struct reader *reader;
    uint32_t events, site;
    uint32_t producers[PRODUCERS_MOST];
    uint8_t kinds[PRODUCERS_MOST];
};

static void read_plain(struct walk *walk, struct bytes *bytes, uint32_t form, struct event *event) {
    event->count = form % 3 + form / 3;
    for (uint32_t i = 0; i < event->count; i++) {
        walk->producers[i] = (uint32_t)bytes_number(bytes);
        walk->kinds[i] = i < form % 3 ? PRODUCER_REGISTER : PRODUCER_MEMORY;
    }
}

static void read_any(struct walk *walk, struct bytes *bytes, struct event *event) {
    uint64_t count = bytes_number(bytes);
    if (count > PRODUCERS_MOST) {
        bytes->bad = true;
        count = 0;
    }
    event->count = (uint32_t)count;
    for (uint32_t i = 0; i < event->count; i++) {
        uint64_t producer = bytes_number(bytes);
        walk->producers[i] = (uint32_t)(producer >> 2);
        walk->kinds[i] = producer & 3;
    }
}

static bool read_event(struct walk *walk, struct bytes *bytes, uint64_t header) {
    uint32_t form = header & 15;
    walk->site += (uint32_t)unzigzag(header >> 4);
    struct event event = {.number = walk->events + 1, .site = walk->site, .join = form == FORM_JOIN};
    if (form <= FORM_PLAIN_LAST)
        read_plain(walk, bytes, form, &event);
    else
        read_any(walk, bytes, &event);
    for (uint32_t i = 0; i < event.count; i++)
        if (walk->producers[i] - 1u >= walk->events)
            bytes->bad = true;
    if (bytes->bad)
        return true;
    walk->events++;
    event.producers = walk->producers;
    event.kinds = walk->kinds;
    return walk->reader->on_event(walk->reader->context, &event);
}

static bool read_chunk(struct walk *walk, struct bytes *bytes) {
    while (bytes->at < bytes->end && !bytes->bad) {
        uint64_t header = bytes_number(bytes);
        uint32_t form = header & 15;
        if (form <= FORM_JOIN) {
            if (!read_event(walk, bytes, header))
                return false;
        } else if (form == FORM_OTHER) {
            if (!walk->reader->on_record(walk->reader->context, header >> 4, bytes))
                return false;
        } else {
            bytes->bad = true;
        }
    }
    return true;
}

enum read_result reader_walk(const struct reader *reader, const uint8_t *stream, size_t length) {
    static const char magic[] = DEPENDENCES_MAGIC;
    if (length < sizeof magic - 1 || memcmp(stream, magic, sizeof magic - 1) != 0)
        return READ_NO_STREAM;
    struct walk walk = {.reader = reader};
    size_t at = sizeof magic - 1;
    while (at < length) {
        uint32_t header[2];
        if (length - at < sizeof header)
            return READ_CUT;
        memcpy(header, stream + at, sizeof header);
        at += sizeof header;
        if (header[0] > length - at || dependences_check(stream + at, header[0]) != header[1])
            return READ_CUT;
        struct bytes bytes = {.at = stream + at, .end = stream + at + header[0]};
        if (!read_chunk(&walk, &bytes))
            return READ_NO_MEMORY;
        if (bytes.bad)
            return READ_CUT;
        at += header[0];
    }
    return READ_WHOLE;
}
