// A shop's daily ledger: reads order lines, checks their seals, adds up what each customer spent, prints the best ones.
//
//     orders INDEX_MEGABYTES [ROUNDS]
//
// It is honest work with one mistake in it, the kind that passes every test: see whether you find it before whyperf
// does. With 64 MB for its index it is fast. With 4096 MB, which ought to be no slower, it is not.
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ORDERS = 90000,
    CUSTOMERS = 24000,
    LINE_BYTES = 128,
    NAME_BYTES = 24,
    ITEM_BYTES = 24,
    BEST = 5,
    SEAL_ROUNDS = 3,
    MIN_BUCKETS = 256,
    MAX_BUCKETS = 1 << 20,
};

struct order {
    char customer[NAME_BYTES];
    char item[ITEM_BYTES];
    uint32_t quantity;
    uint64_t cents;
    uint64_t seal;
};

struct customer {
    char name[NAME_BYTES];
    uint64_t spent;
    uint32_t orders;
    struct customer *next;
};

struct index {
    struct customer **buckets;
    uint32_t bucket_count;
    struct customer *pool;
    uint32_t used;
};

struct ledger {
    char *text;
    size_t bytes;
};

static uint64_t random_state = 88172645463325252ull;

// Deterministic, so that every run does the same work.
static uint64_t next_random(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void *allocate(size_t count, size_t size) {
    void *memory = calloc(count, size);
    if (!memory) {
        fprintf(stderr, "orders: out of memory\n");
        exit(1);
    }
    return memory;
}

// The seal that protects an order line against changes. Most of the program's time goes here, and rightly so.
static uint64_t seal_of(const char *text, size_t bytes) {
    uint64_t state = 0xcbf29ce484222325ull;
    for (int round = 0; round < SEAL_ROUNDS; round++) {
        for (size_t i = 0; i < bytes; i++) {
            state ^= (unsigned char)text[i];
            state *= 0x100000001b3ull;
            state ^= state >> 29;
            state = (state << 11) | (state >> 53);
        }
    }
    return state;
}

static const char *const items[] = {"kettle", "lamp", "teapot", "carpet", "clock", "mirror", "vase", "basket"};

static int write_order(char *line, size_t room) {
    uint64_t draw = next_random();
    unsigned customer = (unsigned)(draw % CUSTOMERS);
    unsigned quantity = 1 + (unsigned)((draw >> 20) % 9);
    unsigned cents = 199 + (unsigned)((draw >> 30) % 20000);
    const char *item = items[(draw >> 50) % (sizeof items / sizeof *items)];
    int bytes = snprintf(line, room, "customer-%06u;%s;%u;%u", customer, item, quantity, cents);
    return bytes + snprintf(line + bytes, room - (size_t)bytes, ";%016" PRIx64 "\n", seal_of(line, (size_t)bytes));
}

static struct ledger write_ledger(void) {
    struct ledger ledger = {allocate(ORDERS, LINE_BYTES), 0};
    for (int i = 0; i < ORDERS; i++)
        ledger.bytes += (size_t)write_order(ledger.text + ledger.bytes, LINE_BYTES);
    return ledger;
}

// Reading lines.

static const char *skip_field(const char *at, const char *end) {
    while (at < end && *at != ';')
        at++;
    return at;
}

static bool copy_field(char *to, size_t room, const char *from, const char *end) {
    size_t bytes = (size_t)(end - from);
    if (bytes == 0 || bytes >= room)
        return false;
    memcpy(to, from, bytes);
    to[bytes] = '\0';
    return true;
}

static bool parse_number(uint64_t *number, const char *from, const char *end) {
    uint64_t value = 0;
    if (from == end)
        return false;
    for (const char *at = from; at < end; at++) {
        if (!isdigit((unsigned char)*at))
            return false;
        value = value * 10 + (uint64_t)(*at - '0');
    }
    *number = value;
    return true;
}

static bool parse_order(struct order *order, const char *line, const char *end, const char **sealed_until) {
    const char *fields[4], *ends[4];
    const char *at = line;
    for (int i = 0; i < 4; i++) {
        fields[i] = at;
        ends[i] = skip_field(at, end);
        if (ends[i] == end)
            return false;
        at = ends[i] + 1;
    }
    uint64_t quantity = 0;
    if (!copy_field(order->customer, sizeof order->customer, fields[0], ends[0]) ||
        !copy_field(order->item, sizeof order->item, fields[1], ends[1]) ||
        !parse_number(&quantity, fields[2], ends[2]) || !parse_number(&order->cents, fields[3], ends[3]))
        return false;
    order->quantity = (uint32_t)quantity;
    order->seal = strtoull(at, NULL, 16);
    *sealed_until = ends[3];
    return true;
}

// The index of customers: a hash table with chains.

static uint32_t hash_of(const char *name) {
    uint32_t hash = 2166136261u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash ^ (hash >> 15);
}

static uint32_t planned_buckets(uint32_t megabytes) {
    uint32_t bytes = megabytes * 1024 * 1024;
    uint32_t buckets = bytes / (uint32_t)sizeof(struct customer);
    if (buckets < MIN_BUCKETS)
        buckets = MIN_BUCKETS;
    if (buckets > MAX_BUCKETS)
        buckets = MAX_BUCKETS;
    return buckets;
}

static struct index open_index(uint32_t megabytes) {
    struct index index = {.bucket_count = planned_buckets(megabytes)};
    index.buckets = allocate(index.bucket_count, sizeof *index.buckets);
    index.pool = allocate(CUSTOMERS, sizeof *index.pool);
    return index;
}

static void close_index(struct index *index) {
    free(index->buckets);
    free(index->pool);
}

static struct customer *find_customer(const struct index *index, const char *name) {
    struct customer *customer = index->buckets[hash_of(name) % index->bucket_count];
    while (customer && strcmp(customer->name, name) != 0)
        customer = customer->next;
    return customer;
}

static struct customer *add_customer(struct index *index, const char *name) {
    if (index->used == CUSTOMERS)
        return NULL;
    struct customer *customer = &index->pool[index->used++];
    struct customer **bucket = &index->buckets[hash_of(name) % index->bucket_count];
    memcpy(customer->name, name, strlen(name) + 1);
    customer->next = *bucket;
    *bucket = customer;
    return customer;
}

static bool book(struct index *index, const struct order *order) {
    struct customer *customer = find_customer(index, order->customer);
    if (!customer)
        customer = add_customer(index, order->customer);
    if (!customer)
        return false;
    customer->spent += order->cents * order->quantity;
    customer->orders++;
    return true;
}

// The report.

static int by_spending(const void *left, const void *right) {
    const struct customer *a = left, *b = right;
    if (a->spent != b->spent)
        return a->spent < b->spent ? 1 : -1;
    return strcmp(a->name, b->name);
}

static uint64_t grand_total(const struct index *index) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < index->used; i++)
        total += index->pool[i].spent;
    return total;
}

