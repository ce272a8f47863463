// A library that is loaded while its user is watched.
__attribute__((noinline)) static void deeper(void (*back)(void), int depth) {
    volatile char filler[24];
    filler[0] = (char)depth;
    if (depth > 0)
        deeper(back, depth - 1);
    else
        back();
    filler[1] = filler[0];
}

void plugged(void (*back)(void)) {
    deeper(back, 5);
}
