// Uses a library of which there are two builds.
long price_of(long item);

static volatile long sink;

__attribute__((noinline)) static void spin(long rounds) {
    for (long i = 0; i < rounds; i++)
        sink += i;
}

int main(void) {
    for (long item = 0; item < 50; item++)
        spin(price_of(item));
    return 0;
}
