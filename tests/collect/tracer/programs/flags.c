// Adds what one variable says to another for every line that it is given, and answers with a line.
#include <stdio.h>

volatile int only_read = 1;
volatile int written;

int main(void) {
    for (int letter; (letter = getchar()) != EOF;) {
        written += only_read;
        putchar(letter);
        fflush(stdout);
    }
    return 0;
}
