static inline long twice(long x) {
    long doubled = x * 2;
    return doubled;
}

long other_file(long x);
void report_stone(long where) __attribute__((cold));
