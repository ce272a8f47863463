// Adds up accounts. With an argument it keeps them in a list that it walks for every entry: the slow way.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ACCOUNTS = 512 };
struct account {
    struct account *next;
    unsigned long number, sum;
};
static struct account *list;
static struct account table[ACCOUNTS];
static volatile unsigned long checksum;

__attribute__((noinline)) static unsigned long scramble(unsigned long value, int rounds) {
    for (int i = 0; i < rounds; i++)
        value = (value ^ value << 13) * 6364136223846793005ul + 1442695040888963407ul;
    return value;
}

__attribute__((noinline)) static struct account *find_in_list(unsigned long number) {
    struct account *at = list;
    while (at->number != number)
        at = at->next;
    return at;
}

__attribute__((noinline)) static struct account *find_in_table(unsigned long number) {
    return &table[number];
}

__attribute__((noinline)) static void book(unsigned long number, int slowly) {
    struct account *account = slowly ? find_in_list(number) : find_in_table(number);
    account->sum += scramble(number, 60);
    checksum = account->sum;
}

static void *clerk(void *slowly) {
    for (unsigned long entry = 0; entry < 700000; entry++) {
        book(scramble(entry, 2) % ACCOUNTS, slowly != NULL);
        if (entry % 100000 == 0)
            usleep(2000);
    }
    return NULL;
}

int main(int count, char **arguments) {
    pthread_t thread;
    for (unsigned long i = 0; i < ACCOUNTS; i++) {
        table[i] = (struct account){list, i, 0};
        list = &table[i];
    }
#ifdef ALONE
    (void)thread;
    clerk(count > 1 ? arguments[1] : NULL);
#else
    if (pthread_create(&thread, NULL, clerk, count > 1 ? arguments[1] : NULL) != 0)
        return 1;
    pthread_join(thread, NULL);
#endif
    printf("%lu\n", checksum);
    return 0;
}