static void print_report(struct index *index, unsigned refused) {
    qsort(index->pool, index->used, sizeof *index->pool, by_spending);
    printf("customers %u, refused %u, total %" PRIu64 ".%02" PRIu64 "\n", index->used, refused,
           grand_total(index) / 100, grand_total(index) % 100);
    for (uint32_t i = 0; i < BEST && i < index->used; i++)
        printf("%2u. %-16s %4u orders %8" PRIu64 ".%02" PRIu64 "\n", i + 1, index->pool[i].name, index->pool[i].orders,
               index->pool[i].spent / 100, index->pool[i].spent % 100);
}

static unsigned book_ledger(struct index *index, const struct ledger *ledger) {
    unsigned refused = 0;
    const char *end = ledger->text + ledger->bytes;
    for (const char *line = ledger->text; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        if (!newline)
            break;
        struct order order;
        const char *sealed_until;
        bool good = parse_order(&order, line, newline, &sealed_until) &&
                    order.seal == seal_of(line, (size_t)(sealed_until - line)) && book(index, &order);
        refused += !good;
        line = newline + 1;
    }
    return refused;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: orders INDEX_MEGABYTES [ROUNDS]\n");
        return 2;
    }
    uint32_t megabytes = (uint32_t)strtoul(argv[1], NULL, 10);
    int rounds = argc > 2 ? atoi(argv[2]) : 15;
    struct ledger ledger = write_ledger();
    for (int round = 0; round < rounds; round++) {
        struct index index = open_index(megabytes);
        unsigned refused = book_ledger(&index, &ledger);
        if (round == rounds - 1)
            print_report(&index, refused);
        close_index(&index);
    }
    free(ledger.text);
    return 0;
}
